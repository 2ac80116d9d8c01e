import type { Hex } from "viem";
import { type V2KnownContracts, v2KnownContracts } from "../../src/deployments/namespaces.ts";
import type { Anomaly } from "../../src/indexing/anomalies.ts";
import { multichainNaming, type Scope } from "../../src/indexing/scope.ts";
import type { SavedResults } from "../../src/ponder/saved-results.ts";
import { createMemoryStore } from "./memory-store.ts";

// For rules that read nothing from the chain.
const silentClient = new Proxy({} as Scope["client"], {
  get: (_, method) => () => Promise.reject(new Error(`no ${String(method)} is expected here`)),
});

/** Scopes of successive events over one store in memory, and the anomalies that rules report on them. */
export function createScopes({
  chainId = 1,
  emitter = `0x${"e1".repeat(20)}` as Hex,
  v2 = v2KnownContracts({}),
}: {
  chainId?: number;
  emitter?: Hex;
  v2?: V2KnownContracts;
} = {}) {
  const store = createMemoryStore();
  const anomalies: Anomaly[] = [];
  let block = 0;
  const next = (changes: Partial<Scope> = {}): Scope => {
    block += 1;
    return {
      naming: multichainNaming,
      rootChainId: 1,
      heal: () => undefined,
      report: (anomaly) => anomalies.push(anomaly),
      nodes: async () => undefined,
      isConfigured: () => false,
      v2,
      db: store.db,
      chainId,
      namespace: "ens",
      eventId: String(block).padStart(75, "0"),
      blockNumber: block,
      timestamp: 1_700_000_000n + BigInt(block),
      transactionHash: `0x${"a1".repeat(32)}`,
      sender: `0x${"b2".repeat(20)}`,
      logIndex: 7,
      emitter,
      client: silentClient,
      ...changes,
    };
  };
  return { next, store, anomalies };
}

/** Saved results without a database. */
export function savedInMemory(): SavedResults {
  const results = new Map<string, string>();
  const keyOf = (chainId: number, request: object) => JSON.stringify([chainId, request]);
  return {
    find: async (chainId, request) => results.get(keyOf(chainId, request)),
    keep: (chainId, request, result) => void results.set(keyOf(chainId, request), result),
  };
}
