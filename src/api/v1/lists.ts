import { z } from "zod/v4";
import { namePlugins } from "../../deployments/deployments.ts";
import { describePosition, metaSchema } from "../../read/as-of.ts";
import { type NamesOf, namesLeftOut } from "../../read/names/left-out.ts";
import { countSql, type FoundNames, fewSql, type ListOptions, listSql } from "../../read/names/lists.ts";
import { type NameRow, rowSchema } from "../../read/names/rows.ts";
import {
  type Binder,
  type LookupContext,
  openStatement,
  type StatementCall,
} from "../../read/names/source.ts";
import type { Listed } from "../../read/names/stored-name.ts";
import { refuse } from "../../read/refusal.ts";
import { listSortTypes } from "../../read/sql/keyset.ts";
import { type CursorQuery, cursorPageSchema } from "../kit/paging.ts";
import { errorSchema, lookupEnvelope, openPage } from "./contract.ts";

// What endpoints under `/v1` have in common: what they need, what they respond with, and how they page a list.

/** Each endpoint under `/v1` needs one of the plugins of names. */
export const needsNames = {
  plugins: [[...namePlugins]],
  index: "complete" as const,
};

/** Refuses `what` on an index without records. */
export function requireRecords({ hasRecords }: LookupContext["lookup"], what: string): void {
  if (!hasRecords)
    refuse("unsupported", `${what} needs the plugin protocol-acceleration, which keeps records`);
}

/** Common parts of the endpoints under `/v1`. */
export const ofLookup = { tag: "Lookup", envelope: lookupEnvelope, needs: needsNames } as const;

/** The response to an unknown name, contract or namespace. */
export const notFoundAnswer = {
  description: "A name or contract that the index has never seen, or an unknown namespace",
  schema: errorSchema,
};

const refusals = {
  404: notFoundAnswer,
  422: { description: "An unsupported request", schema: errorSchema },
};

/** The responses of an endpoint: one with `meta` beside the members of `shape`, and refusals by their status. */
export const describeAnswers = <S extends z.core.$ZodLooseShape, C extends keyof typeof refusals = never>(
  description: string,
  shape: S,
  ...codes: C[]
) => ({
  200: { description, schema: z.strictObject({ ...shape, meta: metaSchema }) },
  ...(Object.fromEntries(codes.map((code) => [code, refusals[code]])) as Pick<typeof refusals, C>),
});

/** A page of rows with a schema. */
export const pageShape = <S extends z.ZodType>(row: S) => ({ data: z.array(row), page: cursorPageSchema });

/** The responses of an endpoint that lists names. */
export const listAnswers = describeAnswers("A page of names, possibly empty", pageShape(rowSchema), 404);

/** A list: how to find its names, and the form of its rows. `list`: what its cursors belong to. */
type List = {
  list: readonly unknown[];
  branches: (statement: Binder) => FoundNames;
  /** SQL of further members of the rows. */
  extra?: (statement: Binder) => NonNullable<ListOptions["extra"]>;
  isDescending?: boolean;
  /** Whether connections plan it once: for the few forms of a list that most requests have. */
  isCommon?: boolean;
  /** Whether most of these lists have few names; their branches have no conditions on `names`. */
  hasFew?: boolean;
  /** Up to which number the total is counted; without it there is no total. */
  maxCounted?: number | undefined;
  /** Whose names the list has, if not all. */
  of?: NamesOf | undefined;
  show: (one: Listed) => NameRow;
};

/** A page of a list, by one statement, and another for its total; by one for both if the list has few names. */
export async function listPage(
  { lookup }: LookupContext,
  call: ListCall,
  { maxCounted, hasFew = false, of, show, ...list }: List,
) {
  const read = async () =>
    (hasFew && (await readFew(lookup, call, list))) || readMany(lookup, call, { ...list, maxCounted });
  const [leftOut, { opened, rows, total }] = await Promise.all([namesLeftOut(lookup, call, of), read()]);
  const { shown, page } = opened.of(rows, maxCounted ? total : null);
  const meta = { ...describePosition(call.current, lookup.hashOf), ...leftOut };
  return { status: 200 as const, body: { data: shown.map(show), page, meta } };
}

type ListCall = StatementCall & { query: CursorQuery };
type FoundList = Omit<List, "of" | "show">;
type NamesOfLists = LookupContext["lookup"];

// `page` binds the values of the page to the statement.
function openList(lookup: NamesOfLists, call: ListCall, { list, branches, extra, ...form }: FoundList) {
  const { isCommon = false, isDescending = false } = form;
  const statement = openStatement(lookup, call, { isCommon });
  const found = branches(statement);
  const opened = openPage(call.query, list, listSortTypes(found.branches[0]?.order ?? []));
  const page = (): ListOptions => ({
    ...found,
    after: opened.after?.map(statement.bind),
    isDescending,
    limit: opened.limit,
    extra: extra?.(statement),
  });
  return { statement, found, opened, page };
}

async function readMany(lookup: NamesOfLists, call: ListCall, list: FoundList) {
  const { maxCounted, ...given } = list;
  const { statement, found, opened, page } = openList(lookup, call, given);
  const [total, rows] = await Promise.all([
    maxCounted ? statement.count(countSql(lookup.namespaces, found, maxCounted), maxCounted) : null,
    statement.rows<Listed>(listSql(lookup.namespaces, page())),
  ]);
  return { opened, rows, total };
}

// Undefined if the list has many names.
async function readFew(lookup: NamesOfLists, call: ListCall, list: FoundList) {
  const { statement, opened, page } = openList(lookup, call, list);
  const few = fewSql(lookup.namespaces, page());
  const { rows, total } = await statement.one<{ total: number; rows: Listed[] | null }>(
    `SELECT concat('{"total":', f.total, ',"rows":', coalesce(f.rows, 'null'), '}') FROM (${few}) f`,
  );
  return rows === null ? undefined : { opened, rows, total };
}
