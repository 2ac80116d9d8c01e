import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase, headBlock } from "../../../test/support/subgraph/endpoint.ts";

// Queries of clients whose answers are no entities: the chain's head, introspection, errors.

let client: Awaited<ReturnType<typeof createLoadedDatabase>>;

beforeAll(async () => {
  client = await createLoadedDatabase({});
});
afterAll(() => client.close());

const answer = async (query: string) => {
  const response = await createEndpoint(client).post({ query });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  return response.text();
};

test.each([
  [
    "the ENS app's look at the index",
    "query getMeta { _meta { hasIndexingErrors block { number } } }",
    '{"data":{"_meta":{"hasIndexingErrors":false,"block":{"number":1666}}}}',
  ],
  ["the ENS app's poll", "{ _meta { block { number } } }", '{"data":{"_meta":{"block":{"number":1666}}}}'],
  [
    "a cache that asks for every type's name",
    "query getMetaBlockNumber { _meta { block { number __typename } __typename } }",
    '{"data":{"_meta":{"block":{"number":1666,"__typename":"_Block_"},"__typename":"_Meta_"}}}',
  ],
  [
    "a page that is too long, with the head",
    "{ domains(first: 1001) { id } _meta { block { number } } }",
    '{"errors":[{"message":"The `first` argument must be between 0 and 1000, but is 1001"}]}',
  ],
  [
    "an unknown field",
    "{ domains(first: 1) { id wat } }",
    '{"errors":[{"locations":[{"line":1,"column":26}],"message":"Type `Domain` has no field `wat`"}]}',
  ],
])("answers %s", async (_, query, expected) => {
  expect(await answer(query)).toBe(expected);
});

test("returns the head in full, and fails a request for a block that is not indexed yet as a whole", async () => {
  const head = "head: _meta { deployment hasIndexingErrors block { number hash timestamp parentHash } }";
  expect(JSON.parse(await answer(`{ ${head} }`))).toEqual({
    data: { head: { deployment: "test", hasIndexingErrors: false, block: headBlock } },
  });
  const query = `{ ${head} old: _meta(block: { number: 15000000 }) { block { number hash } } }`;
  expect(JSON.parse(await answer(query))).toEqual({
    errors: [
      {
        message:
          "Failed to decode `block.number` value: `subgraph test has only indexed up to block number 1666 and data for block number 15000000 is therefore not yet available`",
      },
    ],
  });
});

test("answers a code generator's introspection with the original's types", async () => {
  const { data } = JSON.parse(
    await answer(`query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name }
      types { kind name fields(includeDeprecated: true) { name args { name type { kind name ofType { kind name ofType { kind name } } } defaultValue } }
        inputFields { name type { kind name } } interfaces { name } enumValues(includeDeprecated: true) { name } possibleTypes { name } }
      directives { name locations args { name } } } }`),
  );
  const { queryType, mutationType, subscriptionType, types } = data.__schema;
  expect([queryType, mutationType, subscriptionType]).toEqual([{ name: "Query" }, null, null]);

  type Named = { name: string };
  type Type = Named & { [list in "fields" | "inputFields" | "enumValues" | "possibleTypes"]: Named[] | null };
  const byName = new Map((types as Type[]).map((type) => [type.name, type]));
  const surface: { fields: string[]; filters: string[]; sorts: string[] } = JSON.parse(
    gunzipSync(
      readFileSync(new URL("../../../test/fixtures/subgraph-surface.json.gz", import.meta.url)),
    ).toString(),
  );
  const namesOf = (type: string, list: "fields" | "inputFields") =>
    new Set(byName.get(type)?.[list]?.map(({ name }) => name));
  const missing = [
    ...surface.fields.map((line) => ({ line, suffix: "", list: "fields" as const })),
    ...surface.filters.map((line) => ({ line, suffix: "_filter", list: "inputFields" as const })),
  ].filter(({ line, suffix, list }) => {
    const [type = "", field = ""] = line.split(" ")[0]?.split(".") ?? [];
    return !namesOf(`${type}${suffix}`, list).has(field);
  });
  expect(missing).toEqual([]);
  expect(byName.get("OrderDirection")?.enumValues).toEqual([{ name: "asc" }, { name: "desc" }]);
  expect(byName.get("RegistrationEvent")?.possibleTypes).toEqual([
    { name: "NameRegistered" },
    { name: "NameRenewed" },
    { name: "NameTransferred" },
  ]);
});
