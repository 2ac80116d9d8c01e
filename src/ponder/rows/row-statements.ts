import { setImmediate as yielding } from "node:timers/promises";
import { and, eq, inArray, or, type SQL, sql } from "drizzle-orm";
import type { PgDatabase, PgQueryResultHKT, PgTable } from "drizzle-orm/pg-core";
import { moduleOfPonder } from "../expected.ts";
import type { Row, TableShape } from "./table-shape.ts";

/** Ponder's connection, or a transaction on it. */
export type Connection = {
  $dialect: string;
  wrap<Result>(
    query: (db: PgDatabase<PgQueryResultHKT, Record<string, unknown>>) => PromiseLike<Result>,
  ): Promise<Result>;
};

/** Rows to insert, rows to replace by key, and keys of rows to delete. */
export type Changes = { inserted: Row[]; updated: Row[]; deleted: Row[] };

type Copy = (table: PgTable, text: string, isInSchema?: boolean) => Promise<void>;
type Helpers = { getCopyHelper(connection: Connection): Copy };

// Up to this many rows, a statement with values is faster than COPY.
const fewRows = 20;
const rowsOfStatement = 1_000;
const keysOfStatement = 20_000;

const copyOf = (connection: Connection): Copy =>
  moduleOfPonder<Helpers>("indexing-store/cache.js", "getCopyHelper").getCopyHelper(connection);

/** The rows with the given keys, as far as they exist. */
export async function loadRows(connection: Connection, shape: TableShape, keys: Row[]): Promise<Row[]> {
  const found = await Promise.all(
    piecesOf(keys).map((piece) =>
      connection.wrap((db) => db.select().from(shape.table).where(anyOf(shape, piece))),
    ),
  );
  return found.flat();
}

/** The planner's estimate of a table's number of rows; 0 without statistics. */
export async function countRows(connection: Connection, { schema, name }: TableShape): Promise<number> {
  const table = `"${schema}"."${name}"`;
  const { rows } = (await connection.wrap((db) =>
    db.execute(`SELECT reltuples FROM pg_class WHERE oid = '${table}'::regclass`),
  )) as unknown as { rows: { reltuples: number }[] };
  return Math.max(0, Number(rows[0]?.reltuples));
}

/** The keys of all rows of a table. */
export async function* keysOfTable(connection: Connection, { table, keys }: TableShape): AsyncGenerator<Row> {
  const columns = keys.map(({ column }) => column);
  const selected = Object.fromEntries(keys.map(({ property, column }) => [property, column]));
  const beyond = (last: Row) => {
    const values = keys.map(({ property, column }) => sql.param(last[property], column));
    return sql`(${sql.join(columns, sql`, `)}) > (${sql.join(values, sql`, `)})`;
  };
  for (let last: Row | undefined; ; ) {
    const after = last && beyond(last);
    const rows: Row[] = await connection.wrap((db) =>
      db
        .select(selected)
        .from(table)
        .where(after)
        .orderBy(...columns)
        .limit(keysOfStatement),
    );
    yield* rows;
    if (rows.length < keysOfStatement) return;
    last = rows.at(-1);
  }
}

/** Writes a table's changes. Returns the number of copied rows and the length of their texts. */
export async function writeChanges(
  connection: Connection,
  shape: TableShape,
  { inserted, updated, deleted }: Changes,
): Promise<{ rows: number; characters: number }> {
  const { table } = shape;
  const copied = { rows: 0, characters: 0 };
  const copyRows = async (rows: Row[], isInSchema?: boolean) => {
    const text = shape.copyText(rows);
    copied.rows += rows.length;
    copied.characters += text.length;
    await yielding();
    await copyOf(connection)(table, text, isInSchema);
  };
  for (const piece of piecesOf(deleted))
    await connection.wrap((db) => db.delete(table).where(anyOf(shape, piece)));
  if (inserted.length > fewRows) await copyRows(inserted);
  else if (inserted.length > 0) await connection.wrap((db) => db.insert(table).values(inserted));
  if (updated.length > fewRows) await replaceRows(connection, shape, () => copyRows(updated, false));
  else if (updated.length > 0) await upsertRows(connection, shape, updated);
  return copied;
}

// Uses a temporary table of the same name, which lasts as long as the connection.
async function replaceRows(
  connection: Connection,
  shape: TableShape,
  copyRows: () => Promise<void>,
): Promise<void> {
  const { name } = shape;
  const target = `"${shape.schema}"."${name}"`;
  const run = (text: string) => connection.wrap((db) => db.execute(text));
  await run(`CREATE TEMP TABLE IF NOT EXISTS "${name}" AS SELECT * FROM ${target} WITH NO DATA`);
  await copyRows();
  const isSame = shape.keys.map(({ name }) => `target."${name}" = source."${name}"`);
  const set = shape.columns
    .filter((column) => !shape.keys.includes(column))
    .map(({ name }) => `"${name}" = source."${name}"`);
  await run(
    `UPDATE ${target} AS target SET ${set.join(", ")} FROM "${name}" AS source WHERE ${isSame.join(" AND ")}`,
  );
  await run(`TRUNCATE TABLE "${name}"`);
}

async function upsertRows(connection: Connection, shape: TableShape, rows: Row[]): Promise<void> {
  await connection.wrap((db) =>
    db
      .insert(shape.table)
      .values(rows)
      .onConflictDoUpdate({
        target: shape.keys.map(({ column }) => column),
        set: Object.fromEntries(
          shape.columns.map(({ property, name }) => [property, sql.raw(`excluded."${name}"`)]),
        ),
      }),
  );
}

function anyOf({ keys }: TableShape, rows: Row[]): SQL | undefined {
  const [only] = keys;
  const values = only && keys.length === 1 && rows.map((row) => row[only.property]);
  if (only && values) return inArray(only.column, values);
  return or(...rows.map((row) => and(...keys.map(({ column, property }) => eq(column, row[property])))));
}

function piecesOf(rows: Row[]): Row[][] {
  const pieces: Row[][] = [];
  for (let from = 0; from < rows.length; from += rowsOfStatement)
    pieces.push(rows.slice(from, from + rowsOfStatement));
  return pieces;
}
