import { expect, test, vi } from "vitest";
import { createAnsweredLogs, remember } from "./compared-logs.ts";
import { queryOf, type RpcLog } from "./log-answers.ts";
import { newNode, newNodes, type RpcRequest, toHex } from "./nodes.ts";
import { provesChain, requireSameChain } from "./same-chain.ts";
import { recheckSuspects } from "./suspects.ts";

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

/** A chain with one log, in block 25, and a URL that may serve an empty chain 2 in its place. */
function createChain() {
  const state = { chainId: 1, now: 1_000 };
  const answer = async ({ method, params }: RpcRequest) => {
    if (method === "eth_chainId") return toHex(state.chainId);
    const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
    return state.chainId === 1 && Number(fromBlock) <= 25 && 25 <= Number(toBlock) ? [log] : [];
  };
  const node = newNode("one", answer);
  const doubt = vi.fn();
  const nodes = newNodes(
    {
      ...{ chain: "mainnet", chainId: 1, isPublic: true, crossCheckShare: 0 },
      ...{ log: vi.fn(), count: vi.fn(), believe: vi.fn(), doubt },
      ...{ random: () => 0.5, now: () => state.now },
    },
    [node],
  );
  const chain = { nodes, answered: createAnsweredLogs(), rechecked: new Set<typeof node>() };
  /** Takes the logs of a range as an index does. */
  const fetchRange = async (from: number, to: number, by = node) => {
    state.now += 10;
    const filter = { fromBlock: toHex(from), toBlock: toHex(to) };
    const query = queryOf(filter);
    if (query === undefined) throw new Error("The filter has no bounds.");
    const logs = (await answer({ method: "eth_getLogs", params: [filter] })) as RpcLog[];
    remember(chain.answered, { node: by, logs }, { filter, query }, state.now);
  };
  const inDoubt = () =>
    (doubt.mock.lastCall?.[0] as { from: number; to: number }[] | undefined)?.map(({ from, to }) => [
      from,
      to,
    ]);
  return { state, node, nodes, chain, fetchRange, inDoubt };
}

test("a single URL that served another chain for a moment is asked again, once it serves the chain, for what it returned since", async () => {
  const { state, node, nodes, chain, fetchRange, inDoubt } = createChain();
  await fetchRange(0, 9);
  state.now += 10;
  expect(await provesChain(nodes, node)).toBe(true);
  state.chainId = 2;
  await fetchRange(10, 19);
  await fetchRange(20, 29);
  node.trust.requests = 0;
  await expect(requireSameChain(nodes, node)).rejects.toThrow("it answers for chain 2, not for chain 1");
  recheckSuspects(chain);
  expect(inDoubt()).toEqual([
    [10, 19],
    [20, 29],
  ]);

  // Nothing is decided while it serves the other chain, which has no logs in any range either.
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(inDoubt()).toHaveLength(2);
  state.chainId = 1;
  state.now += 10;
  await requireSameChain(nodes, node);
  await vi.waitFor(() => expect(inDoubt()).toEqual([[20, 29]]));
  expect(nodes.count).toHaveBeenCalledWith({ chain: "mainnet", host: "one", kind: "in-doubt" });

  // Who asks for a range again has not stored what it got before.
  await fetchRange(20, 29);
  expect(chain.answered.doubtful).toEqual([]);
});

test("what another URL was asked for before a URL was found wrong is not in doubt", async () => {
  const { node, chain, fetchRange, inDoubt } = createChain();
  const other = newNode("other", async () => []);
  await fetchRange(0, 9);
  await fetchRange(10, 19);
  await fetchRange(30, 39);
  await fetchRange(10, 19, other);
  await fetchRange(28, 40, other);
  node.hasLied = true;
  recheckSuspects(chain);
  expect(inDoubt()).toEqual([[0, 9]]);
});

test("a doubt that nobody can decide at first ends by itself once another URL answers", async () => {
  vi.useFakeTimers();
  try {
    const { node, nodes, chain, fetchRange, inDoubt } = createChain();
    let failures = 7;
    const other = newNode("other", async (body) => {
      if (failures-- > 0) throw new Error("It is away.");
      return node.request(body);
    });
    nodes.all.push(other);
    await fetchRange(20, 29);
    node.hasLied = true;
    recheckSuspects(chain);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(inDoubt()).toEqual([[20, 29]]);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(inDoubt()).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});
