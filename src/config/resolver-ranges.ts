import type { PlannedEntry } from "./contract-entry.ts";

/**
 * The entries with every resolver event in one of them only: where one takes the events of all contracts of a chain from
 * some block on, those after it end before that block, or drop out (an end of the first is not made up for). On Base the
 * 3DNS resolver is such a contract. Entries of `protocol-acceleration` are left alone.
 */
export function withoutRepeatedResolvers(planned: readonly PlannedEntry[]): PlannedEntry[] {
  const coveredFrom = new Map<string, number>();
  return planned.flatMap((plan) => {
    const { entry, resolver } = plan;
    if (resolver === undefined || resolver === "every") return [plan];
    const chain = Object.entries(entry.chain).flatMap(([name, range]) => {
      const covered = coveredFrom.get(`${resolver} ${name}`) ?? Number.POSITIVE_INFINITY;
      if (range.address === undefined)
        coveredFrom.set(`${resolver} ${name}`, Math.min(covered, range.startBlock));
      const endBlock = Math.min(range.endBlock ?? Number.POSITIVE_INFINITY, covered - 1);
      if (endBlock < range.startBlock) return [];
      return [[name, endBlock === Number.POSITIVE_INFINITY ? range : { ...range, endBlock }] as const];
    });
    return chain.length === 0 ? [] : [{ ...plan, entry: { ...entry, chain: Object.fromEntries(chain) } }];
  });
}

/**
 * The entries of resolvers without their address on chains where `protocol-acceleration` reads every resolver anyway: Ponder
 * sends equal filters once, but would fetch the same logs again for a narrower one. Their handlers must check the emitter.
 */
export function withSharedFilters(planned: readonly PlannedEntry[]): PlannedEntry[] {
  const every = planned.filter(({ resolver }) => resolver === "every");
  const shared = new Set(every.flatMap(({ entry }) => Object.keys(entry.chain)));
  return planned.map((plan) => {
    const { entry, resolver } = plan;
    if (resolver === undefined || resolver === "every") return plan;
    const chain = Object.entries(entry.chain).map(([name, { address, ...range }]) => {
      const isOpen = address === undefined || shared.has(name);
      return [name, isOpen ? range : { address, ...range }] as const;
    });
    return { ...plan, entry: { ...entry, chain: Object.fromEntries(chain) } };
  });
}
