// Restarts: how long an index with many names takes after kill -9 until it follows the chain again, /ready returns 200 and ten
// queries are as fast as before, and how long the indexes for queries take to build the first time. The names are generated into
// the tables of a small index.
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
import { type ClientQuery, clientQueries, type KnownName } from "./subgraph/queries.ts";

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

// --- The ten queries of bench/subgraph-service.ts ---

async function ask({ url }: Subject, query: string, variables: object = {}) {
  const response = await fetch(`${url}/subgraph`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await response.json()) as { data?: { domains: KnownName[] }; errors?: { message: string }[] };
  if (body.errors?.[0]) throw new Error(body.errors[0].message);
  return body.data?.domains ?? [];
}

/** Milliseconds of each query: the median of seven with different variables, one request at a time. */
async function measure(subject: Subject, queries: readonly ClientQuery[], turn: number): Promise<number[]> {
  const medians: number[] = [];
  for (const { query, variables } of queries) {
    const times: number[] = [];
    for (let i = 0; i < 7; i++) {
      const begun = performance.now();
      await ask(subject, query, variables[(turn * 7 + i) % variables.length]);
      times.push(performance.now() - begun);
    }
    medians.push(times.sort((a, b) => a - b)[3] ?? Number.NaN);
  }
  return medians;
}

/** The queries, and their usual milliseconds on an index that has run for a while. */
async function usualQueries(subject: Subject) {
  const names = await ask(
    subject,
    '{ domains(first: 1000, where: { name_ends_with: ".eth" }) { id name owner { id } } }',
  );
  const [{ owner } = { owner: undefined }] = names;
  if (owner === undefined) throw new Error("The index has no names.");
  const queries = clientQueries(names, owner.id);
  for (let turn = 0; turn < 3; turn++) await measure(subject, queries, turn);
  return { queries, usual: await measure(subject, queries, 3) };
}

type Usual = Awaited<ReturnType<typeof usualQueries>>;

const shown = (queries: readonly ClientQuery[], medians: readonly number[]) =>
  queries.map(({ name }, place) => `${name} ${medians[place]?.toFixed(1)}`).join(", ");

/** Waits until no query takes longer than twice its usual time and 5 ms. */
async function untilFast(subject: Subject, { queries, usual }: Usual) {
  let turn = 0;
  await until("fast queries", async () => {
    const medians = await measure(subject, queries, turn++);
    return medians.every((median, place) => median <= 2 * (usual[place] ?? 0) + 5);
  });
}

/**
 * Starts the index; seconds until it has indexed a block that came afterwards, until /ready returns 200, and until the queries are
 * as fast as usual.
 */
async function start(subject: Subject, node: DevNode, usual?: Usual) {
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
  const fast = usual === undefined ? undefined : untilFast(subject, usual).then(passed);
  const text = `live after ${await live} s, ready after ${await ready} s`;
  return fast === undefined ? text : `${text}, the ten queries fast after ${await fast} s`;
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
  const usual = await usualQueries(subject);
  console.log(`Queries, ms: ${shown(usual.queries, usual.usual)}`);
  for (let kill = 1; kill <= 2; kill++) {
    await subject.kill();
    console.log(`After kill -9 (${kill}): ${await start(subject, node, usual)}`);
    console.log(`Queries, ms: ${shown(usual.queries, await measure(subject, usual.queries, 9))}`);
  }
} finally {
  await subject.stop();
  await databases.close();
  await node.close();
  await postgres.stop();
  rmSync(inputs, { recursive: true });
}
