import { existsSync } from "node:fs";
import pRetry from "p-retry";
import pg from "pg";
import { startServices } from "../../devnet/demo/services.ts";
import { isAnswered, waitWhileRunning } from "../../devnet/indexing-service.ts";
import { freePort } from "../../devnet/ports.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { generateStatements } from "../../test/support/subgraph/generate.ts";
import { startBenchPostgres } from "../world.ts";
import { longLabelLengths } from "./attacks.ts";

const schema = "hostile";

/** Both services as a user starts them, and what they depend on. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/**
 * Starts Postgres, the live chains of the demo, the label service and the indexing service with all plugins, and adds
 * rows to the finished index.
 */
export async function startWorld(rows: AddedRows) {
  const postgres = await startBenchPostgres();
  const [port, labelsPort] = [await freePort(), await freePort()];
  const { labels, index, close } = await startServices(
    { port, labelsPort, environment: process.env },
    {
      world: "everything",
      settings: { DATABASE_URL: postgres.url, DATABASE_SCHEMA: schema },
      labels: longLabelLengths.map((length) => "x".repeat(length)),
    },
  );
  for (const url of [labelsPort, port].map((one) => `http://127.0.0.1:${one}/ready`))
    await waitWhileRunning([labels, index], url, isAnswered(url));
  await addRows(postgres.url, rows);
  const pidOfIndex = async () => (await childrenOf(index.pid))[0];
  return {
    port,
    labelsPort,
    schema,
    postgres,
    /** The process of the indexing service; undefined while there is none. */
    pidOfIndex,
    lastLines: () => index.lastLines(30),
    async close() {
      const pid = await pidOfIndex();
      await close();
      // It has its own process group, and may be too busy to notice that its launcher has exited.
      if (pid !== undefined && existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
      await postgres.stop();
    },
  };
}

/** How many rows of each kind are added to those of the recorded chains. */
type AddedRows = { names: number; sales: number };

/**
 * Adds generated names, and copies of the recorded sales, to a finished index, so that attacks find as many rows as a
 * public index has. The rows bypass Ponder's triggers: no reorganisation will touch them.
 */
async function addRows(url: string, { names, sales }: AddedRows) {
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
    // The service may be creating an index at that time: the server ends one of two that wait for each other.
    await pRetry(() => client.query("ANALYZE"), { retries: 5 });
  } finally {
    await client.end();
  }
}
