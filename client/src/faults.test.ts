import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { startServer } from "../../test/support/server.ts";
import {
  AnswerError,
  ApiError,
  ConnectionError,
  createClient,
  RateLimitError,
  UnavailableError,
} from "./index.ts";

// Servers that answer as services and proxies do that are down, busy or something else.

type Answer = { status?: number; headers?: Record<string, string>; body?: unknown; isCut?: boolean };

/** A server that gives these answers in turn, and the last one from then on. */
async function serve(...answers: Answer[]) {
  const requests: IncomingMessage[] = [];
  const url = await startServer((request: IncomingMessage, response: ServerResponse) => {
    const {
      status = 200,
      headers = {},
      body,
      isCut,
    } = answers[Math.min(requests.length, answers.length - 1)] ?? {};
    requests.push(request);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    if (isCut) response.write(text.slice(0, -1), () => response.destroy());
    else response.end(text);
  });
  return { url, requests };
}

const found = {
  body: { data: [{ kind: "name", status: "ok", input: {}, record: { name: "a.eth" } }], meta: {} },
};
const refusal = (code: string, message = "Try again later.") => ({ error: { code, message, details: {} } });
const busy = { status: 503, headers: { "retry-after": "0" }, body: refusal("overloaded") };
const limited = { status: 429, headers: { "retry-after": "0" }, body: refusal("invalid_input") };
const cut = { ...found, isCut: true };
const html = { headers: { "content-type": "text/html" }, body: "<!doctype html><title>Sign in</title>" };

const nameOf = (url: string, options = {}) => createClient({ url, ...options }).name("a.eth");
const faultOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );

test.each([
  ["503", busy],
  ["429", limited],
  ["a page of a proxy", { ...html, status: 503 }],
  ["a connection that breaks", cut],
])("%s is asked again", async (_, fault) => {
  const { url, requests } = await serve(fault, fault, found);
  expect(await nameOf(url)).toEqual({ name: "a.eth" });
  expect(requests.length).toBe(3);
});

test.each([
  ["the last attempt counts", busy, { retries: 1 }, UnavailableError, 2],
  ["no retries", limited, { retries: 0 }, RateLimitError, 1],
  [
    "a longer wait than half a minute",
    { ...limited, headers: { "retry-after": "31" } },
    {},
    RateLimitError,
    1,
  ],
  [
    "a date far away",
    { ...busy, headers: { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() } },
    ...([{}, UnavailableError, 1] as const),
  ],
  ["a bad request", { status: 400, body: refusal("invalid_input") }, {}, ApiError, 1],
  [
    "a key that is not known",
    { status: 401, body: { message: "The API key is not known." } },
    {},
    ApiError,
    1,
  ],
  ["a bug", { status: 500, body: refusal("internal_error") }, {}, ApiError, 1],
])("%s", async (_, fault, options, type, count) => {
  const { url, requests } = await serve(fault);
  const error = await faultOf(nameOf(url, options));
  expect(error).toBeInstanceOf(type);
  expect(error).toMatchObject({ status: "status" in fault ? fault.status : 0 });
  expect(requests.length).toBe(count);
});

test.each([
  ["HTML", html, "text/html"],
  ["a page of an error", { ...html, status: 404 }, "404 with text/html"],
  ["another API", { body: { ok: true } }, '{"ok":true}'],
  ["a list", { body: [1] }, "[1]"],
  ["another kind of data", { body: { data: "a.eth", meta: {} } }, '"data":"a.eth"'],
  ["JSON that ends early", { body: '{"data":[' }, '{"data":['],
  ["nothing", { body: "" }, "200 with application/json"],
])("%s is one error that says what came", async (_, answer, text) => {
  const { url, requests } = await serve(answer);
  const error = await faultOf(nameOf(url));
  expect(error).toBeInstanceOf(AnswerError);
  expect((error as Error).message).toContain(text);
  expect(requests.length).toBe(1);
});

test("a lookup with fewer results than names, and a list without its page", async () => {
  const { url } = await serve({ body: { data: [], meta: {} } });
  expect(await faultOf(nameOf(url))).toMatchObject({ name: "ApiError", code: "incomplete" });
  expect(await faultOf(createClient({ url }).search("a").page())).toBeInstanceOf(AnswerError);
});

test("members and words that the client does not know are passed on", async () => {
  const record = { name: "a.eth", status: "frozen", aura: { hue: 7 } };
  const { url } = await serve({
    body: {
      data: [{ kind: "name", status: "ok", input: {}, record, aura: 1 }],
      meta: { as_of: {}, aura: 1 },
      aura: 1,
    },
  });
  expect(await nameOf(url)).toEqual(record);
});

test("a server that is not there", async () => {
  const error = await faultOf(nameOf("http://127.0.0.1:1", { retries: 0 }));
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).toContain("http://127.0.0.1:1/v1/lookup cannot be reached");
});

test("the key is sent as the documents say", async () => {
  const { url, requests } = await serve(found);
  await nameOf(url, { apiKey: "secret" });
  expect(requests[0]?.headers.authorization).toBe("Bearer secret");
});

test("a signal ends a request, a wait for the next attempt, and a call before its request", async () => {
  const reason = new Error("enough");
  const controller = new AbortController();
  const { url, requests } = await serve({ ...busy, headers: { "retry-after": "20" } });
  const waiting = faultOf(createClient({ url }).search("a", {}, { signal: controller.signal }).page());
  await expect.poll(() => requests.length).toBe(1);
  controller.abort(reason);
  expect(await waiting).toBe(reason);
  expect(await faultOf(createClient({ url }).name("a.eth", { signal: AbortSignal.abort(reason) }))).toBe(
    reason,
  );
  expect(requests.length).toBe(1);
});

test("a lookup ends when nobody waits for it any longer", async () => {
  let ended = 0;
  let begun = 0;
  const url = await startServer((request, response) => {
    begun++;
    request.resume();
    response.on("close", () => ended++);
  });
  const { name } = createClient({ url });
  const [first, second] = [new AbortController(), new AbortController()];
  const faults = [first, second].map(({ signal }) => faultOf(name("a.eth", { signal })));
  await expect.poll(() => begun).toBe(1);
  first.abort("one");
  expect(await faults[0]).toBe("one");
  expect(ended).toBe(0);
  second.abort("two");
  expect(await faults[1]).toBe("two");
  await expect.poll(() => ended).toBe(1);
});
