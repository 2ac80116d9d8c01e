/**
 * Limits of a request to /subgraph: variable, default, least, greatest. Every known client of the ENS subgraph fits the
 * defaults.
 */
export const limits = {
  /** Bytes of the request's body or query string. */
  bodyBytes: ["SUBGRAPH_MAX_BODY_BYTES", 1_048_576, 1_024, 100_000_000],
  /** Tokens of the GraphQL document. */
  tokens: ["SUBGRAPH_MAX_TOKENS", 65_000, 100, 1_000_000],
  /** Levels of selections, and of values within an argument. */
  depth: ["SUBGRAPH_MAX_DEPTH", 100, 10, 255],
  /** Fields, fragments expanded. */
  fields: ["SUBGRAPH_MAX_FIELDS", 10_000, 100, 1_000_000],
  /** Entities if every list is full: the products of `first` down the tree, summed up. */
  rows: ["SUBGRAPH_MAX_ROWS", 2_000_000, 1_000, 1_000_000_000],
  /** Values of one list within an argument, such as `id_in`. */
  listValues: ["SUBGRAPH_MAX_LIST_VALUES", 10_000, 100, 1_000_000],
  /** Keys of all filters of a request; those of a variable count at each of its uses. */
  filterKeys: ["SUBGRAPH_MAX_FILTER_KEYS", 5_000, 100, 1_000_000],
  /** Values of all filters and ids, counted like the keys; a text counts once more for every 64 characters. */
  filterValues: ["SUBGRAPH_MAX_FILTER_VALUES", 20_000, 100, 10_000_000],
  /** Bytes of the response if every list is full, with values of usual lengths. */
  estimatedBytes: ["SUBGRAPH_MAX_ESTIMATED_BYTES", 400_000_000, 10_000, 1_000_000_000_000],
  /** Characters of the SQL statement. */
  sqlLength: ["SUBGRAPH_MAX_SQL_LENGTH", 2_000_000, 10_000, 100_000_000],
  /** Values bound to the SQL statement; Postgres takes 65,535. */
  parameters: ["SUBGRAPH_MAX_PARAMETERS", 30_000, 100, 65_535],
  /** Characters of the response to an introspection query. */
  introspection: ["SUBGRAPH_MAX_INTROSPECTION", 10_000_000, 1_000, 500_000_000],
  /** Largest `skip`. */
  skip: ["SUBGRAPH_MAX_SKIP", 4_294_967_295, 0, 4_294_967_295],
  /** Bytes of the response. */
  responseBytes: ["SUBGRAPH_MAX_RESPONSE_BYTES", 67_108_864, 10_000, 500_000_000],
  /** Milliseconds for the SQL statement; those of other endpoints too. */
  timeoutMs: ["SUBGRAPH_TIMEOUT_MS", 10_000, 10, 600_000],
  /** Quick statements of all endpoints that run concurrently. */
  concurrency: ["SUBGRAPH_CONCURRENCY", 4, 1, 1_000],
  /** Statements of all endpoints that may wait for their turn; more are refused with 503. */
  queue: ["SUBGRAPH_QUEUE", 256, 0, 100_000],
  /** Milliseconds after which a statement counts as slow. */
  quickMs: ["QUICK_STATEMENT_MS", 200, 1, 600_000],
  /** Slow statements that run concurrently; 0 makes no difference between slow and quick. */
  slow: ["SLOW_STATEMENTS", 2, 0, 1_000],
  /** Slow statements that may wait, at most half of them of one client. */
  slowQueue: ["SLOW_QUEUE", 64, 0, 100_000],
  /** Statements of one client that may wait. */
  queuePerClient: ["QUEUE_PER_CLIENT", 128, 0, 100_000],
  /**
   * Reverse proxies before the service, each of which adds the address it was asked from to X-Forwarded-For or
   * Forwarded.
   */
  trustedProxies: ["TRUST_PROXY", 0, 0, 16],
} as const;

/** What one request to `/subgraph` may cost, and how many may run. */
export type SubgraphLimits = Record<keyof typeof limits, number>;

/** The limits that the variables set, else their defaults. */
export const pickLimits = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(limits).map(([name, [variable, usual]]) => [name, values[variable] ?? usual]),
  ) as SubgraphLimits;

export const defaultSubgraphLimits = pickLimits({});
