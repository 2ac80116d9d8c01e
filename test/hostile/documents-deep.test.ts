import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase } from "../support/subgraph/endpoint.ts";

// Documents and variables that are nested more deeply than the stack has room for.

let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  client = await createLoadedDatabase({});
});
afterAll(() => client?.close());

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
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
  ["introspection", `{ __schema { queryType { ${"ofType { ".repeat(3_000)} name ${"} ".repeat(3_000)} } } }`],
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
