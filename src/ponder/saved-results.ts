import { hash } from "node:crypto";
import { z } from "zod/v4";
import { moduleOfPonder } from "./expected.ts";

// Ponder keeps results of calls for later indexes of the same blocks, in ponder_sync.rpc_request_results, and forgets those of blocks that a
// reorganization removed. What the rules ask of nodes without Ponder's client is kept there too.

/** A request about a block, or anything else that has one result there. Values without a meaning of case. */
type SavedRequest = { method: string; params: readonly unknown[]; blockNumber: number };

/** Results that later indexes of the same blocks would ask for again. */
export type SavedResults = {
  find(chainId: number, request: SavedRequest): Promise<string | undefined>;
  /** Saves a result for later; nothing waits for it. */
  keep(chainId: number, request: SavedRequest, result: string): void;
};

/** Results from elsewhere, by key; undefined where there is none. */
export type OtherResults = (key: string, blockNumber: number) => Promise<string | undefined>;

type Body = { method: string; params: readonly unknown[] };
type Inserted = { request: Body; blockNumber: number | undefined; result: string };

/** The part of Ponder's store of what it fetched that this is about. */
export type ResultStore = {
  getRpcRequestResults(
    of: { requests: Body[]; chainId: number },
    ...context: unknown[]
  ): Promise<(string | undefined)[]>;
  insertRpcRequestResults(
    of: { requests: Inserted[]; chainId: number },
    ...context: unknown[]
  ): Promise<void>;
};

type Shared = { store?: ResultStore; others: Map<number, OtherResults> };

const sharedKey = Symbol.for("nsindex.saved-results");

/** The store once Ponder has made it, and results from elsewhere by chain id. */
export function sharedResults(scope: object = globalThis): Shared {
  // ponder: `dev` loads the configuration and the indexing functions apart from Ponder's own files, so that they share no module.
  const shared = scope as { [sharedKey]?: Shared };
  shared[sharedKey] ??= { others: new Map() };
  return shared[sharedKey];
}

const client = z.object({
  getCacheKey: z.custom<(request: Body) => string>((value) => typeof value === "function"),
});

/** The key by which Ponder keeps the result of a request; limits of the request and the like do not count. */
export function keyOfRequest({ method, params }: Body): string {
  const { getCacheKey } = moduleOfPonder(client, "indexing/client.js");
  return hash("md5", getCacheKey({ method, params }));
}

const longest = 64 * 1024;

/** Whether a result is short enough to be kept: up to 64 KiB. */
const isKept = (result: string): boolean => result.length <= longest;

/** Results in Ponder's database and from elsewhere; new ones of up to 64 KiB are kept there if they outlive the chain's node. */
export function openSavedResults({ areKept }: { areKept: boolean }, shared = sharedResults()): SavedResults {
  return {
    async find(chainId, { method, params, blockNumber }) {
      const body = { method, params };
      // What cannot be read is asked again.
      const found = shared.store?.getRpcRequestResults({ requests: [body], chainId }).catch(() => []);
      const [known] = (await found) ?? [];
      return known ?? shared.others.get(chainId)?.(keyOfRequest(body), blockNumber);
    },
    keep(chainId, { method, params, blockNumber }, result) {
      if (!areKept || !isKept(result)) return;
      const requests = [{ request: { method, params }, blockNumber, result }];
      // What could not be kept is asked again.
      shared.store?.insertRpcRequestResults({ requests, chainId }).catch(() => undefined);
    },
  };
}

/** A store whose missing results come from elsewhere where they are; one of a transaction is not used beyond it. */
export function withOtherResults(
  store: ResultStore,
  { isOfTransaction, shared = sharedResults() }: { isOfTransaction: boolean; shared?: Shared },
): ResultStore {
  if (!isOfTransaction) shared.store = store;
  return {
    ...store,
    async getRpcRequestResults(of, ...context) {
      const found = await store.getRpcRequestResults(of, ...context);
      const other = shared.others.get(of.chainId);
      if (other === undefined) return found;
      return Promise.all(
        of.requests.map((request, place) => {
          const block = request.method === "eth_call" ? Number(request.params[1]) : Number.NaN;
          return found[place] ?? (Number.isNaN(block) ? undefined : other(keyOfRequest(request), block));
        }),
      );
    },
  };
}
