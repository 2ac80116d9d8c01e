import { setTimeout as pause } from "node:timers/promises";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { z } from "zod/v4";
import { currentStatus } from "../../../test/support/endpoints.ts";
import { HttpError } from "../../http/error.ts";
import { BusyError, lockedUp } from "../../read/sql/client.ts";
import { buildLink, callEndpoint, endpoint, type GateContext, mount, requestTo } from "./endpoint.ts";
import { envelope, errorResponse } from "./errors.ts";
import { minBlockParameter } from "./position.ts";

const described = { tag: "Test", summary: "A test", description: "A test." };
const anything = { 200: { description: "What came", schema: z.unknown() } };

const echo = endpoint({
  ...described,
  path: "/echo/{id}",
  params: z.object({ id: z.string().regex(/^\d+$/, "id must be a number").transform(Number) }),
  query: z.object({ a: z.string("a is missing"), b: z.string().optional() }),
  answers: anything,
  handle: ({ params, query }) => ({ status: 200, body: { params, query } }),
});

const post = endpoint({
  ...described,
  method: "post",
  path: "/notes",
  query: z.object({ draft: z.string().optional() }),
  body: z.object({ inputs: z.array(z.string()) }),
  answers: { 201: { description: "What came", schema: z.strictObject({ inputs: z.array(z.string()) }) } },
  handle: async ({ body }) => ({ status: 201, body, headers: { location: "/notes/1" } }),
});

const failing = endpoint({
  ...described,
  path: "/failing/{how}",
  params: z.object({ how: z.string() }),
  answers: anything,
  handle: ({ params: { how } }) => {
    if (how === "refuse") throw new HttpError(503, "Not now.", { details: { retry: true } });
    throw new Error(`the password is ${how}`);
  },
});

const gated = endpoint({
  ...described,
  path: "/gated",
  query: z.object({ page: z.string().regex(/^\d$/).optional() }),
  needs: { plugins: ({ names }: { names: string[] }) => ["tokenscope", names], index: "complete" },
  answers: anything,
  handle: ({ current }) => ({ status: 200, body: current.snapshot.slowestChainIndexingCursor }),
});

function open(given: Parameters<typeof mount<typeof context>>[1], changes: Partial<typeof context> = {}) {
  const logged: string[] = [];
  const app = new Hono();
  mount(app, given, { ...context, ...changes }, (_, message) => logged.push(message));
  const ask = async (path: string, init?: RequestInit) => {
    const response = await app.request(path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type") === "application/json";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  return { ask, logged };
}
const context = {
  plugins: ["tokenscope", "basenames"] as readonly string[],
  status: {
    current: () => currentStatus() as ReturnType<typeof currentStatus> | undefined,
  } as GateContext["status"],
  names: ["subgraph", "basenames"],
};

describe("a call in this process", () => {
  const logged: string[] = [];
  const log = (_: string, message: string) => void logged.push(message);
  const options = { signal: null, client: "", renew: () => true, log };

  test("is what the same request over HTTP is", async () => {
    expect(buildLink({ endpoint: gated, params: {}, query: { page: ["1", "2"], to: [] } })).toBe(
      "/gated?page=1&page=2",
    );
    const request = requestTo(echo, { id: "7" }, { a: "x y,z:?&/" });
    expect(buildLink(request)).toBe("/echo/7?a=x%20y,z:%3F%26%2F");
    const { body } = await open(echo).ask(buildLink(request));
    expect(await callEndpoint(request, context, options)).toEqual(body);
  });

  test("takes a body, and reads a reply that is text", async () => {
    const lengths = endpoint({
      ...described,
      method: "post",
      path: "/lengths",
      body: z.array(z.string("each must be a text")),
      answers: { 200: { description: "The lengths", schema: z.array(z.int()) } },
      handle: ({ body }) => ({ status: 200, text: ["[", body.map(({ length }) => length).join(), "]"] }),
    });
    const request = { endpoint: lengths, params: {}, query: {}, body: ["a", "bcd"] };
    expect(await callEndpoint(request, context, options)).toEqual([1, 3]);
    const invalid = callEndpoint({ ...request, body: [1] }, context, options);
    await expect(invalid).rejects.toMatchObject({ status: 400, message: "Invalid Input" });
  });

  test("ends as HTTP does: at the gate, by the schemas, by the handler", async () => {
    const noPlugins = { ...context, plugins: [] };
    const refused = callEndpoint(requestTo(gated, {}, {}), noPlugins, options);
    await expect(refused).rejects.toMatchObject({ status: 503, code: "plugin" });
    const invalid = callEndpoint(requestTo(echo, { id: "x" }, { a: "" }), context, options);
    await expect(invalid).rejects.toMatchObject({ status: 400, message: "Invalid Input" });
    const away = callEndpoint(requestTo(failing, { how: "refuse" }, {}), context, options);
    await expect(away).rejects.toMatchObject({ status: 503, message: "Not now." });
    expect(logged).toEqual([]);
    const failed = callEndpoint(requestTo(failing, { how: "secret" }, {}), context, options);
    await expect(failed).rejects.toEqual(new HttpError(500, "Internal Server Error"));
    expect(logged).toEqual([expect.stringContaining("GET /failing/secret failed: Error: the password is")]);
  });
});

describe("input", () => {
  test("reaches the handler as the schemas read it, without unknown parameters", async () => {
    const { status, body } = await open(echo).ask("/echo/17?a=x&c=1&c=2&__proto__=1");
    expect([status, body]).toEqual([200, { params: { id: 17 }, query: { a: "x" } }]);
  });

  test("of the path is checked before the query, and all of the query at once", async () => {
    const { ask } = open(echo);
    expect((await ask("/echo/x")).body).toEqual({
      message: "Invalid Input",
      details: { errors: [], properties: { id: { errors: ["id must be a number"] } } },
    });
    expect((await ask("/echo/1?b=1&b=2")).body.details).toEqual({
      errors: [],
      properties: {
        a: { errors: ["a is missing"] },
        b: { errors: ["Invalid input: expected string, received array"] },
      },
    });
  });

  const send = (body: BodyInit) => open(post).ask("/notes", { method: "POST", body });

  test("is a JSON body of a POST; the status and headers of the response are sent", async () => {
    const { status, body, headers } = await send('{"inputs":["a"],"more":1}');
    expect([status, body, headers.get("location")]).toEqual([201, { inputs: ["a"] }, "/notes/1"]);
    expect((await open(post).ask("/notes")).status).toBe(404);
  });

  test.each([
    ["{", { errors: ["The body must be JSON"] }],
    ["", { errors: ["The body must be JSON"] }],
    [
      '{"inputs":1}',
      {
        errors: [],
        properties: { inputs: { errors: ["Invalid input: expected array, received number"] } },
      },
    ],
  ])("in a body is refused with the reason: %s", async (given, details) => {
    const { status, body } = await send(given);
    expect([status, body]).toEqual([400, { message: "Invalid Input", details }]);
  });
});

describe("an error", () => {
  test("that is a refusal is sent with its status and body, and not logged", async () => {
    const { ask, logged } = open(failing);
    const { status, body } = await ask("/failing/refuse");
    expect([status, body, logged]).toEqual([503, { message: "Not now.", details: { retry: true } }, []]);
  });

  test("that is a bug is logged and not shown", async () => {
    const { ask, logged } = open(failing);
    const { status, body } = await ask("/failing/hunter2");
    expect([status, body]).toEqual([500, { message: "Internal Server Error" }]);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain("GET /failing/hunter2 failed: Error: the password is hunter2");
  });
});

describe("the gate", () => {
  const plugin = {
    message: "A plugin that this endpoint needs is not active.",
    details: "Needed plugins: tokenscope, subgraph or basenames. Not active: subgraph or basenames.",
  };
  const status = {
    message: "The indexing status is not available.",
    details: "This endpoint responds once the indexing status is known.",
  };
  const backfill = {
    message: "The index is not complete yet.",
    details:
      "The omnichain status must be omnichain-following or omnichain-completed; it is omnichain-backfill.",
  };
  const unknown = { current: () => undefined };
  const under = (omnichainStatus: string) => ({ current: () => currentStatus(omnichainStatus) });

  test.each([
    [{ plugins: ["tokenscope"], status: unknown }, plugin],
    [{ status: unknown }, status],
    [{ status: under("omnichain-backfill") }, backfill],
  ])("reports its reason before the input is checked: %#", async (changes, body) => {
    const { ask } = open(gated, changes);
    expect(await ask("/gated?page=x")).toMatchObject({ status: 503, body });
  });

  test.each(["omnichain-following", "omnichain-completed"])("lets pass under %s", async (omnichainStatus) => {
    const { ask } = open(gated, { status: under(omnichainStatus) });
    expect(await ask("/gated?page=1")).toMatchObject({ status: 200, body: 1_768_400_395 });
  });

  test("is worded by the endpoint's envelope, and so is a failure", async () => {
    const coded = z.strictObject({ code: z.string() });
    const worded = {
      ...gated,
      envelope: envelope(coded, ({ code }) => ({ code }), { code: "failure" }),
    };
    const { ask } = open(worded, { plugins: [] });
    expect(await ask("/gated")).toMatchObject({ status: 503, body: { code: "plugin" } });
    const broken = () => {
      throw new Error("no status");
    };
    const failed = open(worded, { status: { current: broken } });
    expect(await failed.ask("/gated")).toMatchObject({ status: 500, body: { code: "failure" } });
  });
});

test.each([
  ["a full queue", new BusyError(1), "Too many queries are running. Try again in a moment."],
  [
    "a lock in the database",
    new BusyError(1, lockedUp),
    "What the query reads is locked in the database. Try again in a moment.",
  ],
  ["a statement stopped by its signal", new DOMException("late", "TimeoutError"), "The query took too long."],
  // PostgreSQL, appendix A: 57014 is query_canceled.
  [
    "one stopped by Postgres",
    Object.assign(new Error("canceled"), { code: "57014" }),
    "The query took too long.",
  ],
])("responds 503 with Retry-After to %s", async (_, error, message) => {
  const app = new Hono().get("/", (c) => errorResponse(error, c, () => undefined));
  const response = await app.request("/");
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect((await response.json()).message).toBe(message);
});

/** A status whose chain is followed and indexed up to a block. */
function followingAt(chainId: string, number: number): ReturnType<typeof currentStatus> {
  const status = currentStatus();
  const block = { number, timestamp: 1 };
  Object.assign(status.snapshot.omnichainSnapshot.chains, {
    [chainId]: {
      ...{ chainStatus: "chain-following", latestIndexedBlock: block, latestKnownBlock: block },
      config: { configType: "indefinite", startBlock: { number: 0, timestamp: 0 } },
    },
  });
  return status;
}

test("a request with min_block waits for blocks, and is to be sent again if the index lacks them", async () => {
  const [chainId, number] = ["15658734", 879];
  const status = followingAt(chainId, number);
  const min = endpoint({
    ...described,
    path: "/least",
    query: z.object({ min_block: minBlockParameter }),
    needs: { index: "known" },
    answers: anything,
    handle: () => ({ status: 200, body: "read" }),
  });
  const waits: object[] = [];
  const reach = async (blocks: readonly object[]) => {
    waits.push(...blocks);
    return status;
  };
  const { ask } = open(min, { status: { current: () => status, reach } });
  const read = async (text: string) => {
    const { status, headers, body } = await ask(`/least?min_block=${text}`);
    return [status, headers.get("retry-after"), body];
  };
  expect(await read(`${chainId}:${number}`)).toEqual([200, null, "read"]);
  const token = Buffer.from(
    JSON.stringify({ [chainId]: { block_number: number, block_hash: null, timestamp: "1" } }),
  ).toString("hex");
  expect(await read(token)).toEqual([200, null, "read"]);
  expect(waits).toEqual([
    { chainId, number },
    { chainId, number },
  ]);
  expect(await read(`${chainId}:0,${chainId}:${number + 1}`)).toEqual([
    503,
    "1",
    {
      message: "The index has not reached the block yet.",
      details: expect.stringContaining(`Block ${number + 1} of chain ${chainId} is not indexed here yet.`),
    },
  ]);
  for (const text of [
    "5",
    `${chainId}:`,
    "1:2,",
    "-1:2",
    "9".repeat(20),
    "7b7d",
    `${"1:1,".repeat(60)}1:1`,
    "999:1",
  ])
    expect((await read(text))[0]).toBe(400);
});

test("a handler reads again if a block comes while it reads, so that its answer is of one block", async () => {
  let [head, isComing] = [5, 2];
  const statusAt = (number: number) => ({ ...currentStatus(), heads: String(number) });
  let status = statusAt(head);
  const confirm = async () => {
    if (Number(status.heads) < head) status = statusAt(head);
    return status;
  };
  const reading = endpoint({
    ...described,
    path: "/reading",
    needs: { index: "complete" },
    answers: anything,
    handle: ({ current }) => {
      // A block comes, and the rows are already of it.
      if (isComing > 0) head += 1;
      isComing -= 1;
      return { status: 200, body: { asOf: Number(current.heads), rows: head } };
    },
  });
  const { ask } = open(reading, { status: { current: () => status, confirm } });
  expect((await ask("/reading")).body).toEqual({ asOf: 7, rows: 7 });
});

test.each([
  ["a block comes", "0 6", 1],
  ["a reorganization replaces the block", "1 5", 2],
])("a handler that takes long and meanwhile %s", async (_, after, times) => {
  let [heads, readings] = ["0 5", 0];
  const current = () => ({ ...currentStatus(), heads });
  const reading = endpoint({
    ...described,
    path: "/slow",
    needs: { index: "complete" },
    answers: anything,
    handle: async () => {
      readings += 1;
      await pause(600);
      heads = after;
      return { status: 200, body: {} };
    },
  });
  const { ask } = open(reading, { status: { current, confirm: async () => current() } });
  expect((await ask("/slow")).status).toBe(200);
  expect(readings).toBe(times);
});

test("a block that a request asks for, and a reorganization reverts while a handler reads, is waited for again", async () => {
  const [chainId, asked] = ["15658734", 7];
  const statusAt = (number: number) => ({ ...followingAt(chainId, number), heads: String(number) });
  const open7 = (later: number) => {
    let status = statusAt(asked);
    const reading = endpoint({
      ...described,
      path: "/taken-back",
      query: z.object({ min_block: minBlockParameter }),
      needs: { index: "complete" },
      answers: anything,
      handle: ({ current }) => ({ status: 200, body: Number(current.heads) }),
    });
    const confirm = async () => {
      if (status.heads === String(asked)) status = statusAt(asked - 2);
      return status;
    };
    const reach = async () => {
      if (status.heads !== String(asked)) status = statusAt(later);
      return status;
    };
    return open(reading, { status: { current: () => status, confirm, reach } });
  };
  const path = `/taken-back?min_block=${chainId}:${asked}`;
  expect((await open7(asked + 1).ask(path)).body).toBe(asked + 1);
  expect((await open7(asked - 1).ask(path)).status).toBe(503);
});
