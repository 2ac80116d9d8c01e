import pg from "pg";
import { inject } from "vitest";
import type { Pool } from "../../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "./create-tables.ts";
import { createEmptyDatabase, createPool } from "./postgres.ts";

/** What a database begins with: nothing, the schema's tables, or these and their indexes. */
type Contents = "nothing" | "tables" | "indexes";

/** Runs statements: one with values, or several without. */
export type Statements = {
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
  exec(text: string): Promise<unknown>;
};

/** A database of its own, as a pool of connections to it. Numbers of 64 bits are numbers where they are exact. */
export type TestDatabase = Pool &
  Statements & {
    url: string;
    /** Ends the connections and drops the database. */
    close(): Promise<void>;
  };

type Options = { connections?: number };

/**
 * Creates a database on the shared server. With one of `connections`, settings and transactions last between
 * statements.
 */
export async function createTestDatabase(contents: Contents, options?: Options): Promise<TestDatabase> {
  return copyDatabase(contents === "nothing" ? undefined : await templateWith(contents), options);
}

const statements = {
  tables: () => tableStatements(),
  indexes: () => [...tableStatements(), ...indexStatements()],
};
const templateWith = (contents: keyof typeof statements) =>
  template(
    contents,
    async (database) => {
      for (const text of statements[contents]()) await database.exec(text);
    },
    "nothing",
  );

/** Creates a database as the template of this name is, or empty. */
export async function copyDatabase(
  from: string | undefined,
  { connections = 6 }: Options = {},
): Promise<TestDatabase> {
  const { url, drop } = await createEmptyDatabase(inject("postgresUrl"), from);
  const idleTimeoutMillis = connections === 1 ? 0 : 10_000;
  const pool = createPool(url, connections, { idleTimeoutMillis, types: { getTypeParser } as never });
  const database = Object.assign(pool, {
    url,
    exec: (text: string) => pool.query(text),
    async close() {
      await pool.end();
      await drop();
    },
  });
  // The driver's types leave out what the product uses of its connections.
  return database as unknown as TestDatabase;
}

const templates = new Map<string, Promise<string>>();

/** Name of a template, which `fill` makes of a database with tables and indexes, once for all test files of a run. */
export function template(
  name: string,
  fill: (database: TestDatabase) => Promise<void>,
  contents: Contents = "indexes",
): Promise<string> {
  const known = templates.get(name) ?? createTemplate(`template_${name}`, fill, contents);
  templates.set(name, known);
  return known;
}

// Workers wait for the one that has the lock. What a failed one leaves keeps another name.
async function createTemplate(
  name: string,
  fill: (database: TestDatabase) => Promise<void>,
  contents: Contents,
): Promise<string> {
  const client = new pg.Client(inject("postgresUrl"));
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock(hashtext($1))", [name]);
    const { rows } = await client.query("SELECT FROM pg_database WHERE datname = $1", [name]);
    if (rows.length > 0) return name;
    const database = await createTestDatabase(contents, { connections: 1 });
    await fill(database);
    await (database as unknown as pg.Pool).end();
    await client.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} RENAME TO ${name}`);
    return name;
  } finally {
    await client.end();
  }
}

// Numbers where they are exact.
const getTypeParser = (id: number, format?: "text") => {
  if (id !== pg.types.builtins.INT8) return pg.types.getTypeParser(id, format ?? "text");
  return (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));
};
