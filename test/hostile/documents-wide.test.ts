import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase } from "../support/subgraph/endpoint.ts";
import { readDump } from "../support/subgraph/entities.ts";
import { expectRefusal } from "./support/refusal.ts";

// Small documents whose response would be huge: values under many aliases in many rows.

const dump = readDump(new URL("../fixtures/chain-a-entities.json.gz", import.meta.url));
let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  client = await createLoadedDatabase(dump);
});
afterAll(() => client?.close());

const times = (count: number, part: (place: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(" ");

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
    `{ ${times(1_000, (i) => `a${i}: domains(first: 1000) { ${times(9, (place) => `f${place}: id`)} }`)} }`,
  ],
])("refuses %s", async (_, query) => {
  expectRefusal(await createEndpoint(client).ask(query), /^(bytes of response|fields) /);
});

test("shows equal selections under other keys as if each had been read alone", async () => {
  const { ask } = createEndpoint(client);
  const parts = [
    "registration { registrationDate events { id } }",
    "owner { id domains(first: 2) { name } }",
    "events(first: 3) { id __typename ... on Transfer { owner { id } } }",
    "resolver { id texts }",
  ];
  const { data } = await ask(
    `{ domains(first: 50, orderBy: name) { name ${parts.map((part, i) => `a${i}: ${part} b${i}: ${part}`).join(" ")} } }`,
  );
  const alone = await Promise.all(
    parts.map((part) => ask(`{ domains(first: 50, orderBy: name) { name value: ${part} } }`)),
  );
  const rows = (data?.["domains"] ?? []) as { [key: string]: unknown }[];
  expect(rows).toHaveLength(50);
  for (const [place, row] of rows.entries()) {
    const expected = parts.map((_part, i) => alone[i]!.data?.["domains"]?.[place]?.["value"]);
    expect(parts.map((_part, i) => row[`a${i}`])).toEqual(expected);
    expect(parts.map((_part, i) => row[`b${i}`])).toEqual(expected);
  }
});

test("shows equal root fields under several keys, beside others", async () => {
  const { ask } = createEndpoint(client);
  const list = "domains(first: 2, orderBy: name) { id }";
  const { data } = await ask(
    `query($n: Int) { a: ${list} b: ${list} c: domains(first: $n, orderBy: name) { id } domains(first: 2, orderBy: name) { id } }`,
    { n: 1 },
  );
  expect(data?.["domains"]).toHaveLength(2);
  expect(data).toEqual({
    a: data?.["domains"],
    b: data?.["domains"],
    c: data?.["domains"]?.slice(0, 1),
    domains: data?.["domains"],
  });
});
