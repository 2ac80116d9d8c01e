import { z } from "zod";

const count = (least: number, most: number) =>
  z.coerce
    .number({ invalid_type_error: "must be a whole number" })
    .int("must be a whole number")
    .min(least)
    .max(most);

// Defaults that every client known to query the ENS subgraph stays within.
const variables = {
  SUBGRAPH_MAX_BODY_BYTES: count(1_024, 100_000_000).default(1_048_576),
  SUBGRAPH_MAX_TOKENS: count(100, 1_000_000).default(30_000),
  SUBGRAPH_MAX_DEPTH: count(10, 255).default(100),
  SUBGRAPH_MAX_FIELDS: count(100, 1_000_000).default(20_000),
  SUBGRAPH_MAX_ROWS: count(1_000, 1_000_000_000).default(2_000_000),
  SUBGRAPH_MAX_LIST_VALUES: count(100, 1_000_000).default(10_000),
  SUBGRAPH_MAX_SKIP: count(0, 4_294_967_295).default(4_294_967_295),
  SUBGRAPH_MAX_RESPONSE_BYTES: count(10_000, 500_000_000).default(67_108_864),
  SUBGRAPH_TIMEOUT_MS: count(10, 600_000).default(10_000),
  SUBGRAPH_CONCURRENCY: count(1, 1_000).default(6),
  SUBGRAPH_QUEUE: count(0, 100_000).default(256),
};

/** What one request may cost, and how many may run. All of them are the operator's to set. */
export type Limits = {
  /** Bytes of the request's body or query string. */
  bodyBytes: number;
  /** Tokens of the GraphQL document. */
  tokens: number;
  /** Levels of selections, and of values within an argument. */
  depth: number;
  /** Fields after fragments are put in. */
  fields: number;
  /** Entities if every list is full: the product of `first` down the tree, summed up. */
  rows: number;
  /** Values of one list within an argument, such as `id_in`. */
  listValues: number;
  /** Largest `skip`. */
  skip: number;
  /** Characters of the answer. */
  responseBytes: number;
  /** Milliseconds for the SQL statement. */
  timeoutMs: number;
  /** Statements that run at the same time. */
  concurrency: number;
  /** Requests that may wait for their turn; more are refused with 503. */
  queue: number;
};

/**
 * Limits from environment variables; what is unset or empty has its default. Throws a ZodError that names
 * every variable that is out of its bounds.
 */
export function readLimits(environment: { readonly [name: string]: string | undefined }): Limits {
  const set = Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== "");
  const read = z.object(variables).parse(Object.fromEntries(set));
  return {
    bodyBytes: read.SUBGRAPH_MAX_BODY_BYTES,
    tokens: read.SUBGRAPH_MAX_TOKENS,
    depth: read.SUBGRAPH_MAX_DEPTH,
    fields: read.SUBGRAPH_MAX_FIELDS,
    rows: read.SUBGRAPH_MAX_ROWS,
    listValues: read.SUBGRAPH_MAX_LIST_VALUES,
    skip: read.SUBGRAPH_MAX_SKIP,
    responseBytes: read.SUBGRAPH_MAX_RESPONSE_BYTES,
    timeoutMs: read.SUBGRAPH_TIMEOUT_MS,
    concurrency: read.SUBGRAPH_CONCURRENCY,
    queue: read.SUBGRAPH_QUEUE,
  };
}
