import { setTimeout as pause } from "node:timers/promises";
import type { SelectionSetNode } from "graphql";
import { LRUCache } from "lru-cache";
import type { Head } from "../../../ponder/checkpoints.ts";
import { QueryError } from "../schema/errors.ts";
import { coerce, isObject, show, type Value } from "../schema/inputs.ts";
import { argument, collectFields, type Selected, type SelectionContext } from "./document.ts";

/** Hashes of a block, which only a node knows. */
export type BlockHashes = { hash: string; parentHash: string };

/** The block that a root field must be read at. */
export type BlockConstraint =
  | { kind: "latest" }
  | { kind: "hash"; hash: string }
  | { kind: "number"; number: number }
  | { kind: "atLeast"; number: number };

/** Constraint of a root field's `block` argument. Of several keys hash wins, then number, then number_gte. */
export function blockConstraint(context: SelectionContext, { nodes }: Selected): BlockConstraint {
  const value = argument(context, nodes[0], "block");
  if (value === null) return { kind: "latest" };
  if (!isObject(value)) throw invalid(value);
  const hash = value["hash"] ?? null;
  if (hash !== null) {
    const bytes = coerce("Bytes", hash);
    if (bytes === undefined) throw invalid(value);
    context.budget.spendValue(bytes);
    return { kind: "hash", hash: bytes };
  }
  const number = value["number"] ?? null;
  if (number !== null) return { kind: "number", number: blockNumber(number, value) };
  const least = value["number_gte"] ?? null;
  if (least !== null) return { kind: "atLeast", number: blockNumber(least, value) };
  throw invalid(value);
}

function blockNumber(value: Value, whole: Value): number {
  const number = coerce("Int", value);
  if (number === undefined || number.startsWith("-")) throw invalid(whole);
  return Number(number);
}

function invalid(value: Value): QueryError {
  return new QueryError(`Invalid value provided for argument \`block\`: ${show(value)}`);
}

type MetaSource = {
  head: Head | undefined;
  deployment: string;
  hashes: (head: Head) => Promise<BlockHashes | undefined>;
  hasErrors: () => boolean;
};

const fields: { [type: string]: ReadonlySet<string> } = {
  _Meta_: new Set(["__typename", "block", "deployment", "hasIndexingErrors"]),
  _Block_: new Set(["__typename", "hash", "number", "timestamp", "parentHash"]),
};

/**
 * JSON text of `_meta`. Before the first block the number is 0 and the rest null, so that clients that read
 * `block.number` see an index far behind instead of breaking.
 */
export async function metaJson(
  context: SelectionContext,
  { nodes }: Selected,
  constraint: BlockConstraint,
  source: MetaSource,
): Promise<string | undefined> {
  const asked = select(context, "_Meta_", nodes);
  if (asked === undefined) return undefined;
  const parts: string[] = [];
  for (const selected of asked) {
    const value = await metaField(context, selected, constraint, source);
    if (value !== undefined) parts.push(`"${selected.key}":${value}`);
  }
  return `{${parts.join(",")}}`;
}

async function metaField(
  context: SelectionContext,
  selected: Selected,
  constraint: BlockConstraint,
  source: MetaSource,
): Promise<string | undefined> {
  if (selected.name === "__typename") return '"_Meta_"';
  if (selected.name === "deployment") return JSON.stringify(source.deployment);
  if (selected.name === "hasIndexingErrors") return String(source.hasErrors());
  const asked = select(context, "_Block_", selected.nodes);
  if (asked === undefined) return undefined;
  // subgraph: no hash for a block that is requested by number.
  const wantsHash =
    constraint.kind !== "number" && asked.some(({ name }) => name === "hash" || name === "parentHash");
  const hashes = wantsHash && source.head !== undefined ? await source.hashes(source.head) : undefined;
  const values: { [name: string]: string | number | undefined } = {
    __typename: "_Block_",
    number: source.head?.number ?? 0,
    timestamp: source.head?.timestamp,
    hash: hashes?.hash,
    parentHash: hashes?.parentHash,
  };
  return `{${asked.map(({ key, name }) => `"${key}":${JSON.stringify(values[name] ?? null)}`).join(",")}}`;
}

function select(context: SelectionContext, type: string, nodes: Selected["nodes"]): Selected[] | undefined {
  const sets: SelectionSetNode[] = nodes.flatMap((node) => node.selectionSet ?? []);
  if (sets.length === 0) return undefined;
  const asked = collectFields(context, type, type, sets);
  for (const { name, nodes: places } of asked) {
    if (!fields[type]?.has(name))
      throw new QueryError(`Type \`${type}\` has no field \`${name}\``, { node: places[0] });
  }
  return asked;
}

/** A block as a node reports it. Timestamp in Unix seconds. */
export type RpcBlock = BlockHashes & { timestamp: number };

const patienceMs = 2_000;

/**
 * Looks up the hashes of indexed blocks, once per block. Undefined if the RPC fails, takes longer than two
 * seconds, or has another block at that height (a reorganisation that is not indexed yet).
 */
export function createBlockHashes(blockOf: (number: number) => Promise<RpcBlock | undefined>) {
  // Kept for a few seconds only: the block may be replaced by one of the same height and time.
  const known = new LRUCache<string, Promise<BlockHashes | undefined>>({ max: 64, ttl: 15_000 });
  const settled = new LRUCache<string, BlockHashes>({ max: 64, ttl: 15_000 });

  function ask(head: Head): Promise<BlockHashes | undefined> {
    const key = `${head.number}/${head.timestamp}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const asked = withPatience(blockOf(head.number)).then((block) => {
      if (block === undefined || block.timestamp !== head.timestamp) {
        known.delete(key);
        return undefined;
      }
      const hashes = { hash: block.hash, parentHash: block.parentHash };
      settled.set(key, hashes);
      return hashes;
    });
    known.set(key, asked);
    return asked;
  }

  return {
    ask,
    /** The hashes if they are known; else undefined, and they are fetched for the next time. */
    peek(head: Head): BlockHashes | undefined {
      const hashes = settled.get(`${head.number}/${head.timestamp}`);
      if (hashes === undefined) void ask(head);
      return hashes;
    },
  };
}

// Without a response the hash is unknown, which `_meta` may show as null.
async function withPatience(answer: Promise<RpcBlock | undefined>): Promise<RpcBlock | undefined> {
  return Promise.race([answer, pause(patienceMs, undefined, { ref: false })]).catch(() => undefined);
}

/**
 * The error of a request whose response, read at `head`, does not meet the constraint; undefined if it does. Only the
 * latest block can be served: rows have no history.
 */
export async function unservedBlock(
  constraint: BlockConstraint,
  {
    head,
    deployment,
    hashes,
  }: {
    head: Head | undefined;
    deployment: string;
    hashes: (head: Head) => Promise<BlockHashes | undefined>;
  },
): Promise<QueryError | undefined> {
  if (constraint.kind === "latest") return undefined;
  if (constraint.kind === "hash") {
    const known = head === undefined ? undefined : await hashes(head);
    if (known?.hash === constraint.hash) return undefined;
    return new QueryError("Failed to decode `block.hash` value: `no block with that hash found`");
  }
  const { kind, number } = constraint;
  const indexed = head?.number ?? 0;
  if (head !== undefined && (number === indexed || (kind === "atLeast" && number < indexed)))
    return undefined;
  const key = kind === "atLeast" ? "number_gte" : "number";
  const reason =
    number < indexed
      ? `only has data starting at block number ${indexed} and data for block number ${number} is therefore not available`
      : `has only indexed up to block number ${indexed} and data for block number ${number} is therefore not yet available`;
  return new QueryError(`Failed to decode \`block.${key}\` value: \`subgraph ${deployment} ${reason}\``);
}
