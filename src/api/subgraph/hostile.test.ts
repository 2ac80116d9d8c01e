import { afterAll, beforeAll, expect, test } from "vitest";
import { recordedEntities } from "../../../test/support/recordings.ts";
import { createEndpoint, createRecordedDatabase } from "../../../test/support/subgraph/endpoint.ts";

const dump = recordedEntities();
let client: Awaited<ReturnType<typeof createRecordedDatabase>>;
beforeAll(async () => {
  client = await createRecordedDatabase();
});
afterAll(() => client.close());

const errorOf = async (query: string, variables?: unknown) => {
  const response = await createEndpoint(client).post({ query, variables });
  expect(response.status).toBe(200);
  const { errors } = await response.json();
  return errors?.[0].message as string | undefined;
};
const nested = (open: string, inner: string, close: string, levels: number) =>
  `${open.repeat(levels)}${inner}${close.repeat(levels)}`;

test.each([
  [
    "selections nested beyond the limit",
    `{ domains { ${nested("parent { ", "id", " }", 101)} } }`,
    "query has a depth that exceeds the limit of `100`",
  ],
  [
    "selections nested beyond the stack",
    nested("{ a ", "b", " }", 14_000),
    "The document is nested too deeply.",
  ],
  [
    "lists nested beyond the stack",
    `{ domains(where: { and: ${nested("[", "", "]", 14_000)} }) { id } }`,
    "The document is nested too deeply.",
  ],
  [
    "a document of too many tokens",
    `{ ${"a ".repeat(65_001)} }`,
    "The document has more than 65000 tokens. Split it into several requests.",
  ],
  [
    "filters nested too deeply",
    `{ domains(where: ${nested("{ and: [", "{}", "] }", 90)}) { id } }`,
    "The value of an argument is nested too deeply.",
  ],
  [
    "a bomb of fragments",
    `{ domains { ...F0 } } ${Array.from({ length: 30 }, (_, i) => `fragment F${i} on Domain { ...F${i + 1} ...F${i + 1} }`).join(" ")} fragment F30 on Domain { id }`,
    "The query costs at least 10001 fields (fragments put in); the limit is 10000. Select fewer, or split the query into several requests.",
  ],
  [
    "lists in lists in lists",
    "{ domains(first: 1000) { subdomains(first: 1000) { subdomains(first: 1000) { id } } } }",
    "The query costs at least 1001001000 entities (the product of `first` down its lists); the limit is 2000000. Ask for fewer with `first`, or in several requests.",
  ],
  [
    "more root fields than a statement has columns",
    `{ ${Array.from({ length: 1001 }, (_, i) => `a${i}: account(id: "0x0") { id }`).join(" ")} }`,
    "The document has more than 1000 root fields. Split it into several requests.",
  ],
])("refuses %s", async (_, query, expected) => {
  expect(await errorOf(query)).toBe(expected);
});

test("refuses lists of values beyond the limit, also as variables", async () => {
  const ids = Array.from({ length: 10_001 }, (_, i) => `${i}`);
  expect(await errorOf("query($ids: [ID!]) { domains(where: { id_in: $ids }) { id } }", { ids })).toBe(
    "Invalid value provided for argument `where`: `id_in` has 10001 values and may have 10000; split it into several requests",
  );
  expect(
    await errorOf("query($w: Domain_filter) { domains(where: $w) { id } }", {
      w: { or: ids.map((id) => ({ id })) },
    }),
  ).toBe(
    "Invalid value provided for argument `where`: `or` has 10001 values and may have 10000; split it into several requests",
  );
});

test("answers legal documents that look like attacks", async () => {
  const aliases = Array.from(
    { length: 300 },
    (_, i) => `n${i}: registrations(first: 1, where: { labelName: "name${i}" }) { registrant { id } }`,
  );
  expect(await errorOf(`{ ${aliases.join(" ")} }`)).toBeUndefined();
  expect(await errorOf(`{ domains(first: 1) { ${nested("parent { ", "id", " }", 60)} } }`)).toBeUndefined();
  const ids = Array.from({ length: 10_000 }, (_, i) => `0x${i}`);
  expect(
    await errorOf("query($ids: [ID!]) { domains(where: { id_in: $ids }) { id } }", { ids }),
  ).toBeUndefined();
  expect(await errorOf("{ domains(skip: 4294967295) { id } }")).toBeUndefined();
  const wide = Array.from({ length: 400 }, (_, i) => `a${i}: name`).join(" ");
  expect(await errorOf(`{ domains(first: 2) { ${wide} } }`)).toBeUndefined();
});

test("limits the skip of lists where the operator says so", async () => {
  const { ask } = createEndpoint(client, { skip: 5_000 });
  expect((await ask("{ domains(skip: 5001) { id } }")).errors?.[0]?.message).toBe(
    "The `skip` argument must be between 0 and 5000, but is 5001",
  );
});

test("refuses to send an answer that is larger than the limit", async () => {
  const { ask } = createEndpoint(client, { responseBytes: 10_000 });
  expect((await ask("{ domains(first: 1000) { id name } }")).errors?.[0]?.message).toBe(
    "The response has more than 10000 bytes. Ask for fewer entities with `first`, or for fewer fields.",
  );
});

const injections = [
  "'; DROP TABLE domain; --",
  '"; DROP TABLE domain; --',
  "$1::text",
  "\\'; SELECT pg_sleep(10); --",
  '{"a":1}',
  "{a,b}",
  "\u0001domain\u0001",
  "\u202e\u2028\u2029",
  "a".repeat(100_000),
];
test.each(injections)("treats a hostile string as a value: %j", async (value) => {
  const query = `query($v: String!, $list: [String!]!) {
    is: domains(first: 1, where: { name: $v }) { id }
    in: domains(first: 1, where: { name_in: $list }) { id }
    id: domain(id: $v) { id }
    like: domains(first: 1, where: { name_contains: $v, labelName_starts_with: $v }) { id }
    nocase: domains(first: 1, where: { name_contains_nocase: $v }) { id }
    owner: domains(first: 1, where: { owner: $v, owner_in: $list }) { id }
    texts: resolvers(first: 1, where: { texts_contains: $list }) { id }
    nocaseTexts: resolvers(first: 1, where: { texts_contains_nocase: $list }) { id }
    child: domains(first: 1, where: { resolver_: { texts: $list } }) { id }
  }`;
  const { data, errors } = await createEndpoint(client).ask(query, { v: value, list: [value] });
  expect(errors).toBeUndefined();
  expect(
    Object.values(data ?? {})
      .flat()
      .filter((found) => found !== null),
  ).toEqual([]);
});

test("answers floods of wildcards in time", async () => {
  const flood = "%".repeat(5_000);
  const { ask } = createEndpoint(client);
  expect(
    (await ask(`{ domains(first: 1000, where: { name_contains: "${flood}" }) { id } }`)).data?.["domains"],
  ).toHaveLength(1000);
  const { data } = await ask(`{ domains(where: { name_contains_nocase: "${"%a_".repeat(500)}" }) { id } }`);
  expect(data?.["domains"]).toEqual([]);
});

test("reads half of a surrogate pair as the replacement character", async () => {
  const { data } = await createEndpoint(client).ask(
    "query($v: String) { domains(where: { name_contains: $v }) { id } }",
    { v: "\ud800" },
  );
  const held = dump["Domain"]!.filter(({ name }) => String(name).includes("\ufffd"));
  expect(data?.["domains"]).toEqual(held.map(({ id }) => ({ id })));
});

test.each(["name", "name_gt", "name_contains", "name_in", "id", "parent"])(
  "refuses a value of %s with NUL, which no stored text has",
  async (key) => {
    expect(await errorOf(`{ domains(where: { ${key}: "e\\u0000th" }) { id } }`)).toBe(
      'Invalid value "e\\u0000th": it contains NUL, which Postgres cannot hold',
    );
  },
);

test.each([
  ["{ domains(where: { createdAt_gt: $v }) { id } }", "9".repeat(1000), undefined],
  ["{ domains(where: { createdAt_gt: $v }) { id } }", "9".repeat(1001), /^Invalid value/],
  ["{ domains(where: { createdAt_gt: $v }) { id } }", 1e30, /^Invalid value/],
  ["{ domains(first: $v) { id } }", 1e300, /must be between 0 and 1000/],
  ["{ domains(skip: $v) { id } }", 4_294_967_296, /must be between 0 and 4294967295/],
  ["{ domains(where: { _change_block: { number_gte: $v } }) { id } }", 2 ** 31, /^Invalid value/],
  ["{ domain(id: $v) { id } }", { a: 1 }, /^Invalid value/],
  ["{ domains(where: $v) { id } }", [[]], /^Invalid value/],
  ["{ domains(where: $v) { id } }", { __proto__: null, constructor: 1 }, /^Invalid value/],
  ["{ domains(orderBy: $v) { id } }", { id: 1 }, /^Invalid value/],
])("answers %s with a value out of bounds", async (query, value, expected) => {
  const message = await errorOf(`query($v: Int) ${query}`, { v: value });
  if (expected === undefined) expect(message).toBeUndefined();
  else expect(message).toMatch(expected);
});

test("answers a request of bytes that are no UTF-8", async () => {
  const body = Buffer.concat([
    Buffer.from('{"query":"{ domains(where: { name: \\"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('\\" }) { id } }"}'),
  ]);
  const { app } = createEndpoint(client);
  const response = await app.request("/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect([response.status, await response.text()]).toEqual([200, '{"data":{"domains":[]}}']);
});
