import { setTimeout as wait } from "node:timers/promises";
import pRetry from "p-retry";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { openManifest, writeFileOf, writeManifest } from "./folder.ts";
import { ArchiveError, type ArchiveFilter, factoryKey, lacksOf, limits, type Manifest } from "./manifest.ts";
import { proofOf } from "./proofs.ts";
import { type ArchivedBlock, type ArchivedReceipt, encodeSegment, keptHeader } from "./segment.ts";

/** A contract that deploys others: how to read a contract's address from its log. */
export type FactoryFilter = { filter: ArchiveFilter; childOf: (log: RpcLog) => string | undefined };

/** What is recorded of a chain, and by whom: `ask` sends a request to a node, which answers it soundly or rejects. */
export type RecordOptions = {
  folder: string;
  chainId: number;
  filters: readonly ArchiveFilter[];
  factories: readonly FactoryFilter[];
  range: BlockRange;
  /** Whether the whole content of blocks is recorded, so that their receipts root can be recomputed. */
  withReceipts: boolean;
  ask: (body: RpcRequest) => Promise<unknown>;
  /** How many requests run at once. */
  width: number;
  progress: (state: Progress) => void;
};

/** How far a recording is; the counts are of this one. */
type Progress = { at: number; logs: number; bytes: number; requests: number };

/** Logs of a segment unless it is a range's last: enough for words to repeat, few enough to be read at once. */
export const logsOfSegment = 10_000;
// Whole blocks hold many times as many logs as are asked for.
const logsOfWholeBlocks = 500;
const logsOfRequest = 2_000;
const [firstRange, mostBlocks] = [500, 2_000_000];
const refusedRangeMs = 250;

const retried = <Result>(request: () => Promise<Result>): Promise<Result> =>
  pRetry(request, { retries: 4, minTimeout: 500 });

/**
 * Records what a chain's archive lacks of a range, in segments from the first block on. Each is in the folder before the next
 * begins, so that an interrupted recording goes on where it stopped.
 */
export async function recordChain(options: RecordOptions): Promise<Manifest> {
  const manifest = await openManifest(options.folder, options.chainId);
  const gaps = gapsByRange(manifest, options);
  const state = { at: options.range.from, logs: 0, bytes: 0, requests: 0 };
  for (const { from, to, filters } of gaps) {
    for (let at = from; at <= to; ) {
      const { blocks, end } = await recordBlocks(options, manifest, { from: at, to, filters }, state);
      state.bytes += await addSegment(options.folder, manifest, { from: at, to: end, filters, blocks });
      state.at = end;
      options.progress(state);
      at = end + 1;
    }
  }
  return manifest;
}

type Part = BlockRange & { filters: readonly ArchiveFilter[] };

/** Ranges with what they lack of filters: one range for all filters that lack the same. */
export function gapsByRange(
  manifest: Manifest,
  { filters, factories, range }: Pick<RecordOptions, "filters" | "factories" | "range">,
): Part[] {
  const parts = new Map<string, { from: number; to: number; filters: ArchiveFilter[] }>();
  for (const filter of [...filters, ...factories.map((one) => one.filter)]) {
    for (const { from, to, filter: lacked } of lacksOf(manifest, filter, range)) {
      const part = parts.get(`${from} ${to}`) ?? { from, to, filters: [] };
      part.filters.push(lacked);
      parts.set(`${from} ${to}`, part);
    }
  }
  return [...parts.values()].sort((a, b) => a.from - b.from);
}

/**
 * Adds a segment to an archive: its file, then the manifest; blocks of much text become several. Returns the bytes of the files. Throws an
 * ArchiveError for blocks that contradict themselves.
 */
export async function addSegment(
  folder: string,
  manifest: Manifest,
  { from, to, filters, blocks }: Part & { blocks: readonly ArchivedBlock[] },
): Promise<number> {
  const { bytes, hash, size } = encodeSegment(blocks);
  if (size > limits.small / 2 && blocks.length > 1) {
    const [first, rest] = [blocks.slice(0, blocks.length / 2), blocks.slice(blocks.length / 2)];
    const end = Number(first.at(-1)?.header.number);
    const written = await addSegment(folder, manifest, { from, to: end, filters, blocks: first });
    return written + (await addSegment(folder, manifest, { from: end + 1, to, filters, blocks: rest }));
  }
  const proof = { bloom: 0, header: 0, receipts: 0 };
  for (const block of blocks) {
    const found = proofOf(block);
    if ("problem" in found) throw new ArchiveError(`Not recorded: ${found.problem}.`);
    proof[found.proof] += 1;
  }
  await writeFileOf(folder, manifest.chainId, { hash, bytes });
  manifest.segments.push({
    hash,
    from,
    to,
    filters: filters.map((filter) => placeOf(manifest, filter)),
    blocks: blocks.length,
    logs: blocks.reduce((sum, { logs }) => sum + logs.length, 0),
    bytes: bytes.length,
    unpacked: size,
    proof,
  });
  await writeManifest(folder, manifest);
  return bytes.length;
}

function placeOf({ filters }: Manifest, filter: ArchiveFilter): number {
  const text = JSON.stringify(filter);
  const place = filters.findIndex((one) => JSON.stringify(one) === text);
  return place < 0 ? filters.push(filter) - 1 : place;
}

// Blocks from `from` on until there are logs for a segment.
async function recordBlocks(
  options: RecordOptions,
  manifest: Manifest,
  { from, to, filters }: Part,
  state: { logs: number; requests: number },
): Promise<{ blocks: ArchivedBlock[]; end: number }> {
  const byBlock = new Map<number, RpcLog[]>();
  const enough = options.withReceipts ? logsOfWholeBlocks : logsOfSegment;
  let count = 0;
  let at = from;
  let size = firstRange;
  let growth = 2;
  while (at <= to && count < enough) {
    const range = { from: at, to: Math.min(to, at + size - 1) };
    let logs: RpcLog[];
    try {
      logs = await logsOf(options, manifest, { ...range, filters }, state);
    } catch (error) {
      // Most likely too many logs or blocks for this node.
      if (range.from === range.to) throw error;
      await wait(refusedRangeMs);
      growth = 1.05;
      size = Math.max(1, Math.floor((range.to - range.from + 1) / 2));
      continue;
    }
    for (const log of logs) {
      const number = Number(log.blockNumber);
      byBlock.set(number, [...(byBlock.get(number) ?? []), log]);
    }
    count += logs.length;
    at = range.to + 1;
    size =
      logs.length > logsOfRequest
        ? Math.max(1, Math.floor(size / 2))
        : Math.min(mostBlocks, Math.ceil(size * growth));
  }
  const numbers = [...byBlock.keys()].sort((a, b) => a - b);
  const blocks = await inParallel(numbers, options.width, (number) => {
    state.requests += options.withReceipts ? 2 : 1;
    return blockOf(options, number, byBlock.get(number) ?? []);
  });
  state.logs += count;
  return { blocks, end: at - 1 };
}

async function logsOf(
  { ask, factories }: RecordOptions,
  manifest: Manifest,
  { from, to, filters }: Part,
  state: { requests: number },
): Promise<RpcLog[]> {
  const range = { fromBlock: toHex(from), toBlock: toHex(to) };
  const request = async ({ topics }: ArchiveFilter, address: string[] | null) => {
    state.requests += 1;
    const filter = { ...range, ...(address && { address }), ...(topics && { topics: [topics] }) };
    const send = () => ask({ method: "eth_getLogs", params: [filter] });
    return (await (from === to ? retried(send) : send())) as RpcLog[];
  };
  const found: RpcLog[] = [];
  for (const { addresses, topics } of filters) {
    if (addresses === null || Array.isArray(addresses)) {
      found.push(...(await request({ addresses, topics }, addresses)));
      continue;
    }
    const factory = factories.find(
      ({ filter }) => JSON.stringify(filter.addresses) === JSON.stringify(addresses),
    );
    const deployed = await request({ addresses: [addresses.factory], topics: [addresses.event] }, [
      addresses.factory,
    ]);
    const known = new Set(manifest.children[factoryKey(addresses)]);
    for (const log of deployed) {
      const child = factory?.childOf(log);
      if (child !== undefined) known.add(child);
    }
    manifest.children[factoryKey(addresses)] = [...known];
    const children = [...known];
    for (let i = 0; i < children.length; i += mostAddresses)
      found.push(...(await request({ addresses, topics }, children.slice(i, i + mostAddresses))));
  }
  return [
    ...new Map(found.map((log) => [`${Number(log.blockNumber)} ${Number(log.logIndex)}`, log])).values(),
  ];
}

const mostAddresses = 500;

type FullBlock = {
  number: string;
  hash: string;
  transactions: Record<string, string>[];
  [field: string]: unknown;
};
type Receipt = { logs: RpcLog[] } & Record<string, string>;

/** A block with the given logs as it is archived, from a node. */
async function blockOf(
  { ask, withReceipts }: Pick<RecordOptions, "ask" | "withReceipts">,
  number: number,
  logs: readonly RpcLog[],
): Promise<ArchivedBlock> {
  const full = (await retried(() =>
    ask({ method: "eth_getBlockByNumber", params: [toHex(number), true] }),
  )) as FullBlock;
  if (!withReceipts) return archivedBlock(full, logs);
  const receipts = (await retried(() =>
    ask({ method: "eth_getBlockReceipts", params: [full.hash] }),
  )) as Receipt[];
  const whole = archivedBlock(
    full,
    receipts.flatMap((receipt) => receipt.logs),
    () => true,
  );
  const archived = { ...whole, receipts: receipts.map(archivedReceipt) };
  // Some chains have receipts with more fields, or roots of another kind.
  return "proof" in proofOf(archived) ? archived : archivedBlock(full, logs);
}

const archivedReceipt = ({
  type = "0x0",
  status,
  root,
  cumulativeGasUsed = "",
  logs,
}: Receipt): ArchivedReceipt => [type, status ?? root ?? "", cumulativeGasUsed, logs.length];

/** A block with the given logs and their transactions, or those that `isKept` names. Throws an ArchiveError if they do not fit. */
export function archivedBlock(
  full: FullBlock,
  logs: readonly RpcLog[],
  isKept?: () => boolean,
): ArchivedBlock {
  const { transactions } = full;
  const senders = new Set(logs.map(({ transactionHash }) => transactionHash));
  const kept = transactions
    .filter((one) => isKept?.() ?? senders.has(one["hash"] ?? ""))
    .map(({ transactionIndex, hash = "", from = "", to }) => {
      return [Number(transactionIndex), hash, from, to ?? null] as ArchivedBlock["transactions"][number];
    })
    .sort(([a], [b]) => a - b);
  const places = new Map(kept.map(([, hash], place) => [hash, place]));
  return {
    header: keptHeader(full),
    transactions: kept,
    logs: [...logs]
      .sort((a, b) => Number(a.logIndex) - Number(b.logIndex))
      .map(({ logIndex, transactionHash, blockHash, address, topics, data }) => {
        const place = places.get(transactionHash);
        if (place === undefined || blockHash !== full.hash)
          throw new ArchiveError(
            `Log ${Number(logIndex)} is not of block ${Number(full.number)} with hash ${full.hash}.`,
          );
        return [Number(logIndex), place, address, topics, data];
      }),
  };
}

/** Runs a function for all items, `width` at once; its results in the order of the items. After a failure no further one begins. */
async function inParallel<In, Out>(
  items: readonly In[],
  width: number,
  run: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  const worker = async () => {
    try {
      for (let i = next++; i < items.length; i = next++) results[i] = await run(items[i] as In);
    } finally {
      next = items.length;
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

// --- What a recording takes ---

const samples = 10;
const blocksOfSample = 200;
// Bytes of a log with all that belongs to it, as recordings were measured.
const bytesOfLog = 90;

/**
 * How many logs, bytes and requests a recording of these ranges takes, by a few short ranges of each: without the logs of contracts that
 * factories deploy.
 */
export async function estimateRecording(
  { ask, withReceipts }: Pick<RecordOptions, "ask" | "withReceipts">,
  gaps: readonly Part[],
): Promise<{ logs: number; bytes: number; requests: number }> {
  const sum = { logs: 0, bytes: 0, requests: 0 };
  for (const gap of gaps) {
    const found = { logs: 0, blocks: 0, sampled: 0 };
    const whole: ArchivedBlock[] = [];
    for (const range of samplesOf(gap)) {
      const logs = await sampledLogs(ask, gap.filters, range);
      const blocks = Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber));
      found.logs += logs.length;
      found.blocks += blocks.size;
      found.sampled += range.to - range.from + 1;
      const [first] = blocks;
      if (withReceipts && first !== undefined) whole.push(await blockOf({ ask, withReceipts }, ...first));
    }
    const scale = (gap.to - gap.from + 1) / found.sampled;
    const ofBlock = encodeSegment(whole).bytes.length / Math.max(1, whole.length);
    sum.logs += found.logs * scale;
    sum.bytes += scale * (withReceipts ? found.blocks * ofBlock : found.logs * bytesOfLog);
    sum.requests += scale * found.blocks * (withReceipts ? 2 : 1);
    sum.requests += gap.filters.length * Math.max(20, (found.logs * scale) / 2_000);
  }
  return sum;
}

function samplesOf({ from, to }: BlockRange): BlockRange[] {
  return Array.from({ length: samples }, (_, i) => {
    const start = from + Math.floor(((to - from) * i) / samples);
    return { from: start, to: Math.min(to, start + blocksOfSample - 1) };
  });
}

async function sampledLogs(
  ask: RecordOptions["ask"],
  filters: readonly ArchiveFilter[],
  { from, to }: BlockRange,
) {
  const found: RpcLog[] = [];
  for (const { addresses, topics } of filters) {
    if (addresses !== null && !Array.isArray(addresses)) continue;
    const filter = {
      ...{ fromBlock: toHex(from), toBlock: toHex(to) },
      ...(addresses && { address: addresses }),
      ...(topics && { topics: [topics] }),
    };
    for (const log of (await ask({ method: "eth_getLogs", params: [filter] })) as RpcLog[]) found.push(log);
  }
  return found;
}
