import { setTimeout as wait } from "node:timers/promises";
import { chooseStartRate, type IndexedChain } from "../config/chains.ts";
import { backendWithCredentials } from "../ponder/rpc-request.ts";
import { checkedBackends } from "../rpc/checked-rpc.ts";
import type { RpcRequest } from "../rpc/nodes.ts";
import { ArchiveError } from "./manifest.ts";

type NodeOptions = {
  perSecond: number | undefined;
  log: (line: string) => void;
  crossCheckShare?: number;
  random?: () => number;
};

/**
 * The RPC URLs of a chain as recordings and comparisons ask them: in turn, each at its rate, with the checks of every
 * response that an index has.
 */
export function openNodes(
  chain: IndexedChain,
  { perSecond, log, crossCheckShare = 0.01, random = Math.random }: NodeOptions,
) {
  const urls = chain.rpc.http;
  const backends = checkedBackends(urls, createBackend, {
    ...{ chain: chain.name, chainId: chain.id, isPublic: chain.isLocal !== true, crossCheckShare, random },
    ...{ now: Date.now, count: () => {}, reportUnverified: () => undefined, believe: () => {} },
    log: (_level, message, fields) => log(`${message} ${JSON.stringify(fields)}`),
  });
  const ofUrl = Math.min(...urls.map((url) => chooseStartRate(url, perSecond)));
  const paced = createPaces(backends, ofUrl);
  const ask = (body: RpcRequest): Promise<unknown> => paced((backend) => backend.request(body));
  return {
    ask,
    /** Concurrent requests: as many as are sent in half a second. */
    width: Math.min(64, Math.max(4, Math.ceil((ofUrl * urls.length) / 2))),
    finalizedBlock: () => findFinalizedBlock(ask, chain.id),
  };
}

function createBackend(url: string) {
  const { hostname, request } = backendWithCredentials(url, 30_000);
  return {
    hostname,
    async request(body: RpcRequest): Promise<unknown> {
      try {
        return await request(body);
      } catch (error) {
        // The rest of the message contains the whole URL, which may hold a key.
        const { code, status, details, shortMessage } = error as Record<string, unknown>;
        const reason = String(details ?? shortMessage).slice(0, 10_000);
        const message = `${body.method} of ${hostname} failed: ${reason}`;
        throw Object.assign(new ArchiveError(message), { code, status });
      }
    },
  };
}

async function findFinalizedBlock(
  ask: (body: RpcRequest) => Promise<unknown>,
  chainId: number,
): Promise<number> {
  for (const tag of ["finalized", "latest"]) {
    const block = await ask({ method: "eth_getBlockByNumber", params: [tag, false] }).catch(() => undefined);
    const number = Number((block as { number?: string } | undefined)?.number ?? Number.NaN);
    if (Number.isSafeInteger(number)) return tag === "latest" ? Math.max(0, number - 128) : number;
  }
  throw new ArchiveError(`No RPC URL of chain ${chainId} returned its newest block.`);
}

// ponder: its rates for an RPC URL. With an archive in front, Ponder applies them to the archive instead of the nodes.
const [maxRate, minRate] = [500, 3];
const [faster, slower, successes] = [1.05, 0.95, 5];

/**
 * Sends each request through a free sender, in turn. Rates start at `perSecond`, rise with successes, and fall when a
 * node sends 429.
 */
export function createPaces<Sender>(senders: readonly Sender[], perSecond = 20) {
  const paces = senders.map((sender) => ({ sender, rate: perSecond, succeeded: 0, next: 0 }));
  return async <Result>(request: (sender: Sender) => Promise<Result>): Promise<Result> => {
    const freeAt = ({ next }: { next: number }) => Math.max(next, Date.now());
    const pace = paces.reduce((best, one) => (freeAt(one) < freeAt(best) ? one : best));
    // The next request prefers another sender.
    paces.splice(paces.indexOf(pace), 1);
    paces.push(pace);
    const pause = freeAt(pace) - Date.now();
    pace.next = freeAt(pace) + 1_000 / pace.rate;
    if (pause > 0) await wait(pause);
    try {
      const result = await request(pace.sender);
      pace.succeeded += 1;
      if (pace.succeeded < pace.rate * successes) return result;
      pace.rate = Math.min(Math.max(maxRate, perSecond), pace.rate * faster);
      pace.succeeded = 0;
      return result;
    } catch (error) {
      const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown };
      if (code === 429 || status === 429) {
        pace.rate = Math.max(minRate, pace.rate * slower);
        pace.succeeded = 0;
      }
      throw error;
    }
  };
}
