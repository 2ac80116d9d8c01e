import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchedOptions } from "../../test/support/ponder/rpc-nodes.ts";
import { keepRange } from "./compared-logs.ts";
import { parseLogsFilter, type RpcLog } from "./log-answers.ts";
import { newNode, newNodes, type RpcRequest, toHex } from "./nodes.ts";
import { provesChain, requireSameChain } from "./same-chain.ts";
import { recheckUnverified } from "./unverified.ts";

const log: RpcLog = {
  address: `0x${"a".repeat(40)}`,
  topics: [`0x${"b".repeat(64)}`],
  data: "0x",
  blockNumber: toHex(25),
  blockHash: `0x${"c".repeat(64)}`,
  logIndex: "0x0",
  transactionHash: `0x${"d".repeat(64)}`,
  transactionIndex: "0x0",
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A chain with one log, in block 25, and a URL that may serve an empty chain 2 in its place. */
function createChain() {
  const state = { chainId: 1, now: 1_000 };
  const answer = async ({ method, params }: RpcRequest) => {
    if (method === "eth_chainId") return toHex(state.chainId);
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
    return state.chainId === 1 && Number(fromBlock) <= 25 && 25 <= Number(toBlock) ? [log] : [];
  };
  const node = newNode("one", answer);
  const { options, reported } = watchedOptions({ now: () => state.now });
  const nodes = newNodes(options, [node]);
  /** Takes the logs of a range as an index does. */
  const fetchRange = async (from: number, to: number, by = node) => {
    state.now += 10;
    const filter = { fromBlock: toHex(from), toBlock: toHex(to) };
    const query = parseLogsFilter(filter)!;
    const logs = (await answer({ method: "eth_getLogs", params: [filter] })) as RpcLog[];
    keepRange(nodes, { node: by, logs }, { filter, query });
  };
  return { state, node, nodes, fetchRange, reported };
}

test("a single URL that served another chain for a moment is asked again, once it serves the chain, for what it returned since", async () => {
  const { state, node, nodes, fetchRange, reported } = createChain();
  await fetchRange(0, 9);
  state.now += 10;
  expect(await provesChain(nodes, node)).toBe(true);
  state.chainId = 2;
  await fetchRange(10, 19);
  await fetchRange(20, 29);
  node.chainCheck.requests = 0;
  await expect(requireSameChain(nodes, node)).rejects.toThrow("it serves chain 2, not chain 1");
  recheckUnverified(nodes);
  const both = [
    [10, 19],
    [20, 29],
  ];
  expect(reported()).toEqual(both);

  // Nothing is decided while it serves the other chain, which has no logs in any range either.
  await vi.advanceTimersByTimeAsync(5_000);
  expect(reported()).toEqual(both);
  state.chainId = 1;
  state.now += 10;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(reported()).toEqual([[20, 29]]);
  expect(nodes.count).toHaveBeenCalledWith({ chain: "mainnet", host: "one", kind: "differing" });

  // Who asks for a range again has not stored what it got before.
  await fetchRange(20, 29);
  expect(reported()).toEqual([]);
});

test("what another URL was asked for before a URL was found wrong is not unverified", async () => {
  const { node, nodes, fetchRange, reported } = createChain();
  const other = newNode("other", async () => []);
  for (const from of [0, 10, 30]) await fetchRange(from, from + 9);
  await fetchRange(10, 19, other);
  await fetchRange(28, 40, other);
  node.unverifiedSince = 0;
  recheckUnverified(nodes);
  expect(reported()).toEqual([[0, 9]]);
});

test("what nobody can verify at first is verified once another URL answers", async () => {
  const { node, nodes, fetchRange, reported } = createChain();
  let failures = 2;
  nodes.all.push(
    newNode("other", async (body) => {
      if (failures-- > 0) throw new Error("It is away.");
      return node.request(body);
    }),
  );
  await fetchRange(20, 29);
  node.hasLied = true;
  node.unverifiedSince = 0;
  recheckUnverified(nodes);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(reported()).toEqual([[20, 29]]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reported()).toEqual([]);
});
