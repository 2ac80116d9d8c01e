import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { z } from "zod/v4";
import { expectOfPonder } from "./expected.ts";

// What events of src/contracts/on.ts have besides the log.
const used = ["block.number", "block.timestamp", "transaction.hash", "transaction.from"];
const filters = z.object({
  defaultLogFilterInclude: z.array(z.string()),
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
  const place = new URL("../../node_modules/ponder/dist/esm/runtime/filter.js", import.meta.url);
  // ponder: Vite, with which `dev` loads this file, would give import() another instance of the module.
  const module: unknown = createRequire(import.meta.url)(fileURLToPath(place));
  expectOfPonder(filters, module, "runtime/filter.js");
  const { defaultLogFilterInclude: read, requiredLogFilterInclude: needed } = module as z.infer<
    typeof filters
  >;
  read.splice(0, read.length, ...needed);
}

/**
 * Throws PonderDiffersError unless Ponder keeps the rows of the rules in `rows/row-store.ts`, which scripts/preload.mjs puts in the
 * place of its own store.
 */
export function expectOwnStore(): void {
  expectOfPonder(
    z.literal(true),
    Reflect.get(globalThis, Symbol.for("nsindex.row-store")),
    "imports of indexing-store/index.js",
  );
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
