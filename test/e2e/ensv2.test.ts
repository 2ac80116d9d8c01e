import { getTableColumns, getTableName, type Table } from "drizzle-orm";
import { encodeAbiParameters, encodeEventTopics, type Hex, labelhash, parseAbiParameters } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { registryV2Abi } from "../../abis/ensv2.ts";
import { recordedBlocks } from "../../devnet/chain/block.ts";
import type { EmittedLog } from "../../devnet/events.ts";
import { type DevNode, startNode } from "../../devnet/node.ts";
import {
  v2Addresses,
  v2ChainId,
  v2DatasourcesFile,
  v2Environment,
  v2Folder,
} from "../../devnet/recorded-chains.ts";
import { readRecording } from "../../devnet/recording.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { buildPosition } from "../../src/operations/past.ts";
import type { Pool } from "../../src/ponder/sql-client.ts";
import { createDatabase } from "../../src/read/sql/client.ts";
import { v2Entry, v2Role } from "../../src/schema/ensv2.ts";
import {
  answerDifferences,
  authorityDifferences,
  entryDifferences,
  nameDifferences,
} from "../support/ensv2/differences.ts";
import { readTruth, type Snapshot } from "../support/ensv2/recording.ts";
import { createPool } from "../support/postgres.ts";
import { inLongRuns, sampled } from "../support/rounds.ts";
import { createIndexer } from "../support/world.ts";

// The recorded chain with the contracts of both generations, indexed by the real process: killed in the backfill, and
// led onto other branches around the blocks at which calls said what the contracts hold.

const recording = readRecording(v2Folder);
const served = recordedBlocks(recording);
const truth = readTruth();
const last = truth.at(-1);
const firstLive = 745;
let node: DevNode;
let indexer: Awaited<ReturnType<typeof createIndexer>>;

beforeAll(async () => {
  node = await startNode({ recording });
  node.chain.setHead(firstLive);
  indexer = await createIndexer({
    labels: ["eth"],
    environment: { ...v2Environment, [`RPC_URL_${v2ChainId}`]: node.url, HISTORY_BLOCKS: "all" },
    datasources: v2DatasourcesFile(),
    // The first half of the backfill comes from an archive, contracts of factories included, the rest from the node.
    archived: { [v2ChainId]: 400 },
  });
});
afterAll(async () => {
  await indexer?.close();
  await node?.close();
});

// The head is indexed.
async function waitForHead() {
  const wanted = node.chain.block(node.chain.head())?.timestamp ?? 0;
  const { snapshotTime } = await indexer.waitForStatus(
    `the head, of ${wanted}`,
    ({ omnichainSnapshot }) => omnichainSnapshot.omnichainIndexingCursor === wanted,
  );
  // It goes back with a branch whose time was put forward.
  expect(snapshotTime).toBeLessThanOrEqual(Math.max(Math.ceil(Date.now() / 1000), wanted));
}

// Puts the recorded blocks up to `block` on the head, whatever branch was there.
function follow(from: number, block: number) {
  node.chain.setHead(from);
  for (const one of served) if (one.number > from && one.number <= block) node.chain.append(one);
}

// What another branch holds: what the same contracts emit in the recording later on, too early.
const logsFrom = (block: number): EmittedLog[] =>
  recording.receipts
    .filter(({ blockNumber }) => Number(blockNumber) === block)
    .flatMap(({ logs }) => logs as EmittedLog[])
    .map(({ address, topics, data }) => ({ address, topics, data }));
const from: Hex = `0x${"11".repeat(20)}`;

// A stranger who puts registries of the chain under 130 names each, more than one keeps.
function floodLogs(): EmittedLog[] {
  const address = v2Addresses["ETHRegistry"] ?? "0x";
  const sender = from;
  const victims = Object.entries(last?.registries ?? {}).filter(([, { canonicalName }]) => canonicalName);
  return victims.slice(0, 6).flatMap(([subregistry], victim) =>
    Array.from({ length: 130 }, (_, number) => {
      const label = `flood${victim}n${number}`;
      const tokenId = BigInt(labelhash(label)) & ~0xffff_ffffn;
      const registered = { tokenId, labelHash: labelhash(label), sender };
      const put = { tokenId, subregistry: subregistry as Hex, sender };
      return [
        {
          address,
          topics: encodeEventTopics({ abi: registryV2Abi, eventName: "LabelRegistered", args: registered }),
          data: encodeAbiParameters(parseAbiParameters("string, address, uint64"), [
            label,
            sender,
            2n ** 63n,
          ]),
        },
        {
          address,
          topics: encodeEventTopics({ abi: registryV2Abi, eventName: "SubregistryUpdated", args: put }),
          data: "0x" as Hex,
        },
      ] as EmittedLog[];
    }).flat(),
  );
}

const futureLogs = (height: number) =>
  [0, 40, 80, 120].map((ahead) => logsFrom(((height + ahead) % 760) + 90));

/**
 * Leaves the newest blocks for another branch, one longer, with the logs that `logsOf` gives for each of its
 * transactions.
 */
async function branchOff(depth: number, logsOf: (height: number) => EmittedLog[][] = futureLogs) {
  const fork = node.chain.head() - depth;
  node.chain.setHead(fork);
  for (let position = 1; position <= depth + 1; position++) {
    const transactions = logsOf(fork + position).map((logs) => {
      return { from, to: from, value: 0n, logs };
    });
    const { timestamp = 0 } = node.chain.block(node.chain.head()) ?? {};
    node.mineBlock({ timestamp: timestamp + 1 + (position % 3) * 86_400, transactions });
  }
  return fork;
}

describe("the tables equal the contracts", () => {
  let pool: ReturnType<typeof createPool>;
  beforeAll(() => {
    pool = createPool(indexer.databaseUrl, 4);
  });
  afterAll(() => pool.end());
  const environment = { ...v2Environment, LABELS_URL: "file:labels", DATASOURCES_FILE: "file" };
  const config = parseEnvironment({ ...environment, [`RPC_URL_${v2ChainId}`]: "http://localhost" }, () =>
    v2DatasourcesFile(),
  );

  async function rowsOf(table: Table, from: typeof pool): Promise<Record<string, unknown>[]> {
    const { rows } = await from.query(`SELECT * FROM ${getTableName(table)}`);
    const columns = Object.entries(getTableColumns(table));
    const inCode = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return rows.map((row) =>
      Object.fromEntries(
        columns.map(([name, column]) => {
          const value = row[inCode(name)];
          return [name, value === null ? null : column.mapFromDriverValue(value)];
        }),
      ),
    );
  }

  /** All differences; of a branch that is known to differ, those of the first kind that there is. */
  async function differences(block: number, { isOther = false, from = pool } = {}): Promise<string[]> {
    const snapshot = truth.find((one) => one.block === block);
    if (snapshot === undefined) throw new Error(`Nobody asked the contracts at block ${block}.`);
    const stored = { database: createDatabase(from as unknown as Pool) };
    const tables = new Map<unknown, Record<string, unknown>[]>();
    for (const table of [v2Entry, v2Role]) tables.set(table, await rowsOf(table, from));
    const store = { rows: (table: Table) => tables.get(table) ?? [] };
    indexer.expectRunning();
    const ofEntries = entryDifferences({ store }, snapshot);
    if (isOther && ofEntries.length > 0) return ofEntries;
    return [
      ...ofEntries,
      ...(await rootDifferences(snapshot, from)),
      ...(await nameDifferences({ config }, stored, snapshot)),
      ...(await authorityDifferences({ config }, stored, snapshot)),
      ...(await answerDifferences({ config }, stored, snapshot)).differences,
    ];
  }

  // The newest change of an account's roles on a whole registry gave it those that the registry says.
  async function rootDifferences({ registries }: Snapshot, from: typeof pool): Promise<string[]> {
    const { rows } =
      await from.query(`SELECT DISTINCT ON (registry, holder) registry, holder, roles FROM v2_events
      WHERE type = 'RootPermissionChanged' ORDER BY registry, holder, timestamp DESC, log_index DESC`);
    const told = rows.filter(({ registry, roles }) => registries[registry as Hex] && BigInt(roles) !== 0n);
    const meant = Object.entries(registries).flatMap(([registry, { hostile, rootRoles }]) =>
      hostile ? [] : Object.entries(rootRoles).map(([holder, roles]) => `${registry} ${holder} ${roles}`),
    );
    const found = told.map(
      ({ registry, holder, roles }) => `${registry} ${holder} 0x${BigInt(roles).toString(16)}`,
    );
    return [...meant.filter((one) => !found.includes(one)), ...found.filter((one) => !meant.includes(one))];
  }

  test("after a kill in the backfill", async () => {
    node.faults.set({ delayMs: 10 });
    indexer.start();
    const archived = node.counts()["eth_getBlockByNumber"] ?? 0;
    await indexer.waitFor("the backfill to be in its middle", async () => {
      const blocks = (node.counts()["eth_getBlockByNumber"] ?? 0) - archived;
      return blocks > 100 ? { done: blocks } : { state: `${blocks} blocks were fetched` };
    });
    await indexer.crash();
    node.faults.set({ delayMs: 0 });
    indexer.start();
    await waitForHead();
    follow(firstLive, 750);
    await waitForHead();
    expect(await differences(750)).toEqual([]);
  });

  type Branch = [block: number, depth: number];
  test.each<Branch>([
    ...inLongRuns<Branch>([[800, 1]]),
    [850, 20],
    ...inLongRuns<Branch>([[877, 5]]),
    [879, 2],
  ])("after block %i was left for another branch, %i blocks deep, and taken again", async (block, depth) => {
    follow(node.chain.head(), block);
    await waitForHead();
    const fork = await branchOff(depth);
    await waitForHead();
    expect(await differences(block, { isOther: true })).not.toEqual([]);
    follow(fork, block);
    await waitForHead();
    expect(await differences(block)).toEqual([]);
  });

  test("after a branch in which registries were put under more names than it keeps", async () => {
    const [block, flood] = [879, floodLogs()];
    expect(flood.length).toBeGreaterThan(1_000);
    const fork = await branchOff(2, (height) => (height === 878 ? [flood] : []));
    await waitForHead();
    const { rows } = await pool.query("SELECT count(*)::int AS names FROM v2_domains WHERE name ~ '^flood'");
    expect(rows[0].names).toBe(flood.length / 2);
    follow(fork, block);
    await waitForHead();
    expect(await differences(block)).toEqual([]);
  });

  test("every block at which calls said what the contracts hold reads like that later", async () => {
    const past = createPool(indexer.databaseUrl, 1);
    try {
      for (const { block } of sampled(truth, 7)) {
        const timestamp = node.chain.block(block)?.timestamp ?? 0;
        const position = buildPosition(timestamp, { chainId: v2ChainId, number: block });
        await past.query(
          "SELECT set_config('search_path', 'public_past, public', false), set_config('nsindex.at', $1, false)",
          [position],
        );
        expect([block, await differences(block, { from: past })]).toEqual([block, []]);
      }
    } finally {
      await past.end();
    }
  });
});

// What each endpoint makes of these tables, the tests beside them compare at every block.
test("odd logs were counted, and nothing stopped", async () => {
  follow(node.chain.head(), 879);
  await waitForHead();
  const metrics = await (await fetch(`${indexer.url}/metrics`)).text();
  expect(metrics).toMatch(/nsindex_anomalies_total\{anomaly="malformed-log"\} [1-9]/);
  expect(metrics).toMatch(/nsindex_anomalies_total\{anomaly="unknown-entry"\} [1-9]/);
  const { anomalies } = await (await fetch(`${indexer.url}/api/indexing-status`)).json();
  expect(anomalies).toMatchObject({
    "malformed-log": expect.any(Number),
    "unknown-entry": expect.any(Number),
  });
  indexer.expectRunning();
});
