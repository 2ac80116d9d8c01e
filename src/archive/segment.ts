import { isDeepStrictEqual } from "node:util";
import { z } from "zod/v4";
import { parsedJson } from "../log/json-log.ts";
import { headerFields, headerHash, provenLogs } from "../rpc/block-proofs.ts";
import { type Header, isInBloom, type LogsQuery, matches, type RpcLog } from "../rpc/log-answers.ts";
import { type ArchiveLocation, readLines } from "./folder.ts";
import { ArchiveError, type Proof, type Segment } from "./manifest.ts";

const hexPattern = /^0x[0-9a-f]*$/i;
const hex = z.string().regex(hexPattern);
const bytes = z.string().regex(/^0x([0-9a-f]{2})*$/i);
const address = z.string().regex(/^0x[0-9a-f]{40}$/i);
const hash = z.string().regex(/^0x[0-9a-f]{64}$/i);
const quantity = z.string().regex(/^0x[0-9a-f]{1,13}$/i);

const block = z.object({
  header: z.looseObject({ number: quantity, hash, parentHash: hash, logsBloom: hex }),
  transactions: z.array(
    z.object({ transactionIndex: quantity, hash, from: address, to: address.nullable() }),
  ),
  logs: z.array(
    z.object({
      ...{ logIndex: quantity, transactionIndex: quantity, transactionHash: hash },
      ...{ address, topics: z.array(hash).max(4), data: bytes },
    }),
  ),
  receipts: z
    .array(
      z.object({
        ...{ type: hex.optional(), status: hex.optional(), root: hex.optional(), cumulativeGasUsed: hex },
        ...{ depositNonce: hex.optional(), depositReceiptVersion: hex.optional() },
      }),
    )
    .optional(),
});

/**
 * A block as in JSON-RPC: the header fields that archives keep, and the recorded content, which is whole if `receipts`
 * are there.
 */
export type ArchivedBlock = Omit<z.infer<typeof block>, "header"> & {
  header: Record<"number" | "hash" | "parentHash" | "logsBloom", string> & Record<string, string>;
};

/** The header fields that archives keep: those that the block hash covers, and others that Ponder stores. */
export const keptFields = [...headerFields, "hash", "size", "totalDifficulty"];

/** The kept fields of a block's header that are hex. */
export function keptHeader(block: Record<string, unknown>): ArchivedBlock["header"] {
  const isKept = (value: unknown) => typeof value === "string" && hexPattern.test(value);
  const kept = keptFields.flatMap((field) => (isKept(block[field]) ? [[field, block[field]]] : []));
  return Object.fromEntries(kept) as ArchivedBlock["header"];
}

/** The logs of a block as a node returns them: all, or those that match a query. */
export function rpcLogs({ header, logs }: ArchivedBlock, query?: LogsQuery): RpcLog[] {
  const wanted = query === undefined ? logs : logs.filter((log) => matches(log, query));
  return wanted.map((log) => ({
    ...{ ...log, blockNumber: header.number, blockHash: header.hash, removed: false },
  }));
}

/** Reads the blocks of a segment. Throws an ArchiveError if they do not match the manifest. */
export async function readSegment(
  location: ArchiveLocation,
  chainId: number,
  segment: Segment,
): Promise<ArchivedBlock[]> {
  const blocks = await readLines(location, { chainId, file: segment }, parseArchivedBlock);
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

/** Parses a line of a segment; undefined if it is not a block. */
export const parseArchivedBlock = (line: string): ArchivedBlock | undefined =>
  isLean(line) ? parseBlock(parsedJson(line)) : undefined;

/** Parses a block with its logs and their transactions; undefined if it is not one. */
export function parseBlock(value: unknown): ArchivedBlock | undefined {
  const parsed = block.safeParse(value);
  if (!parsed.success) return undefined;
  const { header, transactions, logs } = parsed.data;
  const senders = new Map(transactions.map(({ transactionIndex, hash }) => [Number(transactionIndex), hash]));
  const isSent = logs.every((log) => senders.get(Number(log.transactionIndex)) === log.transactionHash);
  return isSent ? { ...parsed.data, header: keptHeader(header) } : undefined;
}

/**
 * Whether a line has at most one list and one key in twenty characters, as blocks do: JSON of lists alone takes forty
 * times its size when parsed.
 */
export function isLean(line: string): boolean {
  let [lists, keys] = [0, 0];
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i);
    if (code === bracket || code === brace) lists += 1;
    else if (code === colon) keys += 1;
  }
  return lists <= 50 + line.length / 20 && keys <= 200 + line.length / 20;
}

const [bracket, brace, colon] = [91, 123, 58];

// --- Proof of a block ---

/**
 * What contradicts itself in a block, or how far it is proven; `withRoot`: by the root of its receipts too, which costs
 * most.
 */
export function buildProof(block: ArchivedBlock, withRoot = true): { proof: Proof } | { problem: string } {
  const { header, logs, transactions, receipts } = block;
  const name = `block ${Number(header.number)}`;
  let last = -1;
  for (const log of logs) {
    const index = Number(log.logIndex);
    if (index <= last) return { problem: `log ${index} of ${name} is repeated or out of order` };
    if (!isInBloom(header, log)) return { problem: `log ${index} of ${name} is not in the block's bloom` };
    last = index;
  }
  const indexes = transactions.map(({ transactionIndex }) => Number(transactionIndex));
  if (indexes.some((index, i) => i > 0 && index <= (indexes[i - 1] ?? 0)))
    return { problem: `the transactions of ${name} are out of order` };
  const isRootWrong = withRoot && receipts !== undefined && !hasRoot(block);
  if (isRootWrong)
    return {
      problem: `the receipts of ${name} do not have the root that its header names: a log is missing, changed or misplaced`,
    };
  if (headerHash(header) !== header.hash) return { proof: "bloom" };
  return { proof: receipts === undefined ? "header" : "receipts" };
}

/**
 * How many blocks are proven how far, a share of them by the root of their receipts. Throws an ArchiveError if one
 * contradicts itself.
 */
export function countProofs(blocks: readonly ArchivedBlock[], share = 1): Record<Proof, number> {
  const counted = { bloom: 0, header: 0, receipts: 0 };
  for (const block of blocks) {
    const proven = buildProof(block, Math.random() < share);
    if ("problem" in proven) throw new ArchiveError(`An archived block is wrong: ${proven.problem}.`);
    counted[proven.proof] += 1;
  }
  return counted;
}

/** Throws an ArchiveError if blocks of a segment contradict themselves, or are proven less than the manifest says. */
export function requireProven({ hash, proof }: Segment, blocks: readonly ArchivedBlock[], share?: number) {
  if (isDeepStrictEqual(countProofs(blocks, share), proof)) return;
  throw new ArchiveError(
    `Segment ${hash.slice(0, 12)}…: the manifest claims another level of proof than its blocks have, such as for a header that was changed.`,
  );
}

// Whether logs and transactions are exactly those of the receipts, which have the header's root.
function hasRoot(block: ArchivedBlock): boolean {
  const { header, transactions, receipts = [] } = block;
  const logs = Map.groupBy(rpcLogs(block), ({ transactionIndex }) => Number(transactionIndex));
  const whole = receipts.map((receipt, index) => ({
    ...{ ...receipt, transactionHash: transactions[index]?.hash, logs: logs.get(index) ?? [] },
  }));
  const hashes = transactions.map(({ hash }) => hash);
  const proven = provenLogs(whole, { ...header, transactions: hashes } as unknown as Header);
  return proven?.length === block.logs.length && hashes.length === receipts.length;
}
