import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { createWholeApi, sendTo } from "./support/in-process.ts";
import { describeRequest, wrongWith, wrongWithAnswer } from "./support/oracle.ts";
import {
  type ApiDocument,
  describedRequest,
  hostileQuery,
  type QueryDocument,
  queryRequest,
} from "./support/requests.ts";

let api: Awaited<ReturnType<typeof createWholeApi>>;
let described: ApiDocument;
beforeAll(async () => {
  api = await createWholeApi();
  described = (await (await api.app.request("/openapi.json")).json()) as ApiDocument;
});
afterAll(() => api?.close());

const fixture = new URL("../fixtures/client-queries.json", import.meta.url);
const queries: QueryDocument[] = JSON.parse(readFileSync(fixture, "utf8"));

describe("GraphQL", () => {
  test.each([1, 2, 3])("answers clients' queries with hostile values, seed %i", async (seed) => {
    const random = createRandom(seed);
    const kinds = new Set<string>();
    for (let i = 0; i < 150; i++) {
      const request = queryRequest(random, "/subgraph", hostileQuery(random, random.pick(queries)));
      const response = await sendTo(api.app, request);
      expect(wrongWithAnswer(request, response), describeRequest(request)).toBeUndefined();
      kinds.add(response.body.startsWith('{"data"') ? "data" : `${response.status}`);
    }
    // They must reach further than the parser.
    expect(kinds).toContain("data");
    expect(api.logged).toEqual([]);
  });
});

describe("pages", () => {
  const parameter = (name: string, example: string) => ({
    parameters: [{ name, in: "path", schema: { type: "string" }, example }],
    responses: {},
  });
  const pages: ApiDocument = {
    paths: {
      "/": { get: { responses: {} } },
      "/name/{name}": { get: parameter("name", "eth") },
      "/address/{address}": { get: parameter("address", `0x${"0".repeat(40)}`) },
    },
  };

  test.each([1, 2])("show any name and address, escaped, seed %i", async (seed) => {
    const random = createRandom(seed);
    const statuses = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const request = describedRequest(random, pages);
      const response = await sendTo(api.app, request);
      expect(wrongWith(request, response), describeRequest(request)).toBeUndefined();
      statuses.add(response.status);
      if (response.contentType?.startsWith("text/html") !== true) continue;
      // Neither control nor formatting characters but line feeds, and the page's own script only.
      expect(response.body, describeRequest(request)).not.toMatch(/[^\P{C}\n]/u);
      expect(response.body.match(/<script/g)?.length ?? 1, describeRequest(request)).toBe(1);
    }
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404]));
    expect(api.logged).toEqual([]);
  });
});

describe("REST", () => {
  test.each([1, 2, 3])("answers random requests to every described endpoint, seed %i", async (seed) => {
    const random = createRandom(seed);
    const paths = new Set<string>();
    for (let i = 0; i < 400; i++) {
      const request = describedRequest(random, described);
      const response = await sendTo(api.app, request);
      expect(wrongWith(request, response), describeRequest(request)).toBeUndefined();
      if (response.status === 200) paths.add(request.path.split("?")[0] ?? "");
    }
    expect(paths.size).toBeGreaterThan(3);
    expect(api.logged).toEqual([]);
  });

  test("answers unknown paths with any character in them", async () => {
    const random = createRandom(5);
    const folders = ["/", "/api/", "/subgraph/", "/docs/", "/amirealtime/", "/api/resolve/"];
    for (let i = 0; i < 200; i++) {
      const path = random.pick(folders) + encodeURIComponent(String.fromCharCode(random.below(0x300)));
      const request = { method: random.pick(["GET", "POST", "DELETE"]), path, headers: {} };
      const response = await sendTo(api.app, request);
      expect(wrongWith(request, response), path).toBeUndefined();
      expect(response.status, path).toBe(path === "/" ? 200 : 404);
    }
  });
});
