import { z } from "zod/v4";

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

/** Query parameters of paged lists: `page`, and `recordsPerPage` with its other name `limit`. */
export const pagingParameters = {
  page: wholeNumber("page", Number.MAX_SAFE_INTEGER / maximumRecordsPerPage, "of at least 1"),
  recordsPerPage: perPage("recordsPerPage"),
  limit: perPage("limit"),
};

type Parameters = {
  page?: number | undefined;
  recordsPerPage?: number | undefined;
  limit?: number | undefined;
};

/** Which page was asked for; 10 records make one unless the request says otherwise. */
export type Paging = { page: number; recordsPerPage: number };

/** The paging of a request, with defaults. */
export function pagingOf({ page, recordsPerPage, limit }: Parameters): Paging {
  return { page: page ?? 1, recordsPerPage: recordsPerPage ?? limit ?? defaultRecordsPerPage };
}

/** Whether both names of the page size are given and differ. */
export function isPageSizeContradictory({ recordsPerPage, limit }: Parameters): boolean {
  return recordsPerPage !== undefined && limit !== undefined && recordsPerPage !== limit;
}

/** Number of the last page; 1 where there are no records. */
export function lastPage({ recordsPerPage }: Paging, totalRecords: number): number {
  return Math.max(1, Math.ceil(totalRecords / recordsPerPage));
}

/** The member `pageContext` of a paged answer; indexes are 0-based and left out where there are no records. */
export function pageContext(paging: Paging, totalRecords: number) {
  const { page, recordsPerPage } = paging;
  const startIndex = (page - 1) * recordsPerPage;
  return {
    page,
    recordsPerPage,
    totalRecords,
    totalPages: lastPage(paging, totalRecords),
    hasNext: page * recordsPerPage < totalRecords,
    hasPrev: page > 1,
    ...(totalRecords === 0
      ? {}
      : { startIndex, endIndex: Math.min(startIndex + recordsPerPage, totalRecords) - 1 }),
  };
}

/** Value of the `Link` header (RFC 8288) of a page: its neighbours, the first and the last, relative to the host. */
export function pageLinks(requestUrl: string, paging: Paging, totalRecords: number): string {
  const { page } = paging;
  const last = lastPage(paging, totalRecords);
  const targets = [
    ["first", 1],
    ...(page > 1 ? [["prev", page - 1] as const] : []),
    ...(page < last ? [["next", page + 1] as const] : []),
    ["last", last],
  ] as const;
  return targets
    .map(([relation, target]) => `<${urlOfPage(requestUrl, target)}>; rel="${relation}"`)
    .join(", ");
}

function urlOfPage(requestUrl: string, page: number): string {
  const url = new URL(requestUrl);
  url.searchParams.set("page", String(page));
  return `${url.pathname}${url.search}`;
}
