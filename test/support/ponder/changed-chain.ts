import { rmSync } from "node:fs";
import { startNode } from "../../../devnet/node.ts";
import { createRandom } from "../../../devnet/random.ts";
import { recordingFolder } from "../../../devnet/recorded-chains.ts";
import { readAddresses } from "../../../devnet/recording.ts";
import { type Change, changedBlock, changedReceipt, startLiar } from "../../../devnet/rpc/liar.ts";
import { writeManifest } from "../../../src/archive/folder.ts";
import { archivedUrls } from "../../../src/archive/front.ts";
import { requestRpc } from "../../../src/ponder/rpc-request.ts";
import { checkedUrls } from "../../../src/rpc/checked-rpc.ts";
import type { BlockRange } from "../../../src/rpc/nodes.ts";
import { recordedBlocks, writeArchive } from "../archive/recorded.ts";
import { recordingOf } from "../recordings.ts";
import { type Backend, differingRows, type FollowedChain, follow, isWithin } from "./follower.ts";

const [finalized, last] = [150, 180];
const recording = recordingOf("root");

/** URLs and archives that are asked: liars tell the same lies. */
export type UrlSet = { liars: number; honest: number };

/** A recorded chain that URLs and archives change; the same is asked of them as Ponder asks. */
export async function openChangedChain() {
  const node = await startNode({ recording });
  const contracts = new Set(Object.values(readAddresses(recordingFolder("root"))));
  const events = new Set(
    recording.receipts.flatMap((receipt) =>
      (receipt["logs"] as { address: string; topics: string[] }[]).flatMap(({ address, topics }) =>
        contracts.has(address as `0x${string}`) ? [] : topics.slice(0, 1),
      ),
    ),
  );
  const chain: FollowedChain = {
    ...{ finalized, last, contracts: [...contracts], events: [...events] },
    calls: recording.calls.filter(({ block }) => Number(block) <= finalized),
    moveHead: node.chain.setHead,
  };
  const followed = (backends: readonly Backend[]) => {
    node.chain.setHead(finalized);
    return follow(backends, chain);
  };
  const truth = await followed([backendOf(node.url)]);

  async function run(change: Change, seed: number, { liars: count, honest }: UrlSet) {
    const lying = { kinds: [], rate: 0, of: "both" as const, change };
    const liars = await Promise.all(
      Array.from({ length: count }, () => startLiar({ target: node.url, seed, lying })),
    );
    const urls = [...liars.map(({ url }) => url), ...Array.from({ length: honest }, () => node.url)];
    let unverified: readonly BlockRange[] = [];
    const believed: string[] = [];
    const believe = (what: readonly string[]) => void believed.push(...what);
    const checked = checkedUrls(urls, {
      ...{ chain: "root", chainId: 0, isPublic: true, crossCheckShare: 0.01 },
      ...{ log: () => {}, count: () => {}, believe },
      random: createRandom(seed).fraction,
      now: Date.now,
      reportUnverified: (ranges) => {
        unverified = ranges;
        return undefined;
      },
    });
    const place = count === 0 ? await changedArchive(change, seed).catch(() => "") : undefined;
    if (place === "") return "refused";
    const archive = { chain: "root", chainId: recording.chainId, log: () => {}, believe };
    const asked = place === undefined ? checked : archivedUrls(checked, { ...archive, location: place });
    try {
      const found = await followed((asked as unknown[]).map((url) => backendOf(String(url))) as Backend[]);
      if (found.ended !== undefined) return "refused";
      // What is unverified is asked for again, beside what else is asked for.
      for (let i = 0; i < 20 && unverified.length > 0; i++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      const wrong = differingRows(found, truth);
      const isSaid = believed.some((what) => sayings[change.kind].test(what));
      if (wrong.some((block) => !isWithin(block, unverified))) return isSaid ? "believed" : "silent";
      return unverified.length > 0 ? "unverified" : "equal";
    } finally {
      await Promise.all(liars.map((liar) => liar.close()));
      if (place !== undefined) rmSync(place, { recursive: true });
    }
  }
  return { run, close: () => node.close() };
}

const ofLogs = /logs of/;
/** What must have been said beforehand of each change, where nothing proves it. */
const sayings: Record<Change["kind"], RegExp> = {
  ...{ topics: ofLogs, data: ofLogs, address: ofLogs, transactionHash: ofLogs, swap: ofLogs },
  ...{ hide: /logs of the backfill|all blocks/, timestamp: /headers of/, call: /contracts return/ },
};

/**
 * An archive of the recording without receipts, which would show the change, with the levels of proof that it had
 * before. Rejects where it would not be recorded.
 */
async function changedArchive(change: Change, seed: number): Promise<string> {
  const { transactions } = recording;
  const sent = Map.groupBy(transactions, ({ blockHash }) => blockHash);
  const transactionsOf = async (block: string) => (sent.get(block) ?? []).map(({ hash }) => String(hash));
  const receipts = await Promise.all(
    recording.receipts.map((receipt) => changedReceipt(change, receipt, { seed, transactionsOf })),
  );
  const headers = recording.blocks.map((block) => changedBlock(change, block, seed));
  const blocks = recordedBlocks({ ...recording, blocks: headers, receipts }).flatMap((block) =>
    Number(block.header.number) > finalized ? [] : { ...block, receipts: undefined },
  );
  const { folder, manifest } = await writeArchive(recording.chainId, [{ from: 0, to: finalized, blocks }]);
  for (const { proof } of manifest.segments)
    Object.assign(proof, { bloom: 0, header: proof.bloom + proof.header });
  await writeManifest(folder, manifest);
  return folder;
}

const backendOf = (url: string) => ({
  hostname: new URL(url).host,
  async request(body: { method: string; params?: unknown[] }): Promise<unknown> {
    const { result, error } = await requestRpc(url, body);
    if (error !== undefined) throw Object.assign(new Error(String(error.message)), error);
    return result;
  },
});
