import { html } from "hono/html";
import { isNode } from "../../ens/given-names.ts";
import { isNormalizedName } from "../../ens/normalization.ts";
import { parseAccountKey } from "../../ens/owned-accounts.ts";
import { premiumPeriod } from "../../ens/registrations.ts";
import type { NameRow } from "../../read/names/rows.ts";
import type { YearPrice } from "../../read/resolution/prices.ts";
import { nameSales, nameTokens } from "../ensnode/name-tokens.ts";
import { permissions } from "../ensnode/permissions.ts";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { type BodyOf, type Endpoint, type EndpointRequest, requestTo } from "../kit/endpoint.ts";
import { nameAccounts } from "../v1/accounts.ts";
import { nameHistory } from "../v1/history.ts";
import { nameDetail, nameRecords, search, subnames } from "../v1/names.ts";
import {
  askBody,
  askRows,
  type PageAsk,
  type PageContext,
  type PageSources,
  readPictures,
  readPrimaryNames,
} from "./ask.ts";
import {
  avatar,
  column,
  count,
  day,
  factsOf,
  folded,
  formatDay,
  forms,
  lettersNote,
  linkAccount,
  listOf,
  moment,
  nameItems,
  pager,
  pill,
  price,
  roleColumns,
  type Shown,
  type ShownColumn,
  section,
  shownName,
  type View,
} from "./components.ts";
import type { Frame, Html, Page } from "./frame.ts";
import { recordLists } from "./records.ts";
import { activityList } from "./sentences.ts";
import { describeState, findPremiumEnd, registrationLink, statePill } from "./states.ts";
import { titleOfChain } from "./words.ts";

/** The most rows of a list on a page. */
const max = 30;
const page_size = String(max);

// The record `header` is a picture behind the head.
function renderBanner({ name, namehash, records }: NameRow, { metadata }: Frame): Html {
  const hue = Number.parseInt(namehash.slice(2, 6), 16) % 6;
  if (metadata === undefined || !records?.texts["header"]) return html`<div class="banner hue-${hue}"></div>`;
  return html`<img class="banner" src="/${metadata}/header/${encodeURIComponent(name)}" alt="">`;
}

// In US dollars. A premium halves each day, and what would be left at its end is subtracted (ENS:
// ExponentialPremiumPriceOracle).
const firstPremium = 100_000_000;
const premiumAt = (seconds: number) =>
  Math.max(0, firstPremium * (0.5 ** (seconds / 86_400) - 0.5 ** (premiumPeriod / 86_400)));

// The premium of a name from its release to now, and from now on, on a logarithmic scale.
function renderPremium(row: NameRow, { now }: View): Html {
  const end = findPremiumEnd(row, now);
  if (end === undefined) return html``;
  const since = now - (end - premiumPeriod);
  const height = (seconds: number) => (110 - (Math.log10(premiumAt(seconds) + 1) / 8) * 105).toFixed(1);
  const points = Array.from({ length: 85 }, (_, at) => {
    const seconds = (premiumPeriod * at) / 84;
    return `${((seconds / premiumPeriod) * 600).toFixed(1)},${height(seconds)}`;
  });
  const x = ((since / premiumPeriod) * 600).toFixed(1);
  const dollars = count(premiumAt(since));
  return section(
    "Premium",
    html`<p class="figure">$${dollars} <small>now, beside the yearly price</small></p>
<figure class="chart curve"><svg viewBox="0 0 600 112" preserveAspectRatio="none" role="img" aria-label="The premium falls from $100,000,000 to zero in 21 days"><line x2="600" y1="110" y2="110"/><path d="M${points.join("L")}"/><line class="now" x1="${x}" x2="${x}" y1="0" y2="112"/></svg>
<p><span>${day(String(end - premiumPeriod))}: $100,000,000</span><span>${day(String(end))}: $0</span></p></figure>
<p class="note">By the rule of ENS's controllers, in US dollars on a logarithmic scale.</p>`,
  );
}

const renderAction = (row: Pick<NameRow, "name" | "status">, frame: Frame) => {
  const link = registrationLink(row, frame);
  return link && html`<p class="actions">${link}</p>`;
};

const renderCost = (cost: YearPrice | undefined) =>
  cost &&
  html`<span>A year costs ${price(String(cost.base + cost.premium), "ETH")}${cost.premium > 0n ? " now" : ""}.</span>`;

function renderHead(row: NameRow, view: View, cost: YearPrice | undefined): Html {
  const { chain_id: chain, version, authority, name, records } = row;
  const generation = version === "v2" || authority === "ens_v2" ? "ENSv2" : undefined;
  const pills = [chain && titleOfChain(chain), generation, row.reserved && "Reserved in ENSv2"];
  const hasPicture = Boolean(records?.texts["avatar"]);
  const owner = row.owner && html`<span>Owned by ${linkAccount(view, row.owner)}</span>`;
  return html`<div class="card head">${renderBanner(row, view.frame)}
${avatar(row, view.frame, { hasPicture, kind: "large" })}
<h1>${shownName(name)}</h1>${lettersNote(name)}
<p class="pills">${statePill(row, view)}${pills.map((word) => word && pill("", word))}</p>
<p class="line">${owner}<span>${describeState(row, view)}</span>${renderCost(cost)}</p>${renderAction(row, view.frame)}</div>`;
}

// Who has what to do with the name.
const people: readonly ShownColumn<NameRow>[] = [
  column("Owner", ({ owner }) => owner, forms.account),
  column("Manager", ({ manager, owner }) => (manager === owner ? undefined : manager), forms.account),
  column("Last holder", (row) => row.lapsed_registration?.owner, forms.account),
  column(
    "Resolves to",
    (row) => (row.primary_address === row.owner ? undefined : row.primary_address),
    forms.account,
  ),
];

const dates: readonly ShownColumn<NameRow>[] = [
  column("Registered", (row) => row.registered_at, forms.time),
  column("First seen", (row) => row.created_at, forms.time),
  column("Expires", (row) => row.expires_at ?? undefined, forms.time),
  column("Grace period ends", findGraceEnd, forms.time),
  column("Migrated to ENSv2", (row) => row.migrated_at, forms.time),
];

const technical: readonly ShownColumn<NameRow>[] = [
  column("Node", (row) => row.namehash, forms.whole),
  column("Token id", (row) => row.token_id ?? undefined, forms.whole),
  column("Resolver", (row) => row.resolver, forms.contract),
  column("Registry", (row) => row.registry_path?.at(-1), forms.hash),
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

type AccountRow = BodyOf<typeof nameAccounts>["data"]["accounts"][number];

const accountColumns: readonly ShownColumn<AccountRow>[] = [
  column("Account", ({ address }) => address, forms.hash),
  column("Chain", ({ chain_id: id }) => id, forms.chain),
  column("Consents until", ({ expires_at: end }) => end, forms.time),
];

// Only accounts that consent may be shown (ENSIP-28). The chain is asked where the name has such records.
const readAccounts = ({ namehash, records }: NameRow, ask: PageAsk) =>
  records?.seen_data?.some((key) => parseAccountKey(key) !== undefined)
    ? readList(ask, requestTo(nameAccounts, { name: namehash }, {}), {
        title: "Accounts of the name",
        rowsIn: ({ data }) => data.accounts.filter(({ status }) => status === "verified"),
        columns: accountColumns,
      })
    : { rows: [], show: () => html`` };

const shownSubnames = 10;

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
  return {
    rows,
    show: (view) =>
      rows.length === 0
        ? html``
        : section(title, listOf(view, title, { rows, columns }), { beside: formatMany(rows), request }),
  };
}

const readLists = (row: NameRow, ask: PageAsk) =>
  Promise.all([
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
    readList(ask, requestTo(nameTokens, {}, { domainId: row.namehash }), {
      title: "Tokens",
      rowsIn: (body) => body.registeredNameTokens.tokens,
      columns: listTokenColumns(row),
    }),
    readAccounts(row, ask),
  ]);

/** The request for a name, or the name with a node. */
export const requestOfName = (name: string) => requestTo(nameDetail, { name }, { include: "counts" });

/** The page of a name, from its row. `cursor`: of the part of its history that is shown. */
export async function namePage(
  row: NameRow,
  ask: PageAsk,
  { frame, now, cursor, priceOf }: Shown & { cursor?: string | undefined } & Pick<PageSources, "priceOf">,
): Promise<Page> {
  const { namehash: id, name } = row;
  const [, label] = /^([^.[\]]+)\.eth$/.exec(name) ?? [];
  const ofHistory = { include: "data,raw", page_size, ...(cursor && { cursor }) };
  const requests = {
    history: requestTo(nameHistory, { name: id }, ofHistory),
    actions: requestTo(registrarActions[0], {}, { node: id, recordsPerPage: page_size }),
    subnames: requestTo(subnames, { name: id }, { page_size: String(shownSubnames) }),
  };
  const [cost, history, actions = [], below = [], lists] = await Promise.all([
    label === undefined || row.namespace !== "ens" ? undefined : priceOf?.(label),
    askBody(ask, requests.history),
    askRows(ask, requests.actions, (body) => body.registrarActions),
    askRows(ask, requests.subnames, ({ data }) => data),
    readLists(row, ask),
  ]);
  const entries = history?.data ?? [];
  const next = history?.page.next_cursor ?? undefined;
  const [primaries, pictures] = await Promise.all([
    readPrimaryNames([row, entries, actions, below, lists.map(({ rows }) => rows)], ask),
    readPictures(
      below.map((one) => one.namehash),
      ask,
      frame,
    ),
  ]);
  const view = { frame, now, primaries, pictures };
  const path = `/name/${encodeURIComponent(name)}`;
  const activity = { entries, actions, isWhole: next === undefined && cursor === undefined, hasNames: false };
  const pages = pager({
    first: cursor && `${path}#history`,
    next: next && `${path}?cursor=${encodeURIComponent(next)}#history`,
  });
  const items = below.map((one) => ({
    ...{ id: one.namehash, name: one.name },
    below: one.owner ? linkAccount(view, one.owner) : undefined,
    beside: statePill(one, view),
  }));
  const { texts, addresses } = row.records ? recordLists(view, row.records) : {};
  const [sales, roles, tokens, accounts] = lists.map(({ show }) => show(view));
  const others = `/names?parent=${encodeURIComponent(name)}`;
  const content = html`<div class="columns"><div>
${renderPremium(row, view)}
${texts && section("Profile", texts, { request: requestTo(nameRecords, { name: id }, {}) })}
${items.length > 0 && section("Subnames", nameItems(view, items), { beside: count(row.subname_count ?? items.length), request: requests.subnames, more: [others, "All subnames, sorted and filtered"] })}
${entries.length > 0 && section("History", html`${activityList(view, "History", activity)}${pages}`, { request: requests.history })}
${sales}</div><div>
${section("Ownership", factsOf(view, row, people), { request: requestOfName(id) })}
${renderWrapping(row, view)}${roles}
${addresses && section("Addresses", addresses)}${accounts}
${section("Dates", factsOf(view, row, dates))}
</div></div>
${folded("Technical facts", html`${factsOf(view, row, technical)}${tokens}`)}`;
  return { heading: renderHead(row, view, cost), content };
}

/** A sentence about a name, for search engines and cards. */
export function describeName({ name, status, owner, expires_at }: NameRow): string {
  if (status === "released" || status === "unregistered") return `${name} can be registered.`;
  const held = owner ? `, owned by ${owner}` : "";
  const ends = expires_at
    ? `, ${status === "expired" ? "expired" : "registered until"} ${formatDay(expires_at)}`
    : "";
  return `${name}${held}${ends}: records, subnames and history.`;
}

/** The page of a name that the index never saw: how to register it, and what the index has that is like it. */
export async function missingName(
  name: string,
  ask: PageAsk,
  { frame, now, priceOf }: Shown & Pick<PageSources, "priceOf">,
): Promise<Page> {
  const [label = ""] = name.split(".");
  const isNew = isNormalizedName(name) && !isNode(name);
  const cost = isNew && name === `${label}.eth` ? priceOf?.(label) : undefined;
  const request = requestTo(search, {}, { q: label, sort: "relevance", page_size: "8" });
  const isText = !isNode(name) && label !== "";
  const near = (isText && (await askRows(ask, request, ({ data }) => data))) || [];
  const view = { frame, now, primaries: await readPrimaryNames(near, ask) };
  const items = near.map((row) => ({
    ...{ id: row.namehash, name: row.name },
    below: row.owner ? linkAccount(view, row.owner) : undefined,
    beside: statePill(row, view),
  }));
  const content = near.length > 0 ? section("Similar names", nameItems(view, items)) : html``;
  const free = isNew ? { name, status: "unregistered" as const } : undefined;
  return {
    heading: html`<div class="card head plain"><h1>${shownName(name)}</h1>
<p class="line"><span>Not registered, as far as this index knows.</span>${renderCost(await cost)}</p>${free && renderAction(free, frame)}</div>`,
    content,
  };
}
