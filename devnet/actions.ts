import {
  concatHex,
  encodeFunctionData,
  type Hex,
  keccak256,
  namehash,
  pad,
  stringToHex,
  toHex,
  zeroAddress,
  zeroHash,
} from "viem";
import type { LocalAccount } from "viem/accounts";
import { packetToBytes } from "viem/ens";
import type { PlannedTransaction } from "./block-builder.ts";
import { baseRegistrarAbi, controllerAbi, nameWrapperAbi, registryAbi } from "./contracts.ts";
import { emit } from "./emit.ts";
import { type RecordChange, recordLogs, recordsCall, recordsCalls } from "./records.ts";
import { claimLogs } from "./reverse.ts";

/** Addresses of the contracts that take part. */
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

/**
 * Registration of `label`.eth through the newest controller. With `records` the name gets the public resolver:
 * the controller holds the token until the records are set. `reverse` also claims the owner's primary name.
 * `expires` in Unix seconds, `duration` in seconds, `cost` in wei.
 */
export function register(
  contracts: Contracts,
  {
    label,
    owner,
    duration,
    expires,
    cost,
    records,
    reverse,
    referrer = zeroHash,
  }: {
    label: string;
    owner: LocalAccount;
    duration: bigint;
    expires: bigint;
    cost: bigint;
    records?: RecordChange[] | undefined;
    reverse?: "none" | "first" | "again" | undefined;
    referrer?: Hex | undefined;
  },
): Action {
  const { ENSv1Registry, BaseRegistrar, UnwrappedEthRegistrarController: controller } = contracts;
  const { labelhash, node, tokenId } = secondLevel(label);
  const holder = records === undefined ? owner.address : controller;
  const resolver = records === undefined ? zeroAddress : contracts.PublicResolverV5;
  const logs = [
    emit(BaseRegistrar, baseRegistrarAbi, "Transfer", { from: zeroAddress, to: holder, tokenId }),
    emit(ENSv1Registry, registryAbi, "NewOwner", { node: ethNode, label: labelhash, owner: holder }),
    emit(BaseRegistrar, baseRegistrarAbi, "NameRegistered", { id: tokenId, owner: holder, expires }),
  ];
  if (records !== undefined) {
    logs.push(
      emit(ENSv1Registry, registryAbi, "Transfer", { node, owner: owner.address }),
      emit(ENSv1Registry, registryAbi, "NewResolver", { node, resolver }),
      ...records.flatMap((change) => recordLogs(resolver, node, change)),
      emit(BaseRegistrar, baseRegistrarAbi, "Transfer", { from: holder, to: owner.address, tokenId }),
    );
    if (reverse === "first" || reverse === "again") {
      logs.push(...claimLogs(contracts, { owner: owner.address, name: `${label}.eth`, claim: reverse }));
    }
  }
  logs.push(
    emit(controller, controllerAbi, "NameRegistered", {
      label,
      labelhash,
      owner: owner.address,
      baseCost: cost,
      premium: 0n,
      expires,
      referrer,
    }),
  );
  const input = encodeFunctionData({
    abi: controllerAbi,
    functionName: "register",
    args: [
      {
        label,
        owner: owner.address,
        duration,
        secret: keccak256(stringToHex(`secret of ${label}`)),
        resolver,
        data: records === undefined ? [] : recordsCalls(node, records),
        reverseRecord: reverse === "first" || reverse === "again" ? 3 : 0,
        referrer,
      },
    ],
  });
  return { from: owner, to: controller, input, value: cost, logs };
}

/** Renewal of `label`.eth until `expires` (Unix seconds) through the newest controller, by anybody. */
export function renew(
  { BaseRegistrar, UnwrappedEthRegistrarController: controller }: Contracts,
  { label, payer, duration, expires, cost }: RenewOptions,
): Action {
  const { labelhash, tokenId } = secondLevel(label);
  return {
    from: payer,
    to: controller,
    input: encodeFunctionData({
      abi: controllerAbi,
      functionName: "renew",
      args: [label, duration, zeroHash],
    }),
    value: cost,
    logs: [
      emit(BaseRegistrar, baseRegistrarAbi, "NameRenewed", { id: tokenId, expires }),
      emit(controller, controllerAbi, "NameRenewed", { label, labelhash, cost, expires, referrer: zeroHash }),
    ],
  };
}

type RenewOptions = { label: string; payer: LocalAccount; duration: bigint; expires: bigint; cost: bigint };

/** Record changes of a name at the public resolver: one call for one record, else a multicall. */
export function setRecords(
  { PublicResolverV5: resolver }: Contracts,
  { name, owner, records }: { name: string; owner: LocalAccount; records: RecordChange[] },
): Action {
  const node = namehash(name);
  const logs = records.flatMap((change) => recordLogs(resolver, node, change));
  return { from: owner, to: resolver, input: recordsCall(node, records), value: 0n, logs };
}

/** Subname of an unwrapped name, made in the registry with the public resolver. */
export function createSubname(
  { ENSv1Registry, PublicResolverV5: resolver }: Contracts,
  { parent, label, owner }: { parent: string; label: string; owner: LocalAccount },
): Action {
  const parentNode = namehash(parent);
  const hash = keccak256(stringToHex(label));
  return {
    from: owner,
    to: ENSv1Registry,
    input: encodeFunctionData({
      abi: registryAbi,
      functionName: "setSubnodeRecord",
      args: [parentNode, hash, owner.address, resolver, 0n],
    }),
    value: 0n,
    logs: [
      emit(ENSv1Registry, registryAbi, "NewOwner", { node: parentNode, label: hash, owner: owner.address }),
      emit(ENSv1Registry, registryAbi, "NewResolver", { node: namehash(`${label}.${parent}`), resolver }),
    ],
  };
}

/** Leave for the name wrapper to take the owner's `.eth` tokens: comes before the first wrap of an account. */
export function approveWrapper({ BaseRegistrar, NameWrapper }: Contracts, owner: LocalAccount): Action {
  const args = { owner: owner.address, operator: NameWrapper, approved: true };
  return {
    from: owner,
    to: BaseRegistrar,
    input: encodeFunctionData({
      abi: baseRegistrarAbi,
      functionName: "setApprovalForAll",
      args: [NameWrapper, true],
    }),
    value: 0n,
    logs: [emit(BaseRegistrar, baseRegistrarAbi, "ApprovalForAll", args)],
  };
}

/** Wrapping of `label`.eth, whose registration ends at `expires` (Unix seconds). */
export function wrap(
  { ENSv1Registry, BaseRegistrar, NameWrapper: wrapper, PublicResolverV5: resolver }: Contracts,
  { label, owner, expires, hadResolver }: WrapOptions,
): Action {
  const { labelhash, node, tokenId } = secondLevel(label);
  const from = owner.address;
  const logs = [
    emit(BaseRegistrar, baseRegistrarAbi, "Transfer", { from, to: wrapper, tokenId }),
    emit(ENSv1Registry, registryAbi, "NewOwner", { node: ethNode, label: labelhash, owner: wrapper }),
    mintLog(wrapper, { operator: from, to: from, node }),
    emit(wrapper, nameWrapperAbi, "NameWrapped", {
      node,
      name: toHex(packetToBytes(`${label}.eth`)),
      owner: from,
      fuses: parentCannotControl | isDotEth,
      expiry: expires + gracePeriod,
    }),
  ];
  // A name that has a resolver keeps it: the call then names the zero address.
  if (!hadResolver) logs.push(emit(ENSv1Registry, registryAbi, "NewResolver", { node, resolver }));
  return {
    from: owner,
    to: wrapper,
    input: encodeFunctionData({
      abi: nameWrapperAbi,
      functionName: "wrapETH2LD",
      args: [label, from, 0, hadResolver ? zeroAddress : resolver],
    }),
    value: 0n,
    logs,
  };
}

type WrapOptions = { label: string; owner: LocalAccount; expires: bigint; hadResolver: boolean };

/** Subname of a wrapped name, wrapped from birth, with the public resolver and no fuses. */
export function createWrappedSubname(
  { ENSv1Registry, NameWrapper: wrapper, PublicResolverV5: resolver }: Contracts,
  { parent, label, owner }: { parent: string; label: string; owner: LocalAccount },
): Action {
  const parentNode = namehash(parent);
  const node = namehash(`${label}.${parent}`);
  return {
    from: owner,
    to: wrapper,
    input: encodeFunctionData({
      abi: nameWrapperAbi,
      functionName: "setSubnodeRecord",
      args: [parentNode, label, owner.address, resolver, 0n, 0, 0n],
    }),
    value: 0n,
    logs: [
      emit(ENSv1Registry, registryAbi, "NewOwner", {
        node: parentNode,
        label: keccak256(stringToHex(label)),
        owner: wrapper,
      }),
      emit(ENSv1Registry, registryAbi, "NewResolver", { node, resolver }),
      mintLog(wrapper, { operator: owner.address, to: owner.address, node }),
      emit(wrapper, nameWrapperAbi, "NameWrapped", {
        node,
        name: toHex(packetToBytes(`${label}.${parent}`)),
        owner: owner.address,
        fuses: 0,
        expiry: 0n,
      }),
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
    input: encodeFunctionData({
      abi: baseRegistrarAbi,
      functionName: "safeTransferFrom",
      args: [owner.address, to, tokenId],
    }),
    value: 0n,
    logs: [emit(BaseRegistrar, baseRegistrarAbi, "Transfer", { from: owner.address, to, tokenId })],
  };
}

function mintLog(wrapper: Hex, { operator, to, node }: { operator: Hex; to: Hex; node: Hex }) {
  const args = { operator, from: zeroAddress, to, id: BigInt(node), value: 1n } as const;
  return emit(wrapper, nameWrapperAbi, "TransferSingle", args);
}

function secondLevel(label: string) {
  const labelhash = keccak256(stringToHex(label));
  return {
    labelhash,
    node: keccak256(concatHex([ethNode, pad(labelhash)])),
    tokenId: BigInt(labelhash),
  };
}

const ethNode: Hex = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
/** Seconds after its end in which a `.eth` name can still be renewed; the wrapper adds them to expiries. */
const gracePeriod = 7_776_000n;
const parentCannotControl = 65_536;
const isDotEth = 131_072;
