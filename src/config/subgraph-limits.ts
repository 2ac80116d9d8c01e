/** What one request to `/subgraph` may cost, as far as the environment says so; the API knows the defaults. */
export type SubgraphLimits = Partial<Record<keyof typeof variables, number>>;

// Variable, least and greatest value of each limit.
const variables = {
  bodyBytes: ["SUBGRAPH_MAX_BODY_BYTES", 1_024, 100_000_000],
  tokens: ["SUBGRAPH_MAX_TOKENS", 100, 1_000_000],
  depth: ["SUBGRAPH_MAX_DEPTH", 10, 255],
  fields: ["SUBGRAPH_MAX_FIELDS", 100, 1_000_000],
  rows: ["SUBGRAPH_MAX_ROWS", 1_000, 1_000_000_000],
  listValues: ["SUBGRAPH_MAX_LIST_VALUES", 100, 1_000_000],
  skip: ["SUBGRAPH_MAX_SKIP", 0, 4_294_967_295],
  responseBytes: ["SUBGRAPH_MAX_RESPONSE_BYTES", 10_000, 500_000_000],
  timeoutMs: ["SUBGRAPH_TIMEOUT_MS", 10, 600_000],
  concurrency: ["SUBGRAPH_CONCURRENCY", 1, 1_000],
  queue: ["SUBGRAPH_QUEUE", 0, 100_000],
} as const;

/** Reads the limits; adds a fault for each that is no whole number within its bounds. */
export function subgraphLimitsFrom(given: Record<string, string>, faults: string[]): SubgraphLimits {
  const limits: SubgraphLimits = {};
  for (const [name, [variable, least, greatest]] of Object.entries(variables)) {
    const text = given[variable];
    if (text === undefined) continue;
    const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= greatest) limits[name as keyof SubgraphLimits] = value;
    else faults.push(`${variable} must be a whole number between ${least} and ${greatest}.`);
  }
  return limits;
}
