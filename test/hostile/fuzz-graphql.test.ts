import { afterAll, beforeAll, expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { createSchema } from "../../src/api/subgraph/schema/schema.ts";
import { createDocuments } from "./support/documents.ts";
import { createWholeApi, sendTo } from "./support/in-process.ts";
import { describeRequest, wrongWithAnswer } from "./support/oracle.ts";
import { queryRequest } from "./support/requests.ts";

let api: Awaited<ReturnType<typeof createWholeApi>>;
beforeAll(async () => {
  api = await createWholeApi();
});
afterAll(() => api?.close());

const schema = createSchema();
const mostMs = 10_000;

test.each([1, 2, 3])("answers random documents over the schema, seed %i", async (seed) => {
  const random = createRandom(seed);
  const nextDocument = createDocuments(schema, random);
  const statuses = new Set<string>();
  for (let i = 0; i < 150; i++) {
    const request = queryRequest(random, "/subgraph", nextDocument());
    const response = await sendTo(api.app, request);
    expect(wrongWithAnswer(request, response, mostMs), describeRequest(request)).toBeUndefined();
    statuses.add(response.body.startsWith('{"data"') ? "data" : `${response.status}`);
  }
  // The grammar must reach further than the parser.
  expect(statuses).toContain("data");
  expect(api.logged).toEqual([]);
});

test("documents without intended mistakes are mostly answered with data", async () => {
  const nextDocument = createDocuments(schema, createRandom(4), { values: 0, names: 0, texts: 0 });
  let answered = 0;
  for (let i = 0; i < 60; i++) {
    const body = JSON.stringify(nextDocument());
    const headers = { "content-type": "application/json" };
    const response = await sendTo(api.app, { method: "POST", path: "/subgraph", headers, body });
    if (response.body.startsWith('{"data"')) answered += 1;
  }
  expect(answered).toBeGreaterThan(20);
});
