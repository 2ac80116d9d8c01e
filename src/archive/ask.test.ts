import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { openNodes } from "./ask.ts";

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const nodesOf = (id: number, url: string) =>
  openNodes({ id, name: "one", rpc: { http: [url] } } as never, { perSecond: 2_000, log: () => {} });

test("a node's error keeps its code, and names method and host", async () => {
  const server = createServer(async (incoming, response) => {
    let body = "";
    for await (const part of incoming) body += part;
    const { method } = JSON.parse(body) as { method: string };
    if (method === "eth_chainId") return void response.end('{"result":"0x7"}');
    response.end('{"error":{"code":-32000,"message":"missing trie node"}}');
  });
  closing.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { ask } = nodesOf(7, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await expect(ask({ method: "eth_getLogs", params: [{}] })).rejects.toMatchObject({
    code: -32_000,
    message: "eth_getLogs of 127.0.0.1 failed: missing trie node",
  });
});
