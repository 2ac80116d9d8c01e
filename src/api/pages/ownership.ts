import { html } from "hono/html";
import type { Hex } from "viem";
import { noExpiry, type StoredName } from "../names/names.ts";
import { facts, type Html } from "./layout.ts";
import { addressLink, date, hash, span } from "./text.ts";

/** A row as its statement gives it: every value is a text, so that large numbers stay exact. */
export type Row = Readonly<Record<string, string | null>>;

/** Until when a name is held, with the grace period in which only its owner can renew it. */
function expiryText(expiry: number, graceEnd: number, now: number): Html {
  if (now < expiry) return html`${date(expiry)}, in ${span(expiry - now)}`;
  if (now < graceEnd) return html`${date(expiry)}; can be renewed until ${date(graceEnd)}`;
  return html`${date(expiry)}, ${span(now - expiry)} ago`;
}

const generationText = ({ v2, status }: StoredName) =>
  v2 ? `${v2.isReserved ? "ENSv1; reserved in ENSv2" : v2.isInForce ? "ENSv2" : "ENSv1"}, ${status}` : status;

/** Who holds a name, and until when: `name` by the rules of docs/names.md, beside what single contracts store. */
export function ownershipFacts(
  { domain, wrapped, resolver }: Readonly<Record<"domain" | "wrapped" | "resolver", Row | null>>,
  { id, now }: { id: Hex; now: number },
  name: StoredName | undefined,
): Html {
  const one = (value: string | null | undefined, show: (value: string) => Html) =>
    value ? show(value) : undefined;
  const time = (value: string) => date(Number(value));
  const ends = name?.expires === "0" || name?.expires === noExpiry ? null : name?.expires;
  const hasGrace = name?.graceEnds !== name?.expires;
  return facts([
    [name?.v2 ? "In force" : "Status", one(name && generationText(name), (text) => html`${text}`)],
    ["Owner", one(name?.owner, addressLink)],
    ["Manager", one(name?.manager, addressLink)],
    ["Resolver", one(name?.resolver, hash)],
    ["Expires", one(ends, (at) => expiryText(Number(at), Number(name?.graceEnds), now))],
    ["End of the grace period", one(ends && hasGrace ? name?.graceEnds : null, time)],
    ["Brought over", one(name?.v2?.migrated, time)],
    ["Owner in the registry", one(domain?.["owner"], addressLink)],
    ["Owner of the registrar's token", one(domain?.["registrant"], addressLink)],
    ["Owner of the wrapper's token", one(wrapped?.["owner"], addressLink)],
    ["Resolves to", one(domain?.["resolved"], addressLink)],
    ["Content hash", one(resolver?.["contentHash"], hash)],
    ["Registered", one(name?.since, time)],
    ["First seen", one(name?.created, time)],
    ["Subnames", one(domain?.["subnames"], (value) => html`${value}`)],
    ["Node", hash(id)],
  ]);
}
