import { expect, test } from "vitest";
import { entriesForRate, parseRpcUrls, providerUrls } from "./chains.ts";

const keys = {
  ...{
    ALCHEMY_API_KEY: "A",
    QUICKNODE_API_KEY: "Q",
    QUICKNODE_ENDPOINT_NAME: "fast-node",
    DRPC_API_KEY: "D",
  },
};

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

test("has no URL for a chain that no provider serves, or without keys", () => {
  expect(providerUrls(15658733, keys)).toBeUndefined();
  expect(providerUrls(1, {})).toBeUndefined();
});

test("without Alchemy there is no websocket", () => {
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

test.each(["http://localhost:8545", "http://127.0.0.1:1", "http://[::1]:1"])(
  "runs at full speed on %s",
  (url) => {
    expect(entriesForRate([url], undefined)).toEqual(Array(25).fill(url));
  },
);

test.each([
  [5, 1],
  [20, 1],
  [100, 5],
  [1000, 50],
])("starts at about %i requests a second with %i entries", (rate, entries) => {
  expect(entriesForRate(["https://a.example"], rate)).toHaveLength(entries);
});
