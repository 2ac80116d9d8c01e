import type { Config } from "../src/config/environment.ts";
import { contractSources, logFilters } from "../src/config/sources.ts";
import { escapeControlsOfLines } from "../src/log/json-log.ts";
import { nameUrl } from "./checks/nodes.ts";
import { createProgram, loadConfig, print, runProgram } from "./command.ts";
import { listSecrets, redact } from "./log-lines.ts";
import { countLogs, type Estimate, estimate, type Facts, type Span } from "./plan/estimate.ts";
import { measureDisk, measureProcessor, measureUrl } from "./plan/measure.ts";
import { readSoFar, type SoFar } from "./plan/so-far.ts";
import { PreflightError } from "./refusal.ts";

const plan = createProgram(
  "plan",
  "Says before a start how long an index takes, what it costs and how much disk it needs, from an archive, from a portal or over RPC alone. Measures processor, disk and RPC URLs for some seconds. If the index exists, also says what it has taken so far. Changes nothing.",
)
  .option("--json", "the same as JSON")
  .action((asked) => print(planIndex(asked)));

// Mainnet to late 2026, from the first block of ENS: used where no URL responds.
const blocksOfMainnet = 20_700_000;

async function planIndex({ json }: { json?: true }): Promise<string> {
  const config = loadConfig();
  const count = countLogs(config);
  if (count === undefined)
    throw new PreflightError(
      `The number of logs of NAMESPACE=${config.namespace} is not known. Set NAMESPACE=mainnet, sepolia or sepolia-v2.`,
    );
  const processor = measureProcessor();
  const disk = config.databaseFolder === undefined ? undefined : await measureDisk(config.databaseFolder);
  const urls: MeasuredUrl[] = [];
  for (const { id, name, rpc } of config.chains)
    for (const [index, url] of rpc.http.entries()) {
      const measured = await measureUrl(url, name, config).catch((error: Error) => error.message);
      urls.push({ id, name: nameUrl(id, rpc.http, index), measured });
    }
  const portalMilliseconds = await measurePortal(config.portal.url);
  const facts = {
    ...config,
    ...{ processor, hasLabelsFile: config.labelsUrl.startsWith("file:") },
    ...{ diskBytesPerSecond: disk?.bytesPerSecond, ...combineUrls(urls, config) },
  };
  const estimated = estimate(facts, count);
  const soFar = await readSoFar(config);
  const measured = { processor, disk, urls, portalMilliseconds };
  const text = json
    ? JSON.stringify({ source: count.source, measured, ...estimated, soFar }, null, 2)
    : formatPlan({ config, facts, source: count.source, measured, estimated, soFar });
  return escapeControlsOfLines(redact(text, listSecrets(config)));
}

type MeasuredUrl = { id: number; name: string; measured: Awaited<ReturnType<typeof measureUrl>> | string };

/** The blocks of all chains, and the rate and range of their slowest URLs. */
function combineUrls(urls: readonly MeasuredUrl[], config: Config) {
  const sources = Object.values(contractSources(config));
  const ofChains = config.chains.map(({ id, name }) => {
    const own = urls.flatMap((url) =>
      url.id === id && typeof url.measured === "object" ? url.measured : [],
    );
    const { filters, first } = logFilters(sources, name);
    const head = Math.max(...own.map((one) => one.head));
    const last = Math.min(head, config.blockRange.endBlock ?? head);
    const blocks = own.length === 0 ? blocksOfMainnet : Math.max(0, last - first);
    const ranges = own.flatMap(({ largestRange }) => largestRange ?? []);
    return {
      blocks: blocks * filters.length,
      perSecond: own.length === 0 ? undefined : own.reduce((sum, one) => sum + one.perSecond, 0),
      range: ranges.length === 0 ? undefined : Math.max(...ranges),
    };
  });
  const least = (values: (number | undefined)[]) =>
    values.includes(undefined) ? undefined : Math.min(...values.map(Number));
  return {
    blocks: ofChains.reduce((sum, { blocks }) => sum + blocks, 0),
    rpcPerSecond: least(ofChains.map(({ perSecond }) => perSecond)),
    largestRange: least(ofChains.map(({ range }) => range)),
  };
}

async function measurePortal(url: string): Promise<number | undefined> {
  const start = performance.now();
  const signal = AbortSignal.timeout(5_000);
  const response = await fetch(`${url}/datasets`, { signal }).catch(() => undefined);
  await response?.body?.cancel();
  return response?.ok ? performance.now() - start : undefined;
}

// --- Text ---

/** A number with two digits: "about" is all that it claims. */
function round(value: number): string {
  const [by, unit] = value >= 995_000 ? [1e6, " M"] : [1, ""];
  return `${Number((value / by).toPrecision(2)).toLocaleString("en")}${unit}`;
}

/** A span as text; one number if both ends look the same. */
export function formatSpan([low, high]: Span): string {
  const [from, to] = [round(low), round(high)];
  return from === to ? from : `${from} to ${to}`;
}

type Shown = {
  config: Config;
  facts: Facts;
  source: string;
  measured: {
    processor: number;
    disk: Awaited<ReturnType<typeof measureDisk>> | undefined;
    urls: readonly MeasuredUrl[];
    portalMilliseconds: number | undefined;
  };
  estimated: Estimate;
  soFar: SoFar | undefined;
};

function formatPlan({ config, facts, source, measured, estimated, soFar }: Shown): string {
  const { disk, hours, requests, memoryGigabytes } = estimated;
  const process = soFar?.process;
  const rows: [string, Span, string, (number | undefined)?][] = [
    ["logs", estimated.logs, "", process?.events],
    ["blocks with logs", estimated.blocks, ""],
    ["hours, archive fetched", hours.fetched, "h", process?.hours],
    ["hours, archive recorded from a portal", hours.recorded, "h", process?.hours],
    ["hours, JSON-RPC alone", hours.rpc, "h", process?.hours],
    ["requests for logs, JSON-RPC alone", requests.logs, ""],
    ["requests for blocks, JSON-RPC alone", requests.blocks, "", process?.requests],
    ["received, JSON-RPC alone", estimated.receivedGigabytes, "GB"],
    ["disk, index", disk.index, "GB", soFar?.indexGigabytes],
    ["disk, RPC cache", disk.cache, "GB", soFar?.cacheGigabytes],
    ["disk, archive", disk.archive, "GB"],
    ["disk, labels (twice that during the import)", disk.labels, "GB"],
    ["memory of the process", [memoryGigabytes, memoryGigabytes], "GB"],
  ];
  const table = rows.map(([name, span, unit, now]) => {
    const so = now === undefined ? "" : `so far ${round(now)} ${unit}`;
    return `  ${name.padEnd(45)}${`${formatSpan(span)} ${unit}`.padEnd(24)}${so}`.trimEnd();
  });
  return [
    `${config.namespace}, plugins ${config.plugins.join(", ")}: all figures are "about".`,
    `  logs counted by: ${source}`,
    "Measured:",
    ...describeMeasured(measured).map((line) => `  ${line}`),
    "Estimated:",
    ...table,
    "JSON-RPC alone at a provider, by prices of November 2026:",
    ...estimated.prices.map(({ name, note, low, high }) => {
      const dollars = low.dollars === undefined ? "" : `, $${formatSpan([low.dollars, high.dollars ?? 0])}`;
      const days = low.days === undefined ? "" : `, ${formatSpan([low.days, high.days ?? 0])} days`;
      return `  ${name.padEnd(12)}${formatSpan([low.units, high.units])} units${dollars}${days} (${note})`;
    }),
    ...describeShare(config, measured.urls, soFar),
    "To halve it:",
    ...listAdvice(facts, measured.disk?.freeBytes, estimated).map((line) => `  ${line}`),
  ].join("\n");
}

function describeMeasured({ processor, disk, urls, portalMilliseconds }: Shown["measured"]): string[] {
  const ofUrls = urls.map(({ name, measured }) => {
    if (typeof measured === "string") return `${name}: ${measured}`;
    const { latency, perSecond, largestRange, lack } = measured;
    const range = largestRange === undefined ? "no logs" : `logs of ${round(largestRange)} blocks`;
    const history = lack === undefined ? "old blocks are there" : `it lacks old blocks: ${lack}`;
    return `${name}: ${round(latency)} ms, ${round(perSecond)} blocks/s, ${range}, ${history}`;
  });
  return [
    `processor: ${round(processor)} of the speed of docs/performance.md`,
    disk === undefined
      ? "disk: the database is elsewhere"
      : `disk: ${round(disk.bytesPerSecond / 1e6)} MB/s, ${round(disk.fsyncMilliseconds)} ms a write to disk, ${round(disk.freeBytes / 1e9)} GB free`,
    ...ofUrls,
    portalMilliseconds === undefined
      ? "portal: not reachable from here"
      : `portal: ${round(portalMilliseconds)} ms`,
  ];
}

function describeShare(config: Config, urls: readonly MeasuredUrl[], soFar: SoFar | undefined): string[] {
  if (soFar === undefined) return [];
  const shares = config.chains.flatMap(({ id, name }) => {
    const measured = urls.find((url) => url.id === id)?.measured;
    const head = soFar.heads[id];
    if (typeof measured !== "object" || head === undefined) return [];
    const share = (head - measured.first) / Math.max(1, measured.head - measured.first);
    return [`${name} ${round(Math.max(0, share) * 100)} %`];
  });
  return shares.length === 0 ? [] : [`Blocks indexed so far: ${shares.join(", ")}`];
}

/** What shortens or shrinks an index, the most effective first. */
function listAdvice(facts: Facts, freeBytes: number | undefined, { disk, hours }: Estimate): string[] {
  const gigabytes = disk.index[1] + disk.cache[1] + disk.archive[1] + 2 * disk.labels[1];
  const advice: (string | false)[] = [
    freeBytes !== undefined &&
      freeBytes < gigabytes * 1e9 &&
      `Provide ${round(gigabytes)} GB of disk: ${round(freeBytes / 1e9)} GB are free.`,
    hours.rpc[1] > 2 * hours.fetched[1] &&
      "Fetch an archive (npm run archive -- fetch) instead of asking the RPC URLs for each block.",
    hours.rpc[1] > 2 * hours.recorded[1] &&
      "Without an archive to fetch, record one from a portal (npm run archive -- record --from portal).",
    facts.needsProofs && "RPC_VERIFY=receipts takes three requests for a block instead of one.",
    facts.plugins.includes("subgraph") &&
      facts.plugins.length > 1 &&
      "PLUGINS=subgraph alone takes half of the time and of the disk per log.",
    (facts.largestRange ?? 10_000) < 2_000 && "Use a plan or node that accepts logs of 2,000 blocks.",
    facts.processor < 0.7 && "Use a faster processor: indexing takes one core.",
  ];
  return advice.filter((line) => line !== false);
}

await runProgram(plan, import.meta.url);
