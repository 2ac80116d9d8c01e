import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase } from "../support/subgraph/endpoint.ts";
import { expectRefusal } from "./support/refusal.ts";

// Introspection whose response would be huge: types of types, or the whole schema many times.

let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  client = await createLoadedDatabase({});
});
afterAll(() => client?.close());

const times = (count: number, part: (place: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(" ");
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
  ["the schema", (place: number) => `a${place}: __schema { types { name fields { name args { name } } } }`],
  [
    "a type",
    (place: number) => `a${place}: __type(name: "Domain_filter") { inputFields { name type { name } } }`,
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
  expectRefusal(await createEndpoint(client).ask(bomb), /^fields/);
});

test("answers what client tools ask", async () => {
  const query = getIntrospectionQuery({
    inputValueDeprecation: true,
    schemaDescription: true,
    directiveIsRepeatable: true,
    specifiedByUrl: true,
  });
  const { data, errors } = await createEndpoint(client).ask<{ __schema: { types: unknown[] } }>(query);
  expect(errors).toBeUndefined();
  expect(data?.__schema.types.length).toBeGreaterThan(100);
});
