import { findChain } from "../deployments/chains.ts";

/** RPC URLs of a chain: one or more http(s), at most one ws(s). */
export type RpcUrls = { http: string[]; ws?: string };

/** A block by number and hash. */
type NamedBlock = { number: number; hash: string };

/**
 * An indexed chain. A local one (`ens-test-env`) may be a fork, with transactions signed for another chain and unusual
 * headers. The operator vouches for its `trustedBlock`.
 */
export type IndexedChain = {
  id: number;
  name: string;
  isLocal?: true;
  rpc: RpcUrls;
  trustedBlock?: NamedBlock;
};

type RpcVariables = {
  RPC_VERIFY?: "samples" | "receipts" | undefined;
  NAMESPACE?: string | undefined;
  ALCHEMY_API_KEY?: string | undefined;
  QUICKNODE_API_KEY?: string | undefined;
  QUICKNODE_ENDPOINT_NAME?: string | undefined;
  DRPC_API_KEY?: string | undefined;
};

/**
 * The chains with their URLs: of RPC_URL_<chainId>, else of hosted providers, else the test network's own. Adds a fault
 * for each chain without URLs, each malformed list or trusted block, and each chain whose blocks nothing would name
 * twice under RPC_VERIFY=receipts.
 */
export function chainsFrom(
  sound: RpcVariables,
  given: Record<string, string>,
  chainIds: number[],
  faults: string[],
): IndexedChain[] {
  return chainIds.flatMap((id) => {
    const text = given[`RPC_URL_${id}`];
    const isLocal = sound.NAMESPACE === "ens-test-env";
    const trusted = given[`TRUSTED_BLOCK_${id}`];
    const trustedBlock = trusted === undefined ? undefined : parseBlock(trusted);
    if (trusted !== undefined && trustedBlock === undefined)
      faults.push(`TRUSTED_BLOCK_${id} must be <number>:<hash>, such as 21000000:0x and 64 digits.`);
    const chain = {
      ...{ id, name: chainName(id) },
      ...(isLocal && { isLocal }),
      ...(trustedBlock && { trustedBlock }),
    };
    try {
      const rpc = text === undefined ? providerUrls(id, sound) : parseRpcUrls(text);
      const local = isLocal ? localUrls[id] : undefined;
      const urls = rpc ?? (local === undefined ? undefined : { http: [local] });
      if (urls === undefined)
        faults.push(
          `No RPC URL for chain ${id} (${chain.name}). Set RPC_URL_${id}, or the API key of a provider that serves it.`,
        );
      else if (sound.RPC_VERIFY === "receipts" && new Set(urls.http).size === 1 && trusted === undefined)
        faults.push(
          `RPC_VERIFY=receipts needs two URLs in RPC_URL_${id} that name the blocks of chain ${id}, or a block that you trust: TRUSTED_BLOCK_${id}=<number>:<hash>.`,
        );
      return urls === undefined ? [] : [{ ...chain, rpc: urls }];
    } catch (error) {
      faults.push(`RPC_URL_${id} is unusable: ${error instanceof Error ? error.message : String(error)}.`);
    }
    return [];
  });
}

function parseBlock(text: string): NamedBlock | undefined {
  const [, number, hash = ""] = /^(\d{1,15}):(0x[0-9a-f]{64})$/i.exec(text) ?? [];
  return number === undefined ? undefined : { number: Number(number), hash: hash.toLowerCase() };
}

/** A chain's URLs at the hosted providers that have a key: Alchemy, QuickNode, dRPC; then Alchemy's websocket. */
export function providerUrls(chainId: number, keys: RpcVariables): RpcUrls | undefined {
  const { alchemy, quicknode, drpc } = findChain(chainId).providers ?? {};
  const { ALCHEMY_API_KEY, QUICKNODE_API_KEY, QUICKNODE_ENDPOINT_NAME: endpoint, DRPC_API_KEY } = keys;
  const ofAlchemy = alchemy && ALCHEMY_API_KEY && `${alchemy}.g.alchemy.com/v2/${ALCHEMY_API_KEY}`;
  const http = [
    ofAlchemy && `https://${ofAlchemy}`,
    QUICKNODE_API_KEY &&
      endpoint &&
      quicknode !== undefined &&
      `https://${[endpoint, quicknode].filter(Boolean).join(".")}.quiknode.pro/${QUICKNODE_API_KEY}`,
    drpc && DRPC_API_KEY && `https://lb.drpc.live/${drpc}/${DRPC_API_KEY}`,
  ].filter((url) => typeof url === "string");
  if (http.length === 0) return undefined;
  return { http, ...(ofAlchemy ? { ws: `wss://${ofAlchemy}` } : {}) };
}

const localUrls: Record<number, string> = {
  15658733: "http://localhost:8545",
  15658734: "http://localhost:8546",
};

/** Name of a chain in logs and metrics; `chain-<id>` if unknown. */
export const chainName = (chainId: number): string => findChain(chainId).name;

/** Parses a comma-separated list of RPC URLs. Throws an Error that says what is wrong, without the URLs. */
export function parseRpcUrls(text: string): RpcUrls {
  const urls = text.split(",").map((url) => url.trim());
  const protocols = urls.map((url) => (URL.canParse(url) ? new URL(url).protocol : undefined));
  const index = protocols.findIndex((protocol) => !/^(https?|wss?):$/.test(protocol ?? ""));
  if (index >= 0) throw new Error(`entry ${index + 1} is not an http(s):// or ws(s):// URL`);
  const http = urls.filter((_, i) => protocols[i]?.startsWith("http"));
  const ws = urls.filter((_, i) => protocols[i]?.startsWith("ws"));
  if (http.length === 0) throw new Error("it holds no http(s):// URL; a websocket alone is not enough");
  if (ws.length > 1) throw new Error("it holds more than one websocket URL; keep one");
  return ws[0] === undefined ? { http } : { http, ws: ws[0] };
}

// Ponder starts at 20 requests per second for each entry of the list, and raises that while the endpoint answers.
const startRateOfEntry = 20;

const loopbackRate = 500;

/** Requests a second to a URL at the start: without a given rate 500 to a loopback URL, 20 to any other. */
export function chooseStartRate(url: string, requestsPerSecond: number | undefined): number {
  const { hostname } = new URL(url);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
  return requestsPerSecond ?? (isLoopback ? loopbackRate : startRateOfEntry);
}

/** The URL list that Ponder gets, each URL repeated until the list starts at about its rate (`chooseStartRate`). */
export const entriesForRate = (http: readonly string[], requestsPerSecond: number | undefined): string[] =>
  http.flatMap((url) => {
    const entries = Math.round(chooseStartRate(url, requestsPerSecond) / startRateOfEntry);
    return Array<string>(Math.max(1, entries)).fill(url);
  });
