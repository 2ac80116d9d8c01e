import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Entity } from "../../../devnet/entities.ts";
import { clientQueries, readFixture, recordedEntities } from "../../../test/support/recordings.ts";
import { seeds } from "../../../test/support/rounds.ts";
import { createEndpoint, createRecordedDatabase } from "../../../test/support/subgraph/endpoint.ts";
import { createEvaluator } from "../../../test/support/subgraph/evaluate.ts";
import { exampleQueries } from "./graphiql.ts";
import { entityTypes } from "./schema/inputs.ts";

const cases = clientQueries();
const surface: { filters: string[]; sorts: string[] } = readFixture("subgraph-surface.json.gz");
const dump = recordedEntities();
const types = Object.keys(dump);
// What the entities imply is worked out by test/support/subgraph/evaluate.ts, without SQL.
const evaluate = createEvaluator(dump);
let client: Awaited<ReturnType<typeof createRecordedDatabase>>;

beforeAll(async () => {
  client = await createRecordedDatabase();
});
afterAll(() => client.close());

test.each(types)("returns every %s as the original has it", async (name) => {
  const type = entityTypes.get(name)!;
  const { ask } = createEndpoint(client);
  const relations = [...type.fields.values()]
    .filter(({ kind }) => kind === "relation")
    .map((field) => field.name);
  const fields = Object.keys(dump[name]![0]!).map((key) => (relations.includes(key) ? `${key} { id }` : key));
  const found: Entity[] = [];
  for (let last = ""; ; ) {
    const { data, errors } = await ask(
      `query Page($last: String) { page: ${type.plural}(first: 1000, where: { id_gt: $last }) { ${fields.join(" ")} } }`,
      { last },
    );
    expect(errors).toBeUndefined();
    const page = data?.["page"] ?? [];
    if (page.length === 0) break;
    found.push(...page);
    last = page.at(-1)!.id;
  }
  const plain = found.map((entity) => ({
    ...entity,
    ...Object.fromEntries(relations.map((key) => [key, (entity[key] as Entity | null)?.id ?? null])),
  }));
  const known = new Set(dump["Domain"]!.map(({ id }) => id));
  // A resolver may hold records of a node that no registry ever made: the relation then answers null.
  const expected = dump[name]!.map((entity) =>
    name === "Resolver" && !known.has(String(entity["domain"])) ? { ...entity, domain: null } : entity,
  );
  expect(plain).toEqual(expected);
});

test.each(exampleQueries(1_600_000_000))("GraphiQL's example %s finds something", async (query) => {
  const { data, errors } = await createEndpoint(client).ask(query);
  expect(errors).toBeUndefined();
  const [rows] = Object.values(data ?? {});
  expect(rows?.length).toBeGreaterThan(0);
});

test.each(cases)("answers as the entities imply: $name", async ({ query, variables }) => {
  const response = await createEndpoint(client).post({ query, variables });
  expect(await response.text()).toBe(JSON.stringify({ data: evaluate(query, variables) }));
});

const entriesOf = (lines: string[], type: string) =>
  lines
    .filter((line) => line.startsWith(`${type}.`))
    .map((line) => line.slice(type.length + 1).split(" ") as [string, string]);

/** Values that rows hold in a field, each once, without characters that LIKE reads as wildcards. */
const valuesOf = (type: string, field: string) =>
  [...new Set(dump[type]!.flatMap((entity) => entity[field] as string | null))]
    .filter((value) => value !== null && value !== undefined && !/[%_\\]/.test(String(value)))
    .slice(0, 400);

function part(text: string, from: number, length: number): string {
  if (!/^0x[0-9a-f]*$/.test(text)) return [...text].slice(from, from + length).join("");
  return `0x${text.slice(2 + 2 * from, 2 + 2 * (from + length))}`;
}

/** A filter on one column: any of its operators, with a value that some row has, or a part of one. */
const columnFilter = (type: string, of = /^/): fc.Arbitrary<{ [key: string]: unknown }> => {
  const keys = entriesOf(surface.filters, type).filter(
    ([key]) => !/^and$|^or$|_$|^_change_block$/.test(key) && of.test(key),
  );
  return fc.constantFrom(...keys).chain(([key, input]) => {
    const fields = Object.keys(dump[type]![0]!).sort((a, b) => b.length - a.length);
    const field = fields.find((name) => key === name || key.startsWith(`${name}_`))!;
    const values = valuesOf(type, field);
    if (values.length === 0) return fc.constant({});
    const value = fc.constantFrom(...values);
    if (input.startsWith("[")) return fc.array(value, { maxLength: 4 }).map((list) => ({ [key]: list }));
    if (/contains|starts_with|ends_with/.test(key)) {
      const some = fc.tuple(value, fc.nat(3), fc.integer({ min: 1, max: 3 }));
      return some.map(([text, from, length]) => ({ [key]: part(String(text), from, length) }));
    }
    const nullable = key === field || key === `${field}_not`;
    return (nullable ? fc.option(value, { freq: 4 }) : value).map((one) => ({ [key]: one }));
  });
};
/** Column filters in groups of any depth, also beside other keys. */
const tree = (type: string) =>
  fc.letrec((again) => ({
    node: fc.oneof(
      { depthSize: "small" },
      columnFilter(type),
      fc.tuple(columnFilter(type), columnFilter(type)).map(([one, other]) => ({ ...one, ...other })),
      fc.record({ and: fc.array(again("node"), { maxLength: 2 }) }),
      fc.record({ or: fc.array(again("node"), { maxLength: 3 }) }),
      fc
        .tuple(columnFilter(type), fc.array(again("node"), { maxLength: 2 }))
        .map(([one, or]) => ({ ...one, or })),
    ),
  })).node;

test.each(types)("filters, sorts and pages %s like the evaluator over entities in memory", async (type) => {
  const { ask } = createEndpoint(client);
  const list = `${type.charAt(0).toLowerCase()}${type.slice(1)}s`;
  const query = `query Any($where: ${type}_filter, $orderBy: ${type}_orderBy, $direction: OrderDirection, $first: Int, $skip: Int) {
    ${list}(where: $where, orderBy: $orderBy, orderDirection: $direction, first: $first, skip: $skip) { id }
  }`;
  const anyQuery = fc.record({
    where: tree(type),
    orderBy: fc.constantFrom(...entriesOf(surface.sorts, type).map(([key]) => key)),
    direction: fc.constantFrom("asc", "desc"),
    first: fc.constantFrom(1, 10, 1000),
    skip: fc.constantFrom(0, 0, 3),
  });
  await fc.assert(
    fc.asyncProperty(anyQuery, async (variables) => {
      expect(await ask(query, variables)).toEqual({ data: evaluate(query, variables) });
    }),
    { numRuns: 12 * seeds.length },
  );
});

test.each([
  ["Domain", /^(owner|parent|registrant|resolvedAddress|expiryDate)$/],
  ["Registration", /^(registrant|expiryDate)$/],
  ["WrappedDomain", /^(owner|expiryDate)$/],
])("reads each %s that shares a value by its id like the evaluator", async (type, shared) => {
  const { ask } = createEndpoint(client);
  const list = `${type.charAt(0).toLowerCase()}${type.slice(1)}s`;
  const query = `query Any($where: ${type}_filter, $direction: OrderDirection, $skip: Int) {
    ${list}(where: $where, orderBy: id, orderDirection: $direction, skip: $skip, first: 20) { id } }`;
  const anyQuery = fc.record({
    where: fc
      .tuple(columnFilter(type, shared), columnFilter(type, /^id/))
      .map(([one, other]) => ({ ...one, ...other })),
    direction: fc.constantFrom("asc", "desc"),
    skip: fc.constantFrom(0, 2, 100),
  });
  await fc.assert(
    fc.asyncProperty(anyQuery, async (variables) => {
      expect(await ask(query, variables)).toEqual({ data: evaluate(query, variables) });
    }),
    { numRuns: 20 * seeds.length },
  );
});
