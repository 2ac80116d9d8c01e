import { membersOfPonder, moduleOfPonder, PonderDiffersError } from "./expected.ts";

/**
 * Makes Ponder read only the columns of cached blocks and transactions that events always have; handlers use no others.
 * Call it before Ponder looks at the registered handlers. Throws PonderDiffersError. ponder: it reads all columns until
 * each configured event was indexed a hundred times; rare events never are.
 */
export function readNeededColumns(): void {
  const { defaultLogFilterInclude: read, requiredLogFilterInclude: needed } = moduleOfPonder<
    Record<"defaultLogFilterInclude" | "requiredLogFilterInclude", string[]>
  >("runtime/filter.js", "defaultLogFilterInclude", "requiredLogFilterInclude");
  // Ponder holds the list itself.
  read.splice(0, read.length, ...needed);
}

// Logs of a batch, over all chains.
const logsOfBatch = 24_000;

/**
 * Makes the batches of a backfill twice as large as Ponder's, which hold 12,000 logs: a row that several events change
 * is written less often, for some 30 MB of memory. Does nothing outside of Ponder. Throws PonderDiffersError.
 */
export function enlargeBatches(scope: object = globalThis): void {
  if (!("PONDER_COMMON" in scope)) return;
  type Common = { options: { syncEventsQuerySize: number } };
  const path = "options.syncEventsQuerySize";
  membersOfPonder<Common>(scope.PONDER_COMMON, "PONDER_COMMON", path).options.syncEventsQuerySize =
    logsOfBatch;
}

// What cli/preload.mjs replaces; with PONDER_STORES=stock, only the changes.
const ownStores = ["../indexing-store/cache.js", "../indexing-store/index.js", "../sync-store/index.js"];
const changes = [
  "glob",
  "./realtime.js",
  "beginning of the next range",
  "errors of live blocks",
  "new connection that is lost",
  "order of all chains",
  "blocks that are held",
  "chains that a reorganization concerns",
  "branch of the rows",
];

/**
 * Throws PonderDiffersError unless Ponder's text is patched and, unless `stores` is `stock`, our stores for rows
 * (`rows/row-store.ts`) and nodes' responses (`sync-store.ts`) are in use.
 */
export function expectReplaced(stores: "own" | "stock"): void {
  const found: unknown = Reflect.get(globalThis, Symbol.for("nsindex.stores"));
  const expected = stores === "stock" ? changes : [...ownStores, ...changes];
  const missing = expected.filter((one) => !(found instanceof Set && found.has(one)));
  if (missing.length > 0) throw new PonderDiffersError(`not replaced in runtime: ${missing.join(", ")}`);
}
