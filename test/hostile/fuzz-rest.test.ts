import { afterAll, beforeAll, expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { createWholeApi, sendTo } from "./support/in-process.ts";
import { describeRequest, wrongWith } from "./support/oracle.ts";
import { type ApiDocument, describedRequest } from "./support/requests.ts";

let api: Awaited<ReturnType<typeof createWholeApi>>;
let described: ApiDocument;
beforeAll(async () => {
  api = await createWholeApi();
  described = (await (await api.app.request("/openapi.json")).json()) as ApiDocument;
});
afterAll(() => api?.close());

test.each([1, 2, 3])("answers random requests to every described endpoint, seed %i", async (seed) => {
  const random = createRandom(seed);
  const paths = new Set<string>();
  for (let i = 0; i < 400; i++) {
    const request = describedRequest(random, described);
    const response = await sendTo(api.app, request);
    expect(wrongWith(request, response, 10_000), describeRequest(request)).toBeUndefined();
    if (response.status === 200) paths.add(request.path.split("?")[0] ?? "");
  }
  expect(paths.size).toBeGreaterThan(3);
  expect(api.logged).toEqual([]);
});

test("answers every path with hostile texts in its place", async () => {
  const random = createRandom(5);
  for (let i = 0; i < 200; i++) {
    const path = `/${random.pick(["api/", "subgraph/", "docs/", "amirealtime/", "", "api/resolve/"])}${encodeURIComponent(String.fromCharCode(random.below(0x300)))}`;
    const request = { method: random.pick(["GET", "POST", "DELETE"]), path, headers: {} };
    expect(wrongWith(request, await sendTo(api.app, request), 10_000), path).toBeUndefined();
  }
});
