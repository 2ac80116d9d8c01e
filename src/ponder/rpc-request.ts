import { http } from "viem";

/**
 * Where a request to an RPC URL goes, and with which headers: user name and password of the URL become one, since `fetch` takes
 * no URL that holds them.
 */
export function rpcTarget(text: string): { url: string; headers: Record<string, string> } {
  const headers = { "content-type": "application/json" };
  const url = new URL(text);
  if (!hasCredentials(text)) return { url: text, headers };
  const credentials = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = "";
  url.password = "";
  return {
    url: url.href,
    headers: { ...headers, authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
  };
}

/** Whether a URL holds a user name or password. */
export function hasCredentials(text: string): boolean {
  const { username, password } = new URL(text);
  return username !== "" || password !== "";
}

/**
 * A client of a URL that holds a user name or password, in the form of Ponder's.
 * ponder: cannot send requests to such a URL. The transport of its library can, and its errors are the same.
 */
export function backendWithCredentials(text: string) {
  const { url, headers } = rpcTarget(text);
  const limits = { timeout: 10_000, maxResponseBodySize: mostResponseBytes };
  const { request } = http(url, { fetchOptions: { headers }, ...limits })({ retryCount: 0 });
  return {
    hostname: new URL(url).hostname,
    request: (body: unknown): Promise<unknown> => request(body as never),
  };
}

const mostResponseBytes = 512 * 1024 * 1024;

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A lone percent sign stands for itself.
  }
}

/** Sends a JSON-RPC request. Rejects without a response, and once `signal` is aborted. */
export function postRpc(
  text: string,
  { method, params }: { method: string; params: readonly unknown[] },
  signal: AbortSignal = AbortSignal.timeout(10_000),
): Promise<Response> {
  const { url, headers } = rpcTarget(text);
  return fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal,
  });
}

/** The body of a response; undefined if it is longer than `maxBytes`, without reading the rest. */
export async function textUpTo(maxBytes: number, { body }: Response): Promise<string | undefined> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the rest of the body.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The result of a JSON-RPC request, as the node gives it. Rejects without a response in JSON within 10 seconds. */
export async function requestResult(url: string, method: string, params: unknown[]): Promise<unknown> {
  const response = await postRpc(url, { method, params });
  return ((await response.json()) as { result?: unknown }).result;
}

/** The chain id that an RPC URL serves; throws without a valid response within 10 seconds. */
export async function requestChainId(url: string): Promise<number> {
  const result = await requestResult(url, "eth_chainId", []);
  if (typeof result !== "string" || !/^0x[0-9a-fA-F]+$/.test(result))
    throw new Error("no chain id in the response");
  return Number(result);
}

/** The hash of a block at an RPC URL; undefined if it has no such block. Rejects without a valid response in 10 seconds. */
export async function requestHash(url: string, number: number): Promise<string | undefined> {
  const result = await requestResult(url, "eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  if (result === null) return undefined;
  const hash = (result as { hash?: unknown } | undefined)?.hash;
  if (typeof hash !== "string" || !/^0x[0-9a-fA-F]{64}$/.test(hash))
    throw new Error("no block hash in the response");
  return hash.toLowerCase();
}
