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

/** Limits that every client known to query the ENS subgraph stays within. */
export const defaultLimits: Limits = {
  bodyBytes: 1_048_576,
  tokens: 30_000,
  depth: 100,
  fields: 20_000,
  rows: 2_000_000,
  listValues: 10_000,
  skip: 4_294_967_295,
  responseBytes: 67_108_864,
  timeoutMs: 10_000,
  concurrency: 6,
  queue: 256,
};
