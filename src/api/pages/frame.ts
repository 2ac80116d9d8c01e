import { hash as digest } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Context } from "hono";
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Files, Surround } from "../../http/assets.ts";
import { HttpError } from "../../http/error.ts";
import type { Log } from "../../log/json-log.ts";
import { describeRefusal, logFailure, mayRetry } from "../kit/errors.ts";
import { acceptsGzip, sendAsItComes } from "../kit/send.ts";
import type { Explorers } from "./words.ts";

// What surrounds every page: head, header, footer, and how it is sent. docs/design.md describes the system.

/** Markup whose values are escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const read = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url), "utf8");
// The tokens and the style of the header are in each page, so that browsers show it at once; that of what follows is a
// file, which they keep.
const tokens = read("frame.css");
const mark = read("mark.svg").trim();

/**
 * What an operator chose of the pages. `color`: `#rrggbb`; `logo`: an SVG document; `registrationUrl`: where names are
 * registered and renewed, with `{name}` in the place of the name.
 */
export type Site = {
  title: string;
  color: string | undefined;
  logo: string | undefined;
  registrationUrl: string | undefined;
  isIndexable: boolean;
};

/**
 * What surrounds every page, and what pages depend on beyond their facts: the folder of style sheet and script, the
 * links of the header, the namespaces and the chains that are indexed, the root chain first, configured block
 * explorers, and the network under which avatars are served, if they are.
 */
export type Frame = {
  assets: string;
  /** `logo` is its path. */
  site: Site;
  style: string;
  policy: string;
  links: readonly (readonly [path: string, name: string])[];
  namespaces?: readonly string[];
  chains?: readonly number[];
  explorers?: Explorers;
  metadata?: string | undefined;
};

const usualSite: Site = {
  ...{ title: "nsindex", color: undefined, logo: undefined },
  ...{ registrationUrl: undefined, isIndexable: false },
};

/** The frame of a release. `hasSubgraph`: whether `/subgraph` is served. */
export function createFrame(version: string, hasSubgraph: boolean, site: Site = usualSite): Frame {
  const own = site.color && `:root{--own:${site.color}}`;
  const style = `${tokens}${own ?? ""}`;
  const assets = `/assets/${version}`;
  const sum = digest("sha256", style, "base64");
  return {
    ...{ assets, style },
    site: { ...site, logo: site.logo && `${assets}/logo-${digest("sha256", site.logo).slice(0, 12)}.svg` },
    // Files of this service and the style above alone: no other inline style, and no inline script.
    policy: `default-src 'none'; script-src 'self'; style-src 'self' 'sha256-${sum}'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    links: [
      ["/names", "Names"],
      ["/stats", "Stats"],
      ["/docs", "API"],
      ...(hasSubgraph ? [["/subgraph", "GraphQL"] as const] : []),
      ["/status", "Status"],
    ],
  };
}

/** The files of a frame by URL path: its mark, and the operator's logo. */
export const frameFiles = ({ assets, site }: Frame, logo: string | undefined): Files => ({
  [`${assets}/mark.svg`]: () => mark,
  ...(site.logo && logo ? { [site.logo]: () => logo } : {}),
});

const renderHead = ({ assets, site, style }: Frame) => html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${site.isIndexable ? "" : raw('<meta name="robots" content="noindex">')}
<link rel="icon" href="${site.logo ?? `${assets}/mark.svg`}" type="image/svg+xml">
<style>${raw(style)}</style>
<script src="${assets}/page.js" defer></script>`;

/** What pages of other programs get of the frame: HTML in their heads, and at the start of their bodies. */
export const createSurround = (frame: Frame): Surround => ({
  head: String(renderHead(frame)),
  top: String(renderHeader(frame)),
  assets: frame.assets,
});

/** The form that looks up names and addresses; the script suggests names below it. */
export const renderSearch = (): Html => html`<form class="search" action="/name" role="search">
<label for="name" class="unseen">Name or address</label>
<input id="name" name="name" required maxlength="1000" placeholder="Search for a name or address" autocapitalize="none" autocomplete="off" spellcheck="false">
<button>Search</button></form>`;

function renderHeader({ links, site }: Frame, { hasSearch = true, path = "" } = {}): Html {
  const logo = site.logo === undefined ? raw(mark) : html`<img src="${site.logo}" alt="" height="28">`;
  const current = (own: string) => (own === path ? raw(' aria-current="page"') : "");
  return html`<a class="skip" href="#content">Skip to content</a>
<header class="site"><div>
<a class="brand" href="/">${logo}<span>${site.title}</span></a>
${hasSearch ? renderSearch() : ""}
<nav aria-label="Pages">${links.map(([own, name]) => html`<a href="${own}"${current(own)}>${name}</a>`)}</nav>
</div></header>`;
}

/** The heading and the content of a page. */
export type Page = { heading: Html; content: Html };

/**
 * What a page is sent from. `read` reads its parts; `warning` stands above them; the script keeps an `isLive` page up
 * to date. `path`: where the page is; `image`: the URL of its OpenGraph card.
 */
export type PageOptions = {
  frame: Frame;
  title: string;
  description?: string | undefined;
  path?: string | undefined;
  image?: string | undefined;
  hasSearch?: boolean;
  isLive?: boolean;
  warning?: string | undefined;
  read: () => Promise<Page>;
  log: Log;
};

const describeCard = ({ frame, title, description, image }: PageOptions): Html => html`
<meta property="og:site_name" content="${frame.site.title}">
<meta property="og:title" content="${title}">
${description ? html`<meta name="description" content="${description}">\n<meta property="og:description" content="${description}">` : ""}
${image ? html`<meta property="og:image" content="${image}">\n<meta name="twitter:card" content="summary_large_image">` : ""}`;

/**
 * Sends a page: its head and header at once, so that a browser shows them and loads its files while the parts are read.
 */
export function sendPage(
  c: Context,
  page: PageOptions,
  { status = 200, headers = {} }: { status?: ContentfulStatusCode; headers?: Record<string, string> } = {},
): Response {
  const { frame, title, path, hasSearch, isLive, warning, log } = page;
  const own = title === frame.site.title ? title : `${title} · ${frame.site.title}`;
  const begin = html`<!doctype html>
<html lang="en">
<head>
${renderHead(frame)}
<title>${own}</title>${describeCard(page)}
${path ? html`<link rel="canonical" href="${path}">` : ""}
</head>
<body>
${renderHeader(frame, { hasSearch: hasSearch ?? true, path: path ?? "" })}
<link rel="stylesheet" href="${frame.assets}/page.css">
<main id="content"${isLive ? html` data-live` : ""}>
${warning && html`<p class="problem" role="alert">${warning}</p>`}`;
  const failed = (error: unknown) => {
    const heading = html`<h1>${title}</h1>`;
    if (error instanceof HttpError && mayRetry(error))
      return { heading, content: html`<p class="empty">${describeRefusal(error)}</p>` };
    // Calls of endpoints have logged their failures.
    if (!(error instanceof HttpError) && !c.req.raw.signal.aborted) logFailure(log, c.req, error);
    return { heading, content: html`<p class="empty">The rest could not be read. Try again.</p>` };
  };
  async function* texts() {
    yield String(await begin);
    const { heading, content } = await page.read().catch(failed);
    yield String(
      await html`${heading}
${content}
</main>
${renderFooter(frame)}
</body>
</html>`,
    );
  }
  const ofPage = { "content-type": "text/html; charset=UTF-8", "content-security-policy": frame.policy };
  const isPacked = acceptsGzip(c);
  return sendAsItComes(c, texts(), {
    ...{ status, isPacked, timeoutMs: 30_000 },
    headers: { ...ofPage, vary: "Accept-Encoding", ...headers },
  });
}

const renderFooter = ({ links }: Frame): Html => html`<footer class="site"><div>
<nav aria-label="More pages">${links.map(([path, name]) => html`<a href="${path}">${name}</a>`)}<a href="/metrics">Metrics</a><a href="/llms.txt">For agents</a></nav>
<p>Read from the chains by an index that anyone can run.</p></div></footer>`;
