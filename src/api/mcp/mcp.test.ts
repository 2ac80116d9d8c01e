import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Hono } from "hono";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createRandom } from "../../../devnet/random.ts";
import { serveGuarded } from "../../../test/hostile/support/guarded.ts";
import { createWholeApi } from "../../../test/hostile/support/in-process.ts";
import { hostileTexts, hostileValue } from "../../../test/hostile/support/values.ts";
import { currentStatus } from "../../../test/support/endpoints.ts";
import { countFigures } from "../../../test/support/figures.ts";
import {
  alice,
  bob,
  createStoredNames,
  day,
  later,
  now,
} from "../../../test/support/lookups/stored-names.ts";
import { seeds } from "../../../test/support/rounds.ts";
import { service } from "../../../test/support/service.ts";
import { createApi } from "../../service/app.ts";
import type { Admission } from "../kit/api-keys.ts";
import { bodyOfRest } from "../kit/endpoint.ts";
import { tools } from "./tools.ts";

const { context, client: database, claim } = await createStoredNames();
await claim(alice, "plain.eth");

type Given = Partial<Parameters<typeof createApi>[0]> & { status?: string };

const logged: string[] = [];
const apiOf = ({ status = "omnichain-following", ...given }: Given = {}) =>
  createApi({
    context: {
      ...{ ...service, ...context, config: { ...service.config, ...context.config } },
      status: { current: () => currentStatus(status, now) },
    } as unknown as Parameters<typeof createApi>[0]["context"],
    log: (_, message) => void logged.push(message),
    ...given,
  });

async function connect(transport: unknown): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

// Over a socket: Ponder's server gives each request its own body, which the requests of tools must not see.
async function clientOf(app: Hono, headers: Record<string, string> = {}): Promise<Client> {
  const url = new URL("/mcp", await serve(app));
  return connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
}

async function callOf(client: Client, name: string, given: Record<string, unknown> = {}) {
  const {
    isError = false,
    content,
    structuredContent,
  } = (await client.callTool({
    name,
    arguments: given,
  })) as CallToolResult;
  const text = String((content[0] as { text?: string } | undefined)?.text);
  return { isError, text, body: structuredContent as { data: never; page: { next_cursor: string } } };
}

const post = (app: Hono, body: string, headers: Record<string, string> = {}) =>
  app.request("/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body,
  });

const listTools = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

describe("tools", () => {
  test("only read, say what they take, and name what they need", async () => {
    const client = await clientOf(apiOf());
    expect(client.getServerVersion()).toMatchObject({ name: "nsindex", version: service.versions.nsIndexer });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "lookup",
      "search_names",
      "subnames",
      "records_of_name",
      "name_history",
      "names_of_address",
      "primary_name",
      "expiring_names",
      "statistics",
      "index_status",
    ]);
    for (const { annotations, description, inputSchema } of tools) {
      expect(annotations).toEqual({ readOnlyHint: true });
      expect(description).toMatch(/\w/);
      expect(JSON.stringify(inputSchema)).not.toContain('"pattern"');
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    }
    const required = Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema.required]));
    expect(required).toMatchObject({
      lookup: ["inputs"],
      search_names: ["q"],
      records_of_name: ["name"],
      names_of_address: ["address"],
      expiring_names: ["namespace"],
      statistics: ["figure"],
      index_status: [],
    });
  });

  test.each<[tool: string, given: Record<string, unknown>, path: string, init?: RequestInit]>([
    ["search_names", { q: "wrapped", page_size: 2 }, "/v1/search?q=wrapped&page_size=2"],
    ["search_names", { q: "wrapped", match: null }, "/v1/search?q=wrapped"],
    ["subnames", { name: "wrapped.eth" }, "/v1/names/wrapped.eth/subnames"],
    [
      "records_of_name",
      { name: "records.eth", keys: "addr:60" },
      "/v1/names/records.eth/records?keys=addr:60",
    ],
    ["name_history", { name: "plain.eth" }, "/v1/names/plain.eth/history"],
    ["names_of_address", { address: bob.toUpperCase().replace("X", "x") }, `/v1/addresses/${bob}/names`],
    ["primary_name", { address: bob, source: "indexed" }, `/v1/addresses/${bob}/primary-name?source=indexed`],
    [
      "expiring_names",
      { namespace: "ens", expires_window: [`${now}..${later}`, `${later}..${later + day}`] },
      `/v1/names?namespace=ens&expires_window=${now}..${later}&expires_window=${later}..${later + day}`,
    ],
    ["index_status", {}, "/v1/status"],
    [
      "lookup",
      { inputs: ["plain.eth", alice], profile: "feed" },
      "/v1/lookup",
      {
        method: "POST",
        body: JSON.stringify({ inputs: [{ name: "plain.eth" }, { address: alice }], profile: "feed" }),
      },
    ],
  ])("%s %j is %s", async (tool, given, path, init) => {
    const app = apiOf();
    const { isError, text, body } = await callOf(await clientOf(app), tool, given);
    const response = await app.request(path, init);
    expect([isError, response.status]).toEqual([false, 200]);
    expect(body).toEqual(await response.json());
    expect(JSON.parse(text)).toEqual(body);
  });

  test("go through a list by its cursors", async () => {
    const client = await clientOf(apiOf());
    const first = await callOf(client, "subnames", { name: "wrapped.eth", page_size: "2" });
    const cursor = first.body.page.next_cursor;
    const second = await callOf(client, "subnames", { name: "wrapped.eth", page_size: "2", cursor });
    const names = [first, second].flatMap(({ body }) =>
      (body.data as { name: string }[]).map(({ name }) => name),
    );
    expect(names).toEqual(["lapsed", "locked", "moved", "sub"].map((label) => `${label}.wrapped.eth`));
  });

  test("name an address by its claim", async () => {
    const { body } = await callOf(await clientOf(apiOf()), "primary_name", {
      address: alice,
      source: "indexed",
    });
    expect(body.data).toMatchObject({ answers: [{ source: "indexed", status: "ok", name: "plain.eth" }] });
  });

  test("have figures over time", async () => {
    const { namespaces } = context.lookup;
    await countFigures(database, namespaces, { chainId: 1, block: { number: 1, timestamp: now } });
    const app = apiOf();
    const client = await clientOf(app);
    const { isError, body } = await callOf(client, "statistics", { figure: "labels", interval: "month" });
    expect(isError).toBe(false);
    expect(body).toEqual(await (await app.request("/v1/stats/labels?interval=month")).json());
    expect(body.data).toContainEqual(expect.objectContaining({ of: "reverse names", names: 1, unknown: 0 }));
    const wrong = await callOf(client, "statistics", { figure: "../search" });
    expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining("figure") });
  });
});

describe("refusals are results", () => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ name: "test", version: "1" });
    const fetch = async (url: string | URL, init?: RequestInit) => app.request(String(url), init);
    const app = apiOf();
    await client.connect(
      new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch }) as never,
    );
  });

  const noName = "An empty string, . and .. are neither names nor addresses";
  test.each<[tool: string, given: Record<string, unknown>, text: string | RegExp]>([
    ["search_names", {}, "q is missing"],
    ["search_names", { query: "vita" }, /^Unknown argument query: known are q, match, /],
    ["search_names", { q: "vita", format: "csv" }, /^Unknown argument format/],
    ["search_names", { q: { text: "vita" } }, "q must be a string"],
    ["search_names", { q: ["a", "b"] }, "q must be given once"],
    ["search_names", { q: "a", page_size: 1_000 }, /^page_size must be/],
    ["search_names", { q: "a".repeat(20_000) }, "The arguments exceed the URL length limit"],
    ["names_of_address", { address: "vitalik.eth" }, /address must be a 0x-prefixed 20-byte hex string/],
    ["names_of_address", { address: ".." }, noName],
    ["name_history", {}, /^name: /],
    ["name_history", { name: 5 }, /^name: /],
    ["name_history", { name: "" }, noName],
    ["name_history", { name: "." }, noName],
    ["name_history", { name: ".." }, noName],
    ["name_history", { name: "nobody.eth" }, "The index has never seen this name"],
    ["name_history", { name: "../search?q=a" }, /./],
    ["name_history", { name: "\ud800.eth\0{name}%2e" }, /./],
    ["lookup", {}, /^inputs: /],
    ["lookup", { inputs: [], profile: "all" }, /^profile: /],
    ["lookup", { inputs: [{ name: "plain.eth" }] }, /^inputs.0: /],
    ["lookup", { inputs: ["plain.eth"], at: "yesterday" }, /^at must be Unix seconds/],
    ["expiring_names", { namespace: "nowhere", expires_after: "0" }, /./],
    ["statistics", { figure: "registrations" }, /^A plugin that this endpoint needs is not active\./],
  ])("%s %j", async (tool, given, expected) => {
    const { isError, text, body } = await callOf(client, tool, given);
    expect([isError, body]).toEqual([true, undefined]);
    if (typeof expected === "string") expect(text).toBe(expected);
    else expect(text).toMatch(expected);
    expect(logged).toEqual([]);
  });

  test("a long response is refused", async () => {
    const inputs = Array.from({ length: 900 }, (_, i) => `${i}${"a".repeat(100)}.eth`);
    const { isError, text } = await callOf(client, "lookup", { inputs });
    expect([isError, text]).toEqual([
      true,
      expect.stringMatching(/^More than 100000 characters: .*page_size and cursor/),
    ]);
  });

  test("an unknown tool is an error of the protocol", async () => {
    await expect(client.callTool({ name: "drop_names", arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
  });

  test("an index that is not complete", async () => {
    const app = apiOf({ status: "omnichain-backfill" });
    expect(await callOf(await clientOf(app), "search_names", { q: "vita" })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^The index is not complete yet\./),
    });
  });
});

test.each(seeds)("any arguments get a result, seed %i", async (seed) => {
  const whole = await createWholeApi();
  onTestFinished(() => whole.close());
  const random = createRandom(seed);
  for (let i = 0; i < 300; i++) {
    const { name, inputSchema } = random.pick(tools).listed;
    const { required = [], properties = {} } = inputSchema;
    const keys = [
      ...required,
      random.pick(Object.keys(properties)) ?? "none",
      random.pick(["__proto__", "toString", "q"]),
    ];
    const given = keys.map((key) => {
      const value = random.fraction() < 0.7 ? random.pick(hostileTexts) : hostileValue(random);
      return `${JSON.stringify(key)}:${JSON.stringify(value) ?? null}`;
    });
    const isKnown = random.fraction() < 0.9;
    const params = `{"name":"${name}","arguments":{${(isKnown ? given.slice(0, -1) : given).join()}}}`;
    const message = `{"jsonrpc":"2.0","id":${i},"method":"tools/call","params":${params}}`;
    const response = await post(whole.app, message);
    const { id, result } = await response.json();
    expect([response.status, id, result?.content?.[0]?.type], message).toEqual([200, i, "text"]);
    expect(whole.logged, message).toEqual([]);
  }
});

describe("limits", () => {
  test.each<[tool: string, given: Record<string, unknown>, path: string]>([
    ["index_status", {}, "/v1/status"],
    ["lookup", { inputs: [] }, "/v1/lookup"],
    ["records_of_name", { name: "é/% a.eth", keys: "name" }, "/v1/names/é%2F%25 a.eth/records"],
    ["statistics", { figure: "labels" }, "/v1/stats/labels"],
  ])("a call of %s %j has the client, the API key and the path of a request", async (name, given, path) => {
    const seen: unknown[] = [];
    const message = "The budget of 1 units a minute is spent.";
    const admit = ({
      path,
      secret,
      address,
    }: {
      path: string;
      secret?: string | undefined;
      address: string;
    }) => {
      seen.push({ path, secret, address });
      const admission: Admission = { client: "key:agent", headers: {} };
      return path === "/mcp" ? admission : { ...admission, refusal: { status: 429 as const, message } };
    };
    const app = apiOf({ keys: { admit }, trustedProxies: 1 });
    const headers = { authorization: "Bearer secret", "x-forwarded-for": "192.0.2.7" };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } };
    const answer = await (await post(app, JSON.stringify(body), headers)).json();
    expect(answer.result).toEqual({ isError: true, content: [{ type: "text", text: message }] });
    const from = { secret: "secret", address: "192.0.2.7" };
    expect(seen).toEqual(["/mcp", path].map((one) => ({ ...from, path: one })));
  });

  test("only POST is served, for pages of any origin", async () => {
    const app = apiOf();
    for (const method of ["GET", "DELETE", "PUT"]) {
      const response = await app.request("/mcp", { method, headers: { accept: "text/event-stream" } });
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }
    const response = await post(app, listTools, { origin: "https://app.example", host: "rebound.example" });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "cache-control": "no-store",
      "content-type": "application/json",
    });
    expect(response.headers.has("mcp-session-id")).toBe(false);
  });

  test.each<[body: string, status: number, code?: number]>([
    ["", 400, -32_700],
    ["{", 400, -32_700],
    ["null", 400, -32_700],
    ["[".repeat(100_000), 400, -32_700],
    [`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`, 400, -32_700],
    ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400, -32_700],
    [`[${listTools}]`, 400, -32_700],
    ['{"jsonrpc":"2.0","method":"notifications/initialized"}', 202],
    ['{"jsonrpc":"2.0","id":"x","method":"resources/list"}', 200, -32_601],
    ['{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":5}}', 200],
  ])("bodies that are no requests get an error of JSON-RPC, case %#", async (sent, status, code) => {
    const response = await post(apiOf(), sent);
    const text = await response.text();
    expect(response.status).toBe(status);
    if (status === 202) expect(text).toBe("");
    else expect(JSON.parse(text).error.code).toEqual(code ?? expect.any(Number));
    expect(logged).toEqual([]);
  });

  test("headers that MCP does not allow are refused", async () => {
    expect((await post(apiOf(), listTools, { accept: "text/html" })).status).toBe(406);
    expect((await post(apiOf(), listTools, { "content-type": "text/plain" })).status).toBe(415);
    expect((await post(apiOf(), listTools, { "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
  });
});

async function serve(app: Hono): Promise<string> {
  const server = await serveGuarded(app, { bodyLimitOf: () => bodyOfRest });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("over sockets", () => {
  test("a body longer than those of REST is refused, a shorter one is read", async () => {
    const url = `${await serve(apiOf())}/mcp`;
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const bodies = [listTools, " ".repeat(bodyOfRest.bytes + 1)];
    const statuses = bodies.map(async (body) => (await fetch(url, { method: "POST", headers, body })).status);
    expect(await Promise.all(statuses)).toEqual([200, 413]);
  });

  const stdio = (url: string, key?: string) =>
    new StdioClientTransport({
      command: process.execPath,
      args: ["--disable-warning=ExperimentalWarning", "cli/mcp.ts", "--url", url],
      ...(key === undefined ? {} : { env: { NSINDEX_API_KEY: key } }),
      stderr: "pipe",
    });

  test("npm run mcp has the tools of a service, and its API key", async () => {
    const secrets = new Set<string | undefined>();
    const admit = ({ secret }: { secret: string | undefined }): Admission => {
      secrets.add(secret);
      return { client: "key:agent", headers: {} };
    };
    const app = apiOf({ keys: { admit } });
    const client = await connect(stdio(`${await serve(app)}/`, "secret"));
    const own = await clientOf(app, { "x-api-key": "secret" });
    expect(await client.listTools()).toEqual(await own.listTools());
    const { body } = await callOf(client, "search_names", { q: "plain.eth" });
    expect(body.data).toMatchObject([{ name: "plain.eth" }]);
    expect([...secrets]).toEqual(["secret"]);
    await expect(client.callTool({ name: "drop_names" })).rejects.toMatchObject({ code: -32_602 });
  });

  test("npm run mcp says why a service does not answer", async () => {
    await expect(connect(stdio("http://127.0.0.1:1"))).rejects.toThrow(
      /http:\/\/127.0.0.1:1 does not respond/,
    );
    const message = "An API key is needed";
    const admit = (): Admission => ({ client: "", headers: {}, refusal: { status: 401, message } });
    await expect(connect(stdio(await serve(apiOf({ keys: { admit } }))))).rejects.toThrow(message);
  });
});

test("/llms.txt names the namespace, the interfaces and the routes of the tools", async () => {
  const response = await apiOf().request("/llms.txt");
  expect(response.headers.get("content-type")?.toLowerCase()).toBe("text/plain; charset=utf-8");
  const text = await response.text();
  // https://llmstxt.org: one heading of the first level, then a quote, then lists of links.
  expect(text).toMatch(/^# nsindex\n\n> .*namespace mainnet.*\n\n## Interfaces\n\n- \[/);
  const links = [...text.matchAll(/^- \[([^\]]+)\]\((\/[\w./]*)\): ./gm)];
  expect(links.map(([, name]) => name)).toEqual(
    expect.arrayContaining(["/mcp", "/openapi.json", "/v1/search", "/v1/lookup", "/v1/stats/{figure}"]),
  );
  expect(text).not.toContain("/subgraph");
  for (const [, , path = ""] of links) expect((await apiOf().request(path)).status).not.toBe(404);
});
