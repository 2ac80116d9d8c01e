import { pastOf } from "../operations/past.ts";
import { isTokenOf, readTime, tokenTime } from "./names/contract.ts";
import type { ReadPast } from "./rest/endpoint.ts";
import type { ChainBlocks } from "./status/chain-blocks.ts";
import { type ChainSnapshot, indexedBlockOf, type Snapshot } from "./status/status.ts";

type Sources = {
  blocks: ChainBlocks;
  /** The schema of the index that is served. */
  schema: () => string;
  /** The first second (Unix time) that can be read. */
  readFrom: (signal: AbortSignal) => Promise<number | undefined>;
  /** Milliseconds. */
  clock: () => number;
};

/** Creates what reads an index as it was: `at` is a time in a form of `/v1`, a position token, or `<chain id>:<block>`. */
export function createReadPast({ blocks, schema, readFrom, clock }: Sources): ReadPast {
  const timeOf = async (at: string, chains: Snapshot["omnichainSnapshot"]["chains"]) => {
    const [, chainId = "", block = ""] = /^(\d{1,15}):(\d{1,15})$/.exec(at) ?? [];
    const head = indexedBlockOf(chains[chainId]);
    if (chainId === "") return readTime(at) ?? tokenTime(at);
    if (head === undefined || Number(block) > head.number) return undefined;
    if (Number(block) === head.number) return head.timestamp;
    return (await blocks.find(Number(chainId), { number: Number(block) }))?.timestamp;
  };

  // A chain as it was at a time, on which it had started.
  const chainAt = async (id: string, chain: ChainSnapshot, time: number): Promise<ChainSnapshot> => {
    const head = indexedBlockOf(chain);
    if (chain.chainStatus === "chain-queued" || head === undefined || head.timestamp <= time) return chain;
    const block = await blocks.lastUpTo(Number(id), time, head);
    if (block === undefined || block.number < chain.config.startBlock.number)
      return { chainStatus: "chain-queued", config: chain.config };
    const { number, timestamp } = block;
    return { ...chain, latestIndexedBlock: { number, timestamp } };
  };

  return async (at, current, signal) => {
    const { snapshot } = current;
    const { chains, omnichainIndexingCursor: newest } = snapshot.omnichainSnapshot;
    const time = await timeOf(at, chains);
    if (time === undefined || time > Math.max(newest, clock() / 1_000))
      return { refusal: "The index has not reached it, or the chain has no such block." };
    const isToken = tokenTime(at) !== undefined && readTime(at) === undefined;
    if (time >= newest && !(isToken && !isTokenOf(at, current))) return { current, at: String(time) };
    const second = Math.floor(time);
    const from = await readFrom(signal);
    if (from === undefined || second < from)
      return { refusal: `The index can be read as it was from ${from} (Unix seconds) on.` };
    const entries = Object.entries(chains).map(
      async ([id, chain]) => [id, await chainAt(id, chain, second)] as const,
    );
    const omnichainSnapshot = {
      ...snapshot.omnichainSnapshot,
      chains: Object.fromEntries(await Promise.all(entries)),
      omnichainIndexingCursor: second,
    };
    const { schemas, isKept } = pastOf(schema());
    const slowestChainIndexingCursor = Math.min(snapshot.slowestChainIndexingCursor, second);
    const pinned = { ...current, snapshot: { ...snapshot, slowestChainIndexingCursor, omnichainSnapshot } };
    if (isToken && !isTokenOf(at, pinned))
      return { refusal: "Not all of its chains were at these blocks at one time." };
    return {
      current: pinned,
      at: String(second),
      moment: { schemas, second, isKept: isKept(second) },
    };
  };
}
