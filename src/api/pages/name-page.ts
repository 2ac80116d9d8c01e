import { html } from "hono/html";
import type { z } from "zod/v4";
import { premiumPeriod } from "../../ens/registrations.ts";
import { isNode } from "../names/contract.ts";
import type { rowSchema } from "../names/rows.ts";
import { type Asking, rowsOf } from "./ask.ts";
import {
  account,
  asked,
  contract,
  count,
  day,
  type Frame,
  facts,
  type Html,
  hash,
  lettersNote,
  listOf,
  moment,
  nameLink,
  nameText,
  note,
  type Page,
  type Shown,
  section,
  span,
  table,
  type View,
} from "./layout.ts";
import { addressList, type Records, textList } from "./records.ts";
import { type Permission, rolesOf } from "./roles.ts";
import { type Action, activityTable, type Entry, type Sale } from "./sentences.ts";
import { chainName } from "./words.ts";

/** The most rows of a list on a page. */
const most = 30;

type Row = z.output<typeof rowSchema>;

// The state of a name, and what it means for who wants to hold it.
function stateOf({ status, name, namespace, expires_at, grace_ends_at }: Row, view: View) {
  const { now } = view;
  const left = (until: number) => span(until - now);
  const ended = Number(grace_ends_at ?? 0);
  if (status === "expired" && ended > now)
    return {
      word: "grace",
      label: "In grace",
      words: html`Expired ${moment(view, Number(expires_at))}. Only its holder can renew it, for another ${left(ended)}.`,
    };
  if (status === "expired")
    return { word: "grace", label: "Expired", words: html`Expired ${moment(view, Number(expires_at))}.` };
  if (status === "released") {
    const isLeased = namespace === "ens" && /^[^.]+\.eth$/.test(name);
    const premium = isLeased && ended > 0 && now < ended + premiumPeriod;
    const words = premium
      ? html`Released ${moment(view, ended)}. Anybody can register it, at a premium that falls to nothing in ${left(ended + premiumPeriod)}.`
      : html`Released${ended > 0 ? html` ${moment(view, ended)}` : ""}. Nobody holds it.`;
    return { word: "released", label: premium ? "Premium" : "Released", words };
  }
  if (status === "unregistered")
    return { word: "released", label: "Unregistered", words: html`Nobody holds it.` };
  const words = expires_at
    ? html`Expires ${moment(view, Number(expires_at))}, on ${day(expires_at)}.`
    : html`It does not expire.`;
  return { word: "active", label: "Registered", words };
}

const hues = 6;

// A picture of its own, if the service has it, else its first letter in a colour that follows from the node.
function avatarOf({ name, namehash, records }: Row, { metadata }: Frame): Html {
  if (metadata !== undefined && records?.texts["avatar"])
    return html`<img class="avatar" src="/${metadata}/avatar/${encodeURIComponent(name)}" alt="" width="72" height="72" loading="lazy">`;
  const [letter = ""] = name.startsWith("[") ? "?" : name;
  const hue = Number.parseInt(namehash.slice(2, 6), 16) % hues;
  return html`<span class="avatar hue-${hue}" aria-hidden="true">${/\p{C}|\p{M}/u.test(letter) ? "?" : letter}</span>`;
}

function head(row: Row, view: View): Html {
  const { chain_id: chain, version, authority, name } = row;
  const { word, label, words } = stateOf(row, view);
  const generation = version === "v2" || authority === "ens_v2" ? "ENSv2" : undefined;
  const chips = [
    chain === undefined ? undefined : chainName(chain),
    generation,
    row.reserved ? "Reserved in ENSv2" : undefined,
  ];
  return html`<div class="head">${avatarOf(row, view.frame)}<div>
<h1>${nameText(name)}</h1>${lettersNote(name)}
<p class="chips"><span class="chip ${word}">${label}</span>${chips.map((chip) => chip && html`<span class="chip">${chip}</span>`)}</p>
<p>${row.owner ? html`Owned by ${account(view, row.owner)}. ` : ""}${words}</p></div></div>`;
}

const time = (view: View, seconds: string | null | undefined) =>
  seconds ? moment(view, Number(seconds)) : undefined;

function ownership(row: Row, view: View): Html {
  const who = (address: string | undefined) => address && account(view, address);
  const { owner, manager, resolver, lapsed_registration: lapsed } = row;
  return facts([
    ["Manager", manager === owner ? undefined : who(manager)],
    ["Held until its end by", who(lapsed?.owner)],
    ["Resolves to", who(row.primary_address)],
    ["Resolver", resolver && contract(view, resolver.chain_id, resolver.address)],
    ["Grace period ends", row.grace_ends_at === row.expires_at ? undefined : time(view, row.grace_ends_at)],
    ["Registered", time(view, row.registered_at)],
    ["First seen", time(view, row.created_at)],
    ["Migrated to ENSv2", time(view, row.migrated_at)],
    ["Subnames", row.subname_count === undefined ? undefined : count(row.subname_count)],
    ["Node", hash(row.namehash)],
  ]);
}

// States and fuses of the name wrapper, as its documents explain them.
const wrapperStates = {
  wrapped: "Wrapped. The owner of its parent can still take it back.",
  emancipated: "Emancipated: the owner of its parent cannot control it.",
  locked: "Locked: it cannot be unwrapped, and its fuses hold.",
  lapsed: "Its time in the name wrapper is over.",
  unwrapped: "It was wrapped once, and is no longer.",
};
const fuses = {
  cannot_unwrap: "It cannot be unwrapped.",
  cannot_burn_fuses: "No more fuses can be burned.",
  cannot_transfer: "It cannot be transferred.",
  cannot_set_resolver: "Its resolver cannot be changed.",
  cannot_set_ttl: "Its time to live cannot be changed.",
  cannot_create_subdomain: "No new subnames can be made.",
  cannot_approve: "The account that may renew it cannot be changed.",
  parent_cannot_control: "The owner of its parent cannot change it.",
  can_extend_expiry: "Its owner can extend its expiry.",
} as const;

function wrapping({ ens_v1, wrapper = ens_v1 }: Row, view: View): Html {
  if (wrapper?.wrapper_state === undefined) return html``;
  const { wrapper_state, wrapper_fuses: burned, wrapper_expires_at: expires } = wrapper;
  const held = Object.entries(fuses).filter(([name]) => burned?.[name as keyof typeof fuses]);
  const until = expires ? html` Its entry in the wrapper expires ${moment(view, Number(expires))}.` : "";
  const content = html`<p>${wrapperStates[wrapper_state]}${until}</p>
${held.length > 0 ? html`<ul>${held.map(([, words]) => html`<li>${words}</li>`)}</ul>` : ""}`;
  return section("Name wrapper", content);
}

type Token = {
  token: { contract: { chainId: number; address: string }; tokenId: string; assetNamespace: string };
  ownership: { ownershipType: string; owner: { address: string } };
  mintStatus: string;
};
const ownerships: Readonly<Record<string, string>> = {
  namewrapper: "held by the name wrapper",
  "fully-onchain": "controls the name",
  burned: "burned",
  unknown: "perhaps out of date",
};

function tokensOf(view: View, tokens: readonly Token[]): Html {
  const rows = tokens.map(({ token, ownership, mintStatus }) => [
    contract(view, token.contract.chainId, token.contract.address),
    html`${token.assetNamespace === "erc721" ? "ERC-721" : "ERC-1155"}`,
    mintStatus === "burned" ? html`–` : account(view, ownership.owner.address),
    html`${ownerships[ownership.ownershipType] ?? ownership.ownershipType}`,
    hash(token.tokenId),
  ]);
  return table("Tokens", { head: ["Contract", "Standard", "Owner", "State", "Id"], rows });
}

const many = (rows: readonly unknown[]) => (rows.length < most ? `${rows.length}` : `${most} of them`);

/** The page of a name, from its row. */
export async function namePage(row: Row, asking: Asking, { frame, now }: Shown): Promise<Page> {
  const id = row.namehash;
  const paths = {
    history: `/v1/names/${id}/history?include=data,raw&page_size=${most}`,
    actions: `/api/registrar-actions?node=${id}&recordsPerPage=${most}`,
    sales: `/api/name-sales?domainId=${id}&recordsPerPage=${most}`,
    tokens: `/api/name-tokens?domainId=${id}`,
    roles: `/api/permissions?name=${encodeURIComponent(row.name)}&recordsPerPage=${most}`,
    subnames: `/v1/names/${id}/subnames?page_size=${most}`,
  };
  const [entries, actions, sales, tokens, roles, subnames] = (await Promise.all([
    rowsOf(asking, paths.history, "data"),
    rowsOf(asking, paths.actions, "registrarActions"),
    rowsOf(asking, paths.sales, "nameSales"),
    rowsOf(asking, paths.tokens, "registeredNameTokens.tokens"),
    rowsOf(asking, paths.roles, "permissions"),
    rowsOf(asking, paths.subnames, "data"),
  ])) as [Entry[], Action[], Sale[], Token[], Permission[], Row[]];
  const primaries = await asking.primaries([row, entries, actions, sales, tokens, roles, subnames]);
  const view = { frame, now, primaries };
  const activity = { entries, actions, sales, isWhole: entries.length < most, hasNames: false };
  const [texts, addresses] = row.records
    ? [textList(view, row.records as Records), addressList(view, row.records as Records)]
    : [];
  const children = {
    rows: subnames,
    columns: "Name=name:name, Owner=owner:address, First seen=created_at:time",
  };
  const lists: [title: string, path: string, rows: readonly unknown[], content: Html | undefined][] = [
    ["Tokens", paths.tokens, tokens, tokensOf(view, tokens)],
    ["Roles in ENSv2", paths.roles, roles, rolesOf(view, roles)],
    ["History", paths.history, entries, activityTable(view, "History", activity)],
    ["Subnames", paths.subnames, subnames, listOf(view, "Subnames", children)],
  ];
  const content = html`
${section("About", html`${ownership(row, view)}${asked(`/v1/names/${id}?include=counts`)}`)}
${texts && section("Records", html`${texts}${asked(`/v1/names/${id}/records`)}`)}
${addresses && section("Addresses", addresses)}
${wrapping(row, view)}
${lists.map(([title, path, rows, list]) => rows.length > 0 && section(title, html`${list}${asked(path)}`, many(rows)))}`;
  return { heading: head(row, view), content };
}

/** The page of a name that the index never saw: what it has that is like it. */
export async function missingName(name: string, reason: unknown, asking: Asking): Promise<Page> {
  const [label = ""] = name.split(".");
  const path = `/v1/search?q=${encodeURIComponent(label)}&sort=relevance&page_size=8`;
  const near = isNode(name) || label === "" ? [] : ((await rowsOf(asking, path, "data")) as Row[]);
  const list = html`<h2>Names like it</h2><ul class="names">${near.map((row) => html`<li>${nameLink({ id: row.namehash, name: row.name })}</li>`)}</ul>`;
  const content = html`<p>It is not registered, as far as it is indexed.</p>${note(reason)}${near.length > 0 ? list : ""}`;
  return { heading: html`<h1>${nameText(name)}</h1>`, content };
}
