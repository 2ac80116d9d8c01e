// Backfill of the three included recordings by plugin set: events per second, time in indexing functions, RPC requests
// and label look-ups. Adding a plugin must add events, but no look-ups, and requests only for data that no other plugin
// reads.
//
//   node scripts/with-node.mjs bench/recordings.ts [--rounds 3]      or bench/backfill.ts --recordings [--rounds 3]
//
// Needs a Postgres server's programs (it starts one for the run), or DATABASE_URL. The recordings are small, so fetching
// from the local nodes takes most of the time; the time in indexing functions is reported separately.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startNode } from "../devnet/node.ts";
import { freePort } from "../devnet/ports.ts";
import { chainIds } from "../devnet/recorded-chains.ts";
import { readLabels, readRecording } from "../devnet/recording.ts";
import { startServiceProcess } from "../devnet/service-process.ts";
import { WaitError, waitFor } from "../devnet/wait.ts";
import { batchOf, createLabelDatabase } from "../labels-service/store/database.ts";
import { datasourcesFile, lastBlocks } from "../test/support/recordings.ts";
import { pluginSets } from "./plugin-sets.ts";
import { startBenchPostgres } from "./postgres.ts";

const { values: options } = parseArgs({
  options: { rounds: { type: "string", default: "3" }, recordings: { type: "boolean" } },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "bench-recordings-"));
const folders = { root: "a", base: "a-base", linea: "a-linea" };

const recordings = Object.values(folders).map((name) => join(root, "devnet/recording", name));
const nodes = await Promise.all(recordings.map((path) => startNode({ recording: readRecording(path) })));
const labels = join(folder, "labels.sqlite");
const writer = createLabelDatabase(labels, "subgraph");
writer.add(batchOf(recordings.flatMap(readLabels)));
writer.finish(new Date());
const datasources = join(folder, "datasources.json");
const ranges = Object.entries(lastBlocks).map(([chain, endBlock]) => [chain, { endBlock }]);
writeFileSync(datasources, datasourcesFile(Object.fromEntries(ranges)));
const postgres = process.env["DATABASE_URL"] ? undefined : await startBenchPostgres();

type Run = { seconds: number; events: number; handlerMs: number; labels: number; requests: number };

const requests = () =>
  nodes.flatMap((node) => Object.values(node.counts())).reduce((sum, count) => sum + count, 0);

/** Indexes the recordings once with the plugins, into a new schema. */
async function backfill(schema: string, plugins: readonly string[]): Promise<Run> {
  const port = await freePort();
  const before = requests();
  let seconds = Number.NaN;
  const service = startServiceProcess({
    name: "indexing service",
    args: [join(root, "scripts/ponder.ts"), "start", "--log-format", "json"],
    cwd: folder,
    env: {
      ...process.env,
      NAMESPACE: "ens-test-env",
      PLUGINS: plugins.join(","),
      LABELS_URL: `file:${labels}`,
      DATASOURCES_FILE: datasources,
      DATABASE_URL: process.env["DATABASE_URL"] ?? postgres?.url,
      DATABASE_SCHEMA: schema,
      PORT: String(port),
      ...Object.fromEntries(Object.values(chainIds).map((id, place) => [`RPC_URL_${id}`, nodes[place]?.url])),
    },
    onLine(line) {
      if (!line.includes("Completed backfill indexing across all chains")) return;
      seconds = JSON.parse(line).duration / 1000;
    },
  });
  try {
    await waitFor(
      "the backfill",
      async () => {
        if (service.ending()) throw new WaitError(service.lastLines(20).join("\n"));
        return Number.isNaN(seconds) ? { state: "not complete" } : { done: true };
      },
      { timeoutMs: 300_000 },
    );
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const sumOf = (name: string) =>
      metrics
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
    return {
      seconds,
      events: sumOf("ponder_indexing_completed_events"),
      handlerMs: sumOf("ponder_indexing_function_duration_sum"),
      labels: sumOf("names_labels_healed") + sumOf("names_labels_unknown"),
      requests: requests() - before,
    };
  } finally {
    await service.stop("SIGINT");
  }
}

const format = (value: number) => Math.round(value).toLocaleString("en");
const median = (runs: Run[]) => runs.toSorted((a, b) => a.seconds - b.seconds)[runs.length >> 1];

try {
  // Fills Ponder's cache of calls and traces.
  await backfill("warm", pluginSets.at(-1) ?? []);
  for (const [place, plugins] of pluginSets.entries()) {
    const runs: Run[] = [];
    for (let round = 0; round < Number(options.rounds); round++) {
      runs.push(await backfill(`set_${place}_${round}`, plugins));
    }
    const run = median(runs);
    if (run === undefined) continue;
    console.log(
      `${plugins.join(", ")}\n  ${format(run.events)} events in ${run.seconds.toFixed(1)} s: ${format(run.events / run.seconds)} events/s; ` +
        `${format(run.handlerMs)} ms in indexing functions (${(run.handlerMs / run.events).toFixed(3)} ms an event); ` +
        `${format(run.requests)} RPC requests, ${format(run.labels)} label look-ups`,
    );
  }
} finally {
  await Promise.all(nodes.map((node) => node.close()));
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
