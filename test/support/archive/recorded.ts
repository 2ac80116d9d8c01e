import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recording } from "../../../devnet/recording.ts";
import { openNodes } from "../../../src/archive/ask.ts";
import { recordHeaders } from "../../../src/archive/headers.ts";
import { type ArchiveFilter, type Manifest, newManifest } from "../../../src/archive/manifest.ts";
import { addSegment, recordChain, wholeBlock } from "../../../src/archive/record.ts";
import type { ArchivedBlock } from "../../../src/archive/segment.ts";
import { describeWanted } from "../../../src/archive/wanted.ts";
import { parseEnvironment } from "../../../src/config/environment.ts";
import { type LogsFilter, matches, parseLogsFilter, type RpcLog } from "../../../src/rpc/log-answers.ts";
import type { RpcRequest } from "../../../src/rpc/nodes.ts";

/**
 * Records an archive of the chains that an environment configures, whole blocks and all headers from the first to the
 * given one.
 */
export async function recordArchives(
  folder: string,
  environment: Record<string, string | undefined>,
  lastBlocks: Record<number, number>,
): Promise<void> {
  const config = parseEnvironment(environment, (path) => readFileSync(path, "utf8"));
  for (const chain of config.chains) {
    const wanted = describeWanted(config, chain.name);
    const { ask, width } = openNodes(chain, { perSecond: 2_000, log: () => {} });
    const range = { from: wanted.first, to: lastBlocks[chain.id] ?? 0 };
    const common = { folder, range, ask, width, progress: () => {} };
    const manifest = await recordChain({ ...wanted, ...common, chainId: chain.id, withReceipts: true });
    const from = config.blockRange.startBlock ?? range.from;
    await recordHeaders(manifest, { ...common, range: { ...range, from } });
  }
}

/** The blocks of a recording that have logs, whole. */
export function recordedBlocks({ blocks, transactions, receipts }: Recording): ArchivedBlock[] {
  const ofBlock = (answers: Recording["receipts"]) =>
    Map.groupBy(answers, ({ blockNumber }) => Number(blockNumber));
  const [sent, received] = [ofBlock(transactions), ofBlock(receipts)];
  return blocks.flatMap((block) => {
    const own = received.get(Number(block["number"])) ?? [];
    if (own.every(({ logs }) => (logs as unknown[]).length === 0)) return [];
    const full = { ...block, transactions: sent.get(Number(block["number"])) ?? [] };
    return wholeBlock(full as never, own as never);
  });
}

/**
 * A node over the logs, blocks and receipts of a recording, and what it was asked; refuses ranges of more than
 * `maxBlocks`.
 */
export function recordedNode(recording: Recording, { maxBlocks = 1_000 } = {}) {
  // Of what some nodes add, the archive keeps nothing.
  const logs = recording.receipts
    .flatMap((receipt) => receipt["logs"] as (RpcLog & { blockTimestamp: string })[])
    .map(({ blockTimestamp: _, ...log }): RpcLog => log);
  const asked: string[] = [];
  const ask = async ({ method, params }: RpcRequest): Promise<unknown> => {
    const [first] = params as [LogsFilter & string];
    const [from, to] = [Number(first.fromBlock), Number(first.toBlock)];
    if (method === "eth_getBlockByNumber") asked.push(`block ${Number(first)}`);
    else asked.push(method === "eth_getLogs" ? `logs ${from} to ${to}` : method);
    const block = recording.blocks[Number(first)];
    if (method === "eth_getBlockByNumber")
      return {
        ...block,
        transactions: recording.transactions.filter((one) => one["blockHash"] === block?.["hash"]),
      };
    if (method === "eth_getBlockReceipts")
      return recording.receipts.filter((one) => one["blockHash"] === first);
    if (to - from >= maxBlocks) throw new Error("the range is too large");
    const query = parseLogsFilter(first);
    const isNear = ({ blockNumber }: RpcLog) => Number(blockNumber) >= from && Number(blockNumber) <= to;
    return query && logs.filter((log) => isNear(log) && matches(log, query));
  };
  return { ask, asked, logs };
}

/** An archive in a new folder: segments of these blocks, each with all logs of its range. */
export async function writeArchive(
  chainId: number,
  segments: readonly {
    from: number;
    to: number;
    blocks: readonly ArchivedBlock[];
    filters?: ArchiveFilter[];
  }[],
  folder = mkdtempSync(join(tmpdir(), "archive-")),
): Promise<{ folder: string; manifest: Manifest }> {
  const manifest = newManifest(chainId);
  for (const { from, to, blocks, filters = [{ addresses: null, topics: null }] } of segments)
    await addSegment(folder, manifest, { from, to, filters, blocks });
  return { folder, manifest };
}
