import { expect, test } from "vitest";
import { coinTypeOfChain, isEvmCoinType } from "./coin-types.ts";

// ENSIP-11's own table, and ENSIP-19's default.
test.each([
  [1, 60n],
  [0, 2147483648n],
  [10, 2147483658n],
  [8453, 2147492101n],
  [42161, 2147525809n],
  [59144, 2147542792n],
  [534352, 2148018000n],
  [0x7fffffff, 0xffffffffn],
])("coin type of chain %i", (chainId, coinType) => {
  expect(coinTypeOfChain(chainId)).toBe(coinType);
});

test.each([
  [60n, true],
  [0x80000000n, true],
  [0xffffffffn, true],
  [0n, false],
  [61n, false],
  [0x7fffffffn, false],
  [0x100000000n, false],
])("coin type %i belongs to an EVM chain: %s", (coinType, isEvm) => {
  expect(isEvmCoinType(coinType)).toBe(isEvm);
});
