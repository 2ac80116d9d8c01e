// Restarts: how long an index with many names takes after kill -9 until it follows the chain again and /ready returns 200, and
// how long the indexes for queries take to build the first time. The names are generated into the tables of a small index.
//
//   node scripts/with-node.mjs bench/restart.ts [--names 1000000]
//
// Needs a Postgres server's programs. It starts a server for the run.

import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import pg from "pg";
import type { DevNode } from "../devnet/node.ts";
import { generateStatements } from "../test/support/subgraph/generate.ts";
import { createDatabases } from "./backfill/databases.ts";
import { createSubject, type Subject, startRecordedNode, writeInputs } from "./faults/subject.ts";
import { startBenchPostgres } from "./postgres.ts";

const { values: options } = parseArgs({ options: { names: { type: "string", default: "1000000" } } });
const names = Number(options.names);
const schema = "names_v1";
const hours = 3_600_000;

async function fill(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Ponder's triggers would note every row for reorganisations.
  await client.query(`SET search_path = ${schema}; SET session_replication_role = replica`);
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes WHERE schemaname = '${schema}' AND indexname LIKE '%\\_by\\_%'`,
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  for (const text of generateStatements(names)) await client.query(`${text} ON CONFLICT DO NOTHING`);
  await client.query("VACUUM ANALYZE");
  const { rows: sizes } = await client.query<{ size: string }>(
    "SELECT pg_size_pretty(pg_database_size(current_database())) AS size",
  );
  await client.end();
  return sizes[0]?.size;
}

async function until(what: string, isDone: () => Promise<boolean>) {
  const begun = performance.now();
  while (!(await isDone().catch(() => false))) {
    if (performance.now() - begun > hours) throw new Error(`No ${what} after an hour.`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** Starts the index; seconds until it has indexed a block that came afterwards, and until /ready returns 200. */
async function start(subject: Subject, node: DevNode) {
  const begun = performance.now();
  const passed = () => ((performance.now() - begun) / 1000).toFixed(1);
  node.chain.setHead(node.chain.head() + 1);
  const head = node.chain.head();
  subject.start(node.url);
  const live = until("live block", async () => {
    const response = await fetch(`${subject.url}/status`);
    const chains = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
    return chains.some(({ block }) => block.number >= head);
  }).then(passed);
  const ready = until("200 of /ready", async () => (await fetch(`${subject.url}/ready`)).status === 200).then(
    passed,
  );
  return `live after ${await live} s, ready after ${await ready} s`;
}

const postgres = await startBenchPostgres();
const inputs = writeInputs();
const databases = createDatabases(postgres.url, inputs);
const node = await startRecordedNode(1_640);
const subject = await createSubject(databases, inputs, "restart");
try {
  console.log(`Empty: ${await start(subject, node)}`);
  await subject.stop();
  const size = await fill(subject.databaseUrl);
  console.log(`${names.toLocaleString("en")} names, ${size} without indexes for queries`);
  console.log(`First start: ${await start(subject, node)}`);
  for (let kill = 1; kill <= 2; kill++) {
    await subject.kill();
    console.log(`After kill -9 (${kill}): ${await start(subject, node)}`);
  }
} finally {
  await subject.stop();
  await databases.close();
  await node.close();
  await postgres.stop();
  rmSync(inputs, { recursive: true });
}
