import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  GraphQLError,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from "graphql";
import { LRUCache } from "lru-cache";
import { QueryError } from "../schema/errors.ts";
import { readValue, type Value, type Variables } from "../schema/values.ts";

/** The fragments of a document by name. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;
/** The operation to run, with the fragments of its document. */
export type Operation = { node: OperationDefinitionNode; fragments: Fragments };

type Document = { operations: OperationDefinitionNode[]; fragments: Fragments };

/** A reader of documents that caches those it has parsed: clients send few different ones. */
export function createDocumentReader({ tokens }: { tokens: number }) {
  const cache = new LRUCache<string, Document>({
    maxSize: 1_000_000,
    sizeCalculation: (_, key) => key.length + 1,
  });
  /** The operation to run. Throws QueryError for a document that cannot be run. */
  return (source: string, operationName: string | undefined): Operation => {
    let document = cache.get(source);
    if (document === undefined) {
      document = readDocument(source, tokens);
      cache.set(source, document);
    }
    return { node: chooseOperation(document.operations, operationName), fragments: document.fragments };
  };
}

function readDocument(source: string, maxTokens: number): Document {
  const { definitions } = parseSource(source, maxTokens);
  const operations = definitions.filter((node) => node.kind === "OperationDefinition");
  const fragments = new Map(
    definitions.filter((node) => node.kind === "FragmentDefinition").map((node) => [node.name.value, node]),
  );
  const seen = { open: new Set<string>(), heights: new Map<string, number>() };
  for (const { selectionSet } of operations) checkSpreads(selectionSet, fragments, seen, 1);
  return { operations, fragments };
}

function parseSource(source: string, maxTokens: number): DocumentNode {
  try {
    return parse(source, { maxTokens });
  } catch (error) {
    if (error instanceof GraphQLError) {
      const token = error.positions?.[0];
      const { line, column } = error.locations?.[0] ?? { line: 1, column: 1 };
      throw new QueryError(
        error.message.includes("tokens")
          ? `The document has more than ${maxTokens} tokens. Split it into several requests.`
          : error.message,
        token === undefined ? {} : { location: { line, column } },
      );
    }
    // The parser is recursive: a document may be nested too deeply for the stack.
    if (error instanceof RangeError) throw new QueryError("The document is nested too deeply.");
    throw error;
  }
}

function chooseOperation(
  operations: OperationDefinitionNode[],
  name: string | undefined,
): OperationDefinitionNode {
  const [first, second] = operations;
  const chosen =
    name === undefined || second === undefined ? first : operations.find((node) => node.name?.value === name);
  if (name === undefined && second !== undefined) throw new QueryError("Operation name required");
  if (chosen === undefined) {
    throw new QueryError(
      name === undefined
        ? "The document contains no operation."
        : `The document has no operation \`${name}\`.`,
    );
  }
  if (chosen.operation !== "query")
    throw new QueryError(`Not supported: ${chosen.operation}`, { node: chosen });
  return chosen;
}

// Levels that the stack has room for with certainty.
const mostLevels = 1_000;

/** Fragments that contain the selections at hand, and the levels within those that are checked. */
type Seen = { open: Set<string>; heights: Map<string, number> };

// Every fragment that is spread must exist, and must not contain itself. Returns the levels within the selections.
function checkSpreads(set: SelectionSetNode, fragments: Fragments, seen: Seen, level: number): number {
  if (level > mostLevels) throw new QueryError("The document is nested too deeply.");
  let height = 0;
  for (const selection of set.selections) {
    if (selection.kind === "FragmentSpread") {
      height = Math.max(height, 1 + checkSpread(selection, fragments, seen, level));
    } else if (selection.selectionSet !== undefined) {
      height = Math.max(height, 1 + checkSpreads(selection.selectionSet, fragments, seen, level + 1));
    }
  }
  if (level + height > mostLevels) throw new QueryError("The document is nested too deeply.");
  return height;
}

function checkSpread(node: FragmentSpreadNode, fragments: Fragments, seen: Seen, level: number): number {
  const name = node.name.value;
  if (seen.open.has(name)) throw new QueryError(`query has fragment cycle including \`${name}\``, { node });
  const known = seen.heights.get(name);
  if (known !== undefined) return known;
  const fragment = fragments.get(name);
  if (fragment === undefined) throw new QueryError(`fragment \`${name}\` is not defined`, { node });
  seen.open.add(name);
  const height = checkSpreads(fragment.selectionSet, fragments, seen, level + 1);
  seen.open.delete(name);
  seen.heights.set(name, height);
  return height;
}

/** Values of the variables that the operation declares, defaults included; other variables are ignored. */
export function readVariables(
  { node }: Operation,
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
