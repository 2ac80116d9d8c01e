import { stringify } from "csv-stringify/sync";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { chainIdParameter, choice, closedQuery, readTime, textParameter } from "../../ens/parameters.ts";
import { addressSchema, amountSchema, countSchema, hashSchema } from "../../ens/schemas.ts";
import { stateSql } from "../../ponder/state.ts";
import { describePosition, metaSchema } from "../../read/as-of.ts";
import type { IndexedNamespace } from "../../read/names/indexed-namespaces.ts";
import { nameIn } from "../../read/names/scopes.ts";
import type { LookupContext, StatementCall } from "../../read/names/source.ts";
import { refuse } from "../../read/refusal.ts";
import { daySeconds } from "../../read/stats/count.ts";
import { type Figure, readFigures, startOfPeriod } from "../../read/stats/read.ts";
import { endpoint } from "../kit/endpoint.ts";
import { cursorParameters } from "../kit/paging.ts";
import { minBlockParameter } from "../kit/position.ts";
import { errorSchema } from "./contract.ts";
import { checkOrder } from "./history.ts";
import { needsNames, ofLookup } from "./lists.ts";

// Figures over time: sums of days that src/read/stats counts.

/**
 * What is counted. `columns`: of its rows, `amount` of money, with the metric of each; `minus`: one that is subtracted.
 * `part`: what rows of one period differ by. `kind` as of `readFigures`. `isAhead`: also of days to come, which are
 * shown unless others are asked for.
 */
export type FigureOverTime = {
  title: string;
  description: string;
  kind: "sum" | "state" | "last";
  columns: Record<string, string>;
  minus?: string;
  part?: "currency" | "of";
  isAhead?: boolean;
};

const [atEnd, sum] = ["At the end of each period:", { kind: "sum" } as const];

/** The figures by their path below `/v1/stats`. */
export const figuresOverTime: Readonly<Record<string, FigureOverTime>> = {
  registrations: {
    ...{ title: "Registrations", description: "Names that were registered, including expired ones." },
    ...{ ...sum, columns: { registrations: "registrations" } },
  },
  renewals: {
    ...{ title: "Renewals", description: "Registrations that were extended." },
    ...{ ...sum, columns: { renewals: "renewals" } },
  },
  "active-names": {
    title: "Active names",
    description: `${atEnd} registrations that had started and not expired, by the expiry known at that time. Grace periods do not count. Today counts as if it were over.`,
    ...{ kind: "state", columns: { names: "begins" }, minus: "ends" },
  },
  holders: {
    title: "Holders",
    description: `${atEnd} accounts that were the last to receive the token of a name, from a registrar, the name wrapper or ENSv2, whether or not the name has expired. Contracts that hold names for others do not count, and an account counts once.`,
    ...{ kind: "state", columns: { holders: "holders" } },
  },
  revenue: {
    title: "Revenue",
    description: "Cost of registrations and renewals, including premiums, if a controller reported prices.",
    ...{ ...sum, columns: { amount: "revenue" }, part: "currency" },
  },
  "premium-sales": {
    title: "Premium sales",
    description: "Registrations whose price had a temporary premium, and the sum of these premiums.",
    ...{ ...sum, columns: { sales: "premium_sales", amount: "premiums" }, part: "currency" },
  },
  expiries: {
    title: "Expiries",
    description:
      "Past days: registrations that reached their expiry, including those renewed in the grace period. Future days: those that will unless they are renewed.",
    ...{ ...sum, columns: { expiries: "ends" }, isAhead: true },
  },
  "renewal-rate": {
    title: "Renewal rate",
    description:
      "Each registration or renewal is due at the expiry that it set, and renewed by the name's next renewal, before or after that. There is no rate if none is due.",
    ...{ ...sum, columns: { due: "due", renewed: "renewed" } },
  },
  labels: {
    title: "Unknown labels",
    description:
      "Names of each kind, and those with unknown labels, as this index last counted them in each period.",
    ...{ kind: "last", columns: { names: "names", unknown: "unknown" }, part: "of" },
  },
};

const lastDay = 2_932_896;

const dayParameter = (name: string, what: string) =>
  textParameter(name, 40)
    .transform((text) => readTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text) ?? -1)
    .transform((seconds) => Math.floor(seconds / daySeconds))
    .refine((day) => day >= 0 && day <= lastDay, {
      error: `${name} must be a date such as 2026-01-31, Unix seconds or a time of RFC 3339, from 1970 to 9999`,
    })
    .optional()
    .describe(`A date, Unix seconds or RFC 3339: the ${what} period is the one that contains it`);

const ofAll = {
  interval: choice("interval", ["day", "week", "month"])
    .default("day")
    .describe("In UTC; weeks start on Monday"),
  from: dayParameter("from", "first"),
  to: dayParameter("to", "last"),
  format: choice("format", ["json", "csv"])
    .optional()
    .describe("`csv` (RFC 4180) has the members of rows; `Accept: text/csv` requests it too"),
  min_block: minBlockParameter,
};

const leasedBelow = "Of names that a registrar registers";
const ofParents = {
  ...ofAll,
  chain_id: chainIdParameter("chain_id").optional().describe(`${leasedBelow} on this chain`),
  parent: textParameter("parent", 2_000).optional().describe(`${leasedBelow} below this name`),
};

type StatsQuery = z.output<z.ZodObject<typeof ofAll>> & { chain_id?: number; parent?: string };

// How many periods there are without `from`, and at most.
const usualPeriods = { day: 90, week: 53, month: 36 };
const maxPeriods = 4_000;

// The first days of the periods that are asked for. `today`: the day of the newest block.
function listPeriods({ interval, from, to }: StatsQuery, today: number, isAhead = false): number[] {
  checkOrder({ from, to });
  const usual = usualPeriods[interval] - 1;
  const newest = Math.min(to ?? today, today);
  const start = startOfPeriod(
    from ?? (isAhead ? today : newest),
    interval,
    isAhead || from !== undefined ? 0 : -usual,
  );
  const end = isAhead ? (to ?? Math.min(lastDay, startOfPeriod(start, interval, usual))) : newest;
  const periods: number[] = [];
  for (let day = Math.max(0, start); day <= end; day = startOfPeriod(day, interval, 1))
    if (periods.push(day) > maxPeriods)
      refuse("invalid_input", `from and to must have at most ${maxPeriods} periods between them`);
  return periods;
}

type StatsSource = LookupContext["lookup"];

// The nodes below which names are asked for. Where accounts are counted, an empty text for all names: some have names
// below several.
function listParents(
  { namespaces }: StatsSource,
  { chain_id, parent }: StatsQuery,
  isOfAccounts: boolean,
): string[] {
  const node = parent === undefined ? undefined : nameIn(parent).node;
  const leased = namespaces.filter(({ leases }) => leases !== undefined);
  const found = leased.filter(
    ({ leases, chainId }) => (node ?? leases) === leases && (chain_id ?? chainId) === chainId,
  );
  if (found.length === 0 && (node !== undefined || chain_id !== undefined))
    refuse(
      "invalid_input",
      "chain_id and parent must be a chain and a name below which a registrar registers names",
    );
  if (isOfAccounts && found.length === leased.length) return [""];
  if (isOfAccounts && found.length > 1) refuse("invalid_input", "parent is missing: this chain has several");
  return found.flatMap(({ leases }) => leases ?? []);
}

/** A row of a figure: the first day of its period, what it differs by, and the columns. */
export type FigureRow = { date: string; [member: string]: string | number | null };

const buildPartMembers = ({ part: kind }: FigureOverTime, part: string, v2: IndexedNamespace["v2"]) => {
  if (kind !== "currency") return kind === undefined ? {} : { [kind]: part };
  if (part === "" || v2 === undefined) return { currency: "ETH" };
  return { currency: v2.currencyOf(v2.chainId, part as Hex) ?? "ERC20", token: part };
};

// A row for each period and part: zero where nothing happened, none where nothing was counted.
function buildRows(
  figure: FigureOverTime,
  found: readonly Figure[],
  periods: number[],
  lookup: StatsSource,
): FigureRow[] {
  const figures = new Map(found.map((one) => [`${one.period} ${one.part}`, one.values]));
  const parts = figure.part === undefined ? [""] : [...new Set(found.map(({ part }) => part))].sort();
  const sums = new Map<string, bigint>();
  return [-1, ...periods].flatMap((period) =>
    parts.flatMap((part): FigureRow[] => {
      const values = figures.get(`${period} ${part}`);
      const row: FigureRow = {
        date: formatDate(period),
        ...buildPartMembers(figure, part, lookup.namespaces[0]?.v2),
      };
      for (const [name, metric] of Object.entries(figure.columns)) {
        const [plus, minus] = [metric, figure.minus ?? ""].map((one) => BigInt(values?.[one] ?? 0));
        const value = (plus ?? 0n) - (minus ?? 0n) + (sums.get(name) ?? 0n);
        if (figure.kind === "state") sums.set(name, value);
        row[name] = name === "amount" ? String(value) : Number(value);
      }
      const { due, renewed } = row;
      if (due !== undefined) row["rate"] = due ? Number(renewed) / Number(due) : null;
      return period === -1 || (figure.kind === "last" && !values) ? [] : [row];
    }),
  );
}

const formatDate = (day: number) => new Date(day * daySeconds * 1_000).toISOString().slice(0, 10);

const buildShape = ({ columns, part }: FigureOverTime) => ({
  date: z.iso.date().describe("The first day of the period"),
  ...(part === "of" ? { of: z.string().describe("Kind of names") } : {}),
  ...(part === "currency" ? { currency: z.string(), token: addressSchema.optional() } : {}),
  ...Object.fromEntries(
    Object.keys(columns).map((name) => [name, name === "amount" ? amountSchema : countSchema]),
  ),
  ...("due" in columns ? { rate: z.number().nullable() } : {}),
});

// The responses of an endpoint with rows of a schema.
const buildAnswers = <S extends z.ZodType>(row: S) => ({
  200: {
    description: "The figures",
    schema: z.strictObject({ data: z.array(row), meta: metaSchema }),
  },
  503: { description: "The index is not complete, or nothing is counted yet", schema: errorSchema },
});

type StatsCall = StatementCall & { query: StatsQuery };

async function answer(path: string, call: StatsCall, lookup: StatsSource) {
  const figure = figuresOverTime[path] as FigureOverTime;
  const { query, current, request } = call;
  const today = Math.floor(current.snapshot.omnichainSnapshot.omnichainIndexingCursor / daySeconds);
  const periods = listPeriods(query, today, figure.isAhead);
  const [from = today] = periods;
  const asked = {
    metrics: [...Object.values(figure.columns), figure.minus ?? []].flat(),
    parents: figure.part === "of" ? [""] : listParents(lookup, query, path === "holders"),
    ...{ interval: query.interval, kind: figure.kind, from },
    to: startOfPeriod(periods.at(-1) ?? from, query.interval, 1),
  };
  const block = JSON.stringify([current.heads, describePosition(current, () => undefined).as_of]);
  const data = buildRows(
    figure,
    await readFigures({ ...lookup, block }, asked, request.raw.signal),
    periods,
    lookup,
  );
  const isCsv = query.format
    ? query.format === "csv"
    : /\btext\/csv\b/.test(request.raw.headers.get("accept") ?? "");
  const headers = { vary: "Accept", ...(isCsv ? { "content-type": "text/csv; charset=utf-8" } : {}) };
  if (!isCsv)
    return { status: 200 as const, headers, body: { data, meta: describePosition(current, lookup.hashOf) } };
  return {
    status: 200 as const,
    headers,
    text: stringify(data, { header: true, columns: Object.keys(buildShape(figure)) }),
  };
}

function createFigure(path: string, figure: FigureOverTime) {
  const isOfAll = figure.part === "of";
  const plugins = isOfAll || path === "holders" ? [] : ["registrars"];
  return endpoint({
    ...ofLookup,
    path: `/v1/stats/${path}`,
    summary: `${figure.title} over time`,
    description: `${figure.description} By day, week or month, oldest first, JSON or CSV.`,
    query: closedQuery(isOfAll ? ofAll : ofParents),
    needs: { ...needsNames, plugins: [...needsNames.plugins, ...plugins] },
    answers: buildAnswers(z.strictObject(buildShape(figure)) as z.ZodType<FigureRow>),
    handle: (call, { lookup }: LookupContext) => answer(path, call as StatsCall, lookup),
  });
}

/** The endpoints of the figures, by their path below `/v1/stats`. */
export const ofFigures: ReadonlyMap<string, ReturnType<typeof createFigure>> = new Map(
  Object.entries(figuresOverTime).map(([path, figure]) => [path, createFigure(path, figure)]),
);

const parentSchema = z.strictObject({
  namehash: hashSchema,
  name: z.string().nullable(),
  subname_count: countSchema,
});

const classSchema = z.strictObject({ class: z.string(), names: countSchema });

// An endpoint of the rows that the coverage of labels stores under `member`.
const createCounted = <S extends z.ZodType>(
  member: "parents" | "classes",
  { row, ...texts }: { path: string; summary: string; description: string; plugins?: string[]; row: S },
) =>
  endpoint({
    ...ofLookup,
    ...texts,
    needs: { ...needsNames, plugins: [...needsNames.plugins, ...(texts.plugins ?? [])] },
    query: closedQuery({ page_size: cursorParameters.page_size, min_block: minBlockParameter }),
    answers: buildAnswers(row),
    handle: async ({ query, current, request }, { lookup }: LookupContext) => {
      const sql = `SELECT (${stateSql("coverage")} -> '${member}')::text`;
      const [text] = await lookup.database.row(sql, [], request.raw.signal);
      if (!text) return refuse("overloaded", "Names are counted in the minutes after the backfill.");
      const data = JSON.parse(text).slice(0, query.page_size) as z.output<S>[];
      return { status: 200, body: { data, meta: describePosition(current, lookup.hashOf) } };
    },
  });

/** GET /v1/stats/top-parents. */
export const topParents = createCounted("parents", {
  path: "/v1/stats/top-parents",
  summary: "Names with the most direct subnames",
  description: "Up to 100, as the index counted them in the last hour, without names that are only in ENSv2.",
  row: parentSchema,
});

/** GET /v1/stats/classes. */
export const classes = createCounted("classes", {
  path: "/v1/stats/classes",
  summary: "Classes of names (ENSIP-27)",
  description:
    "Names by their text record `class`: up to 100 classes, those with most names first, as the index counted them in the last hour, without records under record ids of ENSv2.",
  plugins: ["protocol-acceleration"],
  row: classSchema,
});

/** The endpoints of figures over time. */
export const stats = [...ofFigures.values(), topParents, classes];
