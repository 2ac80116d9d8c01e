import { readFileSync } from "node:fs";
import pg from "pg";

/** Resident megabytes of a service, private ones of all Postgres backends, and seconds that the index lags. */
export type Gauged = { rss: number; postgres: number; lag: number };

/** Sources of the figures. The process may be missing, or replaced later. */
export type GaugeSources = {
  pid: () => Promise<number | undefined> | number | undefined;
  databaseUrl: string;
  schema: string;
  chainId: string;
  /** Called once when the machine has less than 2 GB left, so that the system does not kill other programs. */
  whenLow: () => Promise<void>;
};

const everyMs = 250;
const leastMegabytes = 2_000;

/** Reads the figures four times a second until `stop`. `worst` returns the largest of each since the last call. */
export function startGauges(sources: GaugeSources) {
  const database = databaseGauges(sources);
  let last: Gauged = { rss: 0, postgres: 0, lag: 0 };
  let worst = last;
  const pids = new Set<number>();
  let isOn = true;
  let isRelieved = false;

  const look = async () => {
    const current = await sources.pid();
    if (current !== undefined) pids.add(current);
    const rss = current === undefined ? 0 : residentMegabytes(current);
    last = { ...last, rss, ...(await database.read()) };
    worst = largest(worst, last);
    if (isRelieved || megabytes("/proc/meminfo", /MemAvailable:\s+(\d+)/) > leastMegabytes) return;
    isRelieved = true;
    await sources.whenLow();
  };
  const done = (async () => {
    while (isOn) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    await database.close();
  })();

  return {
    now: () => last,
    /** Whether the attack was aborted because it would have used up the machine's memory. */
    isRelieved: () => isRelieved,
    worst(): Gauged {
      const result = worst;
      worst = last;
      return result;
    },
    /** How many processes the service has run as since the last call. */
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

/** The larger of each figure. */
export function largest(first: Gauged, second: Gauged): Gauged {
  return {
    rss: Math.max(first.rss, second.rss),
    postgres: Math.max(first.postgres, second.postgres),
    lag: Math.max(first.lag, second.lag),
  };
}

function databaseGauges({ databaseUrl, schema, chainId }: GaugeSources) {
  let client: pg.Client | undefined;
  const connect = async () => {
    const opened = new pg.Client(databaseUrl);
    // An outage of the database is one of the attacks.
    opened.on("error", () => {
      client = undefined;
    });
    await opened.connect();
    return opened;
  };
  const ask = async () => {
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
  return {
    /** The figures, or nothing while the database is down. */
    read: (): Promise<Partial<Gauged>> => ask().catch(() => ({})),
    close: () => client?.end(),
  };
}

/** Resident megabytes of a process; 0 once it has exited. */
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
