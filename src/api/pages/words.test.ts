import type { Chain } from "viem";
import * as viemChains from "viem/chains";
import { describe, expect, test } from "vitest";
import {
  coinName,
  describeLetters,
  findExplorer,
  formatAmount,
  leaseLength,
  shortHex,
  sinceOrUntil,
  titleOfChain,
} from "./words.ts";

test("the known chains are those of viem", async () => {
  const known = Object.values<Chain>(viemChains).map(({ id, name, blockExplorers }) => {
    const url = blockExplorers?.default.url;
    return [id, url === undefined ? [name] : [name, url]] as const;
  });
  const lines = [...new Map(known)]
    .toSorted(([one], [other]) => one - other)
    .map(([id, facts]) => `  "${id}": ${JSON.stringify(facts)}`);
  await expect(`{\n${lines.join(",\n")}\n}\n`).toMatchFileSnapshot("known-chains.json");
});

test("chains and coins have the names that people know", () => {
  expect([1, 10, 8453, 59_144, 15_658_733, 987_654_321].map(titleOfChain)).toEqual([
    "Ethereum",
    "OP Mainnet",
    "Base",
    "Linea Mainnet",
    "ens-test-env",
    "Chain 987654321",
  ]);
  // SLIP-44, ENSIP-11 and the default of ENSIP-19.
  expect(["0", "60", "501", "2147492101", "2147483648", "508", "99998"].map(coinName)).toEqual([
    "Bitcoin",
    "Ethereum",
    "Solana",
    "Base",
    "Any EVM chain",
    "MultiversX",
    "Coin 99998",
  ]);
});

test("block explorers are the usual ones but for what is configured", () => {
  expect(findExplorer(1)).toBe("https://etherscan.io");
  expect(findExplorer(1, { 1: "https://a.example/" })).toBe("https://a.example");
  expect(findExplorer(15_658_733)).toBeUndefined();
});

test.each([
  [1_000, 8_200, "2 hours ago"],
  [8_200, 1_000, "in 2 hours"],
  [1_000, 1_000, "now"],
  // Leases are years of 365 days.
  [1_000 + 31_536_000, 1_000, "in 1 year"],
  [1_000 + 63_072_000, 1_000, "in 2 years"],
  [1_000 + 31_536_000 + 10 * 86_400, 1_000, "in 1 year"],
  [1_000 + 31_536_000 + 90 * 86_400, 1_000, "in 1 year 3 months"],
  [1_000 + 90 * 86_400, 1_000, "in 3 months"],
  [1_000 + 86_399, 1_000, "in 1 day"],
  [1_000 + 3_599, 1_000, "in 1 hour"],
  [1_000 + 3_500, 1_000, "in 58 minutes"],
  [Number.MAX_SAFE_INTEGER, 1_000, "never"],
])("%i as seen from %i is %s", (time, now, words) => {
  expect(sinceOrUntil(time, now)).toBe(words);
});

test.each([
  [63_072_000, "2 years"],
  [31_557_600, "1 year"],
  [2_419_200, "28 days"],
  [300, "5 minutes"],
])("a lease of %i seconds is one of %s", (seconds, words) => {
  expect(leaseLength(seconds)).toBe(words);
});

test.each([
  ["80000000000000000", "ETH", "0.08 ETH", "0.08 ETH"],
  ["10600000000000123", "ETH", "0.0106 ETH", "0.010600000000000123 ETH"],
  ["1234567890000000000000", "WETH", "1,234.5678 WETH", "1234.56789 WETH"],
  ["5000000", "USDC", "5 USDC", "5 USDC"],
  ["0", "DAI", "0 DAI", "0 DAI"],
  ["7", "ERC20", "7 units", "7 units"],
])("%s of %s is %s", (amount, currency, short, exact) => {
  expect(formatAmount(amount, currency)).toEqual({ short, exact });
});

describe("letters of a name", () => {
  test.each([
    ["vitalik.eth", undefined],
    [`[${"0".repeat(64)}].eth`, undefined],
    ["😀.eth", undefined],
    ["ニック.eth", "Japanese letters"],
    ["vit\u0430lik.eth", 'Not normalized: illegal mixture: Latin + Cyrillic "\u0430" {430}'],
    ["\u0440\u0430\u0443\u0440\u0430.eth", "Not normalized: whole-script confusable: Cyrillic/Latin"],
    ["a\u202eb.eth", "Not normalized: disallowed character: {202E}"],
  ])("of %s", (name, words) => {
    expect(describeLetters(name)).toBe(words);
  });
});

test("a hash is shown by its ends", () => {
  expect(shortHex("0xd8da6bf26964af9d7eed9e03e53415d37aa96045")).toBe("0xd8da…6045");
  expect(shortHex("0x1234")).toBe("0x1234");
});
