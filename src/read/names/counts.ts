import { type Meta, withGaps } from "../as-of.ts";
import { branchesFrom, byName, countSql } from "./lists.ts";
import { readGivenNames } from "./lookups.ts";
import { detailRow, listRecordKeys, type NameRow } from "./rows.ts";
import { type LookupContext, openStatement, type StatementCall } from "./source.ts";

/** Up to which number the subnames of a name are counted. */
export const maxSubnames = 10_000;

type CountedRows = { data: NameRow[]; meta: Meta };

const beyondLimit: CountedRows["meta"] = {
  completeness: "partial",
  unsupported_fields: ["subname_count"],
  unsupported_reason: "count_above_limit",
};

/** Adds the number of subnames to rows, none beyond the limit, and if `withRecords` the number of known records. */
export async function withCounts<T extends CountedRows>(
  lookup: LookupContext["lookup"],
  call: StatementCall,
  body: T,
  withRecords = false,
): Promise<T> {
  const nodes = body.data.map(({ namehash }) => namehash);
  const [subnames, records] = await Promise.all([
    countSubnames(lookup, call, nodes),
    withRecords ? countRecords(lookup, call, nodes) : [],
  ]);
  const data = body.data.map((row, at) => ({
    ...row,
    subname_count: subnames[at] ?? undefined,
    ...(withRecords ? { record_count: records[at] } : {}),
  }));
  return { ...body, data, meta: subnames.includes(null) ? withGaps(body.meta, beyondLimit) : body.meta };
}

// The number of subnames of each node, null beyond the limit.
async function countSubnames(lookup: LookupContext["lookup"], call: StatementCall, nodes: readonly string[]) {
  if (nodes.length === 0) return [];
  const { bind, rows } = openStatement(lookup, call, { isCommon: true });
  const branches = branchesFrom(lookup.namespaces, 'domain.parent_id = q.node COLLATE "C"', byName);
  const count = countSql(lookup.namespaces, { branches, filters: [] }, maxSubnames);
  const asked = `unnest(${bind(`{${nodes.join(",")}}`)}::text[]) WITH ORDINALITY q (node, at)`;
  const counts = await rows<number>(`SELECT json_agg((${count})::int ORDER BY q.at)::text FROM ${asked}`);
  return counts.map((found) => (found > maxSubnames ? null : found));
}

// The number of known records of each node, undefined where only the chain knows them.
async function countRecords(lookup: LookupContext["lookup"], call: StatementCall, nodes: readonly string[]) {
  const read = await readGivenNames(lookup, call, { given: nodes, withRecords: true });
  return read.map(({ found }) => {
    const row = found && detailRow(lookup.namespaces, found, lookup.known);
    return row?.records && listRecordKeys(row).length;
  });
}
