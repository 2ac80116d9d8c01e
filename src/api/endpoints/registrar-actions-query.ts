import type { Hex } from "viem";
import type { Database } from "../database/client.ts";
import type { Paging } from "../rest/paging.ts";

/** Which actions are asked for; conditions of absent members do not count. */
export type ActionFilter = {
  /** Base registrars whose actions count, as CAIP-10 ids. */
  subregistryIds?: readonly string[] | undefined;
  type?: "registration" | "renewal" | undefined;
  node?: Hex | undefined;
  registrant?: Hex | undefined;
  decodedReferrer?: Hex | undefined;
  /** Only actions whose referrer is there and not 32 zero bytes. */
  withReferral?: boolean | undefined;
  /** Unix seconds, inclusive. */
  beginTimestamp?: number | undefined;
  /** Unix seconds, inclusive. */
  endTimestamp?: number | undefined;
};

/** An action with the current state of its name; numbers are decimal texts. */
export type ActionRow = {
  id: string;
  type: "registration" | "renewal";
  incrementalDuration: string;
  registrant: Hex;
  subregistryId: string;
  subregistryNode: Hex;
  node: Hex;
  expiresAt: string;
  baseCost: string | null;
  premium: string | null;
  total: string | null;
  encodedReferrer: Hex | null;
  decodedReferrer: Hex | null;
  blockNumber: string;
  timestamp: string;
  transactionHash: Hex;
  eventIds: string[];
  name: string;
};

/** How many actions match: those up to the checkpoint `settledUpTo`, behind which a reorganisation can reach, and all. */
export type ActionCount = { settledUpTo: string; settled: number; total: number };

// Ids begin with the block's timestamp in ten digits: their order is that of time, and ranges of time are ranges of ids.
const timestampDigits = 10;
const lastTimestamp = 10 ** timestampDigits - 1;

/** A condition that matches nothing has no number: undefined. */
export function actionConditions(filter: ActionFilter): { text: string; values: string[] } | undefined {
  const values: string[] = [];
  const bind = (value: string) => `$${values.push(value)}`;
  const parts: string[] = [];
  const { subregistryIds, beginTimestamp, endTimestamp } = filter;
  if (subregistryIds?.length === 0) return undefined;
  if (beginTimestamp !== undefined && beginTimestamp > lastTimestamp) return undefined;
  if (endTimestamp !== undefined && endTimestamp < 0) return undefined;

  if (subregistryIds?.length === 1) parts.push(`subregistry_id = ${bind(subregistryIds[0] ?? "")}`);
  else if (subregistryIds) parts.push(`subregistry_id IN (${subregistryIds.map(bind).join(", ")})`);
  if (filter.type) parts.push(`type = ${bind(filter.type)}`);
  if (filter.node) parts.push(`node = ${bind(filter.node)}`);
  if (filter.registrant) parts.push(`registrant = ${bind(filter.registrant)}`);
  if (filter.decodedReferrer) parts.push(`decoded_referrer = ${bind(filter.decodedReferrer)}`);
  // Written as the partial index has it, or the index would not be used.
  if (filter.withReferral) parts.push(`encoded_referrer <> '${zeroReferrer}'`);
  if (beginTimestamp !== undefined && beginTimestamp > 0) parts.push(`id >= ${bind(idAt(beginTimestamp))}`);
  if (endTimestamp !== undefined && endTimestamp < lastTimestamp)
    parts.push(`id < ${bind(idAt(endTimestamp + 1))}`);
  return { text: parts.length === 0 ? "true" : parts.join(" AND "), values };
}

/**
 * One page of actions, newest first, ties by id. `totalRecords` is their number: pages behind the middle are counted
 * from the oldest action on.
 */
export async function readActions(
  database: Database,
  filter: ActionFilter,
  { page, recordsPerPage, totalRecords }: Paging & { totalRecords: number },
  signal: AbortSignal,
): Promise<ActionRow[]> {
  const conditions = actionConditions(filter);
  const first = (page - 1) * recordsPerPage;
  const count = Math.min(recordsPerPage, totalRecords - first);
  if (conditions === undefined || count <= 0) return [];
  const behind = totalRecords - first - count;
  const [order, offset] = behind < first ? ["ASC", behind] : ["DESC", first];
  const text = `
    WITH page AS MATERIALIZED (
      SELECT id FROM registrar_actions WHERE ${conditions.text}
      ORDER BY id ${order} LIMIT ${count} OFFSET ${offset}
    )
    SELECT coalesce(json_agg(json_build_object(
      'id', a.id, 'type', a.type, 'incrementalDuration', a.incremental_duration::text, 'registrant', a.registrant,
      'subregistryId', l.subregistry_id, 'subregistryNode', s.node, 'node', a.node, 'expiresAt', l.expires_at::text,
      'baseCost', a.base_cost::text, 'premium', a.premium::text, 'total', a.total::text,
      'encodedReferrer', a.encoded_referrer, 'decodedReferrer', a.decoded_referrer,
      'blockNumber', a.block_number::text, 'timestamp', a.timestamp::text, 'transactionHash', a.transaction_hash,
      'eventIds', a.event_ids, 'name', d.name
    ) ORDER BY a.id DESC), '[]')::text
    FROM page
    JOIN registrar_actions a ON a.id = page.id
    JOIN registration_lifecycles l ON l.node = a.node
    JOIN subregistries s ON s.subregistry_id = l.subregistry_id
    JOIN domain d ON d.id = a.node`;
  const [rows] = await database.row(text, conditions.values, signal);
  return JSON.parse(rows ?? "[]") as ActionRow[];
}

/**
 * How many actions match. With a former count of the same filter only those behind its settled part are counted.
 */
export async function countActions(
  database: Database,
  filter: ActionFilter,
  before: ActionCount | undefined,
  signal: AbortSignal,
): Promise<ActionCount> {
  const conditions = actionConditions(filter);
  const base = before ?? { settledUpTo: "", settled: 0 };
  if (conditions === undefined) return { settledUpTo: "", settled: 0, total: 0 };
  const place = `$${conditions.values.length + 1}`;
  // Every chain is final up to the lowest of the finalized checkpoints.
  const text = `
    WITH border AS MATERIALIZED (
      SELECT coalesce(least(min(finalized_checkpoint), max(latest_checkpoint)), '') COLLATE "C" AS id FROM _ponder_checkpoint
    )
    SELECT (SELECT id FROM border), count(*)::text, count(*) FILTER (WHERE id <= (SELECT id FROM border))::text
    FROM registrar_actions WHERE ${conditions.text} AND id > ${place}`;
  const [border, all, settled] = await database.row(text, [...conditions.values, base.settledUpTo], signal);
  const isAhead = (border ?? "") >= base.settledUpTo;
  return {
    settledUpTo: isAhead ? (border ?? "") : base.settledUpTo,
    settled: base.settled + (isAhead ? Number(settled) : 0),
    total: base.settled + Number(all),
  };
}

const zeroReferrer = `0x${"0".repeat(64)}`;

function idAt(timestamp: number): string {
  return String(timestamp).padStart(timestampDigits, "0");
}
