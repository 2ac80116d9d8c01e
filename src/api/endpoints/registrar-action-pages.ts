import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { finalizedCheckpointSql } from "../../ponder/checkpoints.ts";
import type { Database } from "../database/client.ts";
import type { Paging } from "../rest/paging.ts";
import {
  addressSchema,
  amountSchema,
  chainIdSchema,
  countSchema,
  field,
  hashSchema,
  readingOf,
  secondsSchema,
} from "../rest/values.ts";

/** The requested actions; absent members are not conditions. */
export type ActionFilter = {
  /** Base registrars whose actions count, as CAIP-10 ids. */
  subregistryIds?: readonly string[] | undefined;
  type?: "registration" | "renewal" | undefined;
  node?: Hex | undefined;
  registrant?: Hex | undefined;
  decodedReferrer?: Hex | undefined;
  /** Only actions with a referrer other than 32 zero bytes. */
  withReferral?: boolean | undefined;
  /** Unix seconds, inclusive. */
  beginTimestamp?: number | undefined;
  /** Unix seconds, inclusive. */
  endTimestamp?: number | undefined;
};

// The three prices are all null if no controller reported them.
const price = (column: string) =>
  field(
    `CASE WHEN a.base_cost IS NOT NULL AND a.premium IS NOT NULL AND a.total IS NOT NULL
      THEN json_build_object('currency', 'ETH', 'amount', ${column}::text) END`,
    z
      .strictObject({ currency: z.literal("ETH"), amount: amountSchema.meta({ description: "Wei" }) })
      .nullable()
      .meta({ description: "All three are null where no controller reported prices" }),
  );

/** An action with the current state of its name. */
export const actionReading = readingOf({
  action: {
    id: field("a.id", z.string().min(1)),
    type: field("a.type", z.enum(["registration", "renewal"])),
    incrementalDuration: field("a.incremental_duration", countSchema.meta({ description: "Seconds" })),
    registrant: field("a.registrant", addressSchema),
    registrationLifecycle: {
      subregistry: {
        subregistryId: {
          chainId: field("split_part(l.subregistry_id, ':', 2)::bigint", chainIdSchema),
          address: field("split_part(l.subregistry_id, ':', 3)", addressSchema),
        },
        node: field("s.node", hashSchema),
      },
      node: field("a.node", hashSchema),
      expiresAt: field("l.expires_at", secondsSchema),
    },
    pricing: { baseCost: price("a.base_cost"), premium: price("a.premium"), total: price("a.total") },
    referral: {
      encodedReferrer: field("a.encoded_referrer", hashSchema.nullable()),
      decodedReferrer: field(
        "a.decoded_referrer",
        addressSchema
          .nullable()
          .meta({ description: "The zero address where the encoding is not an address" }),
      ),
    },
    block: { timestamp: field("a.timestamp", secondsSchema), number: field("a.block_number", countSchema) },
    transactionHash: field("a.transaction_hash", hashSchema),
    eventIds: field("a.event_ids", z.array(z.string()).min(1)),
  },
  name: field("d.name", z.string()),
});

// Ids begin with the block's timestamp in ten digits: their order is that of time, and ranges of time are ranges of ids.
const timestampDigits = 10;
const lastTimestamp = 10 ** timestampDigits - 1;
const zeroReferrer = `0x${"0".repeat(64)}`;

// Undefined for a filter that matches nothing.
function conditionsOf(filter: ActionFilter): { text: string; values: string[] } | undefined {
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
  // Written like the condition of the partial index, which would not be used otherwise.
  if (filter.withReferral) parts.push(`encoded_referrer <> '${zeroReferrer}'`);
  if (beginTimestamp !== undefined && beginTimestamp > 0) parts.push(`id >= ${bind(idAt(beginTimestamp))}`);
  if (endTimestamp !== undefined && endTimestamp < lastTimestamp)
    parts.push(`id < ${bind(idAt(endTimestamp + 1))}`);
  return { text: parts.length === 0 ? "true" : parts.join(" AND "), values };
}

function idAt(timestamp: number): string {
  return String(timestamp).padStart(timestampDigits, "0");
}

/**
 * One page of actions, newest first, ties by id. `totalRecords` is their number: pages past the middle are counted
 * from the oldest action on.
 */
export async function readActions(
  database: Database,
  filter: ActionFilter,
  { page, recordsPerPage, totalRecords }: Paging & { totalRecords: number },
  signal: AbortSignal,
): Promise<z.output<typeof actionReading.schema>[]> {
  const conditions = conditionsOf(filter);
  const first = (page - 1) * recordsPerPage;
  const count = Math.min(recordsPerPage, totalRecords - first);
  if (conditions === undefined || count <= 0) return [];
  const after = totalRecords - first - count;
  const [order, offset] = after < first ? ["ASC", after] : ["DESC", first];
  const text = `
    WITH page AS MATERIALIZED (
      SELECT id FROM registrar_actions WHERE ${conditions.text}
      ORDER BY id ${order} LIMIT ${count} OFFSET ${offset}
    )
    SELECT coalesce(json_agg(${actionReading.sql} ORDER BY a.id DESC), '[]')::text
    FROM page
    JOIN registrar_actions a ON a.id = page.id
    JOIN registration_lifecycles l ON l.node = a.node
    JOIN subregistries s ON s.subregistry_id = l.subregistry_id
    JOIN domain d ON d.id = a.node`;
  const [rows] = await database.row(text, conditions.values, signal);
  return (JSON.parse(rows ?? "[]") as unknown[]).map(actionReading.read);
}

/** How many actions match: those up to the checkpoint `settledUpTo`, which no reorganisation can reach, and all. */
export type ActionCount = { settledUpTo: string; settled: number; total: number };

/** How many actions match. With an earlier count of the same filter only those after its settled part are counted. */
export async function countActions(
  database: Database,
  filter: ActionFilter,
  before: ActionCount | undefined,
  signal: AbortSignal,
): Promise<ActionCount> {
  const conditions = conditionsOf(filter);
  const base = before ?? { settledUpTo: "", settled: 0 };
  if (conditions === undefined) return { settledUpTo: "", settled: 0, total: 0 };
  const place = `$${conditions.values.length + 1}`;
  const text = `
    WITH border AS MATERIALIZED (SELECT ${finalizedCheckpointSql} AS id)
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

type Known = { head: string; count: Promise<ActionCount> };

/**
 * Numbers of matching actions, counted once for each filter and head of the index. `count` counts on from an earlier
 * number of the same filter; at most 1,000 filters are remembered.
 */
export function createActionCounts(
  count: (filter: ActionFilter, before: ActionCount | undefined) => Promise<ActionCount>,
) {
  const known = new LRUCache<string, Known>({ max: 1_000 });

  /** Number of matching actions at a head: any text that differs when another block has been indexed. */
  return async (filter: ActionFilter, head: string): Promise<number> => {
    const key = JSON.stringify(filter);
    const before = known.get(key);
    if (before?.head === head) return (await before.count).total;
    const counted = countOn(before, (earlier) => count(filter, earlier));
    known.set(key, { head, count: counted });
    try {
      return (await counted).total;
    } catch (error) {
      // A failed count is not remembered; the previous one still holds for its settled part.
      if (known.peek(key)?.count === counted) {
        if (before) known.set(key, before);
        else known.delete(key);
      }
      throw error;
    }
  };
}

async function countOn(
  before: Known | undefined,
  count: (earlier: ActionCount | undefined) => Promise<ActionCount>,
): Promise<ActionCount> {
  const earlier = await before?.count.catch(() => undefined);
  return count(earlier);
}
