import { resolverAbi } from "../../../abis/resolver.ts";
import { threednsDnsResolverAbi, threednsTokenAbi } from "../../../abis/threedns.ts";
import { entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `threedns`: the 3DNS token and its one resolver on Optimism and on Base. */
export function threednsSources(config: Config) {
  const optimism = entryOf(config, "threednsOptimism");
  const base = entryOf(config, "threednsBase");
  return {
    "threedns/threednsOptimism/ThreeDNSToken": optimism("ThreeDNSToken", threednsTokenAbi),
    "threedns/threednsOptimism/Resolver": optimism("Resolver", resolverAbi),
    "threedns/threednsOptimism/DNSResolver": optimism("Resolver", threednsDnsResolverAbi),
    "threedns/threednsBase/ThreeDNSToken": base("ThreeDNSToken", threednsTokenAbi),
    "threedns/threednsBase/Resolver": base("Resolver", resolverAbi),
    "threedns/threednsBase/DNSResolver": base("Resolver", threednsDnsResolverAbi),
  };
}
