import { afterAll, beforeAll, expect, test } from "vitest";
import { createWholeApi } from "./support/in-process.ts";

// Lookups and lists under /v1 with what no client should send: each is answered or refused, by a body of the documented
// form.

let api: Awaited<ReturnType<typeof createWholeApi>>;
beforeAll(async () => {
  api = await createWholeApi();
});
afterAll(() => api?.close());

async function ask(path: string, body?: unknown) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const init = body === undefined ? {} : { method: "POST", body: text };
  const response = await api.app.request(path, init);
  const answer = (await response.json()) as { data?: { status: string }[]; error?: { code: string } };
  expect(api.logged).toEqual([]);
  return { status: response.status, data: answer.data, code: answer.error?.code };
}

const odd = [
  "\0",
  "a\0b.eth",
  "..",
  ".",
  "",
  " ",
  "%",
  "_%_.eth",
  "\\",
  "'; DROP TABLE domain; --",
  '{"a":1}',
  "\ud800.eth",
  "\u202eeth",
  "[0x00].eth",
  `[${"A".repeat(64)}].eth`,
  `[${"a".repeat(64)}].eth`,
  "x".repeat(2_000),
  "x".repeat(20_000),
  `${"a.".repeat(900)}eth`,
  "👨‍👩‍👧.eth",
];

test("names of any bytes are results of their own", async () => {
  const { status, data } = await ask("/v1/lookup", { inputs: odd.map((name) => ({ name })) });
  expect(status).toBe(200);
  expect(data).toHaveLength(odd.length);
  for (const { status } of data ?? []) expect(["ok", "not_found", "invalid_name"]).toContain(status);
  for (const name of odd) {
    for (const path of [
      "/v1/names/",
      "/v1/search?q=",
      "/v1/search?sort=relevance&q=",
      "/v1/events?name=",
      "/v1/events?record_key=text:",
    ]) {
      const { status } = await ask(`${path}${encodeURIComponent(name.toWellFormed())}`);
      expect([200, 400, 404], `${path} ${JSON.stringify(name)}`).toContain(status);
    }
  }
});

const address = `0x${"1".repeat(40)}`;

test("bodies and cursors out of form are refused with a code", async () => {
  const refused = [
    "",
    "null",
    "[]",
    "{",
    { inputs: "a" },
    { inputs: [null] },
    { inputs: [{}] },
    { inputs: [{ name: 1 }] },
    { inputs: [{ name: "a.eth", address }] },
    { inputs: [{ address, page_size: 1e9 }] },
    { inputs: [{ address, cursor: "x".repeat(9_000) }] },
    { inputs: [{ address, cursor: Buffer.from('[1,"x",["a","b","c"]]').toString("base64url") }] },
    { inputs: [{ name: "a.eth" }], include: "all" },
    { inputs: [{ id: " ", name: "a.eth" }] },
    { inputs: [{ address: "0x12" }] },
  ];
  for (const body of refused)
    expect(await ask("/v1/lookup", body), JSON.stringify(body)).toMatchObject({
      status: 400,
      code: "invalid_input",
    });
  const cursors = ["[]", "[1]", '[1,"x",[1]]', '[2,"x",["a"]]', "\0"].map((text) =>
    Buffer.from(text).toString("base64url"),
  );
  for (const cursor of [...cursors, "%", "é"])
    expect(await ask(`/v1/addresses/${address}/names?cursor=${encodeURIComponent(cursor)}`)).toMatchObject({
      status: 400,
    });
});

test("a cursor whose values are not those of its sort is refused", async () => {
  const list = ["addresses", address, { relation: "any", match: "prefix", sort: "expires_at", order: "asc" }];
  const cursor = Buffer.from(JSON.stringify([1, JSON.stringify(list), ["no number", "a", "b"]])).toString(
    "base64url",
  );
  expect((await ask(`/v1/addresses/${address}/names?sort=expires_at&cursor=${cursor}`)).status).toBe(400);
});

test("long names share a budget, and others have their turn while they are hashed", async () => {
  const long = `${"a.".repeat(400)}eth`;
  const inputs = (count: number) => Array.from({ length: count }, () => ({ name: long }));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  const taken = await ask("/v1/lookup", { inputs: inputs(124) });
  clearInterval(timer);
  expect(taken.status).toBe(200);
  // A slice is 2,000 characters: every third name.
  expect(turns).toBeGreaterThan(20);
  expect(await ask("/v1/lookup", { inputs: inputs(125) })).toMatchObject({
    status: 400,
    code: "invalid_input",
  });
});

test("an address that is given many times is read once, and answered each time", async () => {
  const { status, data } = await ask("/v1/lookup", {
    inputs: Array.from({ length: 500 }, () => ({ address })),
  });
  expect([status, data?.length]).toEqual([200, 500]);
  expect(new Set(data?.map((one) => JSON.stringify(one))).size).toBe(1);
});

test("a thousand addresses have pages of fifty, fewer have longer ones", async () => {
  const inputs = (count: number, page_size: number) =>
    Array.from({ length: count }, (_, i) => ({
      address: `0x${i.toString(16).padStart(40, "0")}`,
      page_size,
    }));
  expect((await ask("/v1/lookup", { inputs: inputs(1_000, 50) })).status).toBe(200);
  expect((await ask("/v1/lookup", { inputs: inputs(250, 200) })).status).toBe(200);
  const { status, code } = await ask("/v1/lookup", { inputs: inputs(251, 200) });
  expect([status, code]).toEqual([400, "invalid_input"]);
});
