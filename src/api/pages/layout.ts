import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

/** What pages may load: files of this service alone, and no script or style within them. */
export const policy = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** Markup whose values are escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Around every page: the folder of its style sheet and script, and the service's other pages with their names. */
export type Frame = { assets: string; links: readonly (readonly [path: string, name: string])[] };

/** A page. `lead` stands above the content; a `live` page is kept up to date by the script. */
export function page(
  { assets, links }: Frame,
  { title, heading, content, isLive }: { title: string; heading: Html; content: Html; isLive?: boolean },
): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets}/page.css">
<script src="${assets}/page.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<nav aria-label="Pages">${links.map(([path, name]) => html`<a href="${path}">${name}</a>`)}</nav>
<form action="/name" role="search"><label for="name">Name or address</label>
<input id="name" name="name" required maxlength="1000" autocapitalize="none" autocomplete="off" spellcheck="false">
<button>Look up</button></form>
</header>
<main id="content"${isLive ? html` data-live` : ""}>
<h1>${heading}</h1>
${content}
</main>
</body>
</html>`;
}

/** A section under a heading; its id is that of the heading's text. */
export function section(title: string, content: Html): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return html`<section id="${id}"><h2>${title}</h2>
${content}</section>`;
}

/** A table: the first cell of a row is its head, cells in the columns `numeric` are numbers. It scrolls where it is too wide. */
export function table(parts: { caption: string; head: string[]; numeric?: number[]; rows: Html[][] }): Html {
  const { caption, head, numeric = [], rows } = parts;
  const kind = (place: number) => (numeric.includes(place) ? html` class="number"` : "");
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table><caption>${caption}</caption>
<thead><tr>${head.map((title, place) => html`<th scope="col"${kind(place)}>${title}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...cells]) => html`<tr><th scope="row">${first}</th>
${cells.map((cell, place) => html`<td${kind(place + 1)}>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** Pairs of a term and its value, without those that have none. */
export function facts(pairs: readonly (readonly [string, Html | string | undefined])[]): Html {
  const known = pairs.filter(([, value]) => value !== undefined);
  return html`<dl>${known.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
}
