import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recording } from "../../../devnet/recording.ts";
import { openNodes } from "../../../src/archive/ask.ts";
import { type ArchiveFilter, type Manifest, newManifest } from "../../../src/archive/manifest.ts";
import { addSegment, archivedBlock, recordChain } from "../../../src/archive/record.ts";
import type { ArchivedBlock, ArchivedReceipt } from "../../../src/archive/segment.ts";
import { wantedOf } from "../../../src/archive/wanted.ts";
import { parseEnvironment } from "../../../src/config/environment.ts";
import type { RpcLog } from "../../../src/rpc/log-answers.ts";

/**
 * Records an archive of the chains that an environment configures, whole blocks from the first to the given one.
 */
export async function recordArchives(
  folder: string,
  environment: Record<string, string | undefined>,
  lastBlocks: Record<number, number>,
): Promise<void> {
  const config = parseEnvironment(environment, (path) => readFileSync(path, "utf8"));
  for (const chain of config.chains) {
    const wanted = wantedOf(config, chain.name);
    const { ask, width } = openNodes(chain, { perSecond: 2_000, log: () => {} });
    await recordChain({
      ...wanted,
      folder,
      chainId: chain.id,
      range: { from: wanted.first, to: lastBlocks[chain.id] ?? 0 },
      withReceipts: true,
      ask,
      width,
      progress: () => {},
    });
  }
}

/** The blocks of a recording that have logs, whole. */
export function recordedBlocks({ blocks, transactions, receipts }: Recording): ArchivedBlock[] {
  const ofBlock = (answers: Recording["receipts"]) =>
    Map.groupBy(answers, ({ blockNumber }) => Number(blockNumber));
  const [sent, received] = [ofBlock(transactions), ofBlock(receipts)];
  return blocks.flatMap((block) => {
    const own = (received.get(Number(block["number"])) ?? []) as unknown as Receipt[];
    const logs = own.flatMap((receipt) => receipt.logs);
    if (logs.length === 0) return [];
    const full = { ...block, transactions: sent.get(Number(block["number"])) ?? [] };
    const rest = own.map(({ type, status, cumulativeGasUsed, logs: { length } }): ArchivedReceipt => {
      return [type, status, cumulativeGasUsed, length];
    });
    return { ...archivedBlock(full as never, logs, () => true), receipts: rest };
  });
}

type Receipt = { type: string; status: string; cumulativeGasUsed: string; logs: RpcLog[] };

/** An archive in a new folder: segments of these blocks, each with all logs of its range. */
export async function writeArchive(
  chainId: number,
  segments: readonly {
    from: number;
    to: number;
    blocks: readonly ArchivedBlock[];
    filters?: ArchiveFilter[];
  }[],
): Promise<{ folder: string; manifest: Manifest }> {
  const folder = mkdtempSync(join(tmpdir(), "archive-"));
  const manifest = newManifest(chainId);
  for (const { from, to, blocks, filters = [{ addresses: null, topics: null }] } of segments)
    await addSegment(folder, manifest, { from, to, filters, blocks });
  return { folder, manifest };
}
