import type { Coverage } from "../operations/label-coverage.ts";
import { pastFromSql } from "../operations/past.ts";
import { readProvenFrom } from "../operations/proven-blocks.ts";
import { repeat } from "../operations/repeat.ts";
import { describeProgress, type Healing } from "../operations/stored-indexes.ts";
import { branchSql, parseBranch } from "../ponder/branch.ts";
import { stateSql, stateTable } from "../ponder/state.ts";
import { createReadPast } from "../read/past.ts";
import { shareReading } from "../status/shared-reading.ts";
import type { StatusSource } from "../status/status.ts";
import { findIndexedBlock } from "../status/types.ts";
import type { Core } from "./core.ts";

/** What endpoints and pages read of the index now and then, shared by all requests. */
export type Readings = Awaited<ReturnType<typeof openReadings>>;

/** Opens the readings. `schema`: that of the index that is served. */
export async function openReadings(
  core: Core,
  { status, schema }: { status: StatusSource; schema(): string },
) {
  const { config, database, blocks, log } = core;
  const { rootChainId } = config;
  const readCoverage = shareReading(
    "How many labels are known",
    async (signal) => {
      const [text] = await database.row(`SELECT ${stateSql("coverage")}::text`, [], signal);
      return text ? (JSON.parse(text) as { at: number; counts: Coverage[] }) : undefined;
    },
    { everyMs: 15_000, log },
  );
  const readProven = shareReading(
    "From which blocks on logs are proven",
    (signal) => readProvenFrom((sql) => database.row(sql, [], signal)),
    { everyMs: 60_000, log },
  );

  const readFrom = async (signal: AbortSignal) => {
    const [from] = await database.row(`SELECT ${pastFromSql}::text`, [], signal);
    return from ? Number(from) : undefined;
  };
  const readBranch = async (chainId: number, signal: AbortSignal) =>
    parseBranch((await database.row(`SELECT ${branchSql(chainId)}`, [], signal))[0]);
  const firstFrom = async (...[chainId, time, ...rest]: Parameters<typeof blocks.lastUpTo>) =>
    ((await blocks.lastUpTo(chainId, time - 1, ...rest))?.number ?? -1) + 1;
  const readEarliest = shareReading(
    "The first block that can be read",
    async (signal) => {
      const from = await readFrom(signal);
      const head = findIndexedBlock(status.current()?.snapshot.omnichainSnapshot.chains[rootChainId]);
      if (from === undefined || head === undefined || from > head.timestamp) return undefined;
      const branch = await readBranch(rootChainId, signal);
      const number = await firstFrom(rootChainId, from, head, branch);
      return blocks.find(rootChainId, { number }, branch);
    },
    { everyMs: 15_000, log },
  );
  const healing = await followHealing(core);
  return {
    coverage: async () => (await readCoverage()).value,
    provenFrom: async () => (await readProven()).value,
    earliest: async () => (await readEarliest()).value,
    past: createReadPast({ ...{ blocks, readBranch, schema, readFrom }, clock: Date.now }),
    firstFrom,
    /** The progress of healing labels; undefined if the index has none. */
    healing: () => {
      const now = healing();
      return now && { ...now, ...describeProgress(now, Date.now()) };
    },
  };
}

// Reads at once, and each second until healing is done.
async function followHealing({ ponder, database, log }: Core): Promise<() => Healing | undefined> {
  let healing: Healing | undefined;
  const read = async () => {
    const signal = AbortSignal.timeout(5_000);
    const [exists] = await database.row(`SELECT to_regclass('${stateTable}')::text`, [], signal);
    const [text] = exists ? await database.row(`SELECT ${stateSql("labels")}::text`, [], signal) : [];
    healing = text ? JSON.parse(text) : undefined;
    // A reader's index may be healed from its next start on.
    return ponder.isIndexer && (healing === undefined || healing.part === "done") ? "done" : undefined;
  };
  if ((await read().catch(() => undefined)) !== "done")
    ponder.onStop(repeat(read, { everyMs: 1_000, log, failure: "Could not read healing progress" }));
  return () => healing;
}
