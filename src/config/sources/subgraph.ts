import { baseRegistrarAbi } from "../../../abis/base-registrar.ts";
import { nameWrapperAbi } from "../../../abis/name-wrapper.ts";
import {
  legacyControllerAbi,
  unwrappedControllerAbi,
  wrappedControllerAbi,
} from "../../../abis/registrar-controllers.ts";
import { registryAbi } from "../../../abis/registry.ts";
import { dnsResolverAbi, resolverAbi } from "../../../abis/resolver.ts";
import { entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `subgraph`: the root chain. */
export function subgraphSources(config: Config) {
  const entry = entryOf(config, "ensroot");
  return {
    "subgraph/ENSv1RegistryOld": entry("ENSv1RegistryOld", registryAbi),
    "subgraph/ENSv1Registry": entry("ENSv1Registry", registryAbi),
    "subgraph/Resolver": entry("Resolver", resolverAbi),
    // Text records of DNS resolvers: an addition that the original does not have.
    "subgraph/DNSResolver": config.isSubgraphCompatible ? undefined : entry("Resolver", dnsResolverAbi),
    "subgraph/BaseRegistrar": entry("BaseRegistrar", baseRegistrarAbi),
    "subgraph/LegacyEthRegistrarController": entry("LegacyEthRegistrarController", legacyControllerAbi),
    "subgraph/WrappedEthRegistrarController": entry("WrappedEthRegistrarController", wrappedControllerAbi),
    "subgraph/UnwrappedEthRegistrarController": entry(
      "UnwrappedEthRegistrarController",
      unwrappedControllerAbi,
    ),
    "subgraph/NameWrapper": entry("NameWrapper", nameWrapperAbi),
  };
}
