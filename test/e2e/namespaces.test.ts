import { zeroHash } from "viem";
import { afterEach, expect, test } from "vitest";
import { buildBlock } from "../../devnet/chain/block.ts";
import { createChain } from "../../devnet/chain/chain.ts";
import { createMethods } from "../../devnet/rpc/methods.ts";
import { serveRpc } from "../../devnet/rpc/server.ts";
import { modesOf } from "../support/rounds.ts";
import { createIndexer } from "../support/world.ts";

// Configuration, build and start with every plugin that a public network has, without the network.

/** Serves a chain of a given height without transactions; its newest blocks, more than an index follows, are linked. */
function serveEmptyChain(chainId: number, tip: number) {
  const linked = 500;
  const parent = { number: tip - linked - 1, hash: zeroHash };
  const first = buildBlock({ parent, chainId, timestamp: 1_768_000_000, transactions: [], entropy: "" });
  const chain = createChain({ chainId, blocks: [first], standIns: linked });
  return serveRpc({ methods: createMethods(chain, { calls: [], traces: [] }) });
}

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

const networks: [string, Record<number, number>, string[]][] = [
  [
    "mainnet",
    {
      ...{ 1: 25_000_000, 8453: 42_000_000, 59144: 27_000_000 },
      ...{ 10: 147_000_000, 42161: 420_000_000, 534352: 28_000_000 },
    },
    ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration", "registrars", "tokenscope"],
  ],
  // The plugins of sepolia, and ENSv2's.
  [
    "sepolia-v2",
    {
      ...{ 11155111: 12_000_000, 84532: 37_000_000, 59141: 23_000_000 },
      ...{ 11155420: 39_000_000, 421614: 237_000_000, 534351: 17_000_000 },
    },
    ["subgraph", "basenames", "lineanames", "ensv2", "protocol-acceleration", "registrars", "tokenscope"],
  ],
];

test.each(modesOf(networks))("%s starts with all of its plugins", async (namespace, heights, plugins) => {
  const chainIds = Object.keys(heights).map(Number);
  const urls: [string, string][] = [];
  for (const id of chainIds) {
    const node = await serveEmptyChain(id, heights[id] ?? 0);
    opened.push(node);
    urls.push([`RPC_URL_${id}`, node.url]);
  }
  const indexer = await createIndexer({
    labels: ["eth"],
    environment: { NAMESPACE: namespace, ...Object.fromEntries(urls) },
  });
  opened.push(indexer);
  indexer.start();
  const { omnichainSnapshot } = await indexer.waitForStatus("any status", () => true);
  expect(Object.keys(omnichainSnapshot.chains).map(Number)).toEqual(chainIds);
  const config = await (await fetch(`${indexer.url}/api/config`)).json();
  expect(config).toMatchObject({ namespace, plugins });
  expect(config.indexedChainIds.toSorted((a: number, b: number) => a - b)).toEqual(chainIds);
  expect(await (await fetch(`${indexer.url}/api/registrar-actions`)).json()).toMatchObject({
    responseCode: "error",
    error: { message: "The index is not complete yet." },
  });
});
