// Mainnet's size, rehearsed: a generated history in mainnet's proportions goes through an archive into Postgres; then the service is
// asked at that size.
//
//   NODE_OPTIONS=--max-old-space-size=6000 node cli/with-node.mjs bench/mainnet.ts [--logs 5000000] [--seconds 3] [--restart]
//
// Prints logs/s (by time and by processor time) and memory by tenth of the way, disk by log and by name, the time from the end of the
// backfill until all indexes are built, and p50, p95, p99 of the ten queries of bench/subgraph-service.ts and of some REST routes with
// 16 connections, each picking from hundreds of requests. With --restart the service is killed in the middle of the backfill. Needs a Postgres server's programs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { halfOfLabels } from "./backfill/chain.ts";
import { indexOnce, type LogEntry, realRoot, type WatchedService } from "./backfill/indexing-process.ts";
import { requestOf, shownLoad, startLoad, subgraphRequests } from "./load/service.ts";
import { type Filled, fillArchive, hotAccount, serveHead } from "./mainnet/archive.ts";
import { bytesOf, diskOf, startBenchPostgres } from "./postgres.ts";

const { values: options } = parseArgs({
  options: {
    logs: { type: "string", default: "5000000" },
    seconds: { type: "string", default: "3" },
    restart: { type: "boolean", default: false },
  },
});
// The service gets Node's usual heap.
delete process.env["NODE_OPTIONS"];
const schema = "bench_mainnet";
const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const secondsSince = (begun: number) => (performance.now() - begun) / 1_000;

const folder = mkdtempSync(join(tmpdir(), "bench-mainnet-"));
const postgres = await startBenchPostgres();
const client = startLoad(Number(options.seconds));
try {
  const begun = performance.now();
  const filled = await fillArchive(join(folder, "archive"), Number(options.logs));
  const { logs, bytes, labels } = filled;
  console.log(
    `archive: ${whole(logs)} logs, ${whole(labels.length)} labels, ${(bytes / logs).toFixed(1)} bytes a log, written in ${secondsSince(begun).toFixed(0)} s`,
  );
  await rehearse(filled);
} finally {
  client.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function rehearse(filled: Filled): Promise<void> {
  const { labels, logs, lastBlock, environment } = filled;
  const node = await serveHead(filled);
  const port = await freePort();
  const names = labels.length;
  const labelsUrl = halfOfLabels(folder, labels);
  labels.length = 0;
  const blocks = [Number(environment["START_BLOCK"]), lastBlock] as const;
  const job = {
    ...{ name: schema, appRoot: realRoot, port },
    environment: { ...environment, LABELS_URL: labelsUrl, RPC_URL_1: node.url, DATABASE_URL: postgres.url },
  };
  try {
    if (options.restart) await killedInTheMiddle(job, byTenth(logs, blocks));
    const { seconds, processorSeconds, peakMegabytes } = await indexOnce({
      ...job,
      seeEntry: byTenth(logs, blocks),
      whenComplete: async () => {
        await untilReady(port, node);
        await printDisk(logs);
        await measureQueries(port);
      },
    });
    const indexed = options.restart ? logs / 2 : logs;
    console.log(
      `backfill: ${seconds.toFixed(0)} s, ${whole(indexed / seconds)} logs/s, ${whole(indexed / processorSeconds)} for each second of processor time, peak ${whole(peakMegabytes)} MB, ${whole(names)} labels`,
    );
  } finally {
    await node.close();
  }
}

type SeeEntry = (entry: LogEntry, service: WatchedService) => number;

async function killedInTheMiddle(
  job: Omit<Parameters<typeof indexOnce>[0], "seeEntry" | "whenComplete">,
  see: SeeEntry,
): Promise<void> {
  let isKilled = false;
  const killed = indexOnce({
    ...job,
    seeEntry: (entry, service) => {
      if (isKilled || see(entry, service) < 5) return;
      isKilled = true;
      service.kill();
    },
    whenComplete: () => {},
  });
  await killed.catch((error) => {
    if (!isKilled) throw error;
  });
  console.log("killed, and started again");
}

/**
 * Prints speed and memory whenever another tenth of the blocks is indexed, and returns how many are; all blocks have about as many
 * logs.
 */
function byTenth(logs: number, [first, last]: readonly [number, number]): SeeEntry {
  let [tenth, since, used, before] = [0, performance.now(), 0, 0];
  let isFirst = true;
  return ({ msg, block_range = "[0,0]" }, { usage }) => {
    if (msg === "Started backfill indexing") [since, used] = [performance.now(), usage().processorSeconds];
    if (msg !== "Indexed block range") return tenth;
    const [from, to] = JSON.parse(block_range) as [number, number];
    const shareBefore = (block: number) => Math.max(0, Math.min(1, (block - first) / (last - first + 1)));
    if (isFirst) before = shareBefore(from);
    if (isFirst) tenth = Math.floor(before * 10);
    isFirst = false;
    const share = shareBefore(to + 1);
    const now = Math.floor(share * 10);
    if (now === tenth) return tenth;
    const { megabytes, processorSeconds } = usage();
    const count = (share - before) * logs;
    console.log(
      `${now} tenths: ${whole(count / secondsSince(since))} logs/s, ${whole(count / (processorSeconds - used))} ` +
        `for each second of processor time, ${whole(megabytes)} MB`,
    );
    [tenth, since, used, before] = [now, performance.now(), processorSeconds, share];
    return tenth;
  };
}

async function untilReady(port: number, node: { mine(): number }): Promise<void> {
  const begun = performance.now();
  const until = async (isDone: () => Promise<boolean>) => {
    while (!(await isDone().catch(() => false))) await new Promise((done) => setTimeout(done, 250));
    return secondsSince(begun).toFixed(1);
  };
  const head = node.mine();
  const live = until(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/status`);
    const chains = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
    return chains.some(({ block }) => block.number >= head);
  });
  const ready = until(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status === 200);
  console.log(`after the backfill: live after ${await live} s, all indexes after ${await ready} s`);
}

async function printDisk(logs: number): Promise<void> {
  const { names } = await diskOf(postgres.url, schema);
  for (const name of [schema, "ponder_sync"]) {
    const { relations } = await diskOf(postgres.url, name);
    const bytes = bytesOf(relations);
    console.log(
      `disk of ${name}: ${(bytes / 1e9).toFixed(2)} GB (indexes ${(bytesOf(relations, true) / 1e9).toFixed(2)}), ` +
        `${whole(bytes / logs)} bytes a log, ${whole(bytes / names)} a name of ${whole(names)}`,
    );
  }
}

async function measureQueries(port: number): Promise<void> {
  const { domains, queries } = await subgraphRequests(port, hotAccount);
  const paths = ["/api/indexing-status", "/amirealtime", "/v1/status"];
  const pages = domains.map(({ name }) => requestOf("GET", `/name/${encodeURIComponent(name)}`));
  const all = [
    ...queries,
    ...paths.map((path) => ({ name: path, requests: [requestOf("GET", path)] })),
    { name: "/name/{name}", requests: pages },
  ];
  console.log("16 connections, different requests: requests/s, p50 / p95 / p99 in ms");
  for (const { name, requests } of all) {
    const result = await client.run(port, requests);
    const failed = Object.keys(result.statuses).filter((status) => status !== "200");
    console.log(`${name.padEnd(20)} ${shownLoad(result)} ${failed.join(" ")}`);
  }
}
