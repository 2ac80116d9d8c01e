import { type DocumentNode, Lexer, parse, type SelectionSetNode, Source, TokenKind } from "graphql";
import { compileRequest } from "../../../src/api/subgraph/compile/compile.ts";
import { createDocumentReader } from "../../../src/api/subgraph/request/document.ts";
import { createIntrospection } from "../../../src/api/subgraph/request/introspection.ts";
import type { Value } from "../../../src/api/subgraph/schema/inputs.ts";
import { defaultSubgraphLimits } from "../../../src/config/limits.ts";

const introspect = createIntrospection();

/** A request as a client sends it. */
export type PricedQuery = { query: string; variables?: { [name: string]: Value } };

// As the endpoint compiles it, without a database.
function compileQuery({ query, variables = {} }: PricedQuery) {
  const request = {
    query,
    variables,
    operationName: undefined,
    extensions: { counts: false, truncated: false },
  };
  const limits = defaultSubgraphLimits;
  return compileRequest(request, { limits, readDocument: createDocumentReader(limits), introspect });
}

/** What a query costs of each limit that does not depend on time. Throws like the endpoint. */
export async function priceOf(priced: PricedQuery) {
  const { context, fields } = await compileQuery(priced);
  return {
    ...context.budget.spent,
    bodyBytes: Buffer.byteLength(JSON.stringify(priced)),
    tokens: countTokens(priced.query),
    rootFields: fields.length,
    depth: depthOf(parse(priced.query)),
    listValues: longestList(priced.variables),
  };
}

function countTokens(query: string): number {
  const lexer = new Lexer(new Source(query));
  let tokens = 0;
  while (lexer.advance().kind !== TokenKind.EOF) tokens += 1;
  return tokens;
}

function depthOf({ definitions }: DocumentNode): number {
  const inside = (set: SelectionSetNode): number => {
    const depths = set.selections.map((selection) => {
      // Introspection is priced by its length alone.
      if (selection.kind === "Field" && selection.name.value.startsWith("__")) return 0;
      if (selection.kind !== "FragmentSpread")
        return selection.selectionSet === undefined ? 0 : inside(selection.selectionSet);
      const fragment = definitions.find(
        (node) => node.kind === "FragmentDefinition" && node.name.value === selection.name.value,
      );
      return fragment?.kind === "FragmentDefinition" ? inside(fragment.selectionSet) - 1 : 0;
    });
    return 1 + Math.max(...depths);
  };
  return Math.max(
    ...definitions.map((node) => (node.kind === "OperationDefinition" ? inside(node.selectionSet) : 0)),
  );
}

function longestList(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? value.length : 0;
  return Math.max(own, ...Object.values(value).map(longestList));
}
