import {
  type DocumentNode,
  type FragmentDefinitionNode,
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
  const done = new Set<string>();
  for (const { selectionSet } of operations) checkSpreads(selectionSet, fragments, [], done);
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

// Every fragment that is spread must exist, and must not contain itself.
function checkSpreads(set: SelectionSetNode, fragments: Fragments, open: string[], done: Set<string>): void {
  for (const selection of set.selections) {
    if (selection.kind !== "FragmentSpread") {
      if (selection.selectionSet !== undefined) checkSpreads(selection.selectionSet, fragments, open, done);
      continue;
    }
    const name = selection.name.value;
    if (open.includes(name)) {
      throw new QueryError(`query has fragment cycle including \`${name}\``, { node: selection });
    }
    if (done.has(name)) continue;
    const fragment = fragments.get(name);
    if (fragment === undefined)
      throw new QueryError(`fragment \`${name}\` is not defined`, { node: selection });
    checkSpreads(fragment.selectionSet, fragments, [...open, name], done);
    done.add(name);
  }
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
