import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase } from "../support/subgraph/endpoint.ts";
import { readDump } from "../support/subgraph/entities.ts";
import { expectRefusal } from "./support/refusal.ts";

// Filters whose keys and values come from variables that a document uses again and again.

const dump = readDump(new URL("../fixtures/chain-a-entities.json.gz", import.meta.url));
let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  client = await createLoadedDatabase(dump);
});
afterAll(() => client?.close());

const times = (count: number, part: (place: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(" ");
const conditions = (count: number) => ({
  or: Array.from({ length: count }, (_, i) => ({ id: i.toString(36) })),
});
const ids = (count: number) => Array.from({ length: count }, (_, i) => `0x${i.toString(16)}`);
const underAliases = (count: number, type: string, where: string, first = (_place: number) => 1) =>
  `query($w: ${type}) { ${times(count, (i) => `a${i}: domains(first: ${first(i)}, where: ${where}) { id }`)} }`;

test.each([
  [
    "1,000 aliases of 9,000 conditions",
    underAliases(1_000, "Domain_filter", "$w"),
    conditions(9_000),
    "keys",
  ],
  ["10 aliases of 1,000 conditions", underAliases(10, "Domain_filter", "$w"), conditions(1_000), "keys"],
  [
    "10 different lists of 1,000 conditions",
    underAliases(10, "Domain_filter", "$w", (place) => place + 1),
    conditions(1_000),
    "keys",
  ],
  [
    "8 groups of 9,000 conditions",
    "query($w: Domain_filter) { domains(where: $w) { id } }",
    { or: Array.from({ length: 8 }, () => conditions(9_000)) },
    "keys",
  ],
  [
    "1,000 aliases of id_in with 10,000 values",
    underAliases(1_000, "[ID!]", "{ id_in: $w }"),
    ids(10_000),
    "values",
  ],
  [
    "1,000 aliases of name_in with 10,000 values",
    underAliases(1_000, "[String!]", "{ name_in: $w }"),
    ids(10_000),
    "values",
  ],
  [
    "1,000 aliases of name_in with long names",
    underAliases(1_000, "[String!]", "{ name_in: $w }"),
    Array.from({ length: 3_000 }, (_, i) => `${i}`.padEnd(300, "x")),
    "values",
  ],
  [
    "1,000 aliases of a text of 900 kB",
    underAliases(1_000, "String", "{ name_contains: $w }", (place) => 1 + (place % 1_000)),
    "x".repeat(900_000),
    "values",
  ],
  [
    "an id of 900 kB under 1,000 aliases",
    `query($w: ID!) { ${times(1_000, (i) => `a${i}: domain(id: $w) { id }`)} }`,
    "x".repeat(900_000),
    "values",
  ],
  [
    "a block's hash of 900 kB under 1,000 aliases",
    `query($w: Bytes) { ${times(1_000, (i) => `a${i}: domains(block: { hash: $w }) { id }`)} }`,
    `0x${"ab".repeat(450_000)}`,
    "values",
  ],
])("refuses %s", async (_, query, w, unit) => {
  expectRefusal(
    await createEndpoint(client).ask(query, { w }),
    unit === "keys" ? /^filter keys / : /^values in arg/,
  );
});

test("refuses a filter of the document that a fragment repeats", async () => {
  const filter = `{ or: [${times(500, (i) => `{ id: "${i}" }`)}] }`;
  const query = `{ accounts(first: 1) { ${times(1_000, (i) => `a${i}: domains(first: ${i % 1_000 || 1}) { ...F }`)} } }
    fragment F on Domain { subdomains(where: ${filter}) { id } }`;
  expectRefusal(await createEndpoint(client).ask(query), /^(filter keys|bytes of response|entities) /);
});

test("refuses more bound values than a statement may have, whatever else is allowed", async () => {
  const limits = {
    filterKeys: 1_000_000,
    filterValues: 1_000_000,
    sqlLength: 100_000_000,
    parameters: 65_535,
  };
  const query = `query(${times(8, (i) => `$w${i}: Domain_filter`)}) { ${times(8, (i) => `a${i}: domains(first: 1, where: $w${i}) { id }`)} }`;
  const variables = Object.fromEntries(
    Array.from({ length: 8 }, (_, part) => [
      `w${part}`,
      { or: Array.from({ length: 8_200 }, (_item, i) => ({ id: (part * 8_200 + i).toString(36) })) },
    ]),
  );
  const limit = expectRefusal(await createEndpoint(client, limits).ask(query, variables), /^bound values /);
  expect(limit).toBe(65_535);
});

test("refuses SQL that is longer than the operator allows", async () => {
  const query = `{ ${times(100, (i) => `a${i}: domains(first: 1, where: { name: "${i}" }) { id }`)} }`;
  const limit = expectRefusal(
    await createEndpoint(client, { sqlLength: 10_000 }).ask(query),
    /^characters of SQL$/,
  );
  expect(limit).toBe(10_000);
});

test("filters by a variable under many aliases as by one", async () => {
  const { ask } = createEndpoint(client);
  const w = {
    and: [
      { name_ends_with: ".eth" },
      { or: [{ owner_: { id_gt: "0x5" } }, { registration_: { cost_gt: "0" } }, { resolver_not: null }] },
    ],
  };
  const { data } = await ask(
    `query($w: Domain_filter) { ${times(12, (i) => `a${i}: domains(first: ${i + 1}, orderBy: name, where: $w) { id subdomains(where: $w) { id } }`)} }`,
    { w },
  );
  const { data: one } = await ask(
    "query($w: Domain_filter) { domains(first: 12, orderBy: name, where: $w) { id subdomains(where: $w) { id } } }",
    { w },
  );
  expect(one?.["domains"]).toHaveLength(12);
  for (let i = 0; i < 12; i++) expect(data?.[`a${i}`]).toEqual(one?.["domains"]?.slice(0, i + 1));
});

test("binds a list once that is used many times", async () => {
  const { ask } = createEndpoint(client, { parameters: 100 });
  const known = dump["Domain"]!.slice(0, 20).map(({ id }) => id);
  const { data, errors } = await ask(
    `query($w: [ID!]) { ${times(30, (i) => `a${i}: domains(first: ${i + 1}, where: { id_in: $w }) { id }`)} }`,
    { w: known },
  );
  expect(errors).toBeUndefined();
  expect(data?.["a29"]?.map(({ id }) => id)).toEqual([...known].sort());
});
