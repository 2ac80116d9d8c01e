import type { DirectiveNode, FieldNode, SelectionSetNode } from "graphql";
import { entityTypes } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { readValue, type Variables } from "../schema/values.ts";
import type { Fragments } from "./document.ts";

/** A field of the answer: its key there, its name, and every place where the document asks for it. */
export type Selected = { key: string; name: string; nodes: [FieldNode, ...FieldNode[]] };

export type SelectionContext = {
  fragments: Fragments;
  variables: Variables;
  /** Counts down: fields that may still be collected. */
  fieldsLeft: number;
};

/**
 * Fields that the selection sets ask of an object of the concrete type `type`, in the order of the document.
 * `scope` is the type that the sets are written for: the type itself or its interface.
 */
export function collectFields(
  context: SelectionContext,
  type: string,
  scope: string,
  sets: readonly SelectionSetNode[],
): Selected[] {
  const found = new Map<string, Selected>();
  for (const set of sets) collect(context, type, scope, set, found);
  return [...found.values()];
}

function collect(
  context: SelectionContext,
  type: string,
  scope: string,
  set: SelectionSetNode,
  found: Map<string, Selected>,
): void {
  for (const selection of set.selections) {
    if (--context.fieldsLeft < 0) {
      throw new QueryError("The query selects too many fields. Split it into several requests.", {
        node: selection,
      });
    }
    if (!isIncluded(selection.directives, context)) continue;
    if (selection.kind === "Field") {
      addField(scope, selection, found);
      continue;
    }
    const fragment =
      selection.kind === "InlineFragment" ? selection : context.fragments.get(selection.name.value);
    const condition = fragment?.typeCondition?.name.value ?? scope;
    if (fragment !== undefined && appliesTo(condition, type)) {
      collect(context, type, condition, fragment.selectionSet, found);
    }
  }
}

function addField(scope: string, node: FieldNode, found: Map<string, Selected>): void {
  const name = node.name.value;
  const type = entityTypes.get(scope);
  if (type !== undefined && name !== "__typename" && !type.fields.has(name)) {
    throw new QueryError(`Type \`${scope}\` has no field \`${name}\``, { node });
  }
  const key = node.alias?.value ?? name;
  const same = found.get(key);
  if (same === undefined) found.set(key, { key, name, nodes: [node] });
  else same.nodes.push(node);
}

function appliesTo(condition: string, type: string): boolean {
  return condition === type || entityTypes.get(condition)?.implementers.includes(type) === true;
}

/** Whether `@skip` and `@include` let a selection stay. */
function isIncluded(
  directives: readonly DirectiveNode[] | undefined,
  { variables }: SelectionContext,
): boolean {
  return (directives ?? []).every((directive) => {
    const name = directive.name.value;
    if (name !== "skip" && name !== "include") return true;
    const node = directive.arguments?.find((argument) => argument.name.value === "if")?.value;
    const value = node === undefined ? null : readValue(node, variables, 0);
    if (typeof value !== "boolean") {
      throw new QueryError(`No value provided for required argument: \`if\``, { node: directive });
    }
    return value === (name === "include");
  });
}
