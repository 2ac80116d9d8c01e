// Mainnet's size, rehearsed: a generated history in mainnet's proportions goes through an archive into Postgres.
//
//   NODE_OPTIONS=--max-old-space-size=6000 node cli/with-node.mjs bench/mainnet.ts [--logs 5000000]
//
// Prints logs/s (by time and by processor time) and memory by tenth of the way, and the time from the end of the
// backfill until all indexes are built. Needs a Postgres server's programs.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { waitFor } from "../devnet/wait.ts";
import { halfOfLabels } from "./backfill/chain.ts";
import { indexOnce, type LogEntry, realRoot, type Usage } from "./backfill/indexing-process.ts";
import { fillArchive, serveHead } from "./mainnet/archive.ts";
import { secondsSince, untilReady, whole } from "./measure.ts";
import { inWorld, type World } from "./world.ts";

const { values: options } = parseArgs({ options: { logs: { type: "string", default: "5000000" } } });
// The service gets Node's usual heap.
delete process.env["NODE_OPTIONS"];

await inWorld("mainnet", rehearse);

async function rehearse({ folder, url }: World): Promise<void> {
  const begun = performance.now();
  const filled = await fillArchive(join(folder, "archive"), Number(options.logs));
  const { labels, logs, bytes, lastBlock, environment } = filled;
  console.log(
    `archive: ${whole(logs)} logs, ${whole(labels.length)} labels, ${(bytes / logs).toFixed(1)} bytes a log, written in ${secondsSince(begun).toFixed(0)} s`,
  );
  const node = await serveHead(filled);
  const port = await freePort();
  const names = labels.length;
  const labelsUrl = halfOfLabels(folder, labels);
  labels.length = 0;
  const blocks = [Number(environment["START_BLOCK"]), lastBlock] as const;
  try {
    const { seconds, processorSeconds, peakMegabytes } = await indexOnce({
      ...{ name: "bench_mainnet", appRoot: realRoot, port },
      environment: { ...environment, LABELS_URL: labelsUrl, RPC_URL_1: node.url, DATABASE_URL: url },
      seeEntry: byTenth(logs, blocks),
      whenComplete: () => printReady(port, node.mine()),
    });
    console.log(
      `backfill: ${seconds.toFixed(0)} s, ${whole(logs / seconds)} logs/s, ${whole(logs / processorSeconds)} for each second of processor time, peak ${whole(peakMegabytes)} MB, ${whole(names)} labels`,
    );
  } finally {
    await node.close();
  }
}

/** Prints speed and memory whenever another tenth of the blocks is indexed; all blocks have about as many logs. */
function byTenth(logs: number, [first, last]: readonly [number, number]) {
  // Time, processor time and share of the blocks at the last line.
  let [since, used, before] = [0, 0, 0];
  return ({ msg, block_range = "[0,0]" }: LogEntry, usage: () => Usage): void => {
    if (msg === "Started backfill indexing") [since, used] = [performance.now(), usage().processorSeconds];
    if (msg !== "Indexed block range") return;
    const [, to] = JSON.parse(block_range) as [number, number];
    const share = Math.min(1, (to + 1 - first) / (last - first + 1));
    const tenth = Math.floor(share * 10);
    if (tenth <= Math.floor(before * 10)) return;
    const { megabytes, processorSeconds } = usage();
    const count = (share - before) * logs;
    console.log(
      `${tenth} tenths: ${whole(count / secondsSince(since))} logs/s, ${whole(count / (processorSeconds - used))} ` +
        `for each second of processor time, ${whole(megabytes)} MB`,
    );
    [since, used, before] = [performance.now(), processorSeconds, share];
  };
}

/** Prints how long it takes until the service has a block, and until it has all indexes. */
async function printReady(port: number, head: number): Promise<void> {
  const begun = performance.now();
  await waitFor("the head", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/status`);
    const [chain] = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
    const number = chain?.block.number ?? 0;
    return number >= head ? { done: number } : { state: `block ${number}` };
  });
  const live = secondsSince(begun);
  await untilReady(port);
  console.log(
    `after the backfill: live after ${live.toFixed(1)} s, all indexes after ${secondsSince(begun).toFixed(1)} s`,
  );
}
