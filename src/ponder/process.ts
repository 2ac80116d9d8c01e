import type { Registry } from "prom-client";
import type { Log } from "../log/json-log.ts";
import { membersOfPonder } from "./expected.ts";
import { inTransaction, type Pool, type Statement, slowConnections } from "./sql-client.ts";

type Gauge = { get(): Promise<{ values: { value: number; labels: Record<string, unknown> }[] }> };

const figures = {
  historicalTotalBlocks: "ponder_historical_total_blocks",
  historicalTotalSeconds: "ponder_historical_total_indexing_seconds",
  syncBlock: "ponder_sync_block",
  syncBlockTimestamp: "ponder_sync_block_timestamp",
  isRealtime: "ponder_sync_is_realtime",
  isComplete: "ponder_sync_is_complete",
} as const;
type MetricName = (typeof figures)[keyof typeof figures];

type Common = {
  logger: Record<"info" | "warn" | "error", (line: { msg: string }) => void>;
  metrics: { registry: Registry };
};
type Stoppable = { add: (stop: () => void) => void };
// ponder: it sets these before it loads the API, PONDER_COMMON before our first file.
type Globals = {
  PONDER_COMMON: Common & {
    options: { command: string };
    metrics: Record<MetricName, Gauge>;
    shutdown: Stoppable;
    apiShutdown: Stoppable;
  };
  PONDER_NAMESPACE_BUILD: { schema: string };
  PONDER_INDEXING_BUILD: { chains: { id: number; name: string }[] };
  PONDER_DATABASE: { driver: { admin: Pool & { query: Statement } } };
};
const ofCommon = ["logger.info", "logger.warn", "logger.error", "metrics.registry"];
const ofGlobals = [
  ...["options.command", "shutdown.add", "apiShutdown.add"].map((path) => `PONDER_COMMON.${path}`),
  ...Object.values(figures).map((name) => `PONDER_COMMON.metrics.${name}.get`),
  ...["PONDER_NAMESPACE_BUILD.schema", "PONDER_INDEXING_BUILD.chains", "PONDER_DATABASE.driver.admin"],
];

type PooledClient = { query: Statement; release(error?: boolean): void };

type Flag = "isRealtime" | "isComplete";

/** Ponder's sync metrics of a chain; a number is absent until Ponder sets it. */
export type SyncMetrics = Record<Flag, boolean> &
  Partial<Record<Exclude<keyof typeof figures, Flag>, number | undefined>>;

/** What the API knows about the Ponder process it runs in. */
export type PonderProcess = ReturnType<typeof ponderProcess>;

/** The Ponder process that `scope`, the global object, describes. Throws PonderDiffersError. */
export function ponderProcess(scope: unknown) {
  const { PONDER_COMMON, PONDER_NAMESPACE_BUILD, PONDER_INDEXING_BUILD, PONDER_DATABASE } =
    membersOfPonder<Globals>(scope, "the global object", ...ofGlobals);
  const { metrics, options } = PONDER_COMMON;
  const { chains } = PONDER_INDEXING_BUILD;
  const { admin } = PONDER_DATABASE.driver;
  const inOwnTransaction = async <T>(work: (run: Statement) => Promise<T>): Promise<T> => {
    const client = (await admin.connect()) as unknown as PooledClient;
    const run: Statement = (text, values) => client.query(text, values);
    let isLost = true;
    try {
      const result = await inTransaction(run, () => work(run));
      isLost = false;
      return result;
    } finally {
      client.release(isLost);
    }
  };
  const names = new Map(chains.map(({ id, name }) => [id, name]));
  let slow: { query: Statement } | undefined;
  const write: Statement = (text, values) => admin.query(text, values);
  // For statements that may take hours: at most three at a time, on connections of their own.
  const writeSlowly: Statement = (text, values) => {
    slow ??= slowConnections(admin);
    return slow.query(text, values);
  };
  return {
    /** False under `ponder serve`, where another process indexes. */
    isIndexer: options.command !== "serve",
    schema: PONDER_NAMESPACE_BUILD.schema,
    /** A chain's value in a record that Ponder keys by chain name, such as its clients. */
    ofChain: <T>(byName: Readonly<Record<string, T>>, chainId: number): T | undefined =>
      byName[names.get(chainId) ?? ""],
    /** Current sync metrics by chain id. */
    readMetrics: () => readSyncMetrics(metrics, chains),
    write,
    writeSlowly,
    inOwnTransaction,
    /** Calls `stop` when the process ends and when `ponder dev` reloads the API. */
    onStop: (stop: () => void) => {
      PONDER_COMMON.shutdown.add(stop);
      PONDER_COMMON.apiShutdown.add(stop);
    },
  };
}

/** Ponder's logger, with the operator's level and format; undefined outside of Ponder. Throws PonderDiffersError. */
export function ponderLogger(scope: object = globalThis) {
  return findCommon(scope)?.logger;
}

/** The metrics that Ponder serves at /metrics; undefined outside of Ponder. Throws PonderDiffersError. */
export function metricsRegistry(scope: object = globalThis): Registry | undefined {
  return findCommon(scope)?.metrics.registry;
}

const metricsAgeMs = 1_000;

/**
 * Caches the text of /metrics for a second. ponder: it renders the text for each request, and anybody can send
 * hundreds.
 */
export function shareMetricsText(registry: Pick<Registry, "metrics">, now: () => number): void {
  const write = registry.metrics.bind(registry);
  let kept: { text: Promise<string>; until: number } | undefined;
  registry.metrics = () => {
    if (kept === undefined || now() >= kept.until) kept = { text: write(), until: now() + metricsAgeMs };
    return kept.text;
  };
}

/** A metric's counts by the value of its only label; undefined if it does not exist or has counted nothing. */
export async function readMetricCounts(
  metric: string,
  label: string,
): Promise<Record<string, number> | undefined> {
  const { values } = (await metricsRegistry()?.getSingleMetric(metric)?.get()) ?? { values: [] };
  const counts = values.flatMap(({ labels, value }) => {
    const kind = labels[label];
    return typeof kind === "string" ? [[kind, value] as const] : [];
  });
  return counts.length === 0 ? undefined : Object.fromEntries(counts);
}

function findCommon(scope: object) {
  if (!("PONDER_COMMON" in scope)) return undefined;
  return membersOfPonder<Common>(scope.PONDER_COMMON, "PONDER_COMMON", ...ofCommon);
}

async function readSyncMetrics(
  gauges: Record<MetricName, Gauge>,
  chains: readonly { id: number; name: string }[],
): Promise<ReadonlyMap<number, SyncMetrics>> {
  const read = async ([figure, gauge]: [string, MetricName]) => {
    const { values } = await gauges[gauge].get();
    return [figure, new Map(values.map(({ value, labels }) => [labels["chain"], value]))] as const;
  };
  const all = await Promise.all(Object.entries(figures).map(read));
  const ofChain = (name: string) => {
    const found = Object.fromEntries(all.map(([figure, byChain]) => [figure, byChain.get(name)]));
    const { isRealtime, isComplete, ...numbers } = found;
    return { ...numbers, isRealtime: isRealtime === 1, isComplete: isComplete === 1 };
  };
  return new Map(chains.map(({ id, name }) => [id, ofChain(name)]));
}

/** The log of this process: Ponder's, with the operator's level and format, or standard error outside of Ponder. */
export function processLog(): Log {
  const ponder = ponderLogger();
  return (level, message, fields) => {
    if (ponder) ponder[level]({ msg: message, ...fields });
    else console.error(JSON.stringify({ level, msg: message, ...fields }));
  };
}

/** Maps source positions only for stacks with a file of this project, not for those of connections that clients end. */
export function mapOwnStacksOnly(errors: Partial<Pick<ErrorConstructor, "prepareStackTrace">> = Error): void {
  // ponder: its loader maps every frame, which takes longer than most requests.
  const { prepareStackTrace } = errors;
  if (prepareStackTrace === undefined) return;
  const isForeign = (frame: NodeJS.CallSite) => /^node:|node_modules/.test(frame.getFileName() ?? "node:");
  errors.prepareStackTrace = (error, frames) =>
    frames.every(isForeign)
      ? [`${error.name}: ${error.message}`, ...frames].join("\n    at ")
      : prepareStackTrace(error, frames);
}
