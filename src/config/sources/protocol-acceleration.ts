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
  const resolvers = everyResolver(config);
  const reverse = (datasourceId: string) =>
    entryOf(config, datasourceId)("L2ReverseRegistrar", reverseRegistrarAbi);
  return {
    "protocol-acceleration/ensroot/ENSv1RegistryOld": root("ENSv1RegistryOld", registryResolverAbi),
    "protocol-acceleration/ensroot/ENSv1Registry": root("ENSv1Registry", registryResolverAbi),
    "protocol-acceleration/basenames/Registry": base("Registry", registryResolverAbi),
    "protocol-acceleration/lineanames/Registry": linea("Registry", registryResolverAbi),
    "protocol-acceleration/threednsOptimism/ThreeDNSToken": optimismToken("ThreeDNSToken", threednsNamesAbi),
    "protocol-acceleration/threednsBase/ThreeDNSToken": baseToken("ThreeDNSToken", threednsNamesAbi),
    "protocol-acceleration/EarlyResolver": resolvers.early,
    "protocol-acceleration/Resolver": resolvers.every,
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

type Resolvers = ContractEntry<typeof resolverRecordsAbi>;

// Every contract of a chain, from the first block in which one of its datasources has a resolver: one entry for all chains,
// so that a chain of several datasources is not read twice. Where these begin at different blocks, what comes before the
// last of them has an entry of its own: the other plugins' entries change over there too, and Ponder fetches once what has
// equal ranges.
function everyResolver(config: Config): { early?: Resolvers; every?: Resolvers } {
  const entries = datasourcesWithResolvers.flatMap(
    (id) => entryOf(config, id)("Resolver", resolverRecordsAbi) ?? [],
  );
  const [first] = entries;
  if (first === undefined) return {};
  const early: Resolvers["chain"] = {};
  const every: Resolvers["chain"] = {};
  for (const [name, { startBlock, endBlock }] of entries.flatMap((entry) => Object.entries(entry.chain))) {
    const [before, since] = [early[name]?.startBlock, every[name]?.startBlock ?? startBlock];
    const last = Math.max(startBlock, since);
    const begin = Math.min(startBlock, before ?? since);
    every[name] = { startBlock: last, ...(endBlock === undefined ? {} : { endBlock }) };
    if (begin < last) early[name] = { startBlock: begin, endBlock: last - 1 };
  }
  const hasEarly = Object.keys(early).length > 0;
  return { every: { ...first, chain: every }, ...(hasEarly ? { early: { ...first, chain: early } } : {}) };
}
