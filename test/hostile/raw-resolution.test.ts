import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolvedRecords } from "../../src/api/ensnode/resolve.ts";
import { createAdmission, resolutionLimits } from "../../src/read/resolution/admission.ts";
import { createChainClients } from "../../src/read/resolution/chain-clients.ts";
import { defaultGatewayLimits } from "../../src/read/resolution/gateway.ts";
import { openEndpoints } from "../support/endpoints.ts";
import { startHostileNode } from "./support/hostile-node.ts";

// Names whose resolvers respond as an attacker wants (support/hostile-node.ts), over HTTP.

const registry: Hex = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
let node: Awaited<ReturnType<typeof startHostileNode>>;
beforeAll(async () => {
  node = await startHostileNode(registry);
});
afterAll(() => node?.close());

function open() {
  return openEndpoints([resolvedRecords], {
    database: { row: async () => [] },
    status: { current: () => undefined },
    plugins: [],
    clock: Date.now,
    ensv2: undefined,
    resolution: {
      known: {
        root: { chainId: 1, address: registry },
        universalResolver: undefined,
        indexedChains: new Set<number>(),
        isReverseResolver: () => false,
        bridgeOf: () => undefined,
        staticResolverOf: () => undefined,
        resolversWithDefault: () => [],
        primaryNameChains: [1],
      },
      clientOf: createChainClients([{ id: 1, rpc: { http: [node.url] } }]),
      gatewayLimits: { ...defaultGatewayLimits, allowsPrivateHosts: true },
      admit: createAdmission(resolutionLimits),
    },
  });
}

const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`);
const pathOf = (name: string, count: number) => `/api/resolve/records/${name}?texts=${keys(count).join()}`;
const unset = (count: number) => Object.fromEntries(keys(count).map((key) => [key, null]));

describe("one resolution ends, with calls that are counted", () => {
  // Two calls of the registry for name.eth and eth, one for supportsInterface; then what each record takes at most.
  test.each([
    ["loop.eth", 1, 3 + 5],
    ["loop.eth", 50, 3 + 50 * 5],
    ["invalid.eth", 50, 3 + 50],
    ["overflow.eth", 50, 3 + 50],
    ["reason.eth", 50, 3 + 50],
    ["template.eth", 1, 3 + 1],
    ["upgrade.eth", 1, 3 + 1],
  ])("%s, %i records", async (name, count, maxCalls) => {
    const { ask, logged } = open();
    const before = node.calls();
    const { status, body } = await ask(pathOf(name, count));
    expect([status, body.records]).toEqual([200, { texts: unset(count) }]);
    expect(node.calls() - before).toBeLessThanOrEqual(maxCalls);
    expect(logged).toEqual([]);
  });
});

test("of 100 requests of one address ten run, the others are told when to ask again", async () => {
  const { ask } = open();
  const replies = await Promise.all(Array.from({ length: 100 }, () => ask(pathOf("plain.eth", 1))));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(10);
  const refused = replies.filter(({ status }) => status === 503);
  expect(refused).toHaveLength(90);
  for (const { headers, body } of refused) {
    expect(headers.get("retry-after")).toBe("1");
    expect(body).toEqual({ message: "Too many names are being resolved at once." });
  }
  expect((await ask(pathOf("plain.eth", 1))).body.records).toEqual({ texts: { k0: "a plain text record" } });
});

test("calls end when the client goes", async () => {
  const { ask } = open();
  const leaving = new AbortController();
  const before = node.calls();
  const asked = ask(pathOf("loop.eth", 50), { signal: leaving.signal });
  await expect.poll(() => node.calls() - before).toBeGreaterThan(5);
  leaving.abort();
  await asked;
  const after = node.calls();
  expect(after - before).toBeLessThan(3 + 50 * 5);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(node.calls() - after).toBeLessThanOrEqual(resolutionLimits.callsAtOnce);
});
