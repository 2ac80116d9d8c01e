import { html } from "hono/html";
import { premiumPeriod } from "../../ens/registrations.ts";
import { formatSpan } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { day, moment, pill, type View } from "./components.ts";
import type { Frame, Html } from "./frame.ts";

// The states of a name in words and colours, and what they mean for who wants to hold it.

/** The facts by which a state is told. */
export type StateFacts = Pick<NameRow, "status" | "name" | "namespace" | "expires_at" | "grace_ends_at">;

/** Seconds before its end from which on a name ends soon. */
export const soonSeconds = 90 * 86_400;

/** When the premium of a released name ends, in Unix seconds; undefined where there is none. */
export function findPremiumEnd(
  { status, name, namespace, grace_ends_at }: StateFacts,
  now: number,
): number | undefined {
  const released = Number(grace_ends_at ?? 0);
  const end = released + premiumPeriod;
  const hasPremium = status === "released" && namespace === "ens" && /^[^.]+\.eth$/.test(name);
  return hasPremium && released > 0 && end > now ? end : undefined;
}

const states = {
  active: ["good", "Registered"],
  expired: ["busy", "In grace"],
  unregistered: ["idle", "Unregistered"],
  released: ["idle", "Available"],
} as const;

/** The state of a name as a pill. */
export function statePill(row: StateFacts, { now }: Pick<View, "now">): Html {
  if (findPremiumEnd(row, now) !== undefined) return pill("sale", "In premium");
  const expires = Number(row.expires_at ?? Infinity);
  const isEnding = row.status === "active" && expires - now < soonSeconds;
  const [kind, word] = isEnding ? (["busy", "Expires soon"] as const) : states[row.status ?? "unregistered"];
  return pill(kind, word);
}

/** What the state of a name means, in a sentence. */
export function describeState(row: StateFacts, view: View): Html {
  const { now } = view;
  const { status, expires_at, grace_ends_at } = row;
  const ended = Number(grace_ends_at ?? 0);
  if (status === "expired") {
    const grace = ended > now ? ` It can be renewed for another ${formatSpan(ended - now)}.` : "";
    return html`Expired ${moment(view, Number(expires_at))}.${grace}`;
  }
  if (status === "unregistered") return html`Nobody holds it.`;
  if (status === "released") {
    const end = findPremiumEnd(row, now);
    const since = ended > 0 ? html` ${moment(view, ended)}` : "";
    const premium =
      end && ` Anyone can register it, at a premium that falls to zero in ${formatSpan(end - now)}.`;
    return html`Released${since}.${premium ?? " Anyone can register it."}`;
  }
  return expires_at
    ? html`Expires ${day(expires_at)}, ${moment(view, Number(expires_at))}.`
    : html`It does not expire.`;
}

/** A link to where a name is registered or renewed; nothing where the operator has named none. */
export function registrationLink(
  { name, status }: Pick<StateFacts, "name" | "status">,
  { site }: Frame,
  { isShort = false } = {},
): Html | undefined {
  if (site.registrationUrl === undefined || !/^[^.[\]]+\.eth$/.test(name)) return undefined;
  const url = site.registrationUrl.replaceAll("{name}", encodeURIComponent(name));
  const word = status === "active" || status === "expired" ? "Renew" : "Register";
  const where = isShort ? "" : ` at ${new URL(url).host}`;
  return html`<a${isShort ? "" : html` class="action"`} href="${url}" rel="noopener">${word}${where}</a>`;
}
