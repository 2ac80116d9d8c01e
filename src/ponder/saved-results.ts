import { hash } from "node:crypto";
import { moduleOfPonder } from "./expected.ts";
import { type ResultStore, type RpcBody, type Shared, shared } from "./shared.ts";

// Ponder keeps results of calls for later indexes of the same blocks, in ponder_sync.rpc_request_results, and forgets those of blocks that a
// reorganization removed. What handlers ask of nodes without Ponder's client is kept there too.

/** A request about a block, or anything else that has one result there. Values without a meaning of case. */
type SavedRequest = { method: string; params: readonly unknown[]; blockNumber: number };

/** Results that later indexes of the same blocks would ask for again. */
export type SavedResults = {
  find(chainId: number, request: SavedRequest): Promise<string | undefined>;
  /** Saves a result for later; nothing waits for it. */
  keep(chainId: number, request: SavedRequest, result: string): void;
};

type Client = { getCacheKey(request: RpcBody): string };

/** The key by which Ponder keeps the result of a request; limits of the request and the like do not count. */
export function keyOfRequest({ method, params }: RpcBody): string {
  const { getCacheKey } = moduleOfPonder<Client>("indexing/client.js", "getCacheKey");
  return hash("md5", getCacheKey({ method, params }));
}

const longest = 64 * 1024;

/** Results in Ponder's database and from elsewhere; new ones of up to 64 KiB are kept there if they outlive the chain's node. */
export function openSavedResults(
  { areKept }: { areKept: boolean },
  results: Pick<Shared, "resultStore" | "otherResults"> = shared(),
): SavedResults {
  return {
    async find(chainId, { method, params, blockNumber }) {
      const body = { method, params };
      // What cannot be read is asked again.
      const found = results.resultStore?.getRpcRequestResults({ requests: [body], chainId }).catch(() => []);
      const [known] = (await found) ?? [];
      return known ?? results.otherResults.get(chainId)?.(keyOfRequest(body), blockNumber);
    },
    keep(chainId, { method, params, blockNumber }, result) {
      if (!areKept || result.length > longest) return;
      const requests = [{ request: { method, params }, blockNumber, result }];
      // What could not be kept is asked again.
      results.resultStore?.insertRpcRequestResults({ requests, chainId }).catch(() => undefined);
    },
  };
}

/** As `getRpcRequestResults` of a store, whose missing results come from elsewhere where they are. */
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
