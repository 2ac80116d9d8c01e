import { Registry } from "prom-client";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { stateTables } from "../../test/support/create-tables.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { describeIndex } from "../operations/stored-indexes.ts";
import type { PonderProcess } from "../ponder/process.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { createDatabase } from "../read/sql/client.ts";
import { buildSnapshot, type FindBlock } from "./snapshot.ts";
import { createStatusSource, openStatus, type Reading } from "./status.ts";
import type { Snapshot } from "./types.ts";

function reading(cursor: number, age = 0, end?: number): Reading {
  const at = (second: number) => ({ timestamp: second, number: second });
  const chain = {
    chainId: 1,
    startBlock: at(1_000),
    latestIndexedBlock: at(cursor),
    endBlock: end === undefined ? undefined : at(end),
    sync: "live" as const,
  };
  const snapshot = buildSnapshot([chain], 9_000)!;
  return { snapshot, heads: String(cursor), reportedAt: 1_768_400_411 - age, age };
}

function sourceOf(answers: (Reading | undefined | Error)[], save?: (snapshot: Snapshot) => Promise<void>) {
  const logged: string[] = [];
  let now = 0;
  const source = createStatusSource({
    readHeads: async () => "",
    read: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    save,
    log: (_, message) => logged.push(message),
    clock: () => now,
  });
  const cursor = () => source.current()?.snapshot.slowestChainIndexingCursor;
  const refreshAt = (seconds: number) => {
    now = seconds * 1_000;
    return source.refresh();
  };
  return { source, logged, cursor, refreshAt };
}

test("waits for a block that is near, as long as it may, and not for one that is far ahead", async () => {
  const { source } = sourceOf([reading(2_000), reading(2_001), reading(2_003)]);
  await source.refresh();
  const { signal } = new AbortController();
  const reach = async (number: number, at = signal) => {
    const found = await source.reach([{ chainId: "1", number }], at);
    return found?.snapshot.slowestChainIndexingCursor;
  };
  expect([await reach(2_000), await reach(2_100)]).toEqual([2_000, 2_000]);
  expect(await reach(2_002)).toBe(2_003);
  expect(await reach(2_004, AbortSignal.abort())).toBe(2_003);
});

test("asks for a status once for all who wait", async () => {
  let readings = 0;
  const source = createStatusSource({
    readHeads: async () => "",
    read: async () => {
      readings += 1;
      return reading(2_000);
    },
    log: () => undefined,
  });
  await Promise.all([source.refresh(), source.refresh()]);
  expect(readings).toBe(1);
});

test("keeps the snapshot when a reading fails, and logs the reason once", async () => {
  const { source, logged, cursor } = sourceOf([
    reading(2_000),
    new Error("connection lost"),
    new Error("connection lost"),
    undefined,
    new Error("connection lost"),
  ]);
  for (let i = 0; i < 5; i++) await source.refresh();
  expect(cursor()).toBe(2_000);
  expect(logged).toEqual([
    "Could not read the indexing status: connection lost",
    "Could not read the indexing status: connection lost",
  ]);
});

test("a chain that contradicts the index makes it stale at once, and for readers by saving no more", async () => {
  const fault = { since: 1_768_400_400, reason: "The chain contradicts the index." };
  let current: typeof fault | undefined;
  const saved: number[] = [];
  const logged: string[] = [];
  const source = createStatusSource({
    readHeads: async () => "",
    read: async () => reading(2_000),
    save: async ({ omnichainSnapshot }) => void saved.push(omnichainSnapshot.omnichainIndexingCursor),
    fault: () => current,
    log: (_, message) => logged.push(message),
  });
  await source.refresh();
  expect([source.current()?.stale, saved]).toEqual([undefined, [2_000]]);
  current = fault;
  expect(source.current()?.stale).toEqual(fault);
  await source.refresh();
  expect([saved, logged]).toEqual([[2_000], [fault.reason]]);
});

describe("staleness", () => {
  const reason =
    "The index is stale: no progress has been reported by its indexing process since 2026-01-14T14:20:11Z.";
  const stale = { since: 1_768_400_411, reason };

  const left = (age: number) => ({ ...reading(2_000), age });
  const lost = new Error("connection lost");

  test.each<[string, (Reading | Error)[], number[], (typeof stale | undefined)[], string[]]>([
    [
      "once the indexing process has been silent for more than 30 seconds, and taken back",
      [left(0), left(30), left(31), left(500), reading(2_010)],
      [0, 30, 31, 500, 501],
      [undefined, undefined, stale, stale, undefined],
      [reason, "The index is no longer stale."],
    ],
    ["at once of a snapshot that was left long ago", [left(3_600)], [0], [stale], [reason]],
    [
      "while the status cannot be read",
      [reading(2_000), lost, lost],
      [0, 20, 40],
      [undefined, undefined, stale],
      ["Could not read the indexing status: connection lost", reason],
    ],
  ])("is reported %s", async (_, answers, times, expected, log) => {
    const { source, logged, refreshAt } = sourceOf(answers);
    const seen: unknown[] = [];
    for (const seconds of times) {
      await refreshAt(seconds);
      seen.push(source.current()?.stale);
    }
    expect([seen, logged]).toEqual([expected, log]);
  });

  test("does not concern a completed index, which needs no indexing process", async () => {
    const { source, logged } = sourceOf([reading(2_000, 3_600, 2_000)]);
    await source.refresh();
    const { snapshot, stale } = source.current() ?? {};
    expect(snapshot?.omnichainSnapshot.omnichainStatus).toBe("omnichain-completed");
    expect([stale, logged]).toEqual([undefined, []]);
  });
});

test("saves snapshots that take effect, and serves one that cannot be saved; it may go back with the chain", async () => {
  const saved: number[] = [];
  const answers = [undefined, reading(2_000), undefined, reading(5_600), reading(2_012)];
  const { source, logged, cursor } = sourceOf(answers, async ({ slowestChainIndexingCursor }) => {
    if (slowestChainIndexingCursor === 5_600) throw new Error("read-only");
    saved.push(slowestChainIndexingCursor);
  });
  const seen: unknown[] = [];
  for (let i = 0; i < 5; i++) {
    await source.refresh();
    seen.push(cursor());
  }
  expect([seen, saved]).toEqual([
    [undefined, 2_000, 2_000, 5_600, 2_012],
    [2_000, 2_012],
  ]);
  expect(logged).toEqual(["Could not save the indexing status: read-only"]);
});

const client = await createTestDatabase("nothing", { connections: 1 });
const database = createDatabase(client);
afterAll(() => client.close());

const checkpoint = (number: number, fill: string) =>
  `${1_700_000_000 + number * 12}${"1".padStart(16, "0")}${String(number).padStart(16, "0")}${fill.repeat(33)}`;

beforeEach(async () => {
  await client.exec(`
    drop schema if exists names cascade; create schema names; set search_path = names;
    ${stateTables({ is_ready: 1 })};
    insert into _ponder_checkpoint values ('mainnet', 1, '${checkpoint(190, "9")}', '${checkpoint(200, "9")}',
      '${checkpoint(190, "9")}')`);
  const write: Statement = (text, values) => client.query(text, values);
  await describeIndex(write, "names", {
    release: "1.5.1",
    namespace: "mainnet",
    plugins: ["subgraph"],
    settings: {},
  });
});

function processOf(rest: Partial<PonderProcess>) {
  const logged: string[] = [];
  const stops: (() => void)[] = [];
  const process: PonderProcess = {
    isIndexer: true,
    schema: "names",
    ofChain: (byName, chainId) => (chainId === 1 ? byName["mainnet"] : undefined),
    readMetrics: async () =>
      new Map([
        [1, { isRealtime: true, isComplete: false, syncBlock: 201, syncBlockTimestamp: 1_700_002_412 }],
      ]),
    write: (text, values) => client.query(text, values),
    writeSlowly: (text, values) => client.query(text, values),
    inOwnTransaction: (work) => work((text, values) => client.query(text, values)),
    onStop: (stop) => stops.push(stop),
    ...rest,
  };
  const stop = () => {
    for (const each of stops) each();
  };
  return { process, logged, stop };
}

const node: FindBlock = (_, number) =>
  number > 201 ? undefined : { timestamp: 1_700_000_000 + number * 12, number };
const silent: FindBlock = () => undefined;

const open = ({ process, logged }: ReturnType<typeof processOf>, findBlock = node, endBlock?: number) =>
  openStatus({
    process,
    registry,
    log: (_, message) => logged.push(message),
    database,
    findBlock,
    chains: [{ chainId: 1, startBlock: 100, endBlock }],
  });

const registry = new Registry();

/** Until the first blocks are fetched. */
const known = (status: ReturnType<typeof open>) =>
  expect
    .poll(async () => {
      await status.refresh();
      return status.current();
    })
    .toBeDefined();

const following = {
  omnichainStatus: "omnichain-following",
  chains: {
    "1": {
      chainStatus: "chain-following",
      config: { configType: "indefinite", startBlock: { timestamp: 1_700_001_200, number: 100 } },
      latestIndexedBlock: { timestamp: 1_700_002_400, number: 200 },
      latestKnownBlock: { timestamp: 1_700_002_412, number: 201 },
    },
  },
  omnichainIndexingCursor: 1_700_002_400,
};

const serve = (findBlock = silent) => {
  const serving = processOf({ isIndexer: false });
  return { ...serving, status: open(serving, findBlock) };
};

test("a process that only serves reports what the indexing process has saved, and nothing before", async () => {
  const serving = serve();
  await serving.status.refresh();
  expect(serving.status.current()).toBeUndefined();
  expect(await registry.metrics()).not.toMatch(/^nsindex_index_distance_seconds \d/m);

  const indexing = processOf({});
  const own = open(indexing);
  await known(own);
  expect(own.current()?.snapshot.omnichainSnapshot).toEqual(following);

  await serving.status.refresh();
  expect(JSON.stringify(serving.status.current()?.snapshot)).toBe(JSON.stringify(own.current()?.snapshot));
  indexing.stop();
  serving.stop();
  expect([...indexing.logged, ...serving.logged]).toEqual([]);
});

test("a process that only serves reports nothing of a snapshot in another format", async () => {
  await client.exec(`insert into _indexing_status values ('indexing', '{"strategy":"omnichain"}', now())`);
  const { status, logged, stop } = serve();
  await status.refresh();
  expect(status.current()).toBeUndefined();
  expect(logged[0]).toMatch(/^Could not read the indexing status: .*slowestChainIndexingCursor/s);
  stop();
});

test("a process that only serves reports and shows since when the indexing process has been silent", async () => {
  const indexing = processOf({});
  await known(open(indexing));
  indexing.stop();
  const { rows } = await client.query<{ since: number }>(
    "update _indexing_status set saved_at = now() - interval '45 seconds' returning floor(extract(epoch from saved_at))::int as since",
  );

  const { status, logged, stop } = serve();
  await status.refresh();
  const { snapshot, stale } = status.current() ?? {};
  expect([snapshot?.omnichainSnapshot, stale?.since]).toEqual([following, rows[0]?.since]);
  expect(logged).toEqual([stale?.reason]);
  const metrics = await registry.metrics();
  const shown = (name: string) =>
    Number(metrics.match(new RegExp(`^nsindex_index_${name} (\\d+)$`, "m"))?.[1]);
  expect(shown("stale_seconds")).toBeGreaterThanOrEqual(45);
  expect(shown("stale_seconds")).toBeLessThan(45 + 120);
  expect(shown("is_backfilled")).toBe(1);
  // The index is at 1,700,002,400.
  expect(Math.abs(Date.now() / 1000 - 1_700_002_400 - shown("distance_seconds"))).toBeLessThan(120);
  stop();
});

test("an end block that is not mined yet does not hold the status back", async () => {
  const indexing = processOf({});
  const status = open(indexing, node, 500);
  await known(status);
  expect(status.current()?.snapshot.omnichainSnapshot).toEqual(following);
  expect(indexing.logged).toEqual([]);
  indexing.stop();
});

test("confirms a status while its heads are those of the tables, and reads a newer one if they are not", async () => {
  let [head, readings] = [2_000, 0];
  const source = createStatusSource({
    read: async () => reading(head),
    readHeads: async () => {
      readings += 1;
      return String(head);
    },
    log: () => undefined,
  });
  await source.refresh();
  const known = source.current()!;
  expect(await source.confirm(known)).toBe(known);
  head = 2_012;
  const newer = await source.confirm(known);
  expect(newer.snapshot.slowestChainIndexingCursor).toBe(2_012);
  readings = 0;
  // Those who ask while a reading lasts share the next.
  const first = source.confirm(newer);
  await Promise.resolve();
  await Promise.all([first, ...Array.from({ length: 20 }, () => source.confirm(newer))]);
  expect(readings).toBeLessThanOrEqual(2);
});
