import type { ASTNode } from "graphql";

type Location = { line: number; column: number };

/** One entry of `errors` in a response. */
export type ErrorEntry = { locations?: Location[]; message: string };

/**
 * An error of the query. Has a location in the document where the original has one.
 * Scope "group": only the root fields of the same block constraint are lost; "document": all of them.
 */
export class QueryError extends Error {
  override name = "QueryError";
  readonly entry: ErrorEntry;
  readonly scope: "document" | "group";

  constructor(
    message: string,
    given: { node?: ASTNode | undefined; location?: Location | undefined; scope?: "group" } = {},
  ) {
    super(message);
    const start = given.location ?? given.node?.loc?.startToken;
    const locations = start && [{ line: start.line, column: start.column }];
    this.entry = { ...(locations && { locations }), message };
    this.scope = given.scope ?? "document";
  }
}
