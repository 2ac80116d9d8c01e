import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { emptyRoot, headerHash } from "../../src/rpc/block-proofs.ts";

// Chains of any height without transactions: enough for Ponder to start with the datasources of the public networks.

const emptyBlock = {
  logsBloom: `0x${"0".repeat(512)}`,
  miner: `0x${"0".repeat(40)}`,
  sha3Uncles: `0x${"0".repeat(64)}`,
  stateRoot: `0x${"0".repeat(64)}`,
  transactionsRoot: `0x${"0".repeat(64)}`,
  receiptsRoot: emptyRoot,
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
// More than an index follows before it takes blocks for final.
const linked = 500;
const hex = (value: number) => `0x${value.toString(16)}`;

/**
 * Serves a chain of a given height for each id over JSON-RPC, at `/<chain id>`: one block a second, the last of them at
 * `lastTimestamp`. Its headers hash to their hashes, the newest are linked.
 */
export async function serveEmptyChains(heights: Readonly<Record<number, number>>, lastTimestamp: number) {
  type Block = typeof emptyBlock & { number: string; hash: string; parentHash: string; timestamp: string };
  const byHash = new Map<string, Block>();
  const known = new Map<string, Block>();
  const block = (height: number, tip: number): Block | null => {
    if (height > tip) return null;
    const key = `${height} of ${tip}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const parentHash = (height > tip - linked && block(height - 1, tip)?.hash) || `0x${"0".repeat(64)}`;
    const timestamp = hex(lastTimestamp - (tip - height));
    const header = { ...emptyBlock, number: hex(height), parentHash, timestamp };
    const made = { ...header, hash: headerHash(header) ?? "" };
    known.set(key, made);
    byHash.set(made.hash, made);
    return made;
  };
  const answer = (chainId: number, method: string, params: string[]): unknown => {
    const tip = heights[chainId] ?? 0;
    if (method === "eth_chainId") return hex(chainId);
    if (method === "eth_blockNumber") return hex(tip);
    if (method === "eth_getLogs") return [];
    if (method === "eth_getBlockByNumber")
      return block(params[0]?.startsWith("0x") ? Number(params[0]) : tip, tip);
    if (method === "eth_getBlockByHash") return byHash.get(params[0] ?? "") ?? null;
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
