import http from "node:http";
import { db, publicClients } from "ponder:api";
import { type Context, Hono } from "hono";
import type { Hex } from "viem";
import { getBlock } from "viem/actions";
import { namesContext } from "../api/ensnode/name-tokens.ts";
import { openActions } from "../api/ensnode/registrar-actions.ts";
import { openApiKeys } from "../api/kit/api-keys.ts";
import { bodyOfRest } from "../api/kit/endpoint.ts";
import { startMedia } from "../api/metadata/process.ts";
import type { MetadataSources } from "../api/metadata/routes.ts";
import { frameOf, surroundOf } from "../api/pages/layout.ts";
import { createSubgraph, subgraphRoutes } from "../api/subgraph/routes.ts";
import { lookupEnvelope } from "../api/v1/contract.ts";
import {
  type Config,
  ConfigurationError,
  logChecksOf,
  parseEnvironment,
  readConfig,
} from "../config/environment.ts";
import { changesOf, environmentOf, type RowSettings, rowSettings } from "../config/row-settings.ts";
import { contractSources } from "../config/sources.ts";
import { indexedSubregistries, tokenIssuers } from "../deployments/namespaces.ts";
import { openFeed } from "../feed/follow.ts";
import { hookReader, reminderReader } from "../feed/hook-feed.ts";
import { createFeed, keepFeed, readReindexed, writeHealed } from "../feed/log.ts";
import { startWebhooks } from "../feed/webhooks/deliver.ts";
import { labelDatabaseSchemaVersion } from "../labels/label-set.ts";
import { openLabels } from "../labels/open-labels.ts";
import { seeOperations } from "../log/json-log.ts";
import { createUnverifiedWatch } from "../operations/cache.ts";
import { installChecksums, keepChecksums } from "../operations/checksums.ts";
import { createChainWatches } from "../operations/finalized-blocks.ts";
import { beginHealing, keepHealing } from "../operations/heal-labels.ts";
import { areIndexesBuilt, buildIndexes, builtIndexesSql } from "../operations/indexes.ts";
import { type Coverage, keepCoverage } from "../operations/label-coverage.ts";
import { installPast, pastFromSql, pastOf, positionOf, pruneVersions } from "../operations/past.ts";
import { keepProvenFrom, readProvenFrom } from "../operations/proven-blocks.ts";
import { repeat } from "../operations/repeat.ts";
import { saveStartBlocks } from "../operations/start-blocks.ts";
import {
  describeIndex,
  type Healing,
  progressOf,
  statusOf,
  takeOverWhenReady,
  watchShownSchema,
} from "../operations/stored-indexes.ts";
import { branchSql, hasBlockSql, parseBranch } from "../ponder/branch.ts";
import { forgetBranches, headNumberSql, readCheckpoints, restoreHeads } from "../ponder/checkpoints.ts";
import { addGauge } from "../ponder/gauge.ts";
import { guardNextServer } from "../ponder/http-server.ts";
import {
  countsOf,
  mapOwnStacksOnly,
  metricsRegistry,
  ponderProcess,
  processLog,
  shareMetricsText,
} from "../ponder/process.ts";
import { createProgress } from "../ponder/progress.ts";
import { shared } from "../ponder/shared.ts";
import { sqlClientOf } from "../ponder/sql-client.ts";
import type { HashOf } from "../read/as-of.ts";
import { createChainBlocks, type ReadBlock } from "../read/chain-blocks.ts";
import { openReferrals } from "../read/events/referrals.ts";
import { indexedNamespaces, timesOf } from "../read/names/indexed-namespaces.ts";
import { knownContracts } from "../read/names/known-contracts.ts";
import { createNamesSource } from "../read/names/lookups.ts";
import { readNodesOfToken, type V2Contracts, v2ContractsOf } from "../read/names/v2-names.ts";
import { reachedFunction } from "../read/names/v2-walk.ts";
import { createReadPast } from "../read/past.ts";
import { createAdmission, resolutionLimits } from "../read/resolution/admission.ts";
import { createChainClients } from "../read/resolution/chain-clients.ts";
import { defaultGatewayLimits } from "../read/resolution/gateway.ts";
import { createDatabase } from "../read/sql/client.ts";
import { createFigures, keepFigures } from "../read/stats/count.ts";
import { createBlockHashes } from "../status/blocks.ts";
import { readGoLive, watchGoLive } from "../status/go-live.ts";
import { openReadServers } from "../status/read-servers.ts";
import { shared as sharedReading } from "../status/shared-reading.ts";
import { backfilledBlocks, endOfChain, statusChains } from "../status/snapshot.ts";
import { hasWaitingBlocks, openStatus } from "../status/status.ts";
import { indexedBlockOf, isBackfilled, missingBlocks } from "../status/types.ts";
import { createLabelsVersion, readVersions } from "../status/versions.ts";
import { commonHeaders, createApi } from "./app.ts";

const configured = readConfig();
// A hash that no node knows must not count as a fault of the node that indexing asks.
const unchecked = createChainClients(configured.chains);
const readBlock: ReadBlock = async (chainId, by) => {
  const client = "number" in by ? ponder.ofChain(publicClients, chainId) : unchecked(chainId);
  if (client === undefined) return undefined;
  const asked = "number" in by ? { blockNumber: BigInt(by.number) } : { blockHash: by.hash as Hex };
  const block = await getBlock(client, asked).catch((error) => {
    if (error instanceof Error && error.name === "BlockNotFoundError") return undefined;
    throw error;
  });
  if (block === undefined) return undefined;
  const { hash, parentHash } = block;
  return { number: Number(block.number), hash, parentHash, timestamp: Number(block.timestamp) };
};
const blocks = createChainBlocks(readBlock);
const versions = readVersions();
const ponder = ponderProcess(globalThis);
const log = processLog();
mapOwnStacksOnly();

const registry = metricsRegistry();
if (registry !== undefined) shareMetricsText(registry, Date.now);
const apiKeys = configured.apiKeys && openApiKeys({ ...configured.apiKeys, log, registry });
if (apiKeys !== undefined) ponder.onStop(apiKeys.stop);

const { readUrls, readLagSeconds } = configured;
const ownClient = sqlClientOf(db);
const servers =
  !ponder.isIndexer && "connect" in ownClient && readUrls.length > 0
    ? openReadServers(ownClient, {
        ...{ urls: readUrls, lagSeconds: readLagSeconds, log },
        onFailure: () => void status.refresh(),
      })
    : undefined;
const sqlClient = servers?.pool ?? ownClient;
const database = createDatabase(
  sqlClient,
  configured.subgraphLimits,
  configured.sharesSessions ? ponder.schema : undefined,
);

// ponder: loads this file after it has reverted the tables to the safe checkpoint, and before it indexes and serves.
if (ponder.isIndexer) {
  await restoreHeads(ponder.write, ponder.schema);
  const { firstLabelSetVersion: from, labelSet } = configured;
  if (configured.healsLabels)
    await beginHealing(ponder.write, ponder.schema, { from, to: labelSet.labelSetVersion });
  await describeIndex(ponder.write, ponder.schema, {
    release: versions.nsIndexer,
    namespace: configured.namespace,
    plugins: configured.plugins,
    settings: rowSettings(configured),
  });
  await forgetBranches(ponder.write, ponder.schema);
  await installChecksums(ponder.write, ponder.schema);
  const { chains, needsProofs } = configured;
  const chainIds = chains.map(({ id }) => id);
  await keepProvenFrom(ponder.write, { schema: ponder.schema, chainIds, needsProofs });
  await ponder.write(reachedFunction(ponder.schema));
  await createFeed(ponder.write, ponder.schema);
  await createFigures(ponder.write, ponder.schema);
  shared().past = await installPast(ponder.write, ponder.schema, {
    since: configured.historyBlocks === "all" ? 0 : await historyBegin(),
    functions: reachedFunction,
  });
}

const { write: run, schema } = ponder;
const watches = ponder.isIndexer
  ? [
      ...createChainWatches(configured.chains, { run, schema, log }),
      createUnverifiedWatch(run, schema, { shared: shared(), log }),
    ]
  : [];
for (const { start } of watches) ponder.onStop(start());
// Without a cache, a start needs more of a node than its newest blocks.
if (ponder.isIndexer && configured.keepsRpcCache)
  shared().keepStartBlocks = (chainId, blocks) =>
    saveStartBlocks(run, { owner: schema, chainId, blocks }).catch(({ message: reason }: Error) =>
      log("warn", "Could not keep the blocks that the next start asks for", {
        ...{ chain_id: chainId, reason },
        section: seeOperations("When a chain pauses"),
      }),
    );

const chains = statusChains(configured.chains, Object.values(contractSources(configured)));

const waiting = { name: "nsindex_statements_waiting", help: "Statements that wait in the queue" };
addGauge(registry, waiting, (gauge) => gauge.set(database.waiting()));
const status = openStatus({
  process: ponder,
  log,
  database,
  clients: publicClients,
  chains,
  fault: () => watches.map(({ fault }) => fault()).find((fault) => fault !== undefined),
  registry,
  readSaved: servers?.read,
});

shared().backfill = () => {
  const snapshot = status.current()?.snapshot;
  return snapshot && backfilledBlocks(snapshot.omnichainSnapshot.chains);
};

let isHealing = false;
// Names that handlers healed, by node, until the feed has them.
const healedNames = new Map<string, string | null | undefined>();
if (ponder.isIndexer) {
  const isComplete = () =>
    status.current()?.snapshot.omnichainSnapshot.omnichainStatus === "omnichain-completed";
  isHealing = await startHealing();
  ponder.onStop(
    keepChecksums({ run: ponder.writeSlowly, schema, isComplete, isHealing: () => isHealing, log }),
  );
}

const indexBuild = ponder.isIndexer
  ? buildIndexes({
      isBackfilled: async () =>
        (await readCheckpoints(database, AbortSignal.timeout(30_000))).some(({ isReady }) => isReady),
      run: ponder.writeSlowly,
      schema: ponder.schema,
      log,
    })
  : undefined;
if (indexBuild !== undefined) ponder.onStop(indexBuild.stop);

const coverage = ponder.isIndexer
  ? keepCoverage({ run: ponder.writeSlowly, schema, isReady: () => indexBuild?.isComplete() === true, log })
  : undefined;
if (coverage !== undefined) ponder.onStop(coverage);

if (ponder.isIndexer)
  ponder.onStop(
    keepFigures({
      ...{ run: ponder.writeSlowly, schema, log },
      namespaces: indexedNamespaces(configured.datasources, configured.plugins),
      isReady: () => indexBuild?.isComplete() === true,
    }),
  );

if (ponder.isIndexer) {
  const isReady = async () => {
    const signal = AbortSignal.timeout(30_000);
    const [built] = await database.row(`SELECT ${builtIndexesSql(schema)}`, [], signal);
    return !isBackfilling() && areAllBuilt(built);
  };
  const name = configured.switchesWhenReady ? configured.stableSchema : undefined;
  ponder.onStop(
    takeOverWhenReady({ schema: ponder.schema, name }, { run: ponder.writeSlowly, isReady, log }),
  );
}

if (shared().past !== undefined && configured.historyBlocks !== "all")
  ponder.onStop(pruneVersions({ run: ponder.writeSlowly, schema, since: historyBegin, log }));

const hashes = createBlockHashes((chainId, number) => readBlock(chainId, { number }));
const hashOf: HashOf = (chainId, block) => hashes.peek(chainId, block)?.hash;

const labels = openLabels({ url: configured.labelsUrl, ...configured.labelSet, log });
const labelSource = createLabelsVersion(
  async () => (await labels).describe(),
  labelDatabaseSchemaVersion,
  log,
);
ponder.onStop(() => {
  labels.then((source) => source.close()).catch(() => undefined); // An unopened source has nothing to close.
});

let healing: Healing | undefined;
const readHealing = async () => {
  const signal = AbortSignal.timeout(5_000);
  const [exists] = await database.row("SELECT to_regclass('_indexing_status')::text", [], signal);
  const sql = "SELECT (SELECT snapshot FROM _indexing_status WHERE id = 'labels')::text";
  const [text] = exists ? await database.row(sql, [], signal) : [];
  healing = text ? JSON.parse(text) : undefined;
  // A reader's index may be healed from its next start on.
  return ponder.isIndexer && (healing === undefined || healing.part === "done") ? "done" : undefined;
};
if ((await readHealing().catch(() => undefined)) !== "done") {
  const failure = "Could not read healing progress";
  ponder.onStop(repeat(readHealing, { everyMs: 1_000, log, failure }));
}

const media = configured.metadata && startMedia(configured.metadata, log);
if (media !== undefined) ponder.onStop(media.stop);

const readCoverage = sharedReading(
  "How many labels are known",
  async (signal) => {
    const sql = "SELECT (SELECT snapshot FROM _indexing_status WHERE id = 'coverage')::text";
    const [text] = await database.row(sql, [], signal);
    return text ? (JSON.parse(text) as { at: number; counts: Coverage[] }) : undefined;
  },
  { everyMs: 15_000, log },
);

const readProven = sharedReading(
  "From which blocks on logs are proven",
  (signal) => readProvenFrom((sql) => database.row(sql, [], signal)),
  { everyMs: 60_000, log },
);

const readPastFrom = async (signal: AbortSignal) => {
  const [from] = await database.row(`SELECT ${pastFromSql}::text`, [], signal);
  return from ? Number(from) : undefined;
};
const readBranch = async (chainId: number, signal: AbortSignal) =>
  parseBranch((await database.row(`SELECT ${branchSql(chainId)}`, [], signal))[0]);
const readPast = createReadPast({
  ...{ blocks, readBranch, schema: servedSchema, clock: Date.now },
  readFrom: readPastFrom,
});
const firstFrom = async (...[chainId, time, ...rest]: Parameters<typeof blocks.lastUpTo>) =>
  ((await blocks.lastUpTo(chainId, time - 1, ...rest))?.number ?? -1) + 1;
const readEarliest = sharedReading(
  "The first block that can be read",
  async (signal) => {
    const from = await readPastFrom(signal);
    const { rootChainId: chainId } = configured;
    const head = indexedBlockOf(status.current()?.snapshot.omnichainSnapshot.chains[chainId]);
    if (from === undefined || head === undefined || from > head.timestamp) return undefined;
    const branch = await readBranch(chainId, signal);
    return blocks.find(chainId, { number: await firstFrom(chainId, from, head, branch) }, branch);
  },
  { everyMs: 15_000, log },
);

// A reader serves the index that its schema shows, and describes it by that index's settings.
const stops: (() => void)[] = [];
ponder.onStop(stopServing);
let webhooks: ReturnType<typeof startWebhooks> | undefined;
let served = openApi(configured);
let shown: Awaited<ReturnType<typeof watchShownSchema>> | undefined;
if (!ponder.isIndexer) {
  shown = await watchShownSchema(ponder.schema, { database, onSettings: serveAs, log });
  ponder.onStop(shown.stop);
}

if (ponder.isIndexer) {
  const namespaces = indexedNamespaces(configured.datasources, configured.plugins);
  const stop = keepFeed({
    run,
    schema,
    namespaces,
    healed: healedNames,
    log,
    onWritten: () => served.feed.readSoon(),
  });
  shared().blockIndexed = stop.soon;
  ponder.onStop(stop);
  webhooks = startWebhooks({
    hooks: configured.webhooks,
    readFeed: served.readFeed,
    readReminders: served.readReminders,
    database: { run, namespace: configured.namespace, schema },
    isReady: () => !isBackfilling(),
    log,
    registry,
  });
  ponder.onStop(webhooks.stop);
}

export default ponder.isIndexer ? served.app : new Hono().all("*", forward);

/** The second before which no former rows are kept; undefined if none are. */
async function historyBegin(): Promise<number | undefined> {
  const { historyBlocks, rootChainId, blockRange } = configured;
  if (typeof historyBlocks !== "number") return undefined;
  const client = ponder.ofChain(publicClients, rootChainId);
  const newest = Number(await client?.getBlockNumber());
  // Its blocks cannot be read. What was kept before stays.
  if (shared().silentChains.has(rootChainId)) return 0;
  const number = Math.max(0, Math.min(newest, blockRange.endBlock ?? newest) - historyBlocks);
  return (await readBlock(rootChainId, { number }))?.timestamp;
}

/** Starts healing, if rows lack labels that the configured version of the label set has. */
async function startHealing(): Promise<boolean> {
  const { healRows } = shared();
  const { labels: healing, feed } = await statusOf(run, schema);
  if (healing === undefined || healing.part === "done" || healRows === undefined) {
    shared().healRows = undefined;
    return false;
  }
  // Nobody has read names of a first backfill.
  const hasFeed = feed !== undefined;
  for (const node of await readReindexed(run, schema)) healedNames.set(node, undefined);
  shared().healRows = async (table, rows) => {
    const healed = await healRows(table, rows);
    for (const [at, row] of healed.entries())
      if (table === "domain" && row !== rows[at] && (hasFeed || !isBackfilling()))
        healedNames.set(String(row["id"]), row["name"] as string | null);
    return healed;
  };
  const { isSubgraphCompatible, rootChainId: chainId, blockRange } = configured;
  const stop = keepHealing({
    ...{ run, schema, healRows, isSubgraphCompatible, log },
    inTransaction: ponder.inOwnTransaction,
    onHealed: (own, nodes) => writeHealed(own, schema, nodes),
    root: { chainId, endBlock: blockRange.endBlock },
    isReady: () => !isBackfilling() && indexBuild?.isComplete() === true,
    isBehind: () => hasWaitingBlocks(status.current()?.snapshot),
    onDone: () => {
      isHealing = false;
      coverage?.soon();
      shared().healRows = undefined;
    },
  });
  ponder.onStop(stop);
  return true;
}

function servedSchema(): string {
  return shown?.current() ?? ponder.schema;
}

function forward(c: Context): Response | Promise<Response> {
  // ponder: its CORS middleware has begun a response; ours has all headers.
  c.res = undefined;
  c.finalized = false;
  return served.app.fetch(c.req.raw, c.env);
}

function serveAs(settings: RowSettings): void {
  const changes = changesOf(rowSettings(served.config), settings);
  if (changes.length === 0) return;
  const own = environmentOf(settings, process.env);
  try {
    const config = parseEnvironment(own.environment, own.readTextFile);
    stopServing();
    served = openApi(config);
    log("info", `Describes the index by its own settings: ${changes.join(", ")}.`);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    log("error", `Cannot describe the index by its own settings: ${error.faults.join(" ")}`, {
      section: seeOperations("Upgrade without downtime"),
    });
  }
}

function stopServing(): void {
  for (const stop of stops.splice(0)) stop();
}

function openGoLive({ datasources, plugins }: Config) {
  const v2 = plugins.includes("ensv2") ? v2ContractsOf(datasources) : undefined;
  const watch = watchGoLive(v2 && ((signal) => readGoLive(database, v2, signal)), { log, registry });
  stops.push(watch.stop);
  return watch.current;
}

// What endpoints and pages have in common.
function commonOf(config: Config) {
  return {
    config: {
      ...config,
      indexedChainIds: config.chains.map(({ id }) => id),
      get databaseSchema() {
        return servedSchema();
      },
    },
    plugins: config.plugins,
    versions,
    labelSource,
    status,
    database,
    indexes: () => indexBuild?.progress(),
    provenFrom: async () => (await readProven()).value,
    // A reader asks no logs.
    logChecks: ponder.isIndexer ? logChecksOf(configured) : undefined,
    healing: () => healing && { ...healing, ...progressOf(healing, Date.now()) },
    coverage: async () => (await readCoverage()).value,
    clock: Date.now,
  };
}

function openApi(config: Config) {
  const v2 = v2ContractsOf(config.datasources);
  const names = createNamesSource({
    database,
    namespaces: indexedNamespaces(config.datasources, config.plugins),
    hasRecords: config.plugins.includes("protocol-acceleration"),
  });
  const times = () => {
    const current = status.current();
    return current ? timesOf(names.namespaces, current) : [];
  };
  const feed = openFeed({ source: { database, namespaces: names.namespaces, times }, log, registry });
  stops.push(feed.stop);
  const common = commonOf(config);
  const goLive = openGoLive(config);
  const resolution = resolutionOf(config);
  const lookup = { ...names, known: knownContracts(config.datasources), hashOf };
  const app = createApi({
    context: {
      ...common,
      anomalies: () => countsOf("nsindex_anomalies_total", "anomaly"),
      past: readPast,
      subregistries: indexedSubregistries(config.datasources, config.plugins),
      names: namesContext(config.datasources, config.plugins),
      referrals: openReferrals(database),
      editions: configured.referralEditions,
      actions: openActions(database, config.plugins.includes("ensv2") ? v2 : undefined),
      ensv2: v2,
      goLive,
      ...{ lookup, feed },
      resolution,
    },
    subgraph: config.plugins.includes("subgraph") ? openSubgraph(config) : undefined,
    pages: {
      ...common,
      registry,
      ...shared(),
      process: ponder,
      hashOf,
      log,
      earliest: async () => (await readEarliest()).value,
      streams: feed.streams,
      goLive,
      explorers: config.explorers,
      metadata: media && networkOf(config),
      ...{ hooks: () => webhooks?.status(), keys: () => apiKeys?.uses() },
      onStop: (stop) => void stops.push(stop),
    },
    metadata: media && metadataOf(config, { resolution, media: media.ask, v2 }),
    trustedProxies: config.subgraphLimits.trustedProxies,
    ...{ keys: apiKeys, log },
  });
  const ofHooks = { lookup, feed };
  return { app, config, feed, readFeed: hookReader(ofHooks), readReminders: reminderReader(ofHooks) };
}

function resolutionOf(config: Config) {
  return {
    known: knownContracts(config.datasources),
    clientOf: createChainClients(config.chains),
    gatewayLimits: { ...defaultGatewayLimits, allowsPrivateHosts: config.allowsPrivateGateways },
    admit: createAdmission(resolutionLimits),
  };
}

// Paths of metadata name the chain of the root. Hoisted: `openApi` runs while this module loads.
function networkOf({ namespace }: Config) {
  return namespace.replace(/-v2$/, "");
}

function metadataOf(
  config: Config,
  { v2, ...sources }: Pick<MetadataSources, "resolution" | "media"> & { v2: V2Contracts | undefined },
) {
  const { datasources, metadata, plugins } = config;
  return {
    ...sources,
    network: networkOf(config),
    url: metadata?.url,
    issuers: tokenIssuers(datasources),
    nodesInRegistry:
      v2 && plugins.includes("ensv2")
        ? (registry: Hex, tokenId: Hex, signal: AbortSignal) =>
            readNodesOfToken(database, [v2.chainId, registry, tokenId], signal)
        : undefined,
    clock: Date.now,
  };
}

const { bodyBytes } = configured.subgraphLimits;
const bodyOfSubgraph = {
  bytes: bodyBytes,
  refusal: { error: `GraphQL server error (client error): The body has more than ${bodyBytes} bytes` },
};
const bodyOfLookup = { ...bodyOfRest, refusal: lookupEnvelope.tooLarge ?? bodyOfRest.refusal };
guardNextServer(http, {
  ...createProgress(sqlClient, {
    schema: ponder.schema,
    isBackfilling,
    indexes: { sql: () => builtIndexesSql(servedSchema()), areBuilt: areAllBuilt },
    headers: commonHeaders(versions.nsIndexer),
  }),
  bodyLimitOf: (path) =>
    path.startsWith("/subgraph") ? bodyOfSubgraph : path.startsWith("/v1/") ? bodyOfLookup : bodyOfRest,
  limits: { idleMs: configured.keepAliveSeconds * 1_000 },
});

// The indexing process also waits for search indexes. A reader may serve an index of a release that had fewer of them.
function areAllBuilt(built: string | null | undefined): boolean {
  return areIndexesBuilt(built) && indexBuild?.isComplete() !== false;
}

// Also true until the status is known.
function isBackfilling(): boolean {
  const current = status.current();
  return current === undefined || !isBackfilled(current.snapshot);
}

function openSubgraph(config: Config): Hono {
  const chains = statusChains(config.chains, Object.values(contractSources(config)));
  const rootChain = chains.find(({ chainId }) => chainId === config.rootChainId);
  const subgraph = createSubgraph({
    database,
    chainId: config.rootChainId,
    deployment: versions.nsIndexer,
    limits: config.subgraphLimits,
    v2: config.plugins.includes("ensv2") ? v2ContractsOf(config.datasources) : undefined,
    chainIds: config.chains.map(({ id }) => id),
    endBlock: () => endOfChain(rootChain, status.current()?.snapshot),
    hasErrors: () => status.current()?.stale !== undefined,
    reach: async (number, signal) => {
      const block = { chainId: String(config.rootChainId), number };
      return missingBlocks(block, await status.reach([block], signal)) <= 0;
    },
    edition: () => {
      if (healing === undefined) return "";
      return healing.part === "done" ? `-labels${healing.to}` : undefined;
    },
    hashes,
    past: () => {
      const { schemas, isKept } = pastOf(servedSchema());
      const { rootChainId: chainId } = config;
      return {
        ...{ fromSql: pastFromSql, branchSql: branchSql(chainId), start: rootChain?.startBlock ?? 0 },
        momentOf: ({ number, timestamp, hash }) => ({
          schemas,
          position: positionOf(timestamp, config.chains.length === 1 ? { chainId, number } : undefined),
          isKept:
            `${isKept(timestamp)} AND ${headNumberSql(chainId)} >= ${number}` +
            (hash === undefined ? "" : ` AND ${hasBlockSql(chainId, { number, hash })}`),
        }),
        find: (...given) => blocks.find(chainId, ...given),
        firstFrom: (...given) => firstFrom(chainId, ...given),
      };
    },
  });
  return subgraphRoutes(subgraph, "/subgraph", surroundOf(frameOf(versions.nsIndexer, true)));
}
