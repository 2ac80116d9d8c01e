import { expect, test } from "vitest";
import { z } from "zod/v4";
import { HttpError } from "../../http/error.ts";
import { describePage, pagedQuery, readPaging } from "./paging.ts";

const schema = pagedQuery({ type: z.string().optional() });
const pageContext = (paging: { page: number; recordsPerPage: number }, total: number) =>
  describePage("http://localhost/api/list", paging, total).pageContext;
const pageLinks = (url: string, paging: { page: number; recordsPerPage: number }, total: number) =>
  describePage(url, paging, total).headers.link;

const queryOf = (text: string) => Object.fromEntries(new URLSearchParams(text));

test.each([
  ["", 1, 10],
  ["page=&recordsPerPage=", 1, 10],
  ["page=3", 3, 10],
  ["limit=5&page=2", 2, 5],
  ["limit=5&recordsPerPage=5", 1, 5],
  ["limit=5&recordsPerPage=", 1, 5],
])("reads %j as page %i of %i records each", (given, page, recordsPerPage) => {
  expect(readPaging(schema.parse(queryOf(given)))).toEqual({ page, recordsPerPage });
});

test.each(["page=0", "page=1.5", "page= 1", "page=99999999999999999999", "recordsPerPage=101", "limit=x"])(
  "refuses %j",
  (given) => {
    expect(schema.safeParse(queryOf(given)).success).toBe(false);
  },
);

test("the two names of the page size may not differ", () => {
  const result = schema.safeParse({ limit: "5", recordsPerPage: "6" });
  expect(result.error && z.treeifyError(result.error).properties).toEqual({
    limit: { errors: ["limit is another name of recordsPerPage; both are given and differ"] },
  });
});

test.each([
  [4, 25, 3],
  [2, 0, 1],
])("page %i of %i records is past the last one, which is %i", (page, total, last) => {
  const message = `Page ${page} is past the last page, which is ${last}.`;
  expect(() => pageContext({ page, recordsPerPage: 10 }, total)).toThrow(new HttpError(400, message));
});

test.each([
  [{ page: 1, recordsPerPage: 10 }, 0, { totalRecords: 0, totalPages: 1, hasNext: false, hasPrev: false }],
  [
    { page: 3, recordsPerPage: 10 },
    25,
    { totalRecords: 25, totalPages: 3, hasNext: false, hasPrev: true, startIndex: 20, endIndex: 24 },
  ],
  [
    { page: 2, recordsPerPage: 10 },
    20,
    { totalRecords: 20, totalPages: 2, hasNext: false, hasPrev: true, startIndex: 10, endIndex: 19 },
  ],
])("context of %j in %i records", (paging, total, expected) => {
  expect(pageContext(paging, total)).toEqual({ ...paging, ...expected });
});

const url = "http://localhost:42069/api/registrar-actions/0xab?type=renewal&page=2&limit=5";

test("links lead to the adjacent, first and last pages, with the request's other parameters", () => {
  expect(pageLinks(url, { page: 2, recordsPerPage: 5 }, 11)).toBe(
    '</api/registrar-actions/0xab?type=renewal&page=1&limit=5>; rel="first", ' +
      '</api/registrar-actions/0xab?type=renewal&page=1&limit=5>; rel="prev", ' +
      '</api/registrar-actions/0xab?type=renewal&page=3&limit=5>; rel="next", ' +
      '</api/registrar-actions/0xab?type=renewal&page=3&limit=5>; rel="last"',
  );
});

test("there are no links where they would fill a client's room for headers", () => {
  const long = `http://localhost/api/registrar-actions?other=${"a".repeat(5_000)}`;
  expect(describePage(long, { page: 1, recordsPerPage: 10 }, 30)).toMatchObject({ headers: {} });
  expect(pageLinks(long, { page: 1, recordsPerPage: 10 }, 30)).toBeUndefined();
});

test("the only page has no neighbours, and a request cannot break out of a link", () => {
  const hostile = 'http://localhost/api/registrar-actions?name=a>;%20rel="x"%0d%0aX:%20y';
  expect(pageLinks(hostile, { page: 1, recordsPerPage: 10 }, 3)).toBe(
    '</api/registrar-actions?name=a%3E%3B+rel%3D%22x%22%0D%0AX%3A+y&page=1>; rel="first", ' +
      '</api/registrar-actions?name=a%3E%3B+rel%3D%22x%22%0D%0AX%3A+y&page=1>; rel="last"',
  );
});
