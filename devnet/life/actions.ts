import {
  concatHex,
  type Hex,
  keccak256,
  namehash,
  parseAbi,
  stringToHex,
  toHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { packetToBytes } from "viem/ens";
import {
  basenamesBaseRegistrarAbi,
  basenamesControllerAbi,
  lineaControllerAbi,
} from "../../abis/registrars.ts";
import type { PlannedTransaction } from "../chain/block.ts";
import { type EmittedLog, emits, logsOf } from "../events.ts";

/** One change of a name's records at a resolver. */
export type RecordChange =
  | { type: "addr"; coinType: bigint; address: Hex }
  | { type: "text"; key: string; value: string }
  | { type: "contenthash"; hash: Hex };

/** Logs of one record change. The Ethereum address (coin type 60) is emitted twice, in the new form and the old. */
function recordLogs(resolver: Hex, node: Hex, change: RecordChange): EmittedLog[] {
  if (change.type === "text") {
    const { key, value } = change;
    return [emits.textChanged(resolver, node, key, key, value)];
  }
  if (change.type === "contenthash") return [emits.contenthashChanged(resolver, node, change.hash)];
  const { coinType, address } = change;
  const changed = emits.addressChanged(resolver, node, coinType, address);
  return coinType === 60n ? [changed, emits.addrChanged(resolver, node, address)] : [changed];
}

/** Addresses of the contracts of `.eth` names. */
export type Contracts = Record<
  | "ENSv1Registry"
  | "BaseRegistrar"
  | "UnwrappedEthRegistrarController"
  | "PublicResolverV5"
  | "NameWrapper"
  | "ReverseRegistrar"
  | "DefaultReverseRegistrar",
  Hex
>;

/** Contracts that issue the names under a name, on another chain than the root one. */
export type SecondLayer = {
  parent: "base.eth" | "linea.eth";
  chainId: number;
  registry: Hex;
  registrar: Hex;
  controller: Hex;
  resolver: Hex;
  reverseRegistrar: Hex;
};

/** A registration: `expires` in Unix seconds, `cost` in wei. */
export type Registration = {
  label: string;
  owner: Hex;
  expires: bigint;
  cost: bigint;
  /** Undefined: a name without a resolver. */
  records?: RecordChange[] | undefined;
  /** Also claims the owner's primary name, for the `first` time or `again`. */
  reverse?: "none" | "first" | "again" | undefined;
  referrer?: Hex | undefined;
};

/**
 * Registration of `label`.eth through the newest controller. With `records` the name gets the public resolver:
 * the controller holds the token until the records are set.
 */
export function register(
  contracts: Contracts,
  { label, owner, expires, cost, records, reverse, referrer = zeroHash }: Registration,
): PlannedTransaction {
  const { ENSv1Registry, BaseRegistrar, UnwrappedEthRegistrarController: controller } = contracts;
  const { labelhash, node, tokenId } = secondLevel(label);
  const holder = records === undefined ? owner : controller;
  const logs = [
    emits.tokenTransfer(BaseRegistrar, zeroAddress, holder, tokenId),
    emits.newOwner(ENSv1Registry, ethNode, labelhash, holder),
    emits.registered(BaseRegistrar, tokenId, holder, expires),
  ];
  if (records !== undefined) {
    const resolver = contracts.PublicResolverV5;
    logs.push(
      emits.registryTransfer(ENSv1Registry, node, owner),
      emits.newResolver(ENSv1Registry, node, resolver),
      ...records.flatMap((change) => recordLogs(resolver, node, change)),
      emits.tokenTransfer(BaseRegistrar, holder, owner, tokenId),
    );
    if (reverse === "first" || reverse === "again") {
      logs.push(...claimLogs(contracts, { owner, name: `${label}.eth`, claim: reverse }));
    }
  }
  logs.push(emits.soldByController(controller, label, labelhash, owner, cost, 0n, expires, referrer));
  return sent(owner, controller, logs, cost);
}

const sent = (from: Hex, to: Hex, logs: EmittedLog[], value = 0n): PlannedTransaction => ({
  ...{ from, to, value, logs },
});

/** Primary name set by the controller in both reverse registrars. Only the `first` claim sets a resolver. */
function claimLogs(
  contracts: Contracts,
  { owner, name, claim }: { owner: Hex; name: string; claim: "first" | "again" },
): EmittedLog[] {
  const { ReverseRegistrar, DefaultReverseRegistrar, ENSv1Registry, PublicResolverV5: resolver } = contracts;
  const labelhash = keccak256(stringToHex(owner.slice(2).toLowerCase()));
  const node = keccak256(concatHex([addrReverseNode, labelhash]));
  return [
    reverseClaimed(ReverseRegistrar, owner, node),
    emits.newOwner(ENSv1Registry, addrReverseNode, labelhash, owner),
    ...(claim === "first" ? [emits.newResolver(ENSv1Registry, node, resolver)] : []),
    emits.nameChanged(resolver, node, name),
    emits.nameForAddr(DefaultReverseRegistrar, owner, name),
  ];
}

/** Renewal of `label`.eth until `expires` (Unix seconds) through the newest controller, by anybody. */
export function renew(
  { BaseRegistrar, UnwrappedEthRegistrarController: controller }: Contracts,
  { label, payer, expires, cost }: Renewal,
): PlannedTransaction {
  const { labelhash, tokenId } = secondLevel(label);
  const logs = [
    emits.renewed(BaseRegistrar, tokenId, expires),
    emits.renewedByController(controller, label, labelhash, cost, expires, zeroHash),
  ];
  return sent(payer, controller, logs, cost);
}

type Renewal = { label: string; payer: Hex; expires: bigint; cost: bigint };

/** Record changes of a name at a resolver. */
export function setRecords(
  resolver: Hex,
  { name, owner, records }: { name: string; owner: Hex; records: RecordChange[] },
): PlannedTransaction {
  const node = namehash(name);
  return sent(
    owner,
    resolver,
    records.flatMap((change) => recordLogs(resolver, node, change)),
  );
}

/** Subname of an unwrapped name or of the root (an empty `parent`), created in the registry with the public resolver. */
export function createSubname(
  { ENSv1Registry, PublicResolverV5: resolver }: Contracts,
  { parent, label, owner }: { parent: string; label: string; owner: Hex },
): PlannedTransaction {
  const parentNode = namehash(parent);
  const labelhash = keccak256(stringToHex(label));
  const node = namehash(parent === "" ? label : `${label}.${parent}`);
  return sent(owner, ENSv1Registry, [
    emits.newOwner(ENSv1Registry, parentNode, labelhash, owner),
    emits.newResolver(ENSv1Registry, node, resolver),
  ]);
}

/** Approval for the name wrapper to take the owner's `.eth` tokens: comes before the first wrap of an account. */
export function approveWrapper({ BaseRegistrar, NameWrapper }: Contracts, owner: Hex): PlannedTransaction {
  return sent(owner, BaseRegistrar, [approvedForAll(BaseRegistrar, owner, NameWrapper, true)]);
}

/** Wrapping of `label`.eth, whose registration ends at `expires` (Unix seconds). */
export function wrap(
  { ENSv1Registry, BaseRegistrar, NameWrapper: wrapper, PublicResolverV5: resolver }: Contracts,
  { label, owner, expires, hadResolver }: WrapOptions,
): PlannedTransaction {
  const { labelhash, node, tokenId } = secondLevel(label);
  const name = toHex(packetToBytes(`${label}.eth`));
  const fuses = parentCannotControl | isDotEth;
  return sent(owner, wrapper, [
    emits.tokenTransfer(BaseRegistrar, owner, wrapper, tokenId),
    emits.newOwner(ENSv1Registry, ethNode, labelhash, wrapper),
    emits.wrappedTransfer(wrapper, owner, zeroAddress, owner, BigInt(node), 1n),
    emits.wrapped(wrapper, node, name, owner, fuses, expires + gracePeriod),
    // A name that has a resolver keeps it: the call then passes the zero address.
    ...(hadResolver ? [] : [emits.newResolver(ENSv1Registry, node, resolver)]),
  ]);
}

type WrapOptions = { label: string; owner: Hex; expires: bigint; hadResolver: boolean };

/** Subname of a wrapped name, wrapped on creation, with the public resolver and no fuses. */
export function createWrappedSubname(
  { ENSv1Registry, NameWrapper: wrapper, PublicResolverV5: resolver }: Contracts,
  { parent, label, owner }: { parent: string; label: string; owner: Hex },
): PlannedTransaction {
  const parentNode = namehash(parent);
  const node = namehash(`${label}.${parent}`);
  const name = toHex(packetToBytes(`${label}.${parent}`));
  return sent(owner, wrapper, [
    emits.newOwner(ENSv1Registry, parentNode, keccak256(stringToHex(label)), wrapper),
    emits.newResolver(ENSv1Registry, node, resolver),
    emits.wrappedTransfer(wrapper, owner, zeroAddress, owner, BigInt(node), 1n),
    emits.wrapped(wrapper, node, name, owner, 0, 0n),
  ]);
}

/** Sale or gift of an unwrapped `.eth` token; the registry's owner stays as it is. */
export function transferToken(
  { BaseRegistrar }: Contracts,
  { label, owner, to }: { label: string; owner: Hex; to: Hex },
): PlannedTransaction {
  const { tokenId } = secondLevel(label);
  return sent(owner, BaseRegistrar, [emits.tokenTransfer(BaseRegistrar, owner, to, tokenId)]);
}

/** Registration of a name of another chain with the deployment's resolver and records. */
export function registerOn(
  layer: SecondLayer,
  { label, owner, expires, cost, records = [] }: Registration,
): PlannedTransaction {
  const { parent, registry, registrar, controller: to, resolver } = layer;
  const labelhash = keccak256(stringToHex(label));
  const node = namehash(`${label}.${parent}`);
  const tokenId = BigInt(labelhash);
  const created = [
    emits.tokenTransfer(registrar, zeroAddress, owner, tokenId),
    emits.newOwner(registry, namehash(parent), labelhash, owner),
  ];
  const set = emits.newResolver(registry, node, resolver);
  const changed = records.flatMap((change) => recordLogs(resolver, node, change));
  const logs =
    parent === "base.eth"
      ? [
          ...[...created, set, registeredWithRecord(registrar, tokenId, owner, expires, resolver, 0n)],
          ...[...changed, soldOnBase(to, label, labelhash, owner, expires)],
        ]
      : [
          ...[...created, emits.registered(registrar, tokenId, owner, expires), set],
          ...[...changed, soldOnLinea(to, label, labelhash, owner, cost, 0n, expires)],
        ];
  return sent(owner, to, logs, cost);
}

/** Renewal of a name of another chain until `expires` (Unix seconds), by anybody. */
export function renewOn(
  { parent, registrar, controller: to }: SecondLayer,
  { label, payer, expires, cost }: Renewal,
): PlannedTransaction {
  const labelhash = keccak256(stringToHex(label));
  const renewed =
    parent === "base.eth"
      ? renewedOnBase(to, label, labelhash, expires)
      : renewedOnLinea(to, label, labelhash, cost, expires);
  const logs = [emits.renewed(registrar, BigInt(labelhash), expires), renewed];
  return sent(payer, to, logs, cost);
}

/** The account's name on another chain (ENSIP-19). */
export function setPrimaryName(
  { reverseRegistrar: to }: SecondLayer,
  { account, name }: { account: Hex; name: string },
): PlannedTransaction {
  return sent(account, to, [emits.nameForAddr(to, account, name)]);
}

function secondLevel(label: string) {
  const labelhash = keccak256(stringToHex(label));
  return { labelhash, node: keccak256(concatHex([ethNode, labelhash])), tokenId: BigInt(labelhash) };
}

const otherEvents = parseAbi([
  "event ApprovalForAll(address indexed owner, address indexed operator, bool approved)",
  "event ReverseClaimed(address indexed addr, bytes32 indexed node)",
]);
const approvedForAll = logsOf(otherEvents, "ApprovalForAll");
const reverseClaimed = logsOf(otherEvents, "ReverseClaimed");
const registeredWithRecord = logsOf(basenamesBaseRegistrarAbi, "NameRegisteredWithRecord");
const soldOnBase = logsOf(basenamesControllerAbi, "NameRegistered");
const renewedOnBase = logsOf(basenamesControllerAbi, "NameRenewed");
const soldOnLinea = logsOf(lineaControllerAbi, "NameRegistered");
const renewedOnLinea = logsOf(lineaControllerAbi, "NameRenewed");
const ethNode: Hex = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const addrReverseNode: Hex = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";
/** Grace period in seconds, in which an expired `.eth` name can still be renewed; the wrapper adds it to expiries. */
const gracePeriod = 7_776_000n;
const parentCannotControl = 65_536;
const isDotEth = 131_072;
