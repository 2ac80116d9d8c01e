import { z } from "zod/v4";

/** What one request to `/subgraph` may cost, as far as the environment says so; the API knows the defaults. */
export type SubgraphLimits = Partial<Record<keyof typeof variableOf, number>>;

const variableOf = {
  bodyBytes: "SUBGRAPH_MAX_BODY_BYTES",
  tokens: "SUBGRAPH_MAX_TOKENS",
  depth: "SUBGRAPH_MAX_DEPTH",
  fields: "SUBGRAPH_MAX_FIELDS",
  rows: "SUBGRAPH_MAX_ROWS",
  listValues: "SUBGRAPH_MAX_LIST_VALUES",
  skip: "SUBGRAPH_MAX_SKIP",
  responseBytes: "SUBGRAPH_MAX_RESPONSE_BYTES",
  timeoutMs: "SUBGRAPH_TIMEOUT_MS",
  concurrency: "SUBGRAPH_CONCURRENCY",
  queue: "SUBGRAPH_QUEUE",
} as const;

const limit = z
  .string()
  .regex(/^[1-9]\d{0,12}$/)
  .transform(Number);

/** Reads the limits; adds a fault for each that is no positive whole number. */
export function subgraphLimitsFrom(given: Record<string, string>, faults: string[]): SubgraphLimits {
  const limits: SubgraphLimits = {};
  for (const [name, variable] of Object.entries(variableOf) as [keyof SubgraphLimits, string][]) {
    const text = given[variable];
    if (text === undefined) continue;
    const parsed = limit.safeParse(text);
    if (parsed.success) limits[name] = parsed.data;
    else faults.push(`${variable} must be a whole number from 1.`);
  }
  return limits;
}
