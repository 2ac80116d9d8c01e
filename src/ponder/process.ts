import type { Registry } from "prom-client";
import { z } from "zod/v4";
import type { Log } from "../log/json-log.ts";
import { expectOfPonder } from "./expected.ts";
import { type Pool, type Statement, slowConnections } from "./sql-client.ts";

type Gauge = { get(): Promise<{ values: { value: number; labels: Record<string, unknown> }[] }> };

/** Runs one SQL text with its values on a connection that may write. */
export type WriteStatement = (text: string, values?: unknown[]) => Promise<unknown>;

function withMethods<T>(...names: string[]) {
  const hasMethods = (value: unknown) =>
    names.every(
      (name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === "function",
    );
  return z.custom<T>(hasMethods, `expected an object with ${names.join("(), ")}()`);
}

const gauge = withMethods<Gauge>("get");
const shutdown = withMethods<{ add: (stop: () => void) => void }>("add");
const connection = withMethods<{ query: Statement }>("query");

// ponder: set before the first file of ours is loaded.
const common = z.object({
  logger: withMethods<Record<"info" | "warn" | "error", (line: { msg: string }) => void>>(
    "info",
    "warn",
    "error",
  ),
  metrics: z.object({ registry: withMethods<Registry>("registerMetric", "removeSingleMetric", "metrics") }),
});

// ponder: set before the API is loaded.
const apiGlobals = z.object({
  PONDER_COMMON: common.extend({
    options: z.object({ command: z.string() }),
    metrics: z.object({
      ponder_historical_total_blocks: gauge,
      ponder_historical_total_indexing_seconds: gauge,
      ponder_sync_block: gauge,
      ponder_sync_block_timestamp: gauge,
      ponder_sync_is_realtime: gauge,
      ponder_sync_is_complete: gauge,
    }),
    shutdown,
    apiShutdown: shutdown,
  }),
  PONDER_NAMESPACE_BUILD: z.object({ schema: z.string() }),
  PONDER_INDEXING_BUILD: z.object({ chains: z.array(z.object({ id: z.number(), name: z.string() })) }),
  PONDER_DATABASE: z.object({
    driver: z.discriminatedUnion("dialect", [
      z.object({ dialect: z.literal("postgres"), admin: withMethods<Pool & { query: Statement }>("query") }),
      z.object({ dialect: z.literal("pglite"), instance: connection }),
    ]),
  }),
});

/** Ponder's metrics of one chain's sync; a number is absent until Ponder has set it. */
export type SyncMetrics = {
  historicalTotalBlocks?: number | undefined;
  historicalTotalSeconds?: number | undefined;
  syncBlock?: number | undefined;
  syncBlockTimestamp?: number | undefined;
  isRealtime: boolean;
  isComplete: boolean;
};

/** What the API may know of the Ponder process it runs in. */
export type PonderProcess = {
  /** False under `ponder serve`, where another process indexes. */
  isIndexer: boolean;
  /** Whether the database is PGlite, which no other process can read. */
  isEmbedded: boolean;
  schema: string;
  /** Picks a chain's value out of those that Ponder keys by chain names, such as its clients. */
  ofChain<T>(byName: Readonly<Record<string, T>>, chainId: number): T | undefined;
  /** Sync figures by chain id, as they are now. */
  readMetrics(): Promise<ReadonlyMap<number, SyncMetrics>>;
  /** Runs SQL with the right to write. */
  write: Statement;
  /** Runs SQL that may take hours, with the right to write: on a server up to three statements at a time, on connections of their own. */
  writeSlowly: Statement;
  /** Calls `stop` when the process ends and when `ponder dev` reloads the API. */
  onStop(stop: () => void): void;
};

/** The process that `scope`, the global object, describes to the API. Throws PonderDiffersError. */
export function ponderProcess(scope: unknown): PonderProcess {
  const { PONDER_COMMON, PONDER_NAMESPACE_BUILD, PONDER_INDEXING_BUILD, PONDER_DATABASE } = expectOfPonder(
    apiGlobals,
    scope,
  );
  const { metrics, options } = PONDER_COMMON;
  const { chains } = PONDER_INDEXING_BUILD;
  const { driver } = PONDER_DATABASE;
  const names = new Map(chains.map(({ id, name }) => [id, name]));
  const writable = driver.dialect === "postgres" ? driver.admin : driver.instance;

  let slow: { query: Statement } | undefined;

  return {
    isIndexer: options.command !== "serve",
    isEmbedded: driver.dialect === "pglite",
    schema: PONDER_NAMESPACE_BUILD.schema,
    ofChain: (byName, chainId) => byName[names.get(chainId) ?? ""],
    readMetrics: () => readSyncMetrics(metrics, chains),
    write: (text, values) => writable.query(text, values),
    writeSlowly: (text, values) => {
      slow ??= driver.dialect === "postgres" ? slowConnections(driver.admin) : driver.instance;
      return slow.query(text, values);
    },
    onStop: (stop) => {
      PONDER_COMMON.shutdown.add(stop);
      PONDER_COMMON.apiShutdown.add(stop);
    },
  };
}

/** Ponder's logger, which has the operator's level and format; undefined outside of Ponder. Throws PonderDiffersError. */
export function ponderLogger(scope: object = globalThis) {
  return commonOf(scope)?.logger;
}

/** The metrics that Ponder shows at /metrics; undefined outside of Ponder. Throws PonderDiffersError. */
export function metricsRegistry(scope: object = globalThis): Registry | undefined {
  return commonOf(scope)?.metrics.registry;
}

const metricsAgeMs = 1_000;

/**
 * Keeps the text of /metrics for a second.
 * ponder: writes it anew for each request, and anybody can send hundreds without reading what comes.
 */
export function shareMetricsText(registry: Pick<Registry, "metrics">, now: () => number): void {
  const write = registry.metrics.bind(registry);
  let kept: { text: Promise<string>; until: number } | undefined;
  registry.metrics = () => {
    if (kept !== undefined && now() < kept.until) return kept.text;
    const text = write();
    kept = { text, until: now() + metricsAgeMs };
    text.catch(() => {
      kept = undefined;
    });
    return text;
  };
}

/** The counts of a metric by the value of its only label; undefined where it is not, or has counted nothing. */
export async function countsOf(metric: string, label: string): Promise<Record<string, number> | undefined> {
  const { values } = (await metricsRegistry()?.getSingleMetric(metric)?.get()) ?? { values: [] };
  const counts = values.flatMap(({ labels, value }) => {
    const kind = labels[label];
    return typeof kind === "string" ? [[kind, value] as const] : [];
  });
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

/** Where an odd event is: enough to find it on any explorer. */
type EventPlace = { chainId: number; transactionHash: string; logIndex: number };

const examplesKey = Symbol.for("nsindex.anomaly-examples");

/** The last events of each kind that a rule skipped or repaired, newest first: the rules write them, the API reads them. */
export function sharedExamples(scope: object = globalThis): Map<string, readonly EventPlace[]> {
  // ponder: loads the indexing functions and the API apart, so that they share no module.
  const shared = scope as { [examplesKey]?: Map<string, readonly EventPlace[]> };
  shared[examplesKey] ??= new Map();
  return shared[examplesKey];
}

const archivesKey = Symbol.for("nsindex.archives");

/** What is said of the archives in front of the RPC URLs, by the name of the chain: they write it, the status page reads it. */
export function sharedArchives(scope: object = globalThis): Map<string, string> {
  const shared = scope as { [archivesKey]?: Map<string, string> };
  shared[archivesKey] ??= new Map();
  return shared[archivesKey];
}

const believedKey = Symbol.for("nsindex.believed");

/** What is believed without proof, by the name of the chain: the checks of RPC answers and archives write it, the status page reads it. */
export function sharedBelieved(scope: object = globalThis): Map<string, Set<string>> {
  const shared = scope as { [believedKey]?: Map<string, Set<string>> };
  shared[believedKey] ??= new Map();
  return shared[believedKey];
}

function commonOf(scope: object) {
  return "PONDER_COMMON" in scope ? expectOfPonder(common, scope.PONDER_COMMON, "PONDER_COMMON") : undefined;
}

type Gauges = z.infer<typeof apiGlobals>["PONDER_COMMON"]["metrics"];

async function readSyncMetrics(
  gauges: Gauges,
  chains: readonly { id: number; name: string }[],
): Promise<ReadonlyMap<number, SyncMetrics>> {
  const totalBlocks = await figures(gauges.ponder_historical_total_blocks);
  const totalSeconds = await figures(gauges.ponder_historical_total_indexing_seconds);
  const syncBlock = await figures(gauges.ponder_sync_block);
  const syncBlockTimestamp = await figures(gauges.ponder_sync_block_timestamp);
  const isRealtime = await figures(gauges.ponder_sync_is_realtime);
  const isComplete = await figures(gauges.ponder_sync_is_complete);
  return new Map(
    chains.map(({ id, name }) => [
      id,
      {
        historicalTotalBlocks: totalBlocks.get(name),
        historicalTotalSeconds: totalSeconds.get(name),
        syncBlock: syncBlock.get(name),
        syncBlockTimestamp: syncBlockTimestamp.get(name),
        isRealtime: isRealtime.get(name) === 1,
        isComplete: isComplete.get(name) === 1,
      },
    ]),
  );
}

async function figures(gauge: Gauge): Promise<ReadonlyMap<unknown, number>> {
  const { values } = await gauge.get();
  return new Map(values.map(({ value, labels }) => [labels["chain"], value]));
}

/** The log of this process: Ponder's where it runs, so that level and format are the operator's, else standard error. */
export function processLog(): Log {
  const ponder = ponderLogger();
  return (level, message, fields) => {
    if (ponder) ponder[level]({ msg: message, ...fields });
    else console.error(JSON.stringify({ level, msg: message, ...fields }));
  };
}

/**
 * Looks up source positions only for stacks with a file of this project. The stacks of connections that clients end, which
 * Node computes for each, lie in Node's own files.
 */
export function mapOwnStacksOnly(errors: Partial<Pick<ErrorConstructor, "prepareStackTrace">> = Error): void {
  // ponder: its loader looks up every frame, which takes longer than most requests.
  const { prepareStackTrace } = errors;
  if (prepareStackTrace === undefined) return;
  errors.prepareStackTrace = (error, frames) =>
    frames.some(isOwnFrame)
      ? prepareStackTrace(error, frames)
      : [`${error.name}: ${error.message}`, ...frames].join("\n    at ");
}

function isOwnFrame(frame: NodeJS.CallSite): boolean {
  const file = frame.getFileName();
  return file !== null && file !== undefined && !file.startsWith("node:") && !file.includes("node_modules");
}
