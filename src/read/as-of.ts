import { z } from "zod/v4";
import { type CurrentStatus, findIndexedBlock, headHash } from "../status/types.ts";

// Which blocks a response is of, and what it leaves out.

const block = z.strictObject({
  block_number: z.int(),
  block_hash: z.string().nullable(),
  timestamp: z.string(),
});

const completeness = z.enum(["full", "partial", "unsupported"]);
const blocks = z.record(z.string(), block);

export const metaSchema = z.strictObject({
  as_of: blocks.optional(),
  as_of_completeness: z
    .record(z.string(), z.strictObject({ completeness, unsupported_reason: z.string() }))
    .optional()
    .describe("Chains without an indexed block"),
  as_of_token: z.string().optional().describe("`as_of` as one opaque token"),
  source: z.enum(["indexed", "verified"]).optional(),
  completeness: completeness.optional(),
  unsupported_fields: z.array(z.string()).optional(),
  unsupported_reason: z.string().optional(),
  unlisted_permission_surfaces: z.array(z.string()).optional(),
});

/** What `meta` says of a response. */
export type Meta = z.output<typeof metaSchema>;

/** `meta` with what `more` leaves out beside what it leaves out already. */
export function withGaps(meta: Meta, more: Meta): Meta {
  const fields = [...(meta.unsupported_fields ?? []), ...(more.unsupported_fields ?? [])];
  return { ...meta, ...more, unsupported_fields: fields.length > 0 ? fields : undefined };
}

/** The hash of a chain's final block, if known. */
export type HashOf = (chainId: number, block: { number: number; timestamp: number }) => string | undefined;

/** The last indexed block of each chain. */
export function describePosition(current: CurrentStatus, hashOf: HashOf): Meta {
  const as_of: z.output<typeof blocks> = {};
  const missing: NonNullable<Meta["as_of_completeness"]> = {};
  for (const [id, chain] of Object.entries(current.snapshot.omnichainSnapshot.chains)) {
    const indexed = findIndexedBlock(chain);
    if (indexed === undefined) {
      missing[id] = { completeness: "unsupported", unsupported_reason: "temporarily_unavailable" };
      continue;
    }
    const { number, timestamp } = indexed;
    const block_hash =
      headHash(current.blocks?.[id], indexed) ?? hashOf(Number(id), { number, timestamp }) ?? null;
    as_of[id] = { block_number: number, block_hash, timestamp: String(timestamp) };
  }
  return { as_of, ...(Object.keys(missing).length > 0 ? { as_of_completeness: missing } : {}) };
}

/**
 * The last indexed block of each chain, and a token that changes with them. For responses about one thing, not for
 * lists.
 */
export function asOfWithToken(current: CurrentStatus, hashOf: HashOf): Meta {
  const meta = describePosition(current, hashOf);
  return { ...meta, as_of_token: Buffer.from(JSON.stringify(meta.as_of)).toString("hex") };
}

/** The blocks of a value of `as_of_token`, by chain id; undefined for anything else. */
export function readToken(text: string): z.output<typeof blocks> | undefined {
  if (!/^([0-9a-f]{2})+$/.test(text)) return undefined;
  try {
    return blocks.safeParse(JSON.parse(Buffer.from(text, "hex").toString())).data;
  } catch {
    return undefined;
  }
}

/** The newest time (Unix seconds) of a value of `as_of_token`; undefined for anything else. */
export function tokenTime(text: string): number | undefined {
  const times = Object.values(readToken(text) ?? {}).map(({ timestamp }) => Number(timestamp));
  return times.length > 0 ? Math.max(...times) : undefined;
}

/** Whether a value of `as_of_token` names the blocks of a status. A hash that is not known yet does not count. */
export function isTokenOf(text: string, current: CurrentStatus): boolean {
  const named = Object.entries(readToken(text) ?? {}).map(([id, block]) => {
    const known = { number: block.block_number, timestamp: Number(block.timestamp) };
    const hash = headHash(current.blocks?.[id], known);
    const isOther = block.block_hash !== null && hash !== undefined && block.block_hash !== hash;
    return [id, block.block_number, isOther ? undefined : block.timestamp];
  });
  const { chains } = current.snapshot.omnichainSnapshot;
  const indexed = Object.entries(chains).flatMap(([id, chain]) => {
    const block = findIndexedBlock(chain);
    return block === undefined ? [] : [[id, block.number, String(block.timestamp)]];
  });
  return named.length > 0 && JSON.stringify(named) === JSON.stringify(indexed);
}
