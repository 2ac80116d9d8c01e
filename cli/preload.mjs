// Preloaded into the indexing process.
import { registerHooks } from "node:module";
import { format } from "node:util";

// When the launcher is gone, however it went, the process ends as on Ctrl-C. Without this a killed launcher would leave it
// behind, holding port and database.
process.on("disconnect", () => process.kill(process.pid, "SIGINT"));

// Ponder logs with console.log. Each call becomes one line, a JSON string, so that the launcher knows where an entry ends
// whatever is written in it (cli/log-lines.ts).
const { log } = console;
console.log = (...values) => log(JSON.stringify(format(...values)));

// Stores of this project stand in for Ponder's: that of the rows, and that of what nodes returned. PONDER_STORES=stock leaves Ponder's.
const isStock = process.env.PONDER_STORES === "stock";
const indexingOfPonder = /\/node_modules\/ponder\/dist\/esm\/runtime\/\w+\.js$/;
const storesOfPonder = {
  "../indexing-store/cache.js": "../src/ponder/rows/row-store.ts",
  "../indexing-store/index.js": "../src/ponder/rows/row-store.ts",
  "../sync-store/index.js": "../src/ponder/sync-store.ts",
  "../sync-historical/index.js": "../src/ponder/historical-sync.ts",
};

registerHooks({ ...(isStock ? {} : { resolve: resolveStore }), load: loadFetching });

function resolveStore(specifier, context, next) {
  const own = indexingOfPonder.test(context.parentURL ?? "") ? storesOfPonder[specifier] : undefined;
  if (own === undefined) return next(specifier, context);
  markReplaced(specifier);
  return next(new URL(own, import.meta.url).href, context);
}

// Checked by expectReplaced in src/ponder/store.ts.
function markReplaced(what) {
  globalThis[Symbol.for("nsindex.stores")] = (globalThis[Symbol.for("nsindex.stores")] ?? new Set()).add(
    what,
  );
}

// ponder: when a range of blocks fails it is fetched again, and each time the range after it is begun once more. They
// fetch the same blocks, and wait for each other's rows until no connection is left: the backfill stands still.
const fetchingOfPonder = /\/node_modules\/ponder\/dist\/esm\/runtime\/historical\.js$/;
const beginsNextRange =
  /if \(isSyncComplete === false\) \{(?=\s*\/\/ Queue the next interval\s*intervalCallback\(\{[^}]*promise: pwr\.promise,)/g;

function loadFetching(url, context, next) {
  const loaded = next(url, context);
  if (!fetchingOfPonder.test(url)) return loaded;
  const text = String(loaded.source);
  if ([...text.matchAll(beginsNextRange)].length !== 1) return loaded;
  markReplaced("beginning of the next range");
  const source = text.replace(
    beginsNextRange,
    "if (isSyncComplete === false && pwr.isNextBegun !== true) { pwr.isNextBegun = true;",
  );
  return { ...loaded, source };
}
