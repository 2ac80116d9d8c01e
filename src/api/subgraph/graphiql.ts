import { createRequire } from "node:module";
import type { Context } from "hono";
import { exampleQueries } from "./example-queries.ts";
import { acceptsGzip, compress, type Send } from "./run/send.ts";

type GraphiqlPackage = typeof import("@graphql-yoga/render-graphiql");
type Page = { text: Uint8Array; packed: Uint8Array };
const pages = new Map<string, { day: number; page: Promise<Page> }>();
const secondsOfDay = 86_400;

/** The page of GraphiQL. It is large: it is packed once a day, and every browser is sent the same bytes. */
export function graphiqlOfToday(endpoint: string, hasQuery: boolean): Promise<Page> {
  const day = Math.floor(Date.now() / 1_000 / secondsOfDay);
  const key = `${endpoint} ${hasQuery}`;
  const known = pages.get(key);
  if (known?.day === day) return known.page;
  const page = graphiqlPage(endpoint, hasQuery, day * secondsOfDay);
  pages.set(key, { day, page });
  return page;
}

async function graphiqlPage(endpoint: string, hasQuery: boolean, now: number): Promise<Page> {
  // ponder: its loader would transform the package's megabytes for a second; Node's does not.
  const { renderGraphiQL }: GraphiqlPackage = createRequire(import.meta.url)("@graphql-yoga/render-graphiql");
  const queries = exampleQueries(now);
  // The page would take an option `query` rather than the one in its address.
  const query = hasQuery ? {} : { query: queries[0] };
  const options = { ...query, defaultTabs: queries.map((query) => ({ query })) };
  const text = Buffer.from(renderGraphiQL({ endpoint, title: "Subgraph", ...options }));
  return { text, packed: await compress(text) };
}

/** Sends the page, packed if the browser accepts that. */
export function sendPage(c: Context, { text, packed }: Page, send: Send): Response {
  const headers: Record<string, string> = {
    "Content-Type": "text/html; charset=UTF-8",
    "Cache-Control": "public, max-age=3600",
    Vary: "Accept, Accept-Encoding",
  };
  const body = acceptsGzip(c) ? packed : text;
  if (body === packed) headers["Content-Encoding"] = "gzip";
  headers["Content-Length"] = `${body.length}`;
  return send(c, [body], { headers, isPacked: false, isShared: true });
}
