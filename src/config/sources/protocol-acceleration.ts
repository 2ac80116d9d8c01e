import {
  registryResolverAbi,
  resolverRecordsAbi,
  threednsNamesAbi,
} from "../../../abis/protocol-acceleration.ts";
import { reverseRegistrarAbi } from "../../../abis/reverse-registrar.ts";
import { type ContractEntry, entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `protocol-acceleration`: registries, every resolver, reverse registrars. */
export function protocolAccelerationSources(config: Config) {
  const root = entryOf(config, "ensroot");
  const base = entryOf(config, "basenames");
  const linea = entryOf(config, "lineanames");
  const optimismToken = entryOf(config, "threednsOptimism");
  const baseToken = entryOf(config, "threednsBase");
  const reverse = (datasourceId: string) =>
    entryOf(config, datasourceId)("L2ReverseRegistrar", reverseRegistrarAbi);
  return {
    "protocol-acceleration/ensroot/ENSv1RegistryOld": root("ENSv1RegistryOld", registryResolverAbi),
    "protocol-acceleration/ensroot/ENSv1Registry": root("ENSv1Registry", registryResolverAbi),
    "protocol-acceleration/basenames/Registry": base("Registry", registryResolverAbi),
    "protocol-acceleration/lineanames/Registry": linea("Registry", registryResolverAbi),
    "protocol-acceleration/threednsOptimism/ThreeDNSToken": optimismToken("ThreeDNSToken", threednsNamesAbi),
    "protocol-acceleration/threednsBase/ThreeDNSToken": baseToken("ThreeDNSToken", threednsNamesAbi),
    "protocol-acceleration/Resolver": everyResolver(config),
    "protocol-acceleration/rrRoot/DefaultReverseRegistrar": entryOf(config, "rrRoot")(
      "DefaultReverseRegistrar",
      reverseRegistrarAbi,
    ),
    "protocol-acceleration/rrBase/L2ReverseRegistrar": reverse("rrBase"),
    "protocol-acceleration/rrLinea/L2ReverseRegistrar": reverse("rrLinea"),
    "protocol-acceleration/rrOptimism/L2ReverseRegistrar": reverse("rrOptimism"),
    "protocol-acceleration/rrArbitrum/L2ReverseRegistrar": reverse("rrArbitrum"),
    "protocol-acceleration/rrScroll/L2ReverseRegistrar": reverse("rrScroll"),
  };
}

const datasourcesWithResolvers = ["ensroot", "basenames", "lineanames", "threednsOptimism", "threednsBase"];

// Every contract of a chain, from the first block in which one of its datasources has a resolver: one entry for all chains,
// so that a chain of several datasources is not read twice.
function everyResolver(config: Config): ContractEntry<typeof resolverRecordsAbi> | undefined {
  const entries = datasourcesWithResolvers.flatMap(
    (id) => entryOf(config, id)("Resolver", resolverRecordsAbi) ?? [],
  );
  const [first] = entries;
  if (first === undefined) return undefined;
  const chain: ContractEntry<typeof resolverRecordsAbi>["chain"] = {};
  for (const [name, { startBlock, endBlock }] of entries.flatMap((entry) => Object.entries(entry.chain))) {
    chain[name] = {
      startBlock: Math.min(startBlock, chain[name]?.startBlock ?? startBlock),
      ...(endBlock === undefined ? {} : { endBlock }),
    };
  }
  return { ...first, chain };
}
