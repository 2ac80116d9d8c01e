import { afterEach, expect, test } from "vitest";
import { serveRpc } from "../../devnet/rpc/server.ts";
import { emptyRoot, headerHash } from "../../src/rpc/block-proofs.ts";
import { createIndexer } from "../support/world.ts";

// Configuration, build and start with every plugin that a public network has, without the network.

const lastTimestamp = 1_768_000_000;
const zeros = (bytes: number) => `0x${"00".repeat(bytes)}`;
const hex = (value: number) => `0x${value.toString(16)}`;
const emptyBlock = {
  ...{ logsBloom: zeros(256), miner: zeros(20), sha3Uncles: zeros(32), stateRoot: zeros(32) },
  ...{ transactionsRoot: zeros(32), receiptsRoot: emptyRoot, mixHash: zeros(32), nonce: zeros(8) },
  ...{
    difficulty: "0x0",
    totalDifficulty: "0x0",
    gasLimit: "0x1",
    gasUsed: "0x0",
    extraData: "0x",
    size: "0x1",
  },
  ...{ uncles: [], transactions: [] },
};
// More than an index follows before it takes blocks for final.
const linked = 500;

/** Serves a chain of a given height without transactions: a block a second, whose headers hash to their hashes; the newest are linked. */
function serveEmptyChain(chainId: number, tip: number) {
  type Block = typeof emptyBlock & { hash: string };
  const known = new Map<number, Block>();
  const byHash = new Map<unknown, Block>();
  const block = (height: number): Block | null => {
    if (height > tip) return null;
    const found = known.get(height);
    if (found !== undefined) return found;
    const parentHash = (height > tip - linked && block(height - 1)?.hash) || zeros(32);
    const timestamp = hex(lastTimestamp - (tip - height));
    const header = { ...emptyBlock, number: hex(height), parentHash, timestamp };
    const made = { ...header, hash: headerHash(header) ?? "" };
    known.set(height, made);
    byHash.set(made.hash, made);
    return made;
  };
  return serveRpc({
    methods: new Map<string, (params: unknown[]) => unknown>([
      ["eth_chainId", () => hex(chainId)],
      ["eth_blockNumber", () => hex(tip)],
      ["eth_getLogs", () => []],
      ["eth_getBlockByNumber", ([tag]) => block(String(tag).startsWith("0x") ? Number(tag) : tip)],
      ["eth_getBlockByHash", ([hash]) => byHash.get(hash) ?? null],
    ]),
  });
}

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

test.each<[string, Record<number, number>, string[]]>([
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
])("%s starts with all of its plugins", async (namespace, heights, plugins) => {
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
