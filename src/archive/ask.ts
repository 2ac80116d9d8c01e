import type { IndexedChain } from "../config/chains.ts";
import { mostResponseBytes, requestRpc } from "../ponder/rpc-request.ts";
import { checkedUrls } from "../rpc/checked-rpc.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { type BoundedRequest, NodeError, tooLong } from "./answers.ts";
import { ArchiveError } from "./manifest.ts";
import { createPaces } from "./pace.ts";

type NodeOptions = { perSecond: number | undefined; log: (line: string) => void };

const [loopbackRate, publicRate] = [500, 20];

/** The RPC URLs of a chain as a recording asks them: in turn, each at its rate, with the checks of every answer that an index has. */
export function openNodes(chain: IndexedChain, { perSecond, log }: NodeOptions) {
  const urls = chain.rpc.http;
  const backends = checkedUrls(urls, {
    ...{ chain: chain.name, chainId: chain.id, crossCheckShare: 0.01, random: Math.random, now: Date.now },
    ...{
      isPublic: chain.isLocal !== true,
      count: () => {},
      keepHead: () => {},
      doubt: () => {},
      believe: () => {},
    },
    log: (_level, message, fields) => log(`${message} ${JSON.stringify(fields)}`),
  }).map((url) => backendOf(String(url)) as never) as unknown as ReturnType<typeof backendOf>[];
  const isLocal = urls.every((url) => /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname));
  const ofUrl = perSecond ?? (isLocal ? loopbackRate : publicRate);
  const paced = createPaces(backends, { now: Date.now, perSecond: ofUrl });
  const ask = (body: BoundedRequest): Promise<unknown> =>
    paced((backend) => backend.request(body), body.tried);
  const rate = ofUrl * urls.length;
  return {
    ask,
    urls: urls.length,
    /** Requests a second of all URLs. */
    perSecond: rate,
    /** Requests at once: as many as are sent in half a second. */
    width: Math.min(64, Math.max(4, Math.ceil(rate / 2))),
    finalizedBlock: () => finalizedBlock(ask, chain.id),
  };
}

function backendOf(url: string) {
  const { hostname } = new URL(url);
  return {
    hostname,
    async request(request: BoundedRequest): Promise<unknown> {
      try {
        return await resultFrom(url, request);
      } catch (error) {
        if (error instanceof NodeError) throw error;
        const { message, code } = error as { message: string; code?: unknown };
        const failure = new ArchiveError(`${request.method} of ${hostname} failed: ${message}`, {
          cause: error,
        });
        throw Object.assign(failure, { code });
      }
    },
  };
}

async function resultFrom(url: string, request: BoundedRequest): Promise<unknown> {
  const { status, result, error, isTooLong } = await requestRpc(url, { timeoutMs: 30_000, ...request });
  if (status === 429) throw Object.assign(new Error("too many requests"), { code: 429 });
  if (isTooLong) throw new NodeError(`more than ${request.maxBytes ?? mostResponseBytes} bytes`, tooLong);
  if (result !== undefined) return result;
  if (error === undefined) throw new Error(`status ${status}`);
  throw new NodeError(String(error.message).slice(0, mostCharacters), error.code);
}

const mostCharacters = 10_000;

async function finalizedBlock(ask: (body: RpcRequest) => Promise<unknown>, chainId: number): Promise<number> {
  for (const tag of ["finalized", "latest"]) {
    const block = await ask({ method: "eth_getBlockByNumber", params: [tag, false] }).catch(() => undefined);
    const number = Number((block as { number?: string } | undefined)?.number ?? Number.NaN);
    if (Number.isSafeInteger(number)) return tag === "latest" ? Math.max(0, number - 128) : number;
  }
  throw new ArchiveError(`No RPC URL of chain ${chainId} returned its newest block.`);
}
