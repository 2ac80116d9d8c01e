import { Hono } from "hono";
import { html } from "hono/html";
import { type ApiContext, endpoints } from "./endpoints/endpoints.ts";
import { docsRoutes } from "./rest/docs-page.ts";
import { errorResponse, notFound } from "./rest/errors.ts";
import type { GateContext } from "./rest/gate.ts";
import { mount } from "./rest/mount.ts";
import { openApiDocument } from "./rest/openapi.ts";

// Headers of ours that a browser lets its pages read.
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
  log: (message: string) => void;
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

const otherPaths = [
  ["/openapi.json", "REST endpoints described, for programs"],
  ["/health", "Whether the process is alive"],
  ["/ready", "Whether the backfill is complete"],
  ["/metrics", "Measurements for Prometheus"],
] as const;

function welcomePage(version: string, namespace: string, hasSubgraph: boolean) {
  const item = (path: string, text: string) =>
    html`<li><a href="${path}"><code>${path}</code></a> ${text}</li>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Name service index</title>
<link rel="icon" href="data:,">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
code { font-size: 0.95em; }
:root { color-scheme: light dark; }
</style>
</head>
<body>
<h1>Name service index</h1>
<p>Version ${version}, namespace <code>${namespace}</code>.</p>
<ul>
${hasSubgraph ? item("/subgraph", "Names, owners and records over GraphQL") : ""}
${item("/docs", "REST endpoints, to read and to try")}
${endpoints.map(({ path, summary }) => (path.includes("{") ? html`<li><code>${path}</code> ${summary}</li>` : item(path, summary)))}
${otherPaths.map(([path, text]) => item(path, text))}
</ul>
</body>
</html>`;
}
