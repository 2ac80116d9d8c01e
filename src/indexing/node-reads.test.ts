import type { ServerResponse } from "node:http";
import { encodeAbiParameters, encodeFunctionData, getAddress, type Hex, RpcRequestError } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import { textRecordAbi } from "../../abis/resolver.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { createScopes, savedInMemory } from "../../test/support/scope.ts";
import { createNodes, readTextRecord } from "./node-reads.ts";
import type { AskNodes, NodeRequest, Scope } from "./scope.ts";

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

const node: Hex = `0x${"0a".repeat(32)}`;
const emitter: Hex = `0x${"e1".repeat(20)}`;
const encoded = (value: string) => encodeAbiParameters([{ type: "string" }], [value]);

type ReadContract = (request: { address: Hex }) => Promise<string>;

/** Scopes over a node that returns `result`, with its requests and the reported anomalies. */
function createReads({
  result,
  isConfigured = false,
  readContract = async () => {
    throw new Error("Ponder's client is not for this contract");
  },
}: {
  result: unknown;
  isConfigured?: boolean;
  readContract?: ReadContract;
}) {
  const asked: NodeRequest[] = [];
  const { next, anomalies } = createScopes({ emitter });
  const nodes: AskNodes = async (_, request) => {
    asked.push(request);
    return result;
  };
  const client = { readContract } as unknown as Scope["client"];
  const read = (key = "url", changes: Partial<Scope> = {}) =>
    readTextRecord(next({ nodes, client, isConfigured: () => isConfigured, ...changes }), { node, key });
  return { read, asked, anomalies };
}

describe("an unconfigured contract", () => {
  test("is read by a plain call at the event's block, bounded in gas, bytes and time", async () => {
    const { read, asked, anomalies } = createReads({ result: encoded("a value") });
    expect(await read()).toBe("a value");
    const data = encodeFunctionData({ abi: textRecordAbi, args: [node, "url"] });
    expect(asked).toEqual([
      {
        method: "eth_call",
        params: [{ to: emitter, data, gas: "0x989680" }, "0x1"],
        blockNumber: 1,
        maxBytes: expect.any(Number),
        timeoutMs: expect.any(Number),
      },
    ]);
    expect(anomalies).toEqual([]);
  });

  test("is asked once: later indexes of the same block find what was kept, unless it is no text", async () => {
    const saved = savedInMemory();
    for (const [result, times] of [
      ["0x", 1],
      ["0x", 1],
      [encoded("a value"), 1],
      ["0x", 0],
    ] as const) {
      const { read, asked } = createReads({ result });
      expect(await read("url", { saved })).toBe(result === "0x" && times === 1 ? undefined : "a value");
      expect(asked).toHaveLength(times);
    }
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no data", "0x"],
    ["data of another shape", "0x01"],
    [
      "an impossible length",
      encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [32n, 1n << 200n]),
    ],
    ["no hex text", { object: true }],
  ])("that returns %s has an unknown value", async (_, result) => {
    const { read, anomalies } = createReads({ result });
    expect(await read()).toBeUndefined();
    expect(anomalies).toEqual(["unreadable-contract"]);
  });

  test("is read a hundred times at once, and then once a second, in every index", async () => {
    const { read, asked, anomalies } = createReads({ result: encoded("") });
    const at = async (timestamp: bigint, count: number) => {
      asked.length = 0;
      for (let i = 0; i < count; i++) await read(`${i}`, { timestamp });
      return asked.length;
    };
    expect([await at(1_000n, 150), await at(1_010n, 50), await at(5_000n, 101)]).toEqual([100, 10, 100]);
    expect(anomalies).toEqual(Array(50 + 40 + 1).fill("too-many-reads"));
  });
});

describe("a configured contract", () => {
  test("is read through Ponder's client, in a spelling that Ponder does not take for any emitter's", async () => {
    const addresses: Hex[] = [];
    const readContract: ReadContract = async ({ address }) => {
      addresses.push(address);
      return "a value";
    };
    const { read, asked } = createReads({ result: undefined, isConfigured: true, readContract });
    expect(await read()).toBe("a value");
    expect([addresses, asked]).toEqual([[getAddress(emitter)], []]);
    expect(addresses).not.toEqual([emitter]);
  });

  test("has no value if it reverts, and is still read that way", async () => {
    const error = { code: 3, message: "execution reverted" };
    const readContract = async () => {
      throw new RpcRequestError({ body: {}, url: "http://node", error });
    };
    const { read, asked, anomalies } = createReads({ result: undefined, isConfigured: true, readContract });
    expect([await read(), await read()]).toEqual([undefined, undefined]);
    expect([asked, anomalies]).toEqual([[], ["unreadable-contract", "unreadable-contract"]]);
  });

  test("is read from the nodes once Ponder's client failed on it", async () => {
    let failures = 0;
    const readContract = async () => {
      failures += 1;
      throw new Error("gone");
    };
    const { read, asked } = createReads({ result: encoded("a value"), isConfigured: true, readContract });
    expect([await read(), await read()]).toEqual(["a value", "a value"]);
    expect([failures, asked.length]).toEqual([1, 2]);
  });

  test.each(["0x5Fb30E5Ddc1ae84e5dDC5a3ACc2c5bB9bdbb4fAE", "k".repeat(300)])(
    "is read with bounds if the key is long or could steer Ponder's client: %s",
    async (key) => {
      const { read, asked } = createReads({ result: encoded("a value"), isConfigured: true });
      expect(await read(key)).toBe("a value");
      expect(asked).toHaveLength(1);
    },
  );
});
