import { html } from "hono/html";
import { escapeControls } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { formatDay } from "./components.ts";

// The picture of a name that chats and feeds show beside a link to its page.

const hues = ["#2f6fd0", "#7a4fc4", "#b23d7c", "#b4491f", "#3f7d3a", "#0f7a80"];
const longestPicture = 100_000;

function describeEnd({ status, expires_at, grace_ends_at }: NameRow): string {
  if (status === "released" || status === "unregistered") return "Can be registered";
  if (!expires_at) return "Does not expire";
  return status === "expired" && grace_ends_at
    ? `Expired, can be renewed until ${formatDay(grace_ends_at)}`
    : `Registered until ${formatDay(expires_at)}`;
}

// XML has no control characters and no noncharacters.
const toXmlText = (text: string) => escapeControls(text).replaceAll(/[\ufffe\uffff]/g, "");

/** An SVG document of 1,200 by 630 units: a name, when it ends, and its picture if its record holds it. */
export async function drawCard(row: NameRow, title: string): Promise<string> {
  const characters = [...new Intl.Segmenter().segment(row.name.slice(0, 1_000))].map(
    ({ segment }) => segment,
  );
  const isLong = characters.length > 32;
  const shown = isLong ? [...characters.slice(0, 24), "…", ...characters.slice(-7)] : characters;
  const size = Math.min(110, Math.floor(1_040 / (Math.max(1, shown.length) * 0.58)));
  const hue = hues[Number.parseInt(row.namehash.slice(2, 6), 16) % hues.length];
  const picture = row.records?.texts["avatar"] ?? "";
  const isOwn =
    /^data:image\/(svg\+xml|png|jpeg|gif|webp)[;,]/.test(picture) && picture.length <= longestPicture;
  const inside = isOwn
    ? html`<image href="${toXmlText(picture)}" x="80" y="80" width="180" height="180" clip-path="circle(90px)" preserveAspectRatio="xMidYMid slice"/>`
    : html`<text x="170" y="205" font-size="96" font-weight="700" text-anchor="middle" fill="#fff">${toXmlText(characters[0]?.toUpperCase() ?? "")}</text>`;
  const text =
    await html`<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" viewBox="0 0 1200 630" font-family="system-ui, sans-serif"><rect width="1200" height="630" fill="#f5f6f9"/><rect width="1200" height="12" fill="${hue}"/><circle cx="170" cy="170" r="90" fill="${hue}"/>${inside}<text x="80" y="410" font-size="${size}" font-weight="700" fill="#15171c">${toXmlText(shown.join(""))}</text><text x="80" y="490" font-size="40" fill="#565d6b">${describeEnd(row)}</text><text x="80" y="570" font-size="30" fill="#565d6b">${title}</text></svg>`;
  return String(text);
}
