import type { StatusChain } from "./facts.ts";

type Range = { startBlock: number; endBlock?: number | undefined };

/** A contract that is indexed: its block range on each chain, by the chain's name. */
export type RangedContract = { chain: Readonly<Record<string, Range>> };

/**
 * The range of each chain: from the lowest start of its contracts to the highest end, the latter only if every one of
 * them has an end. Chains without contracts are left out.
 */
export function statusChains(
  chains: readonly { id: number; name: string }[],
  contracts: readonly RangedContract[],
): StatusChain[] {
  return chains.flatMap(({ id, name }) => {
    const ranges = contracts.flatMap((contract) => contract.chain[name] ?? []);
    if (ranges.length === 0) return [];
    const ends = ranges.flatMap((range) => range.endBlock ?? []);
    return [
      {
        chainId: id,
        startBlock: Math.min(...ranges.map((range) => range.startBlock)),
        ...(ends.length === ranges.length ? { endBlock: Math.max(...ends) } : {}),
      },
    ];
  });
}
