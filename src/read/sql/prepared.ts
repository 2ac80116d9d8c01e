import { LRUCache } from "lru-cache";

// Which statements server connections prepare, by text. Planning a long statement takes longer than running it. A
// connection keeps some sixty bytes for each character of a prepared text.

/** A prepared statement. `planning`: the `plan_cache_mode` that it runs with. */
export type Prepared = { name: string; isOfClient: boolean; planning: Planning };

/** Once: one plan for all values, which the planner does not see. Each: a plan for the values of each run. */
export type Planning = "force_generic_plan" | "force_custom_plan";

const own = new LRUCache<string, Prepared>({ max: 400 });
const ofClients = new LRUCache<string, Prepared>({
  maxSize: 200_000,
  maxEntrySize: 20_000,
  sizeCalculation: (_, text) => text.length,
});
// How often clients' texts came lately.
const runs = new LRUCache<string, number>({ maxSize: 1_000_000, sizeCalculation: (_, text) => text.length });
const oftenRuns = 3;
let names = 0;

/**
 * Marks a statement that each server connection parses and plans once. For texts of few forms with one good plan for
 * all values, such as lookups by key. Returns the text.
 */
export function planOnce(sql: string): string {
  if (!own.has(sql))
    own.set(sql, { name: `own_${names++}`, isOfClient: false, planning: "force_generic_plan" });
  return sql;
}

/**
 * Marks a statement whose form a client determines. From its third run on, each server connection parses it once, and
 * plans it once too if one plan is good for all values. Returns the text.
 */
export function prepareOften(sql: string, { isPlannedOnce }: { isPlannedOnce: boolean }): string {
  if (ofClients.has(sql)) return sql;
  const count = (runs.get(sql) ?? 0) + 1;
  runs.set(sql, count);
  const planning = isPlannedOnce ? "force_generic_plan" : "force_custom_plan";
  if (count >= oftenRuns) ofClients.set(sql, { name: `often_${names++}`, isOfClient: true, planning });
  return sql;
}

/** How connections prepare a statement; undefined if they do not. */
export const preparedAs = (sql: string): Prepared | undefined => own.get(sql) ?? ofClients.get(sql);

/** Characters of clients' statements that a connection may have prepared; then another takes its place. */
export const maxPrepared = 400_000;
