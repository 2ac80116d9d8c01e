import { type Abi, type AbiEvent, decodeEventLog, type Hex, toEventSelector } from "viem";
import type { Config } from "../config/environment.ts";
import { missingDatasources, pluginIds } from "../config/plugins.ts";
import { type ContractEntry, contractSources } from "../config/sources.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import type { ArchiveFilter } from "./manifest.ts";
import type { FactoryFilter } from "./record.ts";

/** What an archive of a chain is to hold, and from which block on. */
export type Wanted = { first: number; filters: ArchiveFilter[]; factories: FactoryFilter[] };

/**
 * The logs of a chain that any plugin of the namespace reads, in either mode: an archive for one plugin would have to be
 * recorded again for the next.
 */
export function wantedOf(config: Config, chain: string): Wanted {
  const plugins = pluginIds.filter((id) => missingDatasources(id, config.datasources).length === 0);
  const every = { ...config, blockRange: {} };
  const sources = [
    ...Object.values(contractSources({ ...every, plugins, isSubgraphCompatible: false })),
    ...Object.values(contractSources({ ...every, plugins: ["subgraph"], isSubgraphCompatible: true })),
  ];
  const places = sources.flatMap(({ abi, chain: { [chain]: place } }) => (place ? [{ ...place, abi }] : []));
  const topicsOf = (of: readonly { abi: Abi }[]) => [
    ...new Set(
      of.flatMap(({ abi }) => abi.flatMap((item) => (item.type === "event" ? [toEventSelector(item)] : []))),
    ),
  ];
  const known = places.filter(({ address }) => typeof address === "string");
  const open = places.filter(({ address }) => address === undefined);
  const filters = [
    {
      addresses: [...new Set(known.map(({ address }) => String(address).toLowerCase()))],
      topics: topicsOf(known),
    },
    { addresses: null, topics: topicsOf(open) },
  ].filter(({ topics }) => topics.length > 0);
  const byFactory = Map.groupBy(
    places.filter(({ address }) => typeof address === "object"),
    ({ address }) => JSON.stringify(address),
  );
  const factories = [...byFactory.values()].flatMap((of) => factoryOf(of[0]?.address, topicsOf(of)));
  return { first: Math.min(...places.map(({ startBlock }) => startBlock)), filters, factories };
}

type Place = ContractEntry["chain"][string]["address"];

function factoryOf(address: Place, topics: string[]): FactoryFilter[] {
  if (typeof address !== "object") return [];
  const { event, parameter } = address;
  const selector = toEventSelector(event);
  const filter = { addresses: { factory: address.address.toLowerCase(), event: selector }, topics };
  return [{ filter, childOf: (log) => childIn(log, event, parameter) }];
}

function childIn({ topics, data }: RpcLog, event: AbiEvent, parameter: string): string | undefined {
  try {
    const { args } = decodeEventLog({ abi: [event], topics: topics as [Hex, ...Hex[]], data: data as Hex });
    const child = (args as Record<string, unknown> | undefined)?.[parameter];
    return typeof child === "string" ? child.toLowerCase() : undefined;
  } catch {
    // Another form of the event names no contract.
    return undefined;
  }
}
