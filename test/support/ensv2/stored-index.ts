import { PGlite } from "@electric-sql/pglite";
import { getTableColumns } from "drizzle-orm";
import { createDatabase, type QueuedDatabase } from "../../../src/api/database/client.ts";
import { indexStatements, tableStatements, tables } from "../create-tables.ts";
import type { createRecordedIndex } from "./recorded-index.ts";

/** A database with the tables of the schema, and `store`, which replaces the rows that names are read from by those in memory. */
export async function createStoredIndex(): Promise<{
  database: QueuedDatabase;
  client: PGlite;
  store: (index: Pick<ReturnType<typeof createRecordedIndex>, "store">) => Promise<void>;
}> {
  const client = new PGlite();
  for (const text of [...tableStatements(), ...indexStatements()]) await client.exec(text);
  return {
    client,
    database: createDatabase(client),
    async store({ store }) {
      for (const [name, table] of tables) {
        if (/_event$|^(account|resolver|name_sales)$/.test(name)) continue;
        const columns = Object.entries(getTableColumns(table));
        const rows = store
          .rows(table)
          .map((row) =>
            Object.fromEntries(
              columns.map(([key, { name: column }]) => [snakeCase(column), toJson(row[key])]),
            ),
          );
        await client.exec(`DELETE FROM ${name}`);
        if (rows.length === 0) continue;
        await client.query(`INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1)`, [
          JSON.stringify(rows),
        ]);
      }
      await client.exec("ANALYZE");
    },
  };
}

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  return typeof value === "bigint" ? String(value) : value;
}
