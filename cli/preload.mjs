// Preloaded into the indexing process.
import "./find-formats-once.mjs";
import { registerHooks } from "node:module";
import { format } from "node:util";
import { loadText } from "./native-modules.mjs";

// When the launcher is gone, however it went, the process ends as on Ctrl-C. Without this a killed launcher would leave
// it behind, holding port and database.
process.on("disconnect", () => process.kill(process.pid, "SIGINT"));

// Ponder logs with console.log. Each call becomes one line, a JSON string, so that the launcher knows where an entry
// ends whatever is written in it (cli/log-lines.ts).
const { log } = console;
console.log = (...values) => log(JSON.stringify(format(...values)));

// Stores of this project stand in for Ponder's: that of the rows, and that of what nodes returned. PONDER_STORES=stock
// leaves Ponder's.
const isStock = process.env.PONDER_STORES === "stock";
const indexingOfPonder = /\/node_modules\/ponder\/dist\/esm\/runtime\/\w+\.js$/;
const storesOfPonder = {
  "../indexing-store/cache.js": "../src/ponder/rows/row-store.ts",
  "../indexing-store/index.js": "../src/ponder/rows/row-store.ts",
  "../sync-store/index.js": "../src/ponder/sync-store.ts",
};

const chainOrder = JSON.stringify(new URL("../src/ponder/chain-order.ts", import.meta.url).href);
const liveEvents = JSON.stringify(new URL("../src/ponder/live-events.ts", import.meta.url).href);
const following = /\/node_modules\/ponder\/dist\/esm\/runtime\/realtime\.js$/;

const runOfPonder = /\/node_modules\/ponder\/dist\/esm\/runtime\/omnichain\.js$/;

// Of the 700 chains of viem Ponder needs those of which a block is final later than of others; URLs are configured
// here. To load all takes a tenth of a start.
const chainsOfPonder = /\/node_modules\/ponder\/dist\/esm\/utils\/chains\.js$/;
const knownChains = [1, 5, 42, 137, 42161, 42170, 80001, 421613, 11155111]
  .map((id) => `export const chain${id} = { id: ${id}, rpcUrls: { default: { http: [] } } };`)
  .join("");

// What is changed in Ponder's text, as often as `times` says. docs/ponder.md describes them.
const patches = [
  {
    // When a range of blocks fails it is fetched again, and each time the range after it is begun once more. They
    // fetch the same blocks, and wait for each other's rows until no connection is left: the backfill stands still.
    name: "beginning of the next range",
    file: /\/node_modules\/ponder\/dist\/esm\/runtime\/historical\.js$/,
    times: 1,
    text: /if \(isSyncComplete === false\) \{(?=\s*\/\/ Queue the next interval\s*intervalCallback\(\{[^}]*promise: pwr\.promise,)/g,
    patched: "if (isSyncComplete === false && pwr.isNextBegun !== true) { pwr.isNextBegun = true;",
  },
  {
    // A newest block that could not be fetched counts as fetched: it would be taken for a duplicate until the next one,
    // which on a quiet chain may take hours. And after ten minutes of polls that a node did not answer the process
    // would end, and with it the other chains.
    name: "errors of live blocks",
    file: /\/node_modules\/ponder\/dist\/esm\/sync-realtime\/index\.js$/,
    times: 1,
    text: /(?=fetchAndReconcileLatestBlockErrorCount \+= 1;)/g,
    patched:
      "if (latestFetchedBlock === block) latestFetchedBlock = undefined; if (block === undefined) return;",
  },
  {
    // A new connection runs its settings before its pool listens for errors: a database that goes away in that moment
    // would end the process. One that fails would run its settings nevertheless: where the server closed it without an
    // error, without end. Both kinds of pools, writing and reading, have it.
    name: "new connection that is lost",
    file: /\/node_modules\/ponder\/dist\/esm\/utils\/pg\.js$/,
    times: 2,
    text: /super\.connect\(\(\) => \{(?=\s*this\.query\([^)]*, callback\);)/g,
    patched:
      'this.on("error", () => undefined); super.connect((failure) => { if (failure) return callback(failure);',
  },
  {
    // A chain without new blocks would hold back the others: src/ponder/chain-order.ts orders them.
    name: "order of all chains",
    file: following,
    times: 1,
    text: /of mergeAsyncGeneratorsWithRealtimeOrder\(eventGenerators\)/g,
    patched: `of (await import(${chainOrder})).mergeInOrder(eventGenerators, params.perChainSync)`,
  },
  {
    name: "blocks that are held",
    file: following,
    times: 1,
    text: /(?=const readyEvents = pendingEvents\s*\.concat\(decodedEvents\))/g,
    patched:
      "if (event.isHeld) { pendingEvents.push(...decodedEvents); event.blockCallback?.(true); continue; }",
  },
  {
    name: "chains that a reorganization concerns",
    file: following,
    times: 1,
    text: /perChainSync: params\.perChainSync,(?=\s*tag: "current",)/g,
    patched: `perChainSync: (await import(${chainOrder})).chainsInOrder(params.perChainSync, chain),`,
  },
  {
    // With the rows of a live event, in their transaction.
    name: "branch of the rows",
    file: runOfPonder,
    times: 2,
    text: /(?=if \(database\.userQB\.\$dialect === "pglite"\) \{\s*await tx\.wrap\(\(tx\) => tx\.execute\(`TRUNCATE|await createTriggers\(tx, \{ tables \}, context\);)/g,
    patched: `await (await import(${liveEvents})).storeBranch(tx, event, namespaceBuild.schema, context);`,
  },
];

// Ponder's build loads the project through Vite, which takes longer than all else of a start.
const isDev = process.argv[2] === "dev";
const buildOfPonder = /\/node_modules\/ponder\/dist\/esm\/build\/index\.js$/;
const nativeModules = new URL("native-modules.mjs", import.meta.url).href;
const indexingFiles = new URL("indexing-files.mjs", import.meta.url).href;
// Where the virtual modules seem to lie, so that they find the project's packages.
const virtual = new URL("../ponder:", import.meta.url).href;

registerHooks({ resolve: resolveOwn, load: loadPatched });

function resolveOwn(specifier, context, next) {
  const { parentURL = "" } = context;
  if (!isDev && specifier.startsWith("ponder:"))
    return { url: virtual + specifier.slice("ponder:".length), format: "module", shortCircuit: true };
  if (!isDev && specifier.startsWith("vite") && buildOfPonder.test(parentURL))
    return { url: nativeModules, format: "module", shortCircuit: true };
  if (specifier === "glob" && buildOfPonder.test(parentURL)) {
    markReplaced(specifier);
    return { url: indexingFiles, format: "module", shortCircuit: true };
  }
  if (specifier === "viem/chains" && chainsOfPonder.test(parentURL))
    return { url: `data:text/javascript,${knownChains}`, format: "module", shortCircuit: true };
  const own = ownModule(specifier, parentURL);
  if (own === undefined) return next(specifier, context);
  markReplaced(specifier);
  return next(new URL(own, import.meta.url).href, context);
}

function ownModule(specifier, parentURL) {
  if (specifier === "./realtime.js" && runOfPonder.test(parentURL)) return "../src/ponder/live-events.ts";
  return !isStock && indexingOfPonder.test(parentURL) ? storesOfPonder[specifier] : undefined;
}

// Checked by expectReplaced in src/ponder/store.ts.
function markReplaced(what) {
  globalThis[Symbol.for("nsindex.stores")] = (globalThis[Symbol.for("nsindex.stores")] ?? new Set()).add(
    what,
  );
}

function loadPatched(url, context, next) {
  if (url.startsWith(virtual))
    return { source: loadText(`ponder:${url.slice(virtual.length)}`), format: "module", shortCircuit: true };
  const loaded = next(url, context);
  const own = patches.filter(({ file }) => file.test(url));
  if (own.length === 0) return loaded;
  let source = String(loaded.source);
  for (const { name, text, times, patched } of own) {
    if ([...source.matchAll(text)].length !== times) continue;
    source = source.replace(text, patched);
    markReplaced(name);
  }
  return { ...loaded, source };
}
