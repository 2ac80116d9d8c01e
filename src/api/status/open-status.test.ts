import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { PonderProcess } from "../../ponder/process.ts";
import { createDatabase } from "../database/client.ts";
import { type BlockClient, openStatus } from "./open-status.ts";

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
    log: (message) => logged.push(message),
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

const open = (process: PonderProcess, mainnet = node, endBlock?: number) =>
  openStatus({
    process,
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

test("a process that only serves tells what the indexing process has left, and nothing before", async () => {
  const serving = processOf({ isIndexer: false });
  const served = open(serving.process, broken);
  await served.refresh();
  expect(served.current()).toBeUndefined();

  const indexing = processOf({});
  const own = open(indexing.process);
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
  const { process, logged, stop } = processOf({});
  const status = open(process, node, 500);
  await settled();
  await status.refresh();
  expect(status.current()?.snapshot.omnichainSnapshot).toEqual(following);
  expect(logged).toEqual([]);
  stop();
});

test("a node that is down is reported without its address", async () => {
  const { process, logged, stop } = processOf({});
  const status = open(process, broken);
  await settled();
  await status.refresh();
  expect(status.current()).toBeUndefined();
  expect(logged).toEqual(["Could not fetch block 100 of chain 1 for the indexing status; will try again."]);
  stop();
});

test("an embedded database gets no table of ours", async () => {
  const { process, stop } = processOf({ isEmbedded: true });
  const status = open(process);
  await settled();
  await status.refresh();
  expect(status.current()).toBeDefined();
  expect((await client.query("select to_regclass('_indexing_status') as found")).rows).toEqual([
    { found: null },
  ]);
  stop();
});
