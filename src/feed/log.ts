import { randomBytes } from "node:crypto";
import { isNode } from "../ens/given-names.ts";
import type { Log } from "../log/json-log.ts";
import { repeat } from "../operations/repeat.ts";
import { saveStatus } from "../operations/stored-indexes.ts";
import { buildCheckpointParts, buildIsReadySql } from "../ponder/checkpoints.ts";
import { createTable, quoted, type Statement } from "../ponder/sql-client.ts";
import { stateSql } from "../ponder/state.ts";
import { keysSql } from "../read/events/cache-keys.ts";
import { chainOfEntry } from "../read/events/entry-conditions.ts";
import { historyOrder } from "../read/events/history.ts";
import { partsOfEvents } from "../read/events/parts.ts";
import type { IndexedNamespace } from "../read/names/indexed-namespaces.ts";

// The log of name events: what readers of the feed get after the backfill, in the order in which they get it. Ponder
// knows nothing of the table: it takes nothing back. The indexing process compares the end of the log with the tables
// of events after each block.

/** The table of the log, in the schema of its index. */
export const feedTable = "_name_events_feed";

/** The log of an index. Times in Unix seconds. */
export type FeedState = {
  /** Names the log in ids of messages. */
  index: string;
  /** The table of events that it is of: a new index has another one. */
  tables: string;
  /** Events before this time are not in the log: they are history, which no reorganization changes. */
  since: number;
  /** Rows before this time stay. */
  final: number;
};

/** Creates the log in the schema of an index. `reverts`: the row that a row reverts; null for rows of events. */
export const createFeed = (run: Statement, schema: string) =>
  createTable(
    run,
    `${quoted(schema)}.${feedTable} (seq bigint PRIMARY KEY, reverts bigint UNIQUE, chain_id bigint NOT NULL, block int NOT NULL,
      "timestamp" int NOT NULL, log_index int NOT NULL, type text NOT NULL, event_id text NOT NULL, transaction_hash text NOT NULL, node text, keys text[] NOT NULL,
      UNIQUE ("timestamp", seq), UNIQUE (chain_id, block, seq))`,
  );

/** The type of a row of the log that says that names have their labels now; its `keys` name them. No event has it. */
export const healedType = "healed";

// Names of a row, so that its message is as short as others, and a million names are 40,000 rows.
const maxHealed = 25;

/** SQL condition that no row reverts the row of the log under an alias. */
export const stands = (row: string) =>
  `NOT EXISTS (SELECT FROM ${feedTable} taken WHERE taken.reverts = ${row}.seq)`;

/** The index at one moment. `processed`: up to where in the common order of all chains. Times in Unix seconds. */
type LogMoment = {
  isReady: boolean;
  tables: string;
  /** Grows with each change of a checkpoint. */
  version: string;
  final: number;
  processed: { chain: number; block: number; time: number };
  state: FeedState | null;
};

const newest = buildCheckpointParts("at");

// ponder: a reorganization leaves `latest_checkpoint` of the other chains until their next block, so the row that was
// written last tells how far the tables are. An event that is final is at or before every chain's finalized checkpoint.
const momentSql = (
  own: string,
) => `WITH checkpoints AS MATERIALIZED (SELECT c.*, age(c.xmin) AS age, c.xmin::text AS version
  FROM ${own}._ponder_checkpoint c)
SELECT json_build_object('isReady', coalesce(${buildIsReadySql(`${own}._ponder_meta`)}, false),
  'tables', to_regclass($1)::oid::text,
  'version', (SELECT string_agg(version, ' ' ORDER BY chain_id) FROM checkpoints),
  'final', (SELECT ${buildCheckpointParts("least(min(finalized_checkpoint), max(latest_checkpoint))").time}::int FROM checkpoints),
  'processed', (SELECT json_build_object('chain', ${newest.chain}::bigint, 'block', ${newest.block}::bigint, 'time', ${newest.time}::bigint)
    FROM (SELECT max(latest_checkpoint) AS at FROM checkpoints GROUP BY age ORDER BY age LIMIT 1) newest),
  'state', ${stateSql("feed", `${own}.`)}) AS found`;

/** From when on (Unix seconds) the log is compared, and the indexing progress. */
type ComparedMoment = { from: number; processed: LogMoment["processed"] };

// Blocks of one chain compare by number: another branch may have other times. Ponder orders those of all chains by
// time, then by chain.
const isReached = (row: string, { chain, block, time }: LogMoment["processed"]) =>
  `CASE ${row}.chain_id WHEN ${chain} THEN ${row}.block <= ${block} ELSE (${row}.timestamp, ${row}.chain_id) < (${time}, ${chain}) END`;

// A row if the log has an event that the index has not reached again.
const behindSql = (own: string, { from, processed }: ComparedMoment) =>
  `SELECT f.seq FROM ${own}.${feedTable} f WHERE f.timestamp >= ${from} AND f.reverts IS NULL AND NOT ${isReached("f", processed)}
    AND NOT EXISTS (SELECT FROM ${own}.${feedTable} taken WHERE taken.reverts = f.seq) LIMIT 1`;

const columns = "chain_id, block, timestamp, log_index, type, event_id, transaction_hash, node";

/**
 * SQL that brings the log up to the tables from a time on: rows that revert what is gone, in reverse, then rows of what
 * is new. What the index has not reached again is not gone. It is one statement, so that the log is right whenever the
 * process ends. Of the schema of the search path.
 */
export function reconcileSql(
  namespaces: readonly IndexedNamespace[],
  { from, processed }: ComparedMoment,
): string {
  const parts = partsOfEvents(namespaces, `e.timestamp >= ${from}`, { isNamed: false });
  // Not by NOT EXISTS: the planner takes both for short, and compares each row with each.
  const identity = (of: string) => `${of}.event_id, ${of}.type, ${of}.timestamp, ${of}.transaction_hash`;
  const [time = "", ...position] = historyOrder("p").map(({ sql }) => sql);
  return `INSERT INTO ${feedTable} (seq, reverts, ${columns}, keys)
  WITH found AS MATERIALIZED (
    SELECT ${chainOfEntry(namespaces, "p")}::bigint AS chain_id, ${position[0]} AS block, ${time} AS timestamp, ${position[1]} AS log_index,
      p.type, p.id AS event_id, p.transaction_id AS transaction_hash, p.node, p.holder FROM (${parts.join("\nUNION ALL\n")}) p
  ), logged AS MATERIALIZED (
    SELECT f.seq, f.${columns.replaceAll(", ", ", f.")} FROM ${feedTable} f WHERE f.timestamp >= ${from} AND f.reverts IS NULL AND ${stands("f")}
  ), changes AS (
    SELECT l.seq AS reverts, l.${columns.replaceAll(", ", ", l.")}, (SELECT f.keys FROM ${feedTable} f WHERE f.seq = l.seq) AS keys FROM logged l
    WHERE ${isReached("l", processed)}
      AND (${identity("l")}) NOT IN (SELECT ${identity("t")} FROM found t)
    UNION ALL
    SELECT NULL, t.${columns.replaceAll(", ", ", t.")}, ${keysSql("t")} FROM found t WHERE (${identity("t")}) NOT IN (SELECT ${identity("l")} FROM logged l)
  )
  SELECT coalesce((SELECT max(seq) FROM ${feedTable}), 0)
    + row_number() OVER (ORDER BY reverts DESC NULLS LAST, timestamp, block, log_index, event_id), reverts, ${columns}, keys FROM changes`;
}

// A healed name is of no chain, block or time: no reorganization takes it back, and the tables of events have nothing
// to compare it with.
const healedSql = (nodes: readonly string[]) => `INSERT INTO ${feedTable} (seq, ${columns}, keys)
  SELECT coalesce((SELECT max(seq) FROM ${feedTable}), 0) + row_number() OVER (ORDER BY part), 0, 0, 0, 0, '${healedType}', min(k.node), '', NULL, array_agg(DISTINCT k.key)
  FROM (SELECT h.node, h.part, unnest(${keysSql("h")}) AS key FROM (
    SELECT node, (at - 1) / ${maxHealed} AS part, 0 AS chain_id, '${healedType}' AS type, node AS event_id, NULL::text AS holder
    FROM unnest('{${nodes.filter(isNode).join()}}'::text[]) WITH ORDINALITY AS n(node, at)) h) k GROUP BY part`;

/**
 * Writes to the log that names have their labels now; readers see it with the transaction of the statement, if there is
 * one.
 */
export const writeHealed = async (run: Statement, schema: string, nodes: readonly string[]) =>
  void (await run(wrapInSchema(schema, healedSql(nodes))));

/**
 * Nodes of the events that a restart indexes again, perhaps with other labels: what the log has of them is not final.
 */
export async function readReindexed(run: Statement, schema: string): Promise<string[]> {
  const own = quoted(schema);
  const { rows } = await run(`SELECT DISTINCT node FROM ${own}.${feedTable} WHERE node IS NOT NULL
    AND timestamp >= (${stateSql("feed", `${own}.`)} ->> 'final')::int`);
  return rows.map(({ node }) => String(node));
}

// ponder: its temporary tables have the names of tables. JIT would compile the statement for seconds that runs for
// milliseconds.
const wrapInSchema = (schema: string, sql: string) => `DO $feed$ BEGIN
  PERFORM set_config('search_path', '${quoted(schema).replaceAll("'", "''")}, pg_temp', true);
  PERFORM set_config('jit', 'off', true);
  LOCK TABLE ${feedTable} IN SHARE ROW EXCLUSIVE MODE;
  ${sql};
END $feed$`;

type FeedOptions = {
  run: Statement;
  schema: string;
  namespaces: readonly IndexedNamespace[];
  /**
   * Names by node that handlers healed, undefined for any; those that are stored are taken out when they are written.
   */
  healed?: Map<string, string | null | undefined>;
};

/**
 * Creates what brings the log up to the tables once, after the backfill; it begins the log of a new index. Resolves
 * with whether it may have written. Throws what the database does.
 */
export function createFeedWriter({
  run,
  schema,
  namespaces,
  healed = new Map(),
}: FeedOptions): () => Promise<boolean> {
  const own = quoted(schema);
  let written: string | undefined;
  const save = (state: FeedState) => saveStatus(run, schema, "feed", state);

  async function begin({ tables, final }: LogMoment): Promise<FeedState> {
    await run(`DELETE FROM ${own}.${feedTable}`);
    const state = { index: randomBytes(6).toString("hex"), tables, since: final, final };
    await save(state);
    return state;
  }

  async function writeStored(): Promise<void> {
    const names = [...healed].map(([id, name]) => ({ id, name, any: name === undefined }));
    const { rows } = await run(
      `SELECT d.id FROM ${own}.domain d JOIN json_to_recordset($1::json) AS v(id text, name text, "any" boolean)
        ON d.id = v.id AND (v."any" OR d.name IS NOT DISTINCT FROM v.name)`,
      [JSON.stringify(names)],
    );
    const nodes = rows.map(({ id }) => String(id));
    if (nodes.length > 0) await writeHealed(run, schema, nodes);
    for (const node of nodes) healed.delete(node);
  }

  return async () => {
    const { rows } = await run(momentSql(own), [`${own}.domain_event`]);
    const moment = rows[0]?.["found"] as LogMoment;
    const { isReady, tables, version, processed } = moment;
    if (!isReady || version === written) return false;
    const state = moment.state?.tables === tables ? moment.state : await begin(moment);
    // After a reorganization or a restart the tables lack what is indexed again in a moment.
    const behind = await run(behindSql(own, { from: state.final, processed }));
    if (behind.rows.length > 0) return false;
    const final = Math.max(state.final, moment.final);
    // What comes before was compared when it was final.
    await run(wrapInSchema(schema, reconcileSql(namespaces, { from: state.final, processed })));
    if (healed.size > 0) await writeStored();
    if (final !== state.final) await save({ ...state, final });
    written = version;
    return true;
  };
}

/**
 * Keeps the log up to the tables, and says when it was written. Returns how to stop it; its `soon` is for a block that
 * was just indexed.
 */
export function keepFeed({ log, onWritten, ...keeping }: FeedOptions & { log: Log; onWritten: () => void }) {
  const write = createFeedWriter(keeping);
  const work = async () => {
    if (await write()) onWritten();
  };
  return repeat(work, { everyMs: 100, log, failure: "Could not write the feed of name events" });
}
