import http from "node:http";
import { bodyOfRest } from "../api/kit/endpoint.ts";
import { tooLarge } from "../api/v1/contract.ts";
import { builtIndexesSql } from "../operations/indexes.ts";
import { guardNextServer } from "../ponder/http-server.ts";
import { createProgress } from "../ponder/progress.ts";
import { commonHeaders } from "./app.ts";
import { areAllBuilt, type Serving } from "./jobs.ts";

/** Guards Ponder's server, which is created next: limits of connections and bodies, `/ready` and `/status`. */
export function guardRequests(service: Serving): void {
  const { config, ponder, sqlClient, versions, isBackfilling, running, serving } = service;
  const { bodyBytes } = config.subgraphLimits;
  const bodyOfSubgraph = {
    bytes: bodyBytes,
    refusal: { error: `GraphQL server error (client error): The body has more than ${bodyBytes} bytes` },
  };
  const bodyOfLookup = { ...bodyOfRest, refusal: tooLarge };
  guardNextServer(http, {
    ...createProgress(sqlClient, {
      schema: ponder.schema,
      isBackfilling,
      // The indexing process also waits for search indexes.
      indexes: {
        sql: () => builtIndexesSql(serving.schema()),
        areBuilt: (built) => areAllBuilt(running, built),
      },
      headers: commonHeaders(versions.nsIndexer),
    }),
    bodyLimitOf: (path) =>
      path.startsWith("/subgraph") ? bodyOfSubgraph : path.startsWith("/v1/") ? bodyOfLookup : bodyOfRest,
    limits: { idleMs: config.keepAliveSeconds * 1_000 },
  });
}
