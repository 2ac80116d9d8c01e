import { readFileSync } from "node:fs";
import pg from "pg";

/** What the services take, in megabytes, and how far the index is behind, in seconds. */
export type Gauged = { rss: number; postgres: number; lag: number };

/** Where figures come from. The process may be away, and be another one later. */
export type GaugeSources = {
  pid: () => Promise<number | undefined> | number | undefined;
  databaseUrl: string;
  schema: string;
  chainId: string;
  /** Called once when the machine has less than 2 GB left: nobody else's programs are to end. */
  whenLow: () => Promise<void>;
};

const everyMs = 250;
const leastMegabytes = 2_000;

/**
 * Reads the figures four times a second until `stop`: resident memory of a process, private memory of all Postgres backends,
 * and how old the newest indexed block of the chain is. `worst` gives the largest of each since the last call.
 */
export function startGauges({ pid, databaseUrl, schema, chainId, whenLow }: GaugeSources) {
  let client: pg.Client | undefined;
  let last: Gauged = { rss: 0, postgres: 0, lag: 0 };
  let worst = last;
  const pids = new Set<number>();
  let isOn = true;
  let isRelieved = false;

  const connect = async () => {
    const opened = new pg.Client(databaseUrl);
    // An outage of the database is one of the attacks.
    opened.on("error", () => {
      client = undefined;
    });
    await opened.connect();
    return opened;
  };
  const askDatabase = async (): Promise<{ postgres: number; lag: number }> => {
    client ??= await connect();
    const { rows } = await client.query(
      `SELECT extract(epoch FROM clock_timestamp())::float8 - substr(latest_checkpoint, 1, 10)::float8 AS lag,
         (SELECT array_agg(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()) AS pids
       FROM ${schema}._ponder_checkpoint WHERE chain_id = $1`,
      [chainId],
    );
    const [row] = rows as { lag: number; pids: number[] }[];
    const postgres = (row?.pids ?? []).reduce((sum, backend) => sum + privateMegabytes(backend), 0);
    return { postgres, lag: row?.lag ?? 0 };
  };
  const look = async () => {
    const current = await pid();
    if (current !== undefined) pids.add(current);
    const rss = current === undefined ? 0 : residentMegabytes(current);
    last = { ...last, rss, ...(await askDatabase().catch(() => ({}))) };
    worst = {
      rss: Math.max(worst.rss, last.rss),
      postgres: Math.max(worst.postgres, last.postgres),
      lag: Math.max(worst.lag, last.lag),
    };
  };
  const done = (async () => {
    while (isOn) {
      await look();
      if (!isRelieved && megabytes("/proc/meminfo", /MemAvailable:\s+(\d+)/) < leastMegabytes) {
        isRelieved = true;
        await whenLow();
      }
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    await client?.end();
  })();

  return {
    now: () => last,
    /** Whether the attack was broken off since it would have taken all memory of the machine. */
    isRelieved: () => isRelieved,
    worst(): Gauged {
      const result = worst;
      worst = last;
      return result;
    },
    /** How many processes the service has been since the last call. */
    processes(): number {
      const { size } = pids;
      pids.clear();
      return size;
    },
    stop() {
      isOn = false;
      return done;
    },
  };
}

/** Megabytes of a process that are in memory; 0 once it is gone. */
export function residentMegabytes(pid: number): number {
  return megabytes(`/proc/${pid}/status`, /VmRSS:\s+(\d+)/);
}

// Without the shared buffers, which belong to all backends and have a fixed size.
function privateMegabytes(pid: number): number {
  return megabytes(`/proc/${pid}/smaps_rollup`, /Pss_Anon:\s+(\d+)/);
}

function megabytes(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
