import { Hono } from "hono";
import { amirealtimeRoutes } from "./endpoints/amirealtime.ts";
import { configRoutes, type PublicConfig } from "./endpoints/config.ts";
import { indexingStatusRoutes } from "./endpoints/indexing-status.ts";
import { errorHandler, notFound } from "./rest/errors.ts";
import { openApiRoutes } from "./rest/openapi.ts";
import { welcomePage } from "./rest/welcome.ts";
import type { LabelSource } from "./status/label-source.ts";
import type { StatusSource } from "./status/status-source.ts";
import type { Versions } from "./status/versions.ts";

// Headers of ours that a browser lets its pages read.
const exposedHeaders = "x-nsnode-version, link, etag, graph-indexed, graph-attestable";

/** Routes that a plugin brings with it, and the path they are mounted at. */
export type PluginRoutes = { path: string; routes: Hono };

/**
 * The HTTP interface as a whole: REST endpoints, the routes of active plugins, welcome page, JSON errors, version header.
 * CORS headers, HEAD and OPTIONS are the server's part. `clock` gives milliseconds.
 */
export function createApi({
  config,
  versions,
  labelSource,
  status,
  pluginRoutes,
  log,
  clock = Date.now,
}: {
  config: PublicConfig;
  versions: Versions;
  labelSource: () => LabelSource;
  status: Pick<StatusSource, "current">;
  pluginRoutes: readonly PluginRoutes[];
  log: (message: string) => void;
  clock?: () => number;
}): Hono {
  const realtime = amirealtimeRoutes(status, clock);
  const app = new Hono();

  app.use(async (c, next) => {
    await next();
    c.header("x-nsnode-version", versions.program);
    c.header("access-control-expose-headers", exposedHeaders);
  });
  app.onError(errorHandler(log));
  app.get("/", (c) => c.html(welcomePage({ version: versions.program, namespace: config.namespace })));
  app.route("/api/config", configRoutes(config, versions, labelSource));
  app.route("/api/indexing-status", indexingStatusRoutes(status, clock));
  app.route("/api/realtime", realtime);
  app.route("/amirealtime", realtime);
  app.route("/", openApiRoutes(versions.program));
  for (const { path, routes } of pluginRoutes) app.route(path, routes);
  // ponder: the app becomes a part of Ponder's own, whose answer to unknown paths would win over a notFound handler.
  app.all("*", notFound);
  return app;
}
