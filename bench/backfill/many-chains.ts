import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../devnet/ports.ts";
import { chainName } from "../../src/config/chains.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { namePlugins, pluginSets } from "../plugin-sets.ts";
import type { Databases } from "./databases.ts";
import { type Expected, expectedEvents, requireEvents } from "./expected-events.ts";
import { indexOnce, readMetrics, realRoot } from "./indexing-process.ts";
import { labelsFile } from "./labels-file.ts";
import { makeChains } from "./made-up-chains.ts";
import { serveChains } from "./rpc.ts";
import type { ServedChain } from "./served-chain.ts";
import { sumOfTraffic, type Traffic } from "./traffic.ts";

type Run = {
  seconds: number;
  peakMegabytes: number;
  expected: Expected;
  labels: number;
  traffic: Traffic;
};
type Report = { plugins: string[]; cold: Run; warm: Run[] };

/** What is measured, and where it is stored. */
export type ManyChainsOptions = {
  logs: number;
  rounds: number;
  folder: string;
  database: string;
  databases: Databases;
};

type Environment = Record<string, string>;

/**
 * Indexes six generated chains with each plugin set in turn, and prints the cost of each. Throws if an event was not
 * indexed, if the history contradicts itself, or if a plugin fetched anything twice.
 */
export async function measureManyChains(options: ManyChainsOptions): Promise<void> {
  const { logs, rounds, folder, database, databases } = options;
  const { chains, labels, datasourcesFile } = makeChains(logs);
  const rpc = await serveChains(chains);
  const datasources = join(folder, "datasources.json");
  writeFileSync(datasources, datasourcesFile);
  const environment: Environment = {
    NAMESPACE: "mainnet",
    SUBGRAPH_COMPAT: "false",
    LABELS_URL: labelsFile(folder, labels),
    DATASOURCES_FILE: datasources,
    START_BLOCK: "",
    END_BLOCK: "",
    // A comparison asks for logs again.
    RPC_CROSS_CHECK_PERCENT: "0",
    ...Object.fromEntries(chains.map((chain) => [`RPC_URL_${chain.id}`, rpc.urlOf(chain)])),
  };
  console.log(`${chains.map(sizeOf).join(", ")}; ${database}`);
  try {
    let before: Report | undefined;
    for (const [place, plugins] of pluginSets.entries()) {
      const own = { ...environment, ...(await databases.create(`set${place}`)), PLUGINS: plugins.join(",") };
      const cold = await index(chains, "cold", own);
      const warm: Run[] = [];
      for (let round = 0; round < rounds; round++) warm.push(await index(chains, `warm_${round}`, own));
      const report = { plugins, cold, warm };
      print(report, before);
      requireNothingTwice(report, before);
      before = report;
    }
    const ignored = before?.cold.expected.ignored;
    if (ignored !== 0) throw new Error(`No plugin indexes ${ignored} of the logs.`);
  } finally {
    rpc.close();
    await databases.close();
  }
}

async function index(chains: readonly ServedChain[], name: string, environment: Environment): Promise<Run> {
  const config = parseEnvironment({ ...environment, DATABASE_SCHEMA: "checked" }, (path) =>
    readFileSync(path, "utf8"),
  );
  for (const { traffic } of chains) traffic.reset();
  const port = await freePort();
  const { result, ...costs } = await indexOnce({
    name,
    appRoot: realRoot,
    port,
    environment,
    whenComplete: () => readMetrics(port),
  });
  const indexed = result.by("ponder_indexing_completed_events", "event");
  const expected = expectedEvents(config, chains, new Set(indexed.keys()));
  requireEvents(expected, indexed);
  const anomalies = [...result.by("nsindex_anomalies_total", "anomaly")];
  if (anomalies.length > 0) throw new Error(`The history has contradictions: ${anomalies.join("; ")}`);
  return {
    ...costs,
    expected,
    labels: result.sum("nsindex_labels_healed") + result.sum("nsindex_labels_unknown"),
    traffic: sumOfTraffic(chains.map(({ traffic }) => traffic.read())),
  };
}

function sizeOf({ id, firstBlock, lastBlock, logs }: ServedChain): string {
  const count = logs.reduce((sum, { length }) => sum + length, 0);
  return `${chainName(id)} ${format(count)} logs in ${format(lastBlock - firstBlock + 1)} blocks`;
}

function requireNothingTwice({ plugins, cold }: Report, before: Report | undefined): void {
  const { logs, blocks, calls } = cold.traffic.repeated;
  if (logs + blocks + calls > 0) throw new Error("Something was fetched twice.");
  const addsNames = namePlugins.some((name) => plugins.includes(name) && !before?.plugins.includes(name));
  if (!addsNames && cold.labels !== before?.cold.labels)
    throw new Error("A plugin that stores no names looks up labels.");
}

function print({ plugins, cold, warm }: Report, before: Report | undefined): void {
  const { expected } = cold;
  const events = [...expected.events.values()].reduce((sum, count) => sum + count, 0);
  const run = warm.toSorted((a, b) => a.seconds - b.seconds)[warm.length >> 1];
  const { requests, repeated } = cold.traffic;
  const more = (count: number, former: number | undefined) =>
    `${format(count)}${former === undefined ? "" : ` (${count < former ? "" : "+"}${format(count - former)})`}`;
  const methods = [
    ...new Set([...Object.keys(before?.cold.traffic.requests ?? {}), ...Object.keys(requests)]),
  ];
  const asked = methods.map((method) => {
    const former = before && (before.cold.traffic.requests[method] ?? 0);
    return `${method} ${more(requests[method] ?? 0, former)}`;
  });
  const speed = ({ seconds, peakMegabytes }: Run) =>
    `${format(events / seconds)} events/s, ${format(expected.logs / seconds)} logs/s (${seconds.toFixed(1)} s, peak ${format(peakMegabytes)} MB)`;
  console.log(
    `${plugins.join(",")}
  ${format(expected.logs)} logs, ${format(events)} events${run ? `\n  warm RPC cache: ${speed(run)}, ${format(sumOf(run.traffic.requests))} requests` : ""}
  cold RPC cache: ${speed(cold)}
    requests: ${asked.join(", ")}
    fetched twice: ${repeated.logs} logs, ${repeated.blocks} blocks, ${repeated.calls} calls
  label look-ups: ${more(cold.labels, before?.cold.labels)}`,
  );
}

const sumOf = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);
const format = (value: number) => Math.round(value).toLocaleString("en");
