import { HttpRequestError, http, ResponseBodyTooLargeError } from "viem";
import { getHttpRpcClient } from "viem/utils";

/** The target of requests to a URL: credentials become a header, since `fetch` takes no URL that holds them. */
export function rpcTarget(text: string): { url: string; headers: { authorization?: string } } {
  const url = new URL(text);
  if (!hasCredentials(text)) return { url: text, headers: {} };
  const credentials = `${decodePart(url.username)}:${decodePart(url.password)}`;
  url.username = "";
  url.password = "";
  return {
    url: url.href,
    headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
  };
}

/** Whether a URL holds a user name or password. */
export function hasCredentials(text: string): boolean {
  const { username, password } = new URL(text);
  return username !== "" || password !== "";
}

/**
 * A client like Ponder's that takes credentials in a URL. ponder: its own cannot; viem's transport can, with the same
 * errors.
 */
export function backendWithCredentials(text: string, timeout = 10_000) {
  const { url, headers } = rpcTarget(text);
  const limits = { timeout, maxResponseBodySize: maxResponseBytes };
  const { request } = http(url, { fetchOptions: { headers }, ...limits })({ retryCount: 0 });
  return {
    hostname: new URL(url).hostname,
    request: (body: unknown): Promise<unknown> => request(body as never),
  };
}

/** The default limit of a response in bytes. */
const maxResponseBytes = 512 * 1024 * 1024;

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A lone percent sign stands for itself.
  }
}

/** A JSON-RPC request and its limits, by default 10 seconds and `maxResponseBytes`. */
export type RpcCall = { method: string; params?: unknown; maxBytes?: number; timeoutMs?: number };

/** A node's response; without result and error if its body is not JSON-RPC, or too long and therefore not read. */
type RpcReply = {
  status: number;
  result?: unknown;
  error?: { code?: unknown; message?: unknown } | undefined;
  isTooLong: boolean;
};

/** Sends a JSON-RPC request. Rejects without a response, and with a TimeoutError after `timeoutMs`. */
export async function requestRpc(
  text: string,
  { method, params = [], maxBytes = maxResponseBytes, timeoutMs = 10_000 }: RpcCall,
): Promise<RpcReply> {
  const { url, headers } = rpcTarget(text);
  let response: Response | undefined;
  try {
    const { result, error } = await getHttpRpcClient(url).request({
      body: { method, params },
      // The signal covers the body too.
      fetchOptions: { headers, signal: AbortSignal.timeout(timeoutMs) },
      timeout: 0,
      maxResponseBodySize: maxBytes,
      onResponse(found) {
        response = found;
      },
    });
    const isError = typeof error === "object" && error !== null;
    const { status } = response as Response;
    return { status, isTooLong: false, result, error: isError ? error : undefined };
  } catch (error) {
    if (response === undefined || (error as Error).name === "TimeoutError")
      throw error instanceof HttpRequestError ? (error.cause ?? error) : error;
    return { status: response.status, isTooLong: error instanceof ResponseBodyTooLargeError };
  }
}

/** The chain id of an RPC URL. Throws without a valid response within 10 seconds. */
export async function requestChainId(url: string): Promise<number> {
  const { result } = await requestRpc(url, { method: "eth_chainId" });
  if (typeof result !== "string" || !/^0x[0-9a-fA-F]+$/.test(result))
    throw new Error("no chain id in the response");
  return Number(result);
}

/**
 * The hash of a block at an RPC URL; undefined if it has no such block. Rejects without a valid response in 30 seconds.
 */
export async function requestHash(url: string, number: number): Promise<string | undefined> {
  const params = [`0x${number.toString(16)}`, false];
  const { result } = await requestRpc(url, { method: "eth_getBlockByNumber", params, timeoutMs: 30_000 });
  if (result === null) return undefined;
  const hash = (result as { hash?: unknown } | undefined)?.hash;
  if (typeof hash !== "string" || !/^0x[0-9a-fA-F]{64}$/.test(hash))
    throw new Error("no block hash in the response");
  return hash.toLowerCase();
}
