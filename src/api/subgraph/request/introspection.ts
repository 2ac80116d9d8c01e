import {
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from "graphql";
import { LRUCache } from "lru-cache";
import { yieldToEventLoop } from "../../rest/turns.ts";
import { QueryError } from "../schema/errors.ts";
import { createSchema } from "../schema/schema.ts";
import type { Budget } from "./budget.ts";
import type { Fragments, Operation, Selected, SelectionContext } from "./document.ts";

// Lengths of the schema's lists: the mean of all types where all are read, and usual ones on the way from one type to others.
const meanSizes: Sizes = {
  fields: 4,
  args: 2,
  inputFields: 32,
  enumValues: 5,
  possibleTypes: 1,
  interfaces: 1,
};
const usualSizes: Sizes = {
  types: 115,
  fields: 20,
  args: 5,
  inputFields: 70,
  enumValues: 15,
  possibleTypes: 10,
  directives: 5,
};
type Sizes = { readonly [list: string]: number };

const built = new Map<boolean, GraphQLSchema>();

/** Resolves `__schema` and `__type`. The schema is built here, before the first request; responses are cached. */
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
    const estimate = createEstimate(operation.fragments);
    const nodes = fields.flatMap((field) => field.nodes);
    const estimated = nodes.reduce((sum, node) => sum + estimate(node), 0);
    if (estimated > context.limits.introspection) {
      context.budget.spend("introspection", estimated, nodes[0]);
    }
    const variables = usableVariables(schema, operation, context);
    const key = JSON.stringify([source, operation.node.name?.value, variables]);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const { fragments } = operation;
    const info = { schema } as GraphQLResolveInfo;
    const { budget } = context;
    const caches = { fields: new Map(), texts: new Map(), given: new Map() };
    const answer = await run({ info, budget, fragments, variables, ...caches, count: 0 }, fields);
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

async function run(reading: Reading, fields: Selected[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  try {
    for (const { key, name, nodes } of fields) {
      const steps = fieldText(
        reading,
        name === "__schema" ? SchemaMetaFieldDef : TypeMetaFieldDef,
        undefined,
        nodes,
      );
      let step = steps.next();
      while (step.done !== true) {
        await yieldToEventLoop();
        step = steps.next();
      }
      texts[key] = step.value;
    }
  } catch (error) {
    throw error instanceof GraphQLError ? queryError(error) : error;
  }
  return texts;
}

function queryError({ message, locations }: GraphQLError): QueryError {
  return new QueryError(message, { location: locations?.[0] });
}

type MetaField = GraphQLField<unknown, unknown>;
type Nodes = readonly FieldNode[];
/** Fields of a meta type that the document selects, by response key. */
type MetaFields = ReadonlyMap<string, FieldNode[]>;

/** What one request's introspection reads with, and what it has read: an object that is selected twice is read once. */
type Reading = {
  info: GraphQLResolveInfo;
  budget: Budget;
  fragments: Fragments;
  variables: { [name: string]: unknown };
  fields: Map<SelectionSetNode, MetaFields>;
  texts: Map<SelectionSetNode, Map<unknown, string>>;
  given: Map<FieldNode, { [name: string]: unknown }>;
  count: number;
};

// Objects between two occasions for others to have their turn.
const objectsAtOnce = 2_000;

/** JSON text of a field of the schema, step by step. */
function* fieldText(
  reading: Reading,
  field: MetaField,
  source: unknown,
  nodes: Nodes,
): Generator<void, string> {
  const [node] = nodes;
  if (node === undefined || field.resolve === undefined) return "null";
  const value = field.resolve(source, argumentsOf(reading, field, node), undefined, reading.info);
  return yield* valueText(reading, field.type, value, nodes);
}

function argumentsOf({ given, variables }: Reading, field: MetaField, node: FieldNode) {
  const known = given.get(node);
  if (known !== undefined) return known;
  const values = getArgumentValues(field, node, variables);
  given.set(node, values);
  return values;
}

function* valueText(
  reading: Reading,
  type: GraphQLOutputType,
  value: unknown,
  nodes: Nodes,
): Generator<void, string> {
  const inner = isNonNullType(type) ? type.ofType : type;
  if (value === null || value === undefined) return "null";
  if (isListType(inner)) {
    const items: string[] = [];
    for (const item of value as Iterable<unknown>) {
      items.push(yield* valueText(reading, inner.ofType, item, nodes));
    }
    return `[${items.join(",")}]`;
  }
  if (isObjectType(inner)) return yield* objectText(reading, inner, value, nodes);
  return JSON.stringify(isLeafType(inner) ? inner.serialize(value) : null);
}

// Text of a field whose value has no fields of its own; undefined for others.
function leafText(reading: Reading, { type, resolve }: MetaField, source: unknown): string | undefined {
  const inner = isNonNullType(type) ? type.ofType : type;
  if (!isLeafType(inner) || resolve === undefined) return undefined;
  const value = resolve(source, {}, undefined, reading.info);
  return value === null || value === undefined ? "null" : JSON.stringify(inner.serialize(value));
}

function* objectText(
  reading: Reading,
  type: GraphQLObjectType,
  source: unknown,
  nodes: Nodes,
): Generator<void, string> {
  const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  const only = sets.length === 1 ? sets[0] : undefined;
  const known = only === undefined ? undefined : reading.texts.get(only);
  const before = known?.get(source);
  if (before !== undefined) {
    reading.budget.spend("introspection", before.length);
    return before;
  }
  reading.count += 1;
  if (reading.count % objectsAtOnce === 0) yield;
  const parts: string[] = [];
  for (const [key, same] of fieldsOf(reading, type, sets)) {
    const [node] = same;
    const name = node?.name.value ?? "";
    const field = name === "__typename" ? TypeNameMetaFieldDef : type.getFields()[name];
    if (field === undefined) continue;
    const leaf = name === "__typename" ? `"${type.name}"` : leafText(reading, field, source);
    reading.budget.spend("introspection", key.length + 4 + (leaf?.length ?? 0), node);
    parts.push(`"${key}":${leaf ?? (yield* fieldText(reading, field, source, same))}`);
  }
  const text = `{${parts.join(",")}}`;
  if (known !== undefined) known.set(source, text);
  else if (only !== undefined) reading.texts.set(only, new Map([[source, text]]));
  return text;
}

function fieldsOf(reading: Reading, type: GraphQLObjectType, sets: SelectionSetNode[]): MetaFields {
  const [only] = sets;
  const known = only === undefined || sets.length > 1 ? undefined : reading.fields.get(only);
  if (known !== undefined) return known;
  const found = new Map<string, FieldNode[]>();
  for (const set of sets) collect(reading, type, set, found);
  if (only !== undefined && sets.length === 1) reading.fields.set(only, found);
  return found;
}

function collect(
  reading: Reading,
  type: GraphQLObjectType,
  set: SelectionSetNode,
  found: Map<string, FieldNode[]>,
): void {
  for (const selection of set.selections) {
    if (!isIncluded(reading, selection)) continue;
    if (selection.kind === "Field") {
      const key = selection.alias?.value ?? selection.name.value;
      const same = found.get(key);
      if (same === undefined) found.set(key, [selection]);
      else same.push(selection);
      continue;
    }
    const fragment =
      selection.kind === "InlineFragment" ? selection : reading.fragments.get(selection.name.value);
    const condition = fragment?.typeCondition?.name.value ?? type.name;
    if (fragment !== undefined && condition === type.name) {
      collect(reading, type, fragment.selectionSet, found);
    }
  }
}

function isIncluded({ variables }: Reading, selection: SelectionNode): boolean {
  const skip = getDirectiveValues(GraphQLSkipDirective, selection, variables);
  const include = getDirectiveValues(GraphQLIncludeDirective, selection, variables);
  return skip?.["if"] !== true && include?.["if"] !== false;
}

/** Estimates the length of a field's JSON text, in time linear in the document. */
function createEstimate(fragments: Fragments): (node: FieldNode) => number {
  const sums = { mean: new Map<SelectionSetNode, number>(), usual: new Map<SelectionSetNode, number>() };
  function ofSet(set: SelectionSetNode, isEveryType: boolean): number {
    const known = isEveryType ? sums.mean : sums.usual;
    let sum = known.get(set);
    if (sum !== undefined) return sum;
    sum = 0;
    for (const selection of set.selections) {
      if (selection.kind === "Field") sum += ofField(selection, isEveryType);
      else {
        const fragment =
          selection.kind === "InlineFragment" ? selection : fragments.get(selection.name.value);
        if (fragment !== undefined) sum += ofSet(fragment.selectionSet, isEveryType);
      }
    }
    known.set(set, sum);
    return sum;
  }
  function ofField({ name: { value: name }, alias, selectionSet }: FieldNode, isEveryType: boolean): number {
    const size = (isEveryType ? meanSizes : usualSizes)[name] ?? 1;
    const isStill = name === "types" || (isEveryType && (name === "fields" || name === "args"));
    const inner = selectionSet === undefined ? 10 : ofSet(selectionSet, isStill);
    return (alias?.value ?? name).length + 4 + size * (2 + inner);
  }
  return (node) => ofField(node, false);
}
