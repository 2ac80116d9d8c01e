import { addrReverseNode } from "../ens/ids.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { buildCheckpointParts } from "../ponder/checkpoints.ts";
import type { HealRows } from "../ponder/shared.ts";
import { hasTable, quoted, type Statement } from "../ponder/sql-client.ts";
import { lacksLabel, shortIdOf } from "../schema/sql.ts";
import { repeat } from "./repeat.ts";
import { type Healing, isBusy, namePastSchema, readStatuses, saveStatus } from "./stored-indexes.ts";

// Heals the rows of an index whose labels a newer version of the label set knows (src/indexing/healing.ts), while
// indexing goes on. Handlers already read and write healed rows, so only rows that none of them reads are left. They
// are healed in the order of their ids. Once an id is passed, all its rows are healed and stay so: the table's, and
// those to which a reorganization or a crash goes back.

/**
 * Notes that an index of an earlier version of the label set is to be healed, before it is described with the new one.
 * `from` is the version with which it began, undefined for a new index.
 */
export async function beginHealing(
  run: Statement,
  schema: string,
  { from, to }: { from: number | undefined; to: number },
): Promise<void> {
  const { description } = await readStatuses(run, schema);
  if (from === undefined || Number(description?.settings["LABEL_SET_VERSION"]) >= to) return;
  const first = { part: "domain", cursor: "", asked: 0, healed: 0, startedAt: Date.now() } as const;
  await saveStatus(run, schema, "labels", { from, to, ...first } satisfies Healing);
}

/** Does work in one transaction, on a connection of its own. */
type InTransaction = <T>(work: (run: Statement) => Promise<T>) => Promise<T>;

export type HealOptions = {
  run: Statement;
  inTransaction: InTransaction;
  schema: string;
  healRows: HealRows;
  /** Chain of the root registry, and its last block in the index if it ends. */
  root: { chainId: number; endBlock: number | undefined };
  isSubgraphCompatible: boolean;
  /** Called in the transaction of a batch with the nodes of its names. */
  onHealed?: (run: Statement, nodes: readonly string[]) => Promise<void>;
  batch?: number;
};

type HealingOptions = HealOptions & {
  isReady: () => boolean;
  /** Whether new blocks wait, which come first. */
  isBehind: () => boolean;
  onDone: () => void;
  log: Log;
};

// How long healing waits for an index that is behind: one that never catches up is healed, too.
const maxWaitMs = 5_000;

/** Heals until the index is healed, then calls `onDone`. Nothing happens before `isReady`. Returns how to stop it. */
export function keepHealing({ isReady, isBehind, onDone, log, ...options }: HealingOptions): () => void {
  let [isWorking, saidAt, begunAt] = [false, 0, 0];
  const work = async () => {
    isWorking = false;
    if (!isReady() || (isBehind() && Date.now() - begunAt < maxWaitMs)) return undefined;
    begunAt = Date.now();
    const state = await healBatch(options).catch((error) => {
      if (!isBusy(error)) throw error;
      return undefined;
    });
    isWorking = state?.part !== "done";
    if (state === undefined) return undefined;
    const { asked, healed, to, startedAt } = state;
    if (Date.now() - saidAt > 10_000 || !isWorking) {
      saidAt = Date.now();
      const seconds = Math.round((saidAt - startedAt) / 1_000);
      const what = isWorking ? `Healing labels to version ${to}` : `Healed labels to version ${to}`;
      log("info", `${what}: ${healed} of ${asked} rows without a label healed in ${seconds} s.`);
    }
    if (isWorking) return undefined;
    onDone();
    return "done";
  };
  const failure = "Labels could not be healed";
  return repeat(work, {
    everyMs: () => (isWorking ? 1 : 1_000),
    ...{ log, failure, fields: { section: seeOperations("Heal labels") } },
  });
}

/** Heals the next rows. Each batch is one transaction, which also says the progress of healing. */
export async function healBatch(options: HealOptions): Promise<Healing> {
  const { run, schema, inTransaction } = options;
  const { labels: state } = await readStatuses(run, schema);
  if (state === undefined) throw new Error(`Nothing is to be healed in schema ${quoted(schema)}.`);
  const { part } = state;
  if (part === "done") return state;
  const heal = part === "resolver_event" ? healPrimaryNames : createRowHealer(part);
  // Labels are looked up before the transaction, which looks up those of rows alone that changed meanwhile.
  const seen: Seen = new Map();
  await heal(run, state.cursor, options, { isDry: true, seen });
  return inTransaction(async (own) => {
    // An indexer that waits for this table waits behind this; so it gives up soon, and tries again.
    await own("SET LOCAL lock_timeout = 1500");
    const lock = (table: string, mode: string) =>
      own(`LOCK TABLE ${quoted(schema)}.${table} IN ${mode} MODE`);
    for (const table of readBy[part]) await lock(table, "ACCESS SHARE");
    await lock(part, "SHARE ROW EXCLUSIVE");
    // A note that becomes final meanwhile would be kept without its label.
    if (part !== "resolver_event") await lock(`_reorg__${part}`, "SHARE ROW EXCLUSIVE");
    const { cursor, asked, healed } = await heal(own, state.cursor, options, { isDry: false, seen });
    const next: Healing = {
      ...state,
      ...(cursor === undefined ? { part: following[part], cursor: "" } : { cursor }),
      asked: state.asked + asked,
      healed: state.healed + healed,
    };
    if (next.part === "done") next.endedAt = Date.now();
    await saveStatus(own, schema, "labels", next);
    return next;
  });
}

const following = { domain: "registration", registration: "resolver_event", resolver_event: "done" } as const;
const batchRows = 2_000;

// ponder: a reorganization locks all tables in the order of their names. Healing locks in the same order, so that
// neither waits for the other.
const readBy = {
  domain: [],
  registration: ["domain"],
  resolver_event: ["domain", "domain_event", "resolver"],
} as const;

/** Of a batch: its last id, undefined at the end of the table. */
type Outcome = { cursor: string | undefined; asked: number; healed: number };
/** What rows as JSON heal to; undefined if nothing changes. */
type Seen = Map<string, Record<string, unknown> | undefined>;
type How = { isDry: boolean; seen: Seen };
type Heal = (run: Statement, after: string, of: HealOptions, how: How) => Promise<Outcome>;

// Columns that healing reads, and sets but for labelhash, by property; the chain of a row.
const tables = {
  domain: {
    columns: {
      name: "name",
      labelName: "label_name",
      labelhash: "labelhash",
      unrevealedName: "unrevealed_name",
    },
    chain: () => "t.chain_id",
  },
  registration: {
    columns: { labelName: "label_name" },
    chain: (own: string) => `(SELECT d.chain_id FROM ${own}.domain d WHERE d.id = t.domain_id)`,
  },
} as const;

// ponder: `_reorg__<table>` has a row as it was before each change that is not final; src/operations/past.ts keeps
// others.
const createRowHealer =
  (part: "domain" | "registration"): Heal =>
  async (run, after, { schema, healRows, batch = batchRows, root, onHealed }, { isDry, seen }) => {
    const own = quoted(schema);
    const { columns, chain } = tables[part];
    const selected = Object.entries(columns).map(([property, column]) => `${column} AS "${property}"`);
    const select = (table: string, key: string, where: string) =>
      `SELECT ${key} AS key, id, ${selected.join(", ")} FROM ${table} WHERE ${lacksLabel[part]} AND id > $1 ${where}`;
    const { rows } = await run(`${select(`${own}.${part}`, "id", "ORDER BY id")} LIMIT ${batch}`, [after]);
    const last = rows.length < batch ? undefined : String(rows.at(-1)?.["id"]);
    const changesOf = async (found: Record<string, unknown>[]) => {
      const byText = new Map(found.map((row) => [JSON.stringify(row), row]));
      const left = [...byText].filter(([text]) => !seen.has(text));
      const before = left.map(([, row]) => row);
      const healed = await healRows(part, before);
      for (const [at, [text, row]] of left.entries())
        seen.set(text, healed[at] === row ? undefined : healed[at]);
      return [...byText.keys()].map((text) => seen.get(text)).filter((row) => row !== undefined);
    };
    const changed = await changesOf(rows);
    const former = [];
    for (const table of [`${own}._reorg__${part}`, `${quoted(namePastSchema(schema))}.${part}_versions`]) {
      if (!(await hasTable(run, table))) continue;
      const text = select(table, "ctid::text", "AND ($2::text IS NULL OR id <= $2)");
      const { rows: found } = await run(text, [after, last ?? null]);
      former.push({ table, rows: await changesOf(found) });
    }
    const outcome = { cursor: last, asked: rows.length, healed: changed.length };
    if (isDry) return outcome;
    const update = (table: string, [key, type]: string[], more: string, values: readonly object[]) => {
      const given = Object.entries(columns).filter(([property]) => property !== "labelhash");
      const assigned = given.map(([property, column]) => `${column} = v."${property}"`);
      const types = given.map(([property]) => `"${property}" text`);
      return run(
        `UPDATE ${table} t SET ${assigned.join(", ")}${more}
          FROM json_to_recordset($1::json) AS v(key text, ${types.join(", ")}) WHERE t.${key} = v.key::${type}`,
        [JSON.stringify(values)],
      );
    };
    for (const { table, rows } of former) if (rows.length > 0) await update(table, ["ctid", "tid"], "", rows);
    if (changed.length > 0) {
      const latest = buildCheckpointParts("c.latest_checkpoint");
      const head = `(SELECT ${latest.block}::bigint FROM ${own}._ponder_checkpoint c
        WHERE c.chain_id = coalesce(${chain(own)}, ${root.chainId}) AND ${latest.chain}::bigint = c.chain_id)`;
      const stamp = `, change_block = greatest(t.change_block, least(${head}, ${root.endBlock ?? null}::bigint))`;
      await withoutTriggers(run, `${own}.${part}`, () =>
        update(`${own}.${part}`, ["id", "text"], stamp, changed),
      );
      const nodes = changed.map(({ id }) => String(id));
      if (part === "domain") await onHealed?.(run, nodes);
    }
    return outcome;
  };

// Events that set the primary name of an account whose label was unknown: its reverse name had the resolver that
// emitted the event.
const healPrimaryNames: Heal = async (run, after, options, { isDry }) => {
  const { schema, healRows, batch = batchRows, root, isSubgraphCompatible } = options;
  const own = quoted(schema);
  const { rows } = await run(
    `SELECT id, labelhash, NULL AS "labelName", NULL AS name, NULL AS "unrevealedName" FROM ${own}.domain
      WHERE parent_id = '${addrReverseNode}' AND (${shortIdOf("id")}, id) > (${shortIdOf("$1::text")}, $1) ORDER BY ${shortIdOf("id")}, id LIMIT ${batch}`,
    [after],
  );
  const cursor = rows.length < batch ? undefined : String(rows.at(-1)?.["id"]);
  const accounts = (await healRows("domain", rows)).flatMap(({ id, labelName }) =>
    /^[0-9a-f]{40}$/.test(String(labelName)) ? [{ id, account: `0x${labelName}` }] : [],
  );
  if (isDry || accounts.length === 0) return { cursor, asked: 0, healed: 0 };
  const ofRoot = (id: string) => (isSubgraphCompatible ? "true" : `starts_with(${id}, '${root.chainId}-')`);
  const position = (row: string) => `(${row}.block_number, ${row}.log_index)`;
  const changed = await withoutTriggers(run, `${own}.resolver_event`, () =>
    run(
      `UPDATE ${own}.resolver_event e SET primary_name_of = v.account
        FROM json_to_recordset($1::json) AS v(id text, account text) JOIN ${own}.resolver r ON r.domain_id = v.id AND ${ofRoot("r.id")}
        WHERE e.resolver_id = r.id AND e.type = 'NameChanged' AND e.primary_name_of IS NULL AND r.id = (
          SELECT n.resolver_id FROM ${own}.domain_event n WHERE n.domain_id = v.id AND n.type = 'NewResolver' AND ${ofRoot("n.id")}
            AND ${position("n")} < ${position("e")} ORDER BY n.block_number DESC, n.log_index DESC LIMIT 1)
        RETURNING v.id`,
      [JSON.stringify(accounts)],
    ),
  );
  const nodes = new Set(changed.rows.map(({ id: node }) => String(node)));
  if (nodes.size > 0) await options.onHealed?.(run, [...nodes]);
  return { cursor, asked: 0, healed: 0 };
};

// ponder: a trigger records each change, to take it back with the next block. What is healed stays.
async function withoutTriggers<T>(run: Statement, table: string, work: () => Promise<T>): Promise<T> {
  await run(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  const result = await work();
  await run(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  return result;
}
