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
import { needsNames } from "../v1/lists.ts";
import { lateSeconds, timeOfIndex } from "./age.ts";
import type { Ask } from "./ask.ts";
import {
  count,
  type Frame,
  facts,
  folded,
  type Html,
  listOf,
  memberOf,
  moment,
  note,
  place,
  section,
  sendPage,
  shown,
  type View,
  valuesOf,
} from "./layout.ts";
import { overviewCharts, readOverview } from "./stats-page.ts";
import { shortHex, titleOfChain } from "./words.ts";

// `now` is in Unix seconds, `behind` in seconds.
function chainProgress(chain: ChainSnapshot | undefined, now: number) {
  const state = chain?.chainStatus.replace("chain-", "") ?? "unknown";
  const indexed = findIndexedBlock(chain);
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

// The block that the chain is being indexed up to; undefined while unknown.
function targetOf(chain: ChainSnapshot): BlockRef | undefined {
  if (chain.config.configType === "definite") return chain.config.endBlock;
  if (chain.chainStatus === "chain-backfill") return chain.backfillEndBlock;
  return chain.chainStatus === "chain-following" ? chain.latestKnownBlock : undefined;
}

// Counts at a moment (milliseconds). `done`, `ahead`: blocks of all chains that are indexed, and those ahead.
type Sample = { at: number; events: number; fetched: number; done: number; ahead: number };

function sampleOf(
  at: number,
  { events, blocks }: StatusCounts,
  { omnichainSnapshot: { chains } }: Snapshot,
): Sample {
  const sample = { at, events, fetched: blocks.fetched, done: 0, ahead: 0 };
  for (const chain of Object.values(chains)) {
    const start = chain.config.startBlock.number;
    const indexed = findIndexedBlock(chain)?.number ?? start - 1;
    sample.done += indexed - start + 1;
    sample.ahead += Math.max(0, (targetOf(chain)?.number ?? indexed) - indexed);
  }
  return sample;
}

// Rates per second over the samples, and the seconds left of a backfill; undefined before the second sample.
function rateOf(samples: readonly Sample[]) {
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
    requests: requestsIn({
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

function requestsIn(counted: Record<"answered" | "failed", readonly MetricValue[]>): Requests[] {
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

const sizeOf = (schema: string) => `(SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = ${schema})`;
const sizeSql = `SELECT json_build_object('schemaBytes', ${sizeOf("$1")}, 'cacheBytes', ${sizeOf("'ponder_sync'")},
  'databaseBytes', pg_database_size(current_database()))::text`;

async function readSize(database: Database, schema: string, signal: AbortSignal): Promise<object> {
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
    ask: Ask;
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
    samples.push(sampleOf(clock(), counts, snapshot));
    if (samples.length > maxSamples) samples.shift();
  }, sampleMs).unref();
  sources.onStop(() => clearInterval(timer));
  const reading = <T>(read: (signal: AbortSignal) => Promise<T>, everyMs: number) =>
    shareReading("A part of the status page", read, { everyMs, log });
  const size = reading((signal) => readSize(database, config.databaseSchema, signal), 15_000);
  const newest = reading(() => readNewest(sources), 2_000);

  return async () => {
    const current = status.current();
    const [counts, labels, sized, names, provenFrom, coverage, earliest] = await Promise.all([
      readCounts(registry),
      sources.labelSource(),
      size(),
      current !== undefined && isBackfilled(current.snapshot) ? newest() : undefined,
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
      rate: rateOf(samples),
      size: sized.value,
      names: names?.value,
      isAway: sized.isAway || names?.isAway === true,
    };
  };
}

type FoundStatus = Awaited<ReturnType<ReturnType<typeof createStatus>>>;

// A newly registered name. In ENSv2 only paid registrations count: strangers can make any number of others.
type Newest = { id: string; name: string; since: string; expiry: string | null; registrant: string };

async function readNewest({ ask, config }: StatusSources): Promise<Newest[]> {
  if (!needsNames.plugins[0]?.some((plugin) => config.plugins.includes(plugin))) return [];
  const ofActions = await ask("/api/registrar-actions?type=registration&recordsPerPage=10");
  const ofEvents =
    ofActions.status === 200
      ? undefined
      : await ask("/v1/events?type=registration&include=data&page_size=10");
  const rows = memberOf(ofActions.body, "registrarActions") ?? memberOf(ofEvents?.body, "data");
  if (!Array.isArray(rows)) throw new Error("The newest names cannot be read.");
  const text = (row: unknown, ...members: string[]) =>
    String(members.map((member) => memberOf(row, member)).find((value) => value !== undefined) ?? "");
  return rows.map((row) => ({
    id: text(row, "action.registrationLifecycle.node", "namehash"),
    name: text(row, "name"),
    since: text(row, "action.block.timestamp", "timestamp"),
    expiry: text(row, "action.registrationLifecycle.expiresAt", "data.expires_at") || null,
    registrant: text(row, "action.registrant", "data.registrant"),
  }));
}

function describe(sources: StatusSources, found: FoundStatus) {
  const { config, versions, examples, archives, believed, process, clock, status, hashOf } = sources;
  const { snapshot, counts, rate, size, names } = found;
  const now = Math.floor(clock() / 1_000);
  const distance = snapshot && Math.max(0, now - findSlowest(snapshot).time);
  const phase = phaseOf(found);
  const isBackfill = phase === "fetching" || phase === "indexing";
  const chains = config.chains.map(({ id, name }) => {
    const ofChain = chainProgress(snapshot?.omnichainSnapshot.chains[id], now);
    const { indexed } = ofChain;
    const hash = indexed && (headHash(status.current()?.blocks?.[id], indexed) ?? hashOf(id, indexed));
    return { ...ofChain, id, name, head: indexed && hash ? { block: indexed.number, hash } : undefined };
  });
  const used = counts.labels;
  const heals = used.healed + used.unknown;
  const healing = sources.healing?.();
  const hitPercent = heals === 0 ? undefined : Math.round((1_000 * used.healed) / heals) / 10;
  return {
    phase,
    problems: problemsOf(found, { phase, isBackfill, distance }, chains),
    distance,
    rate: rate?.shown,
    expectedEnd: isBackfill && rate?.left !== undefined ? { seconds: rate.left, by: "blocks" } : undefined,
    indexes: found.building,
    registrationInEnsv2: sources.goLive?.(),
    events: process.isIndexer ? counts.events : undefined,
    reorganizations: process.isIndexer ? counts.reorganizations : undefined,
    chains,
    newestNames: names,
    keys: sources.keys?.(),
    feed: { streams: sources.streams(), hooks: sources.hooks()?.map((hook) => webhookFacts(hook, snapshot)) },
    anomalies: counts.anomalies.map((one) => ({ ...one, examples: examples.get(one.kind) ?? [] })),
    rpc: process.isIndexer ? counts.requests : undefined,
    labels: {
      ...config.labelSet,
      ...found.labels,
      ...{
        hitPercent,
        asked: process.isIndexer && heals > 0 ? heals : undefined,
        healing: healing && { ...healing, ...describeHealing(healing) },
      },
      coverage: found.coverage && coverageFacts(found.coverage, clock()),
      ...(process.isIndexer ? used : {}),
    },
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
      ...textsOfChains(sources),
      archives: archives.size === 0 ? undefined : [...archives].map(([chain, found]) => `${chain}: ${found}`),
      provenByReceipts: found.provenFrom && provenTexts(config.chains, found.provenFrom),
      believedWithoutProof: [...believed].flatMap(([chain, what]) =>
        what.size === 0 ? [] : `${chain}: ${[...what].join("; ")}`,
      ),
      version: versions.nsIndexer,
      ponder: versions.indexingFramework,
      node: versions.runtime,
    },
  };
}

const textsOfChains = ({ config: { chains }, logChecks }: StatusSources) => ({
  rpcUrls: chains.map(({ name, rpc }) => `${rpc.http.length} of ${name}`),
  logChecks: logChecks && chains.map(({ id, name }) => `${name}: ${logChecks[id]}`),
});

const coverageFacts = ({ at, counts }: { at: number; counts: readonly ShownCoverage[] }, now: number) => ({
  age: Math.max(0, (now - at) / 1_000),
  counts: counts.map((one) => ({ ...one, percent: (100 * (one.names - one.unknown)) / one.names })),
});

function webhookFacts(hook: Webhook, snapshot: Snapshot | undefined) {
  const { name, isHeld, fault, paused, lagSeconds, delivered, failed } = hook;
  if (!isHeld)
    return { name, state: snapshot && isBackfilled(snapshot) ? "of another index" : "after the backfill" };
  const state = paused ? "paused" : fault ? "failing" : lagSeconds > lateSeconds ? "late" : "following";
  return { name, state, lagSeconds, delivered, failed, reason: paused?.reason ?? fault };
}

const provenTexts = (chains: StatusSources["config"]["chains"], from: Readonly<Record<string, number>>) =>
  chains.map(
    ({ id, name }) => `${name}: ${from[id] === undefined ? "no blocks" : `from block ${from[id]} on`}`,
  );

type Phase = keyof typeof phaseTexts;

function phaseOf({ building, snapshot, stale, counts, rate }: FoundStatus): Phase {
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

function problemsOf(
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

function content(found: StatusFacts, view: View, figures: Html | undefined): Html {
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
${section("Chains", listOf(view, "Chains", { rows: found.chains, columns: chain }))}
${section("Progress", facts(valuesOf(view, summaryOf(found), progress)))}
${figures && section("Figures by month", figures)}
${section("Newest names", newestNames(view, found))}
${section("Feed of events", feed(view, found.feed))}
${found.keys?.length ? section("API keys", keys(view, found.keys)) : ""}
${section("Anomalies", anomalies(view, found.anomalies))}
${folded("RPC requests", requests(view, found.rpc))}
${folded("Labels", labelFacts(view, found.labels))}
${folded("Database", facts(valuesOf(view, found.database, database)))}
${folded("Configuration", facts(valuesOf(view, found.configuration, configuration)))}`;
}

const progress =
  "Events indexed since the start=events:number, Events/s=rate.events:decimal, " +
  "Backfill ends in=expectedEnd.seconds:span, Database indexes built (queries are slow until all are)=indexes.built:number, " +
  "Database indexes in total=indexes.total:number, Reorganizations followed=reorganizations:number";
const chain =
  "Chain=id:chain, State=state:state, Indexed block=indexed.number:number, Target block=target.number:number, Progress=percent:percent, " +
  "Block age=behind:span, Block hash=head.hash:hash";
const labels =
  "Label set=labelSetId, Label set version=labelSetVersion, Version at the start of the index=healing.from, Rows without a label checked=healing.asked:number, " +
  "Rows healed=healing.healed:number, Healing=healing.state, Table healed in percent=healing.percent:decimal, Table ends in=healing.secondsLeft:span, Age of the counts below=coverage.age:span, Software version=version, Label database schema=schemaVersion, " +
  "Latest version at the source=highestLabelSetVersion, Labels at the source=recordsCount:number, Labels requested since the start=asked:number, " +
  "Found at the source=healed:number, Found in percent=hitPercent:decimal, Cache hits=cached:number, Outages=outages:number, Waiting=waiting:number";
const coverage =
  "Names=of, Number=names:number, Unknown labels=unknown:number, Known in percent=percent:decimal";
const labelFacts = (view: View, found: StatusFacts["labels"]) => html`${facts(valuesOf(view, found, labels))}
<p class="note">Most events carry only the hash of a label. A label is healed when the label source knows the text of its hash; other names are shown as [hash].</p>
${found.coverage && listOf(view, "Known labels", { rows: found.coverage.counts, columns: coverage })}`;
const database =
  "Kind=kind, Schema=schema, Size of the schema=schemaBytes:bytes, Size of the RPC cache=cacheBytes:bytes, Size of the whole database=databaseBytes:bytes, " +
  "History since block=earliest.number:number, History reaches back=earliest.seconds:span";
const configuration =
  "Namespace=namespace, Mode=mode, Plugins=plugins, RPC URLs=rpcUrls, Archives=archives, Logs checked=logChecks, Logs proven by receipts=provenByReceipts, Believed without proof=believedWithoutProof, " +
  "Software version=version, Ponder=ponder, Node=node";

// A reader counts no events, and a backfill follows no reorganizations.
const summaryOf = ({ rate, events, reorganizations, ...found }: StatusFacts) => ({
  ...found,
  events,
  rate: events === undefined ? undefined : rate,
  reorganizations: found.phase === "live" ? reorganizations : undefined,
});

// During the backfill the go-live may be ahead.
function ensv2(view: View, { registrationInEnsv2: since, phase }: StatusFacts): Html | undefined {
  if (since === undefined || phase === "fetching" || phase === "indexing") return undefined;
  if (since === null) return html`<p>ENSv2 does not register names under .eth yet.</p>`;
  const { block, timestamp } = since;
  const at = place(view, { chain: view.frame.chains?.[0] ?? 0, block, transaction: null });
  return html`<p>ENSv2 has registered names under .eth since block ${at}, ${moment(view, timestamp)}.</p>`;
}

function newestNames(view: View, { newestNames: names, phase }: StatusFacts): Html {
  const columns = "Name=name:name, Registered=since:time, Expires=expiry:time, Registrant=registrant:address";
  if (names?.length) return listOf(view, "Newest names", { rows: names, columns });
  const isBackfilled = phase === "live" || phase === "completed";
  const missing = isBackfilled
    ? "The names could not be read."
    : "Names are listed once the backfill is complete.";
  return note(names ? "None yet." : missing);
}

// Open streams and webhooks. `hooks` is undefined in a reader.
function feed(view: View, { hooks, ...streams }: StatusFacts["feed"]): Html {
  const label = "Webhooks, with counts since the start";
  const columns =
    "Webhook=name, State=state:state, Oldest message waits for=lagSeconds:span, Delivered=delivered:number, Failed attempts=failed:number, Reason=reason";
  const list = hooks === undefined ? note("The indexing process sends webhooks.") : undefined;
  return html`${facts(valuesOf(view, streams, "Open streams of this process=streams:number"))}
${hooks?.length ? listOf(view, label, { rows: hooks, columns }) : list}`;
}

function keys(view: View, rows: readonly KeyUse[]): Html {
  const columns =
    "Key=name, Requests=requests:number, Refused=refused:number, Units this minute=minute:number, Budget per minute=budget:number";
  return listOf(view, "API keys, with counts since the start of this process", { rows, columns });
}

// Anomalies by kind, with the last events of each.
function anomalies(view: View, kinds: StatusFacts["anomalies"]): Html {
  if (kinds.length === 0) return note("None since the start.");
  const rows = kinds.map(({ examples, ...kind }) => ({
    ...kind,
    last: examples.map(
      (one) => `${titleOfChain(one.chainId)}, log ${one.logIndex} of ${shortHex(one.transactionHash)}`,
    ),
  }));
  const label = "Events that were skipped or repaired, since the start";
  return listOf(view, label, { rows, columns: "Kind=kind, Events=count:number, Latest=last" });
}

// `list` is undefined in a reader, which sends no requests.
function requests(view: View, rows: readonly Requests[] | undefined): Html {
  if (rows === undefined) return note("Only available on the indexing process.");
  if (rows.length === 0) return note("None.");
  const units = count(rows.reduce((sum, one) => sum + one.units, 0));
  const label = `Requests to the nodes since the start: ${units} Alchemy compute units`;
  const columns =
    "Chain=chain, Method=method, Answered=answered:number, Failed=failed:number, Compute units=units:number";
  return html`<p>${label}</p>${listOf(view, "RPC requests", { rows, columns })}`;
}

/** GET /: the page for browsers, its facts as JSON for others. */
export function statusRoutes(sources: StatusSources, frame: Frame): Hono {
  const { ask, log } = sources;
  const read = createStatus(sources);
  const readFigures = shareReading("A part of the status page", () => readOverview(ask), {
    everyMs: 15_000,
    log,
  });
  return new Hono().get("/", async (c) => {
    const isPage = /\btext\/html\b/.test(c.req.header("accept") ?? "");
    const headers = { "cache-control": "no-store", vary: "Accept" };
    if (!isPage) return c.json(describe(sources, await read()), 200, headers);
    const isUpdate = c.req.query("update") !== undefined;
    const { namespace } = sources.config;
    const view = { frame, now: timeOfIndex(sources, frame.chains?.[0]), primaries: new Map() };
    const readPage = async () => {
      // What keeps the page up to date leaves its charts.
      const [known, figures] = await Promise.all([read(), isUpdate ? undefined : readFigures()]);
      const found = describe(sources, known);
      const charts = overviewCharts(view, figures?.value ?? []);
      const heading = html`<h1 data-title="${phaseTexts[found.phase]} · ${namespace} · nsindex">Index of ${namespace}</h1>`;
      return { heading, content: content(found, view, charts) };
    };
    const parts = { frame, title: `${namespace} · nsindex`, isLive: true, read: readPage, log };
    return sendPage(c, parts, { headers });
  });
}
