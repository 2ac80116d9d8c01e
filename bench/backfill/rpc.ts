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

/** Resolves when so many bytes have come over a line. */
export type Line = (bytes: number) => Promise<void>;

/** A line to a host elsewhere: what it carries in a second, for all responses together, and the time of each way there and back. */
export function createLine({ megabits, latencyMs }: { megabits: number; latencyMs: number }): Line {
  const bytesPerMs = (megabits * 1_000) / 8;
  let freeAt = 0;
  return async (bytes) => {
    const now = performance.now();
    freeAt = Math.max(now, freeAt) + bytes / bytesPerMs;
    await new Promise((resolve) => setTimeout(resolve, freeAt + latencyMs - now));
  };
}

/**
 * Serves a generated history over JSON-RPC, about 25 logs a block from `firstBlock` on, one block every 12 seconds, each with
 * `paddedBytes` of further transactions. `line`: over which line at that time; of JSON, gzip leaves a quarter.
 */
export async function serveHistory(
  transactions: readonly Transaction[],
  firstBlock: number,
  { paddedBytes = 0, line }: { paddedBytes?: number; line?: () => Line | undefined } = {},
): Promise<RpcServer> {
  const chain = serveChain(transactions, {
    id: holesky,
    firstBlock,
    emptyBlocks: 100,
    paddedBytes,
    timestampOf: (place) => 1_600_000_000 + place * 12,
  });
  const { urlOf, close } = await serveChains([chain], line);
  return {
    url: urlOf(chain),
    firstBlock,
    lastBlock: chain.lastBlock,
    requests: () => Object.values(chain.traffic.read().requests).reduce((sum, count) => sum + count, 0),
    close,
  };
}

/** Serves chains over JSON-RPC on one port of the loopback interface, each under its id as the path. */
export async function serveChains(chains: readonly ServedChain[], line?: () => Line | undefined) {
  const byPath = new Map(chains.map((chain) => [`/${chain.id}`, chain]));
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    const reply = replyOf(byPath.get(request.url ?? ""), method, params);
    const body = JSON.stringify({ jsonrpc: "2.0", id, ...reply });
    await line?.()?.(body.length / 4);
    response.setHeader("content-type", "application/json");
    response.end(body);
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
