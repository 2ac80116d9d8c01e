import { type Context, Hono } from "hono";
import type { Hex } from "viem";
import { namesContext } from "../api/ensnode/name-tokens.ts";
import { openActions } from "../api/ensnode/registrar-actions.ts";
import { startMedia } from "../api/metadata/process.ts";
import type { MetadataSources } from "../api/metadata/routes.ts";
import type { PageSources } from "../api/pages/ask.ts";
import {
  type Config,
  ConfigurationError,
  describeLogChecks,
  parseEnvironment,
} from "../config/environment.ts";
import { listChanges, type RowSettings, rowSettings, toEnvironment } from "../config/row-settings.ts";
import { indexedSubregistries, tokenIssuers } from "../deployments/namespaces.ts";
import { openFeed } from "../feed/follow.ts";
import { hookReader, reminderReader } from "../feed/hook-feed.ts";
import { labelDatabaseSchemaVersion } from "../labels/label-set.ts";
import { openLabels } from "../labels/open-labels.ts";
import { seeOperations } from "../log/json-log.ts";
import { watchShownSchema } from "../operations/stored-indexes.ts";
import { readMetricCounts } from "../ponder/process.ts";
import { shared } from "../ponder/shared.ts";
import { openReferrals } from "../read/events/referrals.ts";
import { indexedNamespaces, listTimes } from "../read/names/indexed-namespaces.ts";
import { knownContracts } from "../read/names/known-contracts.ts";
import { createNamesSource } from "../read/names/lookups.ts";
import { findV2Contracts, readNodesOfToken, type V2Contracts } from "../read/names/v2-names.ts";
import { createAdmission, resolutionLimits } from "../read/resolution/admission.ts";
import { createChainClients } from "../read/resolution/chain-clients.ts";
import { defaultGatewayLimits } from "../read/resolution/gateway.ts";
import { createPrices } from "../read/resolution/prices.ts";
import { readGoLive, watchGoLive } from "../status/go-live.ts";
import { createLabelsVersion } from "../status/versions.ts";
import { createApi } from "./app.ts";
import { openReadings, type Readings } from "./readings.ts";
import type { Service } from "./service.ts";
import { openSubgraph } from "./subgraph.ts";

// What is served: the interface of an index, by its settings. Those of a reader's index change when its schema shows
// another one.

/** Opens the interface of the process. `app` answers by the index that is served then. */
export async function openServing(service: Service) {
  const { config, ponder, database, log } = service;
  let shown: Awaited<ReturnType<typeof watchShownSchema>> | undefined;
  const schema = () => shown?.current() ?? ponder.schema;
  const readings = await openReadings(service, { status: service.status, schema });
  const media = config.metadata && startMedia(config.metadata, log);
  if (media !== undefined) ponder.onStop(media.stop);
  const parts = { ...readings, schema, media, labelSource: openLabelSource(service) };

  const stops: (() => void)[] = [];
  const stopServing = () => {
    for (const stop of stops.splice(0)) stop();
  };
  ponder.onStop(stopServing);
  let served = serveIndex(service, config, { ...parts, onStop: (stop) => void stops.push(stop) });
  const serveAs = (settings: RowSettings) => {
    const changes = listChanges(rowSettings(served.config), settings);
    if (changes.length === 0) return;
    const own = toEnvironment(settings, process.env);
    try {
      const next = parseEnvironment(own.environment, own.readTextFile);
      stopServing();
      served = serveIndex(service, next, { ...parts, onStop: (stop) => void stops.push(stop) });
      log("info", `Describes the index by its own settings: ${changes.join(", ")}.`);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      log("error", `Cannot describe the index by its own settings: ${error.faults.join(" ")}`, {
        section: seeOperations("Upgrade without downtime"),
      });
    }
  };
  if (!ponder.isIndexer) {
    shown = await watchShownSchema(ponder.schema, { database, onSettings: serveAs, log });
    ponder.onStop(shown.stop);
  }
  const forward = (c: Context) => {
    // ponder: its CORS middleware has begun a response; ours has all headers.
    c.res = undefined;
    c.finalized = false;
    return served.app.fetch(c.req.raw, c.env);
  };
  const app = ponder.isIndexer ? served.app : new Hono().all("*", forward);
  return { app, schema, served: () => served };
}

function openLabelSource({ config, ponder, log }: Service) {
  const labels = openLabels({ url: config.labelsUrl, ...config.labelSet, log });
  ponder.onStop(() => {
    labels.then((source) => source.close()).catch(() => undefined); // An unopened source has nothing to close.
  });
  return createLabelsVersion(async () => (await labels).describe(), labelDatabaseSchemaVersion, log);
}

/** What does not depend on the settings of the index that is served. */
type ServedParts = Readings & {
  /** The schema of the index that is served. */
  schema(): string;
  media: ReturnType<typeof startMedia> | undefined;
  labelSource: ReturnType<typeof openLabelSource>;
  /** Stops with the process, and when another index is served. */
  onStop(stop: () => void): void;
};

function serveIndex(service: Service, config: Config, parts: ServedParts) {
  const { database, status, registry, log, keys, hashOf } = service;
  const isEnsv2 = config.plugins.includes("ensv2");
  const v2 = findV2Contracts(config.datasources);
  const names = createNamesSource({
    database,
    namespaces: indexedNamespaces(config.datasources, config.plugins),
    hasRecords: config.plugins.includes("protocol-acceleration"),
  });
  const times = () => {
    const current = status.current();
    return current ? listTimes(names.namespaces, current) : [];
  };
  const feed = openFeed({ source: { database, namespaces: names.namespaces, times }, log, registry });
  parts.onStop(feed.stop);
  const watch = watchGoLive(isEnsv2 ? v2 && ((signal) => readGoLive(database, v2, signal)) : undefined, {
    log,
    registry,
  });
  parts.onStop(watch.stop);
  const common = { ...describeService(service, config, parts), goLive: watch.current };
  const lookup = { ...names, known: knownContracts(config.datasources), hashOf };
  const resolution = openResolution(config);
  const priceOf = createPrices(config.datasources, resolution.clientOf);
  const app = createApi({
    context: {
      ...common,
      anomalies: () => readMetricCounts("nsindex_anomalies_total", "anomaly"),
      past: parts.past,
      subregistries: indexedSubregistries(config.datasources, config.plugins),
      names: namesContext(config.datasources, config.plugins),
      referrals: openReferrals(database),
      editions: service.config.referralEditions,
      actions: openActions(database, isEnsv2 ? v2 : undefined),
      ...{ ensv2: v2, lookup, feed, resolution },
    },
    subgraph: config.plugins.includes("subgraph") ? openSubgraph(service, config, parts) : undefined,
    pages: { ...common, ...describePages(service, config, { ...parts, priceOf }), streams: feed.streams },
    metadata: parts.media && describeMetadata(service, config, { resolution, media: parts.media.ask, v2 }),
    trustedProxies: config.subgraphLimits.trustedProxies,
    ...{ keys, log },
  });
  const ofHooks = { lookup, feed };
  const forHooks = { readFeed: hookReader(ofHooks), readReminders: reminderReader(ofHooks) };
  return { app, config, feed, forHooks };
}

// What endpoints and pages have in common.
function describeService(service: Service, config: Config, parts: ServedParts) {
  const { ponder, versions, status, database, running } = service;
  const { schema, labelSource, provenFrom, healing, coverage } = parts;
  return {
    config: {
      ...config,
      indexedChainIds: config.chains.map(({ id }) => id),
      get databaseSchema() {
        return schema();
      },
    },
    plugins: config.plugins,
    ...{ versions, labelSource, status, database, provenFrom, healing, coverage },
    indexes: () => running.indexBuild?.progress(),
    // A reader asks no logs.
    logChecks: ponder.isIndexer ? describeLogChecks(service.config) : undefined,
    clock: Date.now,
  };
}

function describePages(
  service: Service,
  config: Config,
  { earliest, media, onStop, priceOf }: ServedParts & Pick<PageSources, "priceOf">,
) {
  const { ponder, registry, log, keys, hashOf, running } = service;
  return {
    ...{ registry, hashOf, log, earliest, onStop },
    ...shared(),
    process: ponder,
    explorers: config.explorers,
    site: service.config.site,
    url: config.metadata?.url,
    priceOf,
    metadata: media && nameNetwork(config),
    hooks: () => running.webhooks?.status(),
    keys: () => keys?.uses(),
  };
}

function openResolution(config: Config) {
  return {
    known: knownContracts(config.datasources),
    clientOf: createChainClients(config.chains),
    gatewayLimits: { ...defaultGatewayLimits, allowsPrivateHosts: config.allowsPrivateGateways },
    admit: createAdmission(resolutionLimits),
  };
}

// Paths of metadata name the chain of the root.
const nameNetwork = ({ namespace }: Config) => namespace.replace(/-v2$/, "");

function describeMetadata(
  { database }: Service,
  config: Config,
  { v2, ...sources }: Pick<MetadataSources, "resolution" | "media"> & { v2: V2Contracts | undefined },
) {
  const { datasources, metadata, plugins } = config;
  return {
    ...sources,
    network: nameNetwork(config),
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
