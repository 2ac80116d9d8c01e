import { isTable } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { moduleOfPonder } from "../../../src/ponder/expected.ts";
import { describeTable } from "../../../src/ponder/rows/table-shape.ts";
import type { ResultStore } from "../../../src/ponder/shared.ts";
import type { createSyncStore } from "../../../src/ponder/sync-store.ts";
import type { TestDatabase } from "../database.ts";

type Insert = (of: { chainId: number } & Record<string, unknown>) => Promise<void>;
type Given = Parameters<typeof createSyncStore>[0];

/** Ponder's store of what nodes returned, and the one that takes its place. */
export type SyncStore = ResultStore &
  Record<"insertBlocks" | "insertLogs" | "insertTransactions", Insert> & {
    getEventData(
      of: object,
    ): Promise<Record<"blocks" | "logs" | "transactions", object[]> & { cursor: number }>;
  };

/**
 * Creates the tables of Ponder's cache in a database. Returns Ponder's own store over them, and what another is created
 * of.
 */
export async function openSyncStore(database: TestDatabase): Promise<{ ofPonder: SyncStore; given: Given }> {
  const tables = Object.values(moduleOfPonder<Record<string, unknown>>("sync-store/schema.js")).filter(
    (one) => isTable(one),
  );
  await database.exec("CREATE SCHEMA ponder_sync");
  for (const table of tables) {
    const { schema, name, columns, keys } = describeTable(table as never);
    const types = columns.map((column) => `"${column.name}" ${column.column.getSQLType()}`);
    const key = keys.length === 0 ? [] : [`PRIMARY KEY (${keys.map((column) => `"${column.name}"`)})`];
    await database.exec(`CREATE TABLE "${schema}"."${name}" (${[...types, ...key]})`);
  }
  const db = drizzle(database as never, { casing: "snake_case" });
  const given = {
    common: {
      options: { databaseMaxQueryParameters: 16_000 },
      metrics: { ponder_historical_extract_duration: { inc: () => {} } },
    },
    // Types of another driver.
    qb: { raw: db, wrap: async (_: unknown, query: (db: never) => unknown) => query(db as never) } as never,
  };
  const { createSyncStore: create } = moduleOfPonder<{ createSyncStore(given: Given): SyncStore }>(
    "sync-store/index.js",
  );
  return { ofPonder: create(given), given };
}
