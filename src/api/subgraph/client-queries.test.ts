import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase } from "../../../test/support/subgraph/endpoint.ts";
import { readDump } from "../../../test/support/subgraph/entities.ts";
import { createEvaluator } from "../../../test/support/subgraph/evaluate.ts";

type Case = { name: string; query: string; variables: { [name: string]: unknown } };

const fixture = (name: string) => new URL(`../../../test/fixtures/${name}`, import.meta.url);
const cases: Case[] = JSON.parse(readFileSync(fixture("client-queries.json"), "utf8"));
const dump = readDump(fixture("chain-a-entities.json.gz"));
const evaluate = createEvaluator(dump);
let client: Awaited<ReturnType<typeof createLoadedDatabase>>;

beforeAll(async () => {
  client = await createLoadedDatabase(dump);
});
afterAll(() => client.close());

// What the entities imply is worked out by test/support/evaluate.ts, without SQL.
test.each(cases)("$name", async ({ query, variables }) => {
  const response = await createEndpoint(client).post({ query, variables });
  expect(await response.text()).toBe(JSON.stringify({ data: evaluate(query, variables) }));
});
