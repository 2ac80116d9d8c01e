import type { Hex } from "viem";
import { zeroAddress } from "../ens/nodes.ts";
import type { Namespace } from "./datasources.ts";

/** The registry of the root chain, and the one resolver of the 3DNS names of a chain. */
export function accelerationContracts(namespace: Namespace): {
  rootRegistry: Hex;
  threednsResolverOf: (chainId: number) => Hex | undefined;
} {
  const threedns = [namespace["threednsOptimism"], namespace["threednsBase"]];
  return {
    rootRegistry: namespace["ensroot"]?.contracts["ENSv1Registry"]?.address ?? zeroAddress,
    threednsResolverOf: (chainId) =>
      threedns.find((datasource) => datasource?.chainId === chainId)?.contracts["Resolver"]?.address,
  };
}
