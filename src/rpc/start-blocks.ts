import { type Log, seeOperations } from "../log/json-log.ts";
import type { StartBlock } from "../ponder/shared.ts";
import { type Backend, urlsAs } from "./checked-rpc.ts";
import { type RpcRequest, toHex } from "./nodes.ts";

type StartOptions = {
  chain: string;
  chainId: number;
  /** Blocks that the index knows, the final one to begin with first; none if it has not followed the chain. */
  blocks: readonly StartBlock[];
  /** Ids of the chains that were answered from such blocks. */
  silent: Set<number>;
  log: Log;
  now: () => number;
};

/** How long a node may fail before its chain counts as silent, and how long it is then not asked such questions. */
const [timeoutMs, askAgainMs] = [2_000, 30_000];

/**
 * Ponder's list of RPC URLs. While none responds, what Ponder asks before it starts is answered with blocks that the
 * index knows, as if the chain had no block since. Blocks with transactions, logs and calls are always asked of the
 * URLs.
 */
export function urlsWithStart(urls: string[], options: StartOptions): string[] {
  if (options.blocks.length === 0) return urls;
  const answered = createStart(options);
  return urlsAs([...urls], (toBackend) => {
    const backends = urls.map(toBackend) as unknown as Backend[];
    return backends.map(({ hostname, request }) => ({ hostname, request: answered(request) }));
  });
}

/** Wraps requests to the URLs of one chain. */
export function createStart({ chain, chainId, blocks, silent, log, now }: StartOptions) {
  let [last] = blocks;
  let failingSince: number | undefined;
  let silentUntil = Number.NEGATIVE_INFINITY;
  const known = ({ method, params }: RpcRequest): unknown => {
    const [wanted, isFull] = Array.isArray(params) ? params : [];
    if (method === "eth_chainId") return toHex(chainId);
    if (method === "eth_blockNumber") return last?.newest;
    if (method !== "eth_getBlockByNumber" || isFull !== false) return undefined;
    // ponder: it reads the number alone, to find the final block below.
    if (wanted === "latest") return addEmptyBloom({ ...last, number: last?.newest });
    const block = blocks.find(({ number }) => number === wanted);
    // ponder: what it has cached is final, and it asks for that again when the backfill is over.
    if (block?.newest !== undefined && Number(block.number) > Number(last?.number)) last = block;
    return block && addEmptyBloom(block);
  };
  return (request: Backend["request"]): Backend["request"] =>
    async (body) => {
      const answer = known(body);
      if (answer === undefined) return request(body);
      const askedAt = now();
      if (askedAt < silentUntil) return answer;
      try {
        const response = await request(body);
        failingSince = undefined;
        silent.delete(chainId);
        return response;
      } catch (error) {
        failingSince ??= askedAt;
        if (now() - failingSince < timeoutMs) throw error;
        silentUntil = now() + askAgainMs;
        if (!silent.has(chainId))
          log("warn", "No RPC URL responds. The other chains continue without this one", {
            ...{ chain, block: Number(last?.number), section: seeOperations("When a chain pauses") },
          });
        silent.add(chainId);
        return answer;
      }
    };
}

// ponder: requires a bloom, and reads none here.
const addEmptyBloom = (block: object) => ({ ...block, logsBloom: `0x${"0".repeat(512)}` });
