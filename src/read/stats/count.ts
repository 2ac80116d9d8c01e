import { zeroAddress } from "../../ens/ids.ts";
import type { Log } from "../../log/json-log.ts";
import { repeat } from "../../operations/repeat.ts";
import { buildCheckpointParts, buildFinalizedCheckpointSql } from "../../ponder/checkpoints.ts";
import { createTable, quoted, type Statement } from "../../ponder/sql-client.ts";
import { stateSql, stateTable } from "../../ponder/state.ts";
import { storageIdSql } from "../../schema/sql.ts";
import { literal } from "../events/kinds.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";

// Figures of each UTC day, by parent: what /v1/stats sums up. Ponder knows nothing of the tables: they have only what
// no reorganization takes back. The indexing process adds what is final on all chains; what came later is counted when
// it is asked for, by the same statement. What an event adds to a day does not depend on later events, so days are
// counted in parts. Days are numbered from 1 January 1970.

/** The figures of days, in the schema of their index. */
export const figuresTable = "_daily_figures";
// How many names each account holds below a parent, and below any (an empty text), by the events that are counted.
const holdersTable = "_holders";

/** Seconds of a day. */
export const daySeconds = 86_400;

/**
 * How far an index is counted. `tables`: a new index has other ones. `end`: the first second that is not. `isComplete`:
 * it was once up to the final blocks.
 */
export type Counted = { tables: string; end: number; isComplete: boolean };

/**
 * Creates the tables in the schema of an index, beside its statuses. What another index in it has counted is not shown
 * any more.
 */
export async function createFigures(run: Statement, schema: string): Promise<void> {
  const own = quoted(schema);
  await createTable(
    run,
    `${own}.${figuresTable} (metric text, parent text, part text, day int, value numeric NOT NULL, PRIMARY KEY (metric, parent, part, day))`,
  );
  await createTable(
    run,
    `${own}.${holdersTable} (parent text, account text, names bigint NOT NULL, PRIMARY KEY (parent, account))`,
  );
  const isOfAnother = "id = 'stats' AND snapshot ->> 'tables' IS DISTINCT FROM to_regclass($1)::oid::text";
  await run(`DELETE FROM ${own}.${stateTable} WHERE ${isOfAnother}`, [`${own}.domain_event`]);
}

// The last second that clients can write as a date (9999).
const lastSecond = 253_402_300_799;
const buildDaySql = (seconds: string) => `div(least(${seconds}, ${lastSecond}), ${daySeconds})::int`;

/** Seconds (Unix time), from the first one on and before the second. */
type TimeSpan = { from: number; to: number };

// An action moves the end of its name: `former` is where the name's actions before it had left that, in Unix seconds. A
// name without a registration before its renewals has no end.
const buildLeasesSql = ({ from, to }: TimeSpan) => {
  const idAt = (seconds: number) => `'${String(seconds).padStart(10, "0")}'`;
  return `acted AS MATERIALIZED (SELECT DISTINCT a.node FROM registrar_actions a WHERE a.id >= ${idAt(from)} AND a.id < ${idAt(to)}),
  terms AS (SELECT t.*, CASE WHEN t.lease > 0 THEN sum(t.incremental_duration + CASE t.type WHEN 'registration' THEN t.timestamp ELSE 0 END)
      OVER (PARTITION BY t.node, t.lease ORDER BY t.id) END AS expiry
    FROM acted CROSS JOIN LATERAL (SELECT a.*, count(*) FILTER (WHERE a.type = 'registration') OVER (ORDER BY a.id) AS lease
      FROM registrar_actions a WHERE a.node = acted.node AND a.id < ${idAt(to)}) t),
  steps AS (SELECT t.*, lag(t.expiry) OVER (PARTITION BY t.node ORDER BY t.id) AS former FROM terms t),
  of_leases AS (SELECT v.metric, s.node AS parent, v.part, v.day, v.value FROM steps a JOIN subregistries s ON s.subregistry_id = a.subregistry_id
    CROSS JOIN LATERAL (SELECT coalesce(a.payment_token, '') AS token, ${buildDaySql("a.timestamp")} AS day) c
    CROSS JOIN LATERAL (VALUES
      (a.type || 's', '', c.day, 1::numeric),
      ('revenue', c.token, c.day, a.total),
      ('premiums', c.token, c.day, CASE a.type WHEN 'registration' THEN a.premium END),
      ('premium_sales', c.token, c.day, CASE WHEN a.type = 'registration' AND a.premium > 0 THEN 1 END),
      ('begins', '', c.day, CASE WHEN a.expiry IS NULL OR a.former > a.timestamp THEN 0 ELSE 1 END),
      ('ends', '', ${buildDaySql("greatest(a.expiry, a.timestamp)")}, CASE WHEN a.expiry IS NULL THEN 0 ELSE 1 END),
      ('ends', '', ${buildDaySql("a.former")}, CASE WHEN a.former > a.timestamp THEN -1 END),
      ('due', '', ${buildDaySql("a.expiry")}, 1),
      ('renewed', '', ${buildDaySql("a.former")}, CASE a.type WHEN 'renewal' THEN 1 END)
    ) v(metric, part, day, value) WHERE a.id >= ${idAt(from)} AND v.day IS NOT NULL AND v.value <> 0)`;
};

// Where accounts get tokens of names: `node` of an event `e`, and its holder. `from`: the events of a node, which is
// `key`.
const listTransfers = (v2: IndexedNamespace["v2"]) => [
  {
    table: "registration_event",
    types: ["NameRegistered", "NameTransferred"],
    node: "(SELECT r.domain_id FROM registration r WHERE r.id = e.registration_id)",
    from: "registration r JOIN registration_event e ON e.registration_id = r.id",
    ...{ key: "r.domain_id", holder: "coalesce(e.registrant_id, e.new_owner_id)" },
  },
  {
    table: "domain_event",
    types: ["NameWrapped", "WrappedTransfer"],
    ...{ node: "e.domain_id", from: "domain_event e", key: "e.domain_id", holder: "e.owner_id" },
  },
  ...(v2 === undefined ? [] : [v2]).map(({ chainId, ethRegistry }) => ({
    table: "v2_events",
    types: ["LabelRegistered", "Migration", "TransferSingle", "TransferBatch"],
    node: `(SELECT o.node FROM v2_entries o WHERE o.chain_id = ${chainId} AND o.registry = e.registry AND o.registry = '${ethRegistry}'
      AND o.storage_id = ${storageIdSql("e.labelhash")})`,
    from: `v2_entries o JOIN v2_events e ON o.chain_id = ${chainId} AND e.registry = o.registry AND e.labelhash = o.labelhash AND o.registry = '${ethRegistry}'`,
    ...{ key: "o.node", holder: "e.holder" },
  })),
];

// Each account that got a token of a name, but for those that hold names for others. By name, since the one before it
// counts too.
const buildHoldingsSql = (namespaces: readonly IndexedNamespace[], { from, to }: TimeSpan) => {
  const [root] = namespaces;
  const sources = listTransfers(root?.v2);
  const keepers = namespaces.flatMap((one) => [one.nameWrapper ?? [], one.v2?.graveyard ?? []].flat());
  const within = `e.timestamp >= ${from} AND e.timestamp < ${to}`;
  const asked = sources.map(
    (one) =>
      `SELECT ${one.node} AS node FROM ${one.table} e WHERE e.type IN ${literal(one.types)} AND ${within}`,
  );
  const received = sources.map(
    (one) => `SELECT e.timestamp, e.block_number, e.log_index, e.id, ${one.holder} AS holder FROM ${one.from}
      WHERE ${one.key} = q.node AND e.type IN ${literal(one.types)} AND e.timestamp < ${to}`,
  );
  const parents = namespaces.flatMap((one) => one.leases ?? []);
  // Below the only parent are all names.
  const counted = parents.length > 1 ? "(h.parent), ('')" : "('')";
  // Names that only ENSv2 has are below eth.
  const parent = `coalesce((SELECT d.parent_id FROM domain d WHERE d.id = k.node), '${root?.leases}')`;
  return `received AS MATERIALIZED (SELECT q.node, q.parent FROM (SELECT k.node, ${parent} AS parent
      FROM (SELECT DISTINCT u.node FROM (${asked.join(" UNION ALL ")}) u WHERE u.node IS NOT NULL) k) q
    WHERE q.parent IN ${literal(["none", ...parents])}),
  held AS (SELECT q.parent, h.timestamp, h.holder, lag(h.holder) OVER (PARTITION BY q.node ORDER BY h.timestamp, h.block_number, h.log_index, h.id) AS former
    FROM received q CROSS JOIN LATERAL (${received.join(" UNION ALL ")}) h WHERE h.holder NOT IN ${literal([zeroAddress, ...keepers])}),
  moves AS (SELECT p.parent, v.account, ${buildDaySql("h.timestamp")} AS day, sum(v.value) AS value FROM held h
    CROSS JOIN LATERAL (VALUES (h.holder, 1), (h.former, -1)) v(account, value) CROSS JOIN LATERAL (VALUES ${counted}) p(parent)
    WHERE h.timestamp >= ${from} AND h.holder IS DISTINCT FROM h.former AND v.account IS NOT NULL GROUP BY 1, 2, 3),
  balances AS (SELECT m.parent, m.day, m.value, coalesce(b.names, 0) + sum(m.value) OVER (PARTITION BY m.parent, m.account ORDER BY m.day) AS names
    FROM moves m LEFT JOIN ${holdersTable} b ON b.parent = m.parent AND b.account = m.account),
  of_holders AS (SELECT 'holders' AS metric, b.parent, '' AS part, b.day, ((b.names > 0)::int - (b.names > b.value)::int)::numeric AS value FROM balances b)`;
};

/**
 * The WITH queries of the figures of a span, `figures` the last of them: metric, parent, part, day and value, in the
 * schema of the search path.
 */
export const buildFiguresSql = (
  namespaces: readonly IndexedNamespace[],
  span: TimeSpan,
) => `${buildLeasesSql(span)},
  ${buildHoldingsSql(namespaces, span)},
  figures AS (SELECT f.metric, f.parent, f.part, f.day, sum(f.value) AS value
    FROM (SELECT * FROM of_leases UNION ALL SELECT * FROM of_holders) f GROUP BY 1, 2, 3, 4 HAVING sum(f.value) <> 0)`;

const onConflict = "ON CONFLICT (metric, parent, part, day) DO UPDATE SET value";

// The numbers of names are those that the coverage of labels counted last on a day. An index that is behind has those
// of its newest day.
const labelsSql = (own: string) => `INSERT INTO ${own}.${figuresTable} (metric, parent, part, day, value)
  SELECT v.metric, '', c.of, least((s.snapshot ->> 'at')::bigint / 1000, (SELECT max(${buildCheckpointParts("latest_checkpoint").time})::bigint FROM ${own}._ponder_checkpoint)) / ${daySeconds}, v.value FROM ${own}._indexing_status s
    CROSS JOIN LATERAL json_to_recordset(s.snapshot -> 'counts') c("of" text, names numeric, unknown numeric)
    CROSS JOIN LATERAL (VALUES ('names', c.names), ('unknown', c.unknown)) v(metric, value)
  WHERE s.id = 'coverage' AND NOT starts_with(c.of, 'below ') ${onConflict} = excluded.value`;

const buildStatusSql = (member: string) => `(${stateSql("stats")} ->> '${member}')`;
const buildSaveSql = (
  state: Counted,
) => `INSERT INTO ${stateTable} VALUES ('stats', '${JSON.stringify(state)}', now())
    ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, saved_at = excluded.saved_at`;

// By one process at a time, and only if the others left it to do: one that was killed may still have a statement under
// way.
const writeSql = (schema: string, condition: string, statements: readonly string[]) => `DO $count$ BEGIN
  PERFORM set_config('search_path', '${quoted(schema).replaceAll("'", "''")}, pg_temp', true);
  PERFORM set_config('jit', 'off', true);
  LOCK TABLE ${figuresTable} IN SHARE ROW EXCLUSIVE MODE;
  IF ${condition} THEN ${statements.join(";\n")}; END IF;
END $count$`;

const beginSql = (schema: string, state: Counted) =>
  writeSql(schema, `${buildStatusSql("tables")} IS DISTINCT FROM '${state.tables}'`, [
    `DELETE FROM ${figuresTable}`,
    `DELETE FROM ${holdersTable}`,
    buildSaveSql(state),
  ]);

const countSql = (
  { schema, namespaces }: Pick<Counting, "schema" | "namespaces">,
  { from, state }: { from: number; state: Counted },
) =>
  writeSql(
    schema,
    `${buildStatusSql("end")} = '${from}' AND ${buildStatusSql("tables")} = '${state.tables}'`,
    [
      `WITH ${buildFiguresSql(namespaces, { from, to: state.end })},
  kept AS (INSERT INTO ${holdersTable} AS b SELECT m.parent, m.account, sum(m.value) FROM moves m GROUP BY 1, 2
    ON CONFLICT (parent, account) DO UPDATE SET names = b.names + excluded.names)
  INSERT INTO ${figuresTable} AS f (metric, parent, part, day, value) SELECT * FROM figures ${onConflict} = f.value + excluded.value`,
      buildSaveSql(state),
    ],
  );

const momentSql = (own: string, namespaces: readonly IndexedNamespace[]) => {
  const firsts = listTransfers(namespaces[0]?.v2).map(
    ({ table, types }) =>
      `(SELECT min(e.timestamp) FROM ${own}.${table} e WHERE e.type IN ${literal(types)})`,
  );
  return `SELECT json_build_object('tables', to_regclass($1)::oid::text, 'final', ${buildCheckpointParts(buildFinalizedCheckpointSql(`${own}._ponder_checkpoint`)).time},
    'state', ${stateSql("stats", `${own}.`)},
    'first', least((SELECT min(a.timestamp) FROM ${own}.registrar_actions a), ${firsts.join(", ")})) AS found`;
};

type CountedMoment = { tables: string; final: string; state: Counted | null; first: number | null };

type Counting = {
  run: Statement;
  schema: string;
  namespaces: readonly IndexedNamespace[];
};

const maxDays = 30;

/**
 * Creates what counts the next seconds that are final, up to 30 days, after the backfill: a statement takes seconds,
 * however much there is to count. Resolves with whether there are more. Throws what the database does.
 */
export function createCounting({ run, schema, namespaces }: Counting) {
  const own = quoted(schema);
  return async (): Promise<boolean> => {
    const { rows } = await run(momentSql(own, namespaces), [`${own}.domain_event`]);
    const { tables, state, first, ...found } = (rows[0] as { found: CountedMoment }).found;
    // Up to the checkpoint's second, without it: within a second checkpoints are in the order of chain ids, and chains
    // with higher ones may still add events to it or take them back.
    const final = Number(found.final);
    if (state?.tables !== tables) {
      await run(beginSql(schema, { tables, end: Math.min(final, first ?? final), isComplete: false }));
      return true;
    }
    // A restart takes the checkpoints back.
    const end = Math.max(state.end, Math.min(final, state.end + maxDays * daySeconds));
    const isComplete = state.isComplete || end === final;
    if (end > state.end || isComplete !== state.isComplete)
      await run(countSql({ schema, namespaces }, { from: state.end, state: { tables, end, isComplete } }));
    await run(labelsSql(own));
    return end < final;
  };
}

/** Keeps the figures of an index up to its final blocks. Returns how to stop it. */
export function keepFigures({ isReady, log, ...counting }: Counting & { isReady: () => boolean; log: Log }) {
  const count = createCounting(counting);
  let isBehind = true;
  const work = async () => {
    isBehind = isReady() ? await count() : true;
  };
  return repeat(work, {
    everyMs: () => (isBehind ? 200 : 60_000),
    log,
    failure: "Could not compute daily figures",
  });
}
