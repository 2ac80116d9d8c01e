import { createHash } from "node:crypto";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pageSources, service } from "../../../test/support/service.ts";
import { HttpError } from "../../http/error.ts";
import { buildSnapshot, type ChainFacts } from "../../status/snapshot.ts";
import type { CurrentStatus, Snapshot } from "../../status/types.ts";
import { buildLink } from "../kit/endpoint.ts";
import { createFrame } from "./frame.ts";
import { type StatusSources, statusRoutes } from "./status-page.ts";

const now = 1_768_400_400;
const at = (secondsAgo: number, number: number) => ({ timestamp: now - secondsAgo, number });
const startBlock = at(100_000, 101);

const snapshotWith = (...chains: (Omit<ChainFacts, "startBlock"> & Partial<ChainFacts>)[]) =>
  buildSnapshot(
    chains.map((chain) => ({ startBlock, ...chain })),
    now,
  )!;
const backfillAt = (block: number) =>
  snapshotWith(
    { chainId: 1, latestIndexedBlock: at(75_000, block), backfillEndBlock: at(0, 300), sync: "backfill" },
    { chainId: 8453, startBlock: at(70_000, 101), sync: "backfill" },
  );
const following = (behind: number) =>
  snapshotWith({
    chainId: 1,
    latestIndexedBlock: at(behind, 299),
    latestKnownBlock: at(1, 300),
    sync: "live",
  });
const completed = snapshotWith({
  chainId: 1,
  latestIndexedBlock: at(9, 300),
  endBlock: at(9, 300),
  sync: "complete",
});

const registryOf = () => {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, value: number, labels: Record<string, string> = {}) => {
    const found = registry.getSingleMetric(name) as Gauge | undefined;
    const metric = found ?? new Gauge({ name, help: name, labelNames: Object.keys(labels), registers });
    metric.set(labels, value);
  };
  return { registry, registers, gauge };
};

type Given = Partial<StatusSources> & {
  snapshot?: Snapshot;
  stale?: CurrentStatus["stale"];
  plugins?: string[];
};

// Endpoints whose bodies are given by path; others refuse.
const askFor =
  (bodyOf: (path: string) => unknown): StatusSources["ask"] =>
  async (request) => {
    const body = bodyOf(buildLink(request));
    if (body === undefined) throw new HttpError(503, "It is not active.");
    return body as never;
  };

let stop: () => void = () => undefined;
afterEach(() => stop());

function page({ snapshot, stale, plugins = ["subgraph"], ...given }: Given = {}) {
  const statements: string[] = [];
  const sizes = { schemaBytes: 1_048_576, cacheBytes: null, databaseBytes: 3_221_225_472 };
  const sources = {
    ...service,
    ...pageSources,
    config: { ...service.config, plugins },
    status: { current: () => snapshot && ({ snapshot, stale } satisfies CurrentStatus) },
    database: {
      row: async (sql: string) => {
        statements.push(sql);
        if (sql.includes("pg_database_size")) return [JSON.stringify(sizes)];
        throw new Error(`unexpected: ${sql}`);
      },
    },
    ask: askFor(() => undefined),
    hashOf: () => `0x${"ef".repeat(32)}`,
    clock: () => now * 1_000,
    onStop: (end: () => void) => {
      stop = end;
    },
    ...given,
  } satisfies StatusSources;
  const app = statusRoutes(sources, createFrame("x", false));
  const ask = async (accept: string, path = "/") => {
    const response = await app.request(path, { headers: { accept } });
    return { headers: response.headers, text: await response.text() };
  };
  return {
    statements,
    html: async () => (await ask("text/html", "/status/")).text,
    headers: async () => (await ask("text/html", "/status/")).headers,
    json: async () => JSON.parse((await ask("*/*")).text),
  };
}

describe("what the service is doing", () => {
  const waiting = registryOf();
  waiting.gauge("nsindex_labels_waiting", 7);
  const counted = (events: number, blocks: number) => {
    const { registry, gauge } = registryOf();
    gauge("ponder_indexing_completed_events", events, { chain: "mainnet", event: "a" });
    gauge("ponder_historical_total_blocks", 200, { chain: "mainnet" });
    gauge("ponder_historical_cached_blocks", 50, { chain: "mainnet" });
    gauge("ponder_historical_completed_blocks", blocks, { chain: "mainnet" });
    return registry;
  };

  test.each([
    ["starting", {}, "Starting"],
    ["fetching", { snapshot: backfillAt(150), registry: counted(0, 100) }, "Fetching blocks"],
    ["indexing", { snapshot: backfillAt(150), registry: counted(5, 100) }, "Indexing"],
    ["indexing", { snapshot: backfillAt(150), registry: counted(0, 150) }, "Indexing"],
    [
      "building-indexes",
      { snapshot: following(5), indexes: () => ({ built: 12, total: 70 }) },
      "Building database indexes",
    ],
    ["live", { snapshot: following(5), indexes: () => ({ built: 70, total: 70 }) }, "Live"],
    ["live", { snapshot: following(61) }, "Live, but behind"],
    ["completed", { snapshot: completed }, "Complete"],
    ["stale", { snapshot: following(5), stale: { since: 1, reason: "The index is stale." } }, "Stale"],
  ] as [string, Given, string][])("%s", async (phase, given, words) => {
    const shown = page(given);
    expect((await shown.json()).phase).toBe(phase);
    const text = await shown.html();
    expect(text).toContain(`<strong>${words}</strong>`);
    expect(text.match(/<h1/g)).toHaveLength(1);
  });

  test.each([
    ["nothing while all is well", { snapshot: following(60) }, []],
    ["a slow index", { snapshot: following(61) }, [/^The index is 61 s behind: \S+ is the slowest chain\./]],
    [
      "an outage of the label source",
      { snapshot: backfillAt(150), registry: waiting.registry },
      [/^The label source does not respond\. Indexing waits for 7 labels\.$/],
    ],
    [
      "a deep reorganization",
      { snapshot: following(5), stale: { since: 1, reason: "The chain contradicts the index: <b>" } },
      [/^The chain contradicts the index/],
    ],
  ] as [string, Given, RegExp[]][])("says %s", async (_, given, expected) => {
    const { problems } = await page(given).json();
    expect(problems).toEqual(expected.map((text) => expect.stringMatching(text)));
    const text = await page(given).html();
    expect(text.match(/role="alert"/g) ?? []).toHaveLength(expected.length);
    expect(text).not.toContain("<b>");
  });

  test("the database is away: the page is there within a second, and logs it once", async () => {
    const logged: string[] = [];
    const database = { row: () => Promise.reject(new Error("connect ECONNREFUSED")) };
    const log = (_: string, message: string) => void logged.push(message);
    const ask = askFor(() => undefined);
    const shown = page({ snapshot: following(5), database, ask, log });
    expect((await shown.json()).problems).toEqual([expect.stringMatching(/^The database does not respond/)]);
    expect(await shown.html()).toContain("Live");
    expect(logged).toHaveLength(new Set(logged).size);
  });

  test("a database that never answers does not hold up the page", async () => {
    const never = () => new Promise<never>(() => undefined);
    const shown = page({ snapshot: following(5), database: { row: never }, ask: never });
    expect((await shown.json()).phase).toBe("live");
  });
});

test("progress of each chain, with the hash of its head", async () => {
  const { chains } = await page({ snapshot: backfillAt(150) }).json();
  // Blocks 101 to 150 of 101 to 300.
  expect(chains[0]).toEqual({
    id: 1,
    name: "mainnet",
    state: "backfill",
    start: at(100_000, 101),
    indexed: at(75_000, 150),
    target: at(0, 300),
    behind: 75_000,
    percent: 25,
    head: { block: 150, hash: `0x${"ef".repeat(32)}` },
  });
  expect(chains[1]).toMatchObject({ id: 8453, state: "queued", percent: 0 });
});

test("requests by chain and method, with failures and compute units", async () => {
  const { registry, registers } = registryOf();
  const labelNames = ["chain", "method"];
  const answered = new Histogram({ name: "ponder_rpc_request_duration", help: "x", labelNames, registers });
  const failed = new Counter({ name: "ponder_rpc_request_error_total", help: "x", labelNames, registers });
  const logs = { chain: "mainnet", method: "eth_getLogs" };
  for (let i = 0; i < 3; i++) answered.observe(logs, 12);
  answered.observe({ chain: "mainnet", method: "eth_getBlockByNumber" }, 5);
  answered.observe({ chain: "base", method: "eth_chainId" }, 5);
  failed.inc(logs, 2);
  const { rpc } = await page({ registry }).json();
  expect(rpc).toEqual([
    { chain: "base", method: "eth_chainId", answered: 1, failed: 0, units: 0 },
    { ...logs, answered: 3, failed: 2, units: 180 },
    { chain: "mainnet", method: "eth_getBlockByNumber", answered: 1, failed: 0, units: 20 },
  ]);
  expect(await page({ registry }).html()).toContain("200 Alchemy compute units");
});

test("anomalies by kind with the last ones; labels, database, configuration", async () => {
  const { registry, registers, gauge } = registryOf();
  const odd = new Counter({ name: "nsindex_anomalies_total", help: "x", labelNames: ["anomaly"], registers });
  odd.inc({ anomaly: "unknown-node" }, 1_234);
  gauge("nsindex_labels_healed", 3);
  gauge("nsindex_labels_unknown", 1);
  const place = { chainId: 1, transactionHash: `0x${"77".repeat(32)}`, logIndex: 12 };
  const archives = new Map([["mainnet", "files.example, level header; of 12 blocks receipts"]]);
  const believed = new Map([
    ["mainnet", new Set(["logs", "headers"])],
    ["base", new Set<string>()],
  ]);
  const logChecks = { 1: "sampled 1 %", 8453: "every log" };
  const shown = page({
    registry,
    archives,
    believed,
    logChecks,
    examples: new Map([["unknown-node", [place]]]),
  });
  const facts = await shown.json();
  expect(facts.anomalies).toEqual([{ kind: "unknown-node", count: 1_234, examples: [place] }]);
  expect(facts.labels).toMatchObject({
    labelSetId: "subgraph",
    hitPercent: 75,
    healed: 3,
    recordsCount: 12_345,
  });
  expect(facts.database).toEqual({
    kind: "Postgres",
    schema: "names_v1_5_1",
    schemaBytes: 1_048_576,
    cacheBytes: null,
    databaseBytes: 3_221_225_472,
  });
  const text = await shown.html();
  expect(text).toContain("1,234");
  expect(text).toContain("log 12 of");
  expect(text).toContain("3 GiB");
  expect(text).toContain("2 of mainnet, 1 of base");
  expect(text).toContain("mainnet: files.example, level header; of 12 blocks receipts");
  expect(facts.configuration.logChecks).toEqual(["mainnet: sampled 1 %", "base: every log"]);
  expect(text).toContain("mainnet: sampled 1 %");
  expect(facts.configuration.believedWithoutProof).toEqual(["mainnet: logs; headers"]);
  expect(text).toContain("mainnet: logs; headers");
  expect(text + JSON.stringify(facts)).not.toContain("hunter2");
});

test("streams and webhooks: how far each is, why it fails or is paused", async () => {
  const counts = { isHeld: true, lagSeconds: 0, delivered: 1_234, failed: 0 };
  const hooks = () => [
    { ...counts, name: "wallet" },
    { ...counts, name: "slow", lagSeconds: 7_200 },
    { ...counts, name: "broken", lagSeconds: 30, failed: 3, fault: "the response was <b>" },
    { ...counts, name: "dead", lagSeconds: 100_000, failed: 8, paused: { reason: "8 attempts failed" } },
    { ...counts, name: "elsewhere", isHeld: false },
  ];
  const shown = page({ snapshot: following(5), streams: () => 12, hooks });
  const { feed } = await shown.json();
  expect(feed.streams).toBe(12);
  expect(feed.hooks.map((hook: { state: string }) => hook.state)).toEqual([
    ...["following", "late", "failing", "paused", "of another index"],
  ]);
  // What another index counts is not known here.
  expect(feed.hooks[4]).toEqual({ name: "elsewhere", state: "of another index" });
  const text = await shown.html();
  for (const words of ["<dd>12</dd>", "1,234", "2 h", "the response was &lt;b&gt;", "8 attempts failed"])
    expect(text).toContain(words);
  expect(await page({ hooks: () => undefined }).html()).toContain("The indexing process sends webhooks.");
});

test("a reader shows what it does not count as such", async () => {
  const shown = page({ snapshot: following(5), process: { isIndexer: false } });
  const facts = await shown.json();
  expect([facts.rpc, facts.events, facts.labels.healed]).toEqual([undefined, undefined, undefined]);
  expect(await shown.html()).toContain("Only available on the indexing process.");
});

test("many viewers share one statement for sizes", async () => {
  const shown = page({ snapshot: following(5) });
  await Promise.all(Array.from({ length: 20 }, () => shown.html()));
  expect(shown.statements).toHaveLength(1);
});

test("whether ENSv2 registers names, once that is known", async () => {
  const since = { block: 24_012_345, timestamp: now - 3 * 86_400 };
  const told = async (given: Given) =>
    /<p>(ENSv2 .*?)<\/p>/s.exec(await page(given).html())?.[1]?.replaceAll(/<.*?>/g, "");
  const snapshot = following(5);
  expect(await told({ snapshot, goLive: () => since })).toBe(
    "ENSv2 has registered names under .eth since block 24,012,345, 3 days ago.",
  );
  expect(await told({ snapshot, goLive: () => null })).toBe("ENSv2 does not register names under .eth yet.");
  expect(await told({ snapshot, goLive: () => undefined })).toBeUndefined();
  expect(await told({ snapshot: backfillAt(150), goLive: () => null })).toBeUndefined();
  const { registrationInEnsv2 } = await page({ snapshot, goLive: () => since }).json();
  expect(registrationInEnsv2).toEqual(since);
});

test("its policy allows files of the service only, and caches keep nothing", async () => {
  const headers = await page().headers();
  const [, style = ""] = /<style>(.*?)<\/style>/s.exec(await page().html()) ?? [];
  const ownStyle = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;
  expect(headers.get("content-security-policy")).toBe(
    `default-src 'none'; script-src 'self'; style-src 'self' ${ownStyle}; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  );
  expect([headers.get("cache-control"), headers.get("vary")]).toEqual(["no-store", "Accept-Encoding"]);
});

describe("rates", () => {
  beforeEach(() => void vi.useFakeTimers({ now: now * 1_000, toFake: ["setInterval", "clearInterval"] }));
  afterEach(() => void vi.useRealTimers());

  // Chain 1 is indexed by 10 blocks in 10 s, from block 150 to 160 of 300; 8453 has not begun.
  async function afterTenSeconds() {
    const { registry, gauge } = registryOf();
    let milliseconds = now * 1_000;
    let block = 150;
    const current = () => ({ snapshot: backfillAt(block) });
    const shown = page({ status: { current }, registry, clock: () => milliseconds });
    for (let sample = 0; sample < 3; sample++) {
      gauge("ponder_indexing_completed_events", sample * 100);
      await vi.advanceTimersByTimeAsync(5_000);
      milliseconds += 5_000;
      block += sample < 2 ? 5 : 0;
    }
    return { facts: await shown.json(), html: await shown.html() };
  }

  test("the backfill ends by the blocks ahead", async () => {
    const { facts, html } = await afterTenSeconds();
    expect(facts.rate).toEqual({ seconds: 10, events: 20, fetchedBlocks: 0 });
    // 10 blocks in 10 s, 140 ahead on the chain whose end is known.
    expect(facts.expectedEnd).toEqual({ seconds: 140, by: "blocks" });
    expect(html).toContain("<dt>Backfill ends in</dt><dd>2 min</dd>");
  });

  test("a backfill stalled for a minute says so", async () => {
    let milliseconds = now * 1_000;
    const shown = page({ snapshot: backfillAt(150), clock: () => milliseconds });
    for (let sample = 0; sample < 15; sample++) {
      await vi.advanceTimersByTimeAsync(5_000);
      milliseconds += 5_000;
    }
    expect((await shown.json()).problems).toEqual([
      "The backfill is stalled: nothing was fetched or indexed for a minute. See the log for the cause.",
    ]);
  });
});
