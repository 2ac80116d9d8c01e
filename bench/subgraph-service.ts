// Requests per second of the whole indexing service, over HTTP with 16 connections from another process, for ten queries of clients.
//
//   node cli/with-node.mjs bench/subgraph-service.ts [--logs 60000] [--seconds 3]
//
// Indexes a generated chain on Postgres first; needs the server's programs. "one query" repeats the same text; "many" picks
// from hundreds of different ones.
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { serveHistory } from "./backfill/chain.ts";
import { accountOf } from "./backfill/history.ts";
import { indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { requestOf } from "./load/load.ts";
import { askSubgraph, shownLoad, startLoad, subgraphRequests } from "./load/service.ts";
import { untilReady } from "./measure.ts";
import { inWorld } from "./world.ts";

const { values } = parseArgs({
  options: { logs: { type: "string", default: "60000" }, seconds: { type: "string", default: "3" } },
});
const client = startLoad(Number(values.seconds));

/** Owns more names than one page of a wallet shows. */
const collector = accountOf(1_000_000);

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
}).finally(client.stop);

async function measure(port: number): Promise<void> {
  await untilReady(port);
  console.log(
    `empty route of the framework: ${shownLoad(await client.run(port, [requestOf("GET", "/health")]))}`,
  );
  console.log(`${"".padEnd(20)} ${"bytes".padStart(8)}   ${"many".padEnd(35)} one query`);
  const queries = await subgraphRequests(port, collector);
  for (const { name, query, variables, requests } of queries) {
    const { length } = await askSubgraph(`http://127.0.0.1:${port}`, query, variables[0]);
    const same = await client.run(port, requests.slice(0, 1));
    const many = requests.length > 1 ? shownLoad(await client.run(port, requests)) : "";
    console.log(`${name.padEnd(20)} ${String(length).padStart(8)}   ${many.padEnd(35)} ${shownLoad(same)}`);
  }
}
