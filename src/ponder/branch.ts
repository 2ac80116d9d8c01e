import { type ChainBlock, parseCheckpoint } from "./checkpoints.ts";
import { stateSql } from "./state.ts";

// The branch of a chain that the rows of an index come from. live-events.ts stores it with the rows, in the same
// transaction, so that a hash, a number or a time is looked up in the branch that a statement reads
// (docs/ponder.md#branch-of-the-rows).

/** A block as Ponder follows it, its numbers in hexadecimal. */
export type BranchBlock = { block: Record<keyof ChainBlock, string> };

/**
 * What an index stores of a chain with each change of its head (a checkpoint): the head's block, and the blocks that a
 * reorganization may still replace. JSON text of rows of the state table (state.ts).
 */
export function branchRows({ id }: { id: number }, synced: readonly BranchBlock[], head: string): string {
  const blocks = synced.map(({ block: { number, timestamp, hash, parentHash } }) => ({
    ...{ number: Number(number), timestamp: Number(timestamp) },
    ...{ hash, parentHash },
  }));
  const { number } = parseCheckpoint(head).block;
  const [first] = blocks;
  // Each block's parent is the one before it.
  const parent = first === undefined ? [] : [[first.number - 1, 0, first.parentHash]];
  const list = [...parent, ...blocks.map((block) => [block.number, block.timestamp, block.hash])];
  return JSON.stringify([
    { id: `head ${id}`, snapshot: blocks.find((block) => block.number === number) ?? {} },
    { id: `branch ${id}`, snapshot: list },
  ]);
}

const buildBranchSql = (chainId: number) => stateSql(`branch ${Math.trunc(chainId)}`);

/** SQL expression for the text that `parseBranch` reads. */
export const branchSql = (chainId: number) => `${buildBranchSql(chainId)}::text`;

/** The blocks of a chain's branch that a reorganization may replace, oldest first. The blocks before them are final. */
export function parseBranch(text: string | null | undefined): ChainBlock[] {
  const list = JSON.parse(text ?? "[]") as [number, number, string][];
  return list.slice(1).map(([number, timestamp, hash], index) => ({
    ...{ number, timestamp, hash },
    parentHash: list[index]?.[2] ?? "",
  }));
}

/** SQL of whether the index has reached a block of a chain, on the branch that has it. */
export const hasBlockSql = (chainId: number, { number, hash }: Pick<ChainBlock, "number" | "hash">) =>
  `NOT EXISTS (SELECT FROM json_array_elements(${buildBranchSql(chainId)}) b WHERE (b ->> 0)::bigint = ${Math.trunc(number)} AND b ->> 2 <> '${hash.replaceAll("'", "''")}')`;
