import { QueryError } from "../schema/errors.ts";
import { coerce, isObject, show, type Value } from "../schema/inputs.ts";
import { argument, type Selected, type SelectionContext } from "./document.ts";

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
    const bytes = coerce("Bytes", hash) ?? refuse(value);
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

function refuse(value: Value): never {
  throw invalid(value);
}

function invalid(value: Value): QueryError {
  return new QueryError(`Invalid value provided for argument \`block\`: ${show(value)}`);
}
