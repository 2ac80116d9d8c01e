import { type Context, Hono } from "hono";
import { html } from "hono/html";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { requestTo } from "../kit/endpoint.ts";
import { askRows, type PageSources } from "./ask.ts";
import type { Frame } from "./frame.ts";

// What browsers and search engines ask for by themselves: the mark, and what may be listed, which is nothing unless the
// operator wants it.

const listed = "100";

/** GET /robots.txt; GET /sitemap.xml where INDEXABLE is set: the pages, and those of the newest names. */
export function crawlerRoutes({ ask, url }: PageSources, frame: Frame): Hono {
  const baseOf = (c: Context) => url ?? new URL(c.req.url).origin;
  const { isIndexable } = frame.site;
  return new Hono()
    .get("/favicon.ico", (c) => c.redirect(frame.site.logo ?? `${frame.assets}/mark.svg`))
    .get("/robots.txt", (c) =>
      c.text(
        isIndexable
          ? `User-agent: *\nDisallow: /subgraph\nDisallow: /api/\nDisallow: /v1/\nSitemap: ${baseOf(c)}/sitemap.xml\n`
          : "User-agent: *\nDisallow: /\n",
      ),
    )
    .get("/sitemap.xml", async (c, next) => {
      if (!isIndexable) return next();
      const request = requestTo(registrarActions[0], {}, { type: "registration", recordsPerPage: listed });
      const actions =
        (await askRows(
          (one) => ask(one, c),
          request,
          (body) => body.registrarActions,
        )) ?? [];
      const names = actions.map(({ name }) => `/name/${encodeURIComponent(name)}`);
      const urls = ["/", "/names", "/stats", ...new Set(names)].map(
        (path) => html`<url><loc>${baseOf(c)}${path}</loc></url>`,
      );
      const text = await html`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls}</urlset>`;
      return c.body(`<?xml version="1.0" encoding="UTF-8"?>${text}`, 200, {
        "content-type": "application/xml",
      });
    });
}
