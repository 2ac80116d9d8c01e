import {
  basenamesBaseRegistrarAbi,
  basenamesControllerAbi,
  earlyAccessControllerAbi,
} from "../../../abis/basenames.ts";
import { registryAbi } from "../../../abis/registry.ts";
import { dnsResolverAbi, resolverAbi } from "../../../abis/resolver.ts";
import { entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `basenames`: the deployment on Base. */
export function basenamesSources(config: Config) {
  const entry = entryOf(config, "basenames");
  return {
    "basenames/Registry": entry("Registry", registryAbi),
    "basenames/Resolver": entry("Resolver", resolverAbi),
    "basenames/DNSResolver": entry("Resolver", dnsResolverAbi),
    "basenames/BaseRegistrar": entry("BaseRegistrar", basenamesBaseRegistrarAbi),
    "basenames/EARegistrarController": entry("EARegistrarController", earlyAccessControllerAbi),
    "basenames/RegistrarController": entry("RegistrarController", basenamesControllerAbi),
    "basenames/UpgradeableRegistrarController": entry(
      "UpgradeableRegistrarController",
      basenamesControllerAbi,
    ),
  };
}
