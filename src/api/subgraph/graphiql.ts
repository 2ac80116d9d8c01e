import { readFileSync } from "node:fs";
import { html, raw } from "hono/html";
import { type Surround, untilLoaded } from "../../http/assets.ts";

/** Content security policy of `graphiqlPage`: nothing loads from other hosts. The editor adds styles. */
export const graphiqlPolicy =
  "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/**
 * GraphiQL for an endpoint, with example queries in its tabs. The first is in the editor, or the query in the page's
 * URL if it `hasQuery`.
 */
export function graphiqlPage({ head, top, assets }: Surround, endpoint: string, hasQuery: boolean) {
  const queries = exampleQueries(Math.floor(Date.now() / 1_000));
  // The option `query` would replace the query in the page's URL.
  const query = hasQuery ? {} : { query: queries[0] };
  const options = { endpoint, title: "Subgraph", ...query, defaultTabs: queries.map((query) => ({ query })) };
  return html`<!doctype html>
<html lang="en">
<head>
${raw(head)}
<title>Subgraph</title>
</head>
<body class="tool">
${raw(top)}
<link rel="stylesheet" href="${assets}/graphiql.css">
<main id="content"><h1 class="unseen">Subgraph</h1><noscript>GraphiQL needs JavaScript.</noscript><div id="root" data-options="${JSON.stringify(options)}">${untilLoaded("GraphiQL")}</div></main>
<script src="${assets}/graphiql.js"></script>
<script src="${assets}/start-graphiql.js"></script>
</body>
</html>`;
}

/** The queries that GraphiQL opens with, one per tab. `now`: Unix seconds. */
export function exampleQueries(now: number): string[] {
  const text = readFileSync(new URL("examples.graphql", import.meta.url), "utf8");
  return text.split(/\n(?=# )/).map((query) => query.replace("expiryDate_gt: 0", `expiryDate_gt: ${now}`));
}
