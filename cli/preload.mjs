// Preloaded into the indexing process.
import "./find-formats-once.mjs";
import { registerHooks } from "node:module";
import { format } from "node:util";
import { textOf } from "./native-modules.mjs";

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
};

const chainOrder = JSON.stringify(new URL("../src/ponder/chain-order.ts", import.meta.url).href);
const branch = JSON.stringify(new URL("../src/ponder/branch.ts", import.meta.url).href);
// Stores the branch of a live event, in the transaction `tx` of its rows; `head`: the chain's checkpoint.
const keepBranch = (head) => `{
      const rows = (await import(${branch})).branchRows(event.chain, event.branch, ${head});
      await tx.wrap((db) => db.execute(sql\`INSERT INTO \${sql.identifier(namespaceBuild.schema)}._indexing_status
        SELECT b.id, b.snapshot, now() FROM json_to_recordset(\${rows}::text::json) AS b (id text, snapshot json)
        ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, saved_at = excluded.saved_at\`), context);
    }`;
const following = /\/node_modules\/ponder\/dist\/esm\/runtime\/realtime\.js$/;

const configOfPonder = /\/node_modules\/ponder\/dist\/esm\/build\/config\.js$/;
const chainsOfPonder = /\/node_modules\/ponder\/dist\/esm\/utils\/chains\.js$/;

// What is changed in Ponder's text, as often as `times` says. docs/ponder.md describes them.
const patches = [
  {
    // Of the 700 chains of viem Ponder uses the ids, to know how soon a block is final, and URLs, which are configured here. To load them takes a
    // tenth of a start.
    name: "known chains",
    file: configOfPonder,
    times: 1,
    text: /Object\.values\(viemChains\)\.find\([^;]*\)(?=;)/g,
    patched: "{ id: chain.id, rpcUrls: { default: { http: [] } } }",
  },
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
    // A start that begins with a kept final block may find a later one cached. Both are final, and it goes on from the later one.
    name: "last final block",
    file: /\/node_modules\/ponder\/dist\/esm\/runtime\/index\.js$/,
    times: 1,
    text: /(?<=syncProgress\.finalized = )params\.finalizedBlock(?=;)/g,
    patched:
      "[params.finalizedBlock, ...diagnostics.slice(1)].reduce((one, other) => (Number(other.number) > Number(one.number) ? other : one))",
  },
  {
    // A newest block that could not be fetched counts as fetched: it would be taken for a duplicate until the next one, which on a
    // quiet chain may take hours.
    name: "newest block that failed",
    file: /\/node_modules\/ponder\/dist\/esm\/sync-realtime\/index\.js$/,
    times: 1,
    text: /catch \(_error\) \{(?=\s*blockCallback\?\.\(false\);\s*onError\(_error, block\);)/g,
    patched: "catch (_error) { if (latestFetchedBlock === block) latestFetchedBlock = undefined;",
  },
  {
    // A new connection runs its settings before its pool listens for errors: a database that goes away in that moment would end the
    // process. One that fails would run its settings nevertheless: where the server closed it without an error, for ever. Both kinds of pools,
    // writing and reading, have it.
    name: "new connection that is lost",
    file: /\/node_modules\/ponder\/dist\/esm\/utils\/pg\.js$/,
    times: 2,
    text: /super\.connect\(\(\) => \{(?=\s*this\.query\([^)]*, callback\);)/g,
    patched:
      'this.on("error", () => undefined); super.connect((failure) => { if (failure) return callback(failure);',
  },
  {
    // After ten minutes in which a node did not respond the process would end, and with it the other chains.
    name: "polls that fail",
    file: /\/node_modules\/ponder\/dist\/esm\/sync-realtime\/index\.js$/,
    times: 1,
    text: /(?=fetchAndReconcileLatestBlockErrorCount \+= 1;)/g,
    patched: "if (block === undefined) return;",
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
    // Events wait in a buffer, while the list of blocks goes on.
    name: "branch of a live event",
    file: following,
    times: 6,
    text: /blockCallback: event\.blockCallback,|yield \{ type: "reorg", chain,/g,
    patched: "$& branch: (params.perChainSync?.get(chain) ?? params).unfinalizedBlocks.slice(),",
  },
  {
    name: "branch of a block",
    file: /\/node_modules\/ponder\/dist\/esm\/runtime\/omnichain\.js$/,
    times: 1,
    text: /(?=if \(database\.userQB\.\$dialect === "pglite"\) \{\s*await tx\.wrap\(\(tx\) => tx\.execute\(`TRUNCATE)/g,
    patched: keepBranch("event.checkpoint"),
  },
  {
    // Until the next block the chain's checkpoint would name a block whose rows are gone. The next one may have the same number and time: the
    // count tells it from the block before.
    name: "head of a reorganization",
    file: /\/node_modules\/ponder\/dist\/esm\/runtime\/omnichain\.js$/,
    times: 1,
    text: /(?=await createTriggers\(tx, \{ tables \}, context\);)/g,
    patched: `const head = (await import(${chainOrder})).headAt(perChainSync, event.chain, event.checkpoint);
      await tx.wrap((db) => db.update(PONDER_CHECKPOINT).set({ latestCheckpoint: head })
        .where(sql\`\${PONDER_CHECKPOINT.chainId} = \${event.chain.id} AND \${PONDER_CHECKPOINT.latestCheckpoint} > \${head}\`), context);
      await tx.wrap((db) => db.execute(sql\`INSERT INTO \${sql.identifier(namespaceBuild.schema)}._indexing_status AS s VALUES ('reorganizations', '1', now())
        ON CONFLICT (id) DO UPDATE SET snapshot = to_json(s.snapshot::text::int + 1), saved_at = excluded.saved_at\`), context);
      ${keepBranch("head")}`,
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
    return { url: "data:text/javascript,", format: "module", shortCircuit: true };
  const own = !isStock && indexingOfPonder.test(parentURL) ? storesOfPonder[specifier] : undefined;
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

function loadPatched(url, context, next) {
  if (url.startsWith(virtual))
    return { source: textOf(`ponder:${url.slice(virtual.length)}`), format: "module", shortCircuit: true };
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
