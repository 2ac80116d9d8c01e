import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import type { ArchiveFilter } from "./manifest.ts";
import type { ReadsOf, SeenBlock } from "./reads.ts";
import { blockOf } from "./record.ts";
import { type ArchivedBlock, encodeSegment } from "./segment.ts";

type Ask = (body: RpcRequest) => Promise<unknown>;
type Part = BlockRange & { filters: readonly ArchiveFilter[] };
type What = { withReceipts: boolean; createReads: (() => ReadsOf) | undefined };

const samples = 10;
const blocksOfSample = 200;
// Bytes of a log with all that belongs to it, as recordings were measured.
const bytesOfLog = 90;

/**
 * How many logs, bytes and requests a recording of these ranges takes, by a few short ranges of each: without the logs of contracts that
 * factories deploy, and without the bytes of results of calls.
 */
export async function estimateRecording(
  ask: Ask,
  gaps: readonly Part[],
  { withReceipts, createReads }: What,
): Promise<{ logs: number; bytes: number; requests: number }> {
  const sum = { logs: 0, bytes: 0, requests: 0 };
  for (const gap of gaps) {
    const found = { logs: 0, blocks: 0, calls: 0, sampled: 0 };
    const whole: ArchivedBlock[] = [];
    for (const range of samplesOf(gap)) {
      const logs = await sampledLogs(ask, gap.filters, range);
      const blocks = Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber));
      found.logs += logs.length;
      found.blocks += blocks.size;
      found.sampled += range.to - range.from + 1;
      if (createReads) found.calls += await callsOf(ask, logs, createReads);
      const [first] = blocks;
      if (withReceipts && first !== undefined) whole.push(await blockOf({ ask, withReceipts }, ...first));
    }
    const scale = (gap.to - gap.from + 1) / found.sampled;
    const ofBlock = encodeSegment(whole).bytes.length / Math.max(1, whole.length);
    sum.logs += found.logs * scale;
    sum.bytes += scale * (withReceipts ? found.blocks * ofBlock : found.logs * bytesOfLog);
    sum.requests += scale * (found.blocks * (withReceipts ? 2 : 1) + found.calls);
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

async function sampledLogs(ask: Ask, filters: readonly ArchiveFilter[], { from, to }: BlockRange) {
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

const blocksWithCalls = 20;

/** How many requests the rules make for logs: who sent their transactions is looked up for the first blocks with any. */
async function callsOf(ask: Ask, logs: readonly RpcLog[], createReads: () => ReadsOf): Promise<number> {
  const [mayRead, readsOf] = [createReads(), createReads()];
  const blocks = [...Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber))].sort(([a], [b]) => a - b);
  const near = blocks.filter(([number, own]) => mayRead(seenBlock(number, own)).length > 0);
  const looked = near.slice(0, blocksWithCalls);
  let requests = 0;
  for (const [number, own] of looked) {
    const block = (await ask({ method: "eth_getBlockByNumber", params: [toHex(number), true] })) as FullBlock;
    for (const read of readsOf(seenBlock(number, own, block))) requests += read.requests;
  }
  return (requests * near.length) / Math.max(1, looked.length);
}

type FullBlock = { timestamp: string; transactions: { hash: string; from: string }[] };

function seenBlock(number: number, logs: readonly RpcLog[], block?: FullBlock): SeenBlock {
  const senders = new Map(block?.transactions.map(({ hash, from }) => [hash, from]));
  const inOrder = [...logs].sort((a, b) => Number(a.logIndex) - Number(b.logIndex));
  return {
    number,
    timestamp: BigInt(block?.timestamp ?? number),
    logs: inOrder.map(({ address, topics, data, transactionHash: hash }) => {
      return { address, topics, data, hash, sender: senders.get(hash) ?? "0x" };
    }),
  };
}
