import { getTableColumns } from "drizzle-orm";
import { afterAll } from "vitest";
import { createDatabase, type QueuedDatabase } from "../../../src/read/sql/client.ts";
import { jsonRow, tables } from "../create-tables.ts";
import { copyDatabase, createTestDatabase, type TestDatabase, template } from "../database.ts";
import { type createRecordedIndex, createV2Index } from "../recorded-index.ts";

type Index = Pick<ReturnType<typeof createRecordedIndex>, "store">;

/** The last block of the recorded chain with both generations. */
const lastBlock = 879;

/**
 * The recorded chain with both generations at its last block, in a database that is filled once for all test files.
 * `index` is the same without rows: its configuration and logs. The database is closed after the tests of the file or
 * suite that calls this.
 */
export async function openLastIndex() {
  const index = createV2Index();
  const name = await template("ensv2", async (client) => {
    await index.playTo(lastBlock);
    await storeRows(client, new Map(), index, { withEvents: true });
  });
  const client = await copyDatabase(name);
  afterAll(() => client.close());
  return { index, client, database: createDatabase(client) };
}

/**
 * A database with the tables of the schema, and `store`, which replaces the rows that names are read from by those in
 * memory, table by table where they differ. Events only if `withEvents`. It is closed after the tests of the file or
 * suite that calls this.
 */
export async function createStoredIndex({ withEvents = false } = {}): Promise<{
  database: QueuedDatabase;
  client: TestDatabase;
  store: (index: Index) => Promise<void>;
}> {
  const client = await createTestDatabase("indexes");
  afterAll(() => client.close());
  const texts = new Map<string, string>();
  return {
    client,
    database: createDatabase(client),
    store: (index: Index) => storeRows(client, texts, index, { withEvents }),
  };
}

// `texts`: what the tables have, by table.
async function storeRows(
  client: TestDatabase,
  texts: Map<string, string>,
  { store }: Index,
  { withEvents }: { withEvents: boolean },
): Promise<void> {
  const isFirst = texts.size === 0;
  const changed: string[] = [];
  for (const [name, table] of tables) {
    if (/^(account|name_sales)$/.test(name) || (!withEvents && name.endsWith("_event"))) continue;
    const columns = Object.entries(getTableColumns(table));
    const rows = store
      .rows(table)
      .map((row) =>
        jsonRow(
          name,
          Object.fromEntries(columns.map(([key, { name: column }]) => [snakeCase(column), toJson(row[key])])),
        ),
      );
    const text = JSON.stringify(rows);
    if (texts.get(name) === text) continue;
    texts.set(name, text);
    changed.push(name);
    await client.exec(`DELETE FROM ${name}`);
    if (rows.length === 0) continue;
    await client.query(`INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1)`, [
      text,
    ]);
  }
  // Empty tables too, the first time: the planner takes one of which it knows nothing for one of ten pages.
  if (changed.length > 0) await client.exec(`ANALYZE ${isFirst ? "" : changed.join(", ")}`);
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  return typeof value === "bigint" ? String(value) : value;
}
