import { keepFeed } from "../feed/log.ts";
import { startWebhooks } from "../feed/webhooks/deliver.ts";
import { seeOperations } from "../log/json-log.ts";
import { keepChecksums } from "../operations/checksums.ts";
import { areIndexesBuilt, buildIndexes, builtIndexesSql } from "../operations/indexes.ts";
import { keepCoverage } from "../operations/label-coverage.ts";
import { pruneVersions } from "../operations/past.ts";
import { saveStartBlocks } from "../operations/start-blocks.ts";
import { takeOverWhenReady } from "../operations/stored-indexes.ts";
import { readCheckpoints } from "../ponder/checkpoints.ts";
import { shared } from "../ponder/shared.ts";
import { indexedNamespaces } from "../read/names/indexed-namespaces.ts";
import { keepFigures } from "../read/stats/count.ts";
import { startHealing } from "./healing.ts";
import { historyBegin } from "./prepare.ts";
import type { openServing } from "./serve.ts";
import type { Running, Service } from "./service.ts";

/** A service with the endpoints of its index. */
export type Serving = Service & { serving: Awaited<ReturnType<typeof openServing>> };

/** Work beside indexing and serving. `start` returns how to stop it. */
type Job = { name: string; start(service: Serving): Stop | Promise<Stop> };
type Stop = (() => void) | undefined;

const listNamespaces = ({ config }: Service) => indexedNamespaces(config.datasources, config.plugins);

/** Whether an index has all indexes of the database; a reader's may be of a release that had fewer of them. */
export const areAllBuilt = ({ indexBuild }: Running, built: string | null | undefined): boolean =>
  areIndexesBuilt(built) && indexBuild?.isComplete() !== false;

/** The jobs of an indexing process, in the order of their start. A reader has none. */
const jobs: readonly Job[] = [
  {
    // Without a cache, a start needs more of a node than its newest blocks.
    name: "keep the blocks that the next start asks for",
    start({ config, ponder: { write: run, schema }, log }) {
      if (!config.keepsRpcCache) return undefined;
      const section = seeOperations("When a chain pauses");
      shared().keepStartBlocks = (chainId, blocks) =>
        saveStartBlocks(run, { owner: schema, chainId, blocks }).catch(({ message: reason }: Error) =>
          log("warn", "Could not keep the blocks that the next start asks for", {
            ...{ chain_id: chainId, reason, section },
          }),
        );
      return undefined;
    },
  },
  { name: "heal labels", start: startHealing },
  {
    name: "keep checksums",
    start({ ponder: { writeSlowly: run, schema }, log, status, running }) {
      const isComplete = () =>
        status.current()?.snapshot.omnichainSnapshot.omnichainStatus === "omnichain-completed";
      return keepChecksums({ ...{ run, schema, isComplete, log }, isHealing: () => running.isHealing });
    },
  },
  {
    name: "build indexes of the database",
    start({ ponder: { writeSlowly: run, schema }, database, log, running }) {
      const isBackfilled = async () =>
        (await readCheckpoints(database, AbortSignal.timeout(30_000))).some(({ isReady }) => isReady);
      running.indexBuild = buildIndexes({ isBackfilled, run, schema, log });
      return running.indexBuild.stop;
    },
  },
  {
    name: "count known labels",
    start({ ponder: { writeSlowly: run, schema }, log, running }) {
      const isReady = () => running.indexBuild?.isComplete() === true;
      running.coverage = keepCoverage({ run, schema, isReady, log });
      return running.coverage;
    },
  },
  {
    name: "count figures of days",
    start(service) {
      const { ponder, log, running } = service;
      const { writeSlowly: run, schema } = ponder;
      const isReady = () => running.indexBuild?.isComplete() === true;
      return keepFigures({ ...{ run, schema, log, isReady }, namespaces: listNamespaces(service) });
    },
  },
  {
    name: "take over the views schema",
    start({ config, ponder: { writeSlowly: run, schema }, database, log, isBackfilling, running }) {
      const isReady = async () => {
        const sql = `SELECT ${builtIndexesSql(schema)}`;
        const [built] = await database.row(sql, [], AbortSignal.timeout(30_000));
        return !isBackfilling() && areAllBuilt(running, built);
      };
      const name = config.switchesWhenReady ? config.stableSchema : undefined;
      return takeOverWhenReady({ schema, name }, { run, isReady, log });
    },
  },
  {
    name: "delete versions of rows that are not kept any more",
    start(service) {
      const { config, ponder, log } = service;
      if (shared().past === undefined || config.historyBlocks === "all") return undefined;
      const { writeSlowly: run, schema } = ponder;
      return pruneVersions({ ...{ run, schema, log }, since: () => historyBegin(service) });
    },
  },
  {
    name: "keep the feed",
    start(service) {
      const { ponder, log, running, serving } = service;
      const { write: run, schema } = ponder;
      const stop = keepFeed({
        ...{ run, schema, log },
        namespaces: listNamespaces(service),
        healed: running.healed,
        onWritten: () => serving.served().feed.readSoon(),
      });
      shared().blockIndexed = stop.soon;
      return stop;
    },
  },
  {
    name: "deliver webhooks",
    start({ config, ponder: { write: run, schema }, log, registry, isBackfilling, running, serving }) {
      running.webhooks = startWebhooks({
        hooks: config.webhooks,
        ...serving.served().forHooks,
        database: { run, namespace: config.namespace, schema },
        isReady: () => !isBackfilling(),
        ...{ log, registry },
      });
      return running.webhooks.stop;
    },
  },
];

/** Starts the jobs. They stop with the process. */
export async function startJobs(service: Serving): Promise<void> {
  if (!service.ponder.isIndexer) return;
  for (const job of jobs) {
    const stop = await job.start(service);
    if (stop !== undefined) service.ponder.onStop(stop);
  }
}
