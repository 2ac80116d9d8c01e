import { expect, test } from "vitest";
import { entriesForRate, parseRpcUrls, providerUrls } from "./chains.ts";

const quicknode = { QUICKNODE_API_KEY: "Q", QUICKNODE_ENDPOINT_NAME: "fast-node" };
const keys = { ALCHEMY_API_KEY: "A", DRPC_API_KEY: "D", ...quicknode };

test.each([
  [
    1,
    {
      http: [
        "https://eth-mainnet.g.alchemy.com/v2/A",
        "https://fast-node.quiknode.pro/Q",
        "https://lb.drpc.live/ethereum/D",
      ],
      ws: "wss://eth-mainnet.g.alchemy.com/v2/A",
    },
  ],
  [
    534351,
    {
      http: [
        "https://scroll-sepolia.g.alchemy.com/v2/A",
        "https://fast-node.scroll-testnet.quiknode.pro/Q",
        "https://lb.drpc.live/scroll-sepolia/D",
      ],
      ws: "wss://scroll-sepolia.g.alchemy.com/v2/A",
    },
  ],
  [
    59141,
    {
      http: ["https://linea-sepolia.g.alchemy.com/v2/A", "https://lb.drpc.live/linea-sepolia/D"],
      ws: "wss://linea-sepolia.g.alchemy.com/v2/A",
    },
  ],
])("names the hosted providers of chain %i", (chainId, urls) => {
  expect(providerUrls(chainId, keys)).toEqual(urls);
});

test("has no URL without a provider or keys, and no websocket without Alchemy", () => {
  expect(providerUrls(15658733, keys)).toBeUndefined();
  expect(providerUrls(1, {})).toBeUndefined();
  expect(providerUrls(10, { DRPC_API_KEY: "D" })).toEqual({ http: ["https://lb.drpc.live/optimism/D"] });
});

test("splits a list into http URLs and the websocket", () => {
  expect(parseRpcUrls("https://a.example, wss://b.example ,http://c.example")).toEqual({
    http: ["https://a.example", "http://c.example"],
    ws: "wss://b.example",
  });
});

test("keeps the framework's cautious initial rate for a public URL", () => {
  expect(entriesForRate(["https://a.example", "https://b.example"], undefined)).toEqual([
    "https://a.example",
    "https://b.example",
  ]);
});

test.each<[string, number | undefined, number]>([
  ["http://localhost:8545", undefined, 25],
  ["http://127.0.0.1:1", undefined, 25],
  ["http://[::1]:1", undefined, 25],
  ["https://a.example", 5, 1],
  ["https://a.example", 100, 5],
  ["https://a.example", 1000, 50],
])("of %s at %s requests a second there are %i entries", (url, rate, entries) => {
  expect(entriesForRate([url], rate)).toEqual(Array(entries).fill(url));
});
