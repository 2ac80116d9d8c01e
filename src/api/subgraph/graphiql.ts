import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Context } from "hono";
import { LRUCache } from "lru-cache";
import { acceptsGzip, compress, type Send } from "../rest/send.ts";

// ponder: Vite takes over what `import` finds of this package, all 9 MB, and stands still over it for a second.
const require = createRequire(import.meta.url);

// `policy`: what the page may load and run (CSP).
type Page = { text: Uint8Array; packed: Uint8Array; policy: string };
type Shown = { endpoint: string; hasQuery: boolean };
// The page is large, and one of its queries has the time.
const pages = new LRUCache<string, Page, Shown>({
  max: 8,
  ttl: 86_400_000,
  fetchMethod: (_key, _stale, { context }) => graphiqlPage(context),
});

/** The page of GraphiQL. It is packed once a day, and every browser is sent the same bytes. */
export const graphiqlOfToday = (endpoint: string, hasQuery: boolean): Promise<Page> =>
  pages.forceFetch(`${endpoint} ${hasQuery}`, { context: { endpoint, hasQuery } });

async function graphiqlPage({ endpoint, hasQuery }: Shown): Promise<Page> {
  // Loading the package takes a tenth of a second: not before the page is asked for.
  const { renderGraphiQL } =
    require("@graphql-yoga/render-graphiql") as typeof import("@graphql-yoga/render-graphiql");
  const queries = exampleQueries(Math.floor(Date.now() / 1_000));
  // The page would take an option `query` rather than the one in its address.
  const query = hasQuery ? {} : { query: queries[0] };
  const page = renderGraphiQL({
    endpoint,
    title: "Subgraph",
    ...query,
    defaultTabs: queries.map((query) => ({ query })),
  });
  const hashes = Array.from(
    page.matchAll(/<script>(.*?)<\/script>/gs),
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  // Its editor runs in workers that it makes itself, and styles what it shows.
  const policy = [
    "default-src 'none'",
    `script-src ${hashes.join(" ")}`,
    "worker-src blob:",
    "style-src 'unsafe-inline'",
    "img-src data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { text: Buffer.from(page), packed: await compress(page), policy };
}

/** Sends the page, packed if the browser accepts that. */
export function sendPage(c: Context, { text, packed, policy }: Page, send: Send): Response {
  const headers: Record<string, string> = {
    "Content-Type": "text/html; charset=UTF-8",
    "Content-Security-Policy": policy,
    "Cache-Control": "public, max-age=3600",
    Vary: "Accept, Accept-Encoding",
  };
  const body = acceptsGzip(c) ? packed : text;
  if (body === packed) headers["Content-Encoding"] = "gzip";
  headers["Content-Length"] = `${body.length}`;
  return send(c, [body], { headers, isPacked: false, isShared: true });
}

/** The queries that GraphiQL opens with, one a tab, at a time in Unix seconds. */
export function exampleQueries(now: number): string[] {
  const text = readFileSync(new URL("examples.graphql", import.meta.url), "utf8");
  return text.split(/\n(?=# )/).map((query) => query.replace("expiryDate_gt: 0", `expiryDate_gt: ${now}`));
}
