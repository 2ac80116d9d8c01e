import { setTimeout as pause } from "node:timers/promises";
import { type Log, seeOperations } from "../log/json-log.ts";
import { chooseServer, type Look, lookAt, parseHost } from "../operations/read-servers.ts";
import { isDatabaseAway, ownConnections, type Pool, type Statement } from "../ponder/sql-client.ts";
import { readSavedSnapshot, type SavedReading } from "./status.ts";

type FoundServer = Look & SavedReading;

const lookMs = 2_000;
const connectMs = 5_000;
// For how long a round of looks waits for servers that are not read from.
const othersMs = 250;
// For how long a reader whose server is away waits for another one to have what it has shown.
const timeoutMs = 2_000;

type ReadServerOptions = {
  /** URLs of the servers; those named first are preferred. */
  urls: readonly string[];
  /** How far the server that is read from may be behind the one that is furthest. */
  lagSeconds: number;
  /** Called when a connection fails: the time to look again. */
  onFailure: () => void;
  log: Log;
};

// What is read from a server. Once it is left its running statements end, or fail if it is away.
function openServer(like: Pool, connectionString: string) {
  const pool = ownConnections(like, { connectionString, connectionTimeoutMillis: connectMs });
  const open = new Set<{ end(): Promise<unknown> }>();
  pool.on("connect", (client) => void open.add(client));
  pool.on("remove", (client) => void open.delete(client));
  const leave = (isAway: boolean) => {
    void pool.end();
    if (isAway) for (const client of open) void client.end();
  };
  return { pool, leave };
}

function openProbe(like: Pool, connectionString: string) {
  const options = { max: 1, idleTimeoutMillis: 0, connectionTimeoutMillis: lookMs };
  const pool = ownConnections(like, { ...options, connectionString });
  const run = (text: string, values: readonly unknown[] = []) =>
    (pool as unknown as { query(query: object): ReturnType<Statement> }).query({
      ...{ text, values },
      query_timeout: lookMs,
    });
  const row = async (sql: string) => Object.values((await run(sql)).rows[0] ?? {}) as string[];
  let found: FoundServer | undefined;
  let looking: Promise<void> | undefined;
  const look = async () => {
    try {
      const reading = await readSavedSnapshot({ row });
      found = reading && { ...(await lookAt(run)), ...reading };
    } catch (error) {
      // What is replayed may cancel the look itself.
      if (isDatabaseAway(error)) found = undefined;
    }
    looking = undefined;
  };
  /**
   * What was found last, after a new look or `ms`. Undefined if the server does not respond, or has no report of an
   * indexing process.
   */
  return async (ms: number): Promise<FoundServer | undefined> => {
    looking ??= look();
    await Promise.race([looking, pause(ms, undefined, { ref: false })]);
    return found;
  };
}

/**
 * A pool over several servers of one database that reads from one of them at a time. `read` looks at all of them,
 * chooses the server, and returns the report that it has, so that no response claims what its server lacks. `like`: a
 * pool to one of them.
 */
export function openReadServers(like: Pool, { urls, lagSeconds, onFailure, log }: ReadServerOptions) {
  const servers = urls.map((url) => ({ url, place: parseHost(url), look: openProbe(like, url) }));
  let present = Math.max(0, urls.indexOf(like.options.connectionString ?? ""));
  let { pool, leave } = openServer(like, urls[present] ?? "");
  let [shown, seenAt] = [0, performance.now()];
  let system: string | undefined;
  const refused = new Set<string>();

  const isOwn = (found: FoundServer | undefined, place: string): boolean => {
    if (found === undefined) return false;
    system ??= found.system;
    if (found.system === system) return true;
    const section = seeOperations("Readers on standbys");
    if (!refused.has(place))
      log("error", `${place} is not a standby of the same primary and is not used.`, { section });
    refused.add(place);
    return false;
  };

  function move(next: number, isAway: boolean): void {
    const [left, chosen] = [servers[present], servers[next]];
    if (left === undefined || chosen === undefined || next === present) return;
    leave(isAway);
    ({ pool, leave } = openServer(like, chosen.url));
    const reason = isAway ? "does not respond" : next < present ? "is listed after it" : "is behind";
    present = next;
    log("info", `Now reading from ${chosen.place}: ${left.place} ${reason}.`);
  }

  async function read(): Promise<SavedReading> {
    const looks = await Promise.all(
      servers.map(async ({ look, place }, index) => {
        const found = await look(index === present ? 2 * lookMs : othersMs);
        return isOwn(found, place) ? found : undefined;
      }),
    );
    const isPatient = performance.now() - seenAt < timeoutMs;
    const next = chooseServer(looks, { present, shown: isPatient ? shown : 0, lagSeconds });
    move(next, looks[present] === undefined);
    const own = looks[present];
    if (own === undefined) throw new Error(`${servers[present]?.place} does not respond.`);
    [shown, seenAt] = [own.position, performance.now()];
    return own;
  }

  const connect = () =>
    pool.connect().catch((error) => {
      onFailure();
      throw error;
    });
  const following = {
    constructor: like.constructor,
    get options() {
      return pool.options;
    },
    connect,
    query: (query: Parameters<Pool["query"]>[0]) => pool.query(query),
  };
  return { pool: following as Pool, read };
}
