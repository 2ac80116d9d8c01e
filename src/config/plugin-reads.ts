import type { Abi } from "viem";
import { labelStoreAbi, leaseAbi, proxyFactoryAbi } from "../../abis/ensv2.ts";
import {
  erc721TransferAbi,
  erc1155TransferAbi,
  nameWrapperAbi,
  registryAbi,
  registryResolverAbi,
  seaportAbi,
  threednsNamesAbi,
  threednsTokenAbi,
} from "../../abis/names.ts";
import { referralRenewalsAbi, reverseRegistrarAbi } from "../../abis/registrars.ts";
import { resolverAbi, resolverRecordsAbi } from "../../abis/resolver.ts";
import type { Role } from "../deployments/deployment.ts";

/** The ABI by which a plugin reads contracts of a role; `own` is the one in the contract's description. */
export type Reads = { readonly [R in Role]?: Abi | "own" };

/** What the plugin of a deployment reads of it. */
export const deploymentReads: Reads = {
  registry: registryAbi,
  resolver: resolverAbi,
  baseRegistrar: "own",
  controller: "own",
  nameWrapper: nameWrapperAbi,
  threednsToken: threednsTokenAbi,
  v2Registry: erc1155TransferAbi,
  v2Factory: proxyFactoryAbi,
  v2Registrar: leaseAbi,
  v2LabelStore: labelStoreAbi,
};

/** What the other plugins read of every deployment. They require the root chain only, so that networks without the others can have them. */
export const crossDeploymentReads = {
  "protocol-acceleration": {
    registry: registryResolverAbi,
    threednsToken: threednsNamesAbi,
    resolver: resolverRecordsAbi,
    reverseRegistrar: reverseRegistrarAbi,
  },
  registrars: {
    baseRegistrar: "own",
    controller: "own",
    referrals: referralRenewalsAbi,
    v2Registrar: leaseAbi,
  },
  tokenscope: {
    baseRegistrar: erc721TransferAbi,
    nameWrapper: erc1155TransferAbi,
    threednsToken: erc1155TransferAbi,
    marketplace: seaportAbi,
  },
} as const satisfies Record<string, Reads>;

/** A plugin that reads all deployments. */
export type CrossingId = keyof typeof crossDeploymentReads;

/** Those plugins, in the order in which their handlers see one log. */
export const crossingIds = Object.keys(crossDeploymentReads) as CrossingId[];
