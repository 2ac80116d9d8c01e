import { Hono } from "hono";
import { html } from "hono/html";
import { formatUnits } from "viem";
import { HttpError } from "../../http/error.ts";
import { type BodyOf, type Endpoint, type EndpointRequest, requestTo } from "../kit/endpoint.ts";
import { describeRefusal } from "../kit/errors.ts";
import {
  classes,
  type FigureOverTime,
  type FigureRow,
  figuresOverTime,
  ofFigures,
  topParents,
} from "../v1/stats.ts";
import { describeAge, timeOfIndex } from "./age.ts";
import type { PageAsk, PageContext, PageSources } from "./ask.ts";
import { type Bar, barChart } from "./chart.ts";
import {
  column,
  count,
  formatDay,
  forms,
  listOf,
  note,
  type ShownColumn,
  section,
  type View,
} from "./components.ts";
import { type Frame, type Html, type Page, sendPage } from "./frame.ts";
import { decimals } from "./words.ts";

// Figures over time as charts, each with its table.

const intervals = ["day", "week", "month"] as const;

type ShownInterval = (typeof intervals)[number];
type ParentRow = BodyOf<typeof topParents>["data"][number];

const pickUnit = ({ currency, token }: FigureRow) =>
  decimals[String(currency)] ? currency : (token ?? currency);

// In whole units of known currencies.
const formatMoney = ({ amount, currency }: FigureRow) =>
  amount && formatUnits(BigInt(amount), decimals[String(currency)] ?? 0);

const percentOf = (part: unknown, whole: unknown) =>
  (100 * Number(part ?? 0)) / Math.max(1, Number(whole ?? 0));

/** What a chart of a figure draws: the value of a row, and values as text. */
type Measure = { value: (row: FigureRow) => number; format: (value: number) => string };

const percent: Measure["format"] = (value) => `${value.toFixed(value < 10 ? 1 : 0)} %`;
const money: Measure["format"] = (value) =>
  value.toLocaleString("en", { maximumSignificantDigits: value >= 1_000 ? 6 : 3 });

function chooseMeasure({ columns }: FigureOverTime): Measure {
  if ("due" in columns) return { value: ({ renewed, due }) => percentOf(renewed, due), format: percent };
  if ("unknown" in columns)
    return { value: ({ unknown, names }) => percentOf(unknown, names), format: percent };
  if ("amount" in columns) return { value: (row) => Number(formatMoney(row) ?? 0), format: money };
  const [name = ""] = Object.keys(columns);
  return { value: (row) => Number(row[name] ?? 0), format: count };
}

function buildRequest(path: string, interval: ShownInterval) {
  const figure = ofFigures.get(path);
  if (figure === undefined) throw new Error(`There is no figure ${path}`);
  return requestTo(figure, {}, { interval });
}

const toTitle = (date: string, interval: ShownInterval) => {
  const day = formatDay(String(Date.parse(date) / 1_000));
  return interval === "month"
    ? day.slice(day.indexOf(" ") + 1)
    : interval === "week"
      ? `week of ${day}`
      : day;
};

// The last period that has ended, beside the one before; of periods ahead, or of one alone, the first.
function renderKeyFigure(bars: readonly Bar[], format: Measure["format"]): Html {
  const at = bars.at(-1)?.isRunning ? bars.length - 2 : 0;
  const [bar, before] = [bars[Math.max(0, at)], bars[at - 1]];
  if (bar === undefined) return html``;
  const change = before?.value ? Math.round((100 * (bar.value - before.value)) / before.value) : undefined;
  const words = change === undefined ? "" : `, ${change > 0 ? "+" : ""}${change} %`;
  return html`<p class="figure">${format(bar.value)} <small>${bar.title}${words}</small></p>`;
}

// The rows of one unit or kind as a chart with its table.
function renderChart(
  view: View,
  { figure, unit, interval }: { figure: FigureOverTime; unit: string | undefined; interval: ShownInterval },
  rows: readonly FigureRow[],
): Html {
  const { value, format } = chooseMeasure(figure);
  const suffix = unit === undefined || figure.part === "of" ? "" : ` ${unit}`;
  const bars = rows.map((row, at): Bar => {
    const isRunning = figure.isAhead !== true && at === rows.length - 1;
    const title = toTitle(row.date, interval);
    const words = `${title}: ${format(value(row))}${suffix}${isRunning ? " so far" : ""}`;
    return { title, value: value(row), words, isRunning };
  });
  const titled = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const list: ShownColumn<FigureRow>[] = [
    column("First day", ({ date }) => date, forms.text),
    ...Object.keys(figure.columns).map((name) =>
      name === "amount"
        ? column(`Amount in ${unit}`, formatMoney, forms.text)
        : column(titled(name), (row: FigureRow) => row[name], forms.number),
    ),
  ];
  const label = unit === undefined ? figure.title : `${figure.title} (${unit})`;
  // One period is a number alone.
  const drawn = bars.length > 1 ? barChart(label, bars, format) : "";
  return html`${unit === undefined ? "" : html`<h3>${titled(unit)}</h3>`}${renderKeyFigure(bars, format)}${drawn}
<details><summary>Table</summary>${listOf(view, label, { rows, columns: list })}</details>`;
}

type Card<Row> = {
  title: string;
  request: EndpointRequest<Endpoint<PageContext>>;
  /** What is said of no rows. */
  empty: string;
  show: (rows: readonly Row[]) => Html;
  about?: string;
};

// The rows of an endpoint, or the reason why it refuses; nothing where a plugin that it needs is not active.
async function renderCard<Row>(
  ask: PageAsk,
  { title, request, empty, show, about }: Card<Row>,
): Promise<Html> {
  const read = async () => {
    const { data } = (await ask(request)) as { data: readonly Row[] };
    return data.length === 0 ? note(empty) : show(data);
  };
  const content = await read().catch((error: unknown) => {
    if (!(error instanceof HttpError)) throw error;
    return error.code === "plugin" ? undefined : note(describeRefusal(error));
  });
  if (content === undefined) return html``;
  return section(title, about ? html`${content}<p class="note">${about}</p>` : content, { request });
}

const parentColumns = [
  column("Name", ({ namehash, name }: ParentRow) => ({ namehash, name: name ?? "" }), forms.name),
  column("Subnames", (row: ParentRow) => row.subname_count, forms.number),
];

type ClassRow = BodyOf<typeof classes>["data"][number];

const classColumns = [
  column(
    "Class",
    (row: ClassRow) => row.class,
    (word) => html`<a href="/names?class=${word}">${word}</a>`,
  ),
  column("Names", (row: ClassRow) => row.names, forms.number),
];

/** Every figure that the index has, by day, week or month, in two columns. */
async function renderFigures(interval: ShownInterval, ask: PageAsk, view: View): Promise<Page> {
  const cards = Object.entries(figuresOverTime).map(([path, figure]) =>
    renderCard<FigureRow>(ask, {
      ...{ title: figure.title, about: figure.description, empty: "None in these periods." },
      request: buildRequest(path, interval) as Card<FigureRow>["request"],
      show: (rows) => {
        const units = Map.groupBy(rows, (row) => (figure.part === "of" ? row["of"] : pickUnit(row)));
        return html`${[...units].map(([unit, own]) => renderChart(view, { figure, unit: unit == null ? undefined : String(unit), interval }, own))}`;
      },
    }),
  );
  const sections = await Promise.all([
    ...cards,
    renderCard<ParentRow>(ask, {
      ...{ title: "Names with the most subnames", empty: "No name has subnames." },
      request: requestTo(topParents, {}, { page_size: "10" }) as Card<ParentRow>["request"],
      show: (rows) => listOf(view, "Names", { rows, columns: parentColumns }),
    }),
    renderCard<ClassRow>(ask, {
      ...{ title: "Classes of names", empty: "No name has a class." },
      request: requestTo(classes, {}, { page_size: "10" }) as Card<ClassRow>["request"],
      show: (rows) => listOf(view, "Classes", { rows, columns: classColumns }),
    }),
  ]);
  const tabs = intervals.map(
    (one) =>
      html`<a href="/stats?interval=${one}"${one === interval ? html` aria-current="true"` : ""}>By ${one}</a>`,
  );
  const content = html`<nav class="tabs" aria-label="Periods">${tabs}</nav>
<p class="note">In UTC. The hatched period is still running. As JSON and CSV, by chain and by parent: <a href="/docs">/v1/stats</a>.</p>
<div class="grid two">${sections}</div>`;
  return { heading: html`<h1>Names in figures</h1>`, content };
}

/** GET /stats: figures over time, by `?interval=day`, `week` or `month`. */
export function statsRoutes(sources: PageSources, frame: Frame): Hono {
  const { ask, log } = sources;
  return new Hono().get("/stats", (c) => {
    const interval = intervals.find((one) => one === c.req.query("interval")) ?? "month";
    const view: View = { frame, now: timeOfIndex(sources, frame.chains?.[0]), primaries: new Map() };
    const read = () => renderFigures(interval, (request) => ask(request, c), view);
    return sendPage(c, {
      ...{ frame, title: "Names in figures", path: "/stats", warning: describeAge(sources), read, log },
      description: "Registrations, renewals, active names, holders, revenue and expiries over time.",
    });
  });
}
