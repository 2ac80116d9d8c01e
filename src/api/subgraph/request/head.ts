import type { SubgraphLimits } from "../../../config/limits.ts";
import { QueryError } from "../schema/errors.ts";
import { coerce, isObject, show, type Value, type Variables } from "../schema/values.ts";
import { argument } from "./arguments.ts";
import type { Selected } from "./selection.ts";

/** A block as `_meta` tells it. Timestamp in Unix seconds. */
export type Head = { number: number; timestamp: number };

/** What the checkpoint tables do not hold. */
export type BlockHashes = { hash: string; parentHash: string };

/**
 * The indexed block of a chain, from the text of its row in Ponder's `_ponder_checkpoint`: 10 digits
 * timestamp, 16 chain id, 16 block number, then the place within the block. Undefined while the chain's
 * first block is still to come: its row then points before that block's first transaction.
 */
export function decodeHead(checkpoint: string | null): Head | undefined {
  if (checkpoint === null || !/^\d{75}$/.test(checkpoint) || /^0*$/.test(checkpoint.slice(42)))
    return undefined;
  return { timestamp: Number(checkpoint.slice(0, 10)), number: Number(checkpoint.slice(26, 42)) };
}

/** Which block a root field must be answered at. */
export type BlockConstraint =
  | { kind: "latest" }
  | { kind: "hash"; hash: string }
  | { kind: "number"; number: number }
  | { kind: "atLeast"; number: number };

/** Constraint of a root field's `block` argument. Of several keys hash wins, then number, then number_gte. */
export function blockConstraint(
  { nodes }: Selected,
  variables: Variables,
  limits: SubgraphLimits,
): BlockConstraint {
  const value = argument(nodes[0], "block", variables, limits);
  if (value === null) return { kind: "latest" };
  if (!isObject(value)) throw invalid(value);
  const hash = value["hash"] ?? null;
  if (hash !== null) return { kind: "hash", hash: coerce("Bytes", hash) ?? refuse(value) };
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

function refuse(value: Value): never {
  throw invalid(value);
}

function invalid(value: Value): QueryError {
  return new QueryError(`Invalid value provided for argument \`block\`: ${show(value)}`);
}

/**
 * Throws unless the answer, read at `head`, is the one that the constraint asks for. Only the latest block
 * can be served: rows hold no history.
 */
export async function checkConstraint(
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
): Promise<void> {
  if (constraint.kind === "latest") return;
  if (constraint.kind === "hash") {
    const known = head === undefined ? undefined : await hashes(head);
    if (known?.hash === constraint.hash) return;
    throw new QueryError("Failed to decode `block.hash` value: `no block with that hash found`", {
      scope: "group",
    });
  }
  const { kind, number } = constraint;
  const indexed = head?.number ?? 0;
  if (head !== undefined && (number === indexed || (kind === "atLeast" && number < indexed))) return;
  const key = kind === "atLeast" ? "number_gte" : "number";
  const reason =
    number < indexed
      ? `only has data starting at block number ${indexed} and data for block number ${number} is therefore not available`
      : `has only indexed up to block number ${indexed} and data for block number ${number} is therefore not yet available`;
  throw new QueryError(`Failed to decode \`block.${key}\` value: \`subgraph ${deployment} ${reason}\``, {
    scope: "group",
  });
}
