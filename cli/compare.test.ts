import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolders } from "../test/support/folders.ts";
import { listDifferences, pinQuery } from "./compare/differences.ts";
import { compareEndpoints } from "./compare.ts";

type Body = { query: string; variables: Record<string, unknown> };
type Handle = (body: Body, response: ServerResponse) => unknown;

const folder = temporaryFolders()();
const closing: (() => void)[] = [];
let exitCode: typeof process.exitCode;
beforeEach(() => {
  exitCode = process.exitCode;
});
afterEach(() => {
  process.exitCode = exitCode;
  for (const close of closing.splice(0)) close();
});

/** A subgraph at a block, whose data for other queries than those about its block `handle` returns or sends. */
async function serve(block: number, handle: Handle) {
  const bodies: Body[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Body;
    bodies.push(body);
    const isHead = body.query.includes("_meta {");
    const data = isHead ? { _meta: { block: { number: block } } } : await handle(body, response);
    if (data !== undefined) response.end(JSON.stringify({ data }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/k3y/subgraph`, bodies };
}

const file = join(folder, "queries.json");
const query = "query($by: Domain_orderBy) { domains(first: 3, orderBy: $by) { id name } }";
const runWith = async (ours: Handle, theirs: Handle, options = {}) => {
  writeFileSync(file, JSON.stringify([{ name: "listed", query, variables: { by: "createdAt" } }]));
  const [own, other] = [await serve(120, ours), await serve(100, theirs)];
  const pauses: unknown[] = [];
  const pause = async (milliseconds?: number) => void pauses.push(milliseconds);
  process.exitCode = undefined;
  const text = compareEndpoints({ url: own.url, with: other.url, queries: file, pause, ...options });
  return { text: await text, pauses, own, other, exitCode: process.exitCode };
};
const row = (id: string, at: string, name = id) => ({ id, name, comparedOrder: at });
const listing = (...domains: object[]) => ({ domains });

test("both are asked at the block of the one behind, and equal responses are the same", async () => {
  const same = () => listing(row("a", "1"), row("b", "2"));
  const { text, own, other, exitCode } = await runWith(same, same);
  expect(text).toBe("same       listed");
  expect(exitCode).toBe(undefined);
  expect(own.bodies.at(-1)).toEqual(other.bodies.at(-1));
  expect(own.bodies.at(-1)?.query).toContain("block: {number: 100}");
});

test("differences are shown by path, without control characters, and set the exit code", async () => {
  const { text, exitCode } = await runWith(
    () => listing(row("a", "1", "x"), row("b", "2")),
    () => listing(row("a", "1", "\u202ey"), row("b", "2")),
  );
  expect(text).toBe('DIFFERENT  listed: 1\n  domains.0.name: "x" here, "\\u202ey" there');
  expect(exitCode).toBe(1);
});

test("rows that are equal by the order may come in any, and end a page", async () => {
  const { text, exitCode } = await runWith(
    () => listing(row("a", "1"), row("b", "1"), row("c", "2")),
    () => listing(row("b", "1"), row("a", "1"), row("d", "2")),
  );
  expect(text).toMatch(/^known {6}listed; known: order of equal rows/);
  expect(exitCode).toBe(undefined);
  const wrong = await runWith(
    () => listing(row("a", "1"), row("b", "2")),
    () => listing(row("b", "2"), row("a", "1")),
  );
  expect(wrong.exitCode).toBe(1);
});

test("an endpoint without blocks is asked for its newest one", async () => {
  const { own } = await runWith(
    () => listing(),
    ({ query }, response) =>
      query.includes("block:")
        ? void response.end('{"errors":[{"message":"Unknown argument \\"block\\""}]}')
        : listing(),
  );
  expect(own.bodies.at(-1)?.query).not.toContain("block:");
});

describe("an endpoint", () => {
  const fine = () => listing();

  test.each<[string, Handle, string]>([
    [
      "of HTML",
      (_, response) => void response.setHeader("content-type", "text/html").end("<html>"),
      "does not answer with GraphQL: HTTP 200, text/html.",
    ],
    ["that hangs up", (_, response) => void response.destroy(), "does not respond: UND_ERR_SOCKET."],
    [
      "that is always busy",
      (_, response) => void response.writeHead(429).end(),
      "is busy (HTTP 429). Try again later.",
    ],
  ])("%s is named by its host", async (_, handle, message) => {
    const failed = await runWith(fine, handle).catch((error: Error) => error.message);
    expect(failed).toMatch(/^127\.0\.0\.1:\d+ /);
    expect(failed).toContain(message);
    expect(failed).not.toContain("k3y");
  });

  test("is asked again after as long as it says", async () => {
    let times = 0;
    const { text, pauses } = await runWith(fine, (_, response) =>
      times++ === 0 ? void response.writeHead(429, { "retry-after": "7" }).end() : listing(),
    );
    expect(text).toBe("same       listed");
    expect(pauses).toEqual([7_000]);
  });

  test("that refuses a query as this index does shows nothing", async () => {
    const refuse: Handle = ({ query }, response) =>
      query.includes("$by") ? void response.end('{"errors":[{"message":"no such field"}]}') : listing();
    const { text, exitCode } = await runWith(refuse, refuse);
    expect(text).toBe("NOT COMPARED  listed: both refuse it: no such field");
    expect(exitCode).toBe(1);
  });

  test("that fails one query leaves the others", async () => {
    const { text, exitCode } = await runWith(fine, ({ query }, response) =>
      query.includes("$by") ? void response.destroy() : listing(),
    );
    expect(text).toMatch(/^NOT COMPARED {2}listed: 127\.0\.0\.1:\d+ does not respond/);
    expect(exitCode).toBe(1);
  });
});

test("a file that has no queries is refused", async () => {
  const { url } = await serve(1, () => listing());
  for (const text of ["<html>", '[{"name": "x", "query": "{"}]']) {
    writeFileSync(file, text);
    await expect(compareEndpoints({ url, with: url, queries: file })).rejects.toThrow("must be a JSON list");
  }
});

// docs/compatibility.md, "The subgraph".
test.each([
  ["a label of a later set", { name: "vitalik.eth" }, { name: `[${"af".repeat(32)}].eth` }, true],
  ["a label that only the other knows", { name: `[${"af".repeat(32)}].eth` }, { name: "vitalik.eth" }, false],
  ["a label that the other lacks", { labelName: "vitalik" }, { labelName: null }, true],
  ["an expiry that the other lacks", { expiryDate: "1790000000" }, { expiryDate: null }, false],
  ["a stale index", { _meta: { hasIndexingErrors: true } }, { _meta: { hasIndexingErrors: false } }, true],
  ["another owner", { owner: { id: "0x1" } }, { owner: { id: "0x2" } }, false],
  ["a row that is missing", { rows: [] }, { rows: [{ id: "0x1" }] }, false],
])("%s", (_, ours, theirs, isKnown) => {
  const found = listDifferences({ data: ours }, { data: theirs });
  expect(found).toHaveLength(1);
  expect(found[0]?.known !== undefined).toBe(isKnown);
});

test("only one's errors are a difference, and those of a resolver set to zero are known", () => {
  const zero = "Null value resolved for non-null field `resolver`";
  expect(listDifferences({ data: {} }, { errors: [zero] })[0]?.known).toMatch(/resolver/);
  expect(listDifferences({ data: {} }, { errors: ["timeout"] })).toEqual([
    { path: "errors", ours: undefined, theirs: "timeout" },
  ]);
});

test("a pinned query keeps its own blocks, and fragments", () => {
  const text = pinQuery(
    "{ a: domains(block: {number: 1}) { ...F } _meta { block { number } } } fragment F on Domain { id }",
    5,
    {},
  );
  expect(text.replaceAll(/\s+/g, " ")).toBe(
    "{ a: domains(block: {number: 1}) { ...F } _meta(block: {number: 5}) { block { number } } } fragment F on Domain { id }",
  );
});
