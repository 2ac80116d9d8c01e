import { z } from "zod/v4";
import { invalidInputSchema, messageSchema } from "./envelope.ts";
import { ApiError } from "./errors.ts";
import { countSchema } from "./values.ts";

const defaultRecordsPerPage = 10;

const maximumRecordsPerPage = 100;

// Plain decimal digits only; an empty value counts as absent.
const wholeNumber = (name: string, maximum: number, range: string) =>
  z
    .string({ error: `${name} must be given once` })
    .regex(/^[0-9]*$/, { error: `${name} must be an integer ${range}`, abort: true })
    .transform((digits) => (digits === "" ? undefined : Number(digits)))
    .refine((value) => value === undefined || (value >= 1 && value <= maximum), {
      error: `${name} must be an integer ${range}`,
    })
    .optional();

const perPage = (name: string) =>
  wholeNumber(name, maximumRecordsPerPage, `from 1 to ${maximumRecordsPerPage}`);

const pagingParameters = {
  page: wholeNumber("page", Number.MAX_SAFE_INTEGER / maximumRecordsPerPage, "of at least 1").meta({
    description: "Number of the page, from 1 (default 1)",
  }),
  recordsPerPage: perPage("recordsPerPage").meta({
    description: `1 to ${maximumRecordsPerPage} (default ${defaultRecordsPerPage})`,
  }),
  limit: perPage("limit").meta({ description: "Another name of `recordsPerPage`" }),
};

type Parameters = z.output<z.ZodObject<typeof pagingParameters>>;

/** Query parameters of a paged list: `page`, `recordsPerPage` with its other name `limit`, and those of the list. */
export function pagedQuery<T extends z.core.$ZodLooseShape>(parameters: T) {
  return z
    .object({ ...pagingParameters, ...parameters })
    .refine((given) => !isPageSizeContradictory(given as Parameters), {
      path: ["limit"],
      error: "limit is another name of recordsPerPage; both are given and differ",
    });
}

function isPageSizeContradictory({ recordsPerPage, limit }: Parameters): boolean {
  return recordsPerPage !== undefined && limit !== undefined && recordsPerPage !== limit;
}

/** Which page was asked for; a page has 10 records unless the request says otherwise. */
export type Paging = { page: number; recordsPerPage: number };

/** The paging of a request, with defaults. */
export function pagingOf({ page, recordsPerPage, limit }: Parameters): Paging {
  return { page: page ?? 1, recordsPerPage: recordsPerPage ?? limit ?? defaultRecordsPerPage };
}

/** The response to invalid parameters of a paged list, or to a page past the last one. */
export const pagedRefusal = {
  description: "Invalid parameters, or a page past the last one",
  schema: z.union([invalidInputSchema, messageSchema]),
};

/** The place of a page in its list. */
export const pageContextSchema = z.strictObject({
  page: z.int().min(1),
  recordsPerPage: z.int().min(1).max(maximumRecordsPerPage),
  totalRecords: countSchema,
  totalPages: z.int().min(1),
  hasNext: z.boolean(),
  hasPrev: z.boolean(),
  startIndex: countSchema.optional().meta({ description: "From 0; absent if there are no records" }),
  endIndex: countSchema.optional().meta({ description: "Inclusive" }),
});

/**
 * What a response says of its page: the member `pageContext`, and a `Link` header (RFC 8288) to the first, previous,
 * next and last page. Throws an ApiError 400 for a page past the last one.
 */
export function pageOf(
  url: string,
  paging: Paging,
  totalRecords: number,
): { pageContext: z.output<typeof pageContextSchema>; headers: { link: string } } {
  const { page, recordsPerPage } = paging;
  const totalPages = Math.max(1, Math.ceil(totalRecords / recordsPerPage));
  if (page > totalPages) {
    throw new ApiError(400, { message: `Page ${page} is past the last page, which is ${totalPages}.` });
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
  return { pageContext, headers: { link: pageLinks(url, page, totalPages) } };
}

function pageLinks(url: string, page: number, last: number): string {
  const targets = [
    ["first", 1],
    ...(page > 1 ? [["prev", page - 1] as const] : []),
    ...(page < last ? [["next", page + 1] as const] : []),
    ["last", last],
  ] as const;
  return targets.map(([relation, target]) => `<${urlOfPage(url, target)}>; rel="${relation}"`).join(", ");
}

function urlOfPage(requestUrl: string, page: number): string {
  const url = new URL(requestUrl);
  url.searchParams.set("page", String(page));
  return `${url.pathname}${url.search}`;
}
