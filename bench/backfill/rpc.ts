import { createServer } from "node:http";
import type { Transaction } from "./made-up.ts";
import { type ServedChain, serveChain } from "./served-chain.ts";

export type RpcServer = {
  url: string;
  firstBlock: number;
  lastBlock: number;
  requests(): number;
  close(): void;
};

const holesky = 17_000;

/**
 * Serves a generated history over JSON-RPC, about 25 logs a block from `firstBlock` on, one block every 12 seconds, each with
 * `paddedBytes` of further transactions.
 */
export async function serveHistory(
  transactions: readonly Transaction[],
  firstBlock: number,
  paddedBytes = 0,
): Promise<RpcServer> {
  const chain = serveChain(transactions, {
    id: holesky,
    firstBlock,
    emptyBlocks: 100,
    paddedBytes,
    timestampOf: (place) => 1_600_000_000 + place * 12,
  });
  const { urlOf, close } = await serveChains([chain]);
  return {
    url: urlOf(chain),
    firstBlock,
    lastBlock: chain.lastBlock,
    requests: () => Object.values(chain.traffic.read().requests).reduce((sum, count) => sum + count, 0),
    close,
  };
}

/** Serves chains over JSON-RPC on one port of the loopback interface, each under its id as the path. */
export async function serveChains(chains: readonly ServedChain[]) {
  const byPath = new Map(chains.map((chain) => [`/${chain.id}`, chain]));
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ jsonrpc: "2.0", id, ...replyOf(byPath.get(request.url ?? ""), method, params) }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the RPC server has no port");
  return {
    urlOf: ({ id }: ServedChain) => `http://127.0.0.1:${address.port}/${id}`,
    close: () => void server.close(),
  };
}

function replyOf(chain: ServedChain | undefined, method: string, params: unknown[] | undefined) {
  try {
    if (chain === undefined) throw new Error("no chain has this path");
    return { result: chain.answer(method, params ?? []) };
  } catch (error) {
    // Not a revert, which would count as a result.
    return { error: { code: -32601, message: error instanceof Error ? error.message : String(error) } };
  }
}
