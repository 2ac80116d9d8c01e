import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase, headBlock } from "../../../test/support/subgraph/endpoint.ts";

let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  client = await createLoadedDatabase({ Account: [{ id: "0x01" }] });
  await client.exec(
    "INSERT INTO domain (id, name, subdomain_count, is_migrated, created_at, owner_id, change_block) VALUES ('0x01', 'ab', 0, TRUE, 0, '0x01', 0)",
  );
});
afterAll(() => client.close());

const answer = async (query: string, variables?: unknown) => {
  const response = await createEndpoint(client).post({ query, variables });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  return response.json();
};
const message = async (query: string, variables?: unknown) =>
  (await answer(query, variables)).errors[0].message;

test("returns errors without data, with the location in the document for an unknown field", async () => {
  expect(await answer("{ domains(first: 1) { id\n  wat } }")).toEqual({
    errors: [{ locations: [{ line: 2, column: 3 }], message: "Type `Domain` has no field `wat`" }],
  });
});

test.each([
  ["{ wat }", "Type `Query` has no field `wat`"],
  ["{ _meta { wat } }", "Type `_Meta_` has no field `wat`"],
  ["{ domainEvents { owner { id } } }", "Type `DomainEvent` has no field `owner`"],
  ["{ domains { ...Missing } }", "fragment `Missing` is not defined"],
  [
    "{ domains { ...A } } fragment A on Domain { parent { ...B } } fragment B on Domain { ...A }",
    "query has fragment cycle including `A`",
  ],
  ["{ domains { id }", "Syntax Error: Expected Name, found <EOF>."],
  ["mutation { domains { id } }", "Not supported: mutation"],
  ["subscription { domains { id } }", "Not supported: subscription"],
  ["fragment A on Domain { id }", "The document contains no operation."],
  ["{ domain { id } }", "No value provided for required argument: `id`"],
  ["query($id: ID) { domain(id: $id) { id } }", "No value provided for required argument: `id`"],
  ["query($id: ID!) { domain(id: $id) { id } }", "No value provided for required variable: `id`"],
  ["{ domain(id: 1.5) { id } }", "Invalid value provided for argument `id`: expected ID, but got 1.5"],
  ["{ resolvers(orderBy: texts) { id } }", "Ordering by `texts` is not supported for type `Resolver`"],
  [
    "query($v: Int) { domains(where: { ttl_lte: $v }) { id } }",
    "Store error: unsupported filter `<=` for value `null` (`ttl_lte`)",
  ],
])("refuses %s", async (query, expected) => {
  expect(await message(query)).toBe(expected);
});

const invalid = (argument: string, reason: string) =>
  `Invalid value provided for argument \`${argument}\`: ${reason}`;

test.each([
  ["block: { hash: { toString: false } }", invalid("block", '{"hash":{"toString":false}}')],
  ["block: {}", invalid("block", "{}")],
  ["block: 5", invalid("block", "5")],
  ...["0", "-3", "1001", "99999999999999999999"].map((first) => [
    `first: ${first}`,
    `The \`first\` argument must be between 0 and 1000, but is ${first}`,
  ]),
  ['first: "5"', invalid("first", 'expected Int, but got "5"')],
  ["skip: -1", "The `skip` argument must be between 0 and 4294967295, but is -1"],
  ["orderBy: wat", invalid("orderBy", '`Domain_orderBy` has no value "wat"')],
  ["orderBy: owner", "Ordering by `owner` is not supported for type `Domain`"],
  ["orderBy: id, orderDirection: up", invalid("orderDirection", '`OrderDirection` has no value "up"')],
  ["where: 5", invalid("where", "expected an object of type Domain_filter, but got 5")],
  ...[
    ["wat: 1", "`Domain_filter` has no field `wat`"],
    ["name: 5", "`name` takes String, but got 5"],
    ["ttl: 1.5", "`ttl` takes BigInt, but got 1.5"],
    ["ttl: 9223372036854775808", '`ttl` takes BigInt, but got "9223372036854775808"'],
    ["subdomainCount: 2147483648", "`subdomainCount` takes Int, but got 2147483648"],
    ["isMigrated: 1", "`isMigrated` takes Boolean, but got 1"],
    ["name_in: [null]", "`name_in` takes String, but got null"],
    ["or: { name: null }", '`or` takes a list, but got {"name":null}'],
    ["_change_block: {}", "`_change_block` takes {number_gte: Int!}"],
  ].map(([filter, reason = ""]) => [`where: { ${filter} }`, invalid("where", reason)]),
  ...["0xabc", "0xzz", "0X00", "é"].map((value) => [
    `where: { labelhash: "${value}" }`,
    `Failed to decode \`Bytes\` value: \`"${value}" is not hexadecimal\``,
  ]),
  ["where: { name_gt: null }", "Store error: unsupported filter `>` for value `null` (`name_gt`)"],
  [
    "where: { name_contains: null }",
    "Store error: unsupported filter `contains` for value `null` (`name_contains`)",
  ],
  ["where: { id_in: null }", "Non-list value passed to `_in` filter (`id_in`)"],
  ["where: { owner_: null }", "Query contains value with invalid type"],
  ['where: { name_ends_with: "\\\\" }', "Store error: LIKE pattern must not end with escape character"],
])("refuses domains with %s", async (given, expected) => {
  expect(await message(`{ domains(${given}) { id } }`)).toBe(expected);
});

test("fails the whole group of root fields with the same block, and no other", async () => {
  expect(await answer("{ accounts { id } domains(first: 1001) { id } }")).toEqual({
    errors: [{ message: "The `first` argument must be between 0 and 1000, but is 1001" }],
  });
  expect(
    await answer("{ accounts { id } late: domains(first: 1001, block: { number_gte: 1 }) { id } }"),
  ).toEqual({
    data: { accounts: [{ id: "0x01" }] },
    errors: [{ message: "The `first` argument must be between 0 and 1000, but is 1001" }],
  });
});

const later = (number: number) =>
  `value: \`subgraph test has only indexed up to block number 1666 and data for block number ${number} is therefore not yet available\``;

// graph-node locates the block of every group before it appends a result, and returns the first error alone
// (graphql/src/runner.rs, StoreResolver::at_block).
test("fails the whole request, without data, when one root field's block cannot be served", async () => {
  const late = "late: accounts(block: { number: 2000 }) { id }";
  for (const query of [
    `{ accounts { id } ${late} }`,
    `{ ${late} accounts { id } }`,
    `{ domains(first: 1001) { id } ${late} accounts(block: { number: 1 }) { id } }`,
    `{ accounts { id } _meta(block: { number: 2000 }) { deployment } }`,
  ]) {
    expect(await answer(query)).toEqual({
      errors: [{ message: `Failed to decode \`block.number\` ${later(2000)}` }],
    });
  }
});

test.each([
  ["{ number_gte: 1667 }", `Failed to decode \`block.number_gte\` ${later(1667)}`],
  ["{ number: 2000 }", `Failed to decode \`block.number\` ${later(2000)}`],
  [
    "{ number: 1000 }",
    "Failed to decode `block.number` value: `subgraph test only has data starting at block number 1666 and data for block number 1000 is therefore not available`",
  ],
  ['{ hash: "0x12" }', "Failed to decode `block.hash` value: `no block with that hash found`"],
  ...["null", "{ number_gte: 1666 }", "{ number_gte: 0 }", "{ number: 1666 }"].map((met) => [met, undefined]),
  [`{ hash: "${headBlock.hash}" }`, undefined],
  [`{ hash: "${headBlock.hash}", number: 1, number_gte: 9999 }`, undefined],
])("checks the block constraint %s", async (block, expected) => {
  const { data, errors } = await answer(`{ accounts(block: ${block}) { id } }`);
  expect([data?.accounts, errors?.[0].message]).toEqual(
    expected ? [undefined, expected] : [[{ id: "0x01" }], undefined],
  );
});

test("returns _meta with hashes, and without them for a block requested by number", async () => {
  const query = `{ head: _meta { __typename deployment hasIndexingErrors block { __typename number hash parentHash timestamp } }
    numbered: _meta(block: { number: 1666 }) { block { number hash parentHash } } }`;
  expect(await answer(query)).toEqual({
    data: {
      head: {
        __typename: "_Meta_",
        deployment: "test",
        hasIndexingErrors: false,
        block: {
          __typename: "_Block_",
          number: 1666,
          hash: headBlock.hash,
          parentHash: headBlock.parentHash,
          timestamp: 1_700_000_000,
        },
      },
      numbered: { block: { number: 1666, hash: null, parentHash: null } },
    },
  });
});

test("reports indexing errors while there are some, and serves the data all the same", async () => {
  let hasErrors = true;
  const { ask, app } = createEndpoint(client, {}, { hasErrors: () => hasErrors });
  const query = "{ _meta { hasIndexingErrors } accounts { id } }";
  const data = { accounts: [{ id: "0x01" }] };
  expect(await ask(query)).toEqual({ data: { _meta: { hasIndexingErrors: true }, ...data } });
  const get = (tag: string) =>
    app.request(`/?query=${encodeURIComponent(query)}`, { headers: { "if-none-match": tag } });
  const cachingOf = ({ headers }: Response) => [headers.get("etag"), headers.get("cache-control")];
  expect(cachingOf(await get("*"))).toEqual([null, null]);
  hasErrors = false;
  const fresh = await get("");
  expect(await fresh.json()).toEqual({ data: { _meta: { hasIndexingErrors: false }, ...data } });
  const [tag] = cachingOf(fresh);
  expect((await get(tag ?? "")).status).toBe(304);
  hasErrors = true;
  expect((await get(tag ?? "")).status).toBe(200);
});

test("no response is tagged while rows change within a block, and former tags end with it", async () => {
  let edition: string | undefined = "";
  const { app } = createEndpoint(client, {}, { edition: () => edition });
  const get = (tag: string) =>
    app.request(`/?query=${encodeURIComponent("{ accounts { id } }")}`, {
      headers: { "if-none-match": tag },
    });
  const before = (await get("")).headers.get("etag") ?? "";
  edition = undefined;
  const meanwhile = await get(before);
  expect([meanwhile.status, meanwhile.headers.get("etag")]).toEqual([200, null]);
  edition = "-labels1";
  const after = await get(before);
  expect(after.status).toBe(200);
  expect((await get(after.headers.get("etag") ?? "")).status).toBe(304);
});

test.each([
  [{ number: 1600 }, { number: 1600, timestamp: null, hash: null }],
  [
    { number: 1600, timestamp: 1_699_999_000 },
    { number: 1600, timestamp: 1_699_999_000, hash: null },
  ],
  [
    { number: 1667, timestamp: 1_700_000_012 },
    { number: 1666, timestamp: 1_700_000_000, hash: headBlock.hash },
  ],
])("names no block past the end of an indexed range, and reads at its end: %j", async (endBlock, block) => {
  const { ask } = createEndpoint(client, {}, { endBlock: () => endBlock });
  const query = `{ _meta { block { number timestamp hash } } accounts(block: { number: ${block.number} }) { id } }`;
  expect(await ask(query)).toEqual({ data: { _meta: { block }, accounts: [{ id: "0x01" }] } });
});

test("returns block 0 while no block is indexed", async () => {
  const empty = await createLoadedDatabase({});
  await empty.exec("DELETE FROM _ponder_checkpoint");
  const { ask } = createEndpoint(empty);
  const block = { number: 0, hash: null, timestamp: null };
  expect(await ask("{ _meta { hasIndexingErrors block { number hash timestamp } } domains { id } }")).toEqual(
    { data: { _meta: { hasIndexingErrors: false, block }, domains: [] } },
  );
  await empty.close();
});
