import { Hono } from "hono";
import type { Log } from "../log/json-log.ts";
import { type ApiContext, endpoints } from "./endpoints/endpoints.ts";
import { docsRoutes, openApiDocument } from "./rest/docs.ts";
import { mount } from "./rest/endpoint.ts";
import { errorResponse, notFound } from "./rest/errors.ts";
import type { GateContext } from "./rest/gate.ts";
import { welcomePage } from "./welcome-page.ts";

// Our headers that browsers expose to pages.
const exposedHeaders = "x-nsnode-version, link, etag, graph-indexed, graph-attestable";

/**
 * The HTTP interface as a whole: REST endpoints, their documents, the subgraph if it is active, welcome page, JSON
 * errors, version header. CORS headers, HEAD and OPTIONS are the server's part.
 */
export function createApi({
  context,
  subgraph,
  log,
}: {
  context: ApiContext & GateContext;
  subgraph?: Hono | undefined;
  log: Log;
}): Hono {
  const version = context.versions.program;
  const app = new Hono();

  app.use(async (c, next) => {
    await next();
    c.header("x-nsnode-version", version);
    c.header("access-control-expose-headers", exposedHeaders);
  });
  app.onError((error, c) => errorResponse(error, c, log));
  const welcome = welcomePage(version, context.config.namespace, subgraph !== undefined);
  app.get("/", (c) => c.html(welcome));
  for (const endpoint of endpoints) mount(app, endpoint, context, log);
  app.route("/", docsRoutes(openApiDocument({ version, endpoints })));
  if (subgraph) app.route("/subgraph", subgraph);
  // ponder: the app becomes a part of Ponder's own, whose answer to unknown paths would win over a notFound handler.
  app.all("*", notFound);
  return app;
}
