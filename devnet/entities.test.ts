import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { compareEntities, type Entities, type Entity, readEntities } from "./entities.ts";

const account = { id: "0xaa" };
const domain = { id: "0x01", name: "eth", owner: "0xaa", resolver: null, subdomainCount: 1 };
const expected: Entities = { Account: [account], Domain: [domain], NewResolver: [] };

test("equal entities have no differences", () => {
  expect(compareEntities(expected, structuredClone(expected))).toEqual({
    total: 2,
    equal: 2,
    acceptedFields: 0,
    differences: [],
  });
});

test("reports missing, unexpected and different entities", () => {
  const got = { Account: [{ id: "0xbb" }], Domain: [{ ...domain, name: null, subdomainCount: 2 }] };
  expect(compareEntities(expected, got)).toEqual({
    total: 2,
    equal: 0,
    acceptedFields: 0,
    differences: [
      "Account 0xaa is missing",
      "Account 0xbb is too many",
      'Domain 0x01: name null instead of "eth", subdomainCount 2 instead of 1',
    ],
  });
});

test("an accepted value counts as equal, any other does not", () => {
  const accepted = { Domain: { "0x01": { name: [null] } } };
  const withName = (name: unknown) => ({ ...expected, Domain: [{ ...domain, name }] });
  expect(compareEntities(expected, withName(null), accepted)).toMatchObject({ equal: 2, acceptedFields: 1 });
  expect(compareEntities(expected, withName("other"), accepted)).toMatchObject({
    equal: 1,
    acceptedFields: 0,
  });
});

test("a dangling relation is null if nullable, else its id", () => {
  const stored: Entities = {
    Domain: [{ id: "0x01", resolver: "0xcc-0x01" }],
    NewResolver: [{ id: "1-0", resolver: "0xcc-0x01" }],
    Resolver: [],
  };
  const answered: Entities = {
    Domain: [{ id: "0x01", resolver: null }],
    NewResolver: [{ id: "1-0", resolver: "0xcc-0x01" }],
  };
  expect(compareEntities(stored, answered).differences).toEqual([]);
  expect(
    compareEntities(stored, { ...answered, Domain: [{ id: "0x01", resolver: "0xcc-0x01" }] }).differences,
  ).toEqual(['Domain 0x01: resolver "0xcc-0x01" instead of null']);
});

let server: Server | undefined;
afterEach(() => server?.close());

/** An endpoint that returns list fields in pages of two, as one with its own limit may. */
async function endpoint(lists: Record<string, Entity[]>, queries: string[] = []): Promise<string> {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { query } = JSON.parse(Buffer.concat(chunks).toString());
    queries.push(query);
    const [, list, after] = /rows: (\w+)\(.*id_gt: (".*?")/.exec(query) ?? [];
    const rows = lists[list!]?.filter(({ id }) => id > JSON.parse(after!)).slice(0, 2);
    const body = rows === undefined ? { errors: [{ message: "no such list" }] } : { data: { rows } };
    response.end(JSON.stringify(body));
  });
  server.listen(0);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("reads all pages and turns relations into ids", async () => {
  const queries: string[] = [];
  const url = await endpoint(
    {
      accounts: ["0xaa", "0xbb", "0xcc"].map((id) => ({ id })),
      domains: [{ ...domain, owner: { id: "0xaa" } }],
      newResolvers: [],
    },
    queries,
  );
  expect(await readEntities(url, expected)).toEqual({
    Account: [{ id: "0xaa" }, { id: "0xbb" }, { id: "0xcc" }],
    Domain: [domain],
    NewResolver: [],
  });
  expect(queries.find((query) => query.includes("domains"))).toContain(
    "{ id name owner { id } resolver { id } subdomainCount }",
  );
});

test("a response with errors does not count as an empty list", async () => {
  const url = await endpoint({});
  await expect(readEntities(url, expected)).rejects.toThrow("accounts cannot be read: no such list");
});
