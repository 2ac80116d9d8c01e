import type { ASTNode } from "graphql";

type Location = { line: number; column: number };

/** One entry of `errors` in a response. */
export type ErrorEntry = { locations?: Location[]; message: string };

/**
 * An error of the query, located where the original's is. Scope "group" loses the root fields of one block constraint,
 * "document" all.
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
