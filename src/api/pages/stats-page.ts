import { Hono } from "hono";
import { html } from "hono/html";
import { formatUnits } from "viem";
import { type FigureOverTime, figuresOverTime } from "../v1/stats.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import type { Ask, PageAsk, PageSources } from "./ask.ts";
import {
  type Frame,
  type Html,
  listOf,
  memberOf,
  note,
  type Page,
  section,
  sendPage,
  type View,
} from "./layout.ts";
import { decimals } from "./words.ts";

// Figures over time as tables, which the script of the page draws.

const intervals = ["day", "week", "month"] as const;

type ShownFigures = Record<string, string | number | null>;

const unitOf = ({ currency, token }: ShownFigures) =>
  decimals[String(currency)] ? currency : (token ?? currency);

// With shares in percent, and amounts of known currencies in whole units.
const shownRow = (row: ShownFigures) => ({
  ...row,
  percent: row["rate"] == null ? null : Math.round(Number(row["rate"]) * 100),
  amount: row["amount"] && formatUnits(BigInt(row["amount"]), decimals[String(row["currency"])] ?? 0),
});

type Charted = Pick<FigureOverTime, "title" | "columns" | "part">;

type Drawn = { rows: readonly ShownFigures[]; isOpen: boolean };

// A table for each currency, since their amounts have no common scale.
function tablesOf(view: View, { title, columns, part }: Charted, { rows, isOpen }: Drawn): Html[] {
  const titled = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return [...Map.groupBy(rows, unitOf)].map(([unit, ofUnit]) => {
    const numbers = Object.keys(columns).map((name) =>
      name === "amount" ? `${titled(name)} in ${unit}=${name}` : `${titled(name)}=${name}:number`,
    );
    const kind = part === "of" ? ["Kind=of"] : [];
    const list = [
      "First day=date",
      ...kind,
      ...numbers,
      ...("due" in columns ? ["Percent=percent:number"] : []),
    ];
    const caption = unit === undefined ? title : `${title} in ${unit}`;
    return html`<div class="chart"><details${isOpen ? " open" : ""}><summary>Table</summary>${listOf(view, caption, { rows: ofUnit.map(shownRow), columns: list.join(", ") })}</details></div>`;
  });
}

// What draws the tables of a page.
const drawing = ({ assets }: Frame): Html => html`<script src="${assets}/stats.js" defer></script>`;

const overview = {
  "Registrations and renewals": ["registrations", "renewals"],
  "Active names": ["active-names"],
  "Expiries ahead": ["expiries"],
};

/** Reads the figures that tell most, by month; without rows where they are not counted. */
export const readOverview = (ask: Ask) =>
  Promise.all(
    Object.entries(overview).map(async ([title, paths]) => {
      const answers = await Promise.all(paths.map((path) => ask(`/v1/stats/${path}?interval=month`)));
      const rows = answers.flatMap(({ body }) => (memberOf(body, "data") ?? []) as ShownFigures[]);
      const months = Map.groupBy(rows, ({ date }) => date).values();
      const columns: Charted["columns"] = Object.assign(
        {},
        ...paths.map((path) => figuresOverTime[path]?.columns),
      );
      return {
        title,
        columns,
        rows: Array.from(months, (month): ShownFigures => Object.assign({}, ...month)),
      };
    }),
  );

/** These figures as charts side by side; undefined if none has rows. */
export function overviewCharts(view: View, found: readonly (Charted & { rows: readonly ShownFigures[] })[]) {
  const charts = found
    .filter(({ rows }) => rows.length > 0)
    .map(
      (one) =>
        html`<div><h3>${one.title}</h3>${tablesOf(view, one, { rows: one.rows, isOpen: false })}</div>`,
    );
  return charts.length === 0 ? undefined : html`${drawing(view.frame)}<div class="charts">${charts}</div>`;
}

async function rowsOf(
  path: string,
  ask: PageAsk,
  show: (rows: readonly ShownFigures[]) => Html,
): Promise<Html> {
  const { status, body } = await ask(`/v1/stats/${path}`);
  if (status !== 200) return note(memberOf(body, "error.message"));
  const rows = memberOf(body, "data") as ShownFigures[];
  return rows.length === 0 ? note("None in these periods.") : show(rows);
}

// Every figure, by day, week or month.
async function figures(interval: string, ask: PageAsk, view: View): Promise<Page> {
  const reading = Object.entries(figuresOverTime).map(async ([path, figure]) => {
    const tables = await rowsOf(
      `${path}?interval=${interval}`,
      ask,
      (rows) => html`${tablesOf(view, figure, { rows, isOpen: true })}`,
    );
    return section(figure.title, html`${note(figure.description)}${tables}`);
  });
  const parents = rowsOf("top-parents?page_size=20", ask, (rows) =>
    listOf(view, "Names", {
      rows: rows.map((row) => ({ ...row, name: row["name"] ?? "" })),
      columns: "Name=name:name, Subnames=subname_count:number",
    }),
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
    const read = () => figures(interval, (path) => ask(path, c), view);
    return sendPage(c, { frame, title: "Figures · nsindex", warning: describeAge(sources), read, log });
  });
}
