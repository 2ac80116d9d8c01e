import { type Hex, namehash, stringToHex, zeroAddress as zero } from "viem";
import { labelStoreAbi, leaseAbi, proxyFactoryAbi, registryV2Abi, resolverV2Abi } from "../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../abis/names.ts";
import { createLogEncoder, type EmittedLog } from "../../devnet/events.ts";
import { createRandom, type Random } from "../../devnet/random.ts";
import { contractsOfV2 } from "../../devnet/recorded-chains.ts";
import { subnode } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { generateAccount, type Transaction } from "./history.ts";

// Contracts of a set of ENSv2 on the chain of the generated history.
const contract = (index: number): Hex => `0x${"e2".repeat(18)}${String(index).padStart(4, "0")}`;
const contracts = Object.fromEntries(contractsOfV2.map((name, index) => [name, contract(index)])) as Record<
  "ETHRegistry" | "ETHRegistrar" | "LabelStore" | "VerifiableFactory" | "PermissionedResolverImpl",
  Hex
>;

/** A datasources file that puts the set on Holesky. */
export function ensv2Datasources(startBlock: number): string {
  const sources = Object.entries(contracts).map(([name, address]) => [name, { address, startBlock }]);
  return JSON.stringify({ holesky: { ensv2: { 17000: { contracts: Object.fromEntries(sources) } } } });
}

const emits = {
  label: createLogEncoder(labelStoreAbi, "Label"),
  registered: createLogEncoder(registryV2Abi, "LabelRegistered"),
  resource: createLogEncoder(registryV2Abi, "TokenResource"),
  roles: createLogEncoder(registryV2Abi, "EACRolesChanged"),
  subregistry: createLogEncoder(registryV2Abi, "SubregistryUpdated"),
  resolver: createLogEncoder(registryV2Abi, "ResolverUpdated"),
  expiry: createLogEncoder(registryV2Abi, "ExpiryUpdated"),
  parent: createLogEncoder(registryV2Abi, "ParentUpdated"),
  transfer: createLogEncoder(erc1155TransferAbi, "TransferSingle"),
  deployed: createLogEncoder(proxyFactoryAbi, "ProxyDeployed"),
  lease: createLogEncoder(leaseAbi, "NameRegistered"),
  renewal: createLogEncoder(leaseAbi, "NameRenewed"),
  upgraded: createLogEncoder(resolverV2Abi, "Upgraded"),
  created: createLogEncoder(resolverV2Abi, "ResolverCreated"),
  linked: createLogEncoder(resolverV2Abi, "Linked"),
  address: createLogEncoder(resolverV2Abi, "AddressUpdated"),
  text: createLogEncoder(resolverV2Abi, "TextUpdated"),
};

const expires = 1_900_000_000n;
const year = 31_536_000n;
const owned = (1n << 20n) | (1n << 24n) | (1n << 156n);
const noReferrer: Hex = `0x${"0".repeat(64)}`;

type Registry = { registry: Hex; node: Hex };
type Name = Registry & { tokenId: bigint; label: string; owner: Hex; resolver: Hex; record: bigint };

type State = {
  random: Random;
  names: Name[];
  /** Where names are registered: under .eth, and in registries of users. */
  registries: Registry[];
  resolvers: Hex[];
  /** The last record of each resolver. */
  records: Map<Hex, bigint>;
};

/**
 * A history of names of the second generation, of at least `count` logs: paid registrations under .eth with their seven
 * logs, names in registries of users, renewals, transfers, changed roles, pointers and records. One name in twenty has
 * its owner's resolver deployed, one in fifty a registry. Always the same.
 */
export const ensv2History = (count: number): { transactions: Iterable<Transaction>; labels: string[] } => ({
  transactions: steps(count),
  labels: ["eth"],
});

const eth: Registry = { registry: contracts.ETHRegistry, node: namehash("eth") };

function* steps(count: number): Generator<Transaction> {
  const random = createRandom(2);
  const state: State = { random, names: [], registries: [], resolvers: [], records: new Map() };
  const { names, registries } = state;
  for (let logs = 0; logs < count; ) {
    const last = names.at(-1);
    const inTree = () => registries.length > 0 && random.below(10) < 4;
    const transactions = [
      ...(names.length % 20 === 0 ? [deployResolver(state, generateAccount(names.length))] : []),
      ...(last && names.length % 50 === 0 ? attachRegistry(state, last) : []),
      register(state, inTree() ? random.pick(registries) : eth),
      change(state, random.pick(names)),
    ];
    yield* transactions;
    logs += transactions.reduce((sum, transaction) => sum + transaction.logs.length, 0);
  }
}

const someAccount = ({ random, names }: State) => generateAccount(random.below(names.length + 50) >> 2);

/** What a proxy of an owner emits when it is deployed; `own` are the logs of its code. */
const deployed = (address: Hex, owner: Hex, code: Hex, own: EmittedLog[] = []): Transaction => ({
  from: owner,
  logs: [
    emits.upgraded(address, code),
    ...own,
    emits.roles(address, 0n, owner, 0n, owned),
    emits.deployed(contracts.VerifiableFactory, owner, address, 1n, code),
  ],
});
const deriveProxy = (what: string): Hex => `0x${labelhash(what).slice(26)}`;

function deployResolver({ resolvers }: State, owner: Hex): Transaction {
  const address = deriveProxy(`resolver ${resolvers.length}`);
  resolvers.push(address);
  return deployed(address, owner, contracts.PermissionedResolverImpl, [emits.created(address)]);
}

function attachRegistry({ registries }: State, { registry, tokenId, label, owner, node }: Name) {
  const address = deriveProxy(`registry ${registries.length}`);
  registries.push({ registry: address, node });
  const logs = [
    emits.subregistry(registry, tokenId, address, owner),
    emits.parent(address, registry, label, owner),
  ];
  return [deployed(address, owner, contract(99)), { from: owner, logs }];
}

function register(state: State, { registry, node }: Registry): Transaction {
  const { names } = state;
  const label = `name${names.length}`;
  const hash = labelhash(label);
  const tokenId = BigInt(hash) & ~0xffff_ffffn;
  const owner = someAccount(state);
  const resolver = state.random.pick(state.resolvers);
  const registrar = contracts.ETHRegistrar;
  const isPaid = registry === contracts.ETHRegistry;
  const sender = isPaid ? registrar : owner;
  names.push({ registry, tokenId, label, owner, node: subnode(node, hash), resolver, record: 0n });
  const logs = [
    emits.label(contracts.LabelStore, hash, label),
    emits.registered(registry, tokenId, hash, label, owner, expires, sender),
    emits.transfer(registry, sender, zero, owner, tokenId, 1n),
    emits.resource(registry, tokenId, tokenId),
    emits.roles(registry, tokenId, owner, 0n, owned),
    emits.resolver(registry, tokenId, resolver, sender),
    ...(isPaid
      ? [emits.lease(registrar, tokenId, label, owner, zero, resolver, year, zero, noReferrer, 5n, 0n)]
      : []),
  ];
  return { from: owner, logs };
}

/** A change of a name by its owner; a transfer to the owner changes nothing. */
function change(state: State, name: Name): Transaction {
  const { random, resolvers } = state;
  const { registry, tokenId, label, owner } = name;
  const kind = random.below(10);
  const logs: EmittedLog[] = [];
  if (kind < 4) logs.push(...recordLogs(state, name));
  else if (kind < 6) {
    const until = expires + BigInt(random.below(1_000_000));
    logs.push(emits.expiry(registry, tokenId, until, owner));
    if (registry === contracts.ETHRegistry)
      logs.push(emits.renewal(contracts.ETHRegistrar, tokenId, label, year, until, zero, noReferrer, 5n));
  } else if (kind < 8) {
    name.owner = someAccount(state);
    if (name.owner !== owner)
      logs.push(
        emits.transfer(registry, owner, owner, name.owner, tokenId, 1n),
        emits.roles(registry, tokenId, owner, owned, 0n),
        emits.roles(registry, tokenId, name.owner, 0n, owned),
      );
  } else if (kind < 9) logs.push(emits.resolver(registry, tokenId, random.pick(resolvers), owner));
  else logs.push(emits.roles(registry, tokenId, generateAccount(random.below(1000)), 0n, 1n << 24n));
  return { from: owner, logs };
}

function recordLogs({ random, records }: State, name: Name): EmittedLog[] {
  const { resolver, node, owner, label } = name;
  const logs: EmittedLog[] = [];
  if (name.record === 0n) {
    name.record = (records.get(resolver) ?? 0n) + 1n;
    records.set(resolver, name.record);
    logs.push(emits.linked(resolver, name.record, node, stringToHex(label)));
  }
  const key = random.pick(["avatar", "url", "description"]);
  const value = `${label} ${random.below(1000)}`;
  if (random.below(2) === 0) logs.push(emits.address(resolver, name.record, 60n, owner));
  else logs.push(emits.text(resolver, name.record, key, key, value));
  return logs;
}
