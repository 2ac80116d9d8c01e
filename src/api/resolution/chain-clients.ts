import { type Client, createClient, custom, RpcRequestError } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { isContractRefusal } from "../../ens/contract-refusals.ts";
import { createTurns, resolutionLimits } from "./admission.ts";

const timeout = 5_000;
// A record of a gateway's largest response, in hex, takes half of it.
const maxResponseBodySize = 2 * 1024 * 1024;
// Of what a contract gives as the reason of a refusal.
const mostOfReason = 1_000;
// Selector of OffchainLookup (EIP-3668), whose data is needed whole.
const offchainLookup = "0x556f1830";

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

type Request = { method: string; params?: unknown };
type Options = { signal?: AbortSignal | undefined };

// viem's transport `fallback` does not pass signals on.
function createChainClient(urls: readonly string[]): Client {
  const takeTurn = createTurns(resolutionLimits.callsOfChain);
  const nodes = urls.map((url) => ({
    url,
    rpc: getHttpRpcClient(url, { timeout, maxResponseBodySize }),
  }));
  if (nodes.length === 0) throw new Error("A chain has no RPC URL.");

  const ask = async (body: Request, signal: AbortSignal) => {
    let failure: unknown;
    for (const { url, rpc } of nodes) {
      try {
        const { error, result } = await rpc.request({ body, fetchOptions: { signal } });
        if (error) throw new RpcRequestError({ body, error: shortened(error) as typeof error, url });
        return result;
      } catch (error) {
        if (signal.aborted || isContractRefusal(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  };
  const request = (body: Request, { signal = new AbortController().signal }: Options = {}) =>
    takeTurn(signal, () => ask(body, signal));
  return createClient({ transport: custom({ request }, { retryCount: 0 }) });
}

// viem repeats the reason of a refusal in four errors: a megabyte of it, many times at once, would hold up all requests.
function shortened(value: unknown): unknown {
  if (typeof value === "string")
    return value.startsWith(offchainLookup) ? value : value.slice(0, mostOfReason);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}
