import type { Registry } from "prom-client";
import type { BlockRef } from "../../ponder/checkpoints.ts";
import type { Database } from "../database/client.ts";
import { type ChainSnapshot, indexedBlockOf, type Snapshot } from "../status/snapshot.ts";

/** Where a chain is: its state, first, last and target block, seconds behind `now` (Unix seconds), and percent. */
export function chainProgress(chain: ChainSnapshot | undefined, now: number) {
  const state = chain?.chainStatus.replace("chain-", "") ?? "unknown";
  const indexed = indexedBlockOf(chain);
  const target = chain && targetOf(chain);
  const start = chain?.config.startBlock;
  const isDone = chain?.chainStatus === "chain-completed";
  const behind = indexed && !isDone ? Math.max(0, now - indexed.timestamp) : undefined;
  // Rounded down, so that 100 % means all.
  const all = start && target ? target.number - start.number + 1 : undefined;
  const done = start && indexed ? indexed.number - start.number + 1 : 0;
  const percent = all === undefined ? 0 : Math.floor((10_000 * Math.min(all, done)) / all) / 100;
  return { state, start, indexed, target, behind, percent };
}

// The block that the chain is being indexed up to; undefined while that is not known.
function targetOf(chain: ChainSnapshot): BlockRef | undefined {
  if (chain.config.configType === "definite") return chain.config.endBlock;
  if (chain.chainStatus === "chain-backfill") return chain.backfillEndBlock;
  return chain.chainStatus === "chain-following" ? chain.latestKnownBlock : undefined;
}

/** Blocks of all chains that are indexed, and those ahead. */
export type Work = { done: number; ahead: number };

/** The work of a backfill, in blocks. */
export function workOfAll({ omnichainSnapshot }: Snapshot): Work {
  const works = Object.values(omnichainSnapshot.chains).map((chain): Work => {
    const start = chain.config.startBlock.number;
    const indexed = indexedBlockOf(chain)?.number ?? start - 1;
    const target = targetOf(chain)?.number ?? indexed;
    return { done: indexed - start + 1, ahead: Math.max(0, target - indexed) };
  });
  const sum = (of: keyof Work) => works.reduce((total, work) => total + work[of], 0);
  return { done: sum("done"), ahead: sum("ahead") };
}

/** What was counted at a moment (milliseconds). */
export type Sample = { at: number; events: number; fetched: number; work: Work };

/** What was done a second over the last samples; undefined before the second one. */
export function rateOf(samples: readonly Sample[]) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return undefined;
  const seconds = (last.at - first.at) / 1_000;
  const rate = (from: number, to: number) => Math.max(0, to - from) / seconds;
  return {
    seconds,
    events: rate(first.events, last.events),
    fetchedBlocks: rate(first.fetched, last.fetched),
    work: rate(first.work.done, last.work.done),
  };
}

/** Seconds to the end of the backfill at the present rate, by blocks; undefined where that says nothing. */
export function expectedEnd(work: Work | undefined, rate: ReturnType<typeof rateOf>) {
  if (work === undefined || rate === undefined || rate.work === 0) return undefined;
  return { seconds: work.ahead / rate.work, by: "blocks" };
}

type Value = { value: number; labels: Record<string, string | number>; metricName?: string };

/** Requests to a chain's nodes by one method. `units`: compute units of the answered ones. */
export type Requests = { chain: string; method: string; answered: number; failed: number; units: number };

/** What the indexing process has counted since it started. A reader counts nothing of it. */
export type Counts = Awaited<ReturnType<typeof readCounts>>;

// Compute units of a request as Alchemy lists them; docs/operations.md has the source.
const unitsOf: Record<string, number> = { eth_chainId: 0, eth_getLogs: 60, eth_call: 26 };
const otherUnits = 20;

/** Reads the counts from the metrics of this process. */
export async function readCounts(registry: Registry | undefined) {
  const values = async (metric: string) =>
    ((await registry?.getSingleMetric(metric)?.get())?.values ?? []) as Value[];
  const sum = async (...metrics: string[]) => {
    const all = await Promise.all(metrics.map(values));
    return all.flat().reduce((total, { value }) => total + value, 0);
  };
  const labels = await Promise.all(
    ["healed", "unknown", "cache_hits", "outages", "waiting"].map((name) => sum(`nsindex_labels_${name}`)),
  );
  const [healed = 0, unknown = 0, cached = 0, outages = 0, waiting = 0] = labels;
  const historical = (name: string) => `ponder_historical_${name}`;
  return {
    events: await sum("ponder_indexing_completed_events"),
    reorganizations: await sum("ponder_realtime_reorg_total"),
    /** Blocks of the backfill: all, and those that are there. */
    blocks: {
      all: await sum(historical("total_blocks")),
      fetched: await sum(historical("cached_blocks"), historical("completed_blocks")),
    },
    requests: requestsIn(
      (await values("ponder_rpc_request_duration")).filter(({ metricName }) =>
        metricName?.endsWith("_count"),
      ),
      await values("ponder_rpc_request_error_total"),
    ),
    anomalies: (await values("nsindex_anomalies_total")).map(({ labels, value }) => ({
      kind: String(labels["anomaly"]),
      count: value,
    })),
    labels: { healed, unknown, cached, outages, waiting },
  };
}

function requestsIn(answered: readonly Value[], failed: readonly Value[]): Requests[] {
  const found = new Map<string, Requests>();
  const add = ({ labels, value }: Value, member: "answered" | "failed") => {
    const [chain, method] = [String(labels["chain"]), String(labels["method"])];
    const key = `${chain} ${method}`;
    const entry = found.get(key) ?? { chain, method, answered: 0, failed: 0, units: 0 };
    entry[member] += value;
    found.set(key, entry);
  };
  for (const value of answered) add(value, "answered");
  for (const value of failed) add(value, "failed");
  return [...found.values()]
    .map((entry) => ({ ...entry, units: entry.answered * (unitsOf[entry.method] ?? otherUnits) }))
    .sort((a, b) => a.chain.localeCompare(b.chain) || b.answered - a.answered);
}

/** Bytes of the database, of one schema and of the RPC cache. */
export type DatabaseSize = { database: number; schema: number | null; cache: number | null };

const sizeOf = (schema: string) => `(SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = ${schema})`;
const sizeSql = `SELECT json_build_object('database', pg_database_size(current_database()), 'schema', ${sizeOf("$1")},
  'cache', ${sizeOf("'ponder_sync'")})::text`;

/** How large the database is. */
export async function readSize(
  database: Database,
  schema: string,
  signal: AbortSignal,
): Promise<DatabaseSize> {
  const [text] = await database.row(sizeSql, [schema], signal);
  return JSON.parse(text ?? "null");
}
