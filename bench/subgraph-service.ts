// Requests per second of the whole indexing service, over HTTP with 16 connections from another process, for ten
// queries that were also measured on the public reference implementation (ENSNode 1.5) on a similar machine with 4,325
// names.
//
//   node scripts/with-node.mjs bench/subgraph-service.ts [--logs 60000] [--seconds 3]
//
// Indexes a generated chain on Postgres first; needs the server's programs. "one query" repeats the same text,
// as that measurement did; "many" picks from hundreds of different ones.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { serveHistory } from "./backfill/chain.ts";
import { accountOf } from "./backfill/history.ts";
import { indexOnce, realRoot } from "./backfill/indexing-process.ts";
import type { LoadResult } from "./load/load.ts";
import type { LoadJob } from "./load/load-process.ts";
import { startBenchPostgres } from "./postgres.ts";
import { type ClientQuery, clientQueries } from "./subgraph/queries.ts";

const { values } = parseArgs({
  options: { logs: { type: "string", default: "60000" }, seconds: { type: "string", default: "3" } },
});
const seconds = Number(values.seconds);
const folder = mkdtempSync(join(tmpdir(), "bench-service-"));
const postgres = await startBenchPostgres();
const client = fork(fileURLToPath(new URL("load/load-process.ts", import.meta.url)));

/** Owns more names than one page of a wallet shows. */
const collector = accountOf(1_000_000);

try {
  const ownerOf = (index: number) => (index < 200 ? collector : undefined);
  const served = await serveHistory({ logs: Number(values.logs), folder, ownerOf });
  const port = await freePort();
  await indexOnce({
    name: "bench_service",
    appRoot: realRoot,
    port,
    environment: {
      ...served.environment,
      PLUGINS: "subgraph",
      SUBGRAPH_COMPAT: "true",
      DATABASE_URL: postgres.url,
    },
    whenComplete: () => measure(port),
  });
  served.close();
} finally {
  client.disconnect();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(port: number): Promise<void> {
  while (!(await fetch(`http://127.0.0.1:${port}/ready`)).ok)
    await new Promise((done) => setTimeout(done, 200));
  const ask = async (query: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/subgraph`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    return response.json();
  };
  const { data } = await ask(
    '{ domains(first: 1000, where: { name_ends_with: ".eth" }) { id name owner { id } } }',
  );
  const queries = clientQueries(data.domains, collector);
  const empty = await run({ port, requests: ["GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"] });
  console.log(
    `empty route of the framework: ${whole(empty.perSecond)} requests/s, p50 ${empty.p50.toFixed(1)} ms`,
  );
  console.log(`${"".padEnd(20)} ${"bytes".padStart(8)}   ${"many".padEnd(31)} one query (of ENSNode)`);
  for (const query of queries) await measureQuery(port, query);
}

async function measureQuery(port: number, { name, peer, query, variables }: ClientQuery): Promise<void> {
  const requests = variables.map((one) => post(JSON.stringify({ query, variables: one })));
  const [first = ""] = requests;
  const answer = await fetch(`http://127.0.0.1:${port}/subgraph`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables: variables[0] }),
  });
  const text = await answer.text();
  if (text.includes('"errors"')) throw new Error(`${name}: ${text}`);
  const same = await run({ port, requests: [first] });
  const many = requests.length > 1 ? await run({ port, requests }) : undefined;
  const ratio = (same.perSecond / peer).toFixed(1);
  console.log(
    `${name.padEnd(20)} ${String(text.length).padStart(8)}   ${(many ? shown(many) : "").padEnd(31)} ${shown(same)} ${ratio}x of ${peer}`,
  );
}

async function run({ port, requests }: { port: number; requests: string[] }): Promise<LoadResult> {
  const send = async (duration: number) => {
    client.send({ port, connections: 16, seconds: duration, requests } satisfies LoadJob);
    const [result] = (await once(client, "message")) as [LoadResult];
    return result;
  };
  await send(1);
  return send(seconds);
}

function post(body: string): string {
  return (
    "POST /subgraph HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

function shown({ perSecond, p50, p99 }: LoadResult): string {
  return `${whole(perSecond).padStart(7)}/s ${p50.toFixed(1).padStart(6)} ${p99.toFixed(1).padStart(6)} ms`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
