import type { ServerResponse } from "node:http";
import { setTimeout as pause, setImmediate as yielding } from "node:timers/promises";
import { parseCheckpoint } from "./checkpoints.ts";
import type { Surface } from "./http-server.ts";
import { databaseAway, isDatabaseAway, type Pool, quoted, readText } from "./sql-client.ts";

type Progress = {
  isReady: boolean | null;
  builtIndexes: string | null;
  chains: [name: string, id: number, checkpoint: string][] | null;
};

const progressSql = (schema: string, builtIndexes: string) => `SELECT json_build_object(
  'isReady', (SELECT (value ->> 'is_ready')::int = 1 FROM ${quoted(schema)}._ponder_meta LIMIT 1), 'builtIndexes', ${builtIndexes},
  'chains', (SELECT json_agg(json_build_array(chain_name, chain_id, latest_checkpoint) ORDER BY chain_id)
    FROM ${quoted(schema)}._ponder_checkpoint))::text`;

// Leaves a quarter of a second before it and one between two looks, so that a response comes within two seconds.
const responseMs = 1_400;

type ProgressOptions = {
  /** Schema of Ponder's tables. */
  schema: string;
  /** True while the status reports a backfill, also if only the last blocks of a range are not final yet. */
  isBackfilling: () => boolean;
  /** The indexes for queries: SQL for their number as text, and whether that is all of them. */
  indexes: { sql: () => string; areBuilt: (built: string | null) => boolean };
  headers: Readonly<Record<string, string>>;
};

const ponderPaths = new Set(["/health", "/ready", "/status", "/metrics"]);

/**
 * Serves /ready and /status as Ponder does, and adds `headers` to all of Ponder's paths. Responds with 503 within two
 * seconds while the database is away, where Ponder tries for a minute and then shows its stack; /ready is also 503
 * during a backfill or without all indexes. Concurrent requests share one statement.
 */
export function createProgress(
  pool: Pool,
  { schema, isBackfilling, indexes, headers }: ProgressOptions,
): Pick<Surface, "respond" | "isDatabaseAway"> {
  let reading: Promise<Progress> | undefined;
  const read = () => {
    reading ??= readText(pool, progressSql(schema, indexes.sql()), responseMs)
      .then((text) => JSON.parse(String(text)) as Progress)
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  const writeReady = ({ isReady, builtIndexes }: Progress, outgoing: ServerResponse) => {
    if (isReady !== true || isBackfilling()) writeText(outgoing, 503, "Historical indexing is not complete.");
    else if (indexes.areBuilt(builtIndexes)) writeText(outgoing, 200, "");
    else writeText(outgoing, 503, "The database's indexes are being built.");
  };

  return {
    respond(path, outgoing) {
      if (!ponderPaths.has(path)) return false;
      for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
      const write = path === "/ready" ? writeReady : path === "/status" ? writeStatus : undefined;
      if (write === undefined) return false;
      settleWithin(read(), responseMs)
        .then((found) => write(found, outgoing))
        .catch(() => writeJson(outgoing, 503, databaseAway));
      return true;
    },
    isDatabaseAway: () =>
      settleWithin(read(), responseMs).then(
        () => false,
        (error) => error === undefined || isDatabaseAway(error),
      ),
  };
}

function writeStatus({ chains }: Progress, outgoing: ServerResponse): void {
  const entries = (chains ?? []).map(([name, id, checkpoint]) => {
    const { number, timestamp } = parseCheckpoint(checkpoint).block;
    return [name, { id, block: { number, timestamp } }];
  });
  writeJson(outgoing, 200, Object.fromEntries(entries));
}

const writeJson = (outgoing: ServerResponse, status: number, body: object) =>
  writeText(outgoing, status, JSON.stringify(body), "application/json");

function writeText(
  outgoing: ServerResponse,
  status: number,
  text: string,
  type = "text/plain; charset=UTF-8",
) {
  outgoing
    .writeHead(status, {
      "content-type": type,
      "content-length": Buffer.byteLength(text),
      "access-control-allow-origin": "*",
      ...(status === 503 ? { "retry-after": "5" } : {}),
    })
    .end(text);
}

// Rejects with undefined if the work takes longer.
async function settleWithin<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  // A response that arrived while the event loop was blocked is read first.
  const end = pause(milliseconds, undefined, { ref: false }).then(() => yielding());
  return Promise.race([work, end.then(() => Promise.reject())]);
}
