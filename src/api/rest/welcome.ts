import { html } from "hono/html";

/** The page at `/`: what runs here and where its endpoints are. */
export function welcomePage({ version, namespace }: { version: string; namespace: string }) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Name service index</title>
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
<li><a href="/subgraph"><code>/subgraph</code></a> names, owners and records over GraphQL</li>
<li><a href="/api/config"><code>/api/config</code></a> what is indexed, and with which versions</li>
<li><a href="/api/indexing-status"><code>/api/indexing-status</code></a> how far each chain is indexed</li>
<li><a href="/amirealtime"><code>/amirealtime</code></a> whether all chains are indexed to the last minute</li>
<li><a href="/docs"><code>/docs</code></a> all REST endpoints; <a href="/openapi.json"><code>/openapi.json</code></a> for programs</li>
<li><a href="/health"><code>/health</code></a>, <a href="/ready"><code>/ready</code></a>,
<a href="/metrics"><code>/metrics</code></a> for probes and monitoring</li>
</ul>
</body>
</html>`;
}
