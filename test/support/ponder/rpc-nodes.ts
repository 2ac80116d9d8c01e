import { vi } from "vitest";
import type { BlockRange } from "../../../src/rpc/nodes.ts";

/** Options of checks of RPC answers, and what is reported to them. */
export function watchedOptions<More extends object>(more: More) {
  const [log, count, believe, unverified] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
  const options = {
    ...{
      chain: "mainnet",
      chainId: 1,
      isPublic: true,
      crossCheckShare: 0,
      random: () => 0.5,
      now: () => 1_000,
    },
    ...{ log, count, believe, reportUnverified: unverified },
    ...more,
  };
  return {
    options,
    ...{ log, count, believe, unverified },
    /** The blocks that were reported last to be unverified. */
    reported: () =>
      (unverified.mock.lastCall?.[0] as BlockRange[] | undefined)?.map(({ from, to }) => [from, to]),
    /** The kinds of what was counted, each behind its host. */
    kinds: () => count.mock.calls.map(([{ host, kind }]) => `${host} ${kind}`),
  };
}
