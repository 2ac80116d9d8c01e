import type { ASTNode } from "graphql";

/** One entry of `errors` in a response. */
export type ErrorEntry = { locations?: Location[]; message: string };

type Location = { line: number; column: number };

/**
 * An error of the query. Has a location in the document where the original has one.
 * Scope "group": only the root fields of the same block constraint are lost; "document": all of them.
 */
export class QueryError extends Error {
  override name = "QueryError";
  readonly entry: ErrorEntry;
  readonly scope: "document" | "group";

  constructor(message: string, { node, location, scope = "document" }: QueryErrorOptions = {}) {
    super(message);
    const place = location ?? node?.loc?.startToken;
    this.entry =
      place === undefined
        ? { message }
        : { locations: [{ line: place.line, column: place.column }], message };
    this.scope = scope;
  }
}

type QueryErrorOptions = {
  node?: ASTNode | undefined;
  location?: Location | undefined;
  scope?: "document" | "group";
};
