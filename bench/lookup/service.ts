import { Hono } from "hono";
import type { Database, RowsReader } from "../../src/api/database/client.ts";
import { indexedNamespaces } from "../../src/api/names/indexed-namespaces.ts";
import type { LookupContext } from "../../src/api/names/lists.ts";
import { createNamesSource } from "../../src/api/names/lookups.ts";
import { knownContracts } from "../../src/api/resolution/known-contracts.ts";
import { type Endpoint, mount } from "../../src/api/rest/endpoint.ts";
import type { CurrentStatus } from "../../src/api/status/status-source.ts";
import type { Namespace } from "../../src/deployments/deployment.ts";

type Index = {
  database: Database & RowsReader;
  plugins: readonly string[];
  namespace: Namespace;
  chainId: number;
  /** Its last indexed block. */
  block: { number: number; timestamp: number };
};

/** A source of numbers below a bound, the same in every run. */
export function numbers() {
  let seed = 1;
  return (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    // The low bits repeat after a few numbers.
    return Math.floor((seed / 2 ** 31) * below);
  };
}

/** Endpoints over an index, without a socket: returns the text of a response, throws unless its status is 200. */
export function openEndpoints(
  endpoints: readonly Endpoint<LookupContext & { clock: () => number }>[],
  { database, plugins, namespace, chainId, block }: Index,
) {
  const chain = { chainStatus: "chain-following", latestIndexedBlock: block, latestKnownBlock: block };
  const current = {
    snapshot: {
      omnichainSnapshot: {
        omnichainStatus: "omnichain-following",
        omnichainIndexingCursor: block.timestamp,
        chains: { [chainId]: chain },
      },
    },
  } as unknown as CurrentStatus;
  const context = {
    plugins,
    status: { current: () => current },
    clock: () => block.timestamp * 1_000,
    lookup: {
      ...createNamesSource({ database, namespaces: indexedNamespaces(namespace, plugins), hasRecords: true }),
      hashOf: () => undefined,
      known: knownContracts(namespace),
    },
  };
  const app = new Hono();
  for (const one of endpoints) mount(app, one, context, (_, message) => console.error(message));

  return async (path: string, body?: unknown): Promise<string> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await app.request(path, init);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
    return text;
  };
}
