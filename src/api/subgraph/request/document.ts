import {
  type ASTNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  GraphQLError,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from "graphql";
import { LRUCache } from "lru-cache";
import type { SubgraphLimits } from "../../../config/limits.ts";
import { QueryError } from "../schema/errors.ts";
import { coerce, entityTypes, readValue, show, type Value, type Variables } from "../schema/inputs.ts";

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;
/** The operation to run, with the fragments of its document. */
export type RequestedOperation = { node: OperationDefinitionNode; fragments: Fragments };

type Document = { operations: OperationDefinitionNode[]; fragments: Fragments };

/** Creates a document reader that caches parsed documents: clients send few different ones. */
export function createDocumentReader({ tokens }: { tokens: number }) {
  const cache = new LRUCache<string, Document>({
    maxSize: 1_000_000,
    sizeCalculation: (_, key) => key.length + 1,
    memoMethod: (source) => readDocument(source, tokens),
  });
  /** Returns the operation to run. Throws QueryError for a document that cannot be run. */
  return (source: string, operationName: string | undefined): RequestedOperation => {
    const { operations, fragments } = cache.memo(source);
    return { node: chooseOperation(operations, operationName), fragments };
  };
}

function readDocument(source: string, maxTokens: number): Document {
  const { definitions } = parseSource(source, maxTokens);
  const operations = definitions.filter((node) => node.kind === "OperationDefinition");
  const fragments = new Map(
    definitions.filter((node) => node.kind === "FragmentDefinition").map((node) => [node.name.value, node]),
  );
  const heights = new Map<string, number | undefined>();
  for (const { selectionSet } of operations) checkSpreads(selectionSet, fragments, heights, 1);
  return { operations, fragments };
}

function parseSource(source: string, maxTokens: number): DocumentNode {
  try {
    return parse(source, { maxTokens });
  } catch (error) {
    // The parser is recursive: a document may be nested too deeply for the stack.
    if (error instanceof RangeError) throw createTooDeepError();
    if (!(error instanceof GraphQLError)) throw error;
    const message = error.message.includes("tokens")
      ? `The document has more than ${maxTokens} tokens. Split it into several requests.`
      : error.message;
    throw new QueryError(message, { location: error.locations?.[0] });
  }
}

const createTooDeepError = () => new QueryError("The document is nested too deeply.");

function chooseOperation(
  operations: OperationDefinitionNode[],
  name: string | undefined,
): OperationDefinitionNode {
  const [first, second] = operations;
  if (name === undefined && second !== undefined) throw new QueryError("Operation name required");
  const chosen = second === undefined ? first : operations.find((node) => node.name?.value === name);
  if (first === undefined && name === undefined) throw new QueryError("The document contains no operation.");
  if (chosen === undefined) throw new QueryError(`The document has no operation \`${name}\`.`);
  if (chosen.operation !== "query")
    throw new QueryError(`Not supported: ${chosen.operation}`, { node: chosen });
  return chosen;
}

// Levels that certainly fit on the stack.
const maxLevels = 1_000;

// Levels within each fragment; undefined while the fragment is read.
type Heights = Map<string, number | undefined>;

// Checks that spread fragments exist and do not contain themselves. Returns the levels within the selections.
function checkSpreads(set: SelectionSetNode, fragments: Fragments, heights: Heights, level: number): number {
  if (level > maxLevels) throw createTooDeepError();
  let height = 0;
  for (const selection of set.selections) {
    if (selection.kind === "FragmentSpread") {
      height = Math.max(height, 1 + checkSpread(selection, fragments, heights, level));
    } else if (selection.selectionSet !== undefined) {
      height = Math.max(height, 1 + checkSpreads(selection.selectionSet, fragments, heights, level + 1));
    }
  }
  if (level + height > maxLevels) throw createTooDeepError();
  return height;
}

function checkSpread(
  node: FragmentSpreadNode,
  fragments: Fragments,
  heights: Heights,
  level: number,
): number {
  const name = node.name.value;
  const known = heights.get(name);
  if (known !== undefined) return known;
  if (heights.has(name)) throw new QueryError(`query has fragment cycle including \`${name}\``, { node });
  const fragment = fragments.get(name);
  if (fragment === undefined) throw new QueryError(`fragment \`${name}\` is not defined`, { node });
  heights.set(name, undefined);
  const height = checkSpreads(fragment.selectionSet, fragments, heights, level + 1);
  heights.set(name, height);
  return height;
}

/**
 * Values of the variables that the operation declares, defaults included. Throws QueryError if a required one is
 * missing.
 */
export function readVariables(
  { node }: RequestedOperation,
  given: { [name: string]: Value },
  { depth }: { depth: number },
): Variables {
  const variables = new Map<string, Value>();
  for (const definition of node.variableDefinitions ?? []) {
    const name = definition.variable.name.value;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value !== undefined && !(value === null && definition.type.kind === "NonNullType")) {
      variables.set(name, value);
    } else if (definition.defaultValue !== undefined && value === undefined) {
      variables.set(name, readValue(definition.defaultValue, new Map(), depth));
    } else if (definition.type.kind === "NonNullType") {
      throw new QueryError(`No value provided for required variable: \`${name}\``, { node: definition });
    }
  }
  return variables;
}

/** A field of the response: its key there, its name, and the nodes that select it. */
export type Selected = { key: string; name: string; nodes: [FieldNode, ...FieldNode[]] };

/** Context in which the fields and arguments of one document are read. */
export type SelectionContext = {
  fragments: Fragments;
  variables: Variables;
  limits: SubgraphLimits;
  budget: Budget;
};

type Selecting = readonly { selectionSet?: SelectionSetNode | undefined }[];

/** Whether any node selects fields. */
export const hasSelection = (nodes: Selecting) =>
  nodes.some(({ selectionSet }) => selectionSet !== undefined);

/**
 * Fields that nodes select of an object of type `type`, in document order. `scope`: the type they are written for,
 * perhaps its interface.
 */
export function collectFields(
  context: SelectionContext,
  type: string,
  nodes: Selecting,
  scope = type,
): Selected[] {
  const found = new Map<string, Selected>();
  for (const { selectionSet } of nodes)
    if (selectionSet !== undefined) collect(context, { type, scope }, selectionSet, found);
  return [...found.values()];
}

function collect(
  context: SelectionContext,
  { type, scope }: { type: string; scope: string },
  set: SelectionSetNode,
  found: Map<string, Selected>,
): void {
  for (const selection of set.selections) {
    context.budget.spend("fields", 1, selection);
    if (!isIncluded(selection.directives, context)) continue;
    if (selection.kind === "Field") {
      addField(scope, selection, found);
      continue;
    }
    const fragment =
      selection.kind === "InlineFragment" ? selection : context.fragments.get(selection.name.value);
    const condition = fragment?.typeCondition?.name.value ?? scope;
    if (fragment !== undefined && appliesTo(condition, type)) {
      collect(context, { type, scope: condition }, fragment.selectionSet, found);
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

/** Value of a field's argument; null if it is absent or a variable without a value. */
export function argument({ variables, limits }: SelectionContext, node: FieldNode, name: string): Value {
  const value = node.arguments?.find((candidate) => candidate.name.value === name)?.value;
  return value === undefined ? null : readValue(value, variables, limits.depth);
}

/** `first` and `skip` of a list: 1 to 1000 (default 100) and 0 to 2^32 - 1 (default 0). */
export function range(context: SelectionContext, node: FieldNode) {
  return {
    first: whole(context, node, "first", { otherwise: 100, min: 1, max: 1000 }),
    skip: whole(context, node, "skip", { otherwise: 0, min: 0, max: context.limits.skip }),
  };
}

function whole(
  context: SelectionContext,
  node: FieldNode,
  name: string,
  { otherwise, min, max }: { otherwise: number; min: number; max: number },
): number {
  const value = argument(context, node, name);
  if (value === null) return otherwise;
  if (typeof value !== "bigint" && !(typeof value === "number" && Number.isInteger(value))) {
    throw new QueryError(
      `Invalid value provided for argument \`${name}\`: expected Int, but got ${show(value)}`,
      { node },
    );
  }
  if (value >= min && value <= max) return Number(value);
  throw new QueryError(`The \`${name}\` argument must be between 0 and ${max}, but is ${value}`, {
    scope: "group",
  });
}

/** The `id` argument of a single entity's field. Throws QueryError without a valid one. */
export function idArgument(context: SelectionContext, node: FieldNode): string {
  const value = argument(context, node, "id");
  if (value === null) throw new QueryError("No value provided for required argument: `id`", { node });
  const id = coerce("ID", value);
  if (id === undefined) {
    throw new QueryError(`Invalid value provided for argument \`id\`: expected ID, but got ${show(value)}`, {
      node,
    });
  }
  context.budget.spendValue(id);
  return id;
}

// The unit of each price, and how to ask for less.
const units = {
  fields: ["fields (fragments put in)", "Select fewer, or split the query into several requests."],
  rows: [
    "entities (the product of `first` down its lists)",
    "Ask for fewer with `first`, or in several requests.",
  ],
  filterKeys: [
    "filter keys (variables count at each use)",
    "Look up many values with `_in`, or in several requests.",
  ],
  filterValues: [
    "values in arguments (variables count at each use, long texts once per 64 characters)",
    "Pass fewer values, or split the query into several requests.",
  ],
  estimatedBytes: [
    "bytes of response (if all its lists are full)",
    "Ask for fewer entities with `first`, for fewer fields, or in several requests.",
  ],
  sqlLength: ["characters of SQL", "Split the query into several requests."],
  parameters: [
    "bound values (a list counts as one)",
    "Look up many values with `_in`, or in several requests.",
  ],
  introspection: [
    "characters of introspection",
    "Ask for fewer levels, or for one type at a time with `__type(name: ..)`.",
  ],
} as const;

type PriceUnit = keyof typeof units;

/** Units of `work` between two yields to other requests. */
export const workAtOnce = 4_000;

/** The costs of a request, and their limits. */
type Budget = ReturnType<typeof createBudget>;

/** Creates a budget. Each price has a limit of the same name (src/config/limits.ts). */
export function createBudget(limits: Pick<SubgraphLimits, PriceUnit>) {
  const spent = Object.fromEntries(Object.keys(units).map((price) => [price, 0])) as Record<
    PriceUnit,
    number
  >;

  /** Pays `amount`. Throws QueryError at `node` once a limit is passed, with the price, the limit and a way out. */
  function spend(price: PriceUnit, amount: number, node?: ASTNode): void {
    spent[price] += amount;
    if (spent[price] <= limits[price]) return;
    const [unit, hint] = units[price];
    throw new QueryError(
      `The query costs at least ${spent[price]} ${unit}; the limit is ${limits[price]}. ${hint}`,
      { node },
    );
  }

  return {
    spent,
    spend,
    /** Pays for one value of an argument. */
    spendValue: (text: string) => spend("filterValues", 1 + (text.length >> 6)),
    /** Work of reading and compiling so far: `workAtOnce` units take about 8 ms. */
    work: () => spent.fields + spent.filterKeys + (spent.filterValues >> 2),
  };
}
