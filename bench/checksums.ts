// Checksums: whether indexes of one chain that were built in different ways agree, and what checksums cost at many names.
//
//   node scripts/with-node.mjs bench/checksums.ts [--names 1000000] [--costs-only]
//
// Needs a Postgres server's programs. It starts a server for the run.

import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import pg from "pg";
import { checksumEvery } from "../src/ponder/checksum-sql.ts";
import { generateStatements } from "../test/support/subgraph/generate.ts";
import { createDatabases, type Databases } from "./backfill/databases.ts";
import { createSubject, type Subject, startRecordedNode, writeInputs } from "./faults/subject.ts";
import { startBenchPostgres } from "./postgres.ts";

const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "1000000" },
    "costs-only": { type: "boolean", default: false },
  },
});
const names = Number(options.names);
const schema = "names_v1";

type Checksum = { timestamp: number; hash: string; kept: { from: number; to: number } };

async function checksum({ url }: Subject, timestamp?: number): Promise<Checksum | undefined> {
  const query = timestamp === undefined ? "" : `?timestamp=${timestamp}`;
  const response = await fetch(`${url}/api/checksum${query}`).catch(() => undefined);
  return response?.status === 200 ? ((await response.json()) as Checksum) : undefined;
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + 600_000;
  for (;;) {
    const found = await look().catch(() => undefined);
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`No ${what} after ten minutes.`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

const firstPass = (subject: Subject) =>
  until("first pass", async () => subject.lines().find((line) => line.includes("Computed the checksums")));

const step = 200;

/**
 * Indexes of one chain that is being mined and reorganised: on a server and embedded, started at different blocks, killed and
 * stopped. Whether their checksums of one time are equal.
 */
async function compareWays(server: Databases, embedded: Databases, inputs: string): Promise<boolean> {
  let time = 0;
  const node = await startRecordedNode(undefined, () => time);
  time = (node.chain.block(node.chain.head())?.timestamp ?? 0) + step;
  const subjects = new Map<string, Subject>();
  const start = async (name: string, databases: Databases) => {
    const subject = await createSubject(databases, inputs, name);
    subjects.set(name, subject);
    subject.start(node.url);
    await subject.reaches(node.chain.head(), 240_000);
    await firstPass(subject);
    return subject;
  };
  const caughtUp = () =>
    Promise.all([...subjects.values()].map((subject) => subject.reaches(node.chain.head(), 240_000)));
  const mine = async (blocks: number) => {
    for (let block = 1; block <= blocks; block += 1) {
      time += step;
      await node.mineBlock();
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (block % 12 > 0) continue;
      await caughtUp();
      await node.reorganise({ depth: 1 + (block % 20) });
      await caughtUp();
    }
    await caughtUp();
  };
  await mine(20);
  await start("server", server);
  await start("embedded", embedded);
  await mine(30);
  const killed = await start("killed", server);
  await mine(30);
  await killed.kill();
  killed.start(node.url);
  await caughtUp();
  await firstPass(killed);
  await start("last", server);
  await mine(80);
  // A round takes place every five seconds.
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  const found = new Map<string, Checksum | undefined>();
  for (const [name, subject] of subjects) found.set(name, await checksum(subject));
  const at = Math.min(...[...found.values()].map((one) => one?.timestamp ?? 0));
  const hashes = new Set<string>();
  for (const [name, subject] of subjects) {
    const { hash = "none" } = (await checksum(subject, at)) ?? {};
    hashes.add(hash);
    const { from, to } = found.get(name)?.kept ?? { from: 0, to: 0 };
    console.log(`| ${name} | ${(to - from) / checksumEvery} | ${hash.slice(0, 16)} |`);
    await subject.stop();
  }
  await node.close();
  const isEqual = hashes.size === 1 && !hashes.has("none");
  console.log(isEqual ? `All equal at ${at}, block ${node.chain.head()} being the head.` : "NOT EQUAL");
  return isEqual;
}

async function fill(client: pg.Client) {
  // Ponder's triggers would note every row for reorganisations.
  await client.query(`SET search_path = ${schema}; SET session_replication_role = replica`);
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes WHERE schemaname = '${schema}' AND indexname ~ '_by_|_search$'`,
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  for (const text of generateStatements(names)) await client.query(`${text} ON CONFLICT DO NOTHING`);
  await client.query("VACUUM ANALYZE");
  await client.query("SET session_replication_role = origin");
}

const triggerTime = (rows: { "QUERY PLAN": string }[], name: string) =>
  Number(
    new RegExp(`Trigger ${name}.*time=([\\d.]+)`).exec(rows.map((row) => row["QUERY PLAN"]).join("\n"))?.[1],
  );

/** What Ponder's statements wait for because of checksums: for a batch of the backfill, and for a finalization. */
async function measureCosts(client: pg.Client) {
  await client.query("BEGIN");
  await client.query(`UPDATE _ponder_meta SET value = jsonb_set(value, '{is_ready}', '0')`);
  const batch = await client.query(
    "EXPLAIN ANALYZE UPDATE _ponder_checkpoint SET finalized_checkpoint = reverse(finalized_checkpoint)",
  );
  console.log(`A batch of the backfill: ${triggerTime(batch.rows, "_checksum")} ms`);
  await client.query("ROLLBACK");
  // As in Ponder's transactions.
  await client.query("CREATE TEMP TABLE live_query_tables (table_name text PRIMARY KEY)");
  for (const changed of [0, 100, 2_000, 20_000]) {
    await client.query("BEGIN");
    await client.query(`DELETE FROM _reorg__domain`);
    await client.query(
      `UPDATE domain SET expiry_date = 1 WHERE id IN (SELECT id FROM domain ORDER BY id LIMIT ${changed})`,
    );
    await client.query(
      `UPDATE _reorg__domain SET checkpoint = (SELECT max(finalized_checkpoint) FROM _ponder_checkpoint)`,
    );
    await client.query("ANALYZE _reorg__domain");
    const { rows } = await client.query(
      "EXPLAIN ANALYZE DELETE FROM _reorg__domain WHERE checkpoint <= (SELECT max(finalized_checkpoint) FROM _ponder_checkpoint)",
    );
    console.log(`Finalization of ${changed} changed domains: ${triggerTime(rows, "_checksum")} ms`);
    await client.query("ROLLBACK");
  }
}

async function measure(server: Databases, inputs: string) {
  const node = await startRecordedNode(1_640);
  const subject = await createSubject(server, inputs, "costs");
  subject.start(node.url);
  await subject.reaches(1_640, 240_000);
  await firstPass(subject);
  await subject.stop();
  const client = new pg.Client({ connectionString: subject.databaseUrl });
  // Its database is dropped when something fails before.
  client.on("error", () => undefined);
  await client.connect();
  await fill(client);
  await measureCosts(client);
  await client.query("DELETE FROM _checksum_bases");
  subject.start(node.url);
  const line = await firstPass(subject);
  console.log(`${names.toLocaleString("en")} names: ${/Computed[^"]*/.exec(line)?.[0]}`);
  const begun = performance.now();
  for (let i = 0; i < 100; i += 1) await checksum(subject);
  console.log(`GET /api/checksum: ${((performance.now() - begun) / 100).toFixed(1)} ms`);
  await client.end();
  await subject.stop();
  await node.close();
}

const postgres = await startBenchPostgres();
const inputs = writeInputs();
const server = createDatabases(postgres.url, inputs);
try {
  if (!options["costs-only"] && !(await compareWays(server, createDatabases(undefined, inputs), inputs)))
    process.exitCode = 1;
  if (names > 0) await measure(server, inputs);
} finally {
  await server.close();
  await postgres.stop();
  rmSync(inputs, { recursive: true, force: true });
}
