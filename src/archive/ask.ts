import type { IndexedChain } from "../config/chains.ts";
import { postRpc, textUpTo } from "../ponder/rpc-request.ts";
import { checkedUrls } from "../rpc/checked-rpc.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { type BoundedRequest, NodeError, tooLong } from "./answers.ts";
import { ArchiveError, type ArchiveFilter } from "./manifest.ts";
import { createPaces } from "./pace.ts";
import type { ReadsOf, SeenBlock } from "./reads.ts";

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
  const ask = (body: BoundedRequest): Promise<unknown> => paced((backend) => backend.request(body));
  const rate = ofUrl * urls.length;
  return {
    ask,
    /** Requests at once: as many as are sent in half a second. */
    width: Math.min(64, Math.max(4, Math.ceil(rate / 2))),
    finalizedBlock: () => finalizedBlock(ask, chain.id),
    estimate: (gaps: readonly Part[], createReads?: () => ReadsOf) =>
      estimate(ask, gaps, { perSecond: rate, createReads }),
  };
}

function backendOf(url: string) {
  return {
    hostname: new URL(url).hostname,
    async request({ method, params = [], ...limits }: BoundedRequest): Promise<unknown> {
      const response = await postRpc(
        url,
        { method, params: params as unknown[] },
        AbortSignal.timeout(limits.timeoutMs ?? 30_000),
      );
      if (response.status === 429) throw Object.assign(new Error("too many requests"), { code: 429 });
      const body = await textUpTo(limits.maxBytes ?? Number.POSITIVE_INFINITY, response);
      if (body === undefined) throw new NodeError(`more than ${limits.maxBytes} bytes`, tooLong);
      const { result, error } = JSON.parse(body) as {
        result?: unknown;
        error?: { code?: unknown; message?: unknown };
      };
      if (result !== undefined) return result;
      if (typeof error !== "object" || error === null) throw new Error(`status ${response.status}`);
      throw new NodeError(String(error.message).slice(0, longestReason), error.code);
    },
  };
}

const longestReason = 200;

async function finalizedBlock(ask: (body: RpcRequest) => Promise<unknown>, chainId: number): Promise<number> {
  for (const tag of ["finalized", "latest"]) {
    const block = await ask({ method: "eth_getBlockByNumber", params: [tag, false] }).catch(() => undefined);
    const number = Number((block as { number?: string } | undefined)?.number ?? Number.NaN);
    if (Number.isSafeInteger(number)) return tag === "latest" ? Math.max(0, number - 128) : number;
  }
  throw new ArchiveError(`No RPC URL of chain ${chainId} names its newest block.`);
}

type Ask = (body: RpcRequest) => Promise<unknown>;
type Estimated = { perSecond: number; createReads: (() => ReadsOf) | undefined };

// Logs, blocks with logs and calls of a few short ranges, as shares of all blocks.
async function estimate(ask: Ask, gaps: readonly Part[], { perSecond, createReads }: Estimated) {
  let [logs, requests] = [0, 0];
  for (const { from, to, filters } of gaps) {
    const found = { logs: 0, blocks: 0, calls: 0, sampled: 0 };
    for (let i = 0; i < samples; i++) {
      const start = from + Math.floor(((to - from) * i) / samples);
      const end = Math.min(to, start + blocksOfSample - 1);
      const seen = await sampledLogs(ask, filters, { from: start, to: end });
      found.logs += seen.length;
      found.blocks += new Set(seen.map(({ blockNumber }) => blockNumber)).size;
      if (createReads) found.calls += await callsOf(ask, seen, createReads);
      found.sampled += end - start + 1;
    }
    const scale = (to - from + 1) / found.sampled;
    logs += found.logs * scale;
    requests += (found.blocks + found.calls) * scale;
    requests += filters.length * Math.max(20, (found.logs * scale) / 2_000);
  }
  return { logs, requests, perSecond };
}

async function sampledLogs(ask: Ask, filters: readonly ArchiveFilter[], { from, to }: BlockRange) {
  const found: RpcLog[] = [];
  for (const { addresses, topics } of filters) {
    if (addresses !== null && !Array.isArray(addresses)) continue;
    const filter = {
      ...{ fromBlock: toHex(from), toBlock: toHex(to) },
      ...(addresses && { address: addresses }),
      ...(topics && { topics: [topics] }),
    };
    for (const log of (await ask({ method: "eth_getLogs", params: [filter] })) as RpcLog[]) found.push(log);
  }
  return found;
}

const blocksWithCalls = 20;

/** How many requests the rules make for logs: who sent their transactions is looked up for the first blocks with any. */
async function callsOf(ask: Ask, logs: readonly RpcLog[], createReads: () => ReadsOf): Promise<number> {
  const [mayRead, readsOf] = [createReads(), createReads()];
  const blocks = [...Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber))].sort(([a], [b]) => a - b);
  const near = blocks.filter(([number, own]) => mayRead(seenBlock(number, own)).length > 0);
  const looked = near.slice(0, blocksWithCalls);
  let requests = 0;
  for (const [number, own] of looked) {
    const block = (await ask({ method: "eth_getBlockByNumber", params: [toHex(number), true] })) as FullBlock;
    for (const read of readsOf(seenBlock(number, own, block))) requests += read.requests;
  }
  return (requests * near.length) / Math.max(1, looked.length);
}

type FullBlock = { timestamp: string; transactions: { hash: string; from: string }[] };

function seenBlock(number: number, logs: readonly RpcLog[], block?: FullBlock): SeenBlock {
  const senders = new Map(block?.transactions.map(({ hash, from }) => [hash, from]));
  const inOrder = [...logs].sort((a, b) => Number(a.logIndex) - Number(b.logIndex));
  return {
    number,
    timestamp: BigInt(block?.timestamp ?? number),
    logs: inOrder.map(({ address, topics, data, transactionHash: hash }) => {
      return { address, topics, data, hash, sender: senders.get(hash) ?? "0x" };
    }),
  };
}
