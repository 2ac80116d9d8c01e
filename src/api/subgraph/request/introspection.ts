import {
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isLeafType,
  isListType,
  isObjectType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from "graphql";
import { collectSubfields } from "graphql/execution/collectFields.js";
import { LRUCache } from "lru-cache";
import { yieldToEventLoop } from "../../rest/turns.ts";
import { QueryError } from "../schema/errors.ts";
import { createSchema } from "../schema/schema.ts";
import type { Budget } from "./budget.ts";
import type { Operation, Selected, SelectionContext } from "./document.ts";

const built = new Map<boolean, GraphQLSchema>();

/**
 * Resolves `__schema` and `__type` as graphql-js does, which would hold all other requests up while it reads the whole schema. The
 * schema is built here, before the first request; responses are cached.
 */
export function createIntrospection({ hasV2 }: { hasV2: boolean } = { hasV2: false }) {
  const schema = built.get(hasV2) ?? createSchema({ hasV2 });
  built.set(hasV2, schema);
  const answers = new LRUCache<string, Record<string, string>>({
    maxSize: 16_000_000,
    sizeCalculation: (answer, key) =>
      Object.values(answer).reduce((sum, text) => sum + text.length, key.length + 1),
  });
  /** JSON texts by response key. Throws QueryError if they are longer than the limit. */
  return async (
    source: string,
    operation: Operation,
    fields: Selected[],
    context: SelectionContext,
  ): Promise<Record<string, string>> => {
    const variables = usableVariables(schema, operation, context);
    const key = JSON.stringify([source, operation.node.name?.value, variables]);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const fragments = Object.fromEntries(operation.fragments);
    const { budget } = context;
    const answer: Record<string, string> = {};
    try {
      for (const { key, name, nodes } of fields) {
        const reading = {
          schema,
          budget,
          fragments,
          variables,
          root: nodes[0],
          selected: new Map(),
          count: 0,
        };
        const field = name === "__schema" ? SchemaMetaFieldDef : TypeMetaFieldDef;
        answer[key] = await inTurns(fieldText(reading, field, undefined, nodes));
      }
    } catch (error) {
      throw error instanceof GraphQLError ? queryError(error) : error;
    }
    answers.set(key, answer);
    return answer;
  };
}

/** Values of the variables that arguments of the introspection may have: texts and Booleans. */
function usableVariables(schema: GraphQLSchema, { node }: Operation, { variables }: SelectionContext) {
  const scalars = new Set(["String", "Boolean"]);
  const usable = (node.variableDefinitions ?? []).filter(({ type }) => {
    const inner = type.kind === "NonNullType" ? type.type : type;
    return inner.kind === "NamedType" && scalars.has(inner.name.value);
  });
  const { coerced, errors } = getVariableValues(schema, usable, Object.fromEntries(variables));
  const [error] = errors ?? [];
  if (error !== undefined) throw queryError(error);
  return coerced ?? {};
}

function queryError({ message, locations }: GraphQLError): QueryError {
  return new QueryError(message, { location: locations?.[0] });
}

async function inTurns(steps: Generator<void, string>): Promise<string> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    await yieldToEventLoop();
  }
}

type MetaField = GraphQLField<unknown, unknown>;
type Nodes = readonly FieldNode[];

/** What one root field of the introspection is read with. */
type Reading = {
  schema: GraphQLSchema;
  budget: Budget;
  fragments: Record<string, FragmentDefinitionNode>;
  variables: { [name: string]: unknown };
  root: FieldNode;
  /** Fields that are selected of an object, by where it is selected: all objects of a meta type have the same. */
  selected: Map<Nodes, ReadonlyMap<string, Nodes>>;
  count: number;
};

// Objects between two occasions for others to have their turn.
const objectsAtOnce = 2_000;

/** JSON text of a field of the schema, step by step. */
function* fieldText(
  reading: Reading,
  { type, args, resolve }: MetaField,
  source: unknown,
  nodes: Nodes,
): Generator<void, string> {
  const [node] = nodes;
  if (node === undefined || resolve === undefined) return "null";
  const given = args.length === 0 ? {} : getArgumentValues({ args } as MetaField, node, reading.variables);
  const value = resolve(source, given, undefined, { schema: reading.schema } as GraphQLResolveInfo);
  return yield* valueText(reading, type, value, nodes);
}

function* valueText(
  reading: Reading,
  type: GraphQLOutputType,
  value: unknown,
  nodes: Nodes,
): Generator<void, string> {
  const inner = getNullableType(type);
  if (value === null || value === undefined) return "null";
  if (isListType(inner)) {
    const items: string[] = [];
    for (const item of value as Iterable<unknown>)
      items.push(yield* valueText(reading, inner.ofType, item, nodes));
    return `[${items.join(",")}]`;
  }
  if (isObjectType(inner)) return yield* objectText(reading, inner, value, nodes);
  const text = JSON.stringify(isLeafType(inner) ? inner.serialize(value) : null);
  reading.budget.spend("introspection", text.length, reading.root);
  return text;
}

function* objectText(
  reading: Reading,
  type: GraphQLObjectType,
  source: unknown,
  nodes: Nodes,
): Generator<void, string> {
  const { schema, budget, fragments, variables, root, selected } = reading;
  reading.count += 1;
  if (reading.count % objectsAtOnce === 0) yield;
  const fields = selected.get(nodes) ?? collectSubfields(schema, fragments, variables, type, nodes);
  selected.set(nodes, fields);
  const parts: string[] = [];
  for (const [key, same] of fields) {
    const name = same[0]?.name.value ?? "";
    const field = name === "__typename" ? TypeNameMetaFieldDef : type.getFields()[name];
    if (field === undefined) continue;
    budget.spend("introspection", key.length + 4, root);
    const text = name === "__typename" ? `"${type.name}"` : yield* fieldText(reading, field, source, same);
    parts.push(`"${key}":${text}`);
  }
  return `{${parts.join(",")}}`;
}
