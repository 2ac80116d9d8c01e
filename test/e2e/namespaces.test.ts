import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { freePort } from "../../devnet/ports.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { WaitError, waitFor } from "../../devnet/wait.ts";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database-writer.ts";
import { serveEmptyChains } from "../support/empty-chains.ts";

// Configuration, build and start with every plugin that a public network has, without the network.

const root = fileURLToPath(new URL("../..", import.meta.url));
const lastTimestamp = 1_768_000_000;
const heights: Record<number, number> = {
  1: 25_000_000,
  8453: 42_000_000,
  59144: 27_000_000,
  10: 147_000_000,
  42161: 420_000_000,
  534352: 28_000_000,
  11155111: 10_200_000,
  84532: 37_000_000,
  59141: 23_000_000,
  11155420: 39_000_000,
  421614: 237_000_000,
  534351: 17_000_000,
};

let service: ServiceProcess | undefined;
let chains: Awaited<ReturnType<typeof serveEmptyChains>> | undefined;
let folder: string | undefined;
afterEach(async () => {
  await service?.stop("SIGINT");
  await chains?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

type Status = {
  realtimeProjection: { snapshot: { omnichainSnapshot: { chains: Record<string, unknown> } } };
};

test.each([
  [
    "mainnet",
    [1, 8453, 59144, 10, 42161, 534352],
    ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration", "registrars", "tokenscope"],
  ],
  [
    "sepolia",
    [11155111, 84532, 59141, 11155420, 421614, 534351],
    ["subgraph", "basenames", "lineanames", "protocol-acceleration", "registrars", "tokenscope"],
  ],
])("%s starts with all of its plugins", async (namespace, chainIds, plugins) => {
  folder = mkdtempSync(join(tmpdir(), "name-index-"));
  const labels = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(labels, "subgraph");
  writer.add(batchOf(["eth"]));
  writer.finish(new Date());
  const served = await serveEmptyChains(heights, lastTimestamp);
  chains = served;
  const port = await freePort();
  const started = startServiceProcess({
    name: "indexing service",
    args: [join(root, "scripts/ponder.ts"), "start"],
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      NAMESPACE: namespace,
      LABELS_URL: `file:${labels}`,
      PGLITE_DIRECTORY: join(folder, "pglite"),
      ...Object.fromEntries(chainIds.map((id) => [`RPC_URL_${id}`, served.url(id)])),
      PORT: String(port),
    },
  });
  service = started;
  const status = await waitFor(
    "the indexing status",
    async () => {
      if (started.ending()) throw new WaitError(started.lastLines(30).join("\n"));
      const response = await fetch(`http://127.0.0.1:${port}/api/indexing-status`);
      if (response.status === 200) return { done: (await response.json()) as Status };
      return { state: `HTTP ${response.status}` };
    },
    { timeoutMs: 110_000 },
  );
  expect(Object.keys(status.realtimeProjection.snapshot.omnichainSnapshot.chains).map(Number)).toEqual(
    chainIds.toSorted((a, b) => a - b),
  );
  const config = await (await fetch(`http://127.0.0.1:${port}/api/config`)).json();
  expect(config).toMatchObject({ namespace, plugins, indexedChainIds: chainIds });
  expect(await (await fetch(`http://127.0.0.1:${port}/api/registrar-actions`)).json()).toMatchObject({
    responseCode: "error",
    error: { message: "The index is not complete yet." },
  });
});
