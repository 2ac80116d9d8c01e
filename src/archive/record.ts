import { setTimeout as wait } from "node:timers/promises";
import pRetry from "p-retry";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { addFile, openManifest, packLines } from "./folder.ts";
import {
  ArchiveError,
  type ArchiveFilter,
  archiveLimits,
  factoryKey,
  findGaps,
  type Gap,
  type Manifest,
} from "./manifest.ts";
import { type ArchivedBlock, buildProof, countProofs, keptHeader } from "./segment.ts";

/** Readers of a deployed contract's address from its factory's log, by "<factory> <event>". */
export type Factories = ReadonlyMap<string, (log: RpcLog) => string | undefined>;

/** What to record of a chain. `ask` sends a request to a node and rejects an invalid response. */
export type RecordOptions = {
  folder: string;
  chainId: number;
  filters: readonly ArchiveFilter[];
  factories: Factories;
  range: BlockRange;
  /** Whether whole blocks are recorded, so that their receipts root can be recomputed. */
  withReceipts: boolean;
  ask: (body: RpcRequest) => Promise<unknown>;
  width: number;
  /** Called after each segment with the logs so far, and the share of the blocks (0 to 1). */
  progress: (logs: number, share: number) => void;
};

/** Logs of a segment, unless it is a range's last: enough to compress well, few enough to read at once. */
export const logsOfSegment = 10_000;
// Whole blocks hold many times the requested logs.
const logsOfWholeBlocks = 500;
const logsOfRequest = 2_000;
const maxAddresses = 500;
const [firstRange, maxBlocks] = [500, 2_000_000];
const refusedRangeMs = 250;

/**
 * Records what an archive lacks of a range, segment by segment, so that an interrupted recording resumes where it
 * stopped.
 */
export async function recordChain(options: RecordOptions): Promise<Manifest> {
  const { folder, chainId, width, progress } = options;
  const manifest = await openManifest(folder, chainId);
  const source: BlockSource = async (gap) => {
    const { logs, end } = await collectLogs(options, manifest, gap);
    const byBlock = [...Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber))];
    byBlock.sort(([a], [b]) => a - b);
    const blocks: ArchivedBlock[] = [];
    for (let i = 0; i < byBlock.length; i += width) {
      const some = byBlock.slice(i, i + width).map(([number, own]) => requestBlock(options, number, own));
      blocks.push(...(await Promise.all(some)));
    }
    return { blocks, end };
  };
  const gaps = findGaps(manifest, options.filters, options.range);
  await closeGaps(folder, manifest, { gaps, source, progress });
  return manifest;
}

/** Returns a gap's first blocks with logs, enough for a segment, and the last block searched. */
export type BlockSource = (gap: Gap) => Promise<{ blocks: ArchivedBlock[]; end: number }>;

type Closing = Pick<RecordOptions, "progress"> & {
  gaps: readonly Gap[];
  source: BlockSource;
  /** Throws if the blocks must not be stored. */
  verify?: (blocks: readonly ArchivedBlock[], gap: Gap) => Promise<void>;
};

/** Closes gaps of an archive, segment by segment: one is stored while the source reads the next. */
export async function closeGaps(
  folder: string,
  manifest: Manifest,
  { gaps, source, verify, progress }: Closing,
): Promise<void> {
  const countBlocks = ({ from, to }: BlockRange) => to - from + 1;
  const all = gaps.reduce((sum, gap) => sum + countBlocks(gap), 0);
  let [logs, done] = [0, 0];
  const store = async (blocks: readonly ArchivedBlock[], gap: Gap) => {
    await verify?.(blocks, gap);
    await addSegment(folder, manifest, { ...gap, blocks });
    logs += blocks.reduce((sum, block) => sum + block.logs.length, 0);
    done += countBlocks(gap);
    progress(logs, done / all);
  };
  let stored = Promise.resolve();
  for (const gap of gaps) {
    for (let { from } = gap; from <= gap.to; ) {
      const { blocks, end } = await source({ ...gap, from });
      await stored;
      stored = store(blocks, { ...gap, from, to: end });
      // The next wait throws it.
      stored.catch(() => undefined);
      from = end + 1;
    }
  }
  await stored;
}

/** Adds blocks as one or, if long, several segments. Throws an ArchiveError if one contradicts itself. */
export async function addSegment(
  folder: string,
  manifest: Manifest,
  { from, to, filters, blocks }: Gap & { blocks: readonly ArchivedBlock[] },
): Promise<void> {
  const file = await packLines(blocks);
  if (file.listed.unpacked > archiveLimits.small / 2 && blocks.length > 1) {
    const [first, rest] = [blocks.slice(0, blocks.length / 2), blocks.slice(blocks.length / 2)];
    const end = Number(first.at(-1)?.header.number);
    await addSegment(folder, manifest, { from, to: end, filters, blocks: first });
    return addSegment(folder, manifest, { from: end + 1, to, filters, blocks: rest });
  }
  const { hash, bytes, unpacked } = file.listed;
  manifest.segments.push({
    ...{ hash, from, to, filters: filters.map((filter) => ensureFilter(manifest, filter)) },
    blocks: blocks.length,
    logs: blocks.reduce((sum, { logs }) => sum + logs.length, 0),
    ...{ bytes, unpacked, proof: countProofs(blocks) },
  });
  await addFile(folder, manifest, file);
}

function ensureFilter({ filters }: Manifest, filter: ArchiveFilter): number {
  const text = JSON.stringify(filter);
  const index = filters.findIndex((one) => JSON.stringify(one) === text);
  return index < 0 ? filters.push(filter) - 1 : index;
}

const retryRequest = <Result>(request: () => Promise<Result>): Promise<Result> =>
  pRetry(request, { retries: 4, minTimeout: 500 });

async function collectLogs(options: RecordOptions, manifest: Manifest, { from, to, filters }: Gap) {
  const found: RpcLog[] = [];
  const enough = options.withReceipts ? logsOfWholeBlocks : logsOfSegment;
  let [at, size, growth] = [from, firstRange, 2];
  while (at <= to && found.length < enough) {
    const range = { from: at, to: Math.min(to, at + size - 1) };
    try {
      const logs = await requestLogs(options, manifest, { ...range, filters });
      for (const log of logs) found.push(log);
      at = range.to + 1;
      const next = logs.length > logsOfRequest ? size / 2 : size * growth;
      size = Math.min(maxBlocks, Math.ceil(next));
    } catch (error) {
      // Most likely too many logs or blocks for this node.
      if (range.from === range.to) throw error;
      await wait(refusedRangeMs);
      growth = 1.05;
      size = Math.max(1, Math.floor((range.to - range.from + 1) / 2));
    }
  }
  return { logs: found, end: at - 1 };
}

async function requestLogs(
  { ask, factories }: RecordOptions,
  manifest: Manifest,
  { from, to, filters }: Gap,
): Promise<RpcLog[]> {
  const send = from === to ? (body: RpcRequest) => retryRequest(() => ask(body)) : ask;
  const found: RpcLog[] = [];
  for (const { addresses, topics } of filters) {
    let contracts = addresses;
    if (contracts !== null && !Array.isArray(contracts)) {
      const key = factoryKey(contracts);
      const deployed = await askLogs(send, { from, to }, [contracts.factory], [contracts.event]);
      const fresh = deployed.flatMap((log) => factories.get(key)?.(log) ?? []);
      contracts = [...new Set([...(manifest.children[key] ?? []), ...fresh])];
      manifest.children[key] = contracts;
    }
    found.push(...(await askLogs(send, { from, to }, contracts, topics)));
  }
  return distinctLogs(found);
}

/** The logs without duplicates. */
export function distinctLogs(logs: readonly RpcLog[]): RpcLog[] {
  const byPlace = new Map(logs.map((log) => [`${Number(log.blockNumber)} ${Number(log.logIndex)}`, log]));
  return [...byPlace.values()];
}

/** Requests the logs of a range by contracts and events, `null` for all, at most 500 contracts at a time. */
export async function askLogs(
  ask: RecordOptions["ask"],
  { from, to }: BlockRange,
  addresses: readonly string[] | null,
  topics: readonly string[] | null,
): Promise<RpcLog[]> {
  const found: RpcLog[] = [];
  for (let i = 0; i < (addresses?.length ?? 1); i += maxAddresses) {
    const address = addresses?.slice(i, i + maxAddresses);
    const blocks = { fromBlock: toHex(from), toBlock: toHex(to) };
    const filter = { ...blocks, ...(address && { address }), ...(topics && { topics: [topics] }) };
    for (const log of (await ask({ method: "eth_getLogs", params: [filter] })) as RpcLog[]) found.push(log);
  }
  return found;
}

type SentTransaction = { [Field in "transactionIndex" | "hash" | "from" | "to"]?: string | null };
type FullBlock = Record<string, unknown> & { hash: string; transactions: readonly SentTransaction[] };
type RecordedReceipt = { logs: RpcLog[] } & Record<string, string>;

async function requestBlock(
  { ask, withReceipts }: Pick<RecordOptions, "ask" | "withReceipts">,
  number: number,
  logs: readonly RpcLog[],
): Promise<ArchivedBlock> {
  const asked = (method: string, params: unknown[]) => retryRequest(() => ask({ method, params }));
  const full = (await asked("eth_getBlockByNumber", [toHex(number), true])) as FullBlock;
  if (!withReceipts) return archivedBlock(full, logs);
  const whole = wholeBlock(full, (await asked("eth_getBlockReceipts", [full.hash])) as RecordedReceipt[]);
  // Some chains' receipts have more fields, or another kind of root.
  return "proof" in buildProof(whole) ? whole : archivedBlock(full, logs);
}

/** A block in its archived form, with all transactions, receipts and logs. */
export function wholeBlock(full: FullBlock, receipts: readonly RecordedReceipt[]): ArchivedBlock {
  const logs = receipts.flatMap((receipt) => receipt.logs);
  return {
    ...archivedBlock(full, logs, true),
    receipts: receipts.map(({ type, status, root, cumulativeGasUsed = "", ...more }) => {
      const { depositNonce, depositReceiptVersion } = more;
      return { type, status, root, cumulativeGasUsed, depositNonce, depositReceiptVersion };
    }),
  };
}

/**
 * A block with the given logs and their transactions, or all of them if it is whole. Throws an ArchiveError if they do
 * not fit.
 */
export function archivedBlock(full: FullBlock, logs: readonly RpcLog[], isWhole = false): ArchivedBlock {
  const senders = new Set(logs.map(({ transactionHash }) => transactionHash));
  const transactions = full.transactions
    .filter((one) => isWhole || senders.has(one["hash"] ?? ""))
    .map(({ transactionIndex, hash, from, to }) => {
      return { transactionIndex: transactionIndex ?? "", hash: hash ?? "", from: from ?? "", to: to ?? null };
    });
  const hashes = new Set(transactions.map(({ hash }) => hash));
  const strange = logs.find((log) => log.blockHash !== full.hash || !hashes.has(log.transactionHash));
  if (strange !== undefined)
    throw new ArchiveError(
      `Log ${Number(strange.logIndex)} is not of block ${Number(full["number"])} with hash ${full.hash}.`,
    );
  return {
    header: keptHeader(full),
    transactions: transactions.sort((a, b) => Number(a.transactionIndex) - Number(b.transactionIndex)),
    logs: logs
      .map(({ logIndex, transactionIndex, transactionHash, address, topics, data }) => {
        return { logIndex, transactionIndex, transactionHash, address, topics, data };
      })
      .sort((a, b) => Number(a.logIndex) - Number(b.logIndex)),
  };
}
