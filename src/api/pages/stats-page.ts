import { Hono } from "hono";
import { html } from "hono/html";
import { formatUnits } from "viem";
import { HttpError } from "../../http/error.ts";
import { type BodyOf, requestTo } from "../kit/endpoint.ts";
import { describeRefusal } from "../kit/errors.ts";
import { type FigureOverTime, type FigureRow, figuresOverTime, ofFigures, topParents } from "../v1/stats.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import { askRows, type PageAsk, type PageSources } from "./ask.ts";
import {
  column,
  type Frame,
  forms,
  type Html,
  listOf,
  note,
  type Page,
  type ShownColumn,
  section,
  sendPage,
  type View,
} from "./layout.ts";
import { decimals } from "./words.ts";

// Figures over time as tables, which the script of the page draws.

const intervals = ["day", "week", "month"] as const;

type ShownInterval = (typeof intervals)[number];
type ParentRow = BodyOf<typeof topParents>["data"][number];

const pickUnit = ({ currency, token }: FigureRow) =>
  decimals[String(currency)] ? currency : (token ?? currency);

const computePercent = ({ rate }: FigureRow) => (rate == null ? null : Math.round(Number(rate) * 100));

// In whole units of known currencies.
const formatAmount = ({ amount, currency }: FigureRow) =>
  amount && formatUnits(BigInt(amount), decimals[String(currency)] ?? 0);

type Charted = Pick<FigureOverTime, "title" | "columns" | "part">;

type Drawn = { rows: readonly FigureRow[]; isOpen: boolean };

// A table for each currency, since their amounts have no common scale.
function renderTables(view: View, { title, columns, part }: Charted, { rows, isOpen }: Drawn): Html[] {
  const titled = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return [...Map.groupBy(rows, pickUnit)].map(([unit, ofUnit]) => {
    const numbers = Object.keys(columns).map((name) =>
      name === "amount"
        ? column(`${titled(name)} in ${unit}`, formatAmount, forms.text)
        : column(titled(name), (row: FigureRow) => row[name], forms.number),
    );
    const list: ShownColumn<FigureRow>[] = [
      column("First day", ({ date }) => date, forms.text),
      ...(part === "of" ? [column("Kind", (row: FigureRow) => row["of"], forms.text)] : []),
      ...numbers,
      ...("due" in columns ? [column("Percent", computePercent, forms.number)] : []),
    ];
    const caption = unit === undefined ? title : `${title} in ${unit}`;
    return html`<div class="chart"><details${isOpen ? " open" : ""}><summary>Table</summary>${listOf(view, caption, { rows: ofUnit, columns: list })}</details></div>`;
  });
}

// What draws the tables of a page.
const drawing = ({ assets }: Frame): Html => html`<script src="${assets}/stats.js" defer></script>`;

function buildRequest(path: string, interval: ShownInterval) {
  const figure = ofFigures.get(path);
  if (figure === undefined) throw new Error(`There is no figure ${path}`);
  return requestTo(figure, {}, { interval });
}

const overview = {
  "Registrations and renewals": ["registrations", "renewals"],
  "Active names": ["active-names"],
  "Expiries ahead": ["expiries"],
};

/** Reads the figures that tell most, by month; without rows where they are not counted. */
export const readOverview = (ask: PageAsk) =>
  Promise.all(
    Object.entries(overview).map(async ([title, paths]) => {
      const reading = paths.map((path) => askRows(ask, buildRequest(path, "month"), ({ data }) => data));
      const rows = (await Promise.all(reading)).flatMap((found) => found ?? []);
      const months = Map.groupBy(rows, ({ date }) => date).values();
      const columns: Charted["columns"] = Object.assign(
        {},
        ...paths.map((path) => figuresOverTime[path]?.columns),
      );
      return { title, columns, rows: Array.from(months, (month): FigureRow => Object.assign({}, ...month)) };
    }),
  );

/** These figures as charts side by side; undefined if none has rows. */
export function overviewCharts(view: View, found: readonly (Charted & { rows: readonly FigureRow[] })[]) {
  const charts = found
    .filter(({ rows }) => rows.length > 0)
    .map(
      (one) =>
        html`<div><h3>${one.title}</h3>${renderTables(view, one, { rows: one.rows, isOpen: false })}</div>`,
    );
  return charts.length === 0 ? undefined : html`${drawing(view.frame)}<div class="charts">${charts}</div>`;
}

// What is refused has the reason in its place.
async function renderRows<Row>(
  reading: Promise<{ data: readonly Row[] }>,
  show: (rows: readonly Row[]) => Html,
): Promise<Html> {
  try {
    const { data } = await reading;
    return data.length === 0 ? note("None in these periods.") : show(data);
  } catch (error) {
    if (error instanceof HttpError) return note(describeRefusal(error));
    throw error;
  }
}

const parentColumns = [
  column("Name", ({ namehash, name }: ParentRow) => ({ namehash, name: name ?? "" }), forms.name),
  column("Subnames", (row: ParentRow) => row.subname_count, forms.number),
];

// Every figure, by day, week or month.
async function renderFigures(interval: ShownInterval, ask: PageAsk, view: View): Promise<Page> {
  const reading = Object.entries(figuresOverTime).map(async ([path, figure]) => {
    const tables = await renderRows(
      ask(buildRequest(path, interval)),
      (rows) => html`${renderTables(view, figure, { rows, isOpen: true })}`,
    );
    return section(figure.title, html`${note(figure.description)}${tables}`);
  });
  const parents = renderRows(ask(requestTo(topParents, {}, { page_size: "20" })), (rows) =>
    listOf(view, "Names", { rows, columns: parentColumns }),
  );
  const sections = await Promise.all([
    ...reading,
    parents.then((list) => section("Names with the most subnames", list)),
  ]);
  const choices = intervals.map((one) =>
    one === interval
      ? html`<strong>by ${one}</strong> `
      : html`<a href="/stats?interval=${one}">by ${one}</a> `,
  );
  const content = html`${drawing(view.frame)}
<p>${choices}</p>
<p class="note">In UTC; the latest period is still running. As JSON and CSV, by chain and by parent: <a href="/docs">/v1/stats</a>.</p>
${sections}`;
  return { heading: html`<h1>Figures</h1>`, content };
}

/** GET /stats: figures over time, by `?interval=day`, `week` or `month`. */
export function statsRoutes(sources: PageSources, frame: Frame): Hono {
  const { ask, log } = sources;
  return new Hono().get("/stats", (c) => {
    const interval = intervals.find((one) => one === c.req.query("interval")) ?? "month";
    const view: View = { frame, now: timeOfIndex(sources, frame.chains?.[0]), primaries: new Map() };
    const read = () => renderFigures(interval, (request) => ask(request, c), view);
    return sendPage(c, { frame, title: "Figures · nsindex", warning: describeAge(sources), read, log });
  });
}
