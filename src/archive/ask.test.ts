import { expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { openNodes } from "./ask.ts";

test("a node's error keeps its code, and names method and host", async () => {
  const server = await listen(async (incoming, response) => {
    let body = "";
    for await (const part of incoming) body += part;
    const { method } = JSON.parse(body) as { method: string };
    if (method === "eth_chainId") return void response.end('{"result":"0x7"}');
    response.end('{"error":{"code":-32000,"message":"missing trie node"}}');
  });
  const chain = { id: 7, name: "one", rpc: { http: [server.url] } };
  const { ask } = openNodes(chain as never, { perSecond: 2_000, log: () => {} });
  await expect(ask({ method: "eth_getLogs", params: [{}] })).rejects.toMatchObject({
    code: -32_000,
    message: "eth_getLogs of 127.0.0.1 failed: missing trie node",
  });
  await server.close();
});
