import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DemoChains, goLive, openChains } from "../../devnet/demo/chains.ts";
import {
  type DemoServices,
  startIndex,
  startLabelService,
  writeDemoLabels,
} from "../../devnet/demo/services.ts";
import { waitWhileRunning } from "../../devnet/indexing-service.ts";
import { freePort } from "../../devnet/ports.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { startBenchPostgres } from "../world.ts";
import { longLabelLengths } from "./attacks/labels.ts";
import { type AddedRows, addRows } from "./rows.ts";

const schema = "hostile";

/** Both services as a user starts them, and what they depend on. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/**
 * Starts Postgres, the live chains of the demo, the label service and the indexing service with all plugins, and adds rows to
 * the finished index.
 */
export async function startWorld(rows: AddedRows) {
  const folder = mkdtempSync(join(tmpdir(), "bench-hostile-"));
  const postgres = await startBenchPostgres();
  const chains = await openChains.everything();
  const [port, labelsPort] = [await freePort(), await freePort()];
  const options = { folder, port, labelsPort, environment: process.env };

  writeDemoLabels(
    folder,
    longLabelLengths.map((length) => "x".repeat(length)),
  );
  goLive(chains);
  const services = await startServices(options, chains, postgres.url);
  await addRows({ url: postgres.url, schema }, rows);
  const pidOfIndex = async () => (await childrenOf(services.index.pid))[0];
  return {
    port,
    labelsPort,
    schema,
    postgres,
    /** The process of the indexing service; undefined while there is none. */
    pidOfIndex,
    lastLines: () => services.index.lastLines(30),
    async close() {
      const pid = await pidOfIndex();
      await services.index.stop("SIGINT", { patienceMs: 15_000 });
      await services.labels.stop("SIGTERM");
      // It has its own process group, and may be too busy to notice that its launcher has exited.
      if (pid !== undefined && existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
      await Promise.all(chains.map(({ node }) => node.close()));
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function startServices(services: DemoServices, chains: DemoChains, databaseUrl: string) {
  const labels = startLabelService(services);
  const settings = { DATABASE_URL: databaseUrl, DATABASE_SCHEMA: schema };
  const index = startIndex(services, { chains, world: "everything", settings });
  for (const port of [services.labelsPort, services.port]) {
    const look = async () => {
      const { status } = await fetch(`http://127.0.0.1:${port}/ready`, {
        signal: AbortSignal.timeout(5_000),
      });
      return status === 200 ? { done: true } : { state: `it answers ${status}` };
    };
    const limits = { timeoutMs: 240_000, everyMs: 250 };
    await waitWhileRunning([labels, index], `/ready on port ${port}`, look, limits);
  }
  return { labels, index };
}
