import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { stateTables } from "../../test/support/create-tables.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { seeds } from "../../test/support/rounds.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { installChecksums, type TableChecksum, updateChecksums } from "./checksums.ts";

let client: TestDatabase;
beforeAll(async () => {
  client = await createTestDatabase("nothing");
});
afterAll(() => client?.close());
const run: Statement = (text, values) => client.query(text, values);

const start = 1_700_000_400;
const checkpoint = (time: number) =>
  `${time}${"1".padStart(16, "0")}${"1".padStart(16, "0")}${"9".repeat(33)}`;

// As Ponder 0.17 creates them (database/actions.js).
const reorgTrigger = (operation: string, row: string, code: number) =>
  `IF TG_OP = '${operation}' THEN INSERT INTO names._reorg__thing (id, list, value, hash, operation, checkpoint)
     VALUES (${row}.id, ${row}.list, ${row}.value, ${row}.hash, ${code}, '${"9".repeat(75)}'); END IF;`;
const createTrigger = `CREATE OR REPLACE TRIGGER reorg AFTER INSERT OR UPDATE OR DELETE ON names.thing FOR EACH ROW EXECUTE PROCEDURE names.note()`;

beforeEach(async () => {
  await client.exec(`
    DROP SCHEMA IF EXISTS names CASCADE; CREATE SCHEMA names;
    ${stateTables({ is_ready: 0 }, "names")};
    CREATE TABLE names.thing (value numeric(78), id text PRIMARY KEY, list text[], hash bytea DEFAULT '\\xab');
    CREATE TABLE names._reorg__thing (value numeric(78), id text, list text[], hash bytea, operation_id serial PRIMARY KEY,
      operation int NOT NULL, checkpoint varchar(75) NOT NULL);
    CREATE FUNCTION names.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      ${reorgTrigger("INSERT", "NEW", 0)} ${reorgTrigger("UPDATE", "OLD", 1)} ${reorgTrigger("DELETE", "OLD", 2)} RETURN NULL; END $$`);
  await installChecksums(run, "names");
  await client.exec(
    `INSERT INTO names._ponder_checkpoint VALUES ('mainnet', 1, '${checkpoint(start)}', '${checkpoint(start)}', '${checkpoint(start)}')`,
  );
});

const setReady = (isReady: number) =>
  client.exec(`UPDATE names._ponder_meta SET value = '{"is_ready": ${isReady}}'`);
const goLive = async () => {
  await client.exec(createTrigger);
  await setReady(1);
};
const put = (id: string, value: number, list: string | null = null) =>
  client.query(
    "INSERT INTO names.thing (id, value, list) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET value = excluded.value, list = excluded.list",
    [id, value, list === null ? null : [list]],
  );
const drop = (id: string) => client.query("DELETE FROM names.thing WHERE id = $1", [id]);
const commitBlock = (time: number) =>
  client.exec(`
    UPDATE names._reorg__thing SET checkpoint = '${checkpoint(time)}' WHERE checkpoint = '${"9".repeat(75)}';
    UPDATE names._ponder_checkpoint SET latest_checkpoint = '${checkpoint(time)}'`);
const finalize = (time: number) =>
  client.exec(`
    UPDATE names._ponder_checkpoint SET finalized_checkpoint = '${checkpoint(time)}', safe_checkpoint = '${checkpoint(time)}';
    DELETE FROM names._reorg__thing WHERE checkpoint <= '${checkpoint(time)}'`);
const revert = (time: number) =>
  client.exec(`
    DROP TRIGGER reorg ON names.thing;
    WITH reverted1 AS (DELETE FROM names._reorg__thing WHERE checkpoint > '${checkpoint(time)}' RETURNING *),
    reverted2 AS (SELECT id, min(operation_id) AS operation_id FROM reverted1 GROUP BY id),
    reverted3 AS (SELECT reverted1.* FROM reverted2 JOIN reverted1 USING (id, operation_id)),
    inserted AS (DELETE FROM names.thing t WHERE EXISTS (SELECT FROM reverted3 r WHERE r.id = t.id AND r.operation = 0) RETURNING *)
    INSERT INTO names.thing SELECT value, id, list FROM reverted3 WHERE operation > 0
      ON CONFLICT (id) DO UPDATE SET value = excluded.value, list = excluded.list;
    ${createTrigger}`);

type Row = { value: number; list: string | null };

/**
 * The checksum of rows: the sum of the SHA-256 of their texts, in columns by name, its first sixteen bytes as two
 * numbers.
 */
function expected(rows: ReadonlyMap<string, Row>): TableChecksum {
  let [high, low] = [0n, 0n];
  for (const [id, { value, list }] of rows) {
    const digest = createHash("sha256")
      .update(`(0xab,${id},${list === null ? "" : `{${list}}`},${value})`)
      .digest();
    high += digest.readBigInt64BE(0);
    low += digest.readBigInt64BE(8);
  }
  const hex = (half: bigint) => BigInt.asUintN(64, half).toString(16).padStart(16, "0");
  return { rows: rows.size, hash: hex(high) + hex(low) };
}

async function results() {
  await updateChecksums(run, "names");
  const { rows } = await client.query<{ time: string; hash: string; tables: { thing: TableChecksum } }>(
    "SELECT time::text, hash, tables FROM names._checksums, generate_series(timestamp, until, 600) AS time ORDER BY time",
  );
  return new Map(rows.map(({ time, tables }) => [Number(time), tables.thing]));
}

const step = fc.record({
  kind: fc.constantFrom("block", "block", "block", "finalize", "revert", "look"),
  seconds: fc.integer({ min: 1, max: 500 }),
  writes: fc.array(
    fc.record({
      id: fc.constantFrom("a", "b", "c", "d"),
      value: fc.nat(9),
      list: fc.constantFrom(null, "x", "y"),
      drops: fc.boolean(),
    }),
    { maxLength: 5 },
  ),
});

test("is the sum over the rows at each time, through blocks, finalizations and reorganizations", async () => {
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
      number += 1;
      await client.exec(`DELETE FROM names.thing; DROP TRIGGER IF EXISTS reorg ON names.thing;
        DELETE FROM names._reorg__thing; DELETE FROM names._checksum_sums;
        UPDATE names._ponder_meta SET value = '{"is_ready": 0}'`);
      await finalize(start);
      await commitBlock(start);
      await put("a", 1);
      await put("z", number, "x");
      await goLive();
      await updateChecksums(run, "names");
      // The rows after each block, oldest first.
      const first = { a: { value: 1, list: null }, z: { value: number, list: "x" } };
      let history: { time: number; rows: ReadonlyMap<string, Row> }[] = [
        { time: start, rows: new Map(Object.entries(first)) },
      ];
      let [time, final] = [start, start];
      const at = (before: number) => history.findLast((one) => one.time < before)?.rows ?? new Map();
      for (const { kind, seconds, writes } of steps) {
        if (kind === "block") {
          time += seconds;
          const rows = new Map(at(Number.POSITIVE_INFINITY));
          for (const { id, value, list, drops } of writes) {
            await (drops ? drop(id) : put(id, value, list));
            if (drops) rows.delete(id);
            else rows.set(id, { value, list });
          }
          await commitBlock(time);
          history.push({ time, rows });
        } else if (kind === "finalize") {
          final = history.findLast((one) => one.time <= time - seconds && one.time >= final)?.time ?? final;
          await finalize(final);
        } else if (kind === "revert") {
          const kept = Math.max(final, time - seconds);
          await revert(kept);
          history = history.filter((one) => one.time <= kept);
          time = kept;
        }
        if (kind === "look") {
          for (const [until, found] of await results())
            expect({ until, ...found }).toEqual({ until, ...expected(at(until)) });
        }
      }
      await finalize(time);
      const found = await results();
      for (const [until, one] of found) expect({ until, ...one }).toEqual({ until, ...expected(at(until)) });
      const begin = (Math.floor(start / 600) + 1) * 600;
      expect(Math.max(0, ...found.keys())).toBe(time >= begin ? Math.floor(time / 600) * 600 : 0);
    }),
    { numRuns: 4 * seeds.length, seed: seeds[0] ?? 1 },
  );
});

test("differs when one value differs, and is that of all rows again after each restart", async () => {
  await put("a", 1);
  await goLive();
  await updateChecksums(run, "names");
  await finalize(start + 700);
  const first = await results();
  expect([...first.values()]).toEqual([expected(new Map([["a", { value: 1, list: null }]]))]);
  // A restart, before which a row was changed by hand, and which catches up as a backfill does: without Ponder's
  // triggers.
  await client.exec("DROP TRIGGER reorg ON names.thing");
  await put("a", 2);
  await setReady(0);
  await installChecksums(run, "names");
  await put("b", 3);
  await finalize(start + 1_400);
  expect(await results()).toEqual(new Map());
  await goLive();
  await finalize(start + 2_100);
  await updateChecksums(run, "names");
  await finalize(start + 2_800);
  const rows = expected(
    new Map(Object.entries({ a: { value: 2, list: null }, b: { value: 3, list: null } })),
  );
  const later = [...(await results()).values()];
  expect(new Set(later.map(({ hash }) => hash))).toEqual(new Set([rows.hash]));
});

test("keeps a day of results, which stay as they are", async () => {
  const all = async () => (await run("SELECT * FROM names._checksums ORDER BY timestamp")).rows;
  await put("z", 0, "x");
  await goLive();
  await updateChecksums(run, "names");
  for (let number = 1; number <= 150; number++) {
    await put("a", number);
    await commitBlock(start + number * 600);
    await finalize(start + number * 600);
  }
  const before = await all();
  await updateChecksums(run, "names");
  const after = await all();
  expect([before.length, after.length]).toEqual([150, 144]);
  expect(after).toEqual(before.slice(-after.length));
});

test("never stops a finalization", async () => {
  await put("a", 1);
  await goLive();
  await updateChecksums(run, "names");
  await client.exec("ALTER TABLE names._checksum_sums ADD CHECK (is_base OR rows <> 1)");
  await put("b", 1);
  await commitBlock(start + 10);
  await finalize(start + 700);
  expect((await client.query("SELECT FROM names._reorg__thing")).rows).toEqual([]);
  expect((await client.query("SELECT FROM names._checksums")).rows).toEqual([]);
});

test("a complete index has one result, and another after a restart if a row was changed meanwhile", async () => {
  const result = async () => {
    await updateChecksums(run, "names", { isComplete: true });
    return (await run("SELECT timestamp::int AS time, hash, tables FROM names._checksums")).rows;
  };
  const of = (value: number) => {
    const thing = expected(new Map([["a", { value, list: "x" }]]));
    const hash = createHash("sha256").update(`thing 1 ${thing.hash}\n`).digest("hex");
    return [{ time: start + 1, hash, tables: { thing } }];
  };
  await put("a", 1, "x");
  await setReady(1);
  expect(await result()).toEqual(of(1));
  await put("a", 2, "x");
  await installChecksums(run, "names");
  expect(await result()).toEqual(of(2));
});
