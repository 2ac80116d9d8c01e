import { html } from "hono/html";
import { toCoinType } from "viem";
import { namehash } from "../../ens/names.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { permissions } from "../ensnode/permissions.ts";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { type BodyOf, requestTo } from "../kit/endpoint.ts";
import { addressNames } from "../v1/addresses.ts";
import { addressHistory } from "../v1/history.ts";
import { addressPrimaryName } from "../v1/primary-name.ts";
import { askBody, askRows, type PageAsk, readPictures, readPrimaryNames } from "./ask.ts";
import {
  avatar,
  column,
  count,
  day,
  explored,
  forms,
  listOf,
  moment,
  nameItems,
  note,
  pager,
  roleColumns,
  type Shown,
  section,
  shownName,
  type View,
} from "./components.ts";
import type { Frame, Html, Page } from "./frame.ts";
import { activityList } from "./sentences.ts";
import { registrationLink, soonSeconds, statePill } from "./states.ts";
import { titleOfChain } from "./words.ts";

const max = 30;
const page_size = String(max);
const shownExpiries = 12;

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

const columns = [
  column("Name", (row: NameRow) => row, forms.pictured),
  column("State", (row: NameRow) => row, statePill),
  column(
    "Roles",
    ({ relations = [], is_primary }: NameRow) => [...relations, ...(is_primary ? ["primary name"] : [])],
    forms.words,
  ),
  column("Expires", ({ expires_at }: NameRow) => expires_at, forms.time),
];

// Names that end, the next first; those that never end are not among them.
function renderExpiries(view: View, rows: readonly NameRow[]): Html {
  const ending = rows
    .filter(({ expires_at, grace_ends_at }) => expires_at && Number(grace_ends_at ?? expires_at) > view.now)
    .toSorted((a, b) => Number(a.expires_at) - Number(b.expires_at))
    .slice(0, shownExpiries);
  const items = ending.map((row) => ({
    ...{ id: row.namehash, name: row.name },
    below: html`${day(String(row.expires_at))}, ${moment(view, Number(row.expires_at))}`,
    beside: registrationLink(row, view.frame, { isShort: true }),
  }));
  return nameItems(view, items);
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

function renderHead(
  address: string,
  view: View,
  { rows, total }: { rows: readonly NameRow[]; total: string },
) {
  const primary = view.primaries.get(address);
  const whole = html`<code class="whole" data-copy="${address}">${address}</code>`;
  const of = (relation: "owner" | "manager") =>
    rows.filter(({ relations = [] }) => relations.includes(relation)).length;
  const ending = rows.filter(({ expires_at }) => {
    const left = Number(expires_at ?? Infinity) - view.now;
    return left > 0 && left < soonSeconds;
  }).length;
  const outside = explored(view, view.frame.chains?.[0] ?? 1, `address/${address}`);
  const picture = primary === undefined ? undefined : { name: primary, namehash: namehash(primary) };
  const hasPicture = picture !== undefined && view.pictures?.has(picture.namehash) === true;
  return html`<div class="card head plain">${picture && avatar(picture, view.frame, { hasPicture, kind: "large" })}
${primary === undefined ? html`<h1 class="long">${whole}</h1>` : html`<h1><a href="/name/${encodeURIComponent(primary)}">${shownName(primary)}</a></h1><p>${whole}${outside}</p>`}
<p class="line"><span><strong>${total}</strong> held</span><span><strong>${of("owner")}</strong> owned</span><span><strong>${of("manager")}</strong> managed</span><span${ending > 0 ? html` class="over"` : ""}><strong>${ending}</strong> end within 90 days</span></p></div>`;
}

// Names of reverse nodes tell nobody anything.
const isReverse = ({ name }: NameRow) => name.endsWith(".reverse");

/** The page of an address, from the reply to this request. `cursor`: of the part of its activity that is shown. */
export async function addressPage(
  address: string,
  { data: held, page }: BodyOf<typeof addressNames>,
  ask: PageAsk,
  { frame, now, cursor }: Shown & { cursor?: string | undefined },
): Promise<Page> {
  const requests = {
    resolving: requestTo(addressNames, { address }, { relation: "resolves_to", page_size }),
    former: requestTo(addressNames, { address }, { relation: "former_owner", page_size }),
    history: requestTo(
      addressHistory,
      { address },
      { include: "data,raw", page_size, ...(cursor && { cursor }) },
    ),
    actions: requestTo(registrarActions[0], {}, { registrant: address, recordsPerPage: page_size }),
    roles: requestTo(permissions, {}, { account: address, recordsPerPage: page_size }),
  };
  const [resolving = [], former = [], history, actions = [], roles = [], claims] = await Promise.all([
    askRows(ask, requests.resolving, ({ data }) => data),
    askRows(ask, requests.former, ({ data }) => data),
    askBody(ask, requests.history),
    askRows(ask, requests.actions, (body) => body.registrarActions),
    askRows(ask, requests.roles, (body) => body.permissions),
    readClaims(address, ask, frame),
  ]);
  const entries = history?.data ?? [];
  const rows = mergeRows([held, resolving, former]).toSorted(
    (a, b) => Number(isReverse(a)) - Number(isReverse(b)),
  );
  const primaries = await readPrimaryNames([address, entries, actions, roles], ask);
  const pictured = [...rows.slice(0, max).map((row) => row.namehash), primaries.get(address)];
  const view = { frame, now, primaries, pictures: await readPictures(pictured, ask, frame), own: address };
  const isMore = page.has_more || rows.length > max;
  const total =
    page.total_count === null ? `${rows.length}${page.has_more ? "+" : ""}` : count(page.total_count);
  const dated = held.filter(({ expires_at }) => expires_at);
  const calendar = html`<p class="more"><a href="/v1/addresses/${address}/calendar.ics">As a calendar</a></p>`;
  const next = history?.page.next_cursor ?? undefined;
  const activity = { entries, actions, isWhole: next === undefined && cursor === undefined, hasNames: true };
  const path = `/address/${address}`;
  const pages = pager({
    first: cursor && `${path}#activity`,
    next: next && `${path}?cursor=${encodeURIComponent(next)}#activity`,
  });
  const list = claims.map(
    ({ chain, name }) =>
      html`<div><dt>${chain}</dt><dd><a href="/name/${encodeURIComponent(name)}">${shownName(name)}</a></dd></div>`,
  );
  const content = html`<div class="columns"><div>
${rows.length > 0 && section("Names", listOf(view, "Names", { rows: rows.slice(0, max), columns }), { request: requestTo(addressNames, { address }, { page_size: "100" }), more: isMore ? [`/names?owner=${address}`, "All names, sorted and filtered"] : undefined })}
${entries.length + actions.length > 0 && section("Activity", html`${activityList(view, "Activity", activity)}${pages}`, { request: requests.history })}
${rows.length + entries.length + actions.length === 0 ? note("The index has no names for this address.") : ""}
</div><div>
${claims.length > 0 && section("Primary names", html`<dl>${list}</dl>`)}
${dated.length > 0 && section("Expiries", html`${renderExpiries(view, dated)}${calendar}`)}
${roles.length > 0 && section("Roles in ENSv2", listOf(view, "Roles in ENSv2", { rows: roles, columns: roleColumns }), { request: requests.roles })}
</div></div>`;
  return { heading: renderHead(address, view, { rows, total }), content };
}
