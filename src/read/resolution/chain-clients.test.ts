import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { encodeErrorResult, parseAbi } from "viem";
import { call } from "viem/actions";
import { expect, test } from "vitest";
import { startServer } from "../../../test/support/server.ts";
import { createAdmission, resolutionLimits } from "./admission.ts";
import { createChainClients } from "./chain-clients.ts";

test("requests of one address and of all are limited, and admitted again when others end", async () => {
  const admit = createAdmission({ ...resolutionLimits, requests: 3, requestsOfAddress: 2 });
  const refusal = { code: "overloaded" };
  const { promise, resolve } = Promise.withResolvers<string>();
  const run = () => promise;
  const running = [admit("a", run), admit("a", run)];
  await expect(admit("a", run)).rejects.toMatchObject(refusal);
  running.push(admit("b", run));
  await expect(admit("c", run)).rejects.toMatchObject(refusal);
  resolve("done");
  expect(await Promise.all(running)).toEqual(["done", "done", "done"]);
  await expect(admit("a", () => Promise.reject(new Error("x")))).rejects.toThrow("x");
  expect(await Promise.all([admit("a", run), admit("a", run), admit("c", run)])).toHaveLength(3);
});

type Node = (request: { id: number }, response: ServerResponse, incoming: IncomingMessage) => void;

const startNode = (node: Node) =>
  startServer(async (incoming, response) => {
    response.setHeader("content-type", "application/json");
    node((await json(incoming)) as { id: number }, response, incoming);
  });

const reply = (id: number, body: object) => JSON.stringify({ jsonrpc: "2.0", id, ...body });

function ask(urls: string[], signal = new AbortController().signal) {
  const client = createChainClients([{ id: 1, rpc: { http: urls } }])(1)!;
  return () => call(client, { to: `0x${"00".repeat(20)}`, data: "0x01", requestOptions: { signal } });
}

test("the next URL is asked where one fails, but not after a contract's refusal", async () => {
  let asked = 0;
  const good = await startNode(({ id }, response) => {
    asked += 1;
    response.end(reply(id, { result: "0x02" }));
  });
  const failing = await startNode((_, response) => response.writeHead(500).end());
  expect(await ask([failing, good])()).toEqual({ data: "0x02" });
  const reverting = await startNode(({ id }, response) =>
    response.end(reply(id, { error: { code: 3, message: "execution reverted" } })),
  );
  await expect(ask([reverting, good])()).rejects.toThrow("execution reverted");
  expect(asked).toBe(1);
});

test("a user and a password of a URL are sent as a header", async () => {
  const url = await startNode(({ id }, response, { headers }) =>
    response.end(reply(id, { result: headers.authorization === "Basic dTpwdw==" ? "0x01" : "0x00" })),
  );
  expect(await ask([url.replace("//", "//u:pw@")])()).toEqual({ data: "0x01" });
});

test("a response of more than 2 MiB is not read", async () => {
  const url = await startNode(({ id }, response) =>
    response.end(reply(id, { result: `0x${"00".repeat(2_000_000)}` })),
  );
  await expect(ask([url])()).rejects.toThrow(/exceeded|too large/i);
});

test("the reason of a refusal is cut, unless it is a lookup at a gateway", async () => {
  const failing = (error: object) => startNode(({ id }, response) => response.end(reply(id, { error })));
  const reason = "x".repeat(1_000_000);
  const error = { code: 3, message: `execution reverted: ${reason}`, data: { data: reason } };
  const refused: Error = await ask([await failing(error)])().then(
    () => undefined as never,
    (thrown) => thrown,
  );
  expect(refused.message).toContain("execution reverted: xxx");
  expect(JSON.stringify(refused).length).toBeLessThan(10_000);
  // OffchainLookup(address,string[],bytes,bytes4,bytes) of EIP-3668, with 100,000 bytes for the gateway.
  const data = encodeErrorResult({
    abi: parseAbi(["error OffchainLookup(address, string[], bytes, bytes4, bytes)"]),
    args: [`0x${"00".repeat(20)}`, [], `0x${"ab".repeat(100_000)}`, "0x00000000", "0x"],
  });
  const client = createChainClients([{ id: 1, rpc: { http: [await failing({ code: 3, data })] } }])(1)!;
  const asked: unknown[] = [];
  const request = async (lookup: unknown) => {
    asked.push(lookup);
    throw new Error("not asked");
  };
  const reading = call({ ...client, ccipRead: { request } }, { to: `0x${"00".repeat(20)}`, data: "0x01" });
  await expect(reading).rejects.toThrow("not asked");
  expect(asked).toMatchObject([{ data: `0x${"ab".repeat(100_000)}` }]);
});

test("a request that is given up ends at the node, and so do those that wait", async () => {
  const leaving = new AbortController();
  let open = 0;
  let max = 0;
  const url = await startNode((_, response) => {
    open += 1;
    max = Math.max(max, open);
    response.on("close", () => {
      open -= 1;
    });
  });
  const once = ask([url], leaving.signal);
  const asked = Array.from({ length: 40 }, once);
  await expect.poll(() => open).toBe(resolutionLimits.callsOfChain);
  leaving.abort(new Error("gone"));
  const ends = await Promise.allSettled(asked);
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  await expect.poll(() => open).toBe(0);
  expect(max).toBe(resolutionLimits.callsOfChain);
});
