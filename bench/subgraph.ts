// Compares subgraph queries with hand-written SQL for the same rows, through the same driver, and with the same queries where as many
// names of ENSv2 are read beside them.
//
//   node scripts/with-node.mjs bench/subgraph.ts <postgres url> [--names 1000000] [--seconds 2]
//
// Creates the schema `bench_subgraph_<names>` with generated names once and keeps it for the next run.

import { parseArgs } from "node:util";
import pg from "pg";
import { createDatabase } from "../src/api/database/client.ts";
import { createSubgraph } from "../src/api/subgraph/routes.ts";
import type { SqlClient } from "../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "../test/support/create-tables.ts";
import { bodyText } from "../test/support/subgraph/endpoint.ts";
import {
  addressSql,
  bigParent,
  generatedV2,
  generateStatements,
  generateV2Statements,
  nodeSql,
} from "../test/support/subgraph/generate.ts";
import { type Shape, shapes } from "./subgraph/shapes.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    names: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "2" },
  },
});
const names = Number(values.names);
const schema = `bench_subgraph_${names}`;
const pool = new pg.Pool({
  connectionString: positionals[0] ?? "postgres://postgres@localhost:5432/postgres",
  options: `-c search_path=${schema}`,
  max: 20,
});

await prepare();
const { rows } = await pool.query(
  `SELECT ${addressSql("0")} AS address, ${nodeSql(100)} AS node, ${nodeSql(names - 10)} AS newest`,
);
const options = {
  database: createDatabase(pool as unknown as SqlClient),
  chainId: 1,
  deployment: "bench",
  blockOf: async () => undefined,
};
const subgraphs = { one: createSubgraph(options), both: createSubgraph({ ...options, v2: generatedV2 }) };

console.log(
  `${names} names of each generation; p50 and p99 in ms, requests/s with 1 and 16 at a time; ratios of the p50`,
);
for (const shape of shapes({ ...rows[0], bigParent })) await measure(shape);
await pool.end();

async function prepare(): Promise<void> {
  const found = await pool.query("SELECT 1 FROM information_schema.schemata WHERE schema_name = $1", [
    schema,
  ]);
  if (found.rowCount !== 0) return;
  console.log(`creating ${schema} …`);
  const client = await pool.connect();
  await client.query(`CREATE SCHEMA ${schema}`);
  const filled = [...generateStatements(names), ...generateV2Statements(names)];
  for (const text of [...tableStatements(schema), ...filled, ...indexStatements(schema)])
    await client.query(text);
  await client.query("INSERT INTO _ponder_checkpoint VALUES ('main', 1, NULL, $1, NULL)", [
    `1760000000${"1".padStart(16, "0")}${`${9_000_000 + names}`.padStart(16, "0")}${"9".repeat(33)}`,
  ]);
  await client.query("VACUUM ANALYZE");
  client.release();
}

async function measure({ name, query, variables, sql, values: parameters }: Shape): Promise<void> {
  const ours = async (generations: keyof typeof subgraphs) => {
    const { body } = await subgraphs[generations].answer(
      { query, variables, operationName: undefined, extensions: { counts: false, truncated: false } },
      new AbortController().signal,
    );
    const text = bodyText(body);
    if (text.includes('"errors"')) throw new Error(text);
    return text.length;
  };
  const raw = async () => JSON.stringify((await pool.query(sql, parameters)).rows).length;
  const bytes = await ours("one");
  const timed = async (run: () => Promise<unknown>) => ({
    single: await time(run, 1),
    many: await time(run, 16),
  });
  const mine = await timed(() => ours("one"));
  const both = await timed(() => ours("both"));
  const theirs = await timed(raw);
  console.log(
    `${name.padEnd(24)} ${`${bytes}`.padStart(7)} B   ` +
      `subgraph ${show(mine)}   sql ${show(theirs)}   ratio ${(mine.single.p50 / theirs.single.p50).toFixed(2)}   ` +
      `both generations ${show(both)}   ratio to one ${(both.single.p50 / mine.single.p50).toFixed(2)}`,
  );
}

type Timing = { p50: number; p99: number; perSecond: number };

async function time(run: () => Promise<unknown>, connections: number): Promise<Timing> {
  for (let i = 0; i < 20; i++) await run();
  const times: number[] = [];
  const started = performance.now();
  const until = started + Number(values.seconds) * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < until) {
        const before = performance.now();
        await run();
        times.push(performance.now() - before);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), perSecond: times.length / seconds };
}

function show({ single, many }: { single: Timing; many: Timing }): string {
  const part = (value: number, digits: number) => value.toFixed(digits).padStart(7);
  return `p50 ${part(single.p50, 2)} p99 ${part(single.p99, 2)} ${part(single.perSecond, 0)}/s ${part(many.perSecond, 0)}/s`;
}
