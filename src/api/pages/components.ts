import { html } from "hono/html";
import { namehash } from "../../ens/names.ts";
import { isNormalizedName } from "../../ens/normalization.ts";
import { escapeControls, formatSpan } from "../../log/json-log.ts";
import { buildLink, type Endpoint, type EndpointRequest } from "../kit/endpoint.ts";
import type { Frame, Html } from "./frame.ts";
import {
  describeLetters,
  findExplorer,
  formatAmount,
  shortHex,
  sinceOrUntil,
  titleOfChain,
} from "./words.ts";

// The parts that pages are made of (docs/design.md), and how values are shown.

/**
 * What values are shown by: the frame, the time of the index in Unix seconds, and verified primary names by address.
 */
export type View = {
  frame: Frame;
  now: number;
  primaries: ReadonlyMap<string, string>;
  /** Nodes of the names in lists that have pictures. */
  pictures?: ReadonlySet<string>;
  /** The address that the page is of, which is not a link. */
  own?: string;
};

/** What pages of names are shown by before their accounts are known. */
export type Shown = Pick<View, "frame" | "now">;

/** The id of an element with a title. */
export const formatId = (title: string) => title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

/** A request over HTTP for what a part of a page shows. */
type ShownRequest = EndpointRequest<Endpoint<never>>;

/**
 * A card under a heading, whose text gives its id. `beside`: beside the heading, such as a count; `request`: what the
 * card shows, over HTTP; `more`: a path and the words of a link to all of it.
 */
export function section(
  title: string,
  content: Html,
  {
    beside,
    request,
    more,
  }: {
    beside?: Html | string | undefined;
    request?: ShownRequest | undefined;
    more?: PageLink | undefined;
  } = {},
): Html {
  const path = request && buildLink(request);
  const api = path && html`<a class="api" href="${path}" title="GET ${path}">JSON</a>`;
  return html`<section id="${formatId(title)}" class="card"><header><h2>${title}</h2>${beside === undefined ? "" : html` <small>${beside}</small>`}${api}</header>
${content}${more && html`<p class="more"><a href="${more[0]}">${more[1]}</a></p>`}</section>`;
}

/** The path of a link, and its words. */
export type PageLink = readonly [path: string, words: string];

/** A section that is folded until it is opened. */
export const folded = (
  title: string,
  content: Html,
): Html => html`<section id="${formatId(title)}" class="card fold"><details>
<summary><h2>${title}</h2></summary>
${content}</details></section>`;

/** Words in place of facts. */
export const note = (words: unknown): Html => html`<p class="empty">${shown(String(words), 1_500)}</p>`;

/** A word on a coloured ground: `good`, `busy`, `bad`, `sale` or `idle`. */
export const pill = (kind: string, word: Html | string): Html =>
  html`<span class="pill ${kind}">${word}</span>`;

/** Links to the pages of a list; nothing where all is on one page. */
export function pager({ first, next }: { first?: string | undefined; next?: string | undefined }): Html {
  if (first === undefined && next === undefined) return html``;
  return html`<nav class="pager" aria-label="Pages of the list">${first && html`<a href="${first}">First page</a>`}${next && html`<a href="${next}" rel="next">Next page</a>`}</nav>`;
}

const hues = 6;

/**
 * A name's picture, if it has one and the service serves it, else its first letter in a colour that follows from its
 * node. `kind`: `small` in lists, `large` at the head of a page.
 */
export function avatar(
  { name, namehash }: { name: string; namehash: string },
  { metadata }: Frame,
  { hasPicture, kind }: { hasPicture: boolean; kind: "small" | "large" },
): Html {
  const [first = ""] = name.startsWith("[") ? "?" : name;
  const letter = /\p{C}|\p{M}/u.test(first) ? "?" : first;
  const hue = Number.parseInt(namehash.slice(2, 6), 16) % hues;
  // The script shows the letter in the place of a picture that fails.
  const picture =
    hasPicture && metadata !== undefined
      ? html`<img src="/${metadata}/avatar/${encodeURIComponent(name)}" alt="" loading="lazy">`
      : "";
  return html`<span class="avatar ${kind} hue-${hue}" aria-hidden="true">${letter}${picture}</span>`;
}

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

/** An account as a link: its verified primary name, which has the address as its title, else the address in short. */
export function linkAccount(view: View, address: string): Html {
  if (zero.test(address)) return html`nobody`;
  if (address === view.own) return html`<span title="${address}">this address</span>`;
  const name = view.primaries.get(address);
  return name === undefined
    ? html`<a href="/address/${address}" title="${address}"><code>${shortHex(address)}</code></a>`
    : html`<a href="/address/${address}" title="${address}">${shownName(name)}</a>`;
}

/** An address in full, under its verified primary name if it has one. */
function wholeAccount(view: View, address: string): Html {
  const whole = html`<code class="whole" data-copy="${address}">${address}</code>`;
  const name = view.primaries.get(address);
  return name === undefined
    ? html`<a href="/address/${address}">${whole}</a>`
    : html`<a href="/address/${address}">${shownName(name)}</a><br>${whole}`;
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
  return html`<a href="/transaction/${at}:${transaction}" title="${transaction}"><code>${shortHex(transaction)}</code></a>${explored(view, chain, `tx/${transaction}`)}`;
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

const dayFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/**
 * The day of a time in Unix seconds.
 * @example formatDay("1827506321") // "29 Nov 2027"
 */
export function formatDay(seconds: string): string {
  const time = new Date(Number(seconds) * 1_000);
  return Number.isNaN(time.getTime()) ? "beyond any date" : dayFormat.format(time);
}

/** A date by itself, of Unix seconds, for readers who compare it with others. */
export function day(seconds: string): Html {
  const time = new Date(Number(seconds) * 1_000);
  if (Number.isNaN(time.getTime())) return html`beyond any date`;
  return html`<time datetime="${time.toISOString()}">${formatDay(seconds)}</time>`;
}

function formatBytes(size: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10)));
  return `${formatDecimal(size / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

/** A name of a list, in two lines with its picture. `beside`: at the end of the lines. */
export type NameItem = {
  id: string;
  name: string | undefined;
  below?: Html | undefined;
  beside?: Html | undefined;
};

/** Names, one below the other. */
export const nameItems = (view: View, items: readonly NameItem[]): Html =>
  html`<ul class="rows">${items.map(
    ({
      id,
      name,
      below,
      beside,
    }) => html`<li>${avatar({ name: name ?? "", namehash: id }, view.frame, { hasPicture: view.pictures?.has(id) === true, kind: "small" })}
<span class="what">${nameLink({ id, name })}${below && html`<small>${below}</small>`}</span>${beside}</li>`,
  )}</ul>`;

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
  account: (address: string, view: View) => wholeAccount(view, address),
  whole: (text: string) => html`<code class="whole" data-copy="${text}">${text}</code>`,
  name: ({ namehash: id, name }: { namehash: string; name: string }) => nameLink({ id, name }),
  pictured: ({ namehash: id, name }: { namehash: string; name: string }, { frame, pictures }: View) => {
    const picture = avatar({ name, namehash: id }, frame, {
      hasPicture: pictures?.has(id) === true,
      kind: "small",
    });
    return html`${picture} ${nameLink({ id, name })}`;
  },
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
function table(
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
