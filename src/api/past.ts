import { BaseError } from "viem";
import { pastOf, positionOf } from "../operations/past.ts";
import type { BlockRef } from "../ponder/checkpoints.ts";
import { isTokenOf, readTime, readToken, tokenTime } from "./names/contract.ts";
import type { ReadPast } from "./rest/endpoint.ts";
import type { ChainBlocks } from "./status/chain-blocks.ts";
import { type ChainSnapshot, indexedBlockOf, type Snapshot } from "./status/status.ts";

const endingAt = (chain: ChainSnapshot, { number, timestamp }: BlockRef): ChainSnapshot =>
  chain.chainStatus === "chain-queued" ? chain : { ...chain, latestIndexedBlock: { number, timestamp } };

type Sources = {
  blocks: ChainBlocks;
  /** The schema of the index that is served. */
  schema: () => string;
  /** The first second (Unix time) that can be read. */
  readFrom: (signal: AbortSignal) => Promise<number | undefined>;
  /** Milliseconds. */
  clock: () => number;
};

// The block that `at` names. A token of one chain names its block, one of several chains none.
async function blockOf(at: string, chains: Snapshot["omnichainSnapshot"]["chains"], blocks: ChainBlocks) {
  const [named, ...others] = Object.entries((readTime(at) === undefined && readToken(at)) || {});
  const token = others.length === 0 ? named : undefined;
  const asked = token === undefined ? at : `${token[0]}:${token[1].block_number}`;
  const [, id = "", block = ""] = /^(\d{1,15}):(\d{1,15})$/.exec(asked) ?? [];
  const head = indexedBlockOf(chains[id]);
  if (head === undefined || Number(block) > head.number) return undefined;
  const found =
    Number(block) === head.number ? head : await blocks.find(Number(id), { number: Number(block) });
  // A reorganization has put another block in the token's place.
  if (token !== undefined && token[1].timestamp !== String(found?.timestamp)) return undefined;
  return found && { id, number: found.number, timestamp: found.timestamp };
}

/** Creates what reads an index as it was: `at` is a time in a form of `/v1`, a position token, or `<chain id>:<block>`. */
export function createReadPast({ blocks, schema, readFrom, clock }: Sources): ReadPast {
  // A chain as it was at a time, on which it had started.
  const chainAt = async (id: string, chain: ChainSnapshot, time: number): Promise<ChainSnapshot> => {
    const head = indexedBlockOf(chain);
    if (chain.chainStatus === "chain-queued" || head === undefined || head.timestamp <= time) return chain;
    const block = await blocks.lastUpTo(Number(id), time, head);
    if (block === undefined || block.number < chain.config.startBlock.number)
      return { chainStatus: "chain-queued", config: chain.config };
    return endingAt(chain, block);
  };

  const find: ReadPast = async (at, current, signal) => {
    const { snapshot } = current;
    const { chains, omnichainIndexingCursor: newest } = snapshot.omnichainSnapshot;
    const block = await blockOf(at, chains, blocks);
    const isToken = block === undefined && readTime(at) === undefined && readToken(at) !== undefined;
    const time = block?.timestamp ?? readTime(at) ?? tokenTime(at);
    if (time === undefined || time > Math.max(newest, clock() / 1_000))
      return { refusal: "The index has not reached it, or the chain has no such block." };
    const isNewest = block === undefined || block.number === indexedBlockOf(chains[block.id])?.number;
    if (time >= newest && isNewest && !(isToken && !isTokenOf(at, current)))
      return { current, at: String(time) };
    const second = Math.floor(time);
    const from = await readFrom(signal);
    if (from === undefined || second < from)
      return { refusal: `The index can be read as it was from ${from} (Unix seconds) on.` };
    const entries = Object.entries(chains).map(
      async ([id, chain]) =>
        [id, block?.id === id ? endingAt(chain, block) : await chainAt(id, chain, second)] as const,
    );
    const omnichainSnapshot = {
      ...snapshot.omnichainSnapshot,
      chains: Object.fromEntries(await Promise.all(entries)),
      omnichainIndexingCursor: second,
    };
    const { schemas, isKept } = pastOf(schema());
    // Of several chains, all are read at the block's time.
    const isOnly = block !== undefined && Object.keys(chains).length === 1;
    const ofBlock = isOnly ? { chainId: Number(block.id), number: block.number } : undefined;
    const slowestChainIndexingCursor = Math.min(snapshot.slowestChainIndexingCursor, second);
    const pinned = { ...current, snapshot: { ...snapshot, slowestChainIndexingCursor, omnichainSnapshot } };
    if (isToken && !isTokenOf(at, pinned))
      return { refusal: "Not all of its chains were at these blocks at one time." };
    return {
      current: pinned,
      at: String(second),
      moment: { schemas, position: positionOf(second, ofBlock), isKept: isKept(second) },
    };
  };
  return async (at, current, signal) => {
    try {
      return await find(at, current, signal);
    } catch (error) {
      // viem: the error of a request to a node.
      if (!(error instanceof BaseError)) throw error;
      return { refusal: "No node of the chain responds to provide the timestamps of its blocks." };
    }
  };
}
