import { z } from "zod/v4";
import { jsonText, oneText } from "../../ens/parameters.ts";
import { countSchema } from "../../ens/schemas.ts";
import { HttpError } from "../../http/error.ts";
import type { SortType } from "../../read/sql/keyset.ts";
import { invalidInputSchema, messageSchema } from "./errors.ts";

// Pages of lists, by number or by a cursor that is opaque to clients.

const defaultRecordsPerPage = 10;

const maximumRecordsPerPage = 100;

// Plain decimal digits only; an empty value counts as absent.
function wholeNumber(name: string, maximum: number, range: string) {
  const error = `${name} must be an integer ${range}`;
  return oneText(name)
    .regex(/^[0-9]*$/, { error, abort: true })
    .transform((digits) => (digits === "" ? undefined : Number(digits)))
    .refine((value) => value === undefined || (value >= 1 && value <= maximum), { error })
    .optional();
}

const perPage = (name: string) =>
  wholeNumber(name, maximumRecordsPerPage, `from 1 to ${maximumRecordsPerPage}`);

const pagingParameters = {
  page: wholeNumber("page", Number.MAX_SAFE_INTEGER / maximumRecordsPerPage, "of at least 1").describe(
    "Number of the page, from 1 (default 1)",
  ),
  recordsPerPage: perPage("recordsPerPage").describe(
    `1 to ${maximumRecordsPerPage} (default ${defaultRecordsPerPage})`,
  ),
  limit: perPage("limit").describe("Alias of `recordsPerPage`"),
};

type Parameters = z.output<z.ZodObject<typeof pagingParameters>>;

/** Query parameters of a paged list: `page`, `recordsPerPage` with its alias `limit`, and those of the list. */
export function pagedQuery<T extends z.core.$ZodLooseShape>(parameters: T) {
  const isSizeClear = (given: unknown) => {
    const { recordsPerPage, limit } = given as Parameters;
    return (recordsPerPage ?? limit) === (limit ?? recordsPerPage);
  };
  return z.object({ ...pagingParameters, ...parameters }).refine(isSizeClear, {
    path: ["limit"],
    error: "limit is another name of recordsPerPage; both are given and differ",
  });
}

/** The requested page. */
export type Paging = { page: number; recordsPerPage: number };

/** The requested page, with defaults. */
export function readPaging({ page, recordsPerPage, limit }: Parameters): Paging {
  return { page: page ?? 1, recordsPerPage: recordsPerPage ?? limit ?? defaultRecordsPerPage };
}

/** The response to invalid parameters of a paged list, or to a page past the last one. */
export const pagedRefusal = {
  description: "Invalid parameters, or a page past the last one",
  schema: z.union([invalidInputSchema, messageSchema]),
};

/** The position of a page in its list. */
export const pageContextSchema = z.strictObject({
  page: z.int().min(1),
  recordsPerPage: z.int().min(1).max(maximumRecordsPerPage),
  totalRecords: countSchema,
  totalPages: z.int().min(1),
  hasNext: z.boolean(),
  hasPrev: z.boolean(),
  startIndex: countSchema.optional().describe("From 0; absent if there are no records"),
  endIndex: countSchema.optional().describe("Inclusive"),
});

/**
 * The `pageContext` of a response and its `Link` header (RFC 8288) to the first, previous, next and last page, unless
 * that would be too long. Throws an HttpError 400 for a page past the last one.
 */
export function describePage(url: string, { page, recordsPerPage }: Paging, totalRecords: number) {
  const totalPages = Math.max(1, Math.ceil(totalRecords / recordsPerPage));
  if (page > totalPages) {
    throw new HttpError(400, `Page ${page} is past the last page, which is ${totalPages}.`);
  }
  const startIndex = (page - 1) * recordsPerPage;
  const endIndex = Math.min(startIndex + recordsPerPage, totalRecords) - 1;
  const pageContext = {
    page,
    recordsPerPage,
    totalRecords,
    totalPages,
    hasNext: page < totalPages,
    hasPrev: page > 1,
    ...(totalRecords === 0 ? {} : { startIndex, endIndex }),
  };
  const link = buildPageLinks(url, page, totalPages);
  const headers: { link?: string } = link.length > maxLinkCharacters ? {} : { link };
  return { pageContext, headers };
}

// Proxies and clients refuse long headers, and each link repeats all parameters of the request.
const maxLinkCharacters = 4_000;

function buildPageLinks(requestUrl: string, page: number, last: number): string {
  const url = new URL(requestUrl);
  const targets = Object.entries({ first: 1, prev: page - 1, next: page + 1, last });
  const links = targets.map(([relation, target]) => {
    url.searchParams.set("page", String(target));
    return target < 1 || target > last ? [] : `<${url.pathname}${url.search}>; rel="${relation}"`;
  });
  return links.flat().join(", ");
}

const maxPageSize = 200;
const sizeError = `page_size must be an integer from 1 to ${maxPageSize}`;

/** The position at which a list continues, opaque to clients. */
export const cursorParameter = oneText("cursor")
  .max(8_000, { error: "cursor must be a valid pagination cursor" })
  .optional()
  .describe("`next_cursor` of the page before");

/** Query parameters of a list with cursors: where it continues, and the number of rows per page. */
export const cursorParameters = {
  cursor: cursorParameter,
  page_size: oneText("page_size")
    .regex(/^\d{1,3}$/, { error: sizeError })
    .transform(Number)
    .refine((size) => size >= 1 && size <= maxPageSize, { error: sizeError })
    .default(50)
    .describe(`Rows of a page: 1 to ${maxPageSize}, default 50`),
};

/** The same, in a JSON body. */
export const cursorMembers = {
  page_size: z.int().min(1).max(maxPageSize).optional(),
  cursor: cursorParameter,
};

/** Values of these parameters. */
export type CursorQuery = { cursor?: string | undefined; page_size?: number | undefined };

/** The number of rows per page. */
export const readPageSize = ({ page_size = 50 }: CursorQuery) => page_size;

const maxInt = 2 ** 31 - 1;
const isForm: Readonly<Record<SortType, (text: string) => boolean>> = {
  text: (text) => !text.includes("\0") && text.isWellFormed(),
  // The longest is a record id, of 256 bits.
  numeric: (text) => /^-?\d{1,78}$/.test(text),
  int: (text) => /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) <= maxInt,
};

/** What a cursor belongs to: a list with its filters and order, and the types of its sort values. */
export type CursorList = {
  list: readonly unknown[];
  types: readonly SortType[];
  /** Ends a request whose cursor is malformed or belongs to another list. */
  refuse: (message: string) => never;
};

const cursorVersion = 1;

/** Encodes a cursor: the list that it belongs to, and the sort values of the last row of a page. */
export function encodeCursor(list: readonly unknown[], after: readonly (string | null)[]): string {
  return Buffer.from(JSON.stringify([cursorVersion, JSON.stringify(list), after])).toString("base64url");
}

/** The sort values of the row after which a page begins; undefined without a cursor. */
export function readCursor(
  cursor: string | undefined,
  { list, types, refuse }: CursorList,
): string[] | undefined {
  if (cursor === undefined) return undefined;
  const { data } = cursorSchema.safeParse(cursor);
  if (data !== undefined && data[1] !== JSON.stringify(list))
    refuse("cursor belongs to another list: other filters or another order");
  const after = data?.[2] ?? [];
  const isValid = after.length === types.length && types.every((type, at) => isForm[type](after[at] ?? ""));
  return isValid ? after : refuse("cursor must be a valid pagination cursor");
}

const cursorSchema = z
  .string()
  .regex(/^[\w-]+$/)
  .transform((text) => Buffer.from(text, "base64url").toString())
  .pipe(jsonText("no JSON"))
  .pipe(z.tuple([z.literal(cursorVersion), z.string(), z.array(z.string())]));

/** The position of a page in a list with cursors. */
export const cursorPageSchema = z.strictObject({
  cursor: z.string().nullable(),
  next_cursor: z.string().nullable(),
  page_size: z.int(),
  total_count: z.int().nullable(),
  has_more: z.boolean(),
});

/** The number of rows to read: the page and at least one more. Few distinct values keep the forms of statements few. */
export const chooseLimit = (size: number) => [11, 51].find((max) => max > size) ?? maxPageSize + 1;

/**
 * A page of a list: the sort values after which it begins, the number of rows to read, and, from the rows read and the
 * total if counted, its rows and position. A row beyond the page shows that there is a next one.
 */
export function openCursorPage(query: CursorQuery, of: CursorList) {
  const { cursor } = query;
  const size = readPageSize(query);
  return {
    size,
    after: readCursor(cursor, of),
    limit: chooseLimit(size),
    of<T extends { after: readonly (string | null)[] }>(rows: readonly T[], total: number | null = null) {
      const shown = rows.slice(0, size);
      const last = shown.at(-1);
      const hasMore = rows.length > size;
      const page = {
        cursor: cursor ?? null,
        next_cursor: hasMore && last !== undefined ? encodeCursor(of.list, last.after) : null,
        page_size: size,
        total_count: total,
        has_more: hasMore,
      };
      return { shown, page };
    },
  };
}
