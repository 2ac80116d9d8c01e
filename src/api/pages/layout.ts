import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { namehash } from "../../ens/names.ts";
import { escapeControls } from "../../log/json-log.ts";

/** Content-Security-Policy of the pages: files of this service alone, no inline script or style. */
export const policy = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** Markup whose values are escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** What surrounds every page: the folder of its style sheet and script, and the paths and names of other pages. */
export type Frame = { assets: string; links: readonly (readonly [path: string, name: string])[] };

/** A page. The script keeps an `isLive` page up to date. */
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

/** A section under a heading, whose text gives its id. */
export function section(title: string, content: Html): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return html`<section id="${id}"><h2>${title}</h2>
${content}</section>`;
}

/** A description list of terms and values, without those that have none. */
export function facts(pairs: readonly (readonly [string, Html | string | undefined])[]): Html {
  const known = pairs.filter(([, value]) => value !== undefined);
  return html`<dl>${known.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const grouped = new Intl.NumberFormat("en");

/** A number as an integer with commas. */
export const count = (value: number) => grouped.format(Math.round(value));

const decimal = (value: number) =>
  value >= 100 || Number.isInteger(value) ? count(value) : value.toFixed(1);

/** A text from a chain, safe to show: control and formatting characters as `\u…`, cut after `most` characters. */
export function shown(text: string, most = 100): Html {
  const characters = [...text.slice(0, 4 * most)];
  const cut = characters.length > most ? `${characters.slice(0, most).join("")}…` : text;
  return html`<bdi>${escapeControls(cut)}</bdi>`;
}

// The style cuts a hash, so that it is copied and read out whole.
const hash = (hex: string) => html`<code class="hash">${hex}</code>`;

const addressLink = (address: string) => html`<a href="/address/${address}">${hash(address)}</a>`;

const longestLink = 255;

// A link to a name's page: by node if the text does not lead there.
function nameLink({ id, name }: { id: string; name: string | null }): Html {
  if (name === null || name === "") return html`<a href="/name/${id}">${hash(id)}</a>`;
  const isPlain = name.length <= longestLink && !/[\p{C}\p{Z}]/u.test(name) && namehash(name) === id;
  return html`<a href="/name/${isPlain ? encodeURIComponent(name) : id}">${shown(name)}</a>`;
}

const units = [
  ["y", 31_557_600],
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** A time span in its two largest units: `3 d 4 h`. */
export function span(seconds: number): string {
  let left = Math.max(0, Math.round(seconds));
  const first = units.findIndex(([, length]) => left >= length);
  const parts = units.slice(first, first + 2).flatMap(([unit, length]) => {
    const whole = Math.floor(left / length);
    left -= whole * length;
    return whole > 0 ? [`${count(whole)} ${unit}`] : [];
  });
  return parts.join(" ") || "0 s";
}

// Takes Unix seconds; shows minutes.
function date(seconds: number): Html {
  const time = new Date(seconds * 1_000);
  if (Number.isNaN(time.getTime())) return html`later than any date`;
  const text = time.toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace("T", " ")} UTC</time>`;
}

function bytes(size: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10)));
  return `${decimal(size / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

/** A member of a body by its path (`a.b`); undefined if there is none. */
export const memberOf = (body: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | null)?.[key], body);

// What an event changed, as words: `owner 0x…, resolver (chain_id 1, address 0x…)`.
function words(data: object): string {
  const members = Object.entries(data).filter(([, value]) => value !== null);
  const textOf = (value: unknown) => {
    if (Array.isArray(value)) return value.join(" ");
    return typeof value === "object" ? `(${words(Object(value))})` : String(value);
  };
  return members.map(([name, value]) => `${name} ${textOf(value)}`).join(", ");
}

const formats: Readonly<Record<string, (value: unknown, row: unknown) => Html>> = {
  text: (value) => shown(Array.isArray(value) ? value.join(", ") : String(value), 600),
  number: (value) => html`${count(Number(value))}`,
  decimal: (value) => html`${decimal(Number(value))}`,
  bytes: (value) => html`${bytes(Number(value))}`,
  span: (value) => html`${span(Number(value))}`,
  state: (value) => html`<span class="state ${value}">${value}</span>`,
  percent: (value, row) =>
    html`<progress max="100" value="${value}" aria-label="${memberOf(row, "name")}"></progress> ${Number(value).toFixed(2)} %`,
  time: (value) => date(Number(value)),
  hash: (value) => hash(String(value)),
  address: (value) => addressLink(String(value)),
  details: (value) => shown(words(Object(value)), 600),
  name: (name, row) => {
    const nodes = ["namehash", "action.registrationLifecycle.node", "id"].map((one) => memberOf(row, one));
    return nameLink({ id: String(nodes.find((node) => node !== undefined)), name: String(name) });
  },
};

/** Titles and values of a row. `columns`: `Title=member:format, …`, where a member may be a path (`a.b`). */
export function valuesOf(row: unknown, columns: string): [title: string, value: Html | undefined][] {
  return columns.split(", ").map((column) => {
    const [, title = "", member = "", format = "text"] = /^(.+)=([\w.]+):?(\w+)?$/.exec(column) ?? [];
    const value = memberOf(row, member) ?? undefined;
    return [title, value === undefined ? undefined : formats[format]?.(value, row)];
  });
}

/** A table of rows, with `columns` as of `valuesOf`: a row's first cell is its header, numbers are aligned. Wide tables scroll. */
export function listOf(caption: string, rows: readonly unknown[], columns: string): Html {
  const kinds = columns
    .split(", ")
    .map((column) => (column.endsWith(":number") ? html` class="number"` : ""));
  const head = valuesOf({}, columns).map(([title]) => title);
  const body = rows.map((row) => valuesOf(row, columns).map(([, value]) => value ?? html`–`));
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table><caption>${caption}</caption>
<thead><tr>${head.map((title, index) => html`<th scope="col"${kinds[index]}>${title}</th>`)}</tr></thead>
<tbody>${body.map(
    ([first, ...cells]) => html`<tr><th scope="row">${first}</th>
${cells.map((cell, index) => html`<td${kinds[index + 1]}>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}
