import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEndpoint, createLoadedDatabase, headBlock } from "../../../test/support/subgraph/endpoint.ts";
import { BusyError, type Database } from "../../read/sql/client.ts";
import { createPersistedQueries } from "./request/persisted.ts";

let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  const accounts = Array.from({ length: 200 }, (_, index) => ({ id: `0x${`${index}`.padStart(40, "0")}` }));
  client = await createLoadedDatabase({ Account: accounts });
});
afterAll(() => client.close());

const one = '{"data":{"accounts":[{"id":"0x0000000000000000000000000000000000000000"}]}}';
const query = "{ accounts(first: 1) { id } }";
const get = (search: string, init: RequestInit = {}) =>
  createEndpoint(client).app.request(`/${search}`, init);

test("answers a POST as application/json with the block of the data, whatever Accept prefers", async () => {
  const endpoint = createEndpoint(client);
  await endpoint.ask("{ _meta { block { hash } } }");
  const response = await endpoint.post(
    { query },
    { accept: "application/graphql-response+json, application/json" },
  );
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  expect(response.headers.get("graph-attestable")).toBe("false");
  expect(JSON.parse(response.headers.get("graph-indexed") ?? "")).toEqual({
    hash: headBlock.hash,
    number: 1666,
    timestamp: 1_700_000_000,
  });
  expect(await response.text()).toBe(one);
});

test("runs a query by GET", async () => {
  const search = new URLSearchParams({
    query: "query Q($n: Int) { accounts(first: $n) { id } } query R { _meta { block { number } } }",
    variables: '{"n":1}',
    operationName: "Q",
  });
  const response = await get(`?${search}`);
  expect([response.status, await response.text()]).toEqual([200, one]);
});

test("tags a GET response with its block and returns 304 until another block is indexed", async () => {
  const search = `?query=${encodeURIComponent(query)}`;
  const first = await get(search);
  const etag = first.headers.get("etag") ?? "";
  expect(etag).toMatch(/^W\/"1666-1700000000-/);
  // The next block has long been due; browsers get GraphiQL there.
  expect(first.headers.get("cache-control")).toBe("public, max-age=0, s-maxage=1");
  expect(first.headers.get("vary")).toBe("Accept");
  const again = await get(search, { headers: { "if-none-match": etag } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  expect((await get(search, { headers: { "if-none-match": "*" } })).status).toBe(304);
  expect((await get("?query=mutation", { headers: { "if-none-match": "*" } })).status).toBe(400);
  const other = await get(`${search}%20`, { headers: { "if-none-match": etag } });
  expect([other.status, await other.text()]).toEqual([200, one]);
  await client.exec(
    "UPDATE _ponder_checkpoint SET latest_checkpoint = overlay(latest_checkpoint PLACING '1667' FROM 39)",
  );
  expect((await get(search, { headers: { "if-none-match": etag } })).status).toBe(200);
  await client.exec(
    "UPDATE _ponder_checkpoint SET latest_checkpoint = overlay(latest_checkpoint PLACING '1666' FROM 39)",
  );
});

test("lets caches have no answer with errors", async () => {
  for (const wrong of ["{ accounts { nope } }", "{ accounts(block: { number: 1 }) { id } }"]) {
    const { headers } = await get(`?query=${encodeURIComponent(wrong)}`);
    expect([headers.get("etag"), headers.get("cache-control")]).toEqual([null, null]);
  }
});

// Apollo Server's documentation of automatic persisted queries; the errors are those that Apollo Client's link looks
// for.
describe("persisted queries", () => {
  const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
  let endpoint: ReturnType<typeof createEndpoint>;
  beforeAll(() => {
    endpoint = createEndpoint(client);
  });
  const asked = (given: object | number | null, more: Record<string, string> = {}) =>
    endpoint.app.request(
      `/?${new URLSearchParams({ extensions: JSON.stringify({ persistedQuery: given }), ...more })}`,
    );
  const named = (text: string, version = 1) => ({ version, sha256Hash: hashOf(text) });

  test("are asked for by their hash once a client has sent the document with it", async () => {
    const text = "query Registered($n: Int) { accounts(first: $n) { id } }";
    const variables = '{"n":1}';
    const unknown = await asked(named(text), { variables });
    expect([unknown.status, unknown.headers.get("cache-control"), await unknown.json()]).toEqual([
      200,
      "no-store",
      {
        errors: [{ message: "PersistedQueryNotFound", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }],
      },
    ]);
    expect(await (await asked(named(text), { variables, query: text })).text()).toBe(one);
    const known = await asked(named(text), { variables });
    expect([await known.text(), known.headers.get("etag")]).toEqual([one, expect.stringContaining("1666")]);
    const posted = await endpoint.post({ variables: { n: 1 }, extensions: { persistedQuery: named(text) } });
    expect(await posted.text()).toBe(one);
  });

  test("are registered neither under another hash nor if they cannot be run", async () => {
    const text = "{ accounts(first: 1) { id } }";
    const lying = await asked(named(`${text} `), { query: text });
    expect([lying.status, await lying.text()]).toEqual([
      400,
      expect.stringContaining("provided sha does not match query"),
    ]);
    const wrong = "{ accounts { nope } }";
    expect(await (await asked(named(wrong), { query: wrong })).json()).toHaveProperty("errors");
    expect(await (await asked(named(wrong))).text()).toContain("PersistedQueryNotFound");
    expect(await (await asked(named(text, 2))).text()).toContain("PersistedQueryNotSupported");
    expect(await (await asked(named(text, 2), { query: text })).text()).toBe(one);
    for (const odd of [
      { version: 1 },
      { version: 1, sha256Hash: 7 },
      { version: 1, sha256Hash: "__proto__" },
    ])
      expect((await asked(odd)).status).toBe(400);
    for (const odd of [7, [], null]) expect((await asked(odd)).status).toBe(400);
  });

  test("take a bounded number of bytes, whatever is registered", async () => {
    const { find, keep } = createPersistedQueries(100_000);
    const documents = Array.from({ length: 500 }, (_, at) => `{ a${at}: ${"x".repeat(1_000)} }`);
    for (const text of [...documents, "y".repeat(200_000)]) keep(hashOf(text), text);
    const isKnown = (text: string) => {
      try {
        return find(undefined, { persistedQuery: named(text) }).query === text;
      } catch {
        return false;
      }
    };
    // A character takes two bytes.
    expect(documents.filter(isKnown).length).toBeLessThan(50);
    expect(isKnown(documents.at(-1) ?? "")).toBe(true);
    expect(isKnown("y".repeat(200_000))).toBe(false);
  });
});

test("shows GraphiQL to browsers, from the server alone", async () => {
  const response = await get("", { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
  const page = await response.text();
  expect(page).toContain("&quot;endpoint&quot;:&quot;/&quot;");
  const queries = ["LatestNames", "Records", "NamesOfAddress", "History", "ExpiringSoon"];
  expect(queries.filter((name) => !page.includes(`query ${name} {`))).toEqual([]);
  // Nobody frames it, and no script runs but those of this server.
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/);
  // Nothing of the page is loaded from elsewhere.
  const sources = Array.from(page.matchAll(/ (?:src|href)="([^"]*)"/g), ([, source]) => source);
  expect(sources).toEqual(["/graphiql.css", "/graphiql.js", "/start-graphiql.js"]);
  expect(page).toContain("If this remains, its files cannot be loaded: reload the page.");
  expect(page).not.toMatch(/<script>|<style>/);
});

test("answers a bare GET and a HEAD, as probes send them", async () => {
  expect((await get("")).status).toBe(200);
  const head = await get(`?query=${encodeURIComponent(query)}`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("answers the preflight of browsers with the headers that they ask for", async () => {
  const response = await get("", {
    method: "OPTIONS",
    headers: { "access-control-request-headers": "content-type,graphql-client-name" },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  expect(response.headers.get("access-control-allow-methods")).toBe("GET, OPTIONS, POST");
  expect(response.headers.get("access-control-allow-headers")).toBe("content-type,graphql-client-name");
});

const json = { "content-type": "application/json" };
test.each([
  [
    "a body that is not JSON",
    { body: "{", headers: json },
    /^GraphQL server error \(client error\): the body is not JSON/,
  ],
  ["a list of requests", { body: `[{"query":"{a}"}]`, headers: json }, /: The body is not a JSON object$/],
  ["null", { body: "null", headers: json }, /: The body is not a JSON object$/],
  ["no query", { body: "{}", headers: json }, /: The "query" field is missing in request data$/],
  [
    "a query that is not a string",
    { body: `{"query":5}`, headers: json },
    /: The "query" field is not a string$/,
  ],
  [
    "variables that are not an object",
    { body: `{"query":"{a}","variables":[]}`, headers: json },
    /: The "variables" field is not an object$/,
  ],
  ["no body", { headers: json }, /: Body is required$/],
  ["no content type", { body: new Blob([`{"query":"{a}"}`]) }, /: Content-Type header is required$/],
])("answers 400 to %s", async (_, init, message) => {
  const response = await get("", { method: "POST", ...init });
  expect(response.status).toBe(400);
  expect((await response.json()).error).toMatch(message);
});

test.each([
  ["?variables={}&query=", { accept: "application/json" }, 200],
  ["", { accept: "application/json" }, 400],
  ["?query={a}&variables=[", {}, 400],
  ["?query=mutation%20{a}", {}, 400],
])("answers GET %s", async (search, headers, status) => {
  expect((await get(search, { headers })).status).toBe(status);
});

test("compresses long responses for clients that accept it", async () => {
  const long = { query: "{ accounts(first: 200) { id } }" };
  const endpoint = createEndpoint(client);
  const plain = await endpoint.post(long);
  const packed = await endpoint.post(long, { "accept-encoding": "gzip, br" });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(packed.headers.get("vary")).toBe("Accept-Encoding");
  expect(gunzipSync(await packed.arrayBuffer()).toString()).toBe(await plain.text());
  expect(
    (await endpoint.post({ query }, { "accept-encoding": "gzip" })).headers.get("content-encoding"),
  ).toBeNull();
});

test("counts the rows of a list and reports whether there are more, on request", async () => {
  const counted = {
    query: `{ accounts(first: 3, where: { id_lt: "0x0000000000000000000000000000000000000005" }) { id } all: accounts(first: 1000) { __typename } }`,
    extensions: { counts: true, truncated: true },
  };
  const response = await createEndpoint(client).post(counted);
  expect((await response.json()).extensions).toEqual({
    counts: { accounts: 5, all: 200 },
    truncated: { accounts: true, all: false },
  });
});

test("answers 503 with the time to wait once too many requests wait", async () => {
  const { post } = createEndpoint({ row: () => Promise.reject(new BusyError(1)) });
  const response = await post({ query });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await response.json()).toEqual({
    errors: [{ message: "Too many queries are running. Try again in a moment." }],
  });
});

test("stops a statement that takes too long, and one whose client has gone", async () => {
  const stopped: unknown[] = [];
  const endless: Database = {
    row: (_sql, _values, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          stopped.push(signal.reason);
          reject(signal.reason);
        });
      }),
  };
  const { post } = createEndpoint(endless, { timeoutMs: 50 });
  const late = await post({ query });
  expect(late.status).toBe(200);
  expect((await late.json()).errors[0].message).toMatch(/^Query timed out after 50 ms\./);
  const patient = createEndpoint(endless, { timeoutMs: 60_000 });
  const leaving = new AbortController();
  const body = JSON.stringify({ query });
  const gone = patient.app.request("/", { method: "POST", headers: json, body, signal: leaving.signal });
  // Servers abort with a text as the reason.
  setTimeout(() => leaving.abort("Client connection prematurely closed."), 20);
  expect((await gone).status).toBe(408);
  expect(stopped).toHaveLength(2);
});

test("leaves internal errors to the application that it is mounted in", async () => {
  const broken: Database = {
    row: async () => Promise.reject(new Error("connection refused")),
  };
  const app = new Hono()
    .route("/subgraph", createEndpoint(broken).app)
    .onError((error, c) => c.json({ seen: error.message }, 500));
  const response = await app.request(`/subgraph?${new URLSearchParams({ query })}`);
  expect([response.status, await response.json()]).toEqual([500, { seen: "connection refused" }]);
});
