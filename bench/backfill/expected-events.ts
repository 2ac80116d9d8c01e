import { type Hex, toEventSelector } from "viem";
import { chainName } from "../../src/config/chains.ts";
import type { Config } from "../../src/config/environment.ts";
import { contractSources } from "../../src/config/sources.ts";
import { eventNames } from "./event-names.ts";
import type { ServedChain } from "./served-chain.ts";

/** What an index of generated chains must contain. */
export type Expected = {
  /** Events by name, `<contract entry>:<event>`: a log is one event for each entry that matches it. */
  events: ReadonlyMap<string, number>;
  /** Logs that at least one entry matches. */
  logs: number;
  /** Logs of the indexed chains that no entry matches. */
  ignored: number;
};

/** The events that the indexing functions named in `registered` receive from the chains under a configuration. */
export function expectedEvents(
  config: Config,
  chains: readonly ServedChain[],
  registered: ReadonlySet<string>,
): Expected {
  const events = new Map([...registered].map((name) => [name, 0]));
  let logs = 0;
  let ignored = 0;
  for (const { id, firstBlock, logs: blocks } of chains) {
    const entries = entriesOf(config, chainName(id), registered);
    if (entries.length === 0) continue;
    for (const [place, block] of blocks.entries()) {
      for (const { address, topics } of block) {
        const names = entries.flatMap(({ range, names }) => {
          const isInside = range.startBlock <= firstBlock + place && firstBlock + place <= range.endBlock;
          const isFrom = range.address === undefined || range.address === address;
          return isInside && isFrom ? (names.get(topics[0] as Hex) ?? []) : [];
        });
        for (const name of names) events.set(name, (events.get(name) ?? 0) + 1);
        if (names.length > 0) logs++;
        else ignored++;
      }
    }
  }
  return { events, logs, ignored };
}

type Range = { address?: Hex; startBlock: number; endBlock?: number };

function entriesOf(config: Config, chain: string, registered: ReadonlySet<string>) {
  return Object.entries(contractSources(config)).flatMap(([source, { abi, chain: ranges }]) => {
    const range = (ranges as Record<string, Range>)[chain];
    if (range === undefined) return [];
    const names = eventNames(abi).map(
      ([name, event]) => [toEventSelector(event), `${source}:${name}`] as const,
    );
    return [
      {
        range: { endBlock: Number.POSITIVE_INFINITY, ...range },
        names: new Map(names.filter(([, name]) => registered.has(name))),
      },
    ];
  });
}

/** Throws unless each event was indexed as often as the chains contain it. */
export function requireEvents(expected: Expected, indexed: ReadonlyMap<string, number>): void {
  const faults = [...expected.events].flatMap(([name, wanted]) =>
    indexed.get(name) === wanted ? [] : [`${name}: ${indexed.get(name) ?? 0} of ${wanted}`],
  );
  if (faults.length > 0) throw new Error(`Not every event was indexed once:\n  ${faults.join("\n  ")}`);
}
