// A reader alone and behind nginx with deploy/nginx/nsindex.conf, 16 connections from another process, while a block
// comes every few seconds: requests a second, and the share of them that the cache answers.
//
//   node cli/with-node.mjs bench/cache.ts [--names 20000] [--seconds 40] [--block 12] [--popular 5000]
//
// All requests are GETs. Names and owners are asked for by popularity: the second half as often as the first, and so on
// (Zipf), among `--popular` of them. Needs the programs of a Postgres server, and nginx.

import { fork } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import pg from "pg";
import type { Hex } from "viem";
import { clientQueries, type KnownName } from "../cli/compare/queries.ts";
import { createRandom } from "../devnet/random.ts";
import { createSubgraph, subgraphRoutes } from "../src/api/subgraph/routes.ts";
import type { Pool } from "../src/ponder/sql-client.ts";
import { createChainBlocks } from "../src/read/chain-blocks.ts";
import { createDatabase } from "../src/read/sql/client.ts";
import { checkpointOf } from "../test/support/checkpoints.ts";
import { startNginx } from "../test/support/nginx.ts";
import { formatRequest, type LoadResult } from "./load/load.ts";
import type { LoadJob } from "./load/load-process.ts";
import { fill, hot } from "./lookup/names.ts";
import { whole } from "./measure.ts";
import { startBenchPostgres } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    names: { type: "string", default: "20000" },
    seconds: { type: "string", default: "40" },
    block: { type: "string", default: "12" },
    popular: { type: "string", default: "5000" },
  },
});

// How often of a hundred times each query is sent; those of deep pages are for programs that read everything.
const shares: Record<string, number> = {
  ...{ "domain-by-id": 35, "domain-by-name": 25, "names-for-address": 15, "domain-events": 8, search: 5 },
  ...{ "subnames-of-eth": 2, "latest-domains": 4, expiring: 2, meta: 4 },
};

const postgres = await startBenchPostgres();
const pool = new pg.Pool({ connectionString: postgres.url, max: 18 });
pool.on("error", () => undefined).on("connect", (client) => client.on("error", () => undefined));
await fill(pool, Number(options.names));
await pool.query("ANALYZE");

let [number, reached] = [24_000_000, 0];
async function mine() {
  number += 1;
  const head = checkpointOf({ number, timestamp: Math.floor(Date.now() / 1_000) });
  await pool.query(
    "INSERT INTO _ponder_checkpoint (chain_name, chain_id, latest_checkpoint) VALUES ('main', 1, $1) ON CONFLICT (chain_name) DO UPDATE SET latest_checkpoint = $1",
    [head],
  );
}
await mine();
const blocks = setInterval(() => void mine(), Number(options.block) * 1_000);

const database = createDatabase(pool as unknown as Pool);
const chainBlocks = createChainBlocks(async () => undefined, { log: () => undefined });
const subgraph = createSubgraph({ database, chainId: 1, deployment: "bench", blocks: chainBlocks });
const app = new Hono()
  .use(async (_, next) => {
    reached += 1;
    await next();
  })
  .route("/subgraph", subgraphRoutes(subgraph, "/subgraph"));
const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const nginx = await startNginx([`http://127.0.0.1:${port}`], { isLimited: false });
const client = fork(fileURLToPath(new URL("load/load-process.ts", import.meta.url)), { execArgv: [] });

const { rows } = await pool.query(
  `SELECT id, name, owner_id AS owner FROM domain WHERE subdomain_count = 0 ORDER BY md5(id) LIMIT ${Number(options.popular)}`,
);
const random = createRandom(1).below;
const popular = (length: number) => Math.floor(Math.exp((random(1e6) / 1e6) * Math.log(length + 1))) - 1;
const buildPath = (query: string, variables: object) =>
  `/subgraph?${new URLSearchParams({ query, variables: JSON.stringify(variables) })}`;

const names = rows.map(({ id, name, owner }) => ({ id, name, owner: { id: owner } }) as KnownName);
const requests = Array.from({ length: 20_000 }, () => {
  const name = names[popular(names.length)];
  // The queries of one name, whose last variables are of it.
  const queries = clientQueries(name === undefined ? [] : [name], hot as Hex);
  let at = random(100);
  const query = queries.find(({ name }) => {
    at -= shares[name] ?? 0;
    return at < 0;
  });
  return formatRequest("GET", buildPath(query?.query ?? "", query?.variables.at(-1) ?? {}));
});

async function loaded(to: number): Promise<LoadResult> {
  client.send({ port: to, seconds: Number(options.seconds), requests } satisfies LoadJob);
  const [result] = (await once(client, "message")) as [LoadResult];
  return result;
}

const show = (name: string, { perSecond, p50, p99, statuses }: LoadResult, more: string) =>
  console.log(
    `${name.padEnd(14)} ${whole(perSecond).padStart(7)}/s  ${p50.toFixed(1)} / ${p99.toFixed(1)} ms  ${JSON.stringify(statuses)}  ${more}`,
  );

const alone = await loaded(port);
show("reader alone", alone, "");
reached = 0;
const begun = performance.now();
const cached = await loaded(Number(new URL(nginx.url).port));
// The first second is not part of the result.
const asked = cached.perSecond * ((performance.now() - begun) / 1_000);
const hits = 100 * (1 - reached / asked);
show(
  "behind nginx",
  cached,
  `${hits.toFixed(1)} % from the cache, ${(cached.perSecond / alone.perSecond).toFixed(1)} times as many`,
);

clearInterval(blocks);
client.disconnect();
await nginx.stop();
server.close();
server.closeAllConnections();
await pool.end();
await postgres.stop();
