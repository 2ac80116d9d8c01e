import { execute, type FieldNode, type GraphQLSchema, Kind, type SelectionSetNode } from "graphql";
import { LRUCache } from "lru-cache";
import { QueryError } from "../schema/errors.ts";
import { createSchema } from "../schema/schema.ts";
import type { Variables } from "../schema/values.ts";
import type { Fragments, Operation } from "./document.ts";
import type { Selected } from "./fields.ts";

// Rough lengths of the lists in the schema, to estimate the size of a response.
const sizes: { [list: string]: number } = {
  types: 110,
  fields: 20,
  inputFields: 70,
  args: 5,
  enumValues: 15,
  possibleTypes: 5,
};
const mostEntries = 2_000_000;

/** Resolves `__schema` and `__type`. The schema is built on first use; responses are cached. */
export function createIntrospection() {
  let schema: GraphQLSchema | undefined;
  const answers = new LRUCache<string, Record<string, string>>({
    maxSize: 16_000_000,
    sizeCalculation: (answer, key) => key.length + 1 + Object.values(answer).join("").length,
  });
  /** JSON texts by response key. */
  return (
    source: string,
    operation: Operation,
    fields: Selected[],
    variables: Variables,
  ): Record<string, string> => {
    const key = JSON.stringify([source, operation.node.name?.value, Object.fromEntries(variables)]);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const nodes = fields.flatMap((field) => field.nodes);
    const entries = nodes.reduce((sum, node) => sum + estimate(node, operation.fragments), 0);
    if (entries > mostEntries) {
      throw new QueryError("The introspection query is nested too deeply.", { node: nodes[0] });
    }
    schema ??= createSchema();
    const answer = run(schema, operation, nodes, variables);
    answers.set(key, answer);
    return answer;
  };
}

function run(
  schema: GraphQLSchema,
  { node, fragments }: Operation,
  nodes: FieldNode[],
  variables: Variables,
) {
  const scalars = new Set(["String", "Boolean"]);
  const usable = (node.variableDefinitions ?? []).filter(({ type }) => {
    const inner = type.kind === "NonNullType" ? type.type : type;
    return inner.kind === "NamedType" && scalars.has(inner.name.value);
  });
  const result = execute({
    schema,
    document: {
      kind: Kind.DOCUMENT,
      definitions: [
        {
          ...node,
          variableDefinitions: usable,
          selectionSet: { kind: Kind.SELECTION_SET, selections: nodes },
        },
        ...fragments.values(),
      ],
    },
    variableValues: Object.fromEntries(variables),
  });
  if (result instanceof Promise) throw new Error("Introspection is synchronous.");
  const [error] = result.errors ?? [];
  if (error !== undefined) throw new QueryError(error.message, { location: error.locations?.[0] });
  return Object.fromEntries(
    Object.entries(result.data ?? {}).map(([key, value]) => [key, JSON.stringify(value)]),
  );
}

function estimate(node: FieldNode, fragments: Fragments): number {
  const inner = node.selectionSet === undefined ? 0 : estimateSet(node.selectionSet, fragments);
  return (sizes[node.name.value] ?? 1) * (1 + inner);
}

function estimateSet(set: SelectionSetNode, fragments: Fragments): number {
  let sum = 0;
  for (const selection of set.selections) {
    if (selection.kind === "Field") sum += estimate(selection, fragments);
    else {
      const fragment = selection.kind === "InlineFragment" ? selection : fragments.get(selection.name.value);
      if (fragment !== undefined) sum += estimateSet(fragment.selectionSet, fragments);
    }
    if (sum > mostEntries) return sum;
  }
  return sum;
}
