import { type Client, createClient, type EIP1193RequestOptions, http } from "viem";
import { isContractRefusal } from "../../ens/contract-refusals.ts";
import { createTurns, resolutionLimits } from "./admission.ts";

const timeoutMs = 5_000;
// A record of a gateway's largest response, in hex, takes half of it.
const mostBytes = 2 * 1024 * 1024;

/**
 * Clients of chains by id, for resolution alone. A request is sent to the first URL, to the next one where that fails, and
 * ends with the signal that comes with it. A limited number runs at a time.
 */
export function createChainClients(
  chains: readonly { id: number; rpc: { http: readonly string[] } }[],
): (chainId: number) => Client | undefined {
  const clients = new Map(chains.map(({ id, rpc }) => [id, createChainClient(rpc.http)]));
  return (chainId) => clients.get(chainId);
}

function createChainClient(urls: readonly string[]): Client {
  const takeTurn = createTurns(resolutionLimits.callsOfChain);
  const nodes = urls.map((url) =>
    createClient({
      transport: http(url, { retryCount: 0, timeout: timeoutMs, maxResponseBodySize: mostBytes }),
    }),
  );
  const [first] = nodes;
  if (first === undefined) throw new Error("A chain has no RPC URL.");

  const ask = async (request: Request, options?: EIP1193RequestOptions) => {
    let failure: unknown;
    for (const node of nodes) {
      try {
        return await node.request(request as never, options);
      } catch (error) {
        if (options?.signal?.aborted || isContractRefusal(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  };
  const request = (request: Request, options?: EIP1193RequestOptions) =>
    takeTurn(options?.signal ?? new AbortController().signal, () => ask(request, options));
  return { ...first, request: request as Client["request"] };
}

type Request = { method: string; params?: unknown };
