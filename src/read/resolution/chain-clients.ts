import { type Client, createClient, custom, RpcRequestError } from "viem";
import { getHttpRpcClient } from "viem/utils";
import { isContractRefusal } from "../../ens/contract-refusals.ts";
import { createTurns, resolutionLimits } from "./admission.ts";

const timeout = 5_000;
// Leaves room for a record as long as a gateway's longest response, in hex.
const maxResponseBodySize = 2 * 1024 * 1024;
// Characters kept of a revert reason.
const maxReasonCharacters = 1_000;
// Selector of the error OffchainLookup (EIP-3668), whose data is needed whole.
const offchainLookup = "0x556f1830";

/**
 * Creates clients by chain id, for resolution alone. They limit concurrent requests, try a chain's URLs in order, and
 * obey signals.
 */
export function createChainClients(
  chains: readonly { id: number; rpc: { http: readonly string[] } }[],
): (chainId: number) => Client | undefined {
  const clients = new Map(chains.map(({ id, rpc }) => [id, createChainClient(rpc.http)]));
  return (chainId) => clients.get(chainId);
}

type SentCall = { method: string; params?: unknown };
type ClientOptions = { signal?: AbortSignal | undefined };

// viem's transport `fallback` does not pass signals on.
function createChainClient(urls: readonly string[]): Client {
  const takeTurn = createTurns(resolutionLimits.callsOfChain);
  const nodes = urls.map((url) => ({
    url,
    rpc: getHttpRpcClient(url, { timeout, maxResponseBodySize }),
  }));
  if (nodes.length === 0) throw new Error("A chain has no RPC URL.");

  const ask = async (body: SentCall, signal: AbortSignal) => {
    let failure: unknown;
    for (const { url, rpc } of nodes) {
      try {
        const { error, result } = await rpc.request({ body, fetchOptions: { signal } });
        if (error) throw new RpcRequestError({ body, error: shortenReasons(error) as typeof error, url });
        return result;
      } catch (error) {
        if (signal.aborted || isContractRefusal(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  };
  const request = (body: SentCall, { signal = new AbortController().signal }: ClientOptions = {}) =>
    takeTurn(signal, () => ask(body, signal));
  return createClient({ transport: custom({ request }, { retryCount: 0 }) });
}

// viem repeats a revert reason in four errors. A megabyte of it, many times at once, would hold up all requests.
function shortenReasons(value: unknown): unknown {
  if (typeof value === "string")
    return value.startsWith(offchainLookup) ? value : value.slice(0, maxReasonCharacters);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortenReasons(one)]));
}
