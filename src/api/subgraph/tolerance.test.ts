import { afterAll, beforeAll, expect, test } from "vitest";
import { recordedEntities } from "../../../test/support/recordings.ts";
import { createEndpoint, createRecordedDatabase } from "../../../test/support/subgraph/endpoint.ts";

const dump = recordedEntities();
const eth = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
let client: Awaited<ReturnType<typeof createRecordedDatabase>>;

beforeAll(async () => {
  client = await createRecordedDatabase();
});
afterAll(() => client.close());

const text = async (query: string, variables?: unknown, more: object = {}) =>
  (await createEndpoint(client).post({ query, variables, ...more })).text();

test.each([
  ["a String! variable for an id", `query($id: String!) { domain(id: $id) { name } }`, { id: eth }],
  ["a nullable variable for an id", `query($id: String) { domain(id: $id) { name } }`, { id: eth }],
  [
    "a variable of a type that does not exist",
    `query($id: Nonsense) { domain(id: $id) { name } }`,
    { id: eth },
  ],
  ["arguments that do not exist", `{ domain(id: "${eth}", start: 4, wat: [1]) { name } }`, {}],
  ["variables that are not declared", `{ domain(id: "${eth}") { name } }`, { other: 1 }],
  ["variables that are not used", `query($a: Int!, $b: [Foo]) { domain(id: "${eth}") { name } }`, { a: 1 }],
  ["selections on a scalar", `{ domain(id: "${eth}") { name { wat } } }`, {}],
  ["an object without selections", `{ domain(id: "${eth}") { name parent owner } }`, {}],
  ["directives that do not exist", `query @cached { domain(id: "${eth}") @fast { name } }`, {}],
  [
    "null for every argument that has a default",
    `query($n: Int) { domain(id: "${eth}", block: null, subgraphError: deny) { name subdomains(first: $n, skip: null, where: null) @skip(if: true) { id } } }`,
    {},
  ],
])("accepts %s", async (_, query, variables) => {
  expect(await text(query, variables)).toBe('{"data":{"domain":{"name":"eth"}}}');
});

test("accepts the values of enums as strings and integers for BigInt and ID", async () => {
  const query = `query($by: String, $to: String, $after: Int) {
    domains(first: 1, orderBy: $by, orderDirection: $to, where: { createdAt_gt: $after, id_gt: 0 }) { name }
    quoted: domains(first: 1, orderBy: "createdAt", orderDirection: "desc") { name }
  }`;
  const answer = '{"name":"rasvo.tab\\there.eth"}';
  expect(await text(query, { by: "createdAt", to: "desc", after: 1 })).toBe(
    `{"data":{"domains":[${answer}],"quoted":[${answer}]}}`,
  );
});

test("reads a variable without a value as the default of an argument, and as null within a filter", async () => {
  const query = `query($first: Int, $skip: Int, $by: Domain_orderBy, $where: Domain_filter, $name: String) {
    all: domains(first: $first, skip: $skip, orderBy: $by, where: $where) { id }
    unnamed: domains(where: { name: $name }) { id }
  }`;
  const { data } = await createEndpoint(client).ask(query);
  expect(data?.["all"]).toHaveLength(100);
  expect(data?.["unnamed"]).toEqual([{ id: `0x${"0".repeat(64)}` }]);
});

test("takes a single value as a list of one", async () => {
  expect(await text(`{ domains(where: { name_in: "eth" }) { name } }`)).toBe(
    '{"data":{"domains":[{"name":"eth"}]}}',
  );
});

test("returns __typename at every level and keeps items that no fragment matches", async () => {
  const query = `{ __typename domainEvents(first: 1, where: { id: "1002-5" }) { ... on Transfer { id } }
    newResolver(id: "1002-5") { __typename domain { __typename } }
    _meta { __typename block { __typename number } } }`;
  expect(await text(query)).toBe(
    '{"data":{"__typename":"Query","domainEvents":[{}],"newResolver":{"__typename":"NewResolver","domain":{"__typename":"Domain"}},' +
      '"_meta":{"__typename":"_Meta_","block":{"__typename":"_Block_","number":1666}}}}',
  );
});

test("merges fields that are requested twice and keeps the order of the document", async () => {
  const query = `query Q { domain(id: "${eth}") { owner { id } ...Rest labelName } domain(id: "${eth}") { name } }
    fragment Rest on Domain { name owner { again: id } }`;
  const owner = dump["Domain"]!.find(({ id }) => id === eth)!["owner"];
  expect(await text(query)).toBe(
    `{"data":{"domain":{"owner":{"id":"${owner}","again":"${owner}"},"name":"eth","labelName":"eth"}}}`,
  );
});

test("obeys @skip and @include on fields, fragments and spreads", async () => {
  const query = `query($yes: Boolean = true) { domain(id: "${eth}") {
    a: name @include(if: $yes) b: name @skip(if: $yes) ...F @skip(if: true) ... @include(if: false) { c: name } } }
    fragment F on Domain { d: name }`;
  expect(await text(query)).toBe('{"data":{"domain":{"a":"eth"}}}');
});

test("runs the named operation among several", async () => {
  const query = `query A { domain(id: "${eth}") { name } } query B { domain(id: "${eth}") { labelName } }`;
  expect(await text(query, {}, { operationName: "B" })).toBe('{"data":{"domain":{"labelName":"eth"}}}');
  expect(await text(query)).toBe('{"errors":[{"message":"Operation name required"}]}');
  expect(await text(query, {}, { operationName: "C" })).toBe(
    '{"errors":[{"message":"The document has no operation `C`."}]}',
  );
});

test("returns an object with the zero address for a resolver that was set to zero", async () => {
  const query = `{ newResolver(id: "1003-1") { resolver { id address addr { id } domain { name } texts events { id } __typename } } }`;
  const zero = `0x${"0".repeat(40)}`;
  expect(await text(query)).toBe(
    `{"data":{"newResolver":{"resolver":{"id":"${zero}","address":"${zero}","addr":null,"domain":null,"texts":null,"events":[],"__typename":"Resolver"}}}}`,
  );
});

test("fails like the original if another required relation dangles", async () => {
  await client.exec(
    `INSERT INTO domain_event (id, type, block_number, transaction_id, domain_id, ttl) VALUES ('0-0', 'NewTTL', 1, sha256('1'), '0xnowhere', 5)`,
  );
  expect(await text(`{ newTTL(id: "0-0") { ttl domainId } }`)).toBe(
    '{"data":{"newTTL":{"ttl":"5","domainId":"0xnowhere"}}}',
  );
  expect(await text(`{ newTTL(id: "0-0") { ttl domain { name } } }`)).toBe(
    '{"errors":[{"message":"Null value resolved for non-null field `domain`"}]}',
  );
  await client.exec("DELETE FROM domain_event WHERE id = '0-0'");
});

test("offers the fields of the newer implementation in addition to the original's", async () => {
  const query = `{ domain(id: "${eth}") { parentId ownerId newOwners(first: 1) { ownerId parentDomainId } nameWrappeds { id } }
    domains(first: 1, orderBy: parentId, where: { ownerId_in: ["0x70997970c51812dc3a010c7d01b50e0d17dc79c8"], id_starts_with: "0x0" }) { id }
    resolvers(first: 1, where: { texts_has: "avatar", coinTypes_not_has: 714, coinTypes_has: "60" }) { texts coinTypes } }`;
  const root = `0x${"0".repeat(64)}`;
  const owner = dump["Domain"]!.find(({ id }) => id === eth)!["owner"];
  const { data } = await createEndpoint(client).ask<{ [key: string]: unknown }>(query);
  expect(data?.["domain"]).toMatchObject({ parentId: root, ownerId: owner, nameWrappeds: [] });
  expect(data?.["domains"]).toEqual([{ id: root }]);
  expect(data?.["resolvers"]).toEqual([{ texts: ["avatar"], coinTypes: ["60"] }]);
});

test("reads wildcards of LIKE in the values of pattern filters, as the original does", async () => {
  const names = async (filter: string) => {
    const { data } = await createEndpoint(client).ask(`{ domains(first: 2, where: { ${filter} }) { name } }`);
    return data?.["domains"]?.map(({ name }) => name);
  };
  expect(await names('name_contains: "%th", name_not_contains: "."')).toEqual(["eth"]);
  expect(await names('name_starts_with: "e_h", labelName_ends_with: "h"')).toEqual(["eth"]);
  expect(await names('name_contains: "e\\\\th", labelName: "eth"')).toEqual(["eth"]);
  expect(
    await names('name_starts_with: "%", labelName_contains_nocase: "%ETH%", name_not_contains: "."'),
  ).toEqual(["eth"]);
});

test("a list that contains one of several values is none that contains none of them", async () => {
  const isFound = async (values: string) => {
    const where = `{ texts_has: "avatar", texts_not_contains: ${values} }`;
    const { data } = await createEndpoint(client).ask(`{ resolvers(first: 1, where: ${where}) { id } }`);
    return data?.["resolvers"]?.length === 1;
  };
  expect([await isFound('["nothing"]'), await isFound('["avatar", "nothing"]')]).toEqual([true, false]);
});

test("folds the case of ASCII letters only", async () => {
  const hits = async (value: string) =>
    (
      await createEndpoint(client).ask(
        `{ domains(where: { labelName_contains_nocase: "${value}" }) { labelName } }`,
      )
    ).data?.["domains"];
  expect(await hits("ξTHERIUM")).toEqual([{ labelName: "ξtherium" }]);
  expect(await hits("Ξtherium")).toEqual([]);
});

test("filters by the block of the last change, of events by their block", async () => {
  const { ask } = createEndpoint(client);
  await client.query("UPDATE domain SET change_block = 1500 WHERE id = $1", [eth]);
  const { data } = await ask(
    `query($since: Int) { domains(where: { _change_block: { number_gte: $since } }) { name }
      newOwners(first: 1000, where: { _change_block: { number_gte: 1600 } }) { blockNumber }
      child: registrations(where: { domain_: { _change_block: { number_gte: 1 } } }) { id } }`,
    { since: 1500 },
  );
  expect(data?.["domains"]).toEqual([{ name: "eth" }]);
  const since = dump["NewOwner"]!.filter(({ blockNumber }) => Number(blockNumber) >= 1600);
  expect(data?.["newOwners"]).toEqual(since.map(({ blockNumber }) => ({ blockNumber })));
  expect(data?.["child"]).toEqual([]);
});

test("sorts nested lists by relations and filters through relations of relations", async () => {
  const { data, errors } = await createEndpoint(client).ask<{
    domain: { subdomains: { id: string }[] };
    domains: { id: string }[];
  }>(
    `{ domain(id: "${eth}") { subdomains(first: 3, orderBy: registration__expiryDate, orderDirection: asc) { id } }
      domains(where: { parent_: { parent_: { name: "eth" } } }, first: 1000) { id } }`,
  );
  expect(errors).toBeUndefined();
  const byId = new Map(dump["Domain"]!.map((domain) => [domain.id, domain]));
  const terms = new Map(
    dump["Registration"]!.map((entity) => [entity["domain"], Number(entity["expiryDate"])]),
  );
  const below = dump["Domain"]!.filter(({ parent, id }) => parent === eth && terms.has(id));
  below.sort((a, b) => terms.get(a.id)! - terms.get(b.id)! || (a.id < b.id ? -1 : 1));
  expect(data?.domain.subdomains).toEqual(below.slice(0, 3).map(({ id }) => ({ id })));
  const thirds = dump["Domain"]!.filter(({ parent }) => byId.get(String(parent))?.["parent"] === eth);
  expect(data?.domains).toEqual(thirds.map(({ id }) => ({ id })));
});

test.each([
  "domains",
  "domains orderBy: createdAt",
  "domains orderBy: createdAt, orderDirection: desc",
  "domains orderBy: id, orderDirection: desc",
  "domains orderBy: name",
  "domains orderBy: expiryDate, orderDirection: desc",
  'domains orderBy: subdomainCount, where: { or: [{ isMigrated: true }, { parent_: { name: "eth" } }] }',
  "domains orderBy: owner__id",
  "domainEvents orderBy: blockNumber",
  "transfers orderBy: blockNumber, orderDirection: desc",
])("a deep page is a part of the whole list: %s", async (list) => {
  const [root, ...rest] = list.split(" ");
  const page = async (first: number, skip: number) => {
    const { data } = await createEndpoint(client).ask(
      `{ ${root}(first: ${first}, skip: ${skip}, ${rest.join(" ")}) { id } }`,
    );
    return data?.[root ?? ""] as unknown[];
  };
  const whole = await page(1_000, 0);
  const max = whole.length - 1;
  expect(max).toBeGreaterThan(180);
  // From 100 on the first row of a page is looked for by itself.
  for (const [first, skip] of [
    [7, 99],
    [7, 100],
    [30, 150],
    [1, max],
  ] as const)
    expect(await page(first, skip)).toEqual(whole.slice(skip, skip + first));
  if (whole.length < 1_000) expect(await page(10, whole.length)).toEqual([]);
});

test("sorts ids that begin with the same bytes, and goes on after one of them", async () => {
  const owner = `0x${"5c".repeat(20)}`;
  const [first, second, third] = ["3", "7", "b"].map((digit) => `0x12345678${digit.repeat(56)}`);
  for (const id of [third, first, second])
    await client.query(
      "INSERT INTO domain (id, subdomain_count, is_migrated, created_at, owner_id, change_block) VALUES ($1, 0, true, 1, $2, 1)",
      [id, owner],
    );
  const list = (filter: string, direction = "asc") =>
    `domains(where: { owner: "${owner}", ${filter} }, orderBy: id, orderDirection: ${direction}) { id }`;
  const query = `{ all: ${list("", "desc")} after: ${list(`id_gt: "${first}"`)} before: ${list(`id_lt: "${third}"`)}
    in: ${list(`id_in: ["${second}"]`)} starts: ${list(`id_starts_with: "${second?.slice(0, 20)}"`)} }`;
  const rows = (...ids: unknown[]) => ids.map((id) => ({ id }));
  expect(JSON.parse(await text(query))).toEqual({
    data: {
      all: rows(third, second, first),
      after: rows(second, third),
      before: rows(first, second),
      in: rows(second),
      starts: rows(second),
    },
  });
  await client.query("DELETE FROM domain WHERE owner_id = $1", [owner]);
});
