import { hash } from "node:crypto";
import { moduleOfPonder } from "./expected.ts";
import { type ResultStore, type RpcBody, type Shared, shared } from "./shared.ts";

// ponder: it caches results of calls in ponder_sync.rpc_request_results for later indexes, and drops those of
// reorganized blocks. Results of requests that handlers send without Ponder's client are cached there too.

/** A request that has one result at a block. The case of its values has no meaning. */
type SavedRequest = { method: string; params: readonly unknown[]; blockNumber: number };

/** Results that later indexes of the same blocks need not request again. */
export type SavedResults = {
  find(chainId: number, request: SavedRequest): Promise<string | undefined>;
  /** Saves a result in the background. */
  keep(chainId: number, request: SavedRequest, result: string): void;
};

type KeyedClient = { getCacheKey(request: RpcBody): string };

/** The key by which Ponder caches a request's result: method and params only. */
export function keyOfRequest({ method, params }: RpcBody): string {
  const { getCacheKey } = moduleOfPonder<KeyedClient>("indexing/client.js", "getCacheKey");
  return hash("md5", getCacheKey({ method, params }));
}

const longest = 64 * 1024;

/**
 * Results from Ponder's database and elsewhere. Saves new ones of up to 64 KiB if they outlive the chain's node
 * (`areKept`).
 */
export function openSavedResults(
  { areKept }: { areKept: boolean },
  results: Pick<Shared, "resultStore" | "otherResults"> = shared(),
): SavedResults {
  return {
    async find(chainId, { method, params, blockNumber }) {
      const body = { method, params };
      // An unreadable result is requested again.
      const found = results.resultStore?.getRpcRequestResults({ requests: [body], chainId }).catch(() => []);
      const [known] = (await found) ?? [];
      return known ?? results.otherResults.get(chainId)?.(keyOfRequest(body), blockNumber);
    },
    keep(chainId, { method, params, blockNumber }, result) {
      if (!areKept || result.length > longest) return;
      const requests = [{ request: { method, params }, blockNumber, result }];
      // An unsaved result is requested again.
      results.resultStore?.insertRpcRequestResults({ requests, chainId }).catch(() => undefined);
    },
  };
}

/** A store's `getRpcRequestResults` that looks missing results up elsewhere. */
export function withOtherResults(
  store: ResultStore,
  { otherResults }: Pick<Shared, "otherResults"> = shared(),
): ResultStore["getRpcRequestResults"] {
  return async (of, ...context) => {
    const found = await store.getRpcRequestResults(of, ...context);
    const other = otherResults.get(of.chainId);
    if (other === undefined) return found;
    return Promise.all(
      of.requests.map((request, index) => {
        const block = request.method === "eth_call" ? Number(request.params[1]) : Number.NaN;
        return found[index] ?? (Number.isNaN(block) ? undefined : other(keyOfRequest(request), block));
      }),
    );
  };
}
