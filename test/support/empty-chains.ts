import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// Chains of any height without transactions: enough for Ponder to start with the datasources of the public networks.

const emptyBlock = {
  logsBloom: `0x${"0".repeat(512)}`,
  miner: `0x${"0".repeat(40)}`,
  sha3Uncles: `0x${"0".repeat(64)}`,
  stateRoot: `0x${"0".repeat(64)}`,
  transactionsRoot: `0x${"0".repeat(64)}`,
  receiptsRoot: `0x${"0".repeat(64)}`,
  mixHash: `0x${"0".repeat(64)}`,
  nonce: "0x0000000000000000",
  difficulty: "0x0",
  totalDifficulty: "0x0",
  gasLimit: "0x1",
  gasUsed: "0x0",
  extraData: "0x",
  size: "0x1",
  uncles: [],
  transactions: [],
};
const hex = (value: number) => `0x${value.toString(16)}`;
const hashOf = (height: number) => `0x${height.toString(16).padStart(64, "0")}`;

/**
 * Serves a chain of a given height for each id over JSON-RPC, at `/<chain id>`: one block a second, the last of them at
 * `lastTimestamp`.
 */
export async function serveEmptyChains(heights: Readonly<Record<number, number>>, lastTimestamp: number) {
  const block = (height: number, tip: number) =>
    height > tip
      ? null
      : {
          ...emptyBlock,
          number: hex(height),
          hash: hashOf(height),
          parentHash: hashOf(height - 1),
          timestamp: hex(lastTimestamp - (tip - height)),
        };
  const answer = (chainId: number, method: string, params: string[]): unknown => {
    const tip = heights[chainId] ?? 0;
    if (method === "eth_chainId") return hex(chainId);
    if (method === "eth_blockNumber") return hex(tip);
    if (method === "eth_getLogs") return [];
    if (method === "eth_getBlockByNumber")
      return block(params[0]?.startsWith("0x") ? Number(params[0]) : tip, tip);
    if (method === "eth_getBlockByHash") return block(Number(params[0]), tip);
    throw new Error(`${method} is not served`);
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    response.setHeader("content-type", "application/json");
    const result = answer(Number(request.url?.slice(1)), method, params ?? []);
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: (chainId: number) => `http://127.0.0.1:${port}/${chainId}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
