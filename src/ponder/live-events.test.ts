import { type SQL, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { afterAll, expect, test } from "vitest";
import { checkpointOf } from "../../test/support/checkpoints.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { storeBranch } from "./live-events.ts";

const database = await createTestDatabase("tables");
afterAll(() => database.close());

const execute = async (statement: SQL) => {
  const { sql: text, params } = new PgDialect().sqlToQuery(statement);
  return (await database.query(text, params)).rows;
};
// As Ponder wraps a transaction.
const tx = {
  wrap: (query: (db: { execute: typeof execute }) => PromiseLike<unknown>) =>
    Promise.resolve(query({ execute })),
};

const ten = { block: { number: "0xa", timestamp: "0x64", hash: "0xaa", parentHash: "0x99" } };
const eleven = { block: { number: "0xb", timestamp: "0x70", hash: "0xbb", parentHash: "0xaa" } };
const [atTen, atEleven] = [
  checkpointOf({ number: 10, timestamp: 100 }, 5),
  checkpointOf({ number: 11, timestamp: 112 }, 5),
];
const ofSix = checkpointOf({ number: 9, timestamp: 120 }, 6);

async function stored() {
  const statuses = await execute(sql`SELECT id, snapshot FROM _indexing_status ORDER BY id`);
  const heads = await execute(
    sql`SELECT latest_checkpoint AS head FROM _ponder_checkpoint ORDER BY chain_id`,
  );
  return [...statuses.map(({ id, snapshot }) => [id, snapshot]), ...heads.map(({ head }) => head)];
}

test("a branch is stored; a reorganization is counted, and leaves its chain at the last block that is there", async () => {
  const chain = { id: 5, name: "five" };
  await execute(sql`INSERT INTO _ponder_checkpoint (chain_name, chain_id, safe_checkpoint, latest_checkpoint, finalized_checkpoint)
    VALUES ('five', 5, '0', ${atEleven}, '0'), ('six', 6, '0', ${ofSix}, '0')`);
  const block = {
    type: "block",
    chain,
    checkpoint: atEleven,
    head: atEleven,
    branch: [ten, eleven],
  } as const;
  await storeBranch(tx, block, "public");
  const last = { number: 11, timestamp: 112, hash: "0xbb", parentHash: "0xaa" };
  const branch = [
    [9, 0, "0x99"],
    [10, 100, "0xaa"],
    [11, 112, "0xbb"],
  ];
  expect(await stored()).toEqual([["branch 5", branch], ["head 5", last], atEleven, ofSix]);

  const reorganization = { type: "reorg", chain, checkpoint: atTen, head: atTen, branch: [ten] } as const;
  await storeBranch(tx, reorganization, "public");
  const kept = { number: 10, timestamp: 100, hash: "0xaa", parentHash: "0x99" };
  const after = [
    ["branch 5", branch.slice(0, 2)],
    ["head 5", kept],
  ];
  expect(await stored()).toEqual([...after, ["reorganizations", 1], atTen, ofSix]);
  await storeBranch(tx, reorganization, "public");
  expect(await stored()).toEqual([...after, ["reorganizations", 2], atTen, ofSix]);
});
