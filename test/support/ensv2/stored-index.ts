import type { PGlite } from "@electric-sql/pglite";
import { getTableColumns } from "drizzle-orm";
import { createDatabase, type QueuedDatabase } from "../../../src/api/database/client.ts";
import { keccak256 } from "../../../src/ens/keccak.ts";
import { tables } from "../create-tables.ts";
import { createEmbedded } from "../embedded/database.ts";
import type { createRecordedIndex } from "../recorded-index.ts";

type Store = Pick<ReturnType<typeof createRecordedIndex>, "store">["store"];

/**
 * A database with the tables of the schema, and `store`, which replaces the rows that names are read from by those in memory,
 * table by table where they differ.
 * Events only if `withEvents`. What was read of a resolver's records is read again only when one of the resolver's rows changed.
 */
export async function createStoredIndex({ withEvents = false } = {}): Promise<{
  database: QueuedDatabase;
  client: PGlite;
  store: (index: Pick<ReturnType<typeof createRecordedIndex>, "store">) => Promise<void>;
}> {
  const client = await createEmbedded("indexes");
  const reader = preparing(client);
  const known = new Map<string, (string | null)[]>();
  const texts = new Map<string, string>();
  let digests = new Map<unknown, string>();
  return {
    client,
    database: {
      ...reader,
      async row(sql, values, signal) {
        const resolver = values.findLast((value) => digests.has(value));
        if (resolver === undefined || !readsOneResolver(sql)) return reader.row(sql, values, signal);
        const key = [digests.get(resolver), sql, ...values].join("\n");
        const columns = known.get(key) ?? (await reader.row(sql, values, signal));
        known.set(key, columns);
        return columns;
      },
    },
    async store({ store }) {
      digests = resolverDigests(store);
      const isFirst = texts.size === 0;
      const changed: string[] = [];
      for (const [name, table] of tables) {
        if (/^(account|name_sales)$/.test(name) || (!withEvents && name.endsWith("_event"))) continue;
        const columns = Object.entries(getTableColumns(table));
        const rows = store
          .rows(table)
          .map((row) =>
            Object.fromEntries(
              columns.map(([key, { name: column }]) => [snakeCase(column), toJson(row[key])]),
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
    },
  };
}

// Planning the statements that read names takes longer than running them: a text that comes again is planned once.
function preparing(client: PGlite): QueuedDatabase {
  const reader = createDatabase(client);
  const seen = new Map<string, number>();
  return {
    ...reader,
    async row(sql, values, signal) {
      const place = [...seen.keys()].indexOf(sql);
      const times = (seen.get(sql) ?? 0) + 1;
      seen.set(sql, times);
      if (times < 3) return reader.row(sql, values, signal);
      if (times === 3) {
        await client.exec("SET plan_cache_mode = force_generic_plan");
        await client.exec(`PREPARE asked_${place} AS ${sql}`);
      }
      const given = values.length === 0 ? "" : `(${values.map((value) => literal(value)).join(", ")})`;
      const { rows } = await client.query<unknown[]>(`EXECUTE asked_${place}${given}`, [], {
        rowMode: "array",
      });
      return (rows[0] ?? []).map((value) => (typeof value === "string" ? value : null));
    },
  };
}

const readsOneResolver = (sql: string) =>
  /v2_aliases|v2_record_links|AS resolver\) active/.test(sql) && !/domain_resolver|v2_entries/.test(sql);

// A hash of each resolver's records.
function resolverDigests(store: Store): Map<unknown, string> {
  const texts = new Map<unknown, string[]>();
  for (const [name, table] of tables) {
    if (!/^(v2_(aliases|record)|resolver_)/.test(name) || name.endsWith("_event")) continue;
    for (const row of store.rows(table)) {
      const address = row["resolver"] ?? row["address"];
      texts.set(address, [...(texts.get(address) ?? []), JSON.stringify(toJson(Object.values(row)))]);
    }
  }
  return new Map(Array.from(texts, ([address, rows]) => [address, keccak256(rows.join("\n"))]));
}

const literal = (value: string) => `'${value.replaceAll("'", "''")}'`;

const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  return typeof value === "bigint" ? String(value) : value;
}
