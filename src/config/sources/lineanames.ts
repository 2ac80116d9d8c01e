import { baseRegistrarAbi } from "../../../abis/base-registrar.ts";
import { lineanamesControllerAbi } from "../../../abis/lineanames.ts";
import { nameWrapperAbi } from "../../../abis/name-wrapper.ts";
import { registryAbi } from "../../../abis/registry.ts";
import { dnsResolverAbi, resolverAbi } from "../../../abis/resolver.ts";
import { entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `lineanames`: the deployment on Linea. */
export function lineanamesSources(config: Config) {
  const entry = entryOf(config, "lineanames");
  return {
    "lineanames/Registry": entry("Registry", registryAbi),
    "lineanames/Resolver": entry("Resolver", resolverAbi),
    "lineanames/DNSResolver": entry("Resolver", dnsResolverAbi),
    "lineanames/BaseRegistrar": entry("BaseRegistrar", baseRegistrarAbi),
    "lineanames/EthRegistrarController": entry("EthRegistrarController", lineanamesControllerAbi),
    "lineanames/NameWrapper": entry("NameWrapper", nameWrapperAbi),
  };
}
