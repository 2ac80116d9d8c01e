import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { pageSources, service } from "../../../test/support/service.ts";
import type { ApiKeys } from "../../config/api-keys-file.ts";
import { createApi } from "../../service/app.ts";
import { openApiKeys } from "./api-keys.ts";

const sha256 = (secret: string) => createHash("sha256").update(secret).digest("hex");
const wallet = { name: "wallet", sha256: sha256("secret-of-the-wallet"), budget: 100, paths: ["/"] };
const bot = { name: "bot", sha256: sha256("secret-of-the-bot"), budget: 19, paths: ["/subgraph"] };

/** The service with API keys, whose subgraph only says that it was asked. */
function open(keys: ApiKeys) {
  const folder = mkdtempSync(join(tmpdir(), "api-keys-"));
  const path = join(folder, "keys.json");
  writeFileSync(path, JSON.stringify(keys));
  let now = 1_000_000;
  const logged: string[] = [];
  const registry = new Registry();
  const log = (_: string, text: string) => void logged.push(text);
  const opened = openApiKeys({ path, keys, log, registry, clock: () => now });
  onTestFinished(() => {
    opened.stop();
    rmSync(folder, { recursive: true });
  });
  const subgraph = new Hono().post("/", (c) => c.json({ data: {} }));
  const pages = { ...pageSources, ...service, status: { current: () => undefined }, clock: () => now };
  const app = createApi({
    ...{ context: { ...service, lookup: { namespaces: [] } } as never, pages: pages as never },
    ...{ subgraph, keys: opened, log: () => undefined },
  });
  const ask = async (url: string, secret?: string, header = "authorization") => {
    const value = header === "authorization" ? `Bearer ${secret}` : `${secret}`;
    const headers: Record<string, string> = secret === undefined ? {} : { [header]: value };
    const response = await app.request(url, { method: url === "/subgraph" ? "POST" : "GET", headers });
    const limit = response.headers.get("ratelimit");
    return { status: response.status, body: await response.json(), limit, response };
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { app, ask, opened, path, logged, registry, pass };
}

test("a key has a budget a minute, told by headers, and 429 with the time until the next one", async () => {
  const { ask, opened, pass } = open({ keys: [wallet, bot] });
  const first = await ask("/subgraph", "secret-of-the-bot");
  expect([first.status, first.limit]).toEqual([200, '"minute";r=9;t=60']);
  expect(first.response.headers.get("ratelimit-policy")).toBe('"minute";q=19;w=60');
  expect(first.response.headers.get("access-control-expose-headers")).toContain("ratelimit");
  pass(20_000);
  const refused = await ask("/subgraph", "secret-of-the-bot", "x-api-key");
  expect([refused.status, refused.limit]).toEqual([429, '"minute";r=9;t=40']);
  expect(refused.response.headers.get("retry-after")).toBe("40");
  const message = "The budget of 19 units a minute is spent. Try again in 40 seconds.";
  expect(refused.body).toEqual({ errors: [{ message }] });
  expect((await ask("/subgraph", "secret-of-the-wallet")).status).toBe(200);
  pass(40_000);
  expect((await ask("/subgraph", "secret-of-the-bot")).status).toBe(200);
  expect(opened.uses()).toEqual([
    { name: "wallet", requests: 1, refused: 0, minute: 10, budget: 100 },
    { name: "bot", requests: 2, refused: 1, minute: 10, budget: 19 },
  ]);
});

// As docs/operations.md has them.
test.each<[path: string, units: number]>([
  ["/subgraph", 10],
  ["/v1/lookup", 10],
  ["/v1/search", 10],
  ["/api/resolve/records/a.eth", 10],
  ["/v1/names/a.eth", 1],
  ["/v1/events/stream", 1],
  ["/name/a.eth", 1],
  ["/docs", 0],
  ["/openapi.json", 0],
])("a request for %s costs %i units, whatever its statements take", (path, units) => {
  const { opened } = open({ keys: [wallet] });
  const { headers } = opened.admit({ path, secret: "secret-of-the-wallet", address: "192.0.2.1" });
  const left = /r=(\d+)/.exec(headers["RateLimit"] ?? "r=100")?.[1];
  expect(wallet.budget - Number(left)).toBe(units);
});

test("a missing or unknown key is a 401, and a path that it may not ask for a 403, in the path's form", async () => {
  const { ask, registry } = open({ keys: [bot] });
  const missing = await ask("/v1/status");
  expect([missing.status, missing.response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect(missing.body).toMatchObject({ error: { code: "unauthorized", details: {} } });
  expect(await ask("/api/name-tokens", "other")).toMatchObject({
    status: 401,
    body: { message: "The API key is not known." },
  });
  expect(await ask("/v1/status", "secret-of-the-bot")).toMatchObject({
    status: 403,
    body: { error: { code: "forbidden", message: "The API key may ask for /subgraph only." } },
  });
  expect(await registry.metrics()).toContain('nsindex_api_key_requests_total{key="bot",outcome="refused"} 1');
});

test("monitoring needs no key, and clients without one may have a budget by address", async () => {
  const strict = open({ keys: [] });
  expect((await strict.ask("/api/config")).status).toBe(200);
  const { ask } = open({ keys: [], anonymous: { budget: 10 } });
  expect((await ask("/subgraph")).status).toBe(200);
  expect((await ask("/subgraph")).status).toBe(429);
});

test("a browser that is refused gets a page", async () => {
  const { app } = open({ keys: [], anonymous: { budget: 1 } });
  const visit = async (path: string) => {
    const response = await app.request(path, { headers: { accept: "text/html" } });
    return {
      status: response.status,
      text: await response.text(),
      after: response.headers.get("retry-after"),
    };
  };
  expect((await visit("/stats")).status).toBe(200);
  const refused = await visit("/stats");
  expect([refused.status, refused.after]).toEqual([429, "60"]);
  expect(refused.text).toContain("<h1>Too many requests</h1>");
  expect(refused.text).toContain("Try again in 60 seconds.");
  expect((await visit("/v1/status")).text).toMatch(/^\{"error"/);
});

test("what a page reads counts as its client's requests", async () => {
  const { app } = open({ keys: [], anonymous: { budget: 1 } });
  const response = await app.request("/name/a.eth", { headers: { accept: "text/html" } });
  expect(response.status).toBe(429);
  expect(await response.text()).toContain("The budget of 1 units a minute is spent.");
});

test("what a page reads is admitted by the path that the request has over HTTP", async () => {
  const messageOf = async (begin: string) => {
    const { app } = open({ keys: [{ ...wallet, paths: ["/name/", begin] }] });
    const headers = { accept: "text/html", "x-api-key": "secret-of-the-wallet" };
    return (await app.request("/name/é.eth", { headers })).text();
  };
  expect(await messageOf("/v1/names/a.eth")).toContain(
    "The API key may ask for /name/, /v1/names/a.eth only.",
  );
  expect(await messageOf("/v1/names/é.eth")).not.toContain("The API key may");
});

test("the file is read again when it changes, and keys stay while it has faults", async () => {
  const { ask, opened, path, logged } = open({ keys: [bot] });
  const { renew } = opened.admit({ path: "/subgraph", secret: "secret-of-the-bot", address: "192.0.2.1" });
  writeFileSync(path, JSON.stringify({ keys: [{ ...bot, budget: -1 }] }));
  await expect
    .poll(() => logged, { timeout: 10_000 })
    .toEqual([
      "Keeping the current API keys: API_KEYS_FILE: keys.0.budget: must be 1 or more. See docs/operations.md#api-keys.",
    ]);
  // What lasts pays again.
  expect([renew?.(), opened.uses()[0]?.minute]).toEqual([false, 10]);
  writeFileSync(path, JSON.stringify({ keys: [{ ...bot, budget: 30 }] }));
  await expect.poll(() => logged.at(-1), { timeout: 10_000 }).toBe("Read 1 API keys.");
  expect([renew?.(), opened.uses()[0]?.minute]).toEqual([true, 20]);
  expect((await ask("/subgraph", "secret-of-the-bot")).status).toBe(200);
  writeFileSync(path, JSON.stringify({ keys: [wallet] }));
  await expect.poll(() => opened.uses()[0]?.name, { timeout: 10_000 }).toBe("wallet");
  expect((await ask("/subgraph", "secret-of-the-bot")).status).toBe(401);
  expect(renew?.()).toBe(false);
  expect((await ask("/subgraph", "secret-of-the-wallet")).status).toBe(200);
});
