import { beforeEach, expect, test, vi } from "vitest";
import { watchedOptions } from "../../test/support/ponder/rpc-nodes.ts";
import {
  chooseSubstitute,
  isAside,
  type Node,
  type Nodes,
  newNode,
  newNodes,
  type RpcRequest,
  refusal,
} from "./nodes.ts";
import { requireNearBlock, requireSameChain, scheduleChainCheck } from "./same-chain.ts";

const [mainnet, holesky] = [1, 17_000];

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
  nodes = newNodes(watchedOptions({ now: () => now }).options, [node]);
});

test("a URL is asked for its chain where its newest block is far from the one before", async () => {
  await requireNearBlock(nodes, node, 0x10);
  await requireNearBlock(nodes, node, 0x11);
  expect(asked).toEqual([]);
  served = holesky;
  await expect(requireNearBlock(nodes, node, 0x1111)).rejects.toThrow(
    `Rejected a response from one: it serves chain ${holesky}, not chain 1.`,
  );
  expect(node.isForeign).toBe(true);
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
  served = holesky;
  // Many answers, one request.
  for (let answer = 0; answer < 5; answer++) scheduleChainCheck(nodes, node);
  now += 1_000;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(2);
  expect(node.isForeign).toBe(true);
});

test("such requests are ten at first, and one for 200 others", async () => {
  vi.useFakeTimers();
  const answer = async () => {
    now += 1;
    scheduleChainCheck(nodes, node);
    now += 1;
    await vi.advanceTimersByTimeAsync(1_000);
  };
  for (let turn = 0; turn < 15; turn++) await answer();
  expect(asked).toHaveLength(10);
  for (let request = 0; request < 201; request++) await requireSameChain(nodes, node);
  await answer();
  expect(asked).toHaveLength(11);
});

test("one that is proven to serve another chain changes places with one that was put aside for what it refused", async () => {
  nodes.all = [node, other];
  // It does not have the blocks that the other one named.
  for (let answer = 0; answer < 3; answer++) refusal(nodes, other, "it has no such block");
  expect(isAside(nodes, other)).toBe(true);
  served = holesky;
  await expect(requireSameChain(nodes, node)).rejects.toThrow(`it serves chain ${holesky}`);
  expect([chooseSubstitute(nodes, node), chooseSubstitute(nodes, other)]).toEqual([other, other]);
});
