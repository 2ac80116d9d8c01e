import { afterAll, beforeAll, expect, test } from "vitest";
import { parseEnvironment } from "../../src/config/environment.ts";
import type { RpcLog } from "../../src/rpc/log-answers.ts";
import type { TestDatabase } from "../../test/support/database.ts";
import { datasourcesFile, lastBlocks, recordingOf } from "../../test/support/recordings.ts";
import { createRecordedDatabase } from "../../test/support/subgraph/endpoint.ts";
import { findMissingRows } from "./events.ts";

// The cache has the logs of the recording; the index the rows that the original mapping made of them.

const chainId = 15658733;
const config = parseEnvironment(
  {
    NAMESPACE: "ens-test-env",
    SUBGRAPH_COMPAT: "true",
    DATASOURCES_FILE: "x",
    LABELS_URL: "file:x",
    [`RPC_URL_${chainId}`]: "http://127.0.0.1:1",
  },
  () => datasourcesFile(),
);
const heads = new Map([[chainId, { number: lastBlocks.root, timestamp: 0 }]]);
let client: TestDatabase;
beforeAll(async () => {
  client = await createRecordedDatabase({ connections: 1 });
  await client.exec(`CREATE SCHEMA ponder_sync; CREATE TABLE ponder_sync.logs (chain_id bigint, block_number bigint, log_index int,
    address text, topic0 text, topic1 text, topic2 text, topic3 text,
    PRIMARY KEY (chain_id, block_number, log_index))`);
  const logs = recordingOf("root").receipts.flatMap((receipt) => receipt["logs"] as RpcLog[]);
  const column = (of: (log: RpcLog) => unknown) => logs.map((log) => of(log) ?? null);
  await client.query(
    `INSERT INTO ponder_sync.logs SELECT ${chainId}, * FROM
      unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])`,
    [
      column(({ blockNumber }) => Number(blockNumber)),
      column(({ logIndex }) => Number(logIndex)),
      column(({ address }) => address),
      ...[0, 1, 2, 3].map((index) => column(({ topics }) => topics[index])),
    ],
  );
});
afterAll(() => client?.close());

const look = (asked: object = {}) =>
  findMissingRows((text, values) => client.query(text, values), {
    config,
    heads,
    asked: { samples: 500, seed: 1, names: [], ...asked },
  });

test("an index of all events lacks no row", async () => {
  const { looked, missing } = await look();
  expect(missing).toEqual([]);
  expect(looked).toBeGreaterThan(500);
});

// Some rows, not those of the first event of a block alone.
const some = (column: string) => `get_byte(sha256(${column}::bytea), 0) % 4 = 0`;

test.each([
  [
    "a name",
    "domain",
    `id IN (SELECT domain_id FROM domain_event WHERE type = 'NewOwner') AND ${some("id")}`,
  ],
  ["a lease", "registration", some("id")],
  ["a resolver of a name", "resolver", some("domain_id")],
  ["a transfer of a name", "domain_event", `type = 'Transfer' AND ${some("id")}`],
  ["a transfer of a lease", "registration_event", `type = 'NameTransferred' AND ${some("id")}`],
])("%s that is missing is found", async (_, table, where) => {
  await client.exec(`BEGIN; DELETE FROM ${table} WHERE ${where}`);
  const { missing } = await look();
  await client.exec("ROLLBACK");
  expect(missing.length).toBeGreaterThan(0);
  for (const line of missing)
    expect(line).toMatch(new RegExp(`^${table}: no row of \\w+ in block \\d+, log \\d+ of 0x`));
});

test("nothing is looked up for names alone, or without a cache", async () => {
  expect((await look({ samples: 0 })).looked).toBe(0);
  await client.exec("ALTER TABLE ponder_sync.logs RENAME TO others");
  expect((await look()).looked).toBe(0);
});
