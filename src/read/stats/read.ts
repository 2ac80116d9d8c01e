import { LRUCache } from "lru-cache";
import { stateSql } from "../../ponder/state.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import { refuse } from "../refusal.ts";
import type { Database } from "../sql/client.ts";
import { planOnce } from "../sql/prepared.ts";
import { buildFiguresSql, type Counted, daySeconds, figuresTable } from "./count.ts";

// Sums of the figures of days: of what is counted, and of what came since, which all requests at one block share.

/** What figures are summed by, in UTC; weeks begin on Monday (ISO 8601). */
export type Interval = "day" | "week" | "month";

/**
 * The first day of the period that a day is in, or of the `plus`-th period after that. Days are numbered from 1 January
 * 1970.
 */
export function startOfPeriod(day: number, interval: Interval, plus = 0): number {
  if (interval === "day") return day + plus;
  if (interval === "week") return day - ((day + 3) % 7) + 7 * plus;
  const date = new Date(day * daySeconds * 1_000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + plus, 1) / (daySeconds * 1_000);
}

const periodSql = {
  day: "f.day",
  week: "f.day - (f.day + 3) % 7",
  month: "date_trunc('month', date '1970-01-01' + f.day)::date - date '1970-01-01'",
};

/** Where figures are read from. `block`: names the blocks that the index has reached. */
type FiguresSource = { database: Database; namespaces: readonly IndexedNamespace[]; block: string };

/** The figures of what is not counted. `from`: its first second. */
type UncountedTail = { from: number; figures: { metric: string; parent: string }[] };

const openTails = () =>
  new LRUCache<string, UncountedTail, FiguresSource>({
    max: 2,
    ignoreFetchAbort: true,
    fetchMethod: (_block, _stale, { context }) => readTail(context),
  });
const tails = new WeakMap<Database, ReturnType<typeof openTails>>();

/** SQL of how far the index is counted. */
const countedSql = stateSql("stats");

// Never without a tail: the cache keeps none, and rejects for one that it drops meanwhile.
async function readTail({ database, namespaces }: FiguresSource): Promise<UncountedTail> {
  const signal = AbortSignal.timeout(30_000);
  const [text] = await database.row(`SELECT ${countedSql}::text`, [], signal);
  const { end: from, isComplete = false } = (JSON.parse(text ?? "null") ?? {}) as Partial<Counted>;
  if (from === undefined || !isComplete) return refuse("overloaded", notCounted);
  const sql = `WITH ${buildFiguresSql(namespaces, { from, to: 9_999_999_999 })} SELECT ${countedSql} ->> 'end', (SELECT coalesce(json_agg(t), '[]')::text FROM (
    SELECT f.metric, f.parent, f.part, f.day, f.value::text FROM figures f) t)`;
  const [now, rows] = await database.row(sql, [], signal);
  return now === String(from)
    ? { from, figures: JSON.parse(rows ?? "[]") }
    : refuse("overloaded", notCounted);
}

const notCounted =
  "Figures of past days are counted in the minutes after the backfill. Try again in some seconds.";

function fetchTail(source: FiguresSource): Promise<UncountedTail> {
  const known = tails.get(source.database) ?? openTails();
  tails.set(source.database, known);
  return known.forceFetch(source.block, { context: source });
}

/**
 * What is asked: metrics below parents, from the first day of a period to before a day. `sum` is of each period;
 * `state` adds all days before; `last` takes the last one that there is.
 */
type FiguresQuery = {
  metrics: readonly string[];
  parents: readonly string[];
  interval: Interval;
  from: number;
  to: number;
  kind: "sum" | "state" | "last";
};

/**
 * The values of a period by metric, as integers in decimal digits. `period`: its first day; of a state, -1 is all
 * before the first period.
 */
export type Figure = { period: number; part: string; values: Record<string, string> };

const figuresSql = ({ interval, kind }: Pick<FiguresQuery, "interval" | "kind">) => {
  const [start, value] = {
    sum: ["$3::int", "sum(f.value)"],
    last: ["$3::int", "(array_agg(f.value ORDER BY f.day DESC))[1]"],
    state: ["0", "sum(f.value)"],
  }[kind] as [string, string];
  const where = `f.metric = ANY ($1::text[]) AND f.parent = ANY ($2::text[]) AND f.day >= ${start} AND f.day < $4::int`;
  return `SELECT ${countedSql} ->> 'end', (SELECT coalesce(json_agg(p), '[]')::text FROM (
  SELECT g.period, g.part, json_object_agg(g.metric, g.value) AS values FROM (
    SELECT f.metric, f.part, CASE WHEN f.day < $3::int THEN -1 ELSE ${periodSql[interval]} END AS period, ${value}::text AS value FROM (
      SELECT f.metric, f.part, f.day, f.value FROM ${figuresTable} f WHERE ${where}
      UNION ALL SELECT f.metric, f.part, f.day, f.value
        FROM json_to_recordset($5::json) f(metric text, parent text, part text, day int, value numeric) WHERE ${where}) f
    GROUP BY 1, 2, 3) g GROUP BY 1, 2) p)`;
};

/** Reads figures. Refuses until the past is counted. */
export async function readFigures(
  source: FiguresSource,
  asked: FiguresQuery,
  signal: AbortSignal,
): Promise<Figure[]> {
  const { metrics, parents, from, to } = asked;
  const sql = planOnce(figuresSql(asked));
  // More may be counted between the two statements.
  for (let attempt = 0; attempt < 3; attempt++) {
    const tail = await fetchTail(source);
    const since = tail.figures.filter((one) => metrics.includes(one.metric) && parents.includes(one.parent));
    const asArray = (words: readonly string[]) => `{${words.map((word) => `"${word}"`)}}`;
    const values = [asArray(metrics), asArray(parents), String(from), String(to), JSON.stringify(since)];
    const [end, rows] = await source.database.row(sql, values, signal);
    if (end === String(tail.from)) return JSON.parse(rows ?? "[]") as Figure[];
    tails.get(source.database)?.delete(source.block);
  }
  return refuse("overloaded", notCounted);
}
