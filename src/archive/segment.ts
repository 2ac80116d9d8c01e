import { z } from "zod/v4";
import { headerFields } from "../rpc/block-proofs.ts";
import { type ArchivePlace, parsedJson, readLines } from "./folder.ts";
import { ArchiveError, type Segment } from "./manifest.ts";

const hexPattern = /^0x[0-9a-f]*$/i;
const hex = z.string().regex(hexPattern);
const bytes = z.string().regex(/^0x([0-9a-f]{2})*$/i);
const address = z.string().regex(/^0x[0-9a-f]{40}$/i);
const hash = z.string().regex(/^0x[0-9a-f]{64}$/i);
const count = z.number().int().min(0);

/** Index, hash, sender and recipient. */
const transaction = z.tuple([count, hash, address, address.nullable()]);

/** Index in the block, that of its transaction in the block's list, contract, topics and data. */
const log = z.tuple([count, count, address, z.array(hash).max(4), bytes]);

/** Type, status or root, cumulative gas, and how many logs follow those of the receipts before it. */
const receipt = z.tuple([hex, hex, hex, count]);

const header = z.looseObject({
  number: z.string().regex(/^0x[0-9a-f]{1,13}$/i),
  ...{ hash, parentHash: hash, logsBloom: hex },
});
const block = z.tuple([header, z.array(transaction), z.array(log), z.array(receipt).optional()]);

/** A block: the fields of its header that archives keep, and of its content what was asked for; all of it if `receipts` are there. */
export type ArchivedBlock = {
  header: Record<"number" | "hash" | "parentHash" | "logsBloom", string> & Record<string, string>;
  transactions: z.infer<typeof transaction>[];
  logs: z.infer<typeof log>[];
  receipts?: z.infer<typeof receipt>[] | undefined;
};

/** The fields of a header that archives keep: what a block's hash covers, and what Ponder stores beyond it. */
export const keptFields = [...headerFields, "hash", "size", "totalDifficulty"];

/** The kept fields of a block's header that are hexadecimal text. */
export function keptHeader(block: Record<string, unknown>): ArchivedBlock["header"] {
  const isKept = (value: unknown) => typeof value === "string" && hexPattern.test(value);
  const kept = keptFields.flatMap((field) => (isKept(block[field]) ? [[field, block[field]]] : []));
  return Object.fromEntries(kept) as ArchivedBlock["header"];
}

/** The lines of a segment of blocks. */
export const linesOf = (blocks: readonly ArchivedBlock[]): unknown[][] =>
  blocks.map(({ header, transactions, logs, receipts }) =>
    receipts === undefined ? [header, transactions, logs] : [header, transactions, logs, receipts],
  );

/** The blocks of a segment. Throws an ArchiveError if they are not those that the manifest lists. */
export async function readSegment(
  place: ArchivePlace,
  chainId: number,
  segment: Segment,
): Promise<ArchivedBlock[]> {
  const blocks = await readLines(place, { chainId, file: segment }, blockOf);
  const numbers = blocks.map(({ header }) => Number(header.number));
  const isOrdered = numbers.every((number, i) => number > (numbers[i - 1] ?? segment.from - 1));
  const logs = blocks.reduce((sum, { logs }) => sum + logs.length, 0);
  if (
    isOrdered &&
    (numbers.at(-1) ?? 0) <= segment.to &&
    numbers.length === segment.blocks &&
    logs === segment.logs
  )
    return blocks;
  throw new ArchiveError(
    `Segment ${segment.hash.slice(0, 12)}… has ${numbers.length} blocks and ${logs} logs, not ${segment.blocks} and ${segment.logs} in the order of its range.`,
  );
}

/** A block by its line; undefined if it is none. */
export function blockOf(line: string): ArchivedBlock | undefined {
  const parsed = block.safeParse(isLean(line) ? parsedJson(line) : undefined);
  if (!parsed.success) return undefined;
  const [given, transactions, logs, receipts] = parsed.data;
  const isPlaced = logs.every(([, sender]) => sender < transactions.length);
  return isPlaced ? { header: keptHeader(given), transactions, logs, receipts } : undefined;
}

// A text of lists alone takes forty times its size when it is parsed. No list of a block is shorter than twenty characters.
function isLean(line: string): boolean {
  let [lists, keys] = [0, 0];
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i);
    if (code === bracket || code === brace) lists += 1;
    else if (code === colon) keys += 1;
  }
  return lists <= 50 + line.length / 20 && keys <= mostKeys;
}

const [bracket, brace, colon] = [91, 123, 58];
const mostKeys = 200;
