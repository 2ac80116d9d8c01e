import { BaseError } from "viem";
import { readTime } from "../ens/parameters.ts";
import { buildPosition, describePast } from "../operations/past.ts";
import type { BlockRef, ChainBlock } from "../ponder/checkpoints.ts";
import { type ChainSnapshot, type CurrentStatus, findIndexedBlock, headHash } from "../status/types.ts";
import { isTokenOf, readToken, tokenTime } from "./as-of.ts";
import type { ChainBlocks } from "./chain-blocks.ts";
import type { Moment } from "./sql/moment.ts";

/**
 * Finds the position that the parameter `at` names: the status as it was, the same position as a time in Unix seconds,
 * and the moment for statements, undefined for the present. `refusal`: why there is none, as a sentence.
 */
export type ReadPast = (
  at: string,
  current: CurrentStatus,
  signal: AbortSignal,
) => Promise<{ current: CurrentStatus; at: string; moment?: Moment } | { refusal: string }>;

const endChainAt = (chain: ChainSnapshot, { number, timestamp }: BlockRef): ChainSnapshot =>
  chain.chainStatus === "chain-queued" ? chain : { ...chain, latestIndexedBlock: { number, timestamp } };

type PastSources = {
  blocks: ChainBlocks;
  /** The blocks of a chain that a reorganization may replace (src/ponder/branch.ts). */
  readBranch: (chainId: number, signal: AbortSignal) => Promise<readonly ChainBlock[]>;
  /** The schema of the index that is served. */
  schema: () => string;
  /** The first second (Unix time) that can be read. */
  readFrom: (signal: AbortSignal) => Promise<number | undefined>;
  /** Milliseconds. */
  clock: () => number;
};

type Find = (id: string, number: number) => Promise<ChainBlock | undefined>;

// The block that `at` names. A token of one chain names its block, one of several chains none.
async function findNamedBlock(at: string, { snapshot, blocks }: CurrentStatus, find: Find) {
  const [named, ...others] = Object.entries((readTime(at) === undefined && readToken(at)) || {});
  const token = others.length === 0 ? named : undefined;
  const asked = token === undefined ? at : `${token[0]}:${token[1].block_number}`;
  const [, id = "", block = ""] = /^(\d{1,15}):(\d{1,15})$/.exec(asked) ?? [];
  const head = findIndexedBlock(snapshot.omnichainSnapshot.chains[id]);
  if (head === undefined || Number(block) > head.number) return undefined;
  const isHead = Number(block) === head.number;
  const found = isHead ? { ...head, hash: headHash(blocks?.[id], head) } : await find(id, Number(block));
  // A reorganization has put another block in the token's place.
  const { timestamp, block_hash = null } = token?.[1] ?? {};
  if (timestamp !== undefined && timestamp !== String(found?.timestamp)) return undefined;
  if (found?.hash && block_hash !== null && block_hash !== found.hash) return undefined;
  return found && { ...found, id };
}

/**
 * Creates what reads an index as it was: `at` is a time in a form of `/v1`, a position token, or `<chain id>:<block>`.
 */
export function createReadPast({ blocks, readBranch, schema, readFrom, clock }: PastSources): ReadPast {
  // The last block up to a second of a chain that went on, which may be before its start; undefined of one that did
  // not.
  const lastOf = async (id: string, chain: ChainSnapshot, second: number, signal: AbortSignal) => {
    const head = findIndexedBlock(chain);
    if (head === undefined || head.timestamp <= second) return undefined;
    const branch = await readBranch(Number(id), signal);
    return (await blocks.lastUpTo(Number(id), second, head, branch)) ?? "none";
  };

  const find: ReadPast = async (at, current, signal) => {
    const { snapshot } = current;
    const { chains, omnichainIndexingCursor: newest } = snapshot.omnichainSnapshot;
    const block = await findNamedBlock(at, current, async (id, number) =>
      blocks.find(Number(id), { number }, await readBranch(Number(id), signal)),
    );
    const isToken = block === undefined && readTime(at) === undefined && readToken(at) !== undefined;
    const time = block?.timestamp ?? readTime(at) ?? tokenTime(at);
    if (time === undefined || time > Math.max(newest, clock() / 1_000))
      return { refusal: "The index has not reached it, or the chain has no such block." };
    const isNewest = block === undefined || block.number === findIndexedBlock(chains[block.id])?.number;
    if (time >= newest && isNewest && !(isToken && !isTokenOf(at, current)))
      return { current, at: String(time) };
    const second = Math.floor(time);
    const from = await readFrom(signal);
    if (from === undefined || second < from)
      return { refusal: `The index can be read as it was from ${from} (Unix seconds) on.` };
    const found: Record<string, BlockRef> = {};
    const entries = Object.entries(chains).map(async ([id, chain]): Promise<[string, ChainSnapshot]> => {
      const last = block?.id === id ? block : await lastOf(id, chain, second, signal);
      if (last === undefined) return [id, chain];
      if (last === "none" || (last !== block && last.number < chain.config.startBlock.number))
        return [id, { chainStatus: "chain-queued", config: chain.config }];
      found[id] = last;
      return [id, endChainAt(chain, last)];
    });
    const omnichainSnapshot = {
      ...snapshot.omnichainSnapshot,
      chains: Object.fromEntries(await Promise.all(entries)),
      omnichainIndexingCursor: second,
    };
    const { schemas, isKept } = describePast(schema());
    // Of several chains, all are read at the block's time.
    const isOnly = block !== undefined && Object.keys(chains).length === 1;
    const ofBlock = isOnly ? { chainId: Number(block.id), number: block.number } : undefined;
    const slowestChainIndexingCursor = Math.min(snapshot.slowestChainIndexingCursor, second);
    const pinned = {
      ...current,
      snapshot: { ...snapshot, slowestChainIndexingCursor, omnichainSnapshot },
      blocks: { ...current.blocks, ...found },
    };
    if (isToken && !isTokenOf(at, pinned))
      return { refusal: "Not all of its chains were at these blocks at one time." };
    return {
      current: pinned,
      at: String(second),
      moment: { schemas, position: buildPosition(second, ofBlock), isKept: isKept(second) },
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
