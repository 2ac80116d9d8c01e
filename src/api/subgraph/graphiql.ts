import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Context } from "hono";
import { LRUCache } from "lru-cache";
import { acceptsGzip, compress, type Send } from "../rest/send.ts";

// ponder: Vite takes over what `import` finds of this package, all 9 MB, and stands still over it for a second.
const require = createRequire(import.meta.url);

/**
 * Sends the page of GraphiQL, packed if the browser accepts that. It is large, and one of its queries has the time: it is packed once a
 * day, and every browser is sent the same bytes.
 */
export function createGraphiql(endpoint: string, send: Send) {
  const pages = new LRUCache<string, Awaited<ReturnType<typeof graphiqlPage>>>({
    max: 2,
    ttl: 86_400_000,
    fetchMethod: (kind) => graphiqlPage(endpoint, kind === "with query"),
  });
  return async (c: Context, hasQuery: boolean): Promise<Response> => {
    const { text, packed, policy } = await pages.forceFetch(hasQuery ? "with query" : "without");
    const body = acceptsGzip(c) ? packed : text;
    const headers: Record<string, string> = {
      "Content-Type": "text/html; charset=UTF-8",
      "Content-Security-Policy": policy,
      "Cache-Control": "public, max-age=3600",
      Vary: "Accept, Accept-Encoding",
      ...(body === packed && { "Content-Encoding": "gzip" }),
      "Content-Length": `${body.length}`,
    };
    return send(c, [body], { headers, isPacked: false, isShared: true });
  };
}

// `policy`: what the page may load and run (CSP).
async function graphiqlPage(endpoint: string, hasQuery: boolean) {
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

/** The queries that GraphiQL opens with, one a tab, at a time in Unix seconds. */
export function exampleQueries(now: number): string[] {
  const text = readFileSync(new URL("examples.graphql", import.meta.url), "utf8");
  return text.split(/\n(?=# )/).map((query) => query.replace("expiryDate_gt: 0", `expiryDate_gt: ${now}`));
}
