// Preloaded into the indexing process.
import { flushCompileCache, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

// When the launcher is gone, however it went, the process ends as on Ctrl-C. Without this a killed launcher would leave it
// behind, holding port and database.
process.on("disconnect", () => process.kill(process.pid, "SIGINT"));

// Ponder logs with console.log. Each call becomes one line, a JSON string, so that the launcher knows where an entry ends
// whatever is written in it (scripts/log-lines.ts).
const { log } = console;
console.log = (...values) => log(JSON.stringify(format(...values)));

// ponder: loads the project with Vite, so that `dev` can load files again when they change. That is a third of the CPU time of
// a start. `start` and `serve` get this module in Vite's place, and Node loads the project's files as it loads all others. What
// else Ponder uses of these packages fails at the start: the imports are checked by name. All commands get stores of our own for the
// rows of the rules and for what the chains' nodes returned, and begin each range of blocks once.
const [, , command] = process.argv;
const vite = /^(vite|vite-node\/(client|server|source-map)|vite-tsconfig-paths)$/;
const build = /\/node_modules\/ponder\/dist\/esm\/build\/index\.js$/;
const indexingOfPonder = /\/node_modules\/ponder\/dist\/esm\/runtime\/\w+\.js$/;
const storesOfPonder = {
  "../indexing-store/cache.js": "../src/ponder/rows/row-store.ts",
  "../indexing-store/index.js": "../src/ponder/rows/row-store.ts",
  "../sync-store/index.js": "../src/ponder/sync-store.ts",
  "../sync-historical/index.js": "../src/ponder/historical-sync.ts",
};

const isDev = command === "dev";

registerHooks(isDev ? { resolve: resolveStore, load: loadFetching } : { resolve, load });
if (!isDev) {
  // Node writes what it has compiled when it ends, which a killed process does not come to.
  setTimeout(flushCompileCache, 20_000).unref();
}

function resolveStore(specifier, context, next) {
  const own = indexingOfPonder.test(context.parentURL ?? "") ? storesOfPonder[specifier] : undefined;
  if (own === undefined) return next(specifier, context);
  markReplaced(specifier);
  return next(new URL(own, import.meta.url).href, context);
}

// Checked by expectOwnStores in src/ponder/store.ts.
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

function resolve(specifier, context, next) {
  const importer = context.parentURL ?? "";
  if (build.test(importer) && vite.test(specifier)) return { url: import.meta.url, shortCircuit: true };
  if (specifier.startsWith("ponder:")) return { url: specifier, shortCircuit: true };
  if (!importer.startsWith("ponder:")) return resolveStore(specifier, context, next);
  const wanted = specifier.startsWith("/") ? pathToFileURL(specifier).href : specifier;
  return next(wanted, { ...context, parentURL: import.meta.url });
}

/** Text of Ponder's modules that are no files (`ponder:registry`). */
let textOf;

function load(url, context, next) {
  if (!url.startsWith("ponder:")) return loadFetching(url, context, next);
  return { format: "module", source: textOf(url), shortCircuit: true };
}

/** In place of Vite: keeps the plugin that Ponder brings, which has the text of its modules. */
export async function createServer({ plugins }) {
  const { load } = plugins.find((plugin) => plugin?.name === "ponder");
  textOf = load;
  return { config: { root: "" }, pluginContainer: { buildStart() {} }, close() {} };
}

export class ViteNodeServer {}

export class ViteNodeRunner {
  executeFile = (path) => import(pathToFileURL(path).href);
  executeId = (id) => import(id);
}

export function installSourcemapsSupport() {}

export default function viteTsconfigPaths() {}
