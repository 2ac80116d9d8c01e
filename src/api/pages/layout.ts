import { hash as digest } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Context } from "hono";
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { namehash } from "../../ens/names.ts";
import { isNormalizedName } from "../../ens/normalization.ts";
import type { Surround } from "../../http/assets.ts";
import { HttpError } from "../../http/error.ts";
import { escapeControls, formatSpan, type Log } from "../../log/json-log.ts";
import { buildLink, type Endpoint, type EndpointRequest } from "../kit/endpoint.ts";
import { describeRefusal, logFailure, mayRetry } from "../kit/errors.ts";
import { sendAsItComes } from "../kit/send.ts";
import {
  describeLetters,
  type Explorers,
  findExplorer,
  formatAmount,
  shortHex,
  sinceOrUntil,
  titleOfChain,
} from "./words.ts";

// The style of the header is in each page, so that browsers show it at once; that of what follows is a file, which they
// keep.
const style = readFileSync(new URL("assets/frame.css", import.meta.url), "utf8");

/**
 * Content-Security-Policy of the pages: files of this service and the header's style alone, no other inline style and
 * no inline script.
 */
const policy = `default-src 'none'; script-src 'self'; style-src 'self' 'sha256-${digest("sha256", style, "base64")}'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** Markup whose values are escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/**
 * What surrounds every page, and what pages depend on beyond their facts: the folder of style sheet and script, the
 * paths and names of other pages, the chains that are indexed, the root chain first, configured block explorers, and
 * the network under which avatars are served, if they are.
 */
export type Frame = {
  assets: string;
  links: readonly (readonly [path: string, name: string])[];
  chains?: readonly number[];
  explorers?: Explorers;
  metadata?: string | undefined;
};

/**
 * What values are shown by: the frame, the time of the index in Unix seconds, and verified primary names by address.
 */
export type View = {
  frame: Frame;
  now: number;
  primaries: ReadonlyMap<string, string>;
  /** The address that the page is of, which is not a link. */
  own?: string;
};

/** What pages of names are shown by before their accounts are known. */
export type Shown = Pick<View, "frame" | "now">;

/** The heading and the content of a page. */
export type Page = { heading: Html; content: Html };

/** The frame of a release. `hasSubgraph`: whether `/subgraph` is served. */
export const createFrame = (version: string, hasSubgraph: boolean): Frame => ({
  assets: `/assets/${version}`,
  links: [
    ["/", "Status"],
    ["/stats", "Figures"],
    ...(hasSubgraph ? [["/subgraph", "GraphiQL"] as const] : []),
    ["/docs", "REST API"],
    ["/metrics", "Metrics"],
  ],
});

const renderHead = ({ assets }: Frame) => html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<style>${raw(style)}</style>
<script src="${assets}/page.js" defer></script>`;

/** What pages of other programs get of the frame: HTML in their heads, and at the start of their bodies. */
export const createSurround = (frame: Frame): Surround => ({
  head: String(renderHead(frame)),
  top: String(header(frame)),
  assets: frame.assets,
});

// The header of every page: links, and the form that looks up names and addresses.
const header = ({ links }: Frame): Html => html`<a class="skip" href="#content">Skip to content</a>
<header class="site">
<nav aria-label="Pages">${links.map(([path, name]) => html`<a href="${path}">${name}</a>`)}</nav>
<form action="/name" role="search"><label for="name" class="unseen">Name or address</label>
<input id="name" name="name" required maxlength="1000" placeholder="Search for a name or address" list="suggestions" autocapitalize="none" autocomplete="off" spellcheck="false">
<datalist id="suggestions"></datalist><button>Look up</button></form>
</header>`;

/**
 * What a page is sent from. `read` reads its parts; `warning` stands above them; the script keeps an `isLive` page up
 * to date.
 */
type PageOptions = {
  frame: Frame;
  title: string;
  isLive?: boolean;
  warning?: string | undefined;
  read: () => Promise<Page>;
  log: Log;
};

/**
 * Sends a page: its head and header at once, so that a browser shows them and loads its files while the parts are read.
 */
export function sendPage(
  c: Context,
  { frame, title, isLive, warning, read, log }: PageOptions,
  { status = 200, headers = {} }: { status?: ContentfulStatusCode; headers?: Record<string, string> } = {},
): Response {
  const begin = html`<!doctype html>
<html lang="en">
<head>
${renderHead(frame)}
<title>${title}</title>
</head>
<body>
${header(frame)}
<link rel="stylesheet" href="${frame.assets}/page.css">
<main id="content"${isLive ? html` data-live` : ""}>
${warning && html`<p class="problem" role="alert">${warning}</p>`}`;
  const failed = (error: unknown) => {
    const heading = html`<h1>${title}</h1>`;
    if (error instanceof HttpError && mayRetry(error))
      return { heading, content: note(describeRefusal(error)) };
    // Calls of endpoints have logged their failures.
    if (!(error instanceof HttpError) && !c.req.raw.signal.aborted) logFailure(log, c.req, error);
    return { heading, content: note("The rest could not be read. Try again.") };
  };
  async function* texts() {
    yield String(await begin);
    const { heading, content } = await read().catch(failed);
    yield String(
      await html`${heading}
${content}
</main>
</body>
</html>`,
    );
  }
  const own = { "content-type": "text/html; charset=UTF-8", "content-security-policy": policy };
  return sendAsItComes(c, texts(), { status, headers: { ...own, ...headers }, timeoutMs: 30_000 });
}

const formatId = (title: string) => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

/** A section under a heading, whose text gives its id. `note`: beside the heading. */
export function section(title: string, content: Html, note?: string): Html {
  const beside = note === undefined ? "" : html` <small>${note}</small>`;
  return html`<section id="${formatId(title)}"><h2>${title}${beside}</h2>
${content}</section>`;
}

/** A section that is folded until it is opened. */
export const folded = (
  title: string,
  content: Html,
): Html => html`<section id="${formatId(title)}" class="fold"><details>
<summary><h2>${title}</h2></summary>
${content}</details></section>`;

/** The request over HTTP for what a section shows. */
export function asked(request: EndpointRequest<Endpoint<never>>): Html {
  const path = buildLink(request);
  return html`<details class="rest"><summary>REST endpoint</summary>
<pre>${path}</pre><p><a href="${path}">Open</a></p></details>`;
}

/** Words in place of facts. */
export const note = (words: unknown): Html => html`<p class="note">${shown(String(words), 1_500)}</p>`;

/** A description list of terms and values, without those that have none. */
export function facts(pairs: readonly (readonly [Html | string, Html | string | undefined])[]): Html {
  const found = pairs.filter(([, value]) => value !== undefined);
  return html`<dl>${found.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
}

const grouped = new Intl.NumberFormat("en");

/** A number as an integer with commas. */
export const count = (value: number) => grouped.format(Math.round(value));

const formatDecimal = (value: number) =>
  value >= 100 || Number.isInteger(value) ? count(value) : value.toFixed(1);

/** A text from a chain, safe to show: control and formatting characters as `\u…`, cut after `max` characters. */
export function shown(text: string, max = 100): Html {
  const characters = [...text.slice(0, 4 * max)];
  const cut = characters.length > max ? `${characters.slice(0, max).join("")}…` : text;
  return html`<bdi>${escapeControls(cut)}</bdi>`;
}

/** A hash or an address in short, which the script lets copy in full. */
export const hash = (hex: string): Html =>
  html`<code title="${hex}" data-copy="${hex}">${shortHex(hex)}</code>`;

const zero = /^0x0{40}$/;

/** An address as a link, with its verified primary name if it has one. */
export function linkAccount(view: View, address: string): Html {
  if (zero.test(address)) return html`nobody`;
  if (address === view.own) return hash(address);
  const name = view.primaries.get(address);
  const link = html`<a href="/address/${address}" title="${address}" data-copy="${address}"><code>${shortHex(address)}</code></a>`;
  return name === undefined
    ? link
    : html`${link} <a href="/name/${encodeURIComponent(name)}">${shownName(name)}</a>`;
}

/** A link to a page of a chain's block explorer; nothing where the chain has none. */
export function explored({ frame }: View, chainId: number, path: string): Html {
  const base = findExplorer(chainId, frame.explorers);
  const what = `${titleOfChain(chainId)} block explorer`;
  return base === undefined
    ? html``
    : html` <a href="${base}/${path}" rel="noopener noreferrer nofollow" aria-label="${what}" title="${what}">↗</a>`;
}

/** A contract, with its chain where that is not the root chain. */
export function contract(view: View, chainId: number, address: string): Html {
  const on = chainId === view.frame.chains?.[0] ? "" : ` on ${titleOfChain(chainId)}`;
  return html`${hash(address)}${on}${explored(view, chainId, `address/${address}`)}`;
}

/** A place in a chain: its transaction, else its block, as links to pages of it. */
export function place(view: View, { chain, block, transaction }: ChainPlace): Html {
  const at = `${chain}:${block}`;
  if (transaction === null)
    return html`<a href="/block/${at}">${count(block)}</a>${explored(view, chain, `block/${block}`)}`;
  return html`<a href="/transaction/${at}:${transaction}" title="${transaction}" data-copy="${transaction}"><code>${shortHex(transaction)}</code></a>${explored(view, chain, `tx/${transaction}`)}`;
}

/** A block of a chain, or a transaction in it. */
export type ChainPlace = { chain: number; block: number; transaction: string | null };

/** A price in the unit of its currency, exact on hover. */
export function price(amount: string, currency: string): Html {
  const { exact, short } = formatAmount(amount, currency);
  return html`<span title="${exact}">${short}</span>`;
}

const longestLink = 255;

// Joiners of emoji are part of a normalized name.
// A label that is a hash or an address tells nobody more than its ends.
const shortenLabels = (name: string) =>
  name.replace(/(?<=^|\.)(\[?[0-9a-f]{5})[0-9a-f]{30,60}([0-9a-f]{4}\]?)(?=\.|$)/g, "$1…$2");

/** A name as text: whole if it is normalized, else without what could deceive readers. */
export const shownName = (name: string): Html =>
  name.length <= longestLink && isNormalizedName(name)
    ? html`<bdi>${shortenLabels(name)}</bdi>`
    : shown(shortenLabels(name));

/** A link to a name's page, by node if the text does not lead there, with what readers should know of its letters. */
export function nameLink({ id, name }: { id: string; name: string | null | undefined }): Html {
  if (!name) return html`<a href="/name/${id}"><code title="${id}">${shortHex(id)}</code></a>`;
  const isPlain = name.length <= longestLink && !/[\p{C}\p{Z}]/u.test(name) && namehash(name) === id;
  return html`<a href="/name/${isPlain ? encodeURIComponent(name) : id}">${shownName(name)}</a>${lettersNote(name)}`;
}

/** A note of the letters of a name that is not plain. */
export function lettersNote(name: string): Html {
  const letters = describeLetters(name);
  if (letters === undefined) return html``;
  const isFault = letters.startsWith("Not");
  return html` <small class="letters${isFault ? " fault" : ""}">${shown(letters, 200)}</small>`;
}

/** A time in Unix seconds, as seen from the page's, exact on hover. */
export function moment({ now }: View, seconds: number): Html {
  const time = new Date(seconds * 1_000);
  if (Number.isNaN(time.getTime())) return html`beyond any date`;
  const text = time.toISOString();
  const exact = `${text.slice(0, 16).replace("T", " ")} UTC`;
  return html`<time datetime="${text}" title="${exact}">${sinceOrUntil(seconds, now)}</time>`;
}

/** A date by itself, of Unix seconds, for readers who compare it with others. */
export function day(seconds: string): Html {
  const time = new Date(Number(seconds) * 1_000);
  if (Number.isNaN(time.getTime())) return html`beyond any date`;
  return html`<time datetime="${time.toISOString()}">${time.toISOString().slice(0, 10)}</time>`;
}

function formatBytes(size: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10)));
  return `${formatDecimal(size / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

// Words of responses that people would not use.
const named: Readonly<Record<string, string>> = {
  ...{ active: "registered", expired: "in grace", role_holder: "role holder" },
  ...{ resolves_to: "resolves to it", former_owner: "held it until it ended" },
  ...{ erc721: "ERC-721", erc1155: "ERC-1155", unknown: "possibly out of date" },
  ...{ namewrapper: "held by the name wrapper", "fully-onchain": "controls the name" },
  ended: "of a lease that has ended",
};

/**
 * A role in ENSv2 in words; those without a name have a number.
 * @example formatRole("CAN_SET_RESOLVER_ADMIN") // "grant set resolver"
 */
function formatRole(role: string): string {
  const [, name = role, admin] = /^(?:CAN_)?(.+?)(_ADMIN)?$/.exec(role) ?? [];
  return `${admin ? "grant " : ""}${name.toLowerCase().replaceAll("_", " ")}`;
}

type Located = { chain_id: number; address: string } | { chainId: number; address: string };

const joinWords = (words: readonly string[]) => html`${words.join(", ")}`;

/** How values of columns are shown. */
export const forms = {
  text: (value: string | number | readonly string[]) =>
    shown(typeof value === "object" ? value.join(", ") : String(value), 600),
  number: (value: string | number) => html`${count(Number(value))}`,
  decimal: (value: number) => html`${formatDecimal(value)}`,
  bytes: (value: number) => html`${formatBytes(value)}`,
  span: (value: number) => html`${formatSpan(value)}`,
  chain: (id: number) => html`${titleOfChain(id)}`,
  state: (state: string) => html`<span class="state ${state}">${state}</span>`,
  percent: ({ percent, name }: { percent: number; name: string }) =>
    html`<progress max="100" value="${percent}" aria-label="${name}"></progress> ${percent.toFixed(2)} %`,
  time: (seconds: string | number, view: View) => moment(view, Number(seconds)),
  hash,
  words: (words: string | readonly string[]) => joinWords([words].flat().map((one) => named[one] ?? one)),
  roles: (roles: readonly string[]) => {
    const known = roles.filter((one) => !one.startsWith("ROLE_"));
    const others = roles.length - known.length;
    return joinWords([...known.map(formatRole), ...(others > 0 ? [`${others} without a name`] : [])]);
  },
  contract: (at: Located, view: View) =>
    contract(view, "chainId" in at ? at.chainId : at.chain_id, at.address),
  price: ({ amount, currency }: { amount: string; currency: string }) => price(amount, currency),
  address: (address: string, view: View) => linkAccount(view, address),
  name: ({ namehash: id, name }: { namehash: string; name: string }) => nameLink({ id, name }),
};

/** A column of rows: its title, and a row's value as HTML, undefined where it has none. */
export type ShownColumn<Row> = {
  title: string;
  isNumber: boolean;
  show: (row: Row, view: View) => Html | undefined;
};

/** A column that shows the value that `read` takes from a row in one of the `forms`. */
export const column = <Row, Value>(
  title: string,
  read: (row: Row) => Value | null | undefined,
  form: (value: Value, view: View) => Html,
): ShownColumn<Row> => ({
  title,
  isNumber: form === forms.number,
  show: (row, view) => {
    const value = read(row) ?? undefined;
    return value === undefined ? undefined : form(value, view);
  },
});

/** The values of one row as a description list. */
export const factsOf = <Row>(view: View, row: Row, columns: readonly ShownColumn<Row>[]): Html =>
  facts(columns.map(({ title, show }) => [title, show(row, view)]));

/** A role in ENSv2, as `/api/permissions` has it. */
type ShownRole = { name?: string | undefined; roles: readonly string[]; contract: Located; kind: string };

/** The columns of roles in ENSv2. */
export const roleColumns: readonly ShownColumn<ShownRole>[] = [
  column("Name", ({ name }) => name, forms.text),
  column("Roles", ({ roles }) => roles, forms.roles),
  column("Contract", ({ contract }) => contract, forms.contract),
  column("Type", ({ kind }) => kind, forms.text),
];

/** A table of rows. */
export function listOf<Row>(
  view: View,
  label: string,
  { rows, columns }: { rows: readonly Row[]; columns: readonly ShownColumn<Row>[] },
): Html {
  return table(label, {
    head: columns.map(({ title }) => title),
    rows: rows.map((row) => columns.map(({ show }) => show(row, view) ?? html`–`)),
    numbers: columns.map(({ isNumber }) => isNumber),
  });
}

/**
 * A table whose rows begin with their header; `numbers` are aligned. Wide tables scroll, and narrow windows show each
 * row as a card, for which the roles keep what CSS would take from the elements.
 */
export function table(
  label: string,
  {
    head,
    rows,
    numbers = [],
  }: { head: readonly string[]; rows: readonly (readonly Html[])[]; numbers?: readonly boolean[] },
): Html {
  const kinds = head.map((_, at) => (numbers[at] ? html` class="number"` : ""));
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table role="table" aria-label="${label}">
<thead role="rowgroup"><tr role="row">${head.map((title, at) => html`<th scope="col" role="columnheader"${kinds[at]}>${title}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map(
    ([first, ...cells]) => html`<tr role="row"><th scope="row" role="rowheader"${kinds[0]}>${first}</th>
${cells.map((cell, at) => html`<td role="cell" data-title="${head[at + 1]}"${kinds[at + 1]}>${cell}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}
