import { html } from "hono/html";
import { toCoinType } from "viem";
import type { z } from "zod/v4";
import type { rowSchema } from "../names/rows.ts";
import { type Asking, rowsOf } from "./ask.ts";
import {
  asked,
  count,
  type Frame,
  type Html,
  hash,
  memberOf,
  moment,
  nameLink,
  nameText,
  note,
  type Shown,
  section,
  table,
  type View,
} from "./layout.ts";
import { type Permission, rolesOf } from "./roles.ts";
import { type Action, activityTable, type Entry } from "./sentences.ts";
import { chainName } from "./words.ts";

type Row = z.output<typeof rowSchema>;

const most = 30;

const roleWords: Readonly<Record<string, string>> = {
  owner: "owner",
  manager: "manager",
  role_holder: "role holder",
  resolves_to: "resolves to it",
  former_owner: "held it until it ended",
};

const states: Readonly<Record<string, string>> = {
  active: "registered",
  expired: "in grace",
  released: "released",
  unregistered: "unregistered",
};

// Rows of several lists as one: a name's relations together.
function merged(lists: readonly (readonly Row[])[]): Row[] {
  const rows = new Map<string, Row>();
  for (const row of lists.flat()) {
    const before = rows.get(row.namehash);
    const relations = [...new Set([...(before?.relations ?? []), ...(row.relations ?? [])])];
    rows.set(row.namehash, { ...(before ?? row), relations });
  }
  return [...rows.values()];
}

function namesTable(view: View, rows: readonly Row[]): Html {
  const cells = rows.map((row) => {
    const words = (row.relations ?? []).map((one) => roleWords[one] ?? one);
    const date = (seconds: string | null | undefined) => (seconds ? moment(view, Number(seconds)) : html`–`);
    return [
      nameLink({ id: row.namehash, name: row.name }),
      html`${words.join(", ")}${row.is_primary ? html` <span class="chip">primary</span>` : ""}`,
      html`${states[row.status ?? ""] ?? "–"}`,
      date(row.expires_at),
      date(row.grace_ends_at === row.expires_at ? undefined : row.grace_ends_at),
    ];
  });
  return table("Names", { head: ["Name", "Roles", "State", "Expires", "Grace ends"], rows: cells });
}

// What ends when, by month; names that never end are in none.
function timeline(view: View, rows: readonly Row[]): Html {
  const ending = rows
    .filter(({ expires_at, grace_ends_at }) => expires_at && Number(grace_ends_at ?? expires_at) > view.now)
    .toSorted((a, b) => Number(a.expires_at) - Number(b.expires_at))
    .slice(0, most);
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
async function claimsOf(address: string, asking: Asking, { chains = [] }: Frame): Promise<Claim[]> {
  const [root, ...others] = chains;
  const coins = [
    ...(root === undefined ? [] : [{ chain: chainName(root), coin: 60n }]),
    ...others.map((id) => ({ chain: chainName(id), coin: toCoinType(id) })),
  ];
  const claims = coins.map(async ({ chain, coin }) => {
    const path = `/v1/addresses/${address}/primary-name?source=indexed&coin_type=${coin}`;
    const [answer] = await rowsOf(asking, path, "data.answers");
    const name = memberOf(answer, "name");
    return typeof name === "string" ? [{ chain, name }] : [];
  });
  return (await Promise.all(claims)).flat();
}

/** The page of an address, from the first answer about its names. */
export const addressPage =
  (address: string) =>
  async (body: unknown, asking: Asking, { frame, now }: Shown) => {
    const names = `/v1/addresses/${address}/names`;
    const paths = {
      resolving: `${names}?relation=resolves_to&page_size=${most}`,
      former: `${names}?relation=former_owner&page_size=${most}`,
      history: `/v1/addresses/${address}/history?include=data,raw&page_size=${most}`,
      actions: `/api/registrar-actions?registrant=${address}&recordsPerPage=${most}`,
      roles: `/api/permissions?account=${address}&recordsPerPage=${most}`,
    };
    const held = memberOf(body, "data") as Row[];
    const [resolving, former, entries, actions, roles, claims] = (await Promise.all([
      rowsOf(asking, paths.resolving, "data"),
      rowsOf(asking, paths.former, "data"),
      rowsOf(asking, paths.history, "data"),
      rowsOf(asking, paths.actions, "registrarActions"),
      rowsOf(asking, paths.roles, "permissions"),
      claimsOf(address, asking, frame),
    ])) as [Row[], Row[], Entry[], Action[], Permission[], Claim[]];
    const primaries = await asking.primaries([address, entries, actions, roles]);
    const view = { frame, now, primaries, own: address };
    const rows = merged([held, resolving, former]);
    const primary = primaries.get(address);
    const total = memberOf(body, "page.total_count") as number | null;
    const left =
      total !== null && total > held.length
        ? ` of ${count(total)}`
        : memberOf(body, "page.has_more")
          ? " of more"
          : "";
    const dated = held.filter(({ expires_at }) => expires_at);
    const calendar = html`<p><a href="/v1/addresses/${address}/calendar.ics">As a calendar</a></p>`;
    const activity = { entries, actions, sales: [], isWhole: entries.length < most, hasNames: true };
    const heading = html`<div class="head"><div><h1>${primary === undefined ? hash(address) : nameText(primary)}</h1>
${primary === undefined ? "" : html`<p>${hash(address)}</p>`}</div></div>`;
    const list = claims.map(
      ({ chain, name }) =>
        html`<div><dt>${chain}</dt><dd><a href="/name/${encodeURIComponent(name)}">${nameText(name)}</a></dd></div>`,
    );
    const content = html`
${claims.length > 0 && section("Primary names", html`<dl>${list}</dl>`)}
${rows.length > 0 && section("Names", html`${namesTable(view, rows)}${asked(`${names}?page_size=100`)}`, `${rows.length}${left}`)}
${dated.length > 0 && section("What ends when", html`${timeline(view, dated)}${calendar}`)}
${roles.length > 0 && section("Roles in ENSv2", html`${rolesOf(view, roles)}${asked(paths.roles)}`)}
${entries.length + actions.length > 0 && section("Activity", html`${activityTable(view, "Activity", activity)}${asked(paths.history)}`)}
${rows.length + entries.length + actions.length === 0 ? note("The index has no name of this address.") : ""}`;
    return { heading, content };
  };
