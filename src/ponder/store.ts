import { moduleOfPonder, PonderDiffersError } from "./expected.ts";

type Filters = Record<"defaultLogFilterInclude" | "requiredLogFilterInclude", string[]>;

/**
 * Has Ponder read of cached blocks and transactions the columns that events always have, to which handlers keep, instead of all. To be
 * called before Ponder looks at the registered handlers. Throws PonderDiffersError.
 * ponder: it would read all until each event of the configuration was indexed a hundred times, which the rare ones never are.
 */
export function readNeededColumns(): void {
  const { defaultLogFilterInclude: read, requiredLogFilterInclude: needed } = moduleOfPonder<Filters>(
    "runtime/filter.js",
    "defaultLogFilterInclude",
    "requiredLogFilterInclude",
  );
  // The list itself is changed.
  read.splice(0, read.length, ...needed);
}

// What cli/preload.mjs replaces; with PONDER_STORES=stock only the faults.
const ownStores = ["../indexing-store/cache.js", "../indexing-store/index.js", "../sync-store/index.js"];
const faults = ["beginning of the next range", "newest block that failed", "new connection that is lost"];

/**
 * Throws PonderDiffersError unless the faults of Ponder are patched, and it uses our stores for rows (`rows/row-store.ts`) and for what
 * nodes returned (`sync-store.ts`), or `stores` is `stock`.
 */
export function expectReplaced(stores: "own" | "stock"): void {
  const found: unknown = Reflect.get(globalThis, Symbol.for("nsindex.stores"));
  const expected = stores === "stock" ? faults : [...ownStores, ...faults];
  const missing = expected.filter((one) => !(found instanceof Set && found.has(one)));
  if (missing.length > 0) throw new PonderDiffersError(`not replaced in runtime: ${missing.join(", ")}`);
}
