import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { PonderProcess } from "../../ponder/process.ts";
import { createDatabase } from "../database/client.ts";
import type { Reading } from "./saved-snapshot.ts";
import type { Snapshot } from "./snapshot.ts";
import { type BlockClient, createStatusSource, openStatus } from "./status-source.ts";

function reading(cursor: number, run = "first"): Reading {
  const snapshot: Snapshot = {
    strategy: "omnichain",
    slowestChainIndexingCursor: cursor,
    snapshotTime: 9_000,
    omnichainSnapshot: {
      omnichainStatus: "omnichain-following",
      chains: {
        "1": {
          chainStatus: "chain-following",
          config: { configType: "indefinite", startBlock: { timestamp: 1_000, number: 1 } },
          latestIndexedBlock: { timestamp: cursor, number: cursor },
          latestKnownBlock: { timestamp: cursor, number: cursor },
        },
      },
      omnichainIndexingCursor: cursor,
    },
  };
  return { run, snapshot };
}

function sourceOf(answers: (Reading | undefined | Error)[], save?: (reading: Reading) => Promise<void>) {
  const logged: string[] = [];
  const source = createStatusSource({
    read: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    save,
    log: (_, message) => logged.push(message),
  });
  const cursor = () => source.current()?.snapshot.slowestChainIndexingCursor;
  return { source, logged, cursor };
}

test("has nothing until a first reading succeeds", async () => {
  const { source } = sourceOf([undefined, reading(2_000)]);
  expect(source.current()).toBeUndefined();
  await source.refresh();
  expect(source.current()).toBeUndefined();
  await source.refresh();
  expect(source.current()?.snapshot).toEqual(reading(2_000).snapshot);
});

test("holds the JSON text of the snapshot", async () => {
  const { source } = sourceOf([reading(2_000)]);
  await source.refresh();
  expect(source.current()?.json).toBe(
    '{"strategy":"omnichain","slowestChainIndexingCursor":2000,"snapshotTime":9000,"omnichainSnapshot":{"omnichainStatus":"omnichain-following","chains":{"1":{"chainStatus":"chain-following","config":{"configType":"indefinite","startBlock":{"timestamp":1000,"number":1}},"latestIndexedBlock":{"timestamp":2000,"number":2000},"latestKnownBlock":{"timestamp":2000,"number":2000}}},"omnichainIndexingCursor":2000}}',
  );
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

test("drops a snapshot that breaks an invariant", async () => {
  const broken = reading(3_000);
  broken.snapshot.snapshotTime = 2_999;
  const { source, logged, cursor } = sourceOf([reading(2_000), broken]);
  await source.refresh();
  await source.refresh();
  expect(cursor()).toBe(2_000);
  expect(logged).toEqual(["Dropped an indexing status: snapshotTime is before a known block."]);
});

test("never moves the cursor of one run back", async () => {
  const { source, logged, cursor } = sourceOf([reading(2_000), reading(1_990), reading(2_010)]);
  await source.refresh();
  await source.refresh();
  expect(cursor()).toBe(2_000);
  await source.refresh();
  expect(cursor()).toBe(2_010);
  expect(logged).toEqual([]);
});

test("follows a restarted indexing process back to where it resumes", async () => {
  const { source, cursor } = sourceOf([reading(2_000), reading(1_500, "second")]);
  await source.refresh();
  await source.refresh();
  expect(cursor()).toBe(1_500);
});

test("saves snapshots that take effect, and nothing else", async () => {
  const saved: number[] = [];
  const { source } = sourceOf([reading(2_000), reading(1_990), reading(2_010)], async ({ snapshot }) => {
    saved.push(snapshot.slowestChainIndexingCursor);
  });
  for (let i = 0; i < 3; i++) await source.refresh();
  expect(saved).toEqual([2_000, 2_010]);
});

test("serves a snapshot that cannot be saved", async () => {
  const { source, logged, cursor } = sourceOf([reading(2_000)], async () => {
    throw new Error("read-only");
  });
  await source.refresh();
  expect(cursor()).toBe(2_000);
  expect(logged).toEqual(["Could not save the indexing status: read-only"]);
});

test("refreshes by itself until it is stopped", async () => {
  let reads = 0;
  const source = createStatusSource({
    read: async () => {
      reads += 1;
      return undefined;
    },
    log: () => undefined,
  });
  source.start(1);
  while (reads < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  source.stop();
  const atStop = reads;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(reads).toBeLessThanOrEqual(atStop + 1);
});

const client = new PGlite();
const database = createDatabase(client);
afterAll(() => client.close());

const checkpoint = (number: number, fill: string) =>
  `${1_700_000_000 + number * 12}${"1".padStart(16, "0")}${String(number).padStart(16, "0")}${fill.repeat(33)}`;

beforeEach(async () => {
  await client.exec(`
    drop schema if exists names cascade; create schema names; set search_path = names;
    create table _ponder_meta (key text primary key, value jsonb not null);
    insert into _ponder_meta values ('app', '{"is_ready": 1}');
    create table _ponder_checkpoint (chain_name text primary key, chain_id bigint not null,
      safe_checkpoint varchar(75) not null, latest_checkpoint varchar(75) not null,
      finalized_checkpoint varchar(75) not null);
    insert into _ponder_checkpoint values ('mainnet', 1, '${checkpoint(190, "9")}', '${checkpoint(200, "9")}',
      '${checkpoint(190, "9")}')`);
});

function processOf(rest: Partial<PonderProcess>) {
  const logged: string[] = [];
  const stops: (() => void)[] = [];
  const process: PonderProcess = {
    isIndexer: true,
    schema: "names",
    viewsSchema: undefined,
    isEmbedded: false,
    ofChain: (byName, chainId) => (chainId === 1 ? byName["mainnet"] : undefined),
    readMetrics: async () =>
      new Map([
        [1, { isRealtime: true, isComplete: false, syncBlock: 201, syncBlockTimestamp: 1_700_002_412 }],
      ]),
    write: (text, values) => client.query(text, values),
    onStop: (stop) => stops.push(stop),
    ...rest,
  };
  const stop = () => {
    for (const each of stops) each();
  };
  return { process, logged, stop };
}

class BlockNotFoundError extends Error {
  override name = "BlockNotFoundError";
}

const node: BlockClient = {
  getBlock: async ({ blockNumber }) => {
    if (blockNumber > 201n) throw new BlockNotFoundError();
    return { number: blockNumber, timestamp: 1_700_000_000n + blockNumber * 12n };
  },
};
const broken: BlockClient = {
  getBlock: async () => {
    throw new Error("HTTP request failed. URL: https://rpc.example/v2/secret-key");
  },
};

const open = ({ process, logged }: ReturnType<typeof processOf>, mainnet = node, endBlock?: number) =>
  openStatus({
    process,
    log: (_, message) => logged.push(message),
    database,
    clients: { mainnet },
    chains: [{ chainId: 1, startBlock: 100, endBlock }],
  });

const settled = () => new Promise((resolve) => setTimeout(resolve, 50));

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

test("a process that only serves reports what the indexing process has saved, and nothing before", async () => {
  const serving = processOf({ isIndexer: false });
  const served = open(serving, broken);
  await served.refresh();
  expect(served.current()).toBeUndefined();

  const indexing = processOf({});
  const own = open(indexing);
  await settled();
  await own.refresh();
  expect(own.current()?.snapshot.omnichainSnapshot).toEqual(following);

  await served.refresh();
  expect(served.current()?.json).toBe(own.current()?.json);
  indexing.stop();
  serving.stop();
  expect([...indexing.logged, ...serving.logged]).toEqual([]);
});

test("an end block that is not mined yet does not hold the status back", async () => {
  const described = processOf({});
  const { logged, stop } = described;
  const status = open(described, node, 500);
  await settled();
  await status.refresh();
  expect(status.current()?.snapshot.omnichainSnapshot).toEqual(following);
  expect(logged).toEqual([]);
  stop();
});

test("a node that is down is reported without its address", async () => {
  const described = processOf({});
  const { logged, stop } = described;
  const status = open(described, broken);
  await settled();
  await status.refresh();
  expect(status.current()).toBeUndefined();
  expect(logged).toEqual(["Could not fetch block 100 of chain 1 for the indexing status; will try again."]);
  stop();
});

test("an embedded database gets no extra table", async () => {
  const described = processOf({ isEmbedded: true });
  const { stop } = described;
  const status = open(described);
  await settled();
  await status.refresh();
  expect(status.current()).toBeDefined();
  expect((await client.query("select to_regclass('_indexing_status') as found")).rows).toEqual([
    { found: null },
  ]);
  stop();
});
