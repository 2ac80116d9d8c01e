import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileRequest } from "../../src/api/subgraph/compile/compile.ts";
import { createDocumentReader } from "../../src/api/subgraph/request/document.ts";
import { createIntrospection } from "../../src/api/subgraph/request/introspection.ts";
import type { Value } from "../../src/api/subgraph/schema/inputs.ts";
import { defaultSubgraphLimits, type SubgraphLimits } from "../../src/config/limits.ts";
import { clientQueries, recordedEntities } from "../support/recordings.ts";
import { createEndpoint, createRecordedDatabase } from "../support/subgraph/endpoint.ts";

// GraphQL documents and variables that cost far more than their size, and those of clients.

const dump = recordedEntities();
let client: Awaited<ReturnType<typeof createRecordedDatabase>>;
beforeAll(async () => {
  client = await createRecordedDatabase();
});
afterAll(() => client?.close());

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const times = (count: number, part: (index: number) => string) => range(count).map(part).join(" ");

/**
 * Expects a response with one error alone, which shows a price above its limit and how to ask instead; returns the
 * limit.
 */
function expectRefusal(answer: unknown, unit: RegExp): number {
  const { errors } = answer as { errors: { message: string }[] };
  expect(answer).toEqual({ errors: [expect.objectContaining({ message: expect.any(String) })] });
  const shape = /^The query costs at least (\d+) (.+); the limit is (\d+)\. [A-Z][^.]+.*\.$/;
  const [, price, what, limit] = shape.exec(errors[0]!.message) ?? [];
  expect(what, errors[0]!.message).toMatch(unit);
  expect(Number(price)).toBeGreaterThan(Number(limit));
  return Number(limit);
}

describe("small documents whose response would be huge", () => {
  test.each([
    [
      "one field under 7,400 aliases in 1,000 rows",
      `{ domains(first: 1000) { ${times(7_400, (i) => `f${i}: id`)} } }`,
    ],
    [
      "an account's id under 3,000 aliases of 2 keys in 1,000 rows",
      `{ domains(first: 1000) { ${times(3_000, (i) => `f${i}: owner { x: id y: id }`)} } }`,
    ],
    [
      "80 objects with 90 fields each by a fragment",
      `{ registrations(first: 1000) { ${times(80, (i) => `r${i}: domain { ...F }`)} } }
        fragment F on Domain { ${times(90, (i) => `a${i}: id`)} }`,
    ],
    [
      "10 kB of fragments for 600 MB",
      `{ domains(first: 1000) { ${times(25, (i) => `r${i}: parent { ...F }`)} } }
        fragment F on Domain { ${times(25, (i) => `s${i}: parent { ...G }`)} }
        fragment G on Domain { ${times(15, (i) => `a${i}: id`)} }`,
    ],
    [
      "the same list under 1,000 aliases",
      `{ ${times(1_000, (i) => `a${i}: domains(first: 1000) { ${times(9, (index) => `f${index}: id`)} }`)} }`,
    ],
  ])("refuses %s", async (_, query) => {
    expectRefusal(await createEndpoint(client).ask(query), /^(bytes of response|fields) /);
  });
});

describe("filters whose keys and values come from variables that are used again and again", () => {
  const conditions = (count: number) => ({
    or: Array.from({ length: count }, (_, i) => ({ id: i.toString(36) })),
  });
  const ids = (count: number) => Array.from({ length: count }, (_, i) => `0x${i.toString(16)}`);
  const underAliases = (count: number, type: string, where: string, first = (_place: number) => 1) =>
    `query($w: ${type}) { ${times(count, (i) => `a${i}: domains(first: ${first(i)}, where: ${where}) { id }`)} }`;

  test.each([
    ["10 aliases of 1,000 conditions", underAliases(10, "Domain_filter", "$w"), conditions(1_000), "keys"],
    [
      "10 different lists of 1,000 conditions",
      underAliases(10, "Domain_filter", "$w", (index) => index + 1),
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
      "1,000 aliases of name_in with long names",
      underAliases(1_000, "[String!]", "{ name_in: $w }"),
      Array.from({ length: 3_000 }, (_, i) => `${i}`.padEnd(300, "x")),
      "values",
    ],
    [
      "1,000 aliases of a text of 900 kB",
      underAliases(1_000, "String", "{ name_contains: $w }", (index) => 1 + (index % 1_000)),
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
});

describe("documents and variables that are nested more deeply than the stack has room for", () => {
  const errorOf = async (body: string) => {
    const response = await createEndpoint(client).post(body);
    expect(response.status).toBe(200);
    const { data, errors } = await response.json();
    expect(data).toBeUndefined();
    return errors[0].message as string;
  };

  const chain = (type: string, last: string, order: (places: number[]) => number[]) => {
    const fragments = order(range(5_000)).map((i) => `fragment F${i} on ${type} { ...F${i + 1} }`);
    return `${fragments.join(" ")} fragment F5000 on ${type} { ${last} }`;
  };
  const backwards = range(5_000)
    .reverse()
    .map((i) => `...F${i}`)
    .join(" ");

  test.each([
    ["a chain of fragments", `{ domains { ...F0 } } ${chain("Domain", "id", (places) => places)}`],
    [
      "a chain of fragments, the last first",
      `{ domains { ${backwards} } } ${chain("Domain", "id", (places) => places.reverse())}`,
    ],
    [
      "a chain of fragments in introspection",
      `{ __schema { types { ...F0 } } } ${chain("__Type", "name", (places) => places)}`,
    ],
    ["inline fragments", `{ domains { ${"... { ".repeat(3_000)} id ${"} ".repeat(3_000)} } }`],
    [
      "introspection",
      `{ __schema { queryType { ${"ofType { ".repeat(3_000)} name ${"} ".repeat(3_000)} } } }`,
    ],
  ])("refuses %s", async (_, query) => {
    expect(await errorOf(JSON.stringify({ query }))).toBe("The document is nested too deeply.");
  });

  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  test.each([
    ["first", "domains(first: $v) { id }"],
    ["id", "domain(id: $v) { id }"],
    ["orderBy", "domains(orderBy: $v) { id }"],
    ["block", "domains(block: $v) { id }"],
    ["where", "domains(where: { name: $v }) { id }"],
    ["where", "domains(where: $v) { id }"],
  ])("refuses a deeply nested value of %s", async (name, field) => {
    const message = await errorOf(`{"query":"query($v: Any) { ${field} }","variables":{"v":${deep}}}`);
    expect(message).toContain(`Invalid value provided for argument \`${name}\``);
    expect(message).toContain("a deeply nested value");
  });

  test("introspects beside a variable whose default is a number of any length", async () => {
    const query = `query($v: Int = ${"9".repeat(40)}) { __schema { queryType { name } } }`;
    expect((await createEndpoint(client).ask(query)).data).toEqual({
      __schema: { queryType: { name: "Query" } },
    });
  });
});

describe("introspection of types of types, or of the whole schema many times", () => {
  const nested = (levels: number, inner: string): string =>
    levels === 0 ? "name" : inner.replace("..", nested(levels - 1, inner));

  test.each([
    [
      "through interfaces",
      `{ __schema { types { possibleTypes { ${nested(5, "interfaces { possibleTypes { .. } }")} } } } }`,
    ],
    [
      "through interfaces of one type",
      `{ __type(name: "DomainEvent") { ${nested(8, "possibleTypes { interfaces { .. } }")} } }`,
    ],
  ])("refuses types nested %s", async (_, query) => {
    const limit = expectRefusal(await createEndpoint(client).ask(query), /^characters of introspection$/);
    expect(limit).toBe(10_000_000);
  });

  test.each([
    ["the schema", (index: number) => `a${index}: __schema { types { name fields { name args { name } } } }`],
    [
      "a type",
      (index: number) => `a${index}: __type(name: "Domain_filter") { inputFields { name type { name } } }`,
    ],
  ])("refuses %s under 1,000 aliases", async (_, part) => {
    const query = `{ ${times(1_000, part)} }`;
    expectRefusal(
      await createEndpoint(client, { introspection: 1_000_000 }).ask(query),
      /^characters of introspection$/,
    );
  });

  test("refuses fields under thousands of aliases", async () => {
    const wide = `{ __schema { types { fields { ${times(4_500, (i) => `a${i}: name`)} } } } }`;
    expectRefusal(await createEndpoint(client).ask(wide), /^characters of introspection$/);
  });

  test("refuses fragments that repeat others", async () => {
    const bomb = `{ __type(name: "Int") { ...F0 } } ${times(40, (i) => `fragment F${i} on __Type { ...F${i + 1} ...F${i + 1} }`)} fragment F40 on __Type { name }`;
    expectRefusal(await createEndpoint(client).ask(bomb), /^fields /);
  });
});

// What known clients send stays far below every limit.

const tools = [{ name: "a code generator's introspection", query: getIntrospectionQuery(), variables: {} }];
const limits = Object.fromEntries(
  Object.entries(defaultSubgraphLimits).map(([name, limit]) => [name, Math.floor(limit / 10)]),
) as SubgraphLimits;

test.each([...clientQueries(), ...tools])("costs less than a tenth of every limit: $name", async (given) => {
  const request = {
    ...given,
    variables: given.variables as { [name: string]: Value },
    operationName: undefined,
    extensions: { counts: false, truncated: false },
  };
  expect(Buffer.byteLength(JSON.stringify(given))).toBeLessThan(limits.bodyBytes);
  const reading = { limits, readDocument: createDocumentReader(limits), introspect: createIntrospection() };
  await expect(compileRequest(request, reading)).resolves.toBeDefined();
});
