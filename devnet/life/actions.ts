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
import type { LocalAccount } from "viem/accounts";
import { packetToBytes } from "viem/ens";
import type { PlannedTransaction } from "../chain/block-builder.ts";
import { type EmittedLog, emits, logsOf } from "../events.ts";
import { type RecordChange, recordLogs } from "./records.ts";

/** Addresses of the contracts involved. */
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

/** A transaction without its nonce, which the sender's account counts. */
export type Action = Omit<PlannedTransaction, "nonce">;

/** A registration: `expires` in Unix seconds, `cost` in wei. */
export type Registration = {
  label: string;
  owner: LocalAccount;
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
export function register(contracts: Contracts, registration: Registration): Action {
  const { UnwrappedEthRegistrarController: to } = contracts;
  return {
    from: registration.owner,
    to,
    value: registration.cost,
    logs: registrationLogs(contracts, registration),
  };
}

function registrationLogs(
  contracts: Contracts,
  { label, owner: { address: owner }, expires, cost, records, reverse, referrer = zeroHash }: Registration,
): EmittedLog[] {
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
  return [...logs, emits.soldByController(controller, label, labelhash, owner, cost, 0n, expires, referrer)];
}

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
  { label, payer, expires, cost }: RenewOptions,
): Action {
  const { labelhash, tokenId } = secondLevel(label);
  return {
    from: payer,
    to: controller,
    value: cost,
    logs: [
      emits.renewed(BaseRegistrar, tokenId, expires),
      emits.renewedByController(controller, label, labelhash, cost, expires, zeroHash),
    ],
  };
}

type RenewOptions = { label: string; payer: LocalAccount; expires: bigint; cost: bigint };

/** Record changes of a name at the public resolver. */
export function setRecords(
  { PublicResolverV5: resolver }: Contracts,
  { name, owner, records }: { name: string; owner: LocalAccount; records: RecordChange[] },
): Action {
  const node = namehash(name);
  const logs = records.flatMap((change) => recordLogs(resolver, node, change));
  return { from: owner, to: resolver, value: 0n, logs };
}

/** Subname of an unwrapped name or of the root (an empty `parent`), created in the registry with the public resolver. */
export function createSubname(
  { ENSv1Registry, PublicResolverV5: resolver }: Contracts,
  { parent, label, owner }: { parent: string; label: string; owner: LocalAccount },
): Action {
  const parentNode = namehash(parent);
  const labelhash = keccak256(stringToHex(label));
  return {
    from: owner,
    to: ENSv1Registry,
    value: 0n,
    logs: [
      emits.newOwner(ENSv1Registry, parentNode, labelhash, owner.address),
      emits.newResolver(ENSv1Registry, namehash(parent === "" ? label : `${label}.${parent}`), resolver),
    ],
  };
}

/** Approval for the name wrapper to take the owner's `.eth` tokens: comes before the first wrap of an account. */
export function approveWrapper({ BaseRegistrar, NameWrapper }: Contracts, owner: LocalAccount): Action {
  return {
    from: owner,
    to: BaseRegistrar,
    value: 0n,
    logs: [approvedForAll(BaseRegistrar, owner.address, NameWrapper, true)],
  };
}

/** Wrapping of `label`.eth, whose registration ends at `expires` (Unix seconds). */
export function wrap(
  { ENSv1Registry, BaseRegistrar, NameWrapper: wrapper, PublicResolverV5: resolver }: Contracts,
  { label, owner, expires, hadResolver }: WrapOptions,
): Action {
  const { labelhash, node, tokenId } = secondLevel(label);
  const from = owner.address;
  const name = toHex(packetToBytes(`${label}.eth`));
  const fuses = parentCannotControl | isDotEth;
  return {
    from: owner,
    to: wrapper,
    value: 0n,
    logs: [
      emits.tokenTransfer(BaseRegistrar, from, wrapper, tokenId),
      emits.newOwner(ENSv1Registry, ethNode, labelhash, wrapper),
      emits.wrappedTransfer(wrapper, from, zeroAddress, from, BigInt(node), 1n),
      emits.wrapped(wrapper, node, name, from, fuses, expires + gracePeriod),
      // A name that has a resolver keeps it: the call then passes the zero address.
      ...(hadResolver ? [] : [emits.newResolver(ENSv1Registry, node, resolver)]),
    ],
  };
}

type WrapOptions = { label: string; owner: LocalAccount; expires: bigint; hadResolver: boolean };

/** Subname of a wrapped name, wrapped on creation, with the public resolver and no fuses. */
export function createWrappedSubname(
  { ENSv1Registry, NameWrapper: wrapper, PublicResolverV5: resolver }: Contracts,
  { parent, label, owner: account }: { parent: string; label: string; owner: LocalAccount },
): Action {
  const parentNode = namehash(parent);
  const node = namehash(`${label}.${parent}`);
  const owner = account.address;
  const name = toHex(packetToBytes(`${label}.${parent}`));
  return {
    from: account,
    to: wrapper,
    value: 0n,
    logs: [
      emits.newOwner(ENSv1Registry, parentNode, keccak256(stringToHex(label)), wrapper),
      emits.newResolver(ENSv1Registry, node, resolver),
      emits.wrappedTransfer(wrapper, owner, zeroAddress, owner, BigInt(node), 1n),
      emits.wrapped(wrapper, node, name, owner, 0, 0n),
    ],
  };
}

/** Sale or gift of an unwrapped `.eth` token; the registry's owner stays as it is. */
export function transferToken(
  { BaseRegistrar }: Contracts,
  { label, owner, to }: { label: string; owner: LocalAccount; to: Hex },
): Action {
  const { tokenId } = secondLevel(label);
  return {
    from: owner,
    to: BaseRegistrar,
    value: 0n,
    logs: [emits.tokenTransfer(BaseRegistrar, owner.address, to, tokenId)],
  };
}

function secondLevel(label: string) {
  const labelhash = keccak256(stringToHex(label));
  return {
    labelhash,
    node: keccak256(concatHex([ethNode, labelhash])),
    tokenId: BigInt(labelhash),
  };
}

const otherEvents = parseAbi([
  "event ApprovalForAll(address indexed owner, address indexed operator, bool approved)",
  "event ReverseClaimed(address indexed addr, bytes32 indexed node)",
]);
const approvedForAll = logsOf(otherEvents, "ApprovalForAll");
const reverseClaimed = logsOf(otherEvents, "ReverseClaimed");
const ethNode: Hex = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const addrReverseNode: Hex = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";
/** Grace period in seconds, in which an expired `.eth` name can still be renewed; the wrapper adds it to expiries. */
const gracePeriod = 7_776_000n;
const parentCannotControl = 65_536;
const isDotEth = 131_072;
