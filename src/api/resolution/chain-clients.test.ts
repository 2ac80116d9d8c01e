import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { call } from "viem/actions";
import { afterEach, expect, test } from "vitest";
import { resolutionLimits } from "./budget.ts";
import { createChainClients } from "./chain-clients.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Node = (request: { id: number }, response: ServerResponse, incoming: IncomingMessage) => void;

async function startNode(node: Node): Promise<string> {
  const server = createServer(async (incoming, response) => {
    response.setHeader("content-type", "application/json");
    node((await json(incoming)) as { id: number }, response, incoming);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const reply = (id: number, body: object) => JSON.stringify({ jsonrpc: "2.0", id, ...body });

function ask(urls: string[], signal = new AbortController().signal) {
  const client = createChainClients([{ id: 1, rpc: { http: urls } }])(1)!;
  return () => call(client, { to: `0x${"00".repeat(20)}`, data: "0x01", requestOptions: { signal } });
}

test("a chain without URLs of its own has no client", () => {
  expect(createChainClients([])(1)).toBeUndefined();
});

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

test("a request that is given up ends at the node, and so do those that wait", async () => {
  const leaving = new AbortController();
  let open = 0;
  let most = 0;
  const url = await startNode((_, response) => {
    open += 1;
    most = Math.max(most, open);
    response.on("close", () => {
      open -= 1;
    });
  });
  const once = ask([url], leaving.signal);
  const asked = Array.from({ length: 40 }, once);
  await expect.poll(() => open, { timeout: 3_000 }).toBe(resolutionLimits.callsOfChain);
  leaving.abort(new Error("gone"));
  const ends = await Promise.allSettled(asked);
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  await expect.poll(() => open, { timeout: 3_000 }).toBe(0);
  expect(most).toBe(resolutionLimits.callsOfChain);
});
