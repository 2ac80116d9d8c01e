import type { Head } from "../../../ponder/checkpoints.ts";
import type { BlockHashes } from "../../status/status.ts";
import { QueryError } from "../schema/errors.ts";
import { coerce, isObject, show, type Value } from "../schema/inputs.ts";
import { argument, collectFields, hasSelection, type Selected, type SelectionContext } from "./document.ts";

/** The block that a root field must be read at. */
export type BlockConstraint =
  | { kind: "latest" }
  | { kind: "hash"; hash: string }
  | { kind: "number" | "atLeast"; number: number };

/** Constraint of a root field's `block` argument: `hash` wins over `number`, and that over `number_gte`. Throws QueryError. */
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
  for (const [key, kind] of [
    ["number", "number"],
    ["number_gte", "atLeast"],
  ] as const) {
    const number = value[key] ?? null;
    if (number === null) continue;
    const text = coerce("Int", number);
    if (text === undefined || text.startsWith("-")) throw invalid(value);
    return { kind, number: Number(text) };
  }
  throw invalid(value);
}

function invalid(value: Value): QueryError {
  return new QueryError(`Invalid value provided for argument \`block\`: ${show(value)}`);
}

/** What responses say about the index and its block. */
export type MetaSource = {
  head: Head | undefined;
  deployment: string;
  hashes: (head: Head) => Promise<BlockHashes | undefined>;
  hasErrors: () => boolean;
};

/** JSON text of `_meta`. Before the first block the number is 0, because clients that read `block.number` would break at null. */
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
    if (hasHash) asked ??= hashes(head);
    return JSON.stringify((await asked)?.[name] ?? null);
  };
  const block: Readers = {
    number: () => `${head?.number ?? 0}`,
    timestamp: () => `${head?.timestamp ?? null}`,
    hash: () => hash("hash"),
    parentHash: () => hash("parentHash"),
  };
  return selectedJson(context, "_Meta_", nodes, {
    deployment: () => JSON.stringify(deployment),
    hasIndexingErrors: () => `${hasErrors()}`,
    block: (selected) => selectedJson(context, "_Block_", selected, block),
  });
}

type Readers = { [name: string]: (nodes: Selected["nodes"]) => string | Promise<string | undefined> };

async function selectedJson(
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

/** The error of a request if `head` does not meet the constraint. Only the latest block can be served: rows have no history. */
export async function unservedBlock(
  constraint: BlockConstraint,
  { head, deployment, hashes }: MetaSource,
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
