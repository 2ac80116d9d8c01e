import type { IndexedChain } from "../config/chains.ts";
import { postRpc } from "../ponder/rpc-request.ts";
import { checkedUrls } from "../rpc/checked-rpc.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { ArchiveError, type ArchiveFilter } from "./manifest.ts";
import { createPaces } from "./pace.ts";

type Part = BlockRange & { filters: readonly ArchiveFilter[] };
type NodeOptions = { perSecond: number | undefined; log: (line: string) => void };

const [loopbackRate, publicRate] = [500, 20];
const samples = 10;
const blocksOfSample = 200;

/** The RPC URLs of a chain as a recording asks them: in turn, each at its rate, with the checks of every answer that an index has. */
export function openNodes(chain: IndexedChain, { perSecond, log }: NodeOptions) {
  const urls = chain.rpc.http;
  const backends = checkedUrls(urls, {
    ...{ chain: chain.name, chainId: chain.id, crossCheckShare: 0.01, random: Math.random, now: Date.now },
    areTransactionsOwn: chain.name !== "ens-test-env",
    ...{ isOurs: () => true, count: () => {}, keepHead: () => {}, doubt: () => {} },
    log: (_level, message, fields) => log(`${message} ${JSON.stringify(fields)}`),
  }).map((url) => backendOf(String(url)) as never) as unknown as ReturnType<typeof backendOf>[];
  const isLocal = urls.every((url) => /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname));
  const ofUrl = perSecond ?? (isLocal ? loopbackRate : publicRate);
  const paced = createPaces(backends, { now: Date.now, perSecond: ofUrl });
  const ask = (body: RpcRequest): Promise<unknown> => paced((backend) => backend.request(body));
  const rate = ofUrl * urls.length;
  return {
    ask,
    /** Requests at once: as many as are sent in half a second. */
    width: Math.min(64, Math.max(4, Math.ceil(rate / 2))),
    finalizedBlock: () => finalizedBlock(ask, chain.id),
    estimate: (gaps: readonly Part[]) => estimate(ask, gaps, rate),
  };
}

function backendOf(url: string) {
  return {
    hostname: new URL(url).hostname,
    async request({ method, params = [] }: RpcRequest): Promise<unknown> {
      const response = await postRpc(
        url,
        { method, params: params as unknown[] },
        AbortSignal.timeout(30_000),
      );
      if (response.status === 429) throw Object.assign(new Error("too many requests"), { code: 429 });
      const { result, error } = (await response.json()) as { result?: unknown; error?: { message?: string } };
      if (result === undefined) throw new Error(error?.message ?? `status ${response.status}`);
      return result;
    },
  };
}

async function finalizedBlock(ask: (body: RpcRequest) => Promise<unknown>, chainId: number): Promise<number> {
  for (const tag of ["finalized", "latest"]) {
    const block = await ask({ method: "eth_getBlockByNumber", params: [tag, false] }).catch(() => undefined);
    const number = Number((block as { number?: string } | undefined)?.number ?? Number.NaN);
    if (Number.isSafeInteger(number)) return tag === "latest" ? Math.max(0, number - 128) : number;
  }
  throw new ArchiveError(`No RPC URL of chain ${chainId} names its newest block.`);
}

// Logs and blocks with logs of a few short ranges, as shares of all blocks.
async function estimate(
  ask: (body: RpcRequest) => Promise<unknown>,
  gaps: readonly Part[],
  perSecond: number,
) {
  let [logs, requests] = [0, 0];
  for (const { from, to, filters } of gaps) {
    const found = { logs: 0, blocks: 0, sampled: 0 };
    for (let i = 0; i < samples; i++) {
      const start = from + Math.floor(((to - from) * i) / samples);
      const end = Math.min(to, start + blocksOfSample - 1);
      const seen = new Set<string>();
      for (const { addresses, topics } of filters) {
        if (addresses !== null && !Array.isArray(addresses)) continue;
        const filter = {
          fromBlock: toHex(start),
          toBlock: toHex(end),
          ...(addresses && { address: addresses }),
          ...(topics && { topics: [topics] }),
        };
        const own = (await ask({ method: "eth_getLogs", params: [filter] })) as RpcLog[];
        found.logs += own.length;
        for (const { blockNumber } of own) seen.add(blockNumber);
      }
      found.blocks += seen.size;
      found.sampled += end - start + 1;
    }
    const scale = (to - from + 1) / found.sampled;
    logs += found.logs * scale;
    requests += found.blocks * scale + filters.length * Math.max(20, (found.logs * scale) / 2_000);
  }
  return { logs, requests, perSecond, seconds: requests / perSecond };
}
