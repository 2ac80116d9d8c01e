import { Hono } from "hono";
import { html } from "hono/html";
import type { Registry } from "prom-client";
import { formatSpan, type Log } from "../../log/json-log.ts";
import type { BlockRef } from "../../ponder/checkpoints.ts";
import type { Shared } from "../../ponder/shared.ts";
import type { HashOf } from "../../read/as-of.ts";
import type { Database } from "../../read/sql/client.ts";
import type { GoLive } from "../../status/go-live.ts";
import { shareReading } from "../../status/shared-reading.ts";
import { findSlowest } from "../../status/snapshot.ts";
import type { StatusSource } from "../../status/status.ts";
import {
  type ChainSnapshot,
  findIndexedBlock,
  headHash,
  isBackfilled,
  type Snapshot,
} from "../../status/types.ts";
import { type ConfigContext, describeHealing } from "../ensnode/config.ts";
import type { Ask } from "../kit/endpoint.ts";
import { lateSeconds, timeOfIndex } from "./age.ts";
import type { PageContext } from "./ask.ts";
import {
  column,
  count,
  facts,
  factsOf,
  folded,
  forms,
  listOf,
  moment,
  note,
  place,
  type ShownColumn,
  section,
  shown,
  type View,
} from "./components.ts";
import { type Frame, type Html, sendPage } from "./frame.ts";
import { shortHex, titleOfChain } from "./words.ts";

// `now` is in Unix seconds, `behind` in seconds.
function measureChainProgress(chain: ChainSnapshot | undefined, now: number) {
  const state = chain?.chainStatus.replace("chain-", "") ?? "unknown";
  const indexed = findIndexedBlock(chain);
  const target = chain && findTarget(chain);
  const start = chain?.config.startBlock;
  const isDone = chain?.chainStatus === "chain-completed";
  const behind = indexed && !isDone ? Math.max(0, now - indexed.timestamp) : undefined;
  // Rounded down, so that 100 % means all.
  const all = start && target ? target.number - start.number + 1 : undefined;
  const done = start && indexed ? indexed.number - start.number + 1 : 0;
  const percent = all === undefined ? 0 : Math.floor((10_000 * Math.min(all, done)) / all) / 100;
  return { state, start, indexed, target, behind, percent };
}

// The block that the chain is being indexed up to; undefined while unknown.
function findTarget(chain: ChainSnapshot): BlockRef | undefined {
  if (chain.config.configType === "definite") return chain.config.endBlock;
  if (chain.chainStatus === "chain-backfill") return chain.backfillEndBlock;
  return chain.chainStatus === "chain-following" ? chain.latestKnownBlock : undefined;
}

// Counts at a moment (milliseconds). `done`, `ahead`: blocks of all chains that are indexed, and those ahead.
type Sample = { at: number; events: number; fetched: number; done: number; ahead: number };

function takeSample(
  at: number,
  { events, blocks }: StatusCounts,
  { omnichainSnapshot: { chains } }: Snapshot,
): Sample {
  const sample = { at, events, fetched: blocks.fetched, done: 0, ahead: 0 };
  for (const chain of Object.values(chains)) {
    const start = chain.config.startBlock.number;
    const indexed = findIndexedBlock(chain)?.number ?? start - 1;
    sample.done += indexed - start + 1;
    sample.ahead += Math.max(0, (findTarget(chain)?.number ?? indexed) - indexed);
  }
  return sample;
}

// Rates per second over the samples, and the seconds left of a backfill; undefined before the second sample.
function measureRate(samples: readonly Sample[]) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return undefined;
  const seconds = (last.at - first.at) / 1_000;
  const rate = (of: "events" | "fetched" | "done") => Math.max(0, last[of] - first[of]) / seconds;
  const left = rate("done") === 0 ? undefined : last.ahead / rate("done");
  return { left, shown: { seconds, events: rate("events"), fetchedBlocks: rate("fetched") } };
}

type MetricValue = { value: number; labels: Record<string, string | number>; metricName?: string };

// Requests to a chain's RPC endpoints by one method. `units`: compute units of the answered ones.
type Requests = { chain: string; method: string; answered: number; failed: number; units: number };

// Compute units of a request, from Alchemy's list (docs/operations.md).
const unitsOf: Record<string, number> = { eth_chainId: 0, eth_getLogs: 60, eth_call: 26 };
const otherUnits = 20;

type StatusCounts = Awaited<ReturnType<typeof readCounts>>;

// Counts since this process started, from its metrics. A reader counts nothing of it.
async function readCounts(registry: Registry | undefined) {
  const values = async (metric: string) =>
    ((await registry?.getSingleMetric(metric)?.get())?.values ?? []) as MetricValue[];
  const sum = async (metric: string) => (await values(metric)).reduce((total, { value }) => total + value, 0);
  const answered = await values("ponder_rpc_request_duration");
  const cached = await sum("ponder_historical_cached_blocks");
  return {
    events: await sum("ponder_indexing_completed_events"),
    reorganizations: await sum("ponder_realtime_reorg_total"),
    /** Blocks of the backfill. */
    blocks: {
      all: await sum("ponder_historical_total_blocks"),
      fetched: cached + (await sum("ponder_historical_completed_blocks")),
    },
    requests: collectRequests({
      answered: answered.filter(({ metricName }) => metricName?.endsWith("_count")),
      failed: await values("ponder_rpc_request_error_total"),
    }),
    anomalies: (await values("nsindex_anomalies_total")).map(({ labels, value }) => ({
      kind: String(labels["anomaly"]),
      count: value,
    })),
    labels: {
      healed: await sum("nsindex_labels_healed"),
      unknown: await sum("nsindex_labels_unknown"),
      cached: await sum("nsindex_labels_cache_hits"),
      outages: await sum("nsindex_labels_outages"),
      waiting: await sum("nsindex_labels_waiting"),
    },
  };
}

function collectRequests(counted: Record<"answered" | "failed", readonly MetricValue[]>): Requests[] {
  const found = new Map<string, Requests>();
  for (const member of ["answered", "failed"] as const) {
    for (const { labels, value } of counted[member]) {
      const [chain, method] = [String(labels["chain"]), String(labels["method"])];
      const key = `${chain} ${method}`;
      const entry = found.get(key) ?? { chain, method, answered: 0, failed: 0, units: 0 };
      entry[member] += value;
      found.set(key, entry);
    }
  }
  return [...found.values()]
    .map((entry) => ({ ...entry, units: entry.answered * (unitsOf[entry.method] ?? otherUnits) }))
    .sort((a, b) => a.chain.localeCompare(b.chain) || b.answered - a.answered);
}

const buildSizeSql = (schema: string) => `(SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = ${schema})`;
const sizeSql = `SELECT json_build_object('schemaBytes', ${buildSizeSql("$1")}, 'cacheBytes', ${buildSizeSql("'ponder_sync'")},
  'databaseBytes', pg_database_size(current_database()))::text`;

type Size = Record<"schemaBytes" | "cacheBytes" | "databaseBytes", number | null>;

async function readSize(database: Database, schema: string, signal: AbortSignal): Promise<Size | null> {
  const [text] = await database.row(sizeSql, [schema], signal);
  return JSON.parse(text ?? "null");
}

// A webhook as this process knows it. `isHeld`: no other index delivers it.
type Webhook = {
  name: string;
  isHeld: boolean;
  lagSeconds: number;
  delivered: number;
  failed: number;
  fault?: string | undefined;
  paused?: { reason: string } | undefined;
};

// An API key as this process knows it, with counts since the start. Units of the current minute, and of each.
type KeyUse = { name: string; requests: number; refused: number; minute: number; budget: number };

/** Sources of the status page. `clock` returns milliseconds. */
export type StatusSources = Pick<Shared, "examples" | "archives" | "believed"> &
  ConfigContext & {
    config: {
      chains: readonly { id: number; name: string; rpc: { http: readonly string[] } }[];
      databaseFolder?: string | undefined;
    };
    status: Pick<StatusSource, "current">;
    database: Database;
    ask: Ask<PageContext>;
    registry: Registry | undefined;
    process: { isIndexer: boolean };
    /** Built indexes for queries; undefined before their turn comes, and in readers. */
    indexes: () => { built: number; total: number } | undefined;
    /** The first block of the root chain, and its time (Unix seconds), that can be read. */
    earliest?: () => Promise<{ number: number; timestamp: number } | undefined>;
    /** How many labels are known, and when that was counted (Unix milliseconds). */
    coverage?: () => Promise<{ at: number; counts: readonly ShownCoverage[] } | undefined>;
    /** Since when ENSv2 registers names: null if it does not yet, undefined if that is not indexed. */
    goLive?: () => GoLive | null | undefined;
    /** How the logs of each chain are checked, in words, by chain id. */
    logChecks?: Readonly<Record<string, string>> | undefined;
    hashOf: HashOf;
    clock: () => number;
    log: Log;
    /** How many streams of events are open. */
    streams: () => number;
    /** The configured webhooks; undefined in readers. */
    hooks: () => readonly Webhook[] | undefined;
    /** The configured API keys; undefined without any. */
    keys?: () => readonly KeyUse[] | undefined;
    /** Calls `stop` when the process ends. */
    onStop: (stop: () => void) => void;
  };

type ShownCoverage = { of: string; names: number; unknown: number };

const sampleMs = 5_000;
const maxSamples = 25;

type StatusFacts = ReturnType<typeof describe>;

// Samples the counts of this process. Returns a reader of what the page shows.
function createStatus(sources: StatusSources) {
  const { config, status, database, registry, clock, log } = sources;
  const samples: Sample[] = [];
  const timer = setInterval(async () => {
    const counts = await readCounts(registry);
    const snapshot = status.current()?.snapshot;
    if (snapshot === undefined) return;
    samples.push(takeSample(clock(), counts, snapshot));
    if (samples.length > maxSamples) samples.shift();
  }, sampleMs).unref();
  sources.onStop(() => clearInterval(timer));
  const reading = <T>(read: (signal: AbortSignal) => Promise<T>, everyMs: number) =>
    shareReading("A part of the status page", read, { everyMs, log });
  const size = reading((signal) => readSize(database, config.databaseSchema, signal), 15_000);

  return async () => {
    const current = status.current();
    const [counts, labels, sized, provenFrom, coverage, earliest] = await Promise.all([
      readCounts(registry),
      sources.labelSource(),
      size(),
      sources.provenFrom?.(),
      sources.coverage?.(),
      sources.earliest?.(),
    ]);
    const indexes = sources.indexes();
    return {
      building: indexes !== undefined && indexes.built < indexes.total ? indexes : undefined,
      snapshot: current?.snapshot,
      stale: current?.stale?.reason,
      counts,
      labels,
      provenFrom,
      coverage,
      earliest,
      rate: measureRate(samples),
      size: sized.value,
      isAway: sized.isAway,
    };
  };
}

type FoundStatus = Awaited<ReturnType<ReturnType<typeof createStatus>>>;

function describe(sources: StatusSources, found: FoundStatus) {
  const { config, versions, examples, archives, believed, process, clock, status, hashOf } = sources;
  const { snapshot, counts, rate, size } = found;
  const now = Math.floor(clock() / 1_000);
  const distance = snapshot && Math.max(0, now - findSlowest(snapshot).time);
  const phase = derivePhase(found);
  const isBackfill = phase === "fetching" || phase === "indexing";
  const chains = config.chains.map(({ id, name }) => {
    const ofChain = measureChainProgress(snapshot?.omnichainSnapshot.chains[id], now);
    const { indexed } = ofChain;
    const hash = indexed && (headHash(status.current()?.blocks?.[id], indexed) ?? hashOf(id, indexed));
    return { ...ofChain, id, name, head: indexed && hash ? { block: indexed.number, hash } : undefined };
  });
  return {
    phase,
    problems: listProblems(found, { phase, isBackfill, distance }, chains),
    distance,
    rate: rate?.shown,
    expectedEnd: isBackfill && rate?.left !== undefined ? { seconds: rate.left, by: "blocks" } : undefined,
    indexes: found.building,
    registrationInEnsv2: sources.goLive?.(),
    events: process.isIndexer ? counts.events : undefined,
    reorganizations: process.isIndexer ? counts.reorganizations : undefined,
    chains,
    keys: sources.keys?.(),
    feed: {
      streams: sources.streams(),
      hooks: sources.hooks()?.map((hook) => buildWebhookFacts(hook, snapshot)),
    },
    anomalies: counts.anomalies.map((one) => ({ ...one, examples: examples.get(one.kind) ?? [] })),
    rpc: process.isIndexer ? counts.requests : undefined,
    labels: describeLabels(sources, found),
    database: {
      kind: config.databaseFolder === undefined ? "Postgres" : "a private Postgres server, for one machine",
      schema: config.databaseSchema,
      ...size,
      earliest: found.earliest && {
        number: found.earliest.number,
        seconds: Math.max(0, clock() / 1_000 - found.earliest.timestamp),
      },
    },
    configuration: {
      namespace: config.namespace,
      mode: config.isSubgraphCompatible ? "subgraph" : "multichain",
      plugins: [...config.plugins],
      ...describeChains(sources),
      archives: archives.size === 0 ? undefined : [...archives].map(([chain, found]) => `${chain}: ${found}`),
      provenByReceipts: found.provenFrom && describeProven(config.chains, found.provenFrom),
      believedWithoutProof: [...believed].flatMap(([chain, what]) =>
        what.size === 0 ? [] : `${chain}: ${[...what].join("; ")}`,
      ),
      version: versions.nsIndexer,
      ponder: versions.indexingFramework,
      node: versions.runtime,
    },
  };
}

function describeLabels({ config, process, clock, ...sources }: StatusSources, found: FoundStatus) {
  const used = found.counts.labels;
  const heals = used.healed + used.unknown;
  const healing = sources.healing?.();
  const hitPercent = heals === 0 ? undefined : Math.round((1_000 * used.healed) / heals) / 10;
  return {
    ...config.labelSet,
    ...found.labels,
    hitPercent,
    asked: process.isIndexer && heals > 0 ? heals : undefined,
    healing: healing && { ...healing, ...describeHealing(healing) },
    coverage: found.coverage && buildCoverageFacts(found.coverage, clock()),
    ...(process.isIndexer ? used : {}),
  };
}

const describeChains = ({ config: { chains }, logChecks }: StatusSources) => ({
  rpcUrls: chains.map(({ name, rpc }) => `${rpc.http.length} of ${name}`),
  logChecks: logChecks && chains.map(({ id, name }) => `${name}: ${logChecks[id]}`),
});

const buildCoverageFacts = (
  { at, counts }: { at: number; counts: readonly ShownCoverage[] },
  now: number,
) => ({
  age: Math.max(0, (now - at) / 1_000),
  counts: counts.map((one) => ({ ...one, percent: (100 * (one.names - one.unknown)) / one.names })),
});

function buildWebhookFacts(hook: Webhook, snapshot: Snapshot | undefined) {
  const { name, isHeld, fault, paused, lagSeconds, delivered, failed } = hook;
  if (!isHeld)
    return { name, state: snapshot && isBackfilled(snapshot) ? "of another index" : "after the backfill" };
  const state = paused ? "paused" : fault ? "failing" : lagSeconds > lateSeconds ? "late" : "following";
  return { name, state, lagSeconds, delivered, failed, reason: paused?.reason ?? fault };
}

const describeProven = (chains: StatusSources["config"]["chains"], from: Readonly<Record<string, number>>) =>
  chains.map(
    ({ id, name }) => `${name}: ${from[id] === undefined ? "no blocks" : `from block ${from[id]} on`}`,
  );

type Phase = keyof typeof phaseTexts;

function derivePhase({ building, snapshot, stale, counts, rate }: FoundStatus): Phase {
  if (snapshot === undefined) return "starting";
  if (stale !== undefined) return "stale";
  if (building !== undefined) return "building-indexes";
  const { omnichainStatus } = snapshot.omnichainSnapshot;
  if (omnichainStatus === "omnichain-following") return "live";
  if (omnichainStatus === "omnichain-completed") return "completed";
  const { blocks } = counts;
  const isIdle = (rate?.shown ?? counts).events === 0;
  return isIdle && blocks.fetched < blocks.all ? "fetching" : "indexing";
}

function listProblems(
  { stale, counts, rate, isAway }: FoundStatus,
  { phase, isBackfill, distance = 0 }: { phase: Phase; isBackfill: boolean; distance: number | undefined },
  chains: readonly { name: string; behind: number | undefined }[],
): string[] {
  const problems = stale === undefined ? [] : [stale];
  if (isAway)
    problems.push("The database does not respond, or is too busy. The figures are from its last response.");
  const { waiting } = counts.labels;
  const { seconds = 0, events, fetchedBlocks } = rate?.shown ?? {};
  if (waiting > 0)
    problems.push(`The label source does not respond. Indexing waits for ${count(waiting)} labels.`);
  else if (isBackfill && events === 0 && fetchedBlocks === 0 && seconds > lateSeconds)
    problems.push(
      "The backfill is stalled: nothing was fetched or indexed for a minute. See the log for the cause.",
    );
  const [slowest] = chains.toSorted((a, b) => (b.behind ?? 0) - (a.behind ?? 0));
  if (phase === "live" && distance > lateSeconds)
    problems.push(
      `The index is ${formatSpan(distance)} behind: ${slowest?.name} is the slowest chain. It has no new blocks, or a slow or silent node or a slow database holds it back. The other chains do not wait for one that pauses.`,
    );
  return problems;
}

const phaseTexts = {
  starting: "Starting",
  stale: "Stale",
  fetching: "Fetching blocks",
  indexing: "Indexing",
  "building-indexes": "Building database indexes",
  live: "Live",
  completed: "Complete",
};

function content(found: StatusFacts, view: View): Html {
  const { phase, problems, distance } = found;
  const behind =
    (phase === "live" || phase === "building-indexes") && distance !== undefined
      ? `, ${formatSpan(distance)} behind now`
      : "";
  const isLate = phase === "live" && (distance ?? 0) > lateSeconds;
  const text = isLate ? "Live, but behind" : phaseTexts[phase];
  const state = isLate ? "late" : problems.length > 0 ? "trouble" : phase;
  return html`<div id="state"><p class="state ${state}"><strong>${text}</strong>${behind}</p>
${problems.map((problem) => html`<p class="problem" role="alert">${shown(problem, 2_000)}</p>`)}${ensv2(view, found)}</div>
${section("Chains", listOf(view, "Chains", { rows: found.chains, columns: chainColumns }))}
${section("Progress", factsOf(view, found, progress))}
${section("Feed of events", feed(view, found.feed))}
${found.keys?.length ? section("API keys", keys(view, found.keys)) : ""}
${section("Anomalies", anomalies(view, found.anomalies))}
${folded("RPC requests", requests(view, found.rpc))}
${folded("Labels", labelFacts(view, found.labels))}
${folded("Database", factsOf(view, found.database, databaseColumns))}
${folded("Configuration", factsOf(view, found.configuration, configuration))}`;
}

// A reader counts no events, and a backfill follows no reorganizations.
const progress: readonly ShownColumn<StatusFacts>[] = [
  column("Events indexed since the start", ({ events }) => events, forms.number),
  column("Events/s", ({ events, rate }) => (events === undefined ? undefined : rate?.events), forms.decimal),
  column("Backfill ends in", ({ expectedEnd }) => expectedEnd?.seconds, forms.span),
  column(
    "Database indexes built (queries are slow until all are)",
    ({ indexes }) => indexes?.built,
    forms.number,
  ),
  column("Database indexes in total", ({ indexes }) => indexes?.total, forms.number),
  column(
    "Reorganizations followed",
    ({ phase, reorganizations }) => (phase === "live" ? reorganizations : undefined),
    forms.number,
  ),
];

const chainColumns: readonly ShownColumn<StatusFacts["chains"][number]>[] = [
  column("Chain", ({ id }) => id, forms.chain),
  column("State", ({ state }) => state, forms.state),
  column("Indexed block", ({ indexed }) => indexed?.number, forms.number),
  column("Target block", ({ target }) => target?.number, forms.number),
  column("Progress", (chain) => chain, forms.percent),
  column("Block age", ({ behind }) => behind, forms.span),
  column("Block hash", ({ head }) => head?.hash, forms.hash),
];

const labelColumns: readonly ShownColumn<StatusFacts["labels"]>[] = [
  column("Label set", ({ labelSetId }) => labelSetId, forms.text),
  column("Label set version", ({ labelSetVersion }) => labelSetVersion, forms.text),
  column("Version at the start of the index", ({ healing }) => healing?.from, forms.text),
  column("Rows without a label checked", ({ healing }) => healing?.asked, forms.number),
  column("Rows healed", ({ healing }) => healing?.healed, forms.number),
  column("Healing", ({ healing }) => healing?.state, forms.text),
  column("Table healed in percent", ({ healing }) => healing?.percent, forms.decimal),
  column("Table ends in", ({ healing }) => healing?.secondsLeft, forms.span),
  column("Age of the counts below", ({ coverage }) => coverage?.age, forms.span),
  column("Software version", ({ version }) => version, forms.text),
  column("Label database schema", ({ schemaVersion }) => schemaVersion, forms.text),
  column("Latest version at the source", (found) => found.highestLabelSetVersion, forms.text),
  column("Labels at the source", ({ recordsCount }) => recordsCount, forms.number),
  column("Labels requested since the start", ({ asked }) => asked, forms.number),
  column("Found at the source", ({ healed }) => healed, forms.number),
  column("Found in percent", ({ hitPercent }) => hitPercent, forms.decimal),
  column("Cache hits", ({ cached }) => cached, forms.number),
  column("Outages", ({ outages }) => outages, forms.number),
  column("Waiting", ({ waiting }) => waiting, forms.number),
];

type CoverageRow = NonNullable<StatusFacts["labels"]["coverage"]>["counts"][number];

const coverageColumns: readonly ShownColumn<CoverageRow>[] = [
  column("Names", (row) => row.of, forms.text),
  column("Number", ({ names }) => names, forms.number),
  column("Unknown labels", ({ unknown }) => unknown, forms.number),
  column("Known in percent", ({ percent }) => percent, forms.decimal),
];

const labelFacts = (view: View, found: StatusFacts["labels"]) => html`${factsOf(view, found, labelColumns)}
<p class="note">Most events carry only the hash of a label. A label is healed when the label source knows the text of its hash; other names are shown as [hash].</p>
${found.coverage && listOf(view, "Known labels", { rows: found.coverage.counts, columns: coverageColumns })}`;

const databaseColumns: readonly ShownColumn<StatusFacts["database"]>[] = [
  column("Kind", ({ kind }) => kind, forms.text),
  column("Schema", ({ schema }) => schema, forms.text),
  column("Size of the schema", ({ schemaBytes }) => schemaBytes, forms.bytes),
  column("Size of the RPC cache", ({ cacheBytes }) => cacheBytes, forms.bytes),
  column("Size of the whole database", ({ databaseBytes }) => databaseBytes, forms.bytes),
  column("History since block", ({ earliest }) => earliest?.number, forms.number),
  column("History reaches back", ({ earliest }) => earliest?.seconds, forms.span),
];

const configuration: readonly ShownColumn<StatusFacts["configuration"]>[] = [
  column("Namespace", ({ namespace }) => namespace, forms.text),
  column("Mode", ({ mode }) => mode, forms.text),
  column("Plugins", ({ plugins }) => plugins, forms.text),
  column("RPC URLs", ({ rpcUrls }) => rpcUrls, forms.text),
  column("Archives", ({ archives }) => archives, forms.text),
  column("Logs checked", ({ logChecks }) => logChecks, forms.text),
  column("Logs proven by receipts", (found) => found.provenByReceipts, forms.text),
  column("Believed without proof", (found) => found.believedWithoutProof, forms.text),
  column("Software version", ({ version }) => version, forms.text),
  column("Ponder", ({ ponder }) => ponder, forms.text),
  column("Node", ({ node }) => node, forms.text),
];

// During the backfill the go-live may be ahead.
function ensv2(view: View, { registrationInEnsv2: since, phase }: StatusFacts): Html | undefined {
  if (since === undefined || phase === "fetching" || phase === "indexing") return undefined;
  if (since === null) return html`<p>ENSv2 does not register names under .eth yet.</p>`;
  const { block, timestamp } = since;
  const at = place(view, { chain: view.frame.chains?.[0] ?? 0, block, transaction: null });
  return html`<p>ENSv2 has registered names under .eth since block ${at}, ${moment(view, timestamp)}.</p>`;
}

const hookColumns: readonly ShownColumn<ReturnType<typeof buildWebhookFacts>>[] = [
  column("Webhook", ({ name }) => name, forms.text),
  column("State", ({ state }) => state, forms.state),
  column("Oldest message waits for", ({ lagSeconds }) => lagSeconds, forms.span),
  column("Delivered", ({ delivered }) => delivered, forms.number),
  column("Failed attempts", ({ failed }) => failed, forms.number),
  column("Reason", ({ reason }) => reason, forms.text),
];

// Open streams and webhooks. `hooks` is undefined in a reader.
function feed(view: View, { hooks, streams }: StatusFacts["feed"]): Html {
  const label = "Webhooks, with counts since the start";
  const list = hooks === undefined ? note("The indexing process sends webhooks.") : undefined;
  return html`${facts([["Open streams of this process", forms.number(streams)]])}
${hooks?.length ? listOf(view, label, { rows: hooks, columns: hookColumns }) : list}`;
}

const keyColumns: readonly ShownColumn<KeyUse>[] = [
  column("Key", ({ name }) => name, forms.text),
  column("Requests", ({ requests }) => requests, forms.number),
  column("Refused", ({ refused }) => refused, forms.number),
  column("Units this minute", ({ minute }) => minute, forms.number),
  column("Budget per minute", ({ budget }) => budget, forms.number),
];

const keys = (view: View, rows: readonly KeyUse[]) =>
  listOf(view, "API keys, with counts since the start of this process", { rows, columns: keyColumns });

type AnomalyFacts = StatusFacts["anomalies"][number];

const listExamples = ({ examples }: AnomalyFacts) =>
  examples.map(
    (one) => `${titleOfChain(one.chainId)}, log ${one.logIndex} of ${shortHex(one.transactionHash)}`,
  );

const anomalyColumns: readonly ShownColumn<AnomalyFacts>[] = [
  column("Kind", ({ kind }) => kind, forms.text),
  column("Events", (row) => row.count, forms.number),
  column("Latest", listExamples, forms.text),
];

// Anomalies by kind, with the last events of each.
function anomalies(view: View, rows: readonly AnomalyFacts[]): Html {
  if (rows.length === 0) return note("None since the start.");
  const label = "Events that were skipped or repaired, since the start";
  return listOf(view, label, { rows, columns: anomalyColumns });
}

const requestColumns: readonly ShownColumn<Requests>[] = [
  column("Chain", ({ chain }) => chain, forms.text),
  column("Method", ({ method }) => method, forms.text),
  column("Answered", ({ answered }) => answered, forms.number),
  column("Failed", ({ failed }) => failed, forms.number),
  column("Compute units", ({ units }) => units, forms.number),
];

// `rows` is undefined in a reader, which sends no requests.
function requests(view: View, rows: readonly Requests[] | undefined): Html {
  if (rows === undefined) return note("Only available on the indexing process.");
  if (rows.length === 0) return note("None.");
  const units = count(rows.reduce((sum, one) => sum + one.units, 0));
  const label = `Requests to the nodes since the start: ${units} Alchemy compute units`;
  return html`<p>${label}</p>${listOf(view, "RPC requests", { rows, columns: requestColumns })}`;
}

/** GET /status/: the page of operators, where browsers that open /status come; GET /: its facts as JSON. */
export function statusRoutes(sources: StatusSources, frame: Frame): Hono {
  const { log } = sources;
  const read = createStatus(sources);
  return new Hono()
    .get("/", async (c) =>
      c.json(describe(sources, await read()), 200, { "cache-control": "no-store", vary: "Accept" }),
    )
    .get("/status/", (c) => {
      const { namespace } = sources.config;
      const view = { frame, now: timeOfIndex(sources, frame.chains?.[0]), primaries: new Map() };
      const readPage = async () => {
        const found = describe(sources, await read());
        const heading = html`<h1 data-title="${phaseTexts[found.phase]} · ${namespace} · ${frame.site.title}">Index of ${namespace}</h1>`;
        return { heading, content: content(found, view) };
      };
      const page = {
        frame,
        title: `Index of ${namespace}`,
        path: "/status",
        isLive: true,
        read: readPage,
        log,
      };
      return sendPage(c, page, { headers: { "cache-control": "no-store" } });
    });
}
