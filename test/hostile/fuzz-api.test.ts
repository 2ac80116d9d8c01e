import { afterAll, beforeAll, expect, test } from "vitest";
import { createRandom, type Random } from "../../devnet/random.ts";
import { clientQueries } from "../support/recordings.ts";
import { createWholeApi, sendTo } from "./support/in-process.ts";
import { describeRequest, type FuzzResponse, wrongWith, wrongWithAnswer } from "./support/oracle.ts";
import {
  type ApiDocument,
  describedRequest,
  type FuzzRequest,
  hostileQuery,
  queryRequest,
} from "./support/requests.ts";

let api: Awaited<ReturnType<typeof createWholeApi>>;
let described: ApiDocument;
beforeAll(async () => {
  api = await createWholeApi();
  described = (await (await api.app.request("/openapi.json")).json()) as ApiDocument;
});
afterAll(() => api?.close());

const queries = clientQueries();

/**
 * Sends random requests, each of which `isWrong` finds sound and none of which is logged as an error; shows `see` the
 * responses.
 */
async function fuzz(
  seed: number,
  count: number,
  {
    make,
    isWrong = wrongWith,
    see,
  }: {
    make: (random: Random) => FuzzRequest;
    isWrong?: typeof wrongWith;
    see: (response: FuzzResponse, request: FuzzRequest) => void;
  },
) {
  const random = createRandom(seed);
  for (let i = 0; i < count; i++) {
    const request = make(random);
    const response = await sendTo(api.app, request);
    expect(isWrong(request, response), describeRequest(request)).toBeUndefined();
    see(response, request);
  }
  expect(api.logged).toEqual([]);
}

test.each([1, 2, 3])("answers clients' queries with hostile values, seed %i", async (seed) => {
  const kinds = new Set<string>();
  await fuzz(seed, 150, {
    make: (random) => queryRequest(random, "/subgraph", hostileQuery(random, random.pick(queries))),
    isWrong: wrongWithAnswer,
    see: ({ body, status }) => kinds.add(body.startsWith('{"data"') ? "data" : `${status}`),
  });
  // They must reach further than the parser.
  expect(kinds).toContain("data");
});

const parameter = (name: string, example: string) => ({
  parameters: [{ name, in: "path", schema: { type: "string" }, example }],
  responses: {},
});
const queried = (names: readonly string[]) => ({
  parameters: names.map((name) => ({ name, in: "query", schema: { type: "string" }, example: "eth" })),
  responses: {},
});
const pages: ApiDocument = {
  paths: {
    "/": { get: { responses: {} } },
    "/names": {
      get: queried(["q", "owner", "parent", "list", "namespace", "cursor", "max_length", "format"]),
    },
    "/suggest": { get: queried(["q"]) },
    "/card/{name}": { get: parameter("name", "eth") },
    "/name/{name}": { get: parameter("name", "eth") },
    "/block/{block}": { get: parameter("block", "1:1") },
    "/transaction/{transaction}": { get: parameter("transaction", `1:1:0x${"0".repeat(64)}`) },
    "/address/{address}": { get: parameter("address", `0x${"0".repeat(40)}`) },
  },
};

test.each([1, 2])("pages show any name and address, escaped, seed %i", async (seed) => {
  const statuses = new Set<number>();
  await fuzz(seed, 200, {
    make: (random) => describedRequest(random, pages),
    see({ status, contentType, body }, request) {
      statuses.add(status);
      if (contentType?.startsWith("text/html") !== true) return;
      // Neither control nor formatting characters but line feeds, and the page's own script only.
      expect(body, describeRequest(request)).not.toMatch(/[^\P{C}\n]/u);
      expect(body.match(/<script/g)?.length ?? 1, describeRequest(request)).toBe(1);
    },
  });
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404]));
});

test.each([1, 2, 3])("answers random requests to every described endpoint, seed %i", async (seed) => {
  const paths = new Set<string>();
  await fuzz(seed, 400, {
    make: (random) => describedRequest(random, described),
    see: ({ status }, { path }) => status === 200 && paths.add(path.split("?")[0] ?? ""),
  });
  expect(paths.size).toBeGreaterThan(3);
});

test("answers unknown paths with any character in them", async () => {
  const folders = ["/", "/api/", "/subgraph/", "/docs/", "/amirealtime/", "/api/resolve/"];
  await fuzz(5, 200, {
    make(random) {
      const path = random.pick(folders) + encodeURIComponent(String.fromCharCode(random.below(0x300)));
      return { method: random.pick(["GET", "POST", "DELETE"]), path, headers: {} };
    },
    see: ({ status }, { path }) => expect(status, path).toBe(path === "/" ? 200 : 404),
  });
});
