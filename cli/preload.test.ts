import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const module = (path: string) => JSON.stringify(pathToFileURL(join(root, path)).href);

const anything =
  "const anything = new Proxy(() => anything, { get: (_, name) => name === Symbol.toPrimitive ? () => 0 : anything });";

async function outputOf(program: string): Promise<unknown> {
  const preload = pathToFileURL(join(root, "cli/preload.mjs")).href;
  const args = ["--import", preload, "--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  return JSON.parse(stdout);
}

// Ponder's own generator of ranges, over a chain without logs whose transaction for blocks 26 to 51 fails three times
// when it is complete, as for a block that is given up. Prints the ranges whose logs were asked for.
const backfill = `
import { getLocalSyncGenerator } from ${module("node_modules/ponder/dist/esm/runtime/historical.js")};
${anything}
const asked = [];
const rpc = {
  request: async ({ method, params: [{ fromBlock, toBlock }] }) => {
    if (method !== "eth_getLogs") throw new Error(method);
    asked.push([Number(fromBlock), Number(toBlock)]);
    return [];
  },
};
let failures = 3;
const transaction = async (callback) => {
  for (;;) {
    const before = asked.length;
    await callback({ wrap: async () => [], $client: {} });
    if (!(asked[before][0] === 26 && failures-- > 0)) return undefined;
  }
};
const block = (number) => ({ number: "0x" + number.toString(16), timestamp: "0x1", hash: "0x1", parentHash: "0x0" });
const filter = { type: "log", chainId: 1, sourceId: "one", address: "0x" + "1".repeat(40), topic0: "0x" + "2".repeat(64),
  topic1: null, topic2: null, topic3: null, fromBlock: 0, toBlock: 200, hasTransactionReceipt: false, include: [] };
const { getFragments } = await import(${module("node_modules/ponder/dist/esm/runtime/fragments.js")});
const common = { logger: anything, metrics: anything, shutdown: { isKilled: false },
  options: { command: "start", factoryAddressCountThreshold: 1000 } };
const ranges = getLocalSyncGenerator({
  common, rpc, chain: { id: 1, name: "mainnet", disableCache: true, finalityBlockCount: 65 },
  eventCallbacks: [{ filter }], childAddresses: new Map(), isCatchup: false,
  cachedIntervals: new Map([[filter, getFragments(filter).map(({ fragment }) => ({ fragment, intervals: [] }))]]),
  syncProgress: { start: block(0), finalized: block(200), end: block(200), current: undefined },
  database: { syncQB: { $dialect: "postgres", transaction } },
});
for await (const _ of ranges);
process.stdout.write(JSON.stringify(asked));
process.exit(0);
`;

test("a range of blocks that fails is fetched again, and those after it once", async () => {
  const starts = ((await outputOf(backfill)) as [number, number][]).map(([from]) => from);
  const of = (start: number) => starts.filter((one) => one === start).length;
  expect(of(26)).toBe(4);
  const others = [...new Set(starts)].filter((start) => start !== 26);
  expect(others.length).toBeGreaterThan(2);
  expect(others.map((start) => [start, of(start)])).toEqual(others.map((start) => [start, 1]));
});

// Ponder's own following of a chain, whose newest block is named twice, and whose logs cannot be fetched the first
// time. Prints what it yields each time, and how often it was asked for logs.
const live = `
import { createRealtimeSync } from ${module("node_modules/ponder/dist/esm/sync-realtime/index.js")};
${anything}
let asked = 0;
const rpc = {
  request: async ({ method }) => {
    if (method !== "eth_getLogs" || asked++ === 0) throw new Error(method);
    return [];
  },
};
const block = (number, hash, parentHash) => ({ number, hash, parentHash, timestamp: "0x1", logsBloom: "0x" + "0".repeat(512),
  transactionsRoot: "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421", transactions: [] });
const filter = { type: "log", chainId: 1, sourceId: "one", address: "0x" + "1".repeat(40), topic0: "0x" + "2".repeat(64),
  topic1: null, topic2: null, topic3: null, hasTransactionReceipt: false, include: [] };
const sync = createRealtimeSync({
  common: { logger: anything, metrics: anything, shutdown: { isKilled: false }, options: {} },
  rpc, chain: { id: 1, name: "mainnet", finalityBlockCount: 65, pollingInterval: 1 },
  eventCallbacks: [{ filter }], childAddresses: new Map(),
  syncProgress: { finalized: block("0x1", "0xa", "0x0"), end: undefined },
});
const yielded = [];
for (let i = 0; i < 3; i++) {
  const events = [];
  for await (const { type } of sync.sync(block("0x2", "0xb", "0xa"))) events.push(type);
  yielded.push(events);
}
for (let poll = 0; poll < 700_000; poll++) sync.onError(new Error("no answer"));
process.stdout.write(JSON.stringify({ yielded, asked }));
process.exit(0);
`;

test("a newest block that could not be fetched is fetched when it is named again, and failed polls end nothing", async () => {
  expect(await outputOf(live)).toEqual({ yielded: [[], ["block"], []], asked: 2 });
});

// Ponder's pools at a server that accepts each connection and resets it at its first statement. Prints what each query
// ends with.
const pools = `
import { once } from "node:events";
import { createServer } from "node:net";
import { createPool, createReadonlyPool } from ${module("node_modules/ponder/dist/esm/utils/pg.js")};
${anything}
// AuthenticationOk, then ReadyForQuery: https://www.postgresql.org/docs/current/protocol-message-formats.html
const ready = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73]);
const server = createServer((socket) => {
  socket.once("data", () => {
    socket.write(ready);
    socket.once("data", () => socket.resetAndDestroy());
  });
}).listen(0, "127.0.0.1");
await once(server, "listening");
const config = { connectionString: "postgres://a@127.0.0.1:" + server.address().port + "/a" };
const ended = [];
for (const pool of [createPool(config, anything), createReadonlyPool(config, anything, "names")])
  ended.push(await pool.query("SELECT 1").then(() => "rows", ({ code }) => code));
process.stdout.write(JSON.stringify(ended));
process.exit(0);
`;

test("a new connection that is lost is an error of who asked for it, and ends no process", async () => {
  expect(await outputOf(pools)).toEqual(["ECONNRESET", "ECONNRESET"]);
});

// Ponder's build of a project whose schema throws in its third line. Prints the position in the stack, and what a
// schema without the error exports.
const project = `
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBuild } from ${module("node_modules/ponder/dist/esm/build/index.js")};
const folder = mkdtempSync(join(process.env.TMPDIR ?? "/tmp", "build-"));
const file = (name, text) => { writeFileSync(join(folder, name), text); return join(folder, name); };
const build = async (schemaFile) => {
  const logger = { error() {}, trace() {} };
  const options = { rootDir: folder, indexingDir: folder, apiDir: folder, ponderDir: folder, schemaFile };
  const { executeSchema } = await createBuild({ common: { logger, options, buildShutdown: { add() {} } }, cliOptions: {} });
  return executeSchema();
};
const { error } = await build(file("wrong.ts", "type A = string;\\n\\nthrow new Error('no' as A);\\n"));
const { result } = await build(file("right.ts", "export const table: number = 1;\\n"));
process.stdout.write(JSON.stringify([/wrong\\.ts:[0-9]+:[0-9]+/.exec(error.stack)?.[0], Object.keys(result.schema)]));
process.exit(0);
`;

test("Node runs the project's TypeScript, and a stack names the line of the file", async () => {
  expect(await outputOf(project)).toEqual(["wrong.ts:3:7", ["table"]]);
});

// The chains that Ponder finds in the process, and the number of blocks after which one is final.
const finality = `
import * as viem from "viem/chains";
import { chains } from ${module("node_modules/ponder/dist/esm/utils/chains.js")};
import { getFinalityBlockCount } from ${module("node_modules/ponder/dist/esm/utils/finality.js")};
const known = Object.values(chains);
const differs = Object.values(viem).filter((chain) => getFinalityBlockCount({ chain }) !==
  getFinalityBlockCount({ chain: known.find(({ id }) => id === chain.id) }));
// ponder: compares a chain's URLs with those of viem, to warn of public ones.
const lackUrls = known.filter(({ rpcUrls }) => !Array.isArray(rpcUrls?.default?.http));
process.stdout.write(JSON.stringify({ known: known.length > 0, isShort: known.length < 20, differs: differs.map(({ id }) => id), lackUrls }));
`;

test("of each chain of viem a block is final as soon as with all of its modules", async () => {
  expect(await outputOf(finality)).toEqual({ known: true, isShort: true, differs: [], lackUrls: [] });
});

const places = `
import ${module("node_modules/ponder/dist/esm/build/index.js")};
import ${module("node_modules/ponder/dist/esm/runtime/omnichain.js")};
import ${module("node_modules/ponder/dist/esm/runtime/multichain.js")};
import { expectReplaced } from ${module("src/ponder/store.ts")};
expectReplaced("own");
process.stdout.write("true");
process.exit(0);
`;

test("each place of Ponder that is replaced or changed is there", async () => {
  expect(await outputOf(places)).toBe(true);
});
