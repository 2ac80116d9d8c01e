import { type Client, createClient, type EIP1193RequestOptions, http } from "viem";
import { isContractRefusal } from "../../ens/contract-refusals.ts";
import { yieldToEventLoop } from "../rest/turns.ts";
import { createTurns, resolutionLimits } from "./admission.ts";

const timeoutMs = 5_000;
// A record of a gateway's largest response, in hex, takes half of it.
const mostBytes = 2 * 1024 * 1024;
// A response of more bytes is parsed in a turn of its own.
const longFrom = 65_536;
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

function createChainClient(urls: readonly string[]): Client {
  const takeTurn = createTurns(resolutionLimits.callsOfChain);
  const nodes = urls.map((url) =>
    createClient({
      transport: http(url, {
        retryCount: 0,
        timeout: timeoutMs,
        maxResponseBodySize: mostBytes,
        fetchFn: fetchWithShortReasons,
      }),
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

// viem repeats the reason of a refusal in four errors: a megabyte of it, many times at once, would hold up all requests.
async function fetchWithShortReasons(...given: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...given);
  const length = Number(response.headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  if (length <= longFrom) return response;
  const text = await textOf(response);
  const { status, headers } = response;
  const type = { "content-type": headers.get("content-type") ?? "" };
  if (text.length <= longFrom) return new Response(text, { status, headers: type });
  await yieldToEventLoop();
  return new Response(withShortReason(text), { status, headers: type });
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`A node's response exceeded ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function withShortReason(text: string): string {
  try {
    const { error, ...rest } = JSON.parse(text);
    return error === undefined ? text : JSON.stringify({ ...rest, error: shortened(error) });
  } catch {
    return text; // Whoever asked finds that it is no JSON.
  }
}

function shortened(value: unknown): unknown {
  if (typeof value === "string")
    return value.startsWith(offchainLookup) ? value : value.slice(0, mostOfReason);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}
