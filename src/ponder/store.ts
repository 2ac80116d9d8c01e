import { z } from "zod/v4";
import { expectOfPonder, moduleOfPonder } from "./expected.ts";

// What events of src/contracts/on.ts have besides the log.
const used = ["block.number", "block.timestamp", "transaction.hash", "transaction.from"];
const filters = z.object({
  // The list itself, which is changed.
  defaultLogFilterInclude: z.custom<string[]>((value) => Array.isArray(value)),
  requiredLogFilterInclude: z
    .array(z.string())
    .refine((columns) => used.every((one) => columns.includes(one)), `expected ${used.join(", ")}`),
});

/**
 * Has Ponder read of cached blocks and transactions the columns that events always have, to which the rules keep, instead of all. To be
 * called before Ponder looks at the registered rules. Throws PonderDiffersError.
 * ponder: it would read all until each event of the configuration was indexed a hundred times, which the rare ones never are.
 */
export function readNeededColumns(): void {
  const { defaultLogFilterInclude: read, requiredLogFilterInclude: needed } = moduleOfPonder(
    filters,
    "runtime/filter.js",
  );
  read.splice(0, read.length, ...needed);
}

// What scripts/preload.mjs replaces.
const replaced = [
  "../indexing-store/cache.js",
  "../indexing-store/index.js",
  "../sync-store/index.js",
  "../sync-historical/index.js",
  "beginning of the next range",
];

/**
 * Throws PonderDiffersError unless Ponder uses our stores for rows (`rows/row-store.ts`) and for what nodes returned (`sync-store.ts`), and
 * begins each range of blocks once.
 */
export function expectOwnStores(): void {
  const stores: unknown = Reflect.get(globalThis, Symbol.for("nsindex.stores"));
  const own = z
    .instanceof(Set)
    .refine((found) => replaced.every((one) => found.has(one)), `expected ${replaced.join(", ")}`);
  expectOfPonder(own, stores, "what is replaced in runtime");
}

/**
 * The updated row, or undefined if there is no such row. One operation instead of two: finding
 * the row first would cost as much as the update.
 */
export async function unlessMissing<Row>(update: PromiseLike<Row>): Promise<Row | undefined> {
  try {
    return await update;
  } catch (error) {
    // ponder: the class of the error is not exported.
    if (error instanceof Error && error.name === "RecordNotFoundError") return undefined;
    throw error;
  }
}
