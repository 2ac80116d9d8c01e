import { html } from "hono/html";
import { endpoints } from "./endpoints/endpoints.ts";

const otherPaths = [
  ["/openapi.json", "REST endpoints described, for programs"],
  ["/health", "Whether the process is alive"],
  ["/ready", "Whether the backfill is complete"],
  ["/metrics", "Measurements for Prometheus"],
] as const;

/** The HTML page at `/`: version, namespace and all paths. */
export function welcomePage(version: string, namespace: string, hasSubgraph: boolean) {
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
