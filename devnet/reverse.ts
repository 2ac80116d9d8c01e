import { concatHex, type Hex, keccak256, stringToHex } from "viem";
import type { EmittedLog } from "./block-builder.ts";
import { registryAbi, resolverAbi, reverseRegistrarAbi } from "./contracts.ts";
import { emit } from "./emit.ts";

/**
 * Logs of a primary name that the controller sets for `owner`, in both reverse registrars. Only the `first`
 * claim of an address changes the resolver of its reverse node.
 */
export function claimLogs(
  contracts: Record<
    "ReverseRegistrar" | "DefaultReverseRegistrar" | "ENSv1Registry" | "PublicResolverV5",
    Hex
  >,
  { owner, name, claim }: { owner: Hex; name: string; claim: "first" | "again" },
): EmittedLog[] {
  const { ReverseRegistrar, DefaultReverseRegistrar, ENSv1Registry, PublicResolverV5: resolver } = contracts;
  const label = keccak256(stringToHex(owner.slice(2).toLowerCase()));
  const node = keccak256(concatHex([addrReverseNode, label]));
  const logs = [
    emit(ReverseRegistrar, reverseRegistrarAbi, "ReverseClaimed", { addr: owner, node }),
    emit(ENSv1Registry, registryAbi, "NewOwner", { node: addrReverseNode, label, owner }),
  ];
  if (claim === "first") logs.push(emit(ENSv1Registry, registryAbi, "NewResolver", { node, resolver }));
  logs.push(
    emit(resolver, resolverAbi, "NameChanged", { node, name }),
    emit(DefaultReverseRegistrar, reverseRegistrarAbi, "NameForAddrChanged", { addr: owner, name }),
  );
  return logs;
}

const addrReverseNode: Hex = "0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2";
