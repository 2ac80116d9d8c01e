// Requests per second of the whole indexing service, over HTTP with 16 connections from another process, for ten
// queries of clients.
//
//   node cli/with-node.mjs bench/subgraph-service.ts [--logs 60000] [--seconds 3]
//
// Indexes a generated chain on Postgres first; needs the server's programs. "one query" repeats the same text; "many"
// picks from hundreds of different ones.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { clientQueries, type KnownName } from "../cli/compare/queries.ts";
import { freePort } from "../devnet/ports.ts";
import { askSubgraph } from "../devnet/subgraph.ts";
import { serveHistory } from "./backfill/chain.ts";
import { generateAccount } from "./backfill/history.ts";
import { indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { formatRequest, type LoadResult } from "./load/load.ts";
import type { LoadJob } from "./load/load-process.ts";
import { untilReady, whole } from "./measure.ts";
import { inWorld } from "./world.ts";

const { values } = parseArgs({
  options: { logs: { type: "string", default: "60000" }, seconds: { type: "string", default: "3" } },
});
const client = fork(fileURLToPath(new URL("load/load-process.ts", import.meta.url)), { execArgv: [] });

/** Owns more names than one page of a wallet shows. */
const collector = generateAccount(1_000_000);

await inWorld("service", async ({ folder, url }) => {
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
      DATABASE_URL: url,
    },
    whenComplete: () => measure(port),
  });
  await served.close();
}).finally(() => client.disconnect());

/** Requests a second and milliseconds under load, for a column. */
async function loaded(port: number, requests: string[]): Promise<string> {
  client.send({ port, seconds: Number(values.seconds), requests } satisfies LoadJob);
  const [{ perSecond, p50, p95, p99 }] = (await once(client, "message")) as [LoadResult];
  return `${whole(perSecond).padStart(7)}/s ${[p50, p95, p99].map((ms) => ms.toFixed(1)).join(" / ")}`;
}

async function measure(port: number): Promise<void> {
  await untilReady(port);
  const url = `http://127.0.0.1:${port}/subgraph`;
  console.log(`empty route of the framework: ${await loaded(port, [formatRequest("GET", "/health")])}`);
  console.log(`${"".padEnd(20)} ${"bytes".padStart(8)}   ${"many".padEnd(35)} one query`);
  const known =
    '{ domains(first: 1000, where: { name_starts_with: "name1", labelName_not: null }) { id name owner { id } } }';
  const { domains } = await askSubgraph<{ domains: KnownName[] }>(url, known);
  for (const { name, query, variables } of clientQueries(domains, collector)) {
    const { length } = JSON.stringify({ data: await askSubgraph(url, query, variables[0]) });
    const requests = variables.map((variables) =>
      formatRequest("POST", "/subgraph", JSON.stringify({ query, variables })),
    );
    const same = await loaded(port, requests.slice(0, 1));
    const many = requests.length > 1 ? await loaded(port, requests) : "";
    console.log(`${name.padEnd(20)} ${String(length).padStart(8)}   ${many.padEnd(35)} ${same}`);
  }
}
