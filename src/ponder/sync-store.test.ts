import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { openSyncStore, type SyncStore } from "../../test/support/ponder/sync-store.ts";
import { createSyncStore } from "./sync-store.ts";

let database: TestDatabase;
let ofPonder: SyncStore;
let own: SyncStore;
beforeAll(async () => {
  database = await createTestDatabase("nothing");
  const opened = await openSyncStore(database);
  ofPonder = opened.ofPonder;
  own = createSyncStore(opened.given);
});
afterAll(() => database?.close());

const odd = ['a "quoted", {odd} \\ text', "", "NULL", "null", "a,b", "{}", " spaced ", "naïve 🦊"];
const account = "0xABcdefabcdefabcdefabcdefabcdefabcdefabcd";
const word = (index: number) => `0x${index.toString(16).padStart(64, "0")}`;
const block = (index: number) => ({
  number: `0x${index.toString(16)}`,
  timestamp: "0x65a0",
  hash: word(index),
  parentHash: word(index - 1),
  logsBloom: `0x${"00".repeat(256)}`,
  miner: account,
  gasUsed: "0x5208",
  gasLimit: "0x1c9c380",
  ...{ stateRoot: word(1), receiptsRoot: word(2), transactionsRoot: word(3) },
  size: "0x220",
  difficulty: "0x0",
  extraData: odd[index % odd.length],
});
const log = (index: number) => ({
  blockNumber: "0x1",
  logIndex: `0x${index.toString(16)}`,
  transactionIndex: "0x0",
  blockHash: word(1),
  transactionHash: word(9),
  address: account,
  topics: [word(7), word(8)].slice(0, index % 3),
  data: index % 2 === 0 ? "0x" : word(index),
});
const transaction = (index: number) => ({
  blockNumber: "0x1",
  transactionIndex: `0x${index.toString(16)}`,
  hash: word(index),
  blockHash: word(1),
  from: account,
  to: index % 2 === 0 ? null : account,
  ...{ input: "0x", value: `0x${"f".repeat(64)}`, nonce: "0x0", gas: "0x5208" },
  accessList: index % 2 === 0 ? [{ address: "0x01", storageKeys: [word(1)] }] : undefined,
});
const many = <Item>(item: (index: number) => Item) =>
  Array.from({ length: 4_500 }, (_, index) => item(index + 1));

async function stored({ insertBlocks, insertLogs, insertTransactions }: SyncStore) {
  await database.exec(
    "TRUNCATE ponder_sync.blocks; TRUNCATE ponder_sync.logs; TRUNCATE ponder_sync.transactions",
  );
  // Some come twice.
  for (const rows of [many(log).slice(0, 10), many(log)]) await insertLogs({ logs: rows, chainId: 1 });
  await insertBlocks({ blocks: many(block), chainId: 1 });
  await insertTransactions({ transactions: many(transaction), chainId: 1 });
  const read = async (table: string) =>
    (await database.query(`SELECT * FROM ponder_sync.${table} ORDER BY 1, 2, 3`)).rows;
  return Promise.all(["blocks", "logs", "transactions"].map(read));
}

test("blocks, logs and transactions are stored as Ponder stores them", async () => {
  const expected = await stored(ofPonder);
  expect(expected.map((rows) => rows.length)).toEqual([4_500, 4_500, 4_500]);
  expect(await stored(own)).toEqual(expected);
});

test("a value that is too long is refused, not cut", async () => {
  const long = { ...block(9_999), hash: `${word(1)}00` };
  await expect(own.insertBlocks({ blocks: [long], chainId: 1 })).rejects.toThrow("value too long");
});

test("cached events are read as Ponder reads them, in parts that a limit cuts", async () => {
  await stored(own);
  const numbered = <Item extends object>(item: (index: number) => Item) =>
    many((index) => ({ ...item(index), blockNumber: `0x${(2 + (index % 700)).toString(16)}` }));
  await own.insertLogs({ logs: numbered(log), chainId: 1 });
  await own.insertTransactions({ transactions: numbered(transaction), chainId: 1 });
  const filter = {
    ...{
      type: "log",
      chainId: 1,
      sourceId: "x",
      address: account.toLowerCase(),
      hasTransactionReceipt: false,
    },
    ...{ topic0: word(7), topic1: null, topic2: null, topic3: null, fromBlock: 0, toBlock: 5_000 },
    include: [
      "block.miner",
      "block.gasUsed",
      "transaction.value",
      "transaction.accessList",
      "transaction.input",
    ],
  };
  let cursor = 0;
  let logs = 0;
  while (cursor < 5_000) {
    const asked = { filters: [filter], fromBlock: cursor, toBlock: 5_000, chainId: 1, limit: 400 };
    const [expected, found] = await Promise.all([ofPonder.getEventData(asked), own.getEventData(asked)]);
    expect(found).toEqual(expected);
    cursor = found.cursor + 1;
    logs += found.logs.length;
  }
  expect(logs).toBe(6_000);
});
