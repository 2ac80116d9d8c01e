import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DevNode, startNode } from "./node.ts";
import { type Answer, readRecording } from "./recording.ts";

const folder = new URL("recording/a", import.meta.url).pathname;
const recording = readRecording(folder);
const now = 1_800_000_000;
let node: DevNode;
type Reply = { result?: unknown; error?: { code: number; message: string } };
beforeAll(async () => {
  node = await startNode({ recording });
});
afterAll(() => node.close());

async function post(body: unknown, path = "") {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${node.url}${path}`, { method: "POST", body: text });
  return { status: response.status, body: (await response.json()) as Reply };
}
const ask = async (method: string, ...params: unknown[]) =>
  (await post({ jsonrpc: "2.0", id: 1, method, params })).body;
const result = async (method: string, ...params: unknown[]) => (await ask(method, ...params)).result;
const hex = (number: number) => `0x${number.toString(16)}`;

describe("recorded blocks", () => {
  const withTransactions = recording.blocks.find((block) => (block["transactions"] as string[]).length > 2)!;
  const hash = withTransactions["hash"];
  const own = recording.transactions.filter((transaction) => transaction["blockHash"] === hash);
  const receipts = recording.receipts.filter((receipt) => receipt["blockHash"] === hash);

  test("are returned as recorded, with hashes or with transactions", async () => {
    expect(await result("eth_getBlockByHash", hash, false)).toEqual(withTransactions);
    expect(await result("eth_getBlockByNumber", withTransactions["number"], false)).toEqual(withTransactions);
    expect(await result("eth_getBlockByNumber", withTransactions["number"], true)).toEqual({
      ...withTransactions,
      transactions: own,
    });
  });

  test("return their transactions and receipts one by one and together", async () => {
    expect(await result("eth_getTransactionByHash", own[1]!["hash"])).toEqual(own[1]);
    expect(await result("eth_getTransactionReceipt", own[1]!["hash"])).toEqual(receipts[1]);
    expect(await result("eth_getBlockReceipts", withTransactions["number"])).toEqual(receipts);
    expect(await result("eth_getBlockReceipts", hash)).toEqual(receipts);
  });

  test("that do not exist are null", async () => {
    expect(await result("eth_getBlockByNumber", "0xffffff", false)).toBeNull();
    expect(await result("eth_getBlockByHash", `0x${"9".repeat(64)}`, false)).toBeNull();
    expect(await result("eth_getBlockReceipts", "0xffffff")).toBeNull();
    expect(await result("eth_getTransactionByHash", `0x${"9".repeat(64)}`)).toBeNull();
    expect(await result("eth_getTransactionReceipt", `0x${"9".repeat(64)}`)).toBeNull();
  });

  test("every result is byte-equal to the recorded line", async () => {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "eth_getBlockByHash",
      params: [hash, false],
    });
    const text = await (await fetch(node.url, { method: "POST", body })).text();
    expect(text).toBe(`{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(withTransactions)}}`);
  });
});

test("recorded calls and traces are returned, others behave like an account without code", async () => {
  const call = recording.calls.find((recorded) => recorded.result !== undefined)!;
  expect(await result("eth_call", { to: call.to, data: call.data }, call.block)).toBe(call.result);
  expect(await result("eth_call", { to: call.to, input: call.data }, call.block)).toBe(call.result);
  expect((await ask("eth_call", { to: call.to, data: "0x00" }, "latest")).error).toEqual({
    code: 3,
    message: "execution reverted",
  });
  const [trace] = recording.traces;
  expect(await result("debug_traceTransaction", trace!.hash, { tracer: "callTracer" })).toEqual(
    trace!.result,
  );
  expect((await ask("debug_traceTransaction", `0x${"9".repeat(64)}`)).error?.code).toBe(-32000);
});

describe("requests", () => {
  test("a batch returns results in order, with errors in place", async () => {
    const { body } = await post([
      { id: 1, method: "eth_chainId" },
      { id: "two", method: "eth_unknown", params: [] },
    ]);
    expect(body).toEqual([
      { jsonrpc: "2.0", id: 1, result: "0xeeeeed" },
      {
        jsonrpc: "2.0",
        id: "two",
        error: { code: -32601, message: "the method eth_unknown does not exist" },
      },
    ]);
  });

  test.each([
    ["{", -32600],
    ["[]", -32600],
    ['[{"id":1,"method":"eth_chainId"},5]', -32600],
    ["{}", -32600],
    ["null", -32600],
    ['{"id":1,"method":"eth_getLogs","params":{}}', -32600],
    ['{"id":1,"method":"eth_getBlockByNumber","params":["soon"]}', -32602],
    ['{"id":1,"method":"eth_getBlockByHash","params":[5]}', -32602],
    ['{"id":1,"method":"eth_call","params":[5]}', -32602],
    ['{"id":1,"method":"eth_call","params":[{},"soon"]}', -32602],
  ])("%s is refused with code %i", async (body, code) => {
    expect((await post(body)).body.error?.code).toBe(code);
  });
});

test("mined blocks follow the recorded head, each later than the one before", async () => {
  const head = node.chain.head();
  for (let left = 2; left >= 0; left--) node.mineBlock({ timestamp: now });
  const blocks: Answer[] = [];
  for (let number = head; number <= head + 3; number++)
    blocks.push((await result("eth_getBlockByNumber", hex(number), false)) as Answer);
  expect(blocks.slice(1).map(({ timestamp }) => Number(timestamp))).toEqual([now, now + 1, now + 2]);
  expect(blocks.slice(1).map(({ parentHash }) => parentHash)).toEqual(
    blocks.slice(0, -1).map(({ hash }) => hash),
  );
});

describe("control", () => {
  test("moves the head, mines, and reports the calls made", async () => {
    const { body } = await post({ head: 100 }, "/control");
    expect(body).toMatchObject({ chainId: 15658733, head: 100 });
    expect(await result("eth_blockNumber")).toBe("0x64");
    await post({ head: 1_000_000 }, "/control");
    const counts = (await (await fetch(`${node.url}/control`)).json()) as { calls: Record<string, number> };
    expect(counts.calls["eth_blockNumber"]).toBeGreaterThan(0);
  });

  test("rejects unknown fields and bad values, naming the field", async () => {
    expect(await post({ head: -1 }, "/control")).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("head") },
    });
    expect((await post("nonsense", "/control")).status).toBe(400);
    expect((await post({ sleep: 1 }, "/control")).status).toBe(400);
  });

  test("injects statuses, delays and dropped connections", async () => {
    await post({ fail: { status: 429, methods: ["eth_blockNumber"] } }, "/control");
    expect((await post({ id: 1, method: "eth_blockNumber" })).status).toBe(429);
    expect((await post({ id: 1, method: "eth_chainId" })).status).toBe(200);
    await post({ fail: null, delayMs: 60 }, "/control");
    const start = performance.now();
    await post({ id: 1, method: "eth_chainId" });
    expect(performance.now() - start).toBeGreaterThan(50);
    await post({ delayMs: 0, down: true }, "/control");
    await expect(post({ id: 1, method: "eth_chainId" })).rejects.toThrow();
    await post({ down: false }, "/control");
    expect(await result("eth_chainId")).toBe("0xeeeeed");
  });
});

test("a port in use is an error, not a reason to take another", async () => {
  await expect(startNode({ recording, port: node.port })).rejects.toThrow("EADDRINUSE");
});
