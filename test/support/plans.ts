import type { Database, RowsReader } from "../../src/read/sql/client.ts";

/** A node of a plan that `EXPLAIN (ANALYZE, FORMAT JSON)` returned. */
export type Plan = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: Plan[];
};

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** All nodes of the plan in the rows of such a statement. */
export const planOf = (rows: readonly Record<string, unknown>[]): Plan[] =>
  nodesOf((rows[0]!["QUERY PLAN"] as [{ Plan: Plan }])[0].Plan);

/** The tables that a plan reads from end to end, of more than so many rows. */
export const scannedTables = (nodes: readonly Plan[], rows: number) =>
  nodes
    .filter(
      (node) => node["Node Type"] === "Seq Scan" && node["Actual Loops"] > 0 && node["Actual Rows"] > rows,
    )
    .map((node) => node["Relation Name"]);

/** The most rows that a plan sorts at once. */
export function maxSorted(nodes: readonly Plan[]): number {
  const sorted = nodes.filter((node) => node["Node Type"] === "Sort").flatMap((node) => node.Plans ?? []);
  return Math.max(0, ...sorted.map((node) => node["Actual Rows"]));
}

/** A database that keeps the statements which are sent to it. */
export function recordStatements<Inner extends Database & Partial<RowsReader>>(inner: Inner) {
  const statements: { sql: string; values: readonly string[] }[] = [];
  const database: Inner = {
    ...inner,
    row(...given) {
      statements.push({ sql: given[0], values: given[1] });
      return inner.row(...given);
    },
    ...(inner.rows && {
      rows(...given: Parameters<RowsReader["rows"]>) {
        statements.push({ sql: given[0], values: given[1] });
        return inner.rows?.(...given);
      },
    }),
  };
  return { database, statements };
}
