import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../devnet/ports.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { openNodes } from "../../src/archive/ask.ts";
import { recordChain } from "../../src/archive/record.ts";
import { wantedOf } from "../../src/archive/wanted.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { whole } from "../measure.ts";
import { createDatabase, type World } from "../world.ts";
import { type Line, type ServedHistory, serveHistory } from "./chain.ts";
import { indexOnce, realRoot } from "./indexing-process.ts";

type ArchiveOptions = {
  logs: number;
  rounds: number;
  world: World;
  /** Bytes of transactions in each block that no log belongs to. */
  paddedBytes: number;
  /** What the line to the node and to the archive's host carries; 0: both are on this machine. */
  megabits: number;
};

// To a data centre of the same continent and back.
const latencyMs = 40;

/** Indexes one generated chain with a cold cache, over RPC and through an archive of it, and compares the two. */
export async function measureArchive(options: ArchiveOptions): Promise<void> {
  const { logs, rounds, paddedBytes, megabits } = options;
  const { folder, url } = options.world;
  let line: Line | undefined;
  const served = await serveHistory({ logs, folder, paddedBytes, line: () => line });
  const archive = join(folder, "archive");
  const host = await serveFolder(archive, () => line);
  const environment = { ...served.environment, PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" };
  try {
    await record(served, environment, archive);
    if (megabits > 0) line = createLine(megabits);
    // The default for URLs that are not of this machine.
    const asElsewhere = line ? { RPC_REQUESTS_PER_SECOND: "20" } : {};
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const run = async (name: string, more: Record<string, string>) => {
        const before = served.requests();
        const { seconds, peakMegabytes } = await indexOnce({
          name,
          appRoot: realRoot,
          port: await freePort(),
          environment: {
            ...{ ...environment, ...asElsewhere, ...more },
            DATABASE_URL: await createDatabase(url, name),
          },
          whenComplete: () => undefined,
        });
        console.log(
          `  cold, ${name.padEnd(12)} ${whole(served.logs / seconds).padStart(8)} logs/s (${seconds.toFixed(1)} s), ` +
            `${whole(served.requests() - before)} requests, peak ${whole(peakMegabytes)} MB`,
        );
        return seconds;
      };
      const overRpc = await run(`rpc_${round}`, {});
      ratios.push(overRpc / (await run(`archive_${round}`, { ARCHIVE: line ? host.url : archive })));
    }
    console.log(
      `archive against RPC, each round: ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")} times`,
    );
  } finally {
    await served.close();
    await host.close();
  }
}

// All responses share what the line carries in a second; each takes the time of the way there and back too.
function createLine(megabits: number): Line {
  const bytesPerMs = (megabits * 1_000) / 8;
  let freeAt = 0;
  return async (bytes) => {
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + bytes / bytesPerMs;
    await new Promise((resolve) => setTimeout(resolve, freeAt + latencyMs - now));
  };
}

// The files of a folder over HTTP, as any static file host has them.
function serveFolder(folder: string, line: () => Line | undefined) {
  return listen(async (request, response) => {
    const file = await readFile(join(folder, request.url ?? "")).catch(() => undefined);
    await line()?.(file?.length ?? 0);
    response.statusCode = file ? 200 : 404;
    response.end(file);
  });
}

async function record(
  served: ServedHistory,
  environment: Record<string, string>,
  folder: string,
): Promise<void> {
  const config = parseEnvironment(environment, () => "");
  const [chain] = config.chains;
  if (chain === undefined) throw new Error("no chain is configured");
  const { ask, width } = openNodes(chain, { perSecond: 5_000, log: () => {} });
  const started = performance.now();
  const { segments } = await recordChain({
    ...wantedOf(config, chain.name),
    ...{ folder, chainId: chain.id, withReceipts: false, ask, width },
    range: { from: served.firstBlock, to: served.lastBlock },
    progress: () => {},
  });
  const sum = (of: "logs" | "bytes") => segments.reduce((all, one) => all + one[of], 0);
  const seconds = (performance.now() - started) / 1_000;
  console.log(
    `recorded ${whole(sum("logs"))} logs in ${seconds.toFixed(1)} s: ${whole(sum("bytes"))} bytes, ` +
      `${(sum("bytes") / sum("logs")).toFixed(1)} a log, ${segments.length} segments`,
  );
}
