import { Hono } from "hono";
import { project } from "../status/projection.ts";
import type { CurrentStatus, StatusSource } from "../status/status-source.ts";

/**
 * GET /: the indexing status, projected to the moment of the request; 503 until there has been a first snapshot.
 * `clock` gives milliseconds.
 */
export function indexingStatusRoutes(status: Pick<StatusSource, "current">, clock: () => number): Hono {
  return new Hono().get("/", (c) => {
    const current = status.current();
    if (current === undefined) return c.json({ responseCode: "error" }, 503);
    return c.body(toResponse(current, Math.floor(clock() / 1000)), 200, {
      "content-type": "application/json",
    });
  });
}

// The snapshot's text is made once for each snapshot, so that an answer costs the same however many chains there are.
function toResponse({ snapshot, json }: CurrentStatus, now: number): string {
  const { projectedAt, worstCaseDistance } = project(snapshot, now);
  return `{"responseCode":"ok","realtimeProjection":{"projectedAt":${projectedAt},"worstCaseDistance":${worstCaseDistance},"snapshot":${json}}}`;
}
