import type { Abi } from "viem";
import type { ContractEntry } from "./contract-entry.ts";
import type { Config } from "./environment.ts";
import { pluginIds } from "./plugins.ts";
import { withoutRepeatedResolvers, withSharedFilters } from "./resolver-ranges.ts";
import { basenamesSources } from "./sources/basenames.ts";
import { lineanamesSources } from "./sources/lineanames.ts";
import { protocolAccelerationSources } from "./sources/protocol-acceleration.ts";
import { registrarsSources } from "./sources/registrars.ts";
import { subgraphSources } from "./sources/subgraph.ts";
import { threednsSources } from "./sources/threedns.ts";
import { tokenscopeSources } from "./sources/tokenscope.ts";

// One function per plugin; its keys begin with the plugin's id and a slash.
const sourcesOfPlugins = {
  subgraph: subgraphSources,
  basenames: basenamesSources,
  lineanames: lineanamesSources,
  threedns: threednsSources,
  "protocol-acceleration": protocolAccelerationSources,
  registrars: registrarsSources,
  tokenscope: tokenscopeSources,
};

type EntriesOfPlugin = Record<string, ContractEntry<Abi> | undefined>;
type Sources = typeof sourcesOfPlugins;
type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void
  ? I
  : never;
type EveryEntry = Intersection<{ [P in keyof Sources]: ReturnType<Sources[P]> }[keyof Sources]>;

/** Ponder's contract entries of every plugin: the largest set that a configuration can have. */
export type ContractSources = { [K in keyof EveryEntry]: NonNullable<EveryEntry[K]> };

/**
 * Ponder's contract entries of the active plugins, keyed `<plugin>/<Contract>`, or `<plugin>/<datasource>/<Contract>` where
 * a plugin has several datasources. For one log, handlers run in key order: that of `pluginIds`.
 * Contracts that the namespace does not have are left out, but the type names every entry that there can be.
 */
export function contractSources(config: Config): ContractSources {
  const functions: Partial<Record<string, (config: Config) => EntriesOfPlugin>> = sourcesOfPlugins;
  const entries = pluginIds
    .filter((id) => config.plugins.includes(id))
    .flatMap((id) => Object.entries(functions[id]?.(config) ?? {}))
    .flatMap(([key, entry]) => (entry === undefined ? [] : [[key, entry] as [string, ContractEntry<Abi>]]));
  return Object.fromEntries(withSharedFilters(withoutRepeatedResolvers(entries))) as ContractSources;
}
