import type { Statement } from "../ponder/sql-client.ts";

/** What a look at a server of the database found. */
export type Look = {
  /** Equal on a primary and its standbys. */
  system: string;
  /** How much of the primary's log (WAL) it has, in bytes. */
  position: number;
  isStandby: boolean;
};

// A commit is visible on a primary before its log is written, so that its position is that of what is inserted.
const lookSql = `SELECT system_identifier::text AS system, pg_is_in_recovery() AS standby,
  (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END - '0/0')::text AS position
  FROM pg_control_system()`;

/** Looks at the server of a connection. */
export async function lookAt(run: Statement): Promise<Look> {
  const { system, standby, position } = (await run(lookSql)).rows[0] ?? {};
  return { system: String(system), position: Number(position), isStandby: standby === true };
}

/** Host and port of a database URL, without its secrets. */
export const parseHost = (url: string) => new URL(url).host;

/** A look at a server, with the time of the indexing process's last report that the server has, in milliseconds. */
type Report = Pick<Look, "position"> & { savedAt: number };

/**
 * Which server to read from, as an index of `looks`, which are undefined for servers that do not respond. It stays at
 * the `present` one, or returns to one before it that has all that the present one has. If that one is away, or its
 * last report is more than `lagSeconds` behind the newest, it goes to the one that is furthest, but never to one that
 * has less than the position `shown`.
 */
export function chooseServer(
  looks: readonly (Report | undefined)[],
  { present, shown, lagSeconds }: { present: number; shown: number; lagSeconds: number },
): number {
  const there = looks.flatMap((look, index) => (look === undefined ? [] : [{ ...look, index }]));
  const newest = Math.max(...there.map(({ savedAt }) => savedAt));
  const own = looks[present];
  if (own !== undefined && newest - own.savedAt <= lagSeconds * 1_000)
    return there.find(({ index, position }) => index < present && position >= own.position)?.index ?? present;
  const [furthest] = there.toSorted((one, other) => other.position - one.position);
  return furthest === undefined || furthest.position < shown ? present : furthest.index;
}
