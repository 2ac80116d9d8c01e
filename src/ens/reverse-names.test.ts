import { expect, test } from "vitest";
import { parseReverseName, reverseName } from "./reverse-names.ts";

// Examples of ENSIP-19.
const address = "0xb8c2c29ee19d8307cb7255e1cd9cbde883a267d5";

test.each([
  [60n, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.addr.reverse"],
  [0x80000000n, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.default.reverse"],
  [0x8000000an, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.8000000a.reverse"],
  [0n, "b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.0.reverse"],
])("reverse name of an address of coin type %i", (coinType, name) => {
  expect(reverseName({ address, coinType })).toBe(name);
});

test.each([
  ["b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.addr.reverse", 60n],
  ["b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.default.reverse", 0x80000000n],
  ["b8c2c29ee19d8307cb7255e1cd9cbde883a267d5.8000000a.reverse", 0x8000000an],
])("reads %s", (name, coinType) => {
  expect(parseReverseName(name)).toEqual({ address, coinType });
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
