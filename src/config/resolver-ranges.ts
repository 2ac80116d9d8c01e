import type { Abi } from "viem";
import type { ContractEntry } from "./contract-entry.ts";

type Entry = ContractEntry<Abi>;

// The entries that read every resolver of a chain beside those.
const accelerationKey = /^protocol-acceleration\/(?:Early)?Resolver$/;

// Entries whose events end up in the tables of the subgraph's resolvers.
const resolverKey = /^(?:subgraph|basenames|lineanames|threedns)\/(?:.+\/)?((?:DNS)?Resolver)$/;

/**
 * The entries with every resolver event in one of them only: where one takes the events of all contracts of a chain from
 * some block on, those behind it end before that block, or fall away (an end of the first is not made up for). On Base the
 * 3DNS resolver is such a contract.
 */
export function withoutRepeatedResolvers(entries: readonly [string, Entry][]): [string, Entry][] {
  const coveredFrom = new Map<string, number>();
  return entries.flatMap(([key, entry]) => {
    const kind = resolverKey.exec(key)?.[1];
    if (kind === undefined) return [[key, entry]];
    const chain = Object.entries(entry.chain).flatMap(([name, range]) => {
      const covered = coveredFrom.get(`${kind} ${name}`) ?? Number.POSITIVE_INFINITY;
      if (range.address === undefined)
        coveredFrom.set(`${kind} ${name}`, Math.min(covered, range.startBlock));
      const endBlock = Math.min(range.endBlock ?? Number.POSITIVE_INFINITY, covered - 1);
      if (endBlock < range.startBlock) return [];
      return [[name, endBlock === Number.POSITIVE_INFINITY ? range : { ...range, endBlock }] as const];
    });
    return chain.length === 0 ? [] : [[key, { ...entry, chain: Object.fromEntries(chain) }]];
  });
}

/**
 * The entries of resolvers without their address on chains where `protocol-acceleration` reads every resolver anyway: Ponder
 * sends equal filters once, but would fetch the same logs again for a narrower one. Their handlers must tell the contracts
 * apart.
 */
export function withSharedFilters(entries: readonly [string, Entry][]): [string, Entry][] {
  const acceleration = entries.filter(([key]) => accelerationKey.test(key));
  const shared = new Set(acceleration.flatMap(([, { chain }]) => Object.keys(chain)));
  return entries.map(([key, entry]) => {
    if (!resolverKey.test(key)) return [key, entry];
    const chain = Object.entries(entry.chain).map(([name, { address, ...range }]) => {
      const isOpen = address === undefined || shared.has(name);
      return [name, isOpen ? range : { address, ...range }] as const;
    });
    return [key, { ...entry, chain: Object.fromEntries(chain) }];
  });
}
