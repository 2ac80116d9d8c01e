import {
  concatHex,
  encodeFunctionData,
  type Hex,
  keccak256,
  namehash,
  pad,
  parseAbi,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { basenamesControllerAbi, baseRegistrarAbi, lineaControllerAbi } from "../abis/registrars.ts";
import type { PlannedTransaction } from "./chain/block.ts";
import { createLogEncoder, type EmittedLog, emits } from "./events.ts";
import { createRandom } from "./random.ts";
import { type ChainName, chainIds, recordingFolder } from "./recorded-chains.ts";
import { readAddresses } from "./recording.ts";

/** The contracts of a recorded chain that sell names below a name. */
export type Deployment = ReturnType<typeof readDeployment>;

const contractNames: Record<ChainName, [parent: string, ...contracts: string[]]> = {
  root: [
    "eth",
    ...["ENSv1Registry", "BaseRegistrar", "UnwrappedEthRegistrarController", "PublicResolverV5"],
    "DefaultReverseRegistrar",
  ],
  base: [
    "base.eth",
    ...["Registry", "BaseRegistrar", "UpgradeableRegistrarController", "L2Resolver2", "L2ReverseRegistrar"],
  ],
  linea: [
    "linea.eth",
    ...["Registry", "BaseRegistrar", "EthRegistrarController", "DefaultPublicResolver", "L2ReverseRegistrar"],
  ],
};

/** The newest contracts of a recorded chain. */
export function readDeployment(chain: ChainName) {
  const addresses = readAddresses(recordingFolder(chain));
  const [parent, ...contracts] = contractNames[chain];
  const [registry, registrar, controller, resolver, primaryNames] = contracts.map((name) => addresses[name]!);
  return {
    ...{ chain, parent, registry: registry!, registrar: registrar!, controller: controller! },
    ...{ resolver: resolver!, primaryNames: primaryNames! },
    /** Registrar of the names below addr.reverse (ENSIP-3), which other chains lack. */
    addrReverse: addresses["ReverseRegistrar"],
  };
}

/** Records of a name: addresses by coin type, texts, content. */
export type Records = {
  addresses?: Readonly<Record<string, Hex>>;
  texts?: Readonly<Record<string, string>>;
  contenthash?: Hex;
};

/** The resolver emits an Ethereum address in the new form and the old. */
function recordLogs(resolver: Hex, node: Hex, { addresses = {}, texts = {}, contenthash }: Records) {
  return [
    ...Object.entries(addresses).flatMap(([coinType, address]) => [
      emits.addressChanged(resolver, node, BigInt(coinType), address),
      ...(coinType === "60" ? [emits.addrChanged(resolver, node, address)] : []),
    ]),
    ...Object.entries(texts).map(([key, text]) => emits.textChanged(resolver, node, key, key, text)),
    ...(contenthash === undefined ? [] : [emits.contenthashChanged(resolver, node, contenthash)]),
  ];
}

const sent = (from: Hex, to: Hex, logs: EmittedLog[], value = 0n): PlannedTransaction => ({
  ...{ from, to, value, logs },
});

/**
 * A registration or renewal: `expires` in Unix seconds, `cost` in wei, `referrer` as the root chain's controller has
 * it.
 */
type Sale = { label: string; owner: Hex; expires: bigint; cost?: bigint; referrer?: Hex };

/**
 * Registration of a name with the deployment's resolver: what registrar, registry, resolver and controller emit. On the
 * root chain the controller holds the token until records are set; that is left out.
 */
export function register(deployment: Deployment, sale: Sale & { records?: Records }): PlannedTransaction {
  const { chain, parent, registry, registrar, controller, resolver } = deployment;
  const { label, owner, expires, cost = 0n, referrer = zeroHash, records = {} } = sale;
  const [hash, node] = [keccak256(stringToHex(label)), namehash(`${label}.${parent}`)];
  const id = BigInt(hash);
  const set = emits.newResolver(registry, node, resolver);
  const leased =
    chain === "base"
      ? [set, registeredWithRecord(registrar, id, owner, expires, resolver, 0n)]
      : [emits.registered(registrar, id, owner, expires), set];
  const sold = {
    root: () => emits.soldByController(controller, label, hash, owner, cost, 0n, expires, referrer),
    base: () => soldOnBase(controller, label, hash, owner, expires),
    linea: () => soldOnLinea(controller, label, hash, owner, cost, 0n, expires),
  };
  const logs = [
    emits.tokenTransfer(registrar, zeroAddress, owner, id),
    emits.newOwner(registry, namehash(parent), hash, owner),
    ...leased,
    ...recordLogs(resolver, node, records),
    sold[chain](),
  ];
  return sent(owner, controller, logs, cost);
}

/** Renewal of a name. */
export function renew(deployment: Deployment, sale: Sale) {
  const { label, owner, expires, cost = 0n, referrer = zeroHash } = sale;
  const { chain, registrar, controller } = deployment;
  const hash = keccak256(stringToHex(label));
  const sold = {
    root: () => emits.renewedByController(controller, label, hash, cost, expires, referrer),
    base: () => renewedOnBase(controller, label, hash, expires),
    linea: () => renewedOnLinea(controller, label, hash, cost, expires),
  };
  return sent(owner, controller, [emits.renewed(registrar, BigInt(hash), expires), sold[chain]()], cost);
}

/** Changes of a name's records at the deployment's resolver. */
export function setRecords({ resolver }: Deployment, name: string, owner: Hex, records: Records) {
  return sent(owner, resolver, recordLogs(resolver, namehash(name), records));
}

/** The setter of data records (ENSIP-24), whose event has only the hash of the value. */
export const setDataAbi = parseAbi(["function setData(bytes32 node, string key, bytes value)"]);

/** Sets a data record of a name at the deployment's resolver. */
export function setData(
  { resolver }: Deployment,
  { name, owner, key, value }: { name: string; owner: Hex; key: string; value: Hex },
): PlannedTransaction {
  const node = namehash(name);
  const logs = [emits.dataChanged(resolver, node, key, key, value)];
  return {
    ...sent(owner, resolver, logs),
    input: encodeFunctionData({ abi: setDataAbi, args: [node, key, value] }),
  };
}

/** The account's primary name (ENSIP-19), on the root chain also by its reverse name (ENSIP-3). */
export function setPrimaryName(
  { registry, resolver, primaryNames, addrReverse }: Deployment,
  account: Hex,
  name: string,
): PlannedTransaction {
  const hash = keccak256(stringToHex(account.slice(2)));
  const node = keccak256(concatHex([addrReverseNode, hash]));
  const reverse = addrReverse && [
    reverseClaimed(addrReverse, account, node),
    emits.newOwner(registry, addrReverseNode, hash, account),
    emits.newResolver(registry, node, resolver),
    emits.nameChanged(resolver, node, name),
  ];
  const logs = [...(reverse ?? []), emits.nameForAddr(primaryNames, account, name)];
  return sent(account, addrReverse ?? primaryNames, logs);
}

const reverseClaimed = createLogEncoder(
  parseAbi(["event ReverseClaimed(address indexed addr, bytes32 indexed node)"]),
  "ReverseClaimed",
);
const registeredWithRecord = createLogEncoder(baseRegistrarAbi, "NameRegisteredWithRecord");
const soldOnBase = createLogEncoder(basenamesControllerAbi, "NameRegistered");
const renewedOnBase = createLogEncoder(basenamesControllerAbi, "NameRenewed");
const soldOnLinea = createLogEncoder(lineaControllerAbi, "NameRegistered");
const renewedOnLinea = createLogEncoder(lineaControllerAbi, "NameRenewed");
const addrReverseNode = namehash("addr.reverse");
const year = 31_536_000n;

/**
 * ENSIP-11: the coin type of an EVM chain is its id with this bit set; without an id it stands for all of them
 * (ENSIP-19).
 */
export const evmCoinType = (chainId: number | string = 0): string => String(0x80000000n | BigInt(chainId));

/** The account's addresses that a primary name on the chain needs (ENSIP-19). */
export const addressesFor = (chain: ChainName, account: Hex): Record<string, Hex> => ({
  ...{ 60: account, [evmCoinType(chainIds[chain])]: account },
});

/**
 * What happens on a live chain: registrations, some with a primary name, renewals and changes of records. The result
 * gives the transactions of the next block, of which about half stay empty; `now` in Unix seconds. The seed determines
 * everything but time.
 */
export function createLife(deployment: Deployment, seed: number) {
  const random = createRandom(seed);
  const accounts = Array.from(
    { length: 12 },
    (_, index): Hex => `0x${keccak256(stringToHex(`devnet account ${seed}-${index}`)).slice(26)}`,
  );
  const names: { label: string; owner: Hex; expires: bigint }[] = [];
  const { chain, parent } = deployment;

  function registerNew(now: number): PlannedTransaction[] {
    // The number keeps labels apart.
    const syllable = () => `${random.pick([..."bdfghjklmnprstvw"])}${random.pick([..."aeiou"])}`;
    const label = `${syllable()}${syllable()}${syllable()}${names.length}`;
    const sale = { label, owner: random.pick(accounts), expires: BigInt(now) + year };
    names.push(sale);
    const records = {
      addresses: addressesFor(chain, sale.owner),
      texts: { url: `https://example.org/${label}`, description: random.pick(descriptions) },
    };
    const isPrimary = random.below(2) === 0;
    return [
      register(deployment, { ...sale, cost: yearlyFee, referrer: pad(random.pick(accounts)), records }),
      ...(isPrimary ? [setPrimaryName(deployment, sale.owner, `${label}.${parent}`)] : []),
    ];
  }

  function step(now: number): PlannedTransaction[] {
    const kind = names.length === 0 ? 0 : random.below(11);
    if (kind < 5) return registerNew(now);
    const name = random.pick(names);
    const { label, owner } = name;
    if (kind < 8)
      return [setRecords(deployment, `${label}.${parent}`, owner, { texts: { status: `at ${now}` } })];
    name.expires += year;
    const [payer, referrer] = [random.pick(accounts), pad(random.pick(accounts))];
    return [renew(deployment, { ...name, owner: payer, cost: yearlyFee, referrer })];
  }

  return (now: number): PlannedTransaction[] =>
    Array.from({ length: random.pick([0, 0, 1, 1, 2]) }).flatMap(() => step(now));
}

/** 5 USD in wei, at 3,000 USD for one ether. */
const yearlyFee = (5n * 10n ** 18n) / 3_000n;
const descriptions = ["Weaver of wool", "Keeper of bees", "Maker of maps", "🦉 up at night", "Tea seller"];
