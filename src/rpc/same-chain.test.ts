import { beforeEach, expect, test, vi } from "vitest";
import { isAside, type Node, type Nodes, newNode, newNodes, type RpcRequest, refusal } from "./nodes.ts";
import { isForeign, requireOwnBlock, requireSameChain, scheduleChainCheck } from "./same-chain.ts";

const mainnet = 1;
const holesky = 17_000;

let now: number;
let served: number;
let asked: RpcRequest[];
let node: Node;
let other: Node;
let nodes: Nodes;
beforeEach(() => {
  vi.useRealTimers();
  now = 1_000_000;
  served = mainnet;
  asked = [];
  node = newNode("one", async (body) => {
    asked.push(body);
    return `0x${served.toString(16)}`;
  });
  other = newNode("other", async () => "0x1");
  nodes = newNodes(
    {
      chain: "mainnet",
      chainId: mainnet,
      isPublic: true,
      crossCheckShare: 0,
      log: vi.fn(),
      count: vi.fn(),
      doubt: vi.fn(),
      believe: vi.fn(),
      random: () => 0.5,
      now: () => now,
    },
    [node],
  );
});

const header = {
  ...{ number: "0x10", hash: `0x${"1".repeat(64)}`, parentHash: `0x${"0".repeat(64)}`, timestamp: "0x1" },
  ...{ logsBloom: "0x", receiptsRoot: "0x" },
};
const blockWith = (transactions: unknown[], isNewest = false, number = "0x10") =>
  requireOwnBlock(nodes, node, {
    response: { ...header, number, transactions },
    block: { ...header, number, transactions: [] },
    isNewest,
  });

// EIP-155: v is 35 or 36 plus twice the chain id; before it 27 or 28. EIP-2718: typed transactions carry the id.
test.each<[string, Record<string, unknown>[]]>([
  ["a transaction of type 2", [{ type: "0x2", chainId: "0x1" }]],
  ["a blob transaction", [{ type: "0x3", chainId: "0x1" }]],
  ["a legacy transaction with v 37", [{ type: "0x0", v: "0x25" }]],
  ["a legacy transaction with v 38 and no type", [{ v: "0x26" }]],
  [
    "one of its own among others",
    [
      { type: "0x2", chainId: "0x4268" },
      { type: "0x2", chainId: "0x1" },
    ],
  ],
])("a block with %s shows the chain", async (_name, transactions) => {
  await blockWith(transactions);
  expect(node.trust.provenAt).toBe(now);
  await requireSameChain(nodes, node);
  expect(asked).toEqual([]);
});

test.each<[string, Record<string, unknown>[]]>([
  ["no transactions", []],
  ["hashes of transactions", [{}].map(() => `0x${"2".repeat(64)}`) as never],
  [
    "legacy transactions from before EIP-155",
    [
      { type: "0x0", v: "0x1b" },
      { type: "0x0", v: "0x1c" },
    ],
  ],
  ["deposits of a layer two", [{ type: "0x7e", chainId: "0x0", v: "0x0" }]],
])("a block with %s shows nothing", async (_name, transactions) => {
  await blockWith(transactions);
  expect(node.trust.provenAt).toBe(0);
});

// v of chain 17,000: 34,035 or 34,036.
test.each<[string, Record<string, unknown>[]]>([
  ["a transaction of type 2", [{ type: "0x2", chainId: "0x4268" }]],
  ["a legacy transaction", [{ type: "0x0", v: "0x84f4" }]],
])("a block with %s of another chain is refused", async (_name, transactions) => {
  await expect(blockWith(transactions)).rejects.toThrow(
    `Refused an answer of one: it answers for chain ${holesky}, not for chain 1.`,
  );
  expect(isForeign(node)).toBe(true);
});

test("on a fork of another chain the transactions say nothing", async () => {
  nodes.isPublic = false;
  await blockWith([{ type: "0x2", chainId: "0x4268" }]);
  expect(isForeign(node)).toBe(false);
});

test("a newest block far from the one before is asked about if no transaction shows its chain", async () => {
  await blockWith([], true);
  await blockWith([], true, "0x11");
  expect(asked).toEqual([]);
  served = holesky;
  await expect(blockWith([], true, "0x1111")).rejects.toThrow(`it answers for chain ${holesky}`);
});

test("the chain id is asked for after 400 requests and after a minute that show nothing", async () => {
  for (let request = 0; request < 401; request++) await requireSameChain(nodes, node);
  expect(asked).toHaveLength(1);
  await requireSameChain(nodes, node);
  expect(asked).toHaveLength(2);
  now += 60_000;
  await requireSameChain(nodes, node);
  expect(asked).toEqual(Array.from({ length: 3 }, () => ({ method: "eth_chainId" })));
});

test("a URL that serves another chain for a moment is found within a second of an answer that shows no chain", async () => {
  vi.useFakeTimers();
  await requireSameChain(nodes, node);
  now += 1;
  const whenForeign = vi.fn();
  served = holesky;
  // Many answers, one request.
  for (let answer = 0; answer < 5; answer++) scheduleChainCheck(nodes, node, whenForeign);
  now += 1_000;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(2);
  expect(whenForeign).toHaveBeenCalledTimes(1);
  expect(isForeign(node)).toBe(true);
});

test("no request is sent where a block shows the chain meanwhile, and beyond ten at first one for 200 requests", async () => {
  vi.useFakeTimers();
  const answer = async (blocks: unknown[]) => {
    now += 1;
    scheduleChainCheck(nodes, node, () => {});
    now += 1;
    for (const block of blocks) await blockWith([block]);
    await vi.advanceTimersByTimeAsync(1_000);
  };
  await answer([{ type: "0x2", chainId: "0x1" }]);
  expect(asked).toEqual([]);
  for (let turn = 0; turn < 15; turn++) await answer([]);
  expect(asked).toHaveLength(10);
  for (let request = 0; request < 201; request++) await requireSameChain(nodes, node);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(11);
});

test("one that is proven to serve another chain changes places with one that was put aside for what it refused", async () => {
  nodes.all = [node, other];
  // It does not have the blocks that the other one named.
  for (let answer = 0; answer < 3; answer++) refusal(nodes, other, "it has no such block");
  expect(isAside(nodes, other)).toBe(true);
  served = holesky;
  await expect(requireSameChain(nodes, node)).rejects.toThrow(`it answers for chain ${holesky}`);
  expect([isAside(nodes, node), isAside(nodes, other)]).toEqual([true, false]);
});
