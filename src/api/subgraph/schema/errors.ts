import type { ASTNode } from "graphql";

/** One entry of `errors` in an answer. */
export type ErrorEntry = { locations?: Location[]; message: string };
type Location = { line: number; column: number };

/**
 * A query that cannot be answered. Names the place in the document where the original does so.
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

/** The server is too busy; the caller may come back after `retryAfter` seconds. */
export class BusyError extends Error {
  override name = "BusyError";
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super("Too many queries are running. Try again in a moment.");
    this.retryAfter = retryAfter;
  }
}
