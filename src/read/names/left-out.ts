import type { Hex } from "viem";
import type { Meta } from "../as-of.ts";
import type { Database } from "../sql/client.ts";
import { currentMoment } from "../sql/moment.ts";
import { planOnce } from "../sql/prepared.ts";
import type { NamesSource, StatementCall } from "./source.ts";
import { secondGeneration } from "./stored-name.ts";
// Names that a bound leaves out.

/** Names that an address holds, or those in a registry of ENSv2. */
export type NamesOf = { holder: Hex } | { registry: Hex };

const leavesOut = (chainId: number, where = "true") =>
  planOnce(
    `SELECT EXISTS (SELECT FROM v2_contracts c WHERE c.chain_id = ${chainId} AND c.leaves_out AND ${where})::text`,
  );

// Whether any registry leaves names out, which few indexes have: read once for each block.
const anyLeftOut = new WeakMap<object, { heads: string; read: Promise<(string | null)[]> }>();

async function isAnyLeftOut(
  database: Database,
  chainId: number,
  heads: string | undefined,
): Promise<boolean> {
  if (heads === undefined || currentMoment() !== undefined) return true;
  let known = anyLeftOut.get(database);
  if (known?.heads !== heads) {
    // Others may wait for the same.
    known = { heads, read: database.row(leavesOut(chainId), [], AbortSignal.timeout(10_000)) };
    known.read.catch(() => anyLeftOut.delete(database));
    anyLeftOut.set(database, known);
  }
  return (await known.read)[0] === "true";
}

/** What `meta` says of a list where a bound left names of ENSv2 out (docs/data-model.md). */
export async function namesLeftOut(
  { database, namespaces }: Pick<NamesSource, "database" | "namespaces">,
  { request, current }: StatementCall,
  of?: NamesOf,
): Promise<Meta> {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined || !(await isAnyLeftOut(database, v2.chainId, current.heads))) return {};
  const [[kind, value] = ["all"]] = Object.entries(of ?? {});
  const isOf = {
    all: "true",
    registry: "c.address = $1",
    holder:
      "EXISTS (SELECT FROM v2_entries e WHERE e.chain_id = c.chain_id AND e.registry = c.address AND e.owner = $1)",
  }[kind];
  const values = value === undefined ? [] : [value];
  const [isLess] = await database.row(leavesOut(v2.chainId, isOf), values, request.raw.signal);
  return isLess === "true" ? { completeness: "partial", unsupported_reason: "names_above_limit" } : {};
}
