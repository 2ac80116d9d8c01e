import { createServer } from "node:net";
import type { IndexedChain } from "../src/config/chains.ts";

// Checks before Ponder starts: Ponder itself would switch to another port, only warn about a wrong chain, and give up
// when waiting helps.

/** Throws a PreflightError if something listens on the port, or if this machine has no such address (default: all of its). */
export async function requireFreePort(port: number, host?: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (host !== undefined && /^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|EINVAL)$/.test(error.code ?? "")) {
        reject(new PreflightError(`This machine has no address ${host} (${error.code}). Correct API_HOST.`));
        return;
      }
      const reason =
        error.code === "EADDRINUSE" ? "is taken by another process" : `cannot be used (${error.code})`;
      reject(new PreflightError(`Port ${port} ${reason}. Free it, or choose another with PORT.`));
    });
    server.listen({ port, host }, () => server.close(() => resolve()));
  });
}

type RpcCheck = {
  log(message: string): void;
  wait(milliseconds: number): Promise<void>;
  request(url: string): Promise<number>;
};

const firstPause = 1_000;
const longestPause = 30_000;

/**
 * Waits until each chain has at least one RPC URL that responds. Throws a PreflightError if any URL serves another
 * chain; messages name URLs by variable, position and host, since URLs can contain keys.
 */
export async function requireChains(chains: readonly IndexedChain[], check: RpcCheck): Promise<void> {
  await Promise.all(chains.map((chain) => requireChain(chain, check)));
}

async function requireChain({ id, rpc }: IndexedChain, { log, wait, request }: RpcCheck): Promise<void> {
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    const answers = await Promise.allSettled(rpc.http.map(request));
    for (const [place, answer] of answers.entries()) {
      if (answer.status === "rejected" || answer.value === id) continue;
      throw new PreflightError(
        `${nameOfUrl(id, rpc.http, place)} answers for chain ${answer.value}, not for chain ${id}. Correct RPC_URL_${id}.`,
      );
    }
    const silent = answers.flatMap((answer, place) =>
      answer.status === "rejected" ? [nameOfUrl(id, rpc.http, place)] : [],
    );
    if (silent.length < answers.length) {
      if (silent.length > 0) log(`No answer from ${silent.join(", ")}; going on with the others.`);
      return;
    }
    log(`No answer from ${silent.join(", ")}; trying again in ${pause / 1000} s.`);
    await wait(pause);
  }
}

function nameOfUrl(chainId: number, urls: readonly string[], place: number): string {
  const host = URL.canParse(urls[place] ?? "") ? new URL(urls[place] ?? "").host : "?";
  return urls.length === 1
    ? `RPC_URL_${chainId} (${host})`
    : `RPC_URL_${chainId} entry ${place + 1} (${host})`;
}

/** The chain id that an RPC URL serves; throws without a valid response within 10 seconds. */
export async function requestChainId(url: string): Promise<number> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
    signal: AbortSignal.timeout(10_000),
  });
  const { result } = (await response.json()) as { result?: unknown };
  if (typeof result !== "string" || !/^0x[0-9a-fA-F]+$/.test(result))
    throw new Error("no chain id in the response");
  return Number(result);
}

/** The service cannot start as configured; the message says what to change. */
export class PreflightError extends Error {
  override name = "PreflightError";
}
