import { LRUCache } from "lru-cache";
import type { ActionCount, ActionFilter } from "./registrar-actions-query.ts";

type Known = { head: string; count: Promise<ActionCount> };

/**
 * Numbers of matching actions, counted once for each filter and head of the index. `count` counts on from an earlier
 * number of the same filter; at most 1,000 filters are remembered.
 */
export function createActionCounts(
  count: (filter: ActionFilter, before: ActionCount | undefined) => Promise<ActionCount>,
) {
  const known = new LRUCache<string, Known>({ max: 1_000 });

  /** Number of matching actions at a head: any text that differs when another block has been indexed. */
  return async (filter: ActionFilter, head: string): Promise<number> => {
    const key = JSON.stringify(filter);
    const before = known.get(key);
    if (before?.head === head) return (await before.count).total;
    const counted = countOn(before, (earlier) => count(filter, earlier));
    known.set(key, { head, count: counted });
    try {
      return (await counted).total;
    } catch (error) {
      // A count that failed is not remembered; the one before it still holds for what is settled.
      if (known.peek(key)?.count === counted) {
        if (before) known.set(key, before);
        else known.delete(key);
      }
      throw error;
    }
  };
}

async function countOn(
  before: Known | undefined,
  count: (earlier: ActionCount | undefined) => Promise<ActionCount>,
): Promise<ActionCount> {
  const earlier = await before?.count.catch(() => undefined);
  return count(earlier);
}
