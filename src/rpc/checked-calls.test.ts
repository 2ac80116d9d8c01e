import { expect, test, vi } from "vitest";
import { watchedOptions } from "../../test/support/ponder/rpc-nodes.ts";
import { requestCall } from "./checked-calls.ts";
import { newNode, newNodes, type RpcRequest } from "./nodes.ts";
import { recheckUnverified } from "./unverified.ts";

const call = (block = "0x7") => ({ method: "eth_call", params: [{ to: "0x01", data: "0x59d1d43c" }, block] });
const revert = () => Promise.reject(Object.assign(new Error("execution reverted"), { code: 3 }));

/** The calls of a chain whose URLs return these results, or fail with them. */
function callsOf(...results: (string | ((block: unknown) => Promise<string>))[]) {
  const requests = results.map((result) =>
    vi.fn(async ({ params }: RpcRequest) =>
      typeof result === "string" ? result : result((params as unknown[])[1]),
    ),
  );
  const all = requests.map((request, index) => newNode(`url${index}`, request));
  const { options, ...watched } = watchedOptions({ crossCheckShare: 0.01 });
  const nodes = newNodes(options, all);
  const request = (block?: string) => requestCall(nodes, all[0]!, call(block));
  return { ...watched, nodes, all, requests, request };
}

test("all URLs are asked, and what they agree about is not unverified", async () => {
  const { request, requests, unverified } = callsOf("0xaa", "0xaa", "0xaa");
  expect(await request()).toBe("0xaa");
  expect(requests.map(({ mock }) => mock.calls)).toEqual(Array(3).fill([[call()]]));
  expect(unverified).not.toHaveBeenCalled();
});

test("what they differ about is unverified, also a refusal and if two of three agree; the first stays the answer", async () => {
  const two = callsOf("0xbb", "0xbb", "0xaa");
  expect(await two.request()).toBe("0xbb");
  expect(two.kinds()).toContain("url0 unverified");
  const refused = callsOf(revert, "0xaa");
  await expect(refused.request()).rejects.toThrow("execution reverted");
  for (const { reported } of [two, refused]) expect(reported()).toEqual([[7, 7]]);
});

test("a call is verified once all return what was used", async () => {
  const answers = ["0xbb"];
  const { request, reported } = callsOf("0xaa", async () => answers.shift() ?? "0xaa");
  expect(await request()).toBe("0xaa");
  expect(reported()).toEqual([[7, 7]]);
  await vi.waitFor(() => expect(reported()).toEqual([]));
});

test("what a URL returned before it was found wrong is unverified until another returns the same", async () => {
  const { nodes, all, request, reported, unverified } = callsOf("0xaa", async (block) =>
    block === "0x7" ? "0xaa" : "0xbb",
  );
  nodes.calls.spend(100);
  await request("0x7");
  await request("0x8");
  expect(unverified).not.toHaveBeenCalled();
  Object.assign(all[0]!, { hasLied: true, unverifiedSince: 0 });
  recheckUnverified(nodes);
  expect(unverified.mock.calls[0]?.[0]).toMatchObject([{ from: 7 }, { from: 8 }]);
  await vi.waitFor(() => expect(reported()).toEqual([[8, 8]]));
});

test("a URL that was found wrong is not believed against one that was not", async () => {
  const { all, request, unverified } = callsOf("0xbb", "0xaa");
  all[0]!.hasLied = true;
  expect(await request()).toBe("0xaa");
  expect(unverified).not.toHaveBeenCalled();
});

test("a URL that fails says nothing, and is not asked again for a while", async () => {
  const { request, requests, unverified } = callsOf("0xaa", () => Promise.reject(new Error("no such state")));
  expect([await request(), await request()]).toEqual(["0xaa", "0xaa"]);
  expect(requests[1]).toHaveBeenCalledTimes(1);
  expect(unverified).not.toHaveBeenCalled();
});

test("no more than a share of the requests is sent twice", async () => {
  const { nodes, request, requests } = callsOf("0xaa", "0xaa");
  nodes.calls.spend(99);
  await request();
  await request();
  expect(requests.map(({ mock }) => mock.calls.length)).toEqual([2, 1]);
});
