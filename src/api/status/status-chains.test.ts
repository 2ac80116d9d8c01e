import { expect, test } from "vitest";
import { statusChains } from "./status-chains.ts";

const chains = [
  { id: 1, name: "mainnet" },
  { id: 8453, name: "base" },
];

test("a chain begins with its earliest contract and has no end while one contract has none", () => {
  expect(
    statusChains(chains, [
      { chain: { mainnet: { startBlock: 9_380_380 } } },
      {
        chain: { mainnet: { startBlock: 3_327_417, endBlock: 9_380_410 }, base: { startBlock: 17_571_480 } },
      },
    ]),
  ).toEqual([
    { chainId: 1, startBlock: 3_327_417 },
    { chainId: 8453, startBlock: 17_571_480 },
  ]);
});

test("a chain ends with its last contract if each has an end", () => {
  expect(
    statusChains(chains, [
      { chain: { mainnet: { startBlock: 20, endBlock: 90 } } },
      { chain: { mainnet: { startBlock: 10, endBlock: 100 } } },
    ]),
  ).toEqual([{ chainId: 1, startBlock: 10, endBlock: 100 }]);
});
