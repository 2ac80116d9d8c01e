import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Context } from "hono";
import { LRUCache } from "lru-cache";
import type { Surround } from "../../http/assets.ts";
import { acceptsGzip, compress, type Send } from "../rest/send.ts";

// ponder: an `import` makes Vite process this package, all 9 MB, which blocks the process for a second.
const require = createRequire(import.meta.url);

/** Sends the GraphiQL page, gzipped if the browser accepts that. It is built once a day, because one of its queries contains the time. */
export function createGraphiql(place: Place, send: Send) {
  const pages = new LRUCache<string, Awaited<ReturnType<typeof graphiqlPage>>>({
    max: 2,
    ttl: 86_400_000,
    fetchMethod: (kind) => graphiqlPage(place, kind === "with query"),
  });
  return async (c: Context, hasQuery: boolean): Promise<Response> => {
    const { text, packed, policy } = await pages.forceFetch(hasQuery ? "with query" : "without");
    const body = acceptsGzip(c) ? packed : text;
    const headers: Record<string, string> = {
      "Content-Type": "text/html; charset=UTF-8",
      "Content-Security-Policy": policy,
      // Caches that pass over Vary would send the page to programs.
      "Cache-Control": "private, max-age=3600",
      Vary: "Accept, Accept-Encoding",
      ...(body === packed && { "Content-Encoding": "gzip" }),
      "Content-Length": `${body.length}`,
    };
    return send(c, [body], { headers, isPacked: false, isShared: true });
  };
}

type Place = { endpoint: string; surround: Surround | undefined };

const noSurround = { head: "", top: "" };

async function graphiqlPage({ endpoint, surround = noSurround }: Place, hasQuery: boolean) {
  // Loads at the first request, because loading takes a tenth of a second.
  const { renderGraphiQL } =
    require("@graphql-yoga/render-graphiql") as typeof import("@graphql-yoga/render-graphiql");
  const queries = exampleQueries(Math.floor(Date.now() / 1_000));
  // The option `query` would replace the query in the page's URL.
  const query = hasQuery ? {} : { query: queries[0] };
  const rendered = renderGraphiQL({
    endpoint,
    title: "Subgraph",
    ...query,
    defaultTabs: queries.map((query) => ({ query })),
  });
  // Without its icon, and with its megabyte of styles below the header, which a browser then shows first.
  const page = rendered
    .replace(/<link rel="icon"[^>]*>/, "")
    .replace(
      /(<style>.*<\/style>)\s*<\/head>\s*<body[^>]*>/s,
      (_, styles: string) =>
        `${surround.head}</head><body class="tool">${surround.top}${styles}<main id="content"><h1 class="unseen">Subgraph</h1>`,
    )
    .replace('<div id="root"></div>', '<div id="root"></div></main>');
  const hashes = Array.from(
    page.matchAll(/<script>(.*?)<\/script>/gs),
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  // The editor runs in workers that it creates itself, and adds styles.
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(" ")}`,
    "worker-src blob:",
    "style-src 'self' 'unsafe-inline'",
    "img-src data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { text: Buffer.from(page), packed: await compress(page), policy };
}

/** The queries that GraphiQL opens with, one per tab. `now`: Unix seconds. */
export function exampleQueries(now: number): string[] {
  const text = readFileSync(new URL("examples.graphql", import.meta.url), "utf8");
  return text.split(/\n(?=# )/).map((query) => query.replace("expiryDate_gt: 0", `expiryDate_gt: ${now}`));
}
