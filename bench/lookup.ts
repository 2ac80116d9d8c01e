import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Hono } from "hono";
import pg from "pg";
import { createRandom } from "../devnet/random.ts";
import { type Endpoint, mount } from "../src/api/kit/endpoint.ts";
import { addressNames } from "../src/api/v1/addresses.ts";
import { events } from "../src/api/v1/history.ts";
import { lookup } from "../src/api/v1/lookup.ts";
import { deadlineNames, nameDetail, search, subnames } from "../src/api/v1/names.ts";
import { stats } from "../src/api/v1/stats.ts";
import { lookupStatus } from "../src/api/v1/status.ts";
import { namespaces as deployments } from "../src/deployments/namespaces.ts";
import type { Pool } from "../src/ponder/sql-client.ts";
import { indexedNamespaces } from "../src/read/names/indexed-namespaces.ts";
import { knownContracts } from "../src/read/names/known-contracts.ts";
import { createNamesSource } from "../src/read/names/lookups.ts";
import { createDatabase } from "../src/read/sql/client.ts";
import type { CurrentStatus } from "../src/status/types.ts";
import { fillFigures } from "./lookup/figures.ts";
import { fill, generateLabel, generateName, hot, now, pickOwner, word, year } from "./lookup/names.ts";
import { quantile, readProcessorSeconds } from "./measure.ts";
import { startBenchPostgres } from "./world.ts";

// The endpoints under /v1 over generated names on Postgres, without a socket: the mix of a wallet's lookups at a fixed
// rate, and each other route with 16 requests at a time, beside the limits of the release gate that ENS Labs' index
// must pass.   node cli/with-node.mjs bench/lookup.ts [--names 1000000] [--seconds 10] [--rate 200] [--only relevance]
// Postgres keeps tables in as much memory as in compose.yaml. `--only`: the routes whose line begins with it, or
// `lookup`.

const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "10" },
    rate: { type: "string", default: "200" },
    only: { type: "string", default: "" },
  },
});
const count = Number(options.names);
const seconds = Number(options.seconds);
const postgres = await startBenchPostgres("4GB");
const pool = new pg.Pool({ connectionString: postgres.url, max: 18, idleTimeoutMillis: 0 });
pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));

const isAsked = (line: string) => line.startsWith(options.only);

console.log(`${count} names are written ...`);
await fill(pool, count);

const plugins = ["subgraph", "protocol-acceleration", "registrars"];
const { mainnet } = deployments;
const block = { number: 24_000_000, timestamp: now };
const omnichainSnapshot = {
  omnichainStatus: "omnichain-following",
  omnichainIndexingCursor: now,
  chains: { 1: { chainStatus: "chain-following", latestIndexedBlock: block, latestKnownBlock: block } },
};
const namespaces = indexedNamespaces(mainnet, plugins);
// Each block has its own heads.
let blocks = 0;
const context = {
  plugins,
  status: {
    current: () => ({ snapshot: { omnichainSnapshot }, heads: `${blocks}` }) as unknown as CurrentStatus,
  },
  clock: () => now * 1_000,
  lookup: {
    ...createNamesSource({
      database: createDatabase(pool as unknown as Pool),
      namespaces,
      hasRecords: true,
    }),
    hashOf: () => undefined,
    known: knownContracts(mainnet),
  },
};
const app = new Hono();
for (const one of [
  ...[lookup, nameDetail, subnames, addressNames, deadlineNames, search, events, lookupStatus],
  ...stats,
])
  mount(app, one as Endpoint<typeof context>, context, (_, message) => console.error(message));

async function ask(path: string, body?: unknown): Promise<void> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await app.request(path, init);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
}

const random = createRandom(1).below;

// 70 % have one input, 20 % ten, 6 % a hundred, 2 % 250, 2 % 1,000; a quarter each of the kinds.
function mixed() {
  const index = random(100);
  const inputs = index < 70 ? 1 : index < 90 ? 10 : index < 96 ? 100 : index < 98 ? 250 : 1_000;
  return batch(inputs, random(4));
}

function batch(inputs: number, kind: number) {
  const one = () =>
    kind % 2 === 0
      ? { name: generateName(random(count), count) }
      : { address: pickOwner(random(count), count), page_size: kind === 1 ? 5 : 50 };
  return {
    inputs: Array.from({ length: inputs }, one),
    profile: kind < 2 || inputs >= 100 ? "feed" : "detail",
  };
}

// Milliseconds of processor time that the service and the connections of the database have taken: the same on a busy
// machine.
async function processorMs(): Promise<number> {
  const { rows } = await pool.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'");
  const { user, system } = process.cpuUsage();
  return rows.reduce((sum, { pid }) => sum + readProcessorSeconds(pid) * 1_000, (user + system) / 1_000);
}

async function show(name: string, run: () => Promise<number[]>, gate: string) {
  const before = await processorMs();
  const times = await run();
  const each = ((await processorMs()) - before) / times.length;
  const at = (share: number) => quantile(times, share).toFixed(1);
  console.log(
    `${name.padEnd(44)} ${String(times.length).padStart(6)}  ${at(0.5)} / ${at(0.95)} / ${at(0.99)} ms  (gate ${gate}; processor ${each.toFixed(1)} ms)`,
  );
}

async function timed(run: () => Promise<unknown>, times: number[], start = performance.now()) {
  await run();
  times.push(performance.now() - start);
}

async function busy(next: () => Promise<unknown>, connections: number): Promise<number[]> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  const worker = async () => {
    while (performance.now() < end) await timed(next, times);
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return times;
}

const relevance = (q: string) => `/v1/search?sort=relevance&status=active&q=${q}&page_size=10`;
const mistyped = (label: string) => {
  const at = 1 + random(label.length - 1);
  return `${label.slice(0, at)}${label.slice(at + 1)}`;
};

// As the gate searches.
const threeLetters = () => generateLabel(random(count)).slice(0, 3);

const allRoutes: [string, () => string, string][] = [
  ["name", () => `/v1/names/${generateName(random(count), count)}`, "25/75/150"],
  ["names of an address", () => `/v1/addresses/${pickOwner(random(count), count)}/names`, "25/75/150"],
  ["names of an address with 100,000", () => `/v1/addresses/${hot}/names`, "25/75/150"],
  [
    "search, prefix and contains in turn",
    () => `/v1/search?q=${threeLetters()}&match=${random(2) === 0 ? "prefix" : "contains"}`,
    "25/75/150",
  ],
  [
    "relevance, 1 to 8 letters",
    () => relevance(generateLabel(random(count)).slice(0, 1 + random(8))),
    "p95 50",
  ],
  ["relevance, typing error", () => relevance(mistyped(generateLabel(random(count)))), "p95 50"],
  ["relevance, word of many", () => relevance(word(random(1_000))), "p95 50"],
  ["events, all", () => "/v1/events", "50/150/300"],
  ["events, registrations", () => "/v1/events?type=registration&namespace=ens", "50/150/300"],
  ["events, of a name", () => `/v1/events?name=${generateName(random(count), count)}`, "50/150/300"],
  ["events, of an address with 100,000", () => `/v1/events?address=${hot}`, "50/150/300"],
  ["subnames of a name with many", () => "/v1/names/big.eth/subnames", "50/150/300"],
  ["deadlines of a day", () => `/v1/names?namespace=ens&expires_after=${now + random(year)}`, "none"],
  ["status", () => "/v1/status", "5/10/25"],
];

const routes = allRoutes.filter(([name]) => isAsked(name));

for (const [, path] of routes) await ask(path());
await ask("/v1/lookup", mixed());
console.log("route".padEnd(44), "  runs  p50 / p95 / p99");
if (isAsked("lookup")) await measureLookup();
for (const [name, path, gate] of routes)
  await show(`${name}, 16 at a time`, () => busy(() => ask(path()), 16), gate);
if (isAsked("figures")) await measureFigures();
await pool.end();
await postgres.stop();

// By day, week and month in turn: those of a block that somebody has asked for, and the first one of a block.
async function measureFigures(): Promise<void> {
  // The connections of the service's pool have its statement timeout.
  const own = new pg.Pool({ connectionString: postgres.url, max: 1 });
  console.log(`figures are counted in ${(await fillFigures(own, namespaces)).toFixed(0)} s`);
  await own.end();
  const kinds = ["registrations", "renewals", "revenue", "active-names", "expiries", "holders"];
  const next = () =>
    `/v1/stats/${kinds[random(kinds.length)]}?interval=${["day", "week", "month"][random(3)]}`;
  await ask(next());
  await show("figures, one at a time", () => busy(() => ask(next()), 1), "p95 50");
  const ofNextBlock = () => {
    blocks += 1;
    return ask(next());
  };
  await show("figures, first of a block", () => busy(ofNextBlock, 1), "none");
}

// So many at a fixed rate: the times of all requests, whether or not those before have ended.
async function atRate(rate: number, count: number): Promise<number[]> {
  const times: number[] = [];
  const started = performance.now();
  const running = Array.from({ length: count }, async (_, i) => {
    const due = started + (i * 1_000) / rate;
    await sleep(due - performance.now());
    // What is sent late, because the processor is busy, has waited too.
    await timed(() => ask("/v1/lookup", mixed()), times, due);
  });
  await Promise.all(running);
  return times;
}

// Every second three times the rate within a second, as a wallet that everybody opens.
async function inBursts(rate: number): Promise<number[]> {
  const times: number[] = [];
  for (let second = 0; second < seconds; second++) {
    const next = sleep(2_000);
    times.push(...(await atRate(rate * 3, rate * 3)));
    await next;
  }
  return times;
}

async function measureLookup() {
  const rate = Number(options.rate);
  await show(`lookup, the mix, ${rate}/s`, () => atRate(rate, seconds * rate), "5/10/25");
  await show(`lookup, the mix, bursts of ${rate * 3}`, () => inBursts(rate), "5/10/25");
  for (const inputs of [1, 10, 100, 1_000])
    await show(
      `lookup, ${inputs} inputs, one at a time`,
      () => busy(() => ask("/v1/lookup", batch(inputs, random(4))), 1),
      inputs === 1_000 ? "p95 25" : "none",
    );
}
