import { Hono } from "hono";
import { html } from "hono/html";
import { premiumPeriod } from "../../ens/registrations.ts";
import { HttpError } from "../../http/error.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { isBackfilled } from "../../status/types.ts";
import { nameSales } from "../ensnode/name-tokens.ts";
import { registrarActions } from "../ensnode/registrar-actions.ts";
import { requestTo } from "../kit/endpoint.ts";
import { events } from "../v1/history.ts";
import { deadlineNames, search } from "../v1/names.ts";
import { ofFigures } from "../v1/stats.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import { askRows, type PageAsk, type PageSources, readPictures, readPrimaryNames } from "./ask.ts";
import { sparkline } from "./chart.ts";
import {
  avatar,
  count,
  linkAccount,
  moment,
  nameItems,
  type PageLink,
  price,
  type Shown,
  section,
  shownName,
  type View,
} from "./components.ts";
import { type Frame, type Html, type Page, renderSearch, sendPage } from "./frame.ts";
import { statePill } from "./states.ts";

// The page for visitors: a search, figures with their trend, and names that are new, ending, in premium or sold.

const shown = 6;
const page_size = String(shown);

/** A name of a list before its accounts are known. */
type HomeItem = {
  id: string;
  name: string | undefined;
  below: (view: View) => Html | undefined;
  beside: (view: View) => Html;
};

type HomeList = { title: string; more?: PageLink; rows: readonly HomeItem[]; accounts: readonly unknown[] };

/** The newest registrations. In ENSv2 only paid ones count: strangers can make any number of others. */
async function readNewest(ask: PageAsk): Promise<HomeList> {
  const title = "Newest names";
  const list = (rows: readonly { id: string; name: string; registrant: string; since: number }[]) => ({
    title,
    accounts: rows.map(({ registrant }) => registrant),
    rows: rows.map(({ id, name, registrant, since }) => ({
      ...{ id, name },
      below: (view: View) => (registrant === "" ? undefined : linkAccount(view, registrant)),
      beside: (view: View) => html`<small>${moment(view, since)}</small>`,
    })),
  });
  const ofActions = requestTo(registrarActions[0], {}, { type: "registration", recordsPerPage: page_size });
  const actions = await askRows(ask, ofActions, (body) => body.registrarActions);
  if (actions !== undefined)
    return list(
      actions.map(({ name, action }) => ({
        ...{ id: action.registrationLifecycle.node, name, registrant: action.registrant },
        since: action.block.timestamp,
      })),
    );
  const ofEvents = requestTo(events, {}, { type: "registration", include: "data", page_size });
  const entries = (await askRows(ask, ofEvents, ({ data }) => data)) ?? [];
  return list(
    entries.map(({ namehash: id = "", name = "", timestamp, data }) => ({
      ...{ id, name, registrant: data?.registrant ?? "" },
      since: Number(timestamp),
    })),
  );
}

type DeadlineList = { title: string; list: string; query: Record<string, string> };

async function readDeadlines(
  ask: PageAsk,
  { title, list, query }: DeadlineList,
  { frame }: Shown,
): Promise<HomeList> {
  const [namespace = "ens"] = frame.namespaces ?? [];
  const request = requestTo(deadlineNames, {}, { namespace, page_size, ...query });
  const found = (await askRows(ask, request, ({ data }) => data)) ?? [];
  return {
    ...{ title, more: [`/names?list=${list}`, `All ${title.toLowerCase()}`] },
    accounts: found,
    rows: found.map((row: NameRow) => ({
      ...{ id: row.namehash, name: row.name },
      below: (view) => moment(view, Number(list === "premium" ? row.grace_ends_at : row.expires_at)),
      beside: (view) => statePill(row, view),
    })),
  };
}

async function readSales(ask: PageAsk): Promise<HomeList> {
  const request = requestTo(nameSales, {}, { recordsPerPage: page_size });
  const sales = (await askRows(ask, request, (body) => body.nameSales)) ?? [];
  return {
    ...{ title: "Recent sales", accounts: sales },
    rows: sales.map((sale) => ({
      ...{ id: sale.domainId, name: sale.name },
      below: (view) => html`${moment(view, sale.block.timestamp)} by ${linkAccount(view, sale.buyer)}`,
      beside: () => html`<strong>${price(sale.price.amount, sale.price.currency)}</strong>`,
    })),
  };
}

const figures = [
  ["Active names", "active-names", "names"],
  ["Registrations in 30 days", "registrations", "registrations"],
  ["Renewals in 30 days", "renewals", "renewals"],
  ["Holders", "holders", "holders"],
] as const;

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

// A figure of the last 30 days, or of the last day if it is a state, beside that of the 30 days before. Past days are
// counted in the minutes after the backfill: until then the page goes without.
async function renderFigure(ask: PageAsk, [title, path, member]: (typeof figures)[number]): Promise<Html> {
  const figure = ofFigures.get(path);
  if (figure === undefined) return html``;
  const values = await ask(requestTo(figure, {}, { interval: "day" })).then(
    ({ data }) => data.map((row) => Number(row[member] ?? 0)),
    (error: unknown) => {
      if (error instanceof HttpError) return [];
      throw error;
    },
  );
  if (values.length === 0) return html``;
  const isState = !/30 days/.test(title);
  const [now, before] = isState
    ? [values.at(-1) ?? 0, values.at(-31) ?? 0]
    : [sumOf(values.slice(-30)), sumOf(values.slice(-60, -30))];
  const change = before === 0 ? undefined : Math.round((100 * (now - before)) / before);
  const words = change === undefined ? "" : html` <small>${change > 0 ? "+" : ""}${count(change)} %</small>`;
  return html`<section class="card"><h2>${title}</h2><p class="figure">${count(now)}${words}</p>${sparkline(values)}</section>`;
}

async function renderHome(ask: PageAsk, { frame, now }: Shown): Promise<Page> {
  const lists: Promise<HomeList>[] = [
    readNewest(ask),
    readDeadlines(
      ask,
      { title: "Names ending soon", list: "expiring", query: { expires_after: String(now) } },
      { frame, now },
    ),
    readDeadlines(
      ask,
      {
        ...{ title: "Names in premium", list: "premium" },
        query: {
          ...{ grace_ends_after: String(now - premiumPeriod), grace_ends_before: String(now), order: "desc" },
        },
      },
      { frame, now },
    ),
    readSales(ask),
  ];
  const [read, cards] = await Promise.all([
    Promise.all(lists),
    Promise.all(figures.map((figure) => renderFigure(ask, figure))),
  ]);
  const full = read.filter(({ rows }) => rows.length > 0);
  const [primaries, pictures] = await Promise.all([
    readPrimaryNames(
      full.map(({ accounts }) => accounts),
      ask,
    ),
    readPictures(
      full.flatMap(({ rows }) => rows.map(({ id }) => id)),
      ask,
      frame,
    ),
  ]);
  const view = { frame, now, primaries, pictures };
  const sections = full.map(({ title, more, rows }) => {
    const items = rows.map((row) => ({ ...row, below: row.below(view), beside: row.beside(view) }));
    return section(title, nameItems(view, items), { more });
  });
  const heading = html`<div class="hero"><h1>${frame.site.title === "nsindex" ? "Find any name" : frame.site.title}</h1>
<p>Names, who holds them, what they point to, and when they end.</p>${renderSearch()}</div>`;
  const none = html`<p class="empty">The index has no names yet. <a href="/status">Its status</a> tells how far it is.</p>`;
  const content = html`<div class="grid four">${cards}</div>
<div class="grid two">${sections.length > 0 ? sections : none}</div>`;
  return { heading, content };
}

const suggested = 7;

// What is suggested below a search: links that the script inserts as they are.
async function renderSuggestions(typed: string, ask: PageAsk, { frame, now }: Shown): Promise<Html> {
  if (typed.length < 2 || /^0x/i.test(typed)) return html``;
  const sort = typed.includes(".") ? "name" : "relevance";
  const request = requestTo(search, {}, { q: typed, page_size: String(suggested), sort });
  const rows = (await askRows(ask, request, ({ data }) => data)) ?? [];
  const [primaries, pictures] = await Promise.all([
    readPrimaryNames(rows, ask),
    readPictures(
      rows.map(({ namehash }) => namehash),
      ask,
      frame,
    ),
  ]);
  const view = { frame, now, primaries, pictures };
  return html`${rows.map((row, at) => {
    const picture = avatar(row, frame, { hasPicture: pictures.has(row.namehash), kind: "small" });
    const owner = row.owner && (primaries.get(row.owner) ?? row.owner);
    const ends = row.expires_at && html` · ends ${moment(view, Number(row.expires_at))}`;
    return html`<a role="option" id="suggestion-${at}" href="/name/${encodeURIComponent(row.name)}" data-name="${row.name}" aria-selected="false">${picture}
<span class="what">${shownName(row.name)}<small>${owner && shownName(owner)}${ends}</small></span>${statePill(row, view)}</a>`;
  })}`;
}

const sharedMs = 5_000;

/**
 * GET / for browsers, which leads to /status until the backfill is over; GET /suggest?q=, what the search suggests, as
 * HTML.
 */
export function homeRoutes(sources: PageSources, frame: Frame): Hono {
  const { ask, log } = sources;
  const toShown = (): Shown => ({ frame, now: timeOfIndex(sources, frame.chains?.[0]) });
  let shared: { until: number; page: Promise<Page> } | undefined;
  // All visitors of five seconds see one reading, which the service asks for itself.
  const readShared = () => {
    if (shared === undefined || performance.now() > shared.until) {
      shared = { until: performance.now() + sharedMs, page: renderHome(ask, toShown()) };
      shared.page.catch(() => {
        shared = undefined;
      });
    }
    return shared.page;
  };
  return new Hono()
    .get("/", (c, next) => {
      if (!/\btext\/html\b/.test(c.req.header("accept") ?? "")) return next();
      const current = sources.status.current();
      // The log of a first start leads here.
      if (current === undefined || !isBackfilled(current.snapshot)) return c.redirect("/status");
      const { title } = frame.site;
      const description = "Search names, their owners, records and expiries.";
      const page = { frame, title, description, path: "/", hasSearch: false, warning: describeAge(sources) };
      return sendPage(
        c,
        { ...page, read: readShared, log },
        { headers: { vary: "Accept, Accept-Encoding" } },
      );
    })
    .get("/suggest", async (c) => {
      const typed = c.req.query("q")?.trim() ?? "";
      return c.html(String(await renderSuggestions(typed, (request) => ask(request, c), toShown())));
    });
}
