import { html } from "hono/html";
import { toCoinType } from "viem";
import type { NameRow } from "../../read/names/rows.ts";
import { permissions } from "../ensnode/permissions.ts";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { type BodyOf, requestTo } from "../kit/endpoint.ts";
import { addressNames, addressPrimaryName } from "../v1/addresses.ts";
import { addressHistory } from "../v1/history.ts";
import { askRows, type PageAsk, readPrimaryNames } from "./ask.ts";
import {
  asked,
  column,
  count,
  type Frame,
  forms,
  type Html,
  hash,
  listOf,
  moment,
  nameLink,
  note,
  type Page,
  roleColumns,
  type Shown,
  section,
  shownName,
  type View,
} from "./layout.ts";
import { activityTable } from "./sentences.ts";
import { titleOfChain } from "./words.ts";

const max = 30;
const page_size = String(max);

// Rows of several lists as one: a name's relations together.
function mergeRows(lists: readonly (readonly NameRow[])[]): NameRow[] {
  const rows = new Map<string, NameRow>();
  for (const row of lists.flat()) {
    const before = rows.get(row.namehash);
    const relations = [...new Set([...(before?.relations ?? []), ...(row.relations ?? [])])];
    rows.set(row.namehash, { ...(before ?? row), relations });
  }
  return [...rows.values()];
}

const findGraceEnd = ({ grace_ends_at, expires_at }: NameRow) =>
  grace_ends_at === expires_at ? undefined : grace_ends_at;

const columns = [
  column("Name", (row: NameRow) => row, forms.name),
  column(
    "Roles",
    ({ relations = [], is_primary }: NameRow) => [...relations, ...(is_primary ? ["primary name"] : [])],
    forms.words,
  ),
  column("State", ({ status }: NameRow) => status, forms.words),
  column("Expires", ({ expires_at }: NameRow) => expires_at, forms.time),
  column("Grace ends", findGraceEnd, forms.time),
];

// Upcoming expiries, by month; names that never end are in none.
function timeline(view: View, rows: readonly NameRow[]): Html {
  const ending = rows
    .filter(({ expires_at, grace_ends_at }) => expires_at && Number(grace_ends_at ?? expires_at) > view.now)
    .toSorted((a, b) => Number(a.expires_at) - Number(b.expires_at))
    .slice(0, max);
  const months = Map.groupBy(ending, ({ expires_at }) => {
    const date = new Date(Number(expires_at) * 1_000);
    return Number.isNaN(date.getTime()) ? "later" : date.toISOString().slice(0, 7);
  });
  const steps = [...months].map(([month, names]) => {
    const [first] = names;
    const isOver = Number(first?.expires_at) < view.now;
    return html`<li${isOver ? html` class="over"` : ""}><strong>${month}</strong> ${moment(view, Number(first?.expires_at))}
<ul class="names">${names.map((row) => html`<li>${nameLink({ id: row.namehash, name: row.name })}</li>`)}</ul></li>`;
  });
  return html`<ol class="timeline">${steps}</ol>`;
}

type Claim = { chain: string; name: string };

// What the address calls itself, on each indexed chain and by default.
async function readClaims(address: string, ask: PageAsk, { chains = [] }: Frame): Promise<Claim[]> {
  const claims = chains.map(async (id, at) => {
    const coin = at === 0 ? 60n : toCoinType(id);
    const query = { source: "indexed", coin_type: String(coin) } as const;
    const request = requestTo(addressPrimaryName, { address }, query);
    const [answer] = (await askRows(ask, request, ({ data }) => data.answers)) ?? [];
    return answer?.name === undefined ? [] : [{ chain: titleOfChain(id), name: answer.name }];
  });
  return (await Promise.all(claims)).flat();
}

/** The request for the names of an address, those first that end first. */
export const requestOfAddress = (address: string) =>
  requestTo(addressNames, { address }, { sort: "expires_at", include: "total_count", page_size: "100" });

/** The page of an address, from the reply to this request. */
export async function addressPage(
  address: string,
  { data: held, page }: BodyOf<typeof addressNames>,
  ask: PageAsk,
  { frame, now }: Shown,
): Promise<Page> {
  const requests = {
    resolving: requestTo(addressNames, { address }, { relation: "resolves_to", page_size }),
    former: requestTo(addressNames, { address }, { relation: "former_owner", page_size }),
    history: requestTo(addressHistory, { address }, { include: "data,raw", page_size }),
    actions: requestTo(registrarActions[0], {}, { registrant: address, recordsPerPage: page_size }),
    roles: requestTo(permissions, {}, { account: address, recordsPerPage: page_size }),
  };
  const [resolving = [], former = [], entries = [], actions = [], roles = [], claims] = await Promise.all([
    askRows(ask, requests.resolving, ({ data }) => data),
    askRows(ask, requests.former, ({ data }) => data),
    askRows(ask, requests.history, ({ data }) => data),
    askRows(ask, requests.actions, (body) => body.registrarActions),
    askRows(ask, requests.roles, (body) => body.permissions),
    readClaims(address, ask, frame),
  ]);
  const primaries = await readPrimaryNames([address, entries, actions, roles], ask);
  const view = { frame, now, primaries, own: address };
  const rows = mergeRows([held, resolving, former]);
  const primary = primaries.get(address);
  const left =
    page.total_count !== null && page.total_count > held.length
      ? ` of ${count(page.total_count)}`
      : page.has_more
        ? " and more"
        : "";
  const dated = held.filter(({ expires_at }) => expires_at);
  const calendar = html`<p><a href="/v1/addresses/${address}/calendar.ics">As a calendar</a></p>`;
  const activity = { entries, actions, isWhole: entries.length < max, hasNames: true };
  const heading = html`<div class="head"><div><h1>${primary === undefined ? hash(address) : shownName(primary)}</h1>
${primary === undefined ? "" : html`<p>${hash(address)}</p>`}</div></div>`;
  const list = claims.map(
    ({ chain, name }) =>
      html`<div><dt>${chain}</dt><dd><a href="/name/${encodeURIComponent(name)}">${shownName(name)}</a></dd></div>`,
  );
  const content = html`
${claims.length > 0 && section("Primary names", html`<dl>${list}</dl>`)}
${rows.length > 0 && section("Names", html`${listOf(view, "Names", { rows, columns })}${asked(requestTo(addressNames, { address }, { page_size: "100" }))}`, `${rows.length}${left}`)}
${dated.length > 0 && section("Upcoming expiries", html`${timeline(view, dated)}${calendar}`)}
${roles.length > 0 && section("Roles in ENSv2", html`${listOf(view, "Roles in ENSv2", { rows: roles, columns: roleColumns })}${asked(requests.roles)}`)}
${entries.length + actions.length > 0 && section("Activity", html`${activityTable(view, "Activity", activity)}${asked(requests.history)}`)}
${rows.length + entries.length + actions.length === 0 ? note("The index has no names for this address.") : ""}`;
  return { heading, content };
}
