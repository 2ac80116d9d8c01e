import { html } from "hono/html";
import { namehash } from "../../ens/names.ts";
import { escapeControls } from "../../log/json-log.ts";
import type { Html } from "./layout.ts";

const grouped = new Intl.NumberFormat("en");

/** A whole number with commas. */
export const count = (value: number) => grouped.format(Math.round(value));

/** A number with one decimal where that says something. */
export const decimal = (value: number) =>
  value >= 100 || Number.isInteger(value) ? count(value) : value.toFixed(1);

/** A text from a chain, fit to be shown: control and formatting characters as `\u…`, cut after `most` characters. */
export function shown(text: string, most = 100): Html {
  const characters = [...text.slice(0, 4 * most)];
  const cut = characters.length > most ? `${characters.slice(0, most).join("")}…` : text;
  return html`<bdi>${escapeControls(cut)}</bdi>`;
}

/** A hash or address; style cuts it, so that it is copied and read out whole. */
export const hash = (hex: string) => html`<code class="hash">${hex}</code>`;

/** An address that leads to its page. */
export const addressLink = (address: string) => html`<a href="/address/${address}">${hash(address)}</a>`;

const longestLink = 255;

/** A name that leads to its page, under its node where its text does not lead there. */
export function nameLink({ id, name }: { id: string; name: string | null }): Html {
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

/** A point in time (Unix seconds), to the minute. */
export function date(seconds: number): Html {
  const time = new Date(seconds * 1_000);
  if (Number.isNaN(time.getTime())) return html`later than any date`;
  const text = time.toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** A size in bytes. */
export function bytes(size: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(size, 1)) / 10)));
  return `${decimal(size / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
}
