import { html } from "hono/html";
import type { Hex } from "viem";
import { secondGeneration } from "../lookup/generations.ts";
import { noExpiry } from "../lookup/name-rows.ts";
import { type NamesSource, readNames } from "../lookup/names-query.ts";
import { timesOf } from "../lookup/places.ts";
import type { StoredName } from "../lookup/stored-name.ts";
import type { GateContext } from "../rest/gate.ts";
import { facts, type Html } from "./layout.ts";
import { addressLink, date, hash, span } from "./text.ts";

/** A row as its statement gives it: every value is a text, so that large numbers stay exact. */
export type Row = Readonly<Record<string, string | null>>;

/** Until when a name is held, with the grace period in which only its owner can renew it. */
function expiryText(expiry: number, graceEnd: number | undefined, now: number): Html {
  if (now < expiry) return html`${date(expiry)}, in ${span(expiry - now)}`;
  if (graceEnd !== undefined && now < graceEnd)
    return html`${date(expiry)}; can be renewed until ${date(graceEnd)}`;
  return html`${date(expiry)}, ${span(now - expiry)} ago`;
}

// Owner, manager, resolver and dates of the generation in force, in place of what the first one's rows say.
function inForcePairs(row: StoredName, now: number): readonly (readonly [string, Html | undefined])[] {
  const { owner, manager, resolver, expires, graceEnds, v2 } = row;
  const said = v2?.isReserved ? "ENSv1; reserved in ENSv2" : v2?.isInForce ? "ENSv2" : "ENSv1";
  const end = Number(graceEnds ?? expires);
  return [
    ["In force", html`${said}, ${row.status}`],
    ["Owner", owner ? addressLink(owner) : undefined],
    ["Manager", manager ? addressLink(manager) : undefined],
    ["Resolver", resolver ? hash(resolver) : undefined],
    ["Expires", expires && expires !== noExpiry ? expiryText(Number(expires), end, now) : undefined],
    ["Brought over", v2?.migrated ? date(Number(v2.migrated)) : undefined],
  ];
}

/** Who holds a name, and until when. `inForce`: what `/v1` says of it where ENSv2 is indexed. */
export function ownershipFacts(
  found: Record<"domain" | "registration" | "wrapped" | "resolver", Row | null>,
  about: { id: Hex; now: number },
  inForce: StoredName | undefined,
): Html {
  const { domain, registration, wrapped, resolver } = found;
  const one = (row: Row | null, member: string, show: (value: string) => Html) => {
    const value = row?.[member] ?? null;
    return value === null ? undefined : show(value);
  };
  const time = (value: string) => date(Number(value));
  const holder = wrapped?.["owner"] ? wrapped : undefined;
  const graceEnd = domain?.["expiry"] ? Number(domain["expiry"]) : undefined;
  const expiry = (value: string) => expiryText(Number(value), graceEnd, about.now);
  const pairs = [
    ["Owner", one(holder ?? domain, domain?.["registrant"] && !holder ? "registrant" : "owner", addressLink)],
    ["Manager", one(holder ?? domain, "owner", addressLink)],
    ["Owner in the registry", one(domain, "owner", addressLink)],
    ["Owner of the registrar's token", one(domain, "registrant", addressLink)],
    ["Owner of the wrapper's token", one(wrapped, "owner", addressLink)],
    ["Resolves to", one(domain, "resolved", addressLink)],
    ["Resolver", one(resolver, "address", hash)],
    ["Content hash", one(resolver, "contentHash", hash)],
    ["Expires", one(registration ?? wrapped, "expiry", expiry)],
    ["End of the grace period", registration ? one(domain, "expiry", time) : undefined],
    ["Registered", one(registration, "since", time)],
    ["First seen", one(domain, "since", time)],
    ["Subnames", one(domain, "subnames", (value) => html`${value}`)],
    ["Node", hash(about.id)],
  ] as const;
  const effective = inForce?.v2 ? inForcePairs(inForce, about.now) : [];
  const replaced = new Set(effective.map(([title]) => title));
  return facts([...effective, ...pairs.filter(([title]) => !replaced.has(title))]);
}

/** What is in force for a node, by the rules of docs/names.md; undefined where ENSv2 is not indexed. */
export async function inForceOf(
  { lookup, status }: Pick<GateContext, "status"> & { lookup?: NamesSource },
  node: Hex,
  signal: AbortSignal,
): Promise<StoredName | undefined> {
  const current = status.current();
  if (lookup === undefined || current === undefined || !secondGeneration(lookup.places)) return undefined;
  const asked = { names: [{ node }], times: timesOf(lookup.places, current), withRecords: false };
  return (await readNames(lookup, asked, signal))[0]?.row;
}
