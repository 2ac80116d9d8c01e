import { Hono } from "hono";
import { createPublicClient, custom, type Hex } from "viem";
import { expect } from "vitest";
import type { Endpoint, GateContext } from "../../src/api/kit/endpoint.ts";
import { mount } from "../../src/api/kit/endpoint.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { knownContracts } from "../../src/read/names/known-contracts.ts";
import { createAdmission, resolutionLimits } from "../../src/read/resolution/admission.ts";
import { defaultGatewayLimits } from "../../src/read/resolution/gateway.ts";
import type { CurrentStatus } from "../../src/status/types.ts";

/** A status with the fields that endpoints read: the cursor 1768400395 and what the index is doing. */
export function currentStatus(
  omnichainStatus = "omnichain-following",
  cursor = 1_768_400_395,
): CurrentStatus {
  const snapshot = {
    strategy: "omnichain",
    slowestChainIndexingCursor: cursor,
    snapshotTime: cursor,
    omnichainSnapshot: { omnichainStatus, chains: {}, omnichainIndexingCursor: cursor },
  };
  return { snapshot } as unknown as CurrentStatus;
}

/** What endpoints resolve with, over a mainnet that answers calls with `answer`; without one it cannot be reached. */
export function chainOf(
  answer: (call: { to: Hex; data: Hex }) => Hex = () => {
    throw new Error("connect ECONNREFUSED");
  },
) {
  const request = async ({ params }: { params?: unknown }) => answer((params as [{ to: Hex; data: Hex }])[0]);
  const client = createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
  return {
    database: { row: async () => [] },
    ensv2: undefined,
    resolution: {
      known: knownContracts(namespaces.mainnet),
      clientOf: (chainId: number) => (chainId === 1 ? client : undefined),
      gatewayLimits: defaultGatewayLimits,
      admit: createAdmission(resolutionLimits),
    },
  };
}

/**
 * Endpoints over a context. Every response that `ask` returns has the shape that its endpoint declares for its status.
 */
export function openEndpoints<C>(endpoints: readonly Endpoint<C>[], context: C & GateContext) {
  const logged: string[] = [];
  const app = new Hono();
  for (const endpoint of endpoints) mount(app, endpoint, context, (_, message) => logged.push(message));

  const declared = (url: string) => {
    const { pathname } = new URL(url, "http://localhost");
    return endpoints.find(({ path }) =>
      new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
    );
  };
  const ask = async (url: string, init?: RequestInit) => {
    const response = await app.request(url, init);
    const body = await response.json();
    if (response.status !== 500) {
      const answer = declared(url)?.answers[response.status as 200];
      expect(answer, `${url} ${response.status}`).toBeDefined();
      expect(answer?.schema.safeParse(body).error).toBeUndefined();
    }
    return { status: response.status, headers: response.headers, body };
  };
  return { ask, fetch: async (url: string, init?: RequestInit) => app.request(url, init), logged };
}
