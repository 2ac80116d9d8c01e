import { afterAll, beforeAll, expect, test } from "vitest";
import { startNode } from "../../devnet/node.ts";
import { createRandom } from "../../devnet/random.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { temporaryFolders } from "../../test/support/folders.ts";
import { openSyncStore } from "../../test/support/ponder/sync-store.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { openNodes } from "./ask.ts";
import { checkArchive } from "./check.ts";
import { checkCache, exportCache } from "./ponder-cache.ts";
import { readResults } from "./results.ts";

// The recording as Ponder caches it.
const recording = recordingOf("linea");
const { chainId } = recording;
const logs = recording.receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
const [{ address, topics }] = logs as [RpcLog];
const last = 100;
let database: TestDatabase;
const folder = temporaryFolders()();

beforeAll(async () => {
  database = await createTestDatabase("nothing");
  const { ofPonder } = await openSyncStore(database);
  await ofPonder.insertBlocks({ blocks: recording.blocks, chainId });
  await ofPonder.insertTransactions({ transactions: recording.transactions, chainId });
  await ofPonder.insertLogs({ logs, chainId });
  const insert = "INSERT INTO ponder_sync.intervals (chain_id, fragment_id, blocks) VALUES ($1, $2, $3)";
  const ofOne = `log_${chainId}_${address}_${topics[0]}_null_null_null_0`;
  await run(insert, [chainId, ofOne, `{[0,${last + 1}]}`]);
  await run(insert, [chainId, `log_${chainId}_null_null_null_null_null_0`, "{[20,41],[60,71]}"]);
});
afterAll(() => database.close());

const isExported = (log: RpcLog) => {
  const number = Number(log.blockNumber);
  const isAny = (number >= 20 && number <= 40) || (number >= 60 && number <= 70);
  return isAny || (number <= last && log.address === address && log.topics[0] === topics[0]);
};

const run = (text: string, values?: unknown[]) => database.query<Record<string, unknown>>(text, values);

test("what the cache has is exported once, by what it has all logs of", async () => {
  const options = { folder, chainId, progress: () => {} };
  const manifest = await exportCache(run, options);
  const any = { addresses: null, topics: null };
  const one = { addresses: [address], topics: [topics[0]] };
  const filtersOf = (indexes: number[]) => indexes.map((index) => manifest.filters[index]);
  expect(manifest.segments.map(({ from, to, filters }) => [from, to, filtersOf(filters)])).toEqual([
    [0, 19, [one]],
    [20, 40, [one, any]],
    [41, 59, [one]],
    [60, 70, [one, any]],
    [71, last, [one]],
  ]);
  expect(await checkArchive({ location: folder, manifest, progress: () => {} })).toMatchObject({
    logs: logs.filter(isExported).length,
    problems: [],
  });
  expect(await exportCache(run, options)).toEqual(manifest);
});

test("results of calls of archived blocks are exported once", async () => {
  const add = (key: string, chain: number, block: number | null) =>
    run(
      "INSERT INTO ponder_sync.rpc_request_results (chain_id, request_hash, block_number, result) VALUES ($1, $2, $3, $4)",
      [chain, key, block, `0x${key}`],
    );
  for (const key of ["b2", "a1"]) await add(key, chainId, last);
  await add("a0", chainId, last + 1);
  await add("c0", chainId, null);
  await add("c1", chainId + 1, 3);
  const options = { folder, chainId, progress: () => {} };
  const found = async () => {
    const { results = [] } = await exportCache(run, options);
    const files = await Promise.all(results.map((file) => readResults(folder, chainId, file)));
    expect(results.map(({ count }) => count)).toEqual(files.map(({ length }) => length));
    return files;
  };
  const first = [
    ["a1", last, "0xa1"],
    ["b2", last, "0xb2"],
  ];
  expect(await found()).toEqual([first]);
  await add("d4", chainId, 7);
  expect(await found()).toEqual([first, [["d4", 7, "0xd4"]]]);
});

test("a comparison with the chain finds a log that is missing, one too many and a block that differs", async () => {
  const node = await startNode({ recording });
  const random = createRandom(1).fraction;
  const chain = { id: chainId, name: "linea", rpc: { http: [node.url] } };
  const { ask } = openNodes(chain as never, { perSecond: 5_000, log: () => {}, crossCheckShare: 1, random });
  const compare = () =>
    checkCache(run, ask, { chainId, from: 20, to: 40, samples: 20, random, progress: () => {} });
  expect(await compare()).toMatchObject({ cachedBlocks: 21, ranges: 20, unanswered: 0, differences: [] });
  const first = logs.filter(isExported).find(({ blockNumber }) => Number(blockNumber) >= 20);
  const [block, index] = [Number(first?.blockNumber), Number(first?.logIndex)];
  const ofFirst = `chain_id = ${chainId} AND block_number = ${block} AND log_index = ${index}`;
  await run(`UPDATE ponder_sync.logs SET data = '0x12' WHERE ${ofFirst}`);
  await run(
    `UPDATE ponder_sync.blocks SET timestamp = timestamp + 1 WHERE chain_id = ${chainId} AND number = ${block}`,
  );
  const { differences } = await compare();
  const log = `Log ${index} of block ${block}, of ${first?.address} (${first?.topics[0]}),`;
  expect(new Set(differences)).toEqual(
    new Set([
      `${log} is missing in the cache.`,
      `${log} is too many in the cache.`,
      `Block ${block} has another timestamp in the cache than at the node.`,
    ]),
  );
  await node.close();
});
