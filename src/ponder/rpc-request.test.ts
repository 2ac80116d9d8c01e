import { afterAll, expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { watchedOptions } from "../../test/support/ponder/rpc-nodes.ts";
import { checkedUrls } from "../rpc/checked-rpc.ts";
import { requestRpc, rpcTarget } from "./rpc-request.ts";

// RFC 7617, section 2: its own example of user name and password.
const example = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";

// A node that wants them, behind a proxy that has a page of its own and a path that never responds.
const { port, close } = await listen((request, response) => {
  if (request.url === "/silent") return;
  if (request.url === "/page") return void response.writeHead(502).end("<html>Bad Gateway</html>");
  // As anvil does.
  if (request.headers["content-type"] !== "application/json") return void response.writeHead(415).end();
  const isKnown = request.headers.authorization === example;
  response.statusCode = isKnown ? 200 : 401;
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: isKnown ? "0x1" : undefined }));
});
const url = `http://Aladdin:open%20sesame@127.0.0.1:${port}`;
afterAll(close);

test.each([
  ["https://Aladdin:open%20sesame@node.example/x?y=1", "https://node.example/x?y=1", example],
  // A lone percent sign stands for itself.
  ["https://a:50%@node.example/", "https://node.example/", `Basic ${btoa("a:50%")}`],
  ["https://node.example/v2/x", "https://node.example/v2/x"],
  ["http://localhost:8545", "http://localhost:8545"],
])("user name and password of %s become a header", (text, url, authorization?: string) => {
  expect(rpcTarget(text)).toEqual({ url, headers: authorization ? { authorization } : {} });
});

test("a node behind a password answers the checks before a start", async () => {
  expect((await requestRpc(url, { method: "eth_chainId" })).result).toBe("0x1");
});

test("what is no JSON-RPC, too long or too late is told apart", async () => {
  const call = { method: "eth_chainId", maxBytes: 100 };
  expect(await requestRpc(`${url}/page`, call)).toMatchObject({ status: 502, isTooLong: false });
  expect((await requestRpc(url, { ...call, maxBytes: 10 })).isTooLong).toBe(true);
  await expect(requestRpc(`${url}/silent`, { ...call, timeoutMs: 20 })).rejects.toMatchObject({
    name: "TimeoutError",
  });
});

test("and the framework, whose own client cannot reach it", async () => {
  const urls = checkedUrls([url], watchedOptions({ chainId: 0 }).options);
  const [backend] = urls.map((text) => {
    throw new Error(`created a client for ${text}`);
  }) as unknown as { hostname: string; request(body: { method: string }): Promise<unknown> }[];
  expect(backend?.hostname).toBe("127.0.0.1");
  expect(await backend?.request({ method: "eth_blockNumber" })).toBe("0x1");
});
