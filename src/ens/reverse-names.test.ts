import { expect, test } from "vitest";
import { isEvmCoinType, parseReverseName, reverseName } from "./reverse-names.ts";

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

// Examples of ENSIP-19.
const address = "0xb8c2c29ee19d8307cb7255e1cd9cbde883a267d5";

test.each([
  [60n, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.addr.reverse"],
  [0x80000000n, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.default.reverse"],
  [0x8000000an, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.8000000a.reverse"],
])("reverse name of an address of coin type %i", (coinType, name) => {
  expect(reverseName({ address, coinType })).toBe(name);
  expect(parseReverseName(name)).toEqual({ address, coinType });
});

test("reverse name of an address of Bitcoin", () => {
  expect(reverseName({ address, coinType: 0n })).toBe("b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.0.reverse");
});

test.each([
  "addr.reverse",
  "B8c2c29ee19d8307cb7255e1cd9cbde883a267d5.addr.reverse",
  "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.addr.eth",
  "x.b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.addr.reverse",
  "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.0008.reverse",
  "",
])("%s is not a reverse name", (name) => {
  expect(parseReverseName(name)).toBeUndefined();
});
