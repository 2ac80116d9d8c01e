import type { FieldNode } from "graphql";
import type { SubgraphLimits } from "../../../config/limits.ts";
import { QueryError } from "../schema/errors.ts";
import { coerce, readValue, show, type Value, type Variables } from "../schema/values.ts";

/** Value of a field's argument; null when it is absent or a variable without a value. */
export function argument(
  node: FieldNode,
  name: string,
  variables: Variables,
  { depth }: Pick<SubgraphLimits, "depth">,
): Value {
  const found = node.arguments?.find((candidate) => candidate.name.value === name);
  return found === undefined ? null : readValue(found.value, variables, depth);
}

/** `first` and `skip` of a list: 1 to 1000 (default 100) and 0 to 2^32 - 1 (default 0). */
export function range(node: FieldNode, variables: Variables, limits: Pick<SubgraphLimits, "depth" | "skip">) {
  return {
    first: whole(node, "first", 100, { least: 1, shown: 0, most: 1000 }),
    skip: whole(node, "skip", 0, { least: 0, shown: 0, most: limits.skip }),
  };

  function whole(
    field: FieldNode,
    name: string,
    otherwise: number,
    { least, shown, most }: { least: number; shown: number; most: number },
  ): number {
    const value = argument(field, name, variables, limits);
    if (value === null) return otherwise;
    if (typeof value !== "bigint" && !(typeof value === "number" && Number.isInteger(value))) {
      throw new QueryError(
        `Invalid value provided for argument \`${name}\`: expected Int, but got ${show(value)}`,
        {
          node: field,
        },
      );
    }
    if (value >= least && value <= most) return Number(value);
    throw new QueryError(`The \`${name}\` argument must be between ${shown} and ${most}, but is ${value}`, {
      scope: "group",
    });
  }
}

/** The `id` that a single entity is asked by. */
export function idArgument(
  node: FieldNode,
  variables: Variables,
  limits: Pick<SubgraphLimits, "depth">,
): string {
  const value = argument(node, "id", variables, limits);
  if (value === null) throw new QueryError("No value provided for required argument: `id`", { node });
  const id = coerce("ID", value);
  if (id === undefined) {
    throw new QueryError(`Invalid value provided for argument \`id\`: expected ID, but got ${show(value)}`, {
      node,
    });
  }
  return id;
}
