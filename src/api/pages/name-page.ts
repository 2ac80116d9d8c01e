import { html } from "hono/html";
import { isNode } from "../../ens/given-names.ts";
import { premiumPeriod } from "../../ens/registrations.ts";
import { formatSpan } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { askRows, type PageAsk, readPrimaryNames } from "./ask.ts";
import {
  asked,
  day,
  type Frame,
  facts,
  type Html,
  lettersNote,
  linkAccount,
  listOf,
  moment,
  nameLink,
  type Page,
  roleColumns,
  type Shown,
  section,
  shownName,
  type View,
  valuesOf,
} from "./layout.ts";
import { recordLists } from "./records.ts";
import { type Action, activityTable, type Entry } from "./sentences.ts";
import { titleOfChain } from "./words.ts";

/** The most rows of a list on a page. */
const max = 30;

// The state of a name: its class, its word, and what it means for who wants to hold the name.
function stateOf({ status, name, namespace, expires_at, grace_ends_at }: NameRow, view: View) {
  const { now } = view;
  const ended = Number(grace_ends_at ?? 0);
  if (status === "expired") {
    const grace = ended > now ? ` Only its holder can renew it, for another ${formatSpan(ended - now)}.` : "";
    return ["grace", "In grace", html`Expired ${moment(view, Number(expires_at))}.${grace}`] as const;
  }
  if (status === "unregistered") return ["released", "Unregistered", html`Nobody holds it.`] as const;
  if (status === "released") {
    const left = ended + premiumPeriod - now;
    const hasPremium = namespace === "ens" && /^[^.]+\.eth$/.test(name) && ended > 0 && left > 0;
    const since = ended > 0 ? html` ${moment(view, ended)}` : "";
    const premium = ` Anyone can register it, at a premium that falls to zero in ${formatSpan(left)}.`;
    const words = html`Released${since}.${hasPremium ? premium : " Nobody holds it."}`;
    return ["released", hasPremium ? "Premium" : "Released", words] as const;
  }
  const words = expires_at
    ? html`Expires ${moment(view, Number(expires_at))}, on ${day(expires_at)}.`
    : html`It does not expire.`;
  return ["active", "Registered", words] as const;
}

const hues = 6;

// A picture of its own, if the service has it, else its first letter in a colour that follows from the node.
function avatarOf({ name, namehash, records }: NameRow, { metadata }: Frame): Html {
  if (metadata !== undefined && records?.texts["avatar"])
    return html`<img class="avatar" src="/${metadata}/avatar/${encodeURIComponent(name)}" alt="" width="72" height="72" loading="lazy">`;
  const [letter = ""] = name.startsWith("[") ? "?" : name;
  const hue = Number.parseInt(namehash.slice(2, 6), 16) % hues;
  return html`<span class="avatar hue-${hue}" aria-hidden="true">${/\p{C}|\p{M}/u.test(letter) ? "?" : letter}</span>`;
}

function head(row: NameRow, view: View): Html {
  const { chain_id: chain, version, authority, name } = row;
  const [kind, word, words] = stateOf(row, view);
  const generation = version === "v2" || authority === "ens_v2" ? "ENSv2" : undefined;
  const chips = [chain && titleOfChain(chain), generation, row.reserved && "Reserved in ENSv2"];
  return html`<div class="head">${avatarOf(row, view.frame)}<div>
<h1>${shownName(name)}</h1>${lettersNote(name)}
<p class="chips"><span class="chip ${kind}">${word}</span>${chips.map((chip) => chip && html`<span class="chip">${chip}</span>`)}</p>
<p>${row.owner ? html`Owned by ${linkAccount(view, row.owner)}. ` : ""}${words}</p></div></div>`;
}

const about =
  "Manager=manager:address, Last holder=lapsed_registration.owner:address, Resolves to=primary_address:address, Resolver=resolver:contract, " +
  "Grace period ends=grace_ends_at:time, Registered=registered_at:time, First seen=created_at:time, Migrated to ENSv2=migrated_at:time, " +
  "Subnames=subname_count:number, Node=namehash:hash";

// Without what the head says.
function ownership({ manager, grace_ends_at, ...row }: NameRow, view: View): Html {
  const own = { manager: manager === row.owner ? undefined : manager };
  const hasGrace = row.status === "active" && grace_ends_at !== row.expires_at;
  const grace = { grace_ends_at: hasGrace ? grace_ends_at : undefined };
  return facts(valuesOf(view, { ...row, ...own, ...grace }, about));
}

// States and fuses of the name wrapper, as its documents explain them.
const wrapperStates = {
  wrapped: "Wrapped. The owner of its parent can still reclaim it.",
  emancipated: "Emancipated: the owner of its parent cannot control it.",
  locked: "Locked: it cannot be unwrapped, and its fuses hold.",
  lapsed: "Its entry in the name wrapper has expired.",
  unwrapped: "It was wrapped once, but no longer is.",
};
const fuses = {
  cannot_unwrap: "It cannot be unwrapped.",
  cannot_burn_fuses: "No more fuses can be burned.",
  cannot_transfer: "It cannot be transferred.",
  cannot_set_resolver: "Its resolver cannot be changed.",
  cannot_set_ttl: "Its time to live cannot be changed.",
  cannot_create_subdomain: "No new subnames can be created.",
  cannot_approve: "The account that may renew it cannot be changed.",
  parent_cannot_control: "The owner of its parent cannot change it.",
  can_extend_expiry: "Its owner can extend its expiry.",
} as const;

function wrapping({ ens_v1, wrapper = ens_v1 }: NameRow, view: View): Html {
  if (wrapper?.wrapper_state === undefined) return html``;
  const { wrapper_state, wrapper_fuses: burned, wrapper_expires_at: expires } = wrapper;
  const held = Object.entries(fuses).filter(([name]) => burned?.[name as keyof typeof fuses]);
  const until = expires ? html` Its entry in the wrapper expires ${moment(view, Number(expires))}.` : "";
  const content = html`<p>${wrapperStates[wrapper_state]}${until}</p>
${held.length > 0 ? html`<ul>${held.map(([, words]) => html`<li>${words}</li>`)}</ul>` : ""}`;
  return section("Name wrapper", content);
}

// Lists of a page: title, path with `$id` and `$name`, where in the body the rows are, columns.
const lists = [
  [
    "Tokens",
    "/api/name-tokens?domainId=$id",
    "registeredNameTokens.tokens",
    "Contract=token.contract:contract, Standard=token.assetNamespace:words, Owner=ownership.owner.address:address, State=ownership.ownershipType:words, Id=token.tokenId:hash",
  ],
  [
    "Sales",
    `/api/name-sales?domainId=$id&recordsPerPage=${max}`,
    "nameSales",
    "When=block.timestamp:time, Seller=seller:address, Buyer=buyer:address, Price=price:price, Transaction=transactionHash:hash",
  ],
  [
    "Roles in ENSv2",
    `/api/permissions?name=$name&recordsPerPage=${max}`,
    "permissions",
    `Account=account:address, ${roleColumns}`,
  ],
  [
    "Subnames",
    `/v1/names/$id/subnames?page_size=${max}`,
    "data",
    "Name=name:name, Owner=owner:address, First seen=created_at:time",
  ],
] as const;

// Registrars leave the token of a lease that has ended with its holder, until somebody registers the name.
function endTokens({ status }: NameRow, tokens: readonly unknown[]): readonly unknown[] {
  if (status !== "released" && status !== "unregistered") return tokens;
  return (tokens as { ownership: object }[]).map(({ ownership, ...token }) => ({
    ...token,
    ownership: { ...ownership, ownershipType: "ended" },
  }));
}

const many = (rows: readonly unknown[]) => (rows.length < max ? `${rows.length}` : `${max} of them`);

/** The page of a name, from its row. */
export async function namePage(row: NameRow, ask: PageAsk, { frame, now }: Shown): Promise<Page> {
  const { namehash: id, name, records } = row;
  const history = `/v1/names/${id}/history?include=data,raw&page_size=${max}`;
  const bought = `/api/registrar-actions?node=${id}&recordsPerPage=${max}`;
  const reading = lists.map(async ([title, path, member, columns]) => {
    const own = path.replace("$id", id).replace("$name", () => encodeURIComponent(name));
    const rows = await askRows(ask, own, member);
    return { title, path: own, columns, rows: title === "Tokens" ? endTokens(row, rows) : rows };
  });
  const [entries, actions, ...found] = await Promise.all([
    askRows(ask, history, "data") as Promise<Entry[]>,
    askRows(ask, bought, "registrarActions") as Promise<Action[]>,
    ...reading,
  ]);
  const primaries = await readPrimaryNames([row, entries, actions, found.map(({ rows }) => rows)], ask);
  const view = { frame, now, primaries };
  const activity = { entries, actions, isWhole: entries.length < max, hasNames: false };
  const { texts, addresses } = records ? recordLists(view, records) : {};
  const shown = found.flatMap(({ title, path, columns, rows }) =>
    rows.length === 0
      ? []
      : section(title, html`${listOf(view, title, { rows, columns })}${asked(path)}`, many(rows)),
  );
  const table = html`${activityTable(view, "History", activity)}${asked(history)}`;
  const content = html`
${section("About", html`${ownership(row, view)}${asked(`/v1/names/${id}?include=counts`)}`)}
${texts && section("Records", html`${texts}${asked(`/v1/names/${id}/records`)}`)}
${addresses && section("Addresses", addresses)}
${wrapping(row, view)}
${entries.length > 0 && section("History", table, many(entries))}
${shown}`;
  return { heading: head(row, view), content };
}

/** The page of a name that the index never saw: what it has that is like it. */
export async function missingName(name: string, ask: PageAsk): Promise<Page> {
  const [label = ""] = name.split(".");
  const path = `/v1/search?q=${encodeURIComponent(label)}&sort=relevance&page_size=8`;
  const near = isNode(name) || label === "" ? [] : ((await askRows(ask, path, "data")) as NameRow[]);
  const list = html`<h2>Similar names</h2><ul class="names">${near.map((row) => html`<li>${nameLink({ id: row.namehash, name: row.name })}</li>`)}</ul>`;
  const content = html`<p>Not registered, as far as this index knows.</p>${near.length > 0 ? list : ""}`;
  return { heading: html`<h1>${shownName(name)}</h1>`, content };
}
