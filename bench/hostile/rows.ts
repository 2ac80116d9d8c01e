import pg from "pg";
import { generateStatements } from "../../test/support/subgraph/generate.ts";

/** How many rows of each kind are added to those of the recorded chains. */
export type AddedRows = { names: number; sales: number };

/**
 * Adds generated names, and copies of the recorded sales, to a finished index, so that attacks find as many rows as a
 * public index has. The rows bypass Ponder's triggers: no reorganisation will touch them.
 */
export async function addRows({ url, schema }: { url: string; schema: string }, { names, sales }: AddedRows) {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
  await client.connect();
  try {
    await client.query("SET session_replication_role = replica");
    for (const text of generateStatements(names)) await client.query(`${text} ON CONFLICT DO NOTHING`);
    const { rows } = await client.query(
      "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute WHERE attrelid = 'name_sales'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'id'",
    );
    const { columns } = rows[0] as { columns: string };
    await client.query(
      `INSERT INTO name_sales (id, ${columns})
       SELECT id || '-' || i, ${columns} FROM name_sales, generate_series(1, (SELECT ceil($1::numeric / greatest(count(*), 1))::int FROM name_sales)) i`,
      [sales],
    );
    await analyze(client);
  } finally {
    await client.end();
  }
}

// The service may be creating an index at that time: the server ends one of two that wait for each other.
async function analyze(client: pg.Client): Promise<void> {
  const isDeadlock = (error: unknown) => error instanceof pg.DatabaseError && error.code === "40P01";
  for (let isDone = false; !isDone; ) {
    isDone = await client.query("ANALYZE").then(
      () => true,
      (error) => {
        if (isDeadlock(error)) return false;
        throw error;
      },
    );
  }
}
