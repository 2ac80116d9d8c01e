import type pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type ActionFilter, openActions } from "../../src/api/ensnode/registrar-actions.ts";
import { createStatusTable } from "../../src/operations/stored-indexes.ts";
import type { Pool, Statement } from "../../src/ponder/sql-client.ts";
import type { IndexedNamespace } from "../../src/read/names/indexed-namespaces.ts";
import { createDatabase, type Database } from "../../src/read/sql/client.ts";
import { buildFiguresSql, createFigures } from "../../src/read/stats/count.ts";
import { checkpointOf } from "../support/checkpoints.ts";
import { indexStatements, tableStatements } from "../support/create-tables.ts";
import { maxSorted, type Plan, planOf, recordStatements, scannedTables } from "../support/plans.ts";
import { createEmptyDatabase, createPool } from "../support/postgres.ts";

// Registrar actions by the hundred thousand, on a real Postgres: enough for a plan that reads them all to stand out.

const actions = 200_000;
const names = 30_000;
const registrars = ["eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", "eip155:8453:0x03c4738e"];
const lastTimestamp = 1_500_000_000 + actions;

let pool: pg.Pool;
let database: Database;
let close: (() => Promise<void>) | undefined;
let statements: { sql: string; values: readonly string[] }[];

const hex = (seed: string, bytes: 20 | 32) =>
  `'0x' || md5(${seed}) || left(md5('x' || ${seed}), ${bytes * 2 - 32})`;

// Two thirds of the actions are on the first registrar; referrers come with the newest tenth.
const generate = [
  `INSERT INTO subregistries SELECT id, ${hex("id", 32)} FROM unnest(ARRAY['${registrars.join("','")}']) AS id`,
  `INSERT INTO registration_lifecycles (node, subregistry_id, expires_at)
    SELECT ${hex("i::text", 32)}, CASE WHEN i % 3 = 0 THEN '${registrars[1]}' ELSE '${registrars[0]}' END, 1900000000
    FROM generate_series(1, ${names}) AS i`,
  `INSERT INTO domain (id, name, subdomain_count, is_migrated, created_at, owner_id, change_block)
    SELECT ${hex("i::text", 32)}, 'name' || i || '.eth', 0, true, 1, '0x', 1 FROM generate_series(1, ${names}) AS i`,
  `INSERT INTO registrar_actions (id, type, subregistry_id, node, incremental_duration, registrant, block_number, timestamp,
      transaction_hash, event_ids, encoded_referrer, decoded_referrer)
    SELECT id, CASE WHEN i % 4 = 0 THEN 'renewal' ELSE 'registration' END,
      CASE WHEN name % 3 = 0 THEN '${registrars[1]}' ELSE '${registrars[0]}' END,
      ${hex("name::text", 32)}, 31536000, ${hex("(i % 5000)::text", 20)}, i, 1500000000 + i, sha256(i::text::bytea), ARRAY[id],
      CASE WHEN i > ${actions * 0.9} THEN CASE WHEN i % 2 = 0 THEN '0x' || repeat('0', 64)
        ELSE '0x' || repeat('0', 24) || right(${hex("(i % 97)::text", 20)}, 40) END END,
      CASE WHEN i > ${actions * 0.9} THEN CASE WHEN i % 2 = 0 THEN '0x' || repeat('0', 40)
        ELSE ${hex("(i % 97)::text", 20)} END END
    FROM (SELECT i, 1 + (i * 7919::bigint) % ${names} AS name,
      (1500000000 + i)::text || lpad('1', 16, '0') || lpad(i::text, 16, '0') || repeat('0', 16) || '5' || lpad('3', 16, '0') AS id
      FROM generate_series(1, ${actions}) AS i) AS numbered`,
  `INSERT INTO registration (id, domain_id, registration_date, expiry_date, registrant_id, change_block)
    SELECT node, node, 1, 1900000000, '0x', 1 FROM registration_lifecycles`,
  `INSERT INTO registration_event (id, type, block_number, timestamp, log_index, transaction_id, registration_id, registrant_id)
    SELECT id, 'NameRegistered', block_number, timestamp, 1, transaction_hash, node, registrant FROM registrar_actions`,
];

beforeAll(async () => {
  const { url, drop } = await createEmptyDatabase(inject("postgresUrl"));
  pool = createPool(url, 4);
  close = async () => {
    await pool.end();
    await drop();
  };
  for (const text of [...tableStatements(), ...generate]) await pool.query(text);
  for (const text of indexStatements())
    if (/ON "public"\.(registrar_actions|registration|registration_event) /.test(text))
      await pool.query(text);
  const finalized = checkpointOf({ number: 1, timestamp: lastTimestamp - 500 });
  await pool.query("INSERT INTO _ponder_checkpoint VALUES ('main', 1, $1, $1, $1)", [finalized]);
  await pool.query("VACUUM ANALYZE");
  ({ database, statements } = recordStatements(createDatabase(pool as unknown as Pool)));
});
afterAll(() => close?.());

const signal = () => AbortSignal.timeout(60_000);

/** The plan of the last statement, from a second run. */
async function explain(): Promise<Plan[]> {
  const { sql, values } = statements.at(-1)!;
  const { rows } = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, [...values]);
  return planOf(rows);
}

const rowsRead = (nodes: Plan[]) =>
  nodes
    .filter((node) => node["Node Type"].includes("Scan"))
    .reduce((sum, node) => sum + node["Actual Rows"] * node["Actual Loops"], 0);

const filters: [string, ActionFilter][] = [
  ["all", {}],
  ["of one registrar", { subregistryIds: [registrars[1]!] }],
  ["with a referrer", { withReferral: true }],
  ["with a referrer, of one registrar", { withReferral: true, subregistryIds: [registrars[0]!] }],
  ["renewals", { type: "renewal" }],
  ["in a range of time", { beginTimestamp: 1_500_100_000, endTimestamp: 1_500_200_000 }],
  ["since a time", { beginTimestamp: lastTimestamp - 2_000, subregistryIds: [registrars[0]!] }],
];

describe(`among ${actions.toLocaleString("en")} actions`, () => {
  test.each(filters)("the newest page reads and sorts few rows, by index: %s", async (_, filter) => {
    const paging = { page: 1, recordsPerPage: 100, totalRecords: 10_000, time: 0 };
    expect(await openActions(database, undefined).read(filter, paging, signal())).toHaveLength(100);
    const nodes = await explain();
    expect(scannedTables(nodes, 10)).toEqual([]);
    expect(maxSorted(nodes)).toBeLessThanOrEqual(100);
    expect(rowsRead(nodes)).toBeLessThan(3_000);
  });

  test.each(filters)("a count continues from the previous one: %s", async (_, filter) => {
    const { count } = openActions(database, undefined);
    const first = await count(filter, signal());
    expect(await count(filter, signal())).toBe(first);
    expect(rowsRead(await explain())).toBeLessThan(2_500);
  });

  test("the last page is as cheap as the first", async () => {
    const paging = { page: actions / 100, recordsPerPage: 100, totalRecords: actions, time: 0 };
    const rows = await openActions(database, undefined).read({}, paging, signal());
    expect(rows.map(({ action }) => action.block.timestamp)).toEqual(
      Array.from({ length: 100 }, (_, position) => 1_500_000_100 - position),
    );
    expect(rowsRead(await explain())).toBeLessThan(1_000);
  });

  test.each<[string, ActionFilter]>([
    ["of one name", { node: undefined }],
    ["of one registrant", { registrant: undefined }],
    ["of one referrer", { decodedReferrer: undefined }],
  ])("the actions %s are found by index", async (what, filter) => {
    const { rows } = await pool.query(
      `SELECT node, registrant, decoded_referrer AS "decodedReferrer" FROM registrar_actions WHERE timestamp = ${lastTimestamp - 1}`,
    );
    const [member] = Object.keys(filter);
    const found = { [member!]: rows[0][member!] } as ActionFilter;
    const total = await openActions(database, undefined).count(found, signal());
    expect(total, what).toBeGreaterThan(0);
    expect(rowsRead(await explain())).toBeLessThan(2 * total + 10);
    const paging = { page: 1, recordsPerPage: 10, totalRecords: total, time: 0 };
    await openActions(database, undefined).read(found, paging, signal());
    expect(rowsRead(await explain())).toBeLessThan(100);
  });

  test("figures of a day read that day's actions and events, and those of their names, by index", async () => {
    const namespaces = [{ leases: "0x00" }] as unknown as IndexedNamespace[];
    const run: Statement = (text, values) => pool.query(text, values);
    await createStatusTable(run, "public");
    await createFigures(run, "public");
    const span = { from: lastTimestamp - 500, to: 9_999_999_999 };
    const { rows } = await pool.query(
      `EXPLAIN (ANALYZE, FORMAT JSON) WITH ${buildFiguresSql(namespaces, span)} SELECT * FROM figures`,
    );
    const nodes = planOf(rows);
    expect(scannedTables(nodes, 10)).toEqual([]);
    // 500 names with seven actions and events each, which are read in two ways.
    expect(rowsRead(nodes)).toBeLessThan(30_000);
  });
});
