import { html } from "hono/html";
import { isNode } from "../../ens/given-names.ts";
import { premiumPeriod } from "../../ens/registrations.ts";
import { formatSpan } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { nameSales, nameTokens } from "../ensnode/name-tokens.ts";
import { permissions } from "../ensnode/permissions.ts";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { type BodyOf, type Endpoint, type EndpointRequest, requestTo } from "../kit/endpoint.ts";
import { nameHistory } from "../v1/history.ts";
import { nameDetail, nameRecords, search, subnames } from "../v1/names.ts";
import { askRows, type PageAsk, type PageContext, readPrimaryNames } from "./ask.ts";
import {
  asked,
  column,
  day,
  type Frame,
  factsOf,
  forms,
  type Html,
  lettersNote,
  linkAccount,
  listOf,
  moment,
  nameLink,
  type Page,
  roleColumns,
  type Shown,
  type ShownColumn,
  section,
  shownName,
  type View,
} from "./layout.ts";
import { recordLists } from "./records.ts";
import { activityTable } from "./sentences.ts";
import { titleOfChain } from "./words.ts";

/** The most rows of a list on a page. */
const max = 30;
const page_size = String(max);

// The state of a name: its class, its word, and what it means for who wants to hold the name.
function describeState({ status, name, namespace, expires_at, grace_ends_at }: NameRow, view: View) {
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
function renderAvatar({ name, namehash, records }: NameRow, { metadata }: Frame): Html {
  if (metadata !== undefined && records?.texts["avatar"])
    return html`<img class="avatar" src="/${metadata}/avatar/${encodeURIComponent(name)}" alt="" width="72" height="72" loading="lazy">`;
  const [letter = ""] = name.startsWith("[") ? "?" : name;
  const hue = Number.parseInt(namehash.slice(2, 6), 16) % hues;
  return html`<span class="avatar hue-${hue}" aria-hidden="true">${/\p{C}|\p{M}/u.test(letter) ? "?" : letter}</span>`;
}

function head(row: NameRow, view: View): Html {
  const { chain_id: chain, version, authority, name } = row;
  const [kind, word, words] = describeState(row, view);
  const generation = version === "v2" || authority === "ens_v2" ? "ENSv2" : undefined;
  const chips = [chain && titleOfChain(chain), generation, row.reserved && "Reserved in ENSv2"];
  return html`<div class="head">${renderAvatar(row, view.frame)}<div>
<h1>${shownName(name)}</h1>${lettersNote(name)}
<p class="chips"><span class="chip ${kind}">${word}</span>${chips.map((chip) => chip && html`<span class="chip">${chip}</span>`)}</p>
<p>${row.owner ? html`Owned by ${linkAccount(view, row.owner)}. ` : ""}${words}</p></div></div>`;
}

// Without what the head says.
const about: readonly ShownColumn<NameRow>[] = [
  column("Manager", ({ manager, owner }) => (manager === owner ? undefined : manager), forms.address),
  column("Last holder", (row) => row.lapsed_registration?.owner, forms.address),
  column("Resolves to", (row) => row.primary_address, forms.address),
  column("Resolver", (row) => row.resolver, forms.contract),
  column("Grace period ends", findGraceEnd, forms.time),
  column("Registered", (row) => row.registered_at, forms.time),
  column("First seen", (row) => row.created_at, forms.time),
  column("Migrated to ENSv2", (row) => row.migrated_at, forms.time),
  column("Subnames", (row) => row.subname_count, forms.number),
  column("Node", (row) => row.namehash, forms.hash),
];

function findGraceEnd({ status, grace_ends_at, expires_at }: NameRow) {
  return status === "active" && grace_ends_at !== expires_at ? grace_ends_at : undefined;
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

function renderWrapping({ ens_v1, wrapper = ens_v1 }: NameRow, view: View): Html {
  if (wrapper?.wrapper_state === undefined) return html``;
  const { wrapper_state, wrapper_fuses: burned, wrapper_expires_at: expires } = wrapper;
  const held = Object.entries(fuses).filter(([name]) => burned?.[name as keyof typeof fuses]);
  const until = expires ? html` Its entry in the wrapper expires ${moment(view, Number(expires))}.` : "";
  const content = html`<p>${wrapperStates[wrapper_state]}${until}</p>
${held.length > 0 ? html`<ul>${held.map(([, words]) => html`<li>${words}</li>`)}</ul>` : ""}`;
  return section("Name wrapper", content);
}

type TokenRow = BodyOf<typeof nameTokens>["registeredNameTokens"]["tokens"][number];

// Registrars leave the token of a lease that has ended with its holder, until somebody registers the name.
const listTokenColumns = ({ status }: NameRow): readonly ShownColumn<TokenRow>[] => [
  column("Contract", ({ token }) => token.contract, forms.contract),
  column("Standard", ({ token }) => token.assetNamespace, forms.words),
  column("Owner", ({ ownership }) => ownership.owner.address, forms.address),
  column(
    "State",
    ({ ownership }) =>
      status === "released" || status === "unregistered" ? "ended" : ownership.ownershipType,
    forms.words,
  ),
  column("Id", ({ token }) => token.tokenId, forms.hash),
];

type SaleRow = BodyOf<typeof nameSales>["nameSales"][number];

const saleColumns: readonly ShownColumn<SaleRow>[] = [
  column("When", ({ block }) => block.timestamp, forms.time),
  column("Seller", ({ seller }) => seller, forms.address),
  column("Buyer", ({ buyer }) => buyer, forms.address),
  column("Price", ({ price }) => price, forms.price),
  column("Transaction", ({ transactionHash }) => transactionHash, forms.hash),
];

type RoleRow = BodyOf<typeof permissions>["permissions"][number];

const holderColumns: readonly ShownColumn<RoleRow>[] = [
  column("Account", ({ account }) => account, forms.address),
  ...roleColumns,
];

const subnameColumns: readonly ShownColumn<NameRow>[] = [
  column("Name", (row) => row, forms.name),
  column("Owner", ({ owner }) => owner, forms.address),
  column("First seen", (row) => row.created_at, forms.time),
];

const formatMany = (rows: readonly unknown[]) => (rows.length < max ? `${rows.length}` : `${max} of them`);

/** A list of a page: its rows and how to show them once the names of accounts are known. */
type ReadList = { rows: readonly unknown[]; show: (view: View) => Html };

async function readList<E extends Endpoint<PageContext>, Row>(
  ask: PageAsk,
  request: EndpointRequest<E>,
  {
    title,
    rowsIn,
    columns,
  }: { title: string; rowsIn: (body: BodyOf<E>) => readonly Row[]; columns: readonly ShownColumn<Row>[] },
): Promise<ReadList> {
  const rows = (await askRows(ask, request, rowsIn)) ?? [];
  const list = (view: View) => html`${listOf(view, title, { rows, columns })}${asked(request)}`;
  return {
    rows,
    show: (view) => (rows.length === 0 ? html`` : section(title, list(view), formatMany(rows))),
  };
}

const readLists = (row: NameRow, ask: PageAsk) =>
  Promise.all([
    readList(ask, requestTo(nameTokens, {}, { domainId: row.namehash }), {
      title: "Tokens",
      rowsIn: (body) => body.registeredNameTokens.tokens,
      columns: listTokenColumns(row),
    }),
    readList(ask, requestTo(nameSales, {}, { domainId: row.namehash, recordsPerPage: page_size }), {
      title: "Sales",
      rowsIn: (body) => body.nameSales,
      columns: saleColumns,
    }),
    readList(ask, requestTo(permissions, {}, { name: row.name, recordsPerPage: page_size }), {
      title: "Roles in ENSv2",
      rowsIn: (body) => body.permissions,
      columns: holderColumns,
    }),
    readList(ask, requestTo(subnames, { name: row.namehash }, { page_size }), {
      title: "Subnames",
      rowsIn: ({ data }) => data,
      columns: subnameColumns,
    }),
  ]);

/** The request for a name, or the name with a node. */
export const requestOfName = (name: string) => requestTo(nameDetail, { name }, { include: "counts" });

/** The page of a name, from its row. */
export async function namePage(row: NameRow, ask: PageAsk, { frame, now }: Shown): Promise<Page> {
  const { namehash: id, records } = row;
  const history = requestTo(nameHistory, { name: id }, { include: "data,raw", page_size });
  const bought = requestTo(registrarActions[0], {}, { node: id, recordsPerPage: page_size });
  const [entries = [], actions = [], lists] = await Promise.all([
    askRows(ask, history, ({ data }) => data),
    askRows(ask, bought, (body) => body.registrarActions),
    readLists(row, ask),
  ]);
  const primaries = await readPrimaryNames([row, entries, actions, lists.map(({ rows }) => rows)], ask);
  const view = { frame, now, primaries };
  const activity = { entries, actions, isWhole: entries.length < max, hasNames: false };
  const { texts, addresses } = records ? recordLists(view, records) : {};
  const table = html`${activityTable(view, "History", activity)}${asked(history)}`;
  const content = html`
${section("About", html`${factsOf(view, row, about)}${asked(requestOfName(id))}`)}
${texts && section("Records", html`${texts}${asked(requestTo(nameRecords, { name: id }, {}))}`)}
${addresses && section("Addresses", addresses)}
${renderWrapping(row, view)}
${entries.length > 0 && section("History", table, formatMany(entries))}
${lists.map(({ show }) => show(view))}`;
  return { heading: head(row, view), content };
}

/** The page of a name that the index never saw: what it has that is like it. */
export async function missingName(name: string, ask: PageAsk): Promise<Page> {
  const [label = ""] = name.split(".");
  const request = requestTo(search, {}, { q: label, sort: "relevance", page_size: "8" });
  const isText = !isNode(name) && label !== "";
  const near = (isText && (await askRows(ask, request, ({ data }) => data))) || [];
  const list = html`<h2>Similar names</h2><ul class="names">${near.map((row) => html`<li>${nameLink({ id: row.namehash, name: row.name })}</li>`)}</ul>`;
  const content = html`<p>Not registered, as far as this index knows.</p>${near.length > 0 ? list : ""}`;
  return { heading: html`<h1>${shownName(name)}</h1>`, content };
}
