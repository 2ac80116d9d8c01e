import { type Abi, type AbiEvent, parseEventLogs, toEventSelector } from "viem";
import type { Config } from "../config/environment.ts";
import { missingDatasources, pluginIds } from "../config/plugins.ts";
import { type ContractEntry, contractSources } from "../config/sources.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type ArchiveFilter, factoryKey } from "./manifest.ts";
import type { Factories } from "./record.ts";

/** What an archive of a chain should hold, and from which block on. */
export type Wanted = { first: number; filters: ArchiveFilter[]; factories: Factories };

/**
 * The logs that any plugin of the namespace reads from a chain, in either mode, so that no other plugin needs a new
 * recording.
 */
export function describeWanted(config: Config, chain: string): Wanted {
  const plugins = pluginIds.filter((id) => missingDatasources(id, config.datasources).length === 0);
  const every = { ...config, blockRange: {} };
  const sources = [
    ...Object.values(contractSources({ ...every, plugins, isSubgraphCompatible: false })),
    ...Object.values(contractSources({ ...every, plugins: ["subgraph"], isSubgraphCompatible: true })),
  ];
  return describeLogsOf(sources, chain);
}

/** The logs that contract entries read from a chain. */
export function describeLogsOf(sources: readonly ContractEntry[], chain: string): Wanted {
  const entries = sources.flatMap(({ abi, chain: { [chain]: entry } }) => (entry ? [{ ...entry, abi }] : []));
  // One group of entries with addresses, one of those without, and one for each factory.
  const groups = Map.groupBy(entries, ({ address }) =>
    typeof address === "object" ? JSON.stringify(address) : typeof address,
  );
  const filters: ArchiveFilter[] = [];
  const factories = new Map<string, (log: RpcLog) => string | undefined>();
  for (const group of groups.values()) {
    const events = group.flatMap(({ abi }) => (abi as Abi).filter((item) => item.type === "event"));
    const topics = [...new Set(events.map((event) => toEventSelector(event)))];
    const address = group[0]?.address;
    if (topics.length === 0) continue;
    if (typeof address === "object") {
      const { event, parameter } = address;
      const addresses = { factory: address.address.toLowerCase(), event: toEventSelector(event) };
      factories.set(factoryKey(addresses), (log) => findChild(log, event, parameter));
      filters.push({ addresses, topics });
      continue;
    }
    const known = group.flatMap((entry) =>
      typeof entry.address === "string" ? entry.address.toLowerCase() : [],
    );
    filters.push({ addresses: address === undefined ? null : [...new Set(known)], topics });
  }
  return { first: Math.min(...entries.map(({ startBlock }) => startBlock)), filters, factories };
}

function findChild(log: RpcLog, event: AbiEvent, parameter: string): string | undefined {
  // An event of another form names no contract.
  const [found] = parseEventLogs({ abi: [event], logs: [log as never] });
  const child = (found?.args as Record<string, unknown> | undefined)?.[parameter];
  return typeof child === "string" ? child.toLowerCase() : undefined;
}
