import {
  type GraphQLField,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from "graphql";
import { yieldToEventLoop } from "../../../http/turn.ts";
import { QueryError } from "../schema/errors.ts";
import { createSchema } from "../schema/schema.ts";
import { argument, collectFields, type Selected, type SelectionContext } from "./document.ts";

const built = new Map<boolean, GraphQLSchema>();

/**
 * Creates the resolver of `__schema` and `__type`, and builds their schema. It calls the resolvers of graphql-js and
 * yields to other requests, which graphql-js' executor would block while it reads the whole schema.
 */
export function createIntrospection({ hasV2 }: { hasV2: boolean } = { hasV2: false }) {
  const schema = built.get(hasV2) ?? createSchema({ hasV2 });
  built.set(hasV2, schema);
  /** JSON text of the field. Throws QueryError if it is longer than the limit. */
  return async (context: SelectionContext, { name, nodes }: Selected): Promise<string> => {
    const reading: SchemaReading = { schema, context, root: nodes, selected: new Map(), count: 0 };
    const steps = writeFieldText(
      reading,
      name === "__schema" ? SchemaMetaFieldDef : TypeMetaFieldDef,
      null,
      nodes,
    );
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done) return step.value;
      await yieldToEventLoop();
    }
  };
}

type SelectedNodes = Selected["nodes"];

type SchemaReading = {
  schema: GraphQLSchema;
  context: SelectionContext;
  root: SelectedNodes;
  /** Selected fields by the nodes that select them, as they are the same for all objects of a meta type. */
  selected: Map<SelectedNodes, Selected[]>;
  count: number;
};

// Objects read between two yields.
const objectsAtOnce = 2_000;

// JSON text of a field of the schema. Yields let other requests run.
function* writeFieldText(
  reading: SchemaReading,
  { type, args, resolve }: GraphQLField<unknown, unknown>,
  source: unknown,
  nodes: SelectedNodes,
): Generator<void, string> {
  const given = args.map(({ name }) => [name, argument(reading.context, nodes[0], name)] as const);
  if (given.some(([name, value]) => name === "name" && value === null))
    throw new QueryError("No value provided for required argument: `name`", { node: nodes[0] });
  const info = { schema: reading.schema } as GraphQLResolveInfo;
  const value = resolve?.(source, Object.fromEntries(given), undefined, info);
  return yield* writeValueText(reading, type, value, nodes);
}

function* writeValueText(
  reading: SchemaReading,
  type: GraphQLOutputType,
  value: unknown,
  nodes: SelectedNodes,
): Generator<void, string> {
  const { context, root, selected } = reading;
  const inner = getNullableType(type);
  if (value === null || value === undefined) return "null";
  if (isListType(inner)) {
    const items: string[] = [];
    for (const item of value as Iterable<unknown>)
      items.push(yield* writeValueText(reading, inner.ofType, item, nodes));
    return `[${items.join(",")}]`;
  }
  if (!isObjectType(inner)) {
    const text = JSON.stringify(isLeafType(inner) ? inner.serialize(value) : null);
    context.budget.spend("introspection", text.length, root[0]);
    return text;
  }
  reading.count += 1;
  if (reading.count % objectsAtOnce === 0) yield;
  const fields = selected.get(nodes) ?? collectFields(context, inner.name, nodes);
  selected.set(nodes, fields);
  const parts: string[] = [];
  for (const { key, name, nodes: same } of fields) {
    const field = inner.getFields()[name];
    if (field === undefined && name !== "__typename") continue;
    context.budget.spend("introspection", key.length + 4, root[0]);
    parts.push(`"${key}":${field ? yield* writeFieldText(reading, field, value, same) : `"${inner.name}"`}`);
  }
  return `{${parts.join(",")}}`;
}
