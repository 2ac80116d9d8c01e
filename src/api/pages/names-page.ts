import { stringify } from "csv-stringify/sync";
import { type Context, Hono } from "hono";
import { html } from "hono/html";
import { premiumPeriod } from "../../ens/registrations.ts";
import { HttpError } from "../../http/error.ts";
import { escapeControls } from "../../log/json-log.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { type Endpoint, type EndpointRequest, requestTo } from "../kit/endpoint.ts";
import { describeRefusal } from "../kit/errors.ts";
import { addressNames } from "../v1/addresses.ts";
import { deadlineNames, search, subnames } from "../v1/names.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import { type PageAsk, type PageContext, type PageSources, readPictures, readPrimaryNames } from "./ask.ts";
import { column, count, forms, listOf, note, pager, type Shown, section } from "./components.ts";
import { type Frame, type Html, type Page, sendPage } from "./frame.ts";
import { registrationLink, statePill } from "./states.ts";
import { shortHex } from "./words.ts";

// Lists of names: by deadline, below a name, of an address, or by what they contain.

/** The parameters of a list, as its URL has them. */
type ListQuery = Readonly<Record<string, string>>;

/** A list by deadline: what it is, and the window and order of its names. `now`: in Unix seconds. */
type ListByDeadline = { title: string; words: string; query: (now: number) => Record<string, string> };

const deadlines: Readonly<Record<string, ListByDeadline>> = {
  expiring: {
    ...{ title: "Ending soon", words: "Names whose lease ends next, unless it is renewed." },
    query: (now) => ({ expires_after: String(now) }),
  },
  grace: {
    ...{ title: "In grace", words: "Names that have expired and can still be renewed." },
    query: (now) => ({ grace_ends_after: String(now), grace_ends_before: String(now + gracePeriod) }),
  },
  premium: {
    ...{ title: "In premium", words: "Released names whose price falls day by day." },
    query: (now) => ({ ...until(now), grace_ends_after: String(now - premiumPeriod), order: "desc" }),
  },
  released: {
    ...{ title: "Released", words: "Names that anyone can register, the last ones that ended first." },
    query: (now) => ({ ...until(now - premiumPeriod), order: "desc" }),
  },
};
const gracePeriod = 90 * 86_400;
const until = (time: number) => ({ grace_ends_before: String(time) });

type ListRequest = EndpointRequest<Endpoint<PageContext>> & { query: Record<string, unknown> };

/** The list that is asked for: its title and the request for its rows. `sorts`: the orders that it has. */
type NameList = {
  title: string;
  words: string;
  request: ListRequest;
  sorts: readonly string[];
};

const usualSorts = ["name", "expires_at", "registered_at"];
// What is passed on as it is; the endpoints refuse what they do not know.
const passed = ["namespace", "cursor", "page_size", "sort", "order", "q", "match", "status"];
const filters = ["min_length", "max_length", "characters", "has_avatar"];

const pick = (asked: ListQuery, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (asked[name] ? [[name, asked[name]]] : [])));

function chooseList(asked: ListQuery, { frame, now }: Shown): NameList {
  const given = { page_size: "50", ...pick(asked, passed) };
  const { parent, owner, q } = asked;
  if (owner)
    return {
      ...{ title: `Names of ${shortHex(owner)}`, words: "Names that the address owns or manages." },
      ...{ request: requestTo(addressNames, { address: owner }, given) as ListRequest, sorts: usualSorts },
    };
  if (parent)
    return {
      ...{ title: `Subnames of ${parent}`, words: "Names directly below it." },
      ...{ request: requestTo(subnames, { name: parent }, given) as ListRequest, sorts: usualSorts },
    };
  if (q)
    return {
      ...{ title: `Names like ${q}`, words: "Names that contain the text.", sorts: [] },
      request: requestTo(search, {}, { match: "contains", ...given } as never) as ListRequest,
    };
  const namespace = frame.namespaces?.[0] ?? "ens";
  if (asked["class"])
    return {
      ...{ title: `Class ${asked["class"]}`, words: "Names that say they are of the class.", sorts: [] },
      request: requestTo(deadlineNames, {}, {
        ...{ namespace, ...given, class: asked["class"] },
      } as never) as ListRequest,
    };
  const [key, list] = Object.entries(deadlines).find(([name]) => name === asked["list"]) ?? [
    "expiring",
    deadlines["expiring"] as ListByDeadline,
  ];
  const query = { namespace, ...list.query(now), ...given, ...pick(asked, filters) };
  return {
    ...{ title: list.title, words: list.words, sorts: [], key },
    request: requestTo(deadlineNames, {}, query as never) as ListRequest,
  };
}

const linkTo = (asked: ListQuery, changes: Record<string, string | undefined>) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...asked, ...changes })) if (value) query.set(name, value);
  return `/names?${query}`;
};

const columns = [
  column("Name", (row: NameRow) => row, forms.pictured),
  column("State", (row: NameRow) => row, statePill),
  column("Expires", ({ expires_at }: NameRow) => expires_at, forms.time),
  column("Grace ends", ({ grace_ends_at }: NameRow) => grace_ends_at, forms.time),
  column("Owner", ({ owner }: NameRow) => owner, forms.address),
];

function renderTabs(asked: ListQuery): Html {
  const isOther = ["parent", "owner", "q", "class"].some((name) => asked[name]);
  const current = isOther ? undefined : (asked["list"] ?? "expiring");
  return html`<nav class="tabs" aria-label="Lists">${Object.entries(deadlines).map(
    ([key, { title }]) =>
      html`<a href="/names?list=${key}"${key === current ? html` aria-current="page"` : ""}>${title}</a>`,
  )}</nav>`;
}

const choices = {
  characters: [
    ["", "any"],
    ["digits", "digits"],
    ["letters", "letters a to z"],
    ["alphanumeric", "letters and digits"],
  ],
} as const;

function renderFilters(asked: ListQuery, frame: Frame): Html {
  const hidden = (names: readonly string[]) =>
    Object.entries(pick(asked, names)).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${escapeControls(value)}">`,
    );
  if (asked["parent"] || asked["owner"])
    return html`<div class="card"><form action="/names">${hidden(["parent", "owner", "sort", "order"])}
<label>Contains<input name="q" value="${escapeControls(asked["q"] ?? "")}" maxlength="500"></label>${asked["q"] ? html`<input type="hidden" name="match" value="contains">` : ""}<button>Filter</button></form></div>`;
  if (asked["class"]) return html``;
  const spaces = frame.namespaces ?? [];
  const option = (value: string, words: string, chosen: string | undefined) =>
    html`<option value="${escapeControls(value)}"${value === (chosen ?? "") ? html` selected` : ""}>${words}</option>`;
  return html`<div class="card"><form action="/names">${hidden(["list"])}
${spaces.length > 1 && html`<label>Namespace<select name="namespace">${spaces.map((one) => option(one, one, asked["namespace"]))}</select></label>`}
<label>Letters from<input name="min_length" inputmode="numeric" size="3" value="${escapeControls(asked["min_length"] ?? "")}"></label>
<label>to<input name="max_length" inputmode="numeric" size="3" value="${escapeControls(asked["max_length"] ?? "")}"></label>
<label>Characters<select name="characters">${choices.characters.map(([value, words]) => option(value, words, asked["characters"]))}</select></label>
<label><input type="checkbox" name="has_avatar" value="true"${asked["has_avatar"] ? html` checked` : ""}> with an avatar</label>
<button>Filter</button></form></div>`;
}

type ListBody = { data: NameRow[]; page: { next_cursor: string | null; total_count: number | null } };

// Orders by column, the current one first turned around.
function renderSorts(asked: ListQuery, { sorts }: NameList): Html {
  if (sorts.length === 0) return html``;
  const order = asked["order"] === "desc" ? "asc" : "desc";
  const links = sorts.map((sort) => {
    const isCurrent = sort === (asked["sort"] ?? "name");
    const path = linkTo(asked, { sort, order: isCurrent ? order : undefined, cursor: undefined });
    const arrow = isCurrent ? (order === "asc" ? " ↓" : " ↑") : "";
    return html`<a href="${path}"${isCurrent ? html` aria-current="true"` : ""}>by ${sort.replace("_at", "")}${arrow}</a>`;
  });
  return html`<nav class="tabs" aria-label="Order">${links}</nav>`;
}

async function renderList(
  { asked, list }: { asked: ListQuery; list: NameList },
  { data, page }: ListBody,
  ask: PageAsk,
  { frame, now }: Shown,
): Promise<Html> {
  const [primaries, pictures] = await Promise.all([
    readPrimaryNames(data, ask),
    readPictures(
      data.map(({ namehash }) => namehash),
      ask,
      frame,
    ),
  ]);
  const view = { frame, now, primaries, pictures };
  const renewal = column(
    "",
    (row: NameRow) => row,
    (row: NameRow) => registrationLink(row, frame, { isShort: true }) ?? html``,
  );
  const linked = frame.site.registrationUrl ? [...columns, renewal] : columns;
  const table =
    data.length === 0
      ? note("No name is like this.")
      : listOf(view, "Names", { rows: data, columns: linked });
  const pages = pager({
    first: asked["cursor"] && linkTo(asked, { cursor: undefined }),
    next: page.next_cursor ? linkTo(asked, { cursor: page.next_cursor }) : undefined,
  });
  const csv = html`<p class="more"><a href="${linkTo(asked, { format: "csv" })}" rel="nofollow">As CSV</a></p>`;
  const beside = page.total_count === null ? undefined : count(page.total_count);
  return html`${renderSorts(asked, list)}
${section("Names", html`${table}${pages}${csv}`, { beside, request: list.request })}`;
}

const csvColumns = ["name", "namehash", "status", "expires_at", "grace_ends_at", "owner", "registered_at"];
const csvRows = "200";

/** The rows of a list as CSV (RFC 4180), those of one page; the header `Link` leads to the next. */
async function sendCsv(c: Context, asked: ListQuery, list: NameList, ask: PageAsk): Promise<Response> {
  const query = { ...list.request.query, page_size: csvRows };
  const { data, page } = (await ask({ ...list.request, query } as ListRequest)) as unknown as ListBody;
  const text = stringify(data, {
    header: true,
    columns: csvColumns,
    record_delimiter: "\r\n",
    escape_formulas: true,
  });
  const next = page.next_cursor && `<${linkTo(asked, { cursor: page.next_cursor })}>; rel="next"`;
  return c.body(text, 200, {
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": 'attachment; filename="names.csv"',
    ...(next && { link: next }),
  });
}

/** GET /names: a list of names as a page, or as CSV by `?format=csv`. */
export function namesRoutes(sources: PageSources, frame: Frame): Hono {
  const { ask: askAll, log } = sources;
  return new Hono().get("/names", async (c) => {
    const ask: PageAsk = (request) => askAll(request, c);
    const asked = c.req.query();
    const shown = { frame, now: timeOfIndex(sources, frame.chains?.[0]) };
    const list = chooseList(asked, shown);
    if (asked["format"] === "csv") return sendCsv(c, asked, list, ask);
    const reply = await ask(list.request).catch((error: unknown) => {
      if (error instanceof HttpError) return error;
      throw error;
    });
    const title = escapeControls(list.title.slice(0, 300));
    const description = list.words;
    const read = async (): Promise<Page> => ({
      heading: html`<h1>${title}</h1><p>${description}</p>`,
      content: html`${renderTabs(asked)}${renderFilters(asked, frame)}
${reply instanceof HttpError ? note(describeRefusal(reply)) : await renderList({ asked, list }, reply as unknown as ListBody, ask, shown)}`,
    });
    const status = reply instanceof HttpError ? reply.status : 200;
    const page = { frame, title, description, path: "/names", warning: describeAge(sources), read, log };
    return sendPage(c, page, { status });
  });
}
