import { afterEach, expect, test } from "vitest";
import { serveEmptyChains } from "../support/empty-chains.ts";
import { createIndexer } from "../support/world.ts";

// Configuration, build and start with every plugin that a public network has, without the network.

const lastTimestamp = 1_768_000_000;
const heights: Record<number, number> = {
  1: 25_000_000,
  8453: 42_000_000,
  59144: 27_000_000,
  10: 147_000_000,
  42161: 420_000_000,
  534352: 28_000_000,
  11155111: 12_000_000,
  84532: 37_000_000,
  59141: 23_000_000,
  11155420: 39_000_000,
  421614: 237_000_000,
  534351: 17_000_000,
};

let indexer: Awaited<ReturnType<typeof createIndexer>> | undefined;
let chains: Awaited<ReturnType<typeof serveEmptyChains>> | undefined;
afterEach(async () => {
  await indexer?.close();
  await chains?.close();
});

test.each([
  [
    "mainnet",
    [1, 8453, 59144, 10, 42161, 534352],
    ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration", "registrars", "tokenscope"],
  ],
  [
    "sepolia",
    [11155111, 84532, 59141, 11155420, 421614, 534351],
    ["subgraph", "basenames", "lineanames", "protocol-acceleration", "registrars", "tokenscope"],
  ],
  [
    "sepolia-v2",
    [11155111, 84532, 59141, 11155420, 421614, 534351],
    ["subgraph", "basenames", "lineanames", "ensv2", "protocol-acceleration", "registrars", "tokenscope"],
  ],
])("%s starts with all of its plugins", async (namespace, chainIds, plugins) => {
  const served = await serveEmptyChains(heights, lastTimestamp);
  chains = served;
  const started = await createIndexer({
    labels: ["eth"],
    environment: {
      NAMESPACE: namespace,
      ...Object.fromEntries(chainIds.map((id) => [`RPC_URL_${id}`, served.url(id)])),
    },
  });
  indexer = started;
  started.start();
  const snapshot = await started.waitFor("the indexing status", async () => {
    const found = await started.snapshot();
    return found === undefined ? { state: "no status" } : { done: found };
  });
  expect(Object.keys(snapshot.omnichainSnapshot.chains).map(Number)).toEqual(
    chainIds.toSorted((a, b) => a - b),
  );
  const config = await (await fetch(`${started.url}/api/config`)).json();
  expect(config).toMatchObject({ namespace, plugins, indexedChainIds: chainIds });
  expect(await (await fetch(`${started.url}/api/registrar-actions`)).json()).toMatchObject({
    responseCode: "error",
    error: { message: "The index is not complete yet." },
  });
});
