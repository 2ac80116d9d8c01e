import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { createNodes } from "./node-reads.ts";
import type { NodeRequest } from "./scope.ts";

const chainId = 1;
const timing = { firstWaitMs: 5, longestWaitMs: 10, repeatMs: 1, probeMs: 10_000 };
const request: NodeRequest = {
  method: "eth_call",
  params: [{}, "0x7"],
  blockNumber: 7,
  maxBytes: 1_000,
  timeoutMs: 10_000,
};

type Answer = (response: ServerResponse) => void;
const json =
  (body: object, status = 200): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
const result = (value: unknown) => json({ jsonrpc: "2.0", id: 1, result: value });
const error = (code: number, message: string, status = 200) =>
  json({ jsonrpc: "2.0", id: 1, error: { code, message } }, status);
const status =
  (code: number): Answer =>
  (response) =>
    response.writeHead(code).end("<html>");
const silence: Answer = () => {};
const brokenOff: Answer = (response) => response.socket?.destroy();

const servers: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

/** A node that returns each answer once, then the last one repeatedly, and serves blocks as `block` does. */
async function startNode(answers: readonly Answer[], block: readonly Answer[] = [result({ number: "0x7" })]) {
  const asked = { call: [] as unknown[], block: [] as unknown[] };
  const server = await listen(async (incoming, response) => {
    let text = "";
    for await (const chunk of incoming) text += chunk;
    const { method, params } = JSON.parse(text) as { method: string; params: unknown[] };
    const isBlock = method === "eth_getBlockByNumber";
    const [list, seen] = isBlock ? [block, asked.block] : [answers, asked.call];
    seen.push(params);
    list[Math.min(seen.length, list.length) - 1]?.(response);
  });
  servers.push(server);
  return { asked, url: server.url };
}

// For requests that get no response.
const hasty = { ...request, timeoutMs: 1_000 };

function nodesOf(urls: string | string[], given = timing) {
  const outages: number[] = [];
  const onOutage = (chain: number) => void outages.push(chain);
  return {
    ask: createNodes([{ id: chainId, rpc: { http: [urls].flat() } }], { onOutage, timing: given }),
    outages,
  };
}

test("a result comes from the first node, asked as it should be", async () => {
  const node = await startNode([result("0x01")]);
  expect(await nodesOf(node.url).ask(chainId, request)).toBe("0x01");
  expect(node.asked).toEqual({ call: [[{}, "0x7"]], block: [] });
});

describe("is final at once", () => {
  test.each<[string, Answer]>([
    ["a revert, whatever its reason", error(3, "execution reverted: rate limit exceeded")],
    ["a contract's failure under a general code", error(-32000, "gas uint64 overflow")],
    ["a contract's failure with an HTTP status", error(-32000, "execution reverted", 500)],
    ["a method that the node does not have", error(-32601, "the method does not exist")],
    ["no result", result(null)],
    ["a result longer than the limit", result("0x".padEnd(2_000, "0"))],
    ["an error longer than the limit", error(3, "x".repeat(2_000))],
  ])("%s", async (_, answer) => {
    const node = await startNode([answer]);
    expect(await nodesOf(node.url).ask(chainId, request)).toBeUndefined();
    expect(node.asked).toEqual({ call: [[{}, "0x7"]], block: [] });
  });
});

describe("while the node serves the block, is retried a few times", () => {
  test.each<[string, Answer, number]>([
    ["an unknown error", error(-32000, "whatever"), 3],
    ["an internal error", error(-32603, "internal error"), 3],
    ["a status of the server", status(500), 8],
    ["a refused request", status(413), 3],
    ["no JSON", status(200), 3],
    ["a broken connection", brokenOff, 8],
    ["no response in time", silence, 2],
  ])("%s", async (_, answer, tries) => {
    const node = await startNode([answer]);
    const { ask, outages } = nodesOf(node.url);
    expect(await ask(chainId, answer === silence ? hasty : request)).toBeUndefined();
    expect(node.asked.call).toHaveLength(tries);
    expect(node.asked.block).toEqual(Array(tries).fill(["0x7", false]));
    expect(outages).toEqual([]);
  });

  test.each<[string, Answer]>([
    ["an unknown error", error(-32000, "whatever")],
    ["no response in time", silence],
  ])("%s that is temporary loses no value", async (_, answer) => {
    const node = await startNode([answer, result("0x02")]);
    expect(await nodesOf(node.url).ask(chainId, answer === silence ? hasty : request)).toBe("0x02");
  });
});

describe("is waited out", () => {
  test.each<[string, Answer]>([
    ["a connection that breaks", brokenOff],
    ["a server without a node behind it", status(502)],
    ["no response", silence],
    ["an error", error(-32000, "header not found")],
    ["a block that the node does not have yet", result(null)],
  ])("%s for the block", async (_, block) => {
    const node = await startNode([...Array(4).fill(error(-32000, "unknown block")), result("0x03")], [block]);
    const { ask, outages } = nodesOf(node.url, block === silence ? { ...timing, probeMs: 200 } : timing);
    expect(await ask(chainId, request)).toBe("0x03");
    expect(outages).toEqual([chainId]);
  });

  test.each<[string, Answer]>([
    ["by status", status(429)],
    ["by code", error(-32005, "limit exceeded")],
  ])("a limit of the provider, %s", async (_, answer) => {
    const node = await startNode([...Array(6).fill(answer), result("0x04")]);
    expect(await nodesOf(node.url).ask(chainId, request)).toBe("0x04");
    expect(node.asked.block).toEqual([]);
  });

  test("a limit on this request alone is final in the end", async () => {
    const node = await startNode([status(429)]);
    expect(await nodesOf(node.url).ask(chainId, request)).toBeUndefined();
    expect(node.asked.call).toHaveLength(9);
  });

  test("one node of two", async () => {
    const down = await startNode([status(503)], [status(503)]);
    const node = await startNode([result("0x05")]);
    expect(await nodesOf([down.url, node.url]).ask(chainId, request)).toBe("0x05");
    expect(down.asked.call).toHaveLength(1);
  });
});

test("after three failures that retries did not fix, one short attempt is enough, until a retry succeeds", async () => {
  const failures = Array(3 * 3 + 1).fill(error(-32000, "whatever"));
  const node = await startNode([...failures, silence, result("0x06")]);
  const { ask } = nodesOf(node.url);
  for (let round = 0; round < 4; round++) expect(await ask(chainId, request)).toBeUndefined();
  expect(node.asked.call).toHaveLength(10);
  expect(await ask(chainId, request)).toBeUndefined();
  expect(await ask(chainId, request)).toBe("0x06");
});

test("the failures of one method do not shorten the attempts of another", async () => {
  const node = await startNode([error(-32000, "whatever")]);
  const { ask } = nodesOf(node.url);
  for (let round = 0; round < 4; round++) await ask(chainId, request);
  node.asked.call.length = 0;
  await ask(chainId, { ...request, method: "debug_traceTransaction" });
  expect(node.asked.call).toHaveLength(3);
});

test("a call's result that another node contradicts is not used; one that it cannot answer is", async () => {
  const call = { ...request, method: "eth_call" };
  const urls = async (...answers: Answer[]) =>
    (await Promise.all(answers.map((answer) => startNode([answer])))).map(({ url }) => url);
  expect(await nodesOf(await urls(result("0x01"), result("0x02"))).ask(chainId, call)).toBeUndefined();
  expect(await nodesOf(await urls(result("0x01"), result("0x01"))).ask(chainId, call)).toBe("0x01");
  expect(await nodesOf(await urls(result("0x01"), status(500))).ask(chainId, call)).toBe("0x01");
});
