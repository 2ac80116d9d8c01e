import { z } from "zod/v4";

const defaultRecordsPerPage = 10;

export const maximumRecordsPerPage = 100;

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
