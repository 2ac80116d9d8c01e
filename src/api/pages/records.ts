import { html } from "hono/html";
import { decodeRecord } from "../../ens/decoded-records.ts";
import { parseAccountKey } from "../../ens/owned-accounts.ts";
import type { DecodedRecord } from "../../ens/record-schemas.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { count, facts, hash, linkAccount, shown, type View } from "./components.ts";
import type { Html } from "./frame.ts";
import { coinName } from "./words.ts";

// Known text records (ENSIP-5, ENSIP-18, ENSIP-27 and what applications write) in the order in which they are shown,
// and what they are called.
const texts: Readonly<Record<string, string>> = {
  name: "Display name",
  alias: "Alias",
  description: "Description",
  class: "Class",
  url: "Website",
  email: "E-mail",
  avatar: "Avatar",
  header: "Header",
  location: "Location",
  keywords: "Keywords",
  notice: "Notice",
  phone: "Phone",
  "com.twitter": "X (Twitter)",
  "com.x": "X (Twitter)",
  "com.github": "GitHub",
  "xyz.farcaster": "Farcaster",
  "org.telegram": "Telegram",
  "social.bsky": "Bluesky",
  "com.discord": "Discord",
  "com.reddit": "Reddit",
  "com.instagram": "Instagram",
  "com.youtube": "YouTube",
  "com.linkedin": "LinkedIn",
  "io.keybase": "Keybase",
  "eth.ens.delegate": "ENS delegate",
};
const order = Object.keys(texts);

// Records of agents (ENSIP-25, ENSIP-26): `agent-endpoint[mcp]` is that of a protocol,
// `agent-registration[<registry>][167]` of an agent's id.
function findAgentText(key: string): string | undefined {
  const [, kind, first, second] =
    /^agent-(context|endpoint|registration)(?:\[([^[\]]*)\])?(?:\[([^[\]]*)\])?$/.exec(key) ?? [];
  const of = second ?? first;
  return kind === undefined ? undefined : `Agent ${kind}${of === undefined ? "" : ` ${of}`}`;
}

const findText = (key: string): string | undefined =>
  Object.hasOwn(texts, key) ? texts[key] : findAgentText(key);

/** What a record is called, by its key such as `text:url` or `addr:60`. */
export function recordLabel(key: string): string {
  const [family = "", ...rest] = key.split(":");
  const name = rest.join(":");
  if (family === "addr") return `${coinName(name)} address`;
  if (family === "abi") return `ABI of type ${name}`;
  if (family === "data") return `Data ${name}`;
  if (key === "contenthash") return "Content hash";
  return family === "text" ? (findText(name) ?? name) : "Reverse name";
}

const max = 600;

// A text, cut, with how much is left out.
function cutText(text: string, at = max): Html {
  const left = text.length - at;
  const more = left > 0 ? html` <small>${count(left)} more characters omitted</small>` : "";
  return html`${shown(text.replaceAll(/[\t\n\r]/g, " "), at)}${more}`;
}

const linkOutside = (url: string, text: Html) =>
  html`<a href="${url}" rel="noopener noreferrer nofollow ugc">${text}</a>`;

// A text record's value as a link where it leads to a page or a contact.
function renderTextValue(value: string, decoded: DecodedRecord | undefined, at: number): Html {
  const text = cutText(value, at);
  if (decoded !== undefined) return decoded.url === undefined ? text : linkOutside(decoded.url, text);
  const isUrl = value.length < 2_000 && /^https?:\/\/[^\s\p{C}]+$/iu.test(value) && URL.canParse(value);
  return isUrl ? linkOutside(new URL(value).href, text) : text;
}

/**
 * A record's value, by its key such as `text:url` or `addr:60`, cut after `at` characters; undefined if it is cleared.
 */
export function recordValue(view: View, key: string, value: string, at = max): Html | undefined {
  if (value === "" || value === "0x" || /^0x0{40}$/.test(value)) return undefined;
  // Nothing here depends on the name.
  const decoded = decodeRecord("", key, value);
  if (key.startsWith("addr:")) {
    const address = decoded?.address ?? value;
    return /^0x[0-9a-f]{40}$/i.test(address) ? linkAccount(view, address.toLowerCase()) : hash(address);
  }
  if (key === "contenthash") {
    const text = shown(decoded?.uri ?? value, 200);
    return decoded?.url === undefined ? text : linkOutside(decoded.url, text);
  }
  const data = /^data:image\/([a-z]+)[^,]*,/.exec(value);
  if (data !== null) return renderImage(value, data[1] ?? "");
  return key.startsWith("text:") ? renderTextValue(value, decoded, at) : cutText(value, at);
}

// Browsers draw nothing of an image but its pixels: no scripts, no files that it names.
const longestImage = 20_000;

// An image in the record itself, as a small picture and in words.
function renderImage(value: string, type: string): Html {
  const content = value.slice(value.indexOf(",") + 1);
  const bytes = /^[^,]*;base64,/.test(value) ? Math.floor((content.length * 3) / 4) : content.length;
  const picture =
    value.length <= longestImage && /^(svg|png|jpeg|gif|webp)$/.test(type)
      ? html`<img class="thumbnail" src="${value}" alt=""> `
      : "";
  return html`${picture}${type.toUpperCase()}, ${count(bytes)} bytes`;
}

const maxShown = 100;

/**
 * The text records of a name with its content hash, known keys first, and its addresses by chain; each undefined if
 * there are none.
 */
export function recordLists(view: View, records: NonNullable<NameRow["records"]>) {
  const rank = (key: string) =>
    order.indexOf(key) < 0 ? order.length + (findText(key) ? 0 : 1) : order.indexOf(key);
  const texts = records.seen_texts.toSorted((a, b) => rank(a) - rank(b)).map((key) => `text:${key}`);
  const { contenthash, name } = records;
  const values = new Map<string, string | null | undefined>([
    ...Object.entries(records.texts).map(([key, value]) => [`text:${key}`, value] as const),
    ...Object.entries(records.addresses).map(([coin, value]) => [`addr:${coin}`, value] as const),
    ...Object.entries({ contenthash, name }),
  ]);
  const list = (keys: readonly string[]) => {
    const pairs = keys.slice(0, maxShown).flatMap((key) => {
      const value = values.get(key);
      const label = shown(key.startsWith("addr:") ? coinName(key.slice(5)) : recordLabel(key));
      if (value === undefined) return [[label, html`<small>only on the chain</small>`] as const];
      const found = value === null ? undefined : recordValue(view, key, value);
      return found === undefined ? [] : [[label, found] as const];
    });
    const left = keys.length - maxShown;
    const more = left > 0 ? html`<p class="note">${count(left)} more are omitted.</p>` : "";
    return pairs.length === 0 ? undefined : html`${facts(pairs)}${more}`;
  };
  // Accounts have a list of their own: one without a valid consent must not be shown (ENSIP-28).
  const data = (records.seen_data ?? []).filter((key) => parseAccountKey(key) === undefined);
  const singles = ["contenthash", "name"].filter((key) => values.get(key));
  return {
    texts: list([...texts, ...data.map((key) => `data:${key}`), ...singles]),
    addresses: list(records.seen_addresses.map((coin) => `addr:${coin}`)),
  };
}
