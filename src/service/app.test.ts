import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type HttpBindings, serve } from "@hono/node-server";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test } from "vitest";
import { chainOf } from "../../test/support/endpoints.ts";
import { pageSources, service } from "../../test/support/service.ts";
import { openActions } from "../api/ensnode/registrar-actions.ts";
import { namespaces } from "../deployments/namespaces.ts";
import { openFeed } from "../feed/follow.ts";
import { knownContracts } from "../read/names/known-contracts.ts";
import { buildSnapshot } from "../status/snapshot.ts";
import type { CurrentStatus } from "../status/types.ts";
import { createApi } from "./app.ts";
import { endpoints } from "./endpoints.ts";

const at = (timestamp: number, number: number) => ({ timestamp, number });
const snapshot = buildSnapshot(
  [
    {
      chainId: 1,
      startBlock: at(1489165544, 3327417),
      latestIndexedBlock: at(1768400387, 24231905),
      latestKnownBlock: at(1768400399, 24231906),
      sync: "live",
    },
    {
      chainId: 8453,
      startBlock: at(1721834595, 17522624),
      latestIndexedBlock: at(1768400395, 40805524),
      latestKnownBlock: at(1768400405, 40805529),
      sync: "live",
    },
  ],
  1768400407,
);

function api({
  hasSnapshot = true,
  stale = undefined as CurrentStatus["stale"],
  subgraph = undefined as Hono | undefined,
  now = 1768400411,
  logChecks = undefined as Record<string, string> | undefined,
} = {}) {
  const logged: string[] = [];
  const context = {
    ...chainOf(),
    ...service,
    plugins: service.config.plugins,
    status: { current: () => (hasSnapshot && snapshot ? { snapshot, stale } : undefined) },
    clock: () => now * 1000 + 999,
    logChecks,
    subregistries: [],
    referrals: async () => [],
    editions: [],
    actions: openActions(chainOf().database, undefined),
    names: { managedNames: ["eth"], inactiveNames: [], rootManagedName: "eth", nameWrappers: [] },
    lookup: {
      database: { row: async () => [], rows: async () => undefined },
      namespaces: [],
      hasRecords: false,
      statements: {
        names: { full: "", bare: "" },
        paths: { full: "", bare: "" },
        addresses: { few: "", many: "" },
      },
      hashOf: () => undefined,
      known: knownContracts(namespaces.mainnet),
    },
    feed: openFeed({ source: { ...chainOf(), namespaces: [], times: () => [] }, log: () => undefined }),
  };
  const pages = { ...context, ...pageSources };
  const app = createApi({ context, subgraph, pages, log: (_, message) => logged.push(message) });
  const get = async (path: string, init?: RequestInit) => {
    const response = await app.request(path, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { app, get, logged };
}

describe("/api/config", () => {
  test("has the documented members in their order, and nothing secret", async () => {
    const { text, status, headers } = await api().get("/api/config");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(text).toBe(
      '{"indexedChainIds":[1,8453,59144],"databaseSchemaName":"names_v1_5_1","isSubgraphCompatible":false,"labelSet":{"labelSetId":"subgraph","labelSetVersion":0},"namespace":"mainnet","plugins":["subgraph","registrars"],"versionInfo":{"runtime":"24.13.0","indexingFramework":"0.17.7","nsDb":"1.5.1","nsIndexer":"1.5.1","nsNormalize":"1.11.1","nsRainbow":"1.5.0","nsRainbowSchema":3}}',
    );
  });

  test("responds without a snapshot too", async () => {
    expect((await api({ hasSnapshot: false }).get("/api/config")).status).toBe(200);
  });
});

describe("a stale index", () => {
  const stale = { since: 1768400380, reason: "The index is stale." };

  test("adds a member to the documented status, and leaves the rest as it was", async () => {
    const fresh = JSON.parse((await api().get("/api/indexing-status")).text);
    const { status, text } = await api({ stale }).get("/api/indexing-status");
    expect([status, JSON.parse(text)]).toEqual([200, { ...fresh, stale }]);
  });

  test("is not in real time, however near its head was", async () => {
    for (const path of ["/amirealtime", "/api/realtime?maxWorstCaseDistance=100000"]) {
      const { status, text } = await api({ stale }).get(path);
      expect([status, JSON.parse(text)]).toEqual([503, { message: "The index is stale." }]);
    }
    expect((await api({ stale }).get("/amirealtime?maxWorstCaseDistance=-1")).status).toBe(400);
  });
});

describe("/api/indexing-status", () => {
  test("of the indexing process says how the logs of each chain are checked", async () => {
    const logChecks = { 1: "sampled 1 %", 8453: "not at all" };
    const { text } = await api({ logChecks }).get("/api/indexing-status");
    expect(JSON.parse(text).logChecks).toEqual(logChecks);
  });

  test("projects the snapshot to the second of the request", async () => {
    const { text, status, headers } = await api().get("/api/indexing-status");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(text).toBe(
      '{"responseCode":"ok","realtimeProjection":{"projectedAt":1768400411,"worstCaseDistance":16,"snapshot":{"strategy":"omnichain","slowestChainIndexingCursor":1768400395,"snapshotTime":1768400407,"omnichainSnapshot":{"omnichainStatus":"omnichain-following","chains":{"1":{"chainStatus":"chain-following","config":{"configType":"indefinite","startBlock":{"timestamp":1489165544,"number":3327417}},"latestIndexedBlock":{"timestamp":1768400387,"number":24231905},"latestKnownBlock":{"timestamp":1768400399,"number":24231906}},"8453":{"chainStatus":"chain-following","config":{"configType":"indefinite","startBlock":{"timestamp":1721834595,"number":17522624}},"latestIndexedBlock":{"timestamp":1768400395,"number":40805524},"latestKnownBlock":{"timestamp":1768400405,"number":40805529}}},"omnichainIndexingCursor":1768400395}}}}',
    );
  });

  test("projects to the time of the snapshot when the clock lags behind it", async () => {
    const { text } = await api({ now: 1768400000 }).get("/api/indexing-status");
    expect(text).toContain('"projectedAt":1768400407,"worstCaseDistance":12,');
  });

  test("is an error until there is a snapshot", async () => {
    const { text, status } = await api({ hasSnapshot: false }).get("/api/indexing-status");
    expect([status, text]).toEqual([503, '{"responseCode":"error"}']);
  });

  test("ignores parameters", async () => {
    expect((await api().get("/api/indexing-status?maxRealtimeDistance=-1")).status).toBe(200);
  });
});

describe.each(["/amirealtime", "/api/realtime"])("%s", (path) => {
  test.each<[string, number, number]>([
    ...["", "?maxWorstCaseDistance=", "?maxWorstCaseDistance=60", "?other=1&other=2"].map(
      (query): [string, number, number] => [query, 60, 200],
    ),
    ["?maxWorstCaseDistance=16", 16, 200],
    ["?maxWorstCaseDistance=0016", 16, 200],
    ["?maxWorstCaseDistance=15", 15, 503],
    ["?maxWorstCaseDistance=0", 0, 503],
  ])("allows 60 seconds, or as many as are asked for: %s", async (query, max, expected) => {
    const { text, status } = await api().get(path + query);
    const message = `The worst-case distance is 16 seconds, more than the ${max} seconds asked for.`;
    const distance = `{"maxWorstCaseDistance":${max},"slowestChainIndexingCursor":1768400395,"worstCaseDistance":16}`;
    expect([status, text]).toEqual([expected, expected === 200 ? distance : JSON.stringify({ message })]);
  });

  const invalid = "maxWorstCaseDistance must be a non-negative integer";
  test.each([
    ...["-1", "1.5", "abc", "1e3", "0x10", "%2B5", "%205", "5%20", "٣", "%00", "%ff", "Infinity", "NaN"].map(
      (value) => [value, invalid],
    ),
    ["9007199254740992", "maxWorstCaseDistance is too large"],
    ["1&maxWorstCaseDistance=2", "maxWorstCaseDistance must be given once"],
  ])("refuses %s", async (value, fault) => {
    const { text, status } = await api().get(`${path}?maxWorstCaseDistance=${value}`);
    const details = { errors: [], properties: { maxWorstCaseDistance: { errors: [fault] } } };
    expect([status, JSON.parse(text)]).toEqual([400, { message: "Invalid Input", details }]);
  });

  test("checks the parameter before the snapshot", async () => {
    const { get } = api({ hasSnapshot: false });
    expect((await get(`${path}?maxWorstCaseDistance=x`)).status).toBe(400);
    const { text, status } = await get(path);
    expect([status, text]).toEqual([503, '{"message":"The indexing status is not available."}']);
  });
});

describe("every path", () => {
  const subgraph = new Hono().get("/crash", () => {
    throw new Error("postgresql://indexer:hunter2@db\n\u001b[31mforged");
  });

  test.each([
    ["/", 200],
    ["/api/config", 200],
    ["/amirealtime?maxWorstCaseDistance=x", 400],
    ["/amirealtime?maxWorstCaseDistance=1", 503],
    ["/subgraph/crash", 500],
    ["/nothing", 404],
  ])("%s carries the version header once: %i", async (path, expected) => {
    const { status, headers } = await api({ subgraph }).get(path);
    expect([status, headers.get("x-nsindex-version")]).toEqual([expected, "1.5.1"]);
    expect(headers.get("access-control-expose-headers")).toBe(
      "x-nsindex-version, link, etag, graph-indexed, graph-attestable, ratelimit, ratelimit-policy, retry-after",
    );
  });

  test.each([
    "/nothing",
    "/api",
    "/api/config/",
    "/api/indexing-status/",
    "/amirealtime/",
    "/subgraph",
    "/mainnet/avatar/vitalik.eth",
    "/mainnet/0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85/1",
    "/%zz",
    "/%00",
    "//",
  ])("%s is not a route", async (path) => {
    const { status, text } = await api().get(path);
    expect([status, text]).toEqual([404, '{"message":"Not Found"}']);
  });

  test("what is no route is a page for browsers, but JSON under REST paths", async () => {
    const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    for (const path of ["/nothing", "/%zz"]) {
      const { status, text } = await api().get(path, { headers });
      expect([status, text.includes("<h1>Nothing is here</h1>"), text.includes('role="search"')]).toEqual([
        404,
        true,
        true,
      ]);
    }
    for (const path of ["/v1/nothing", "/api/nothing"]) {
      const { status, text } = await api().get(path, { headers });
      expect([status, text.startsWith("{")]).toEqual([404, true]);
    }
  });

  test("programs of pages say what to do where their files cannot be loaded", async () => {
    const headers = { accept: "text/html" };
    expect((await api().get("/docs", { headers })).text).toContain(
      "its files cannot be loaded: reload the page",
    );
  });

  test("what is no route under /v1 has the form of its errors", async () => {
    const error = { code: "not_found", message: "There is no such path", details: {} };
    for (const [path, method] of [
      ["/v1/nothing", "GET"],
      ["/v1/names/a.eth", "DELETE"],
    ] as const) {
      const { status, text } = await api().get(path, { method });
      expect([status, JSON.parse(text)]).toEqual([404, { error }]);
    }
  });

  test.each(["POST", "PUT", "DELETE"])("%s is not a method of the REST endpoints", async (method) => {
    expect((await api().get("/api/config", { method })).status).toBe(404);
  });

  test("HEAD responds like GET without a body", async () => {
    const { status, text, headers } = await api().get("/api/config", { method: "HEAD" });
    expect([status, text, headers.get("x-nsindex-version")]).toEqual([200, "", "1.5.1"]);
  });

  test("an unexpected error is logged on one line and not shown", async () => {
    const { get, logged } = api({ subgraph });
    const { status, text } = await get("/subgraph/crash");
    expect([status, text]).toEqual([500, '{"message":"Internal Server Error"}']);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain(
      "GET /subgraph/crash failed: Error: postgresql://indexer:hunter2@db\\u000a\\u001b[31mforged",
    );
    expect(logged[0]).not.toMatch(/[\0-\x1f]/);
  });

  test("/ is a page for browsers, with links to what is served and nothing secret", async () => {
    const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    const { status, text, headers } = await api({ subgraph }).get("/", { headers: { accept } });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=UTF-8");
    expect(headers.get("vary")).toBe("Accept, Accept-Encoding");
    for (const path of ["/subgraph", "/docs", "/metrics"]) expect(text).toContain(`href="${path}"`);
    expect(text).not.toContain("hunter2");
    expect((await api().get("/", { headers: { accept } })).text).not.toContain("/subgraph");
    const early = await api({ hasSnapshot: false }).get("/", { headers: { accept } });
    expect([early.status, early.headers.get("location")]).toEqual([302, "/status"]);
  });

  test("the page of a name is asked for as such, whatever the request says of what it knows", async () => {
    const headers = { "if-none-match": "*", "x-forwarded-for": "192.0.2.1" };
    const { status, text } = await api().get("/name/a..eth", { headers });
    expect([status, text.includes("empty label")]).toEqual([400, true]);
  });

  test("/ is JSON for others, with nothing secret", async () => {
    const { status, text, headers } = await api().get("/");
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(JSON.parse(text)).toMatchObject({ phase: "live", configuration: { namespace: "mainnet" } });
    expect(text).not.toContain("hunter2");
  });

  test.each(endpoints.map(({ path, method }) => [path, method] as const))(
    "%s is served and documented",
    async (path, method) => {
      const { get } = api();
      const { text } = await get(path.replaceAll(/\{\w+\}/g, "x"), { method });
      expect(text).not.toContain('"Not Found"');
      expect(Object.keys(JSON.parse((await get("/openapi.json")).text).paths)).toContain(path);
    },
  );
});

test("a handler gets the body that was read before, and a signal that aborts for a client that leaves alone", async () => {
  const [begun, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let signal: AbortSignal | undefined;
  const subgraph = new Hono()
    .post("/", async (c) => {
      signal = c.req.raw.signal;
      return c.text(await c.req.text());
    })
    .get("/", async (c) => {
      c.req.raw.signal.addEventListener("abort", () => left.resolve());
      begun.resolve();
      await left.promise;
      return c.body(null, 408);
    });
  const { app } = api({ subgraph });
  let closed: Promise<unknown> | undefined;
  const respond = (request: Request, env: HttpBindings) => {
    // As the guard of Ponder's server does, with a byte order mark, which Request.text() leaves out (Encoding Standard,
    // UTF-8 decode).
    Object.assign(env.incoming, { rawBody: Buffer.from("\ufeffgrüße") });
    closed = once(env.outgoing, "close");
    return app.fetch(request, env);
  };
  const server = serve({ fetch: (request, env) => respond(request, env as HttpBindings), port: 0 });
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/subgraph`;

  expect(await (await fetch(url, { method: "POST", body: "on the wire" })).text()).toBe("grüße");
  await closed;
  expect(signal?.aborted).toBe(false);

  const leaving = new AbortController();
  const request = fetch(url, { signal: leaving.signal });
  await begun.promise;
  leaving.abort();
  await expect(request).rejects.toThrow();
  await left.promise;
});
