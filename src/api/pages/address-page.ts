import { html } from "hono/html";
import { toCoinType } from "viem";
import type { NameRow } from "../../read/names/rows.ts";
import { askRows, type PageAsk, readPrimaryNames } from "./ask.ts";
import {
  asked,
  count,
  type Frame,
  type Html,
  hash,
  listOf,
  memberOf,
  moment,
  nameLink,
  note,
  roleColumns,
  type Shown,
  section,
  shownName,
  type View,
} from "./layout.ts";
import { type Action, activityTable, type Entry } from "./sentences.ts";
import { titleOfChain } from "./words.ts";

const max = 30;

// Rows of several lists as one: a name's relations together.
function merged(lists: readonly (readonly NameRow[])[]): NameRow[] {
  const rows = new Map<string, NameRow>();
  for (const row of lists.flat()) {
    const before = rows.get(row.namehash);
    const relations = [...new Set([...(before?.relations ?? []), ...(row.relations ?? [])])];
    rows.set(row.namehash, { ...(before ?? row), relations });
  }
  return [...rows.values()];
}

const columns =
  "Name=name:name, Roles=relations:words, State=status:words, Expires=expires_at:time, Grace ends=grace:time";

function namesTable(view: View, names: readonly NameRow[]): Html {
  const rows = names.map(({ relations = [], grace_ends_at, ...row }) => ({
    ...row,
    relations: [...relations, ...(row.is_primary ? ["primary name"] : [])],
    grace: grace_ends_at === row.expires_at ? undefined : grace_ends_at,
  }));
  return listOf(view, "Names", { rows, columns });
}

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
async function claimsOf(address: string, ask: PageAsk, { chains = [] }: Frame): Promise<Claim[]> {
  const claims = chains.map(async (id, at) => {
    const coin = at === 0 ? 60n : toCoinType(id);
    const path = `/v1/addresses/${address}/primary-name?source=indexed&coin_type=${coin}`;
    const [answer] = await askRows(ask, path, "data.answers");
    const name = memberOf(answer, "name");
    return typeof name === "string" ? [{ chain: titleOfChain(id), name }] : [];
  });
  return (await Promise.all(claims)).flat();
}

/** The page of an address, from the first response about its names. */
export const addressPage =
  (address: string) =>
  async (body: unknown, ask: PageAsk, { frame, now }: Shown) => {
    const names = `/v1/addresses/${address}/names`;
    const paths = {
      resolving: `${names}?relation=resolves_to&page_size=${max}`,
      former: `${names}?relation=former_owner&page_size=${max}`,
      history: `/v1/addresses/${address}/history?include=data,raw&page_size=${max}`,
      actions: `/api/registrar-actions?registrant=${address}&recordsPerPage=${max}`,
      roles: `/api/permissions?account=${address}&recordsPerPage=${max}`,
    };
    const held = memberOf(body, "data") as NameRow[];
    const [resolving, former, entries, actions, roles, claims] = (await Promise.all([
      askRows(ask, paths.resolving, "data"),
      askRows(ask, paths.former, "data"),
      askRows(ask, paths.history, "data"),
      askRows(ask, paths.actions, "registrarActions"),
      askRows(ask, paths.roles, "permissions"),
      claimsOf(address, ask, frame),
    ])) as [NameRow[], NameRow[], Entry[], Action[], unknown[], Claim[]];
    const primaries = await readPrimaryNames([address, entries, actions, roles], ask);
    const view = { frame, now, primaries, own: address };
    const rows = merged([held, resolving, former]);
    const primary = primaries.get(address);
    const total = memberOf(body, "page.total_count") as number | null;
    const left =
      total !== null && total > held.length
        ? ` of ${count(total)}`
        : memberOf(body, "page.has_more")
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
${rows.length > 0 && section("Names", html`${namesTable(view, rows)}${asked(`${names}?page_size=100`)}`, `${rows.length}${left}`)}
${dated.length > 0 && section("Upcoming expiries", html`${timeline(view, dated)}${calendar}`)}
${roles.length > 0 && section("Roles in ENSv2", html`${listOf(view, "Roles in ENSv2", { rows: roles, columns: roleColumns })}${asked(paths.roles)}`)}
${entries.length + actions.length > 0 && section("Activity", html`${activityTable(view, "Activity", activity)}${asked(paths.history)}`)}
${rows.length + entries.length + actions.length === 0 ? note("The index has no names for this address.") : ""}`;
    return { heading, content };
  };
