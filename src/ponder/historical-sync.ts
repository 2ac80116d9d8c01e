import { z } from "zod/v4";
import { expectOfPonder, moduleOfPonder } from "./expected.ts";
import { fetchAheadOf } from "./fetch-ahead.ts";

// In place of Ponder's fetching of blocks (cli/preload.mjs), which it does not change: it begins when there is room.

type Blocks = { interval: [number, number]; logs: readonly unknown[] };
type Transaction = (...given: unknown[]) => Promise<unknown>;
type Given = {
  common: { shutdown: { isKilled: boolean }; logger: { info(entry: object): void } };
  chain: { id: number; name: string };
  database: { syncQB: { $dialect: string; transaction: Transaction } };
};

const callable = <Function>() => z.custom<Function>((value) => typeof value === "function");
const module = z.object({ createHistoricalSync: callable<(given: object) => object>() });
const sync = z.looseObject({ syncBlockData: callable<(of: Blocks) => Promise<unknown>>() });
const given = z.custom<Given>((value) => {
  const { common, chain, database } = value as Given;
  return (
    typeof common.shutdown.isKilled === "boolean" &&
    typeof chain.id === "number" &&
    typeof database.syncQB.transaction === "function"
  );
});

const reportedAfterMs = 10_000;

/**
 * As Ponder's function of this name. ponder: stores each range of blocks in a transaction that it opens by these parameters, which are
 * this chain's own. Waiting comes before it: an open transaction would hold a connection, and rows that other indexers wait for.
 */
export function createHistoricalSync(parameters: object): object {
  const { common, chain, database } = expectOfPonder(given, parameters, "createHistoricalSync");
  const ofPonder = moduleOfPonder(module, "sync-historical/index.js").createHistoricalSync(parameters);
  const { syncBlockData, ...others } = expectOfPonder(sync, ofPonder, "createHistoricalSync");
  // On the embedded database all statements wait for the one that runs: fetching cannot wait for reading there.
  if (database.syncQB.$dialect !== "postgres") return ofPonder;
  const ahead = fetchAheadOf(common);
  ahead.begin(chain.id);
  const reported = reportOnce(common, chain.name);
  const { syncQB } = database;
  const transaction: Transaction = async (...of) => {
    const timer = setTimeout(reported, reportedAfterMs).unref();
    await ahead.room(chain.id, () => common.shutdown.isKilled);
    clearTimeout(timer);
    return syncQB.transaction(...of);
  };
  Object.assign(parameters, {
    database: { ...database, syncQB: Object.create(syncQB, { transaction: { value: transaction } }) },
  });
  return {
    ...others,
    async syncBlockData(of: Blocks) {
      const found = await syncBlockData(of);
      ahead.stored(chain.id, of.interval[1], of.logs.length);
      return found;
    },
  };
}

function reportOnce({ logger }: Given["common"], chain: string): () => void {
  let isReported = false;
  return () => {
    if (!isReported) logger.info({ msg: "Fetching waits until indexing has used what is fetched", chain });
    isReported = true;
  };
}
