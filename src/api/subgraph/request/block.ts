import type { ChainBlock, Head } from "../../../ponder/checkpoints.ts";
import type { BlockHashes } from "../../../read/chain-blocks.ts";
import { BusyError } from "../../../read/sql/client.ts";
import type { Moment } from "../../../read/sql/moment.ts";
import { QueryError } from "../schema/errors.ts";
import { coerce, isObject, show, type Value } from "../schema/inputs.ts";
import { argument, collectFields, hasSelection, type Selected, type SelectionContext } from "./document.ts";

/** The block that a root field must be read at. */
export type BlockConstraint =
  | { kind: "latest" }
  | { kind: "hash"; hash: string }
  | { kind: "number" | "atLeast"; number: number };

/**
 * Constraint of a root field's `block` argument: `hash` wins over `number`, and that over `number_gte`. Throws
 * QueryError.
 */
export function blockConstraint(context: SelectionContext, { nodes }: Selected): BlockConstraint {
  const value = argument(context, nodes[0], "block");
  if (value === null) return { kind: "latest" };
  if (!isObject(value)) throw createInvalidError(value);
  const hash = value["hash"] ?? null;
  if (hash !== null) {
    const bytes = coerce("Bytes", hash);
    if (bytes === undefined) throw createInvalidError(value);
    context.budget.spendValue(bytes);
    return { kind: "hash", hash: bytes };
  }
  for (const [key, kind] of [
    ["number", "number"],
    ["number_gte", "atLeast"],
  ] as const) {
    const number = value[key] ?? null;
    if (number === null) continue;
    const text = coerce("Int", number);
    if (text === undefined || text.startsWith("-")) throw createInvalidError(value);
    return { kind, number: Number(text) };
  }
  throw createInvalidError(value);
}

function createInvalidError(value: Value): QueryError {
  return new QueryError(`Invalid value provided for argument \`block\`: ${show(value)}`);
}

/** What responses say about the index and its block. */
export type MetaSource = {
  head: Head | undefined;
  deployment: string;
  /** Hashes of a final block, from a node. */
  hashes: (head: Head) => Promise<BlockHashes | undefined>;
  hasErrors: () => boolean;
};

/**
 * JSON text of `_meta`. Before the first block the number is 0, because clients that read `block.number` would break at
 * null.
 */
export function metaJson(
  context: SelectionContext,
  { nodes }: Selected,
  constraint: BlockConstraint,
  { head, deployment, hashes, hasErrors }: MetaSource,
): Promise<string | undefined> {
  // subgraph: a block requested by number has no hash.
  const hasHash = head !== undefined && constraint.kind !== "number";
  let asked: Promise<BlockHashes | undefined> | undefined;
  const hash = async (name: keyof BlockHashes) => {
    if (hasHash && head[name] === undefined) asked ??= hashes(head);
    return JSON.stringify((hasHash && head[name]) || (await asked)?.[name] || null);
  };
  const block: Readers = {
    number: () => `${head?.number ?? 0}`,
    timestamp: () => `${head?.timestamp ?? null}`,
    hash: () => hash("hash"),
    parentHash: () => hash("parentHash"),
  };
  return buildSelectedJson(context, "_Meta_", nodes, {
    deployment: () => JSON.stringify(deployment),
    hasIndexingErrors: () => `${hasErrors()}`,
    block: (selected) => buildSelectedJson(context, "_Block_", selected, block),
  });
}

type Readers = { [name: string]: (nodes: Selected["nodes"]) => string | Promise<string | undefined> };

async function buildSelectedJson(
  context: SelectionContext,
  type: string,
  nodes: Selected["nodes"],
  readers: Readers,
): Promise<string | undefined> {
  if (!hasSelection(nodes)) return undefined;
  const parts: string[] = [];
  for (const { key, name, nodes: same } of collectFields(context, type, nodes)) {
    const reader = name === "__typename" ? () => `"${type}"` : readers[name];
    if (reader === undefined)
      throw new QueryError(`Type \`${type}\` has no field \`${name}\``, { node: same[0] });
    const value = await reader(same);
    if (value !== undefined) parts.push(`"${key}":${value}`);
  }
  return `{${parts.join(",")}}`;
}

/** Where former blocks are read. */
export type PastSource = {
  /** SQL of the first second (Unix time) that can be read. */
  fromSql: string;
  /** The first block that is indexed. */
  start: number;
  /** SQL of the text of the chain's branch (`parseBranch`). */
  branchSql: string;
  /** The moment after a block; with a hash only as long as the index has that block. */
  momentOf: (block: { number: number; timestamp: number; hash?: string | undefined }) => Moment;
  /** A block of the chain's branch; undefined if it has none. Rejects if no node responds. */
  find: (by: { number: number } | { hash: string }, branch: ChainBranch) => Promise<ChainBlock | undefined>;
  /** The first block from a time (Unix seconds) on. Rejects likewise. */
  firstFrom: (
    time: number,
    head: { number: number; timestamp: number },
    branch: ChainBranch,
  ) => Promise<number>;
};

type ChainBranch = readonly ChainBlock[];

/** What root fields are read at: the block, and the moment for their statement unless it is the latest one. */
export type ReadPosition = { head: Head | undefined; moment?: Moment };

type Latest = Pick<MetaSource, "head" | "deployment"> & {
  /** The first second (Unix time) that can be read. */
  from: number;
  branch: ChainBranch;
};

/**
 * The former block that a constraint by number or hash names, to read it; the error of the request if it cannot be
 * read.
 */
export async function pinnedPosition(
  constraint: BlockConstraint & { kind: "number" | "hash" },
  past: PastSource,
  { head, deployment, from, branch }: Latest,
): Promise<ReadPosition | QueryError> {
  const key = constraint.kind;
  const isAhead = key === "number" && (head === undefined || constraint.number > head.number);
  if (isAhead) return createNotYetError(key, constraint.number, { head, deployment });
  let block: Head | undefined;
  let earliest = 0;
  try {
    const isHead = key === "number" && constraint.number === head?.number;
    block = isHead ? head : await past.find(constraint, branch);
    if (block?.timestamp !== undefined && block.timestamp < from && head?.timestamp !== undefined)
      earliest = await past.firstFrom(from, { ...head, timestamp: head.timestamp }, branch);
  } catch (error) {
    if (error instanceof BusyError) throw error;
    return createUndecodableError(key, "no node responds to provide the block's timestamp");
  }
  if (block?.timestamp === undefined)
    return key === "hash" ? createNoSuchHashError() : createNoSuchNumberError(constraint.number);
  const { number, timestamp, hash } = block;
  if (head === undefined || number > head.number) return createNotYetError(key, number, { head, deployment });
  if (timestamp < from || number < past.start)
    return createPrunedError(key, number, { earliest: Math.max(earliest, past.start), deployment });
  return { head: block, moment: past.momentOf({ number, timestamp, hash }) };
}

/** The error of a request if `head` does not meet the constraint, where only the latest block can be read. */
export async function unservedBlock(
  constraint: BlockConstraint,
  { head, deployment, hashes }: MetaSource,
): Promise<QueryError | undefined> {
  if (constraint.kind === "latest") return undefined;
  if (constraint.kind === "hash") {
    const known = head?.hash === undefined && head ? await hashes(head) : head;
    return known?.hash === constraint.hash ? undefined : createNoSuchHashError();
  }
  const { kind, number } = constraint;
  const indexed = head?.number ?? 0;
  if (head !== undefined && (number === indexed || (kind === "atLeast" && number < indexed)))
    return undefined;
  const key = kind === "atLeast" ? "number_gte" : "number";
  return number < indexed
    ? createPrunedError(key, number, { earliest: indexed, deployment })
    : createNotYetError(key, number, { head, deployment });
}

const createUndecodableError = (key: string, reason: string) =>
  new QueryError(`Failed to decode \`block.${key}\` value: \`${reason}\``);
const createNoSuchHashError = () => createUndecodableError("hash", "no block with that hash found");
const createNoSuchNumberError = (number: number) =>
  createUndecodableError("number", `the chain's node does not have block number ${number}`);

const createNotYetError = (
  key: string,
  number: number,
  { head, deployment }: Pick<MetaSource, "head" | "deployment">,
) =>
  createUndecodableError(
    key,
    `subgraph ${deployment} has only indexed up to block number ${head?.number ?? 0} and data for block number ${number} is therefore not yet available`,
  );

const createPrunedError = (key: string, number: number, at: { earliest: number; deployment: string }) =>
  createUndecodableError(
    key,
    `subgraph ${at.deployment} only has data starting at block number ${at.earliest} and data for block number ${number} is therefore not available`,
  );
