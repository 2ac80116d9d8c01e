import type { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startNode } from "../../devnet/node.ts";
import { createRandom } from "../../devnet/random.ts";
import { temporaryFolders } from "../../test/support/archive/temporary-folders.ts";
import { createEmbedded } from "../../test/support/embedded/database.ts";
import { recordingOf } from "../../test/support/recordings.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { openNodes } from "./ask.ts";
import { checkCache } from "./cache-check.ts";
import { exportCache } from "./cache-export.ts";
import { checkArchive } from "./check.ts";
import { readResults } from "./results.ts";

// The recording as Ponder 0.17 caches it: its tables, with the columns that an export reads.
const recording = recordingOf("linea");
const { chainId } = recording;
const logs = recording.receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
const [{ address, topics }] = logs as [RpcLog];
const last = 100;
let database: PGlite;
const folder = temporaryFolders()();

const quantities = new Set([
  ...["number", "timestamp", "gasUsed", "gasLimit", "baseFeePerGas", "size", "difficulty", "totalDifficulty"],
  ...["blockNumber", "logIndex", "transactionIndex"],
]);

/** A table with what JSON-RPC says, under names in snake case. */
async function fill(table: string, columns: string, answers: readonly object[]) {
  await database.exec(`CREATE TABLE ponder_sync.${table} (chain_id bigint, ${columns})`);
  const rows = answers.map((answer) =>
    Object.fromEntries(
      Object.entries({ chainId, ...answer }).map(([field, value]) => [
        field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        quantities.has(field) ? Number(value) : value,
      ]),
    ),
  );
  await database.query(
    `INSERT INTO ponder_sync.${table} SELECT * FROM jsonb_populate_recordset(NULL::ponder_sync.${table}, $1)`,
    [JSON.stringify(rows)],
  );
}

beforeAll(async () => {
  database = await createEmbedded();
  await database.exec("CREATE SCHEMA ponder_sync");
  await fill(
    "blocks",
    `number bigint, hash text, parent_hash text, logs_bloom text, miner text, nonce text, mix_hash text, state_root text, receipts_root text,
    transactions_root text, sha3_uncles text, extra_data text, timestamp numeric, gas_used numeric, gas_limit numeric, base_fee_per_gas numeric,
    size numeric, difficulty numeric, total_difficulty numeric`,
    recording.blocks,
  );
  await fill(
    "transactions",
    'block_number bigint, transaction_index int, hash text, "from" text, "to" text',
    recording.transactions,
  );
  await fill(
    "logs",
    `block_number bigint, log_index int, block_hash text, transaction_hash text, transaction_index int, address text, data text,
    topic0 text, topic1 text, topic2 text, topic3 text`,
    logs.map((log) => ({
      ...log,
      ...Object.fromEntries(log.topics.map((topic, i) => [`topic${i}`, topic])),
    })),
  );
  await fill("rpc_request_results", "request_hash text, block_number numeric, result text", []);
  await fill("intervals", "fragment_id text, blocks nummultirange", [
    { fragmentId: `log_${chainId}_${address}_${topics[0]}_null_null_null_0`, blocks: `{[0,${last + 1}]}` },
    { fragmentId: `log_${chainId}_null_null_null_null_null_0`, blocks: "{[20,41],[60,71]}" },
  ]);
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
  expect(
    manifest.segments.map(({ from, to, filters }) => [
      from,
      to,
      filters.map((index) => manifest.filters[index]),
    ]),
  ).toEqual([
    [0, 19, [one]],
    [20, 40, [one, any]],
    [41, 59, [one]],
    [60, 70, [one, any]],
    [71, last, [one]],
  ]);
  expect(await checkArchive({ place: folder, manifest, progress: () => {} })).toMatchObject({
    logs: logs.filter(isExported).length,
    problems: [],
  });
  expect(await exportCache(run, options)).toEqual(manifest);
});

test("results of calls of archived blocks are exported once", async () => {
  const add = (key: string, chain: number, block: number | null) =>
    run("INSERT INTO ponder_sync.rpc_request_results VALUES ($1, $2, $3, $4)", [
      ...[chain, key, block, `0x${key}`],
    ]);
  await add("b2", chainId, last);
  await add("a1", chainId, last);
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
    checkCache(run, ask, { chainId, from: 20, to: 40, samples: 40, random, progress: () => {} });
  expect(await compare()).toMatchObject({ cachedBlocks: 21, ranges: 40, unanswered: 0, differences: [] });
  const within = logs
    .filter(isExported)
    .filter((log) => Number(log.blockNumber) >= 20 && Number(log.blockNumber) <= 40);
  const block = Number(within[0]?.blockNumber);
  const ofFirst = "chain_id = $1 AND block_number = $2 AND log_index = $3";
  await run(`UPDATE ponder_sync.logs SET data = '0x12' WHERE ${ofFirst}`, [
    chainId,
    block,
    Number(within[0]?.logIndex),
  ]);
  await run("UPDATE ponder_sync.blocks SET timestamp = timestamp + 1 WHERE chain_id = $1 AND number = $2", [
    chainId,
    block,
  ]);
  const { differences } = await compare();
  const index = Number(within[0]?.logIndex);
  const log = `Log ${index} of block ${block}, of ${within[0]?.address} (${within[0]?.topics[0]}),`;
  expect(new Set(differences)).toEqual(
    new Set([
      `${log} is missing in the cache.`,
      `${log} is too many in the cache.`,
      `Block ${block} has another timestamp in the cache than at the node.`,
    ]),
  );
  await node.close();
});
