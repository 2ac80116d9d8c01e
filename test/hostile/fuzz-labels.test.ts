import { afterAll, beforeAll, expect, test } from "vitest";
import { createRandom, type Random } from "../../devnet/random.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { startServer, unusualLabels } from "../support/labels/running-server.ts";
import { describeRequest, wrongWith } from "./support/oracle.ts";
import { type ApiDocument, batchRequest, describedRequest, type FuzzRequest } from "./support/requests.ts";

let server: Awaited<ReturnType<typeof startServer>>;
let described: ApiDocument;
beforeAll(async () => {
  server = await startServer();
  server.database.reload({ isForced: true });
  described = (await server.ask("/openapi.json")).body as ApiDocument;
});
afterAll(() => server?.stop());

const known = ["eth", "xyz", "new", ...unusualLabels].map(labelhash);

async function expectSound(make: (random: Random) => FuzzRequest, seed: number, count: number) {
  const random = createRandom(seed);
  const statuses = new Set<number>();
  for (let i = 0; i < count; i++) {
    const request = make(random);
    const { method, path, headers, body = null } = request;
    const given = method === "GET" || method === "HEAD" ? {} : { body };
    const response = await fetch(server.base + path, { method, headers, ...given });
    const { status } = response;
    const found = { status, contentType: response.headers.get("content-type"), body: await response.text() };
    expect(wrongWith(request, found), describeRequest(request)).toBeUndefined();
    statuses.add(status);
  }
  expect(server.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  return statuses;
}

test.each([1, 2])("answers random requests to every described endpoint, seed %i", async (seed) => {
  const statuses = await expectSound((random) => describedRequest(random, described), seed, 400);
  expect(statuses).toContain(200);
  expect(statuses).toContain(400);
});

test.each([3, 4])("answers random batches, seed %i", async (seed) => {
  const statuses = await expectSound((random) => batchRequest(random, known), seed, 200);
  expect(statuses).toContain(200);
  expect(statuses).toContain(400);
});
