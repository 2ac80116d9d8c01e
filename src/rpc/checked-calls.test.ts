import { expect, test, vi } from "vitest";
import { type Calls, createCalls, recheckCalls, requestCall } from "./checked-calls.ts";
import { newNode, newNodes, type RpcRequest } from "./nodes.ts";

const call = (block = "0x7") => ({ method: "eth_call", params: [{ to: "0x01", data: "0x59d1d43c" }, block] });
const revert = () => Promise.reject(Object.assign(new Error("execution reverted"), { code: 3 }));

/** The calls of a chain whose URLs return these results, or fail with them. */
function callsOf(...results: (string | ((block: unknown) => Promise<string>))[]) {
  const doubt = vi.fn();
  const count = vi.fn();
  const requests = results.map((result) =>
    vi.fn(async ({ params }: RpcRequest) =>
      typeof result === "string" ? result : result((params as unknown[])[1]),
    ),
  );
  const all = requests.map((request, place) => newNode(`url${place}`, request));
  const nodes = newNodes(
    {
      ...{ chain: "mainnet", chainId: 1, crossCheckShare: 0.01, areTransactionsOwn: true, isPublic: true },
      ...{
        isOurs: () => true,
        log: vi.fn(),
        count,
        doubt,
        believe: vi.fn(),
        random: () => 0.5,
        now: () => 1_000,
      },
    },
    all,
  );
  const calls = { ...createCalls(nodes, doubt), pauseMs: 1 };
  return { calls, all, requests, doubt, count, request: (block?: string) => ask(calls, block) };
}

const ask = (calls: Calls, block?: string) => requestCall(calls, calls.nodes.all[0]!, call(block));
const lastOf = (doubt: ReturnType<typeof vi.fn>) =>
  (doubt.mock.lastCall?.[0] as { from: number; to: number }[] | undefined)?.map(({ from, to }) => [from, to]);

test("all URLs are asked, and what they agree about is not in doubt", async () => {
  const { request, requests, doubt } = callsOf("0xaa", "0xaa", "0xaa");
  expect(await request()).toBe("0xaa");
  expect(requests.map(({ mock }) => mock.calls)).toEqual(Array(3).fill([[call()]]));
  expect(doubt).not.toHaveBeenCalled();
});

test("what they differ about is in doubt, also if two of three agree", async () => {
  const { request, doubt, count } = callsOf("0xbb", "0xbb", "0xaa");
  expect(await request()).toBe("0xbb");
  expect(lastOf(doubt)).toEqual([[7, 7]]);
  expect(count).toHaveBeenCalledWith({ chain: "mainnet", host: "url0", kind: "unverified" });
});

test("a refusal of the contract that only one returns is in doubt too, and stays the answer", async () => {
  const { request, doubt } = callsOf(revert, "0xaa");
  await expect(request()).rejects.toThrow("execution reverted");
  expect(lastOf(doubt)).toEqual([[7, 7]]);
});

test("a doubt ends once all return what was used", async () => {
  const answers = ["0xbb"];
  const { request, doubt } = callsOf("0xaa", async () => answers.shift() ?? "0xaa");
  expect(await request()).toBe("0xaa");
  expect(lastOf(doubt)).toEqual([[7, 7]]);
  await vi.waitFor(() => expect(lastOf(doubt)).toEqual([]));
});

test("what a URL returned before it was found wrong is in doubt until another returns the same", async () => {
  const { calls, all, request, doubt } = callsOf("0xaa", async (block) =>
    block === "0x7" ? "0xaa" : "0xbb",
  );
  calls.credit = 0;
  await request("0x7");
  await request("0x8");
  expect(doubt).not.toHaveBeenCalled();
  all[0]!.hasLied = true;
  recheckCalls(calls);
  expect(doubt.mock.calls[0]?.[0]).toMatchObject([{ from: 7 }, { from: 8 }]);
  await vi.waitFor(() => expect(lastOf(doubt)).toEqual([[8, 8]]));
});

test("a URL that was found wrong is not believed against one that was not", async () => {
  const { all, request, doubt } = callsOf("0xbb", "0xaa");
  all[0]!.hasLied = true;
  expect(await request()).toBe("0xaa");
  expect(doubt).not.toHaveBeenCalled();
});

test("a URL that fails says nothing, and is not asked again for a while", async () => {
  const { request, requests, doubt } = callsOf("0xaa", () => Promise.reject(new Error("no such state")));
  expect([await request(), await request()]).toEqual(["0xaa", "0xaa"]);
  expect(requests[1]).toHaveBeenCalledTimes(1);
  expect(doubt).not.toHaveBeenCalled();
});

test("no more than a share of the requests is sent twice", async () => {
  const { calls, request, requests } = callsOf("0xaa", "0xaa");
  calls.credit = 1.5;
  await request();
  await request();
  expect(requests.map(({ mock }) => mock.calls.length)).toEqual([2, 1]);
});
