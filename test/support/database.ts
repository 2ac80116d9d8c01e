import type { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { inject } from "vitest";
import { indexStatements, tableStatements } from "./create-tables.ts";
import { createEmbedded } from "./embedded/database.ts";
import { createEmptyDatabase, createPool } from "./postgres.ts";

let template: Promise<string> | undefined;

/**
 * A database with the schema's tables and indexes: on a Postgres server where one is installed, which plans statements several times as
 * fast, else in memory. Of the type, only `query`, `exec` and `close` are there in both.
 */
export async function createTables(): Promise<PGlite> {
  const server = inject("postgresUrl");
  if (server === "") return createEmbedded("indexes");
  template ??= createTemplate(server);
  const { url, drop } = await createEmptyDatabase(server, await template);
  const pool = createPool(url, 6, { types: { getTypeParser } as never });
  const database = Object.assign(pool, {
    exec: (text: string) => pool.query(text),
    async close() {
      await pool.end();
      await drop();
    },
  });
  return database as unknown as PGlite;
}

async function createTemplate(server: string): Promise<string> {
  const { url } = await createEmptyDatabase(server);
  const pool = createPool(url, 1);
  for (const text of [...tableStatements(), ...indexStatements()]) await pool.query(text);
  await pool.end();
  return new URL(url).pathname.slice(1);
}

// As the embedded database: numbers where they are exact.
const getTypeParser = (id: number, format?: "text") => {
  if (id !== pg.types.builtins.INT8) return pg.types.getTypeParser(id, format ?? "text");
  return (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));
};
