import { z } from "zod/v4";
import { namePlugins } from "../../deployments/deployments.ts";
import { planOnce } from "../database/client.ts";
import type { KnownContracts } from "../resolution/known-contracts.ts";
import { type CursorQuery, cursorPageSchema } from "../rest/pages.ts";
import type { CurrentStatus } from "../status/status-source.ts";
import {
  asOf,
  errorSchema,
  type HashOf,
  isNode,
  metaSchema,
  openPage,
  readName,
  refuse,
} from "./contract.ts";
import { type Binder, binder, countSql, type ListOptions, listSql } from "./list-sql.ts";
import { type Listed, type NamesSource, readCount, readGivenNames, readList } from "./names-query.ts";
import { namespacesText, timesOf } from "./places.ts";
import { type Row, rowSchema } from "./rows.ts";

/** What the endpoints under `/v1` respond from. */
export type LookupContext = { lookup: NamesSource & { hashOf: HashOf; known: KnownContracts } };

/** The plugins of names, one of which each endpoint under `/v1` needs. */
export const needsNames = {
  plugins: [[...namePlugins]],
  index: "complete" as const,
};

/** Responses of an endpoint that lists rows. */
export const listAnswer = {
  description: "A page of names, perhaps empty",
  schema: z.strictObject({ data: z.array(rowSchema), page: cursorPageSchema, meta: metaSchema }),
};

/** The response where there is nothing under the path. */
export const notFoundAnswer = {
  description: "A name that the index never saw, or an unknown namespace",
  schema: errorSchema,
};

/** The response to a question that the index or the chain cannot answer. */
export const unsupportedAnswer = { description: "What cannot be answered", schema: errorSchema };

/** A parameter with a few values. */
export const choice = <const T extends readonly [string, ...string[]]>(name: string, values: T) =>
  z.enum(values, { error: `${name} must be one of ${values.join(", ")}` });

/** A parameter with any text. */
export const textParameter = (name: string, most: number) =>
  z
    .string({
      error: ({ input }) => (input === undefined ? `${name} is missing` : `${name} must be given once`),
    })
    .max(most, { error: `${name} has more than ${most} characters` })
    .refine((text) => !text.includes("\0"), { error: `${name} must not hold NUL` });

const wordsOf = (text: string) => [...new Set(text.split(",").map((word) => word.trim()))].filter(Boolean);

/** A parameter with some of a few values, with commas between. */
export const wordsParameter = <const T extends readonly [string, ...string[]]>(
  name: string,
  values: T,
  error = `${name} must be some of ${values.join(", ")} with commas between`,
) =>
  textParameter(name, 1_000)
    .transform(wordsOf)
    .pipe(z.array(z.enum(values, { error })));

const disjunction = new Intl.ListFormat("en", { type: "disjunction" });

/** The parameter for further members of a response. Clients read from the message of a refusal which ones there are. */
export const includeParameter = <const T extends readonly [string, ...string[]]>(values: T) =>
  wordsParameter("include", values, `include must contain only ${disjunction.format(values)}`).optional();

const standAlone = ["resolves_to", "former_owner"] as const;

/** How an address is related to names. `any`: as owner or manager. */
export type Relation = "owner" | "manager" | "any" | (typeof standAlone)[number];

/** The relation that words with commas between them name, in any order and repeatedly. */
export const relationText = textParameter("relation", 100)
  .transform(wordsOf)
  .transform((words, context): Relation => {
    const [first] = words;
    const alone = standAlone.find((one) => one === first);
    if (alone !== undefined && words.length === 1) return alone;
    if (words.length > 0 && words.every((word) => word === "any" || word === "owner" || word === "manager"))
      return words.length > 1 ? "any" : (first as Relation);
    context.addIssue("relation must be any, owner, manager or both, or resolves_to or former_owner alone");
    return z.NEVER;
  });

/** The parameter that picks a namespace. */
export const namespaceParameter = textParameter("namespace", 60)
  .optional()
  .meta({ description: namespacesText });

/** The places of a namespace; without one none. Refuses one that is not indexed. */
export function placesIn({ places }: NamesSource, namespace: string | undefined) {
  if (namespace === undefined) return [];
  const ofIt = places.filter((place) => place.namespace === namespace);
  if (ofIt.length > 0) return ofIt;
  const known = [...new Set(places.map((place) => place.namespace))].join(", ");
  return refuse("not_found", `The namespace ${JSON.stringify(namespace)} is not indexed; indexed: ${known}`);
}

/** The condition that names are of a namespace. Refuses one that is not indexed. */
export function inNamespace(source: NamesSource, namespace: string | undefined): string[] {
  const ofIt = placesIn(source, namespace).map((place) => source.places.indexOf(place) + 1);
  return ofIt.length === 0 ? [] : [`names.place IN (${ofIt.join(", ")})`];
}

/** A name that a path or parameter gives. Refuses one that cannot be normalised. */
export function nameIn(given: string) {
  const name = readName(given);
  return "fault" in name ? refuse("invalid_input", `The name is invalid: ${name.fault}`) : name;
}

/**
 * What is known of the name that a path gives, and the name by which the chain is asked for it. Refuses one that cannot be normalised,
 * and one that the index never saw.
 */
export async function readNameOfPath(
  source: NamesSource,
  given: string,
  {
    current,
    request,
    withRecords = false,
  }: Pick<ListCall, "current" | "request"> & { withRecords?: boolean },
) {
  const asked = { given: [given], times: timesOf(source.places, current), withRecords };
  const [one] = await readGivenNames(source, asked, request.raw.signal);
  const name = readName(given);
  if (!one?.found) {
    nameIn(given);
    return refuse("not_found", "The index never saw this name");
  }
  const { row } = one.found;
  const isTyped = !("fault" in name || isNode(given)) && name.node === row.node;
  return { found: one.found, node: row.node, name: isTyped ? name.name : row.name };
}

type ListCall = {
  query: CursorQuery;
  current: CurrentStatus;
  request: { raw: Request };
};

/** What a list is made of: how names are found, and the form of its rows. `list`: what its cursors belong to. */
type List = {
  list: readonly unknown[];
  /** How names are found, from the statement's values. */
  branches: (statement: Binder) => Pick<ListOptions, "branches" | "filters" | "contains">;
  /** Further members of the rows. */
  extra?: (statement: Binder) => NonNullable<ListOptions["extra"]>;
  isDescending?: boolean;
  /** Whether connections plan it once: for the few forms of a list that most requests have. */
  isCommon?: boolean;
  /** Up to which number the total is counted; none: it is not. */
  mostCounted?: number;
  show: (one: Listed) => Row;
};

/** A page of a list, with one statement, and one more for its total. */
export async function listPage(
  { lookup }: LookupContext,
  { query, current, request }: ListCall,
  { list, branches: find, extra, isDescending = false, isCommon = false, mostCounted, show }: List,
) {
  const statement = binder(timesOf(lookup.places, current));
  const found = find(statement);
  const opened = openPage(query, list, found.branches[0]?.order.map(({ type }) => type) ?? []);
  const counting = mostCounted && {
    sql: countSql(lookup.places, found, mostCounted),
    values: [...statement.values],
  };
  const after = opened.after?.map(statement.bind);
  const options = {
    ...found,
    after,
    isDescending,
    limit: opened.limit,
    ...(extra ? { extra: extra(statement) } : {}),
  };
  const sql = listSql(lookup.places, options);
  const listing = { sql: isCommon ? planOnce(sql) : sql, values: statement.values };
  const { signal } = request.raw;
  const [listed, total] = await Promise.all([
    readList(lookup, listing, signal),
    counting
      ? readCount(
          lookup,
          { ...counting, sql: isCommon ? planOnce(counting.sql) : counting.sql },
          mostCounted,
          signal,
        )
      : null,
  ]);
  const { shown, page } = opened.of(listed, total);
  return { status: 200 as const, body: { data: shown.map(show), page, meta: asOf(current, lookup.hashOf) } };
}
