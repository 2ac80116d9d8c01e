import type { Config } from "../../src/config/environment.ts";
import { listIndexes } from "../../src/operations/stored-indexes.ts";
import { hasTable } from "../../src/ponder/sql-client.ts";
import { withDatabase } from "../database.ts";

/** What an index in the database has taken until now; undefined parts are not known. */
export type SoFar = {
  indexGigabytes: number;
  cacheGigabytes: number;
  /** Last indexed block by chain id. */
  heads: Record<number, number>;
  process?: { events: number; requests: number; hours: number } | undefined;
};

/** What the index of the configuration has taken until now; undefined if there is none. */
export async function readSoFar(config: Config): Promise<SoFar | undefined> {
  const found = await withDatabase<Omit<SoFar, "process"> | undefined>(
    config,
    async (run) => {
      const own = (await listIndexes(run, Date.now())).find(
        ({ schema, description }) =>
          schema === config.databaseSchema && description?.namespace === config.namespace,
      );
      if (own === undefined) return undefined;
      const size =
        "SELECT sum(pg_total_relation_size(oid))::text AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = 'ponder_sync'::regnamespace";
      const cached = (await hasTable(run, "ponder_sync.logs")) ? (await run(size)).rows[0]?.["bytes"] : 0;
      const heads = own.heads.flatMap(({ chainId, head }) => (head === undefined ? [] : [[chainId, head]]));
      return {
        indexGigabytes: own.bytes / 1e9,
        cacheGigabytes: Number(cached ?? 0) / 1e9,
        heads: Object.fromEntries(heads),
      };
    },
    () => undefined,
  );
  return found && { ...found, process: await readProcess(config.port) };
}

/** What a running indexer counts since its start. */
async function readProcess(port: number): Promise<SoFar["process"]> {
  const signal = AbortSignal.timeout(5_000);
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { signal }).catch(() => undefined);
  if (!response?.ok) return undefined;
  const lines = (await response.text()).split("\n");
  const sum = (metric: string) =>
    lines
      .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0);
  const start = sum("process_start_time_seconds");
  return {
    events: sum("ponder_indexing_completed_events"),
    requests: sum("ponder_rpc_request_duration_count"),
    hours: (Date.now() / 1_000 - start) / 3_600,
  };
}
