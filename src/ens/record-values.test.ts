import { expect, test } from "vitest";
import { addressValue, bytesValue, isTextKey, nameValue, pubkeyValue, textValue } from "./record-values.ts";

test.each([
  ["0xABCDEF0123456789ABCDEF0123456789ABCDEF01", "0xabcdef0123456789abcdef0123456789abcdef01"],
  [
    "0x76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac",
    "0x76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac",
  ],
  ["0x00", "0x00"],
  ["0x0000000000000000000000000000000000000000", null],
  ["0x", null],
  ["", null],
  ["0x12\0", null],
])("address %j", (raw, value) => {
  expect(addressValue(raw)).toBe(value);
});

test.each([
  ["x", "x"],
  [" ", " "],
  ["", null],
  ["a\0b", null],
])("text %j", (raw, value) => {
  expect(textValue(raw)).toBe(value);
  expect(isTextKey(raw)).toBe(value !== null);
});

test.each([
  ["vitalik.eth", "vitalik.eth"],
  ["Vitalik.eth", null],
  ["", null],
  ["[0000].eth", null],
])("name %j", (raw, value) => {
  expect(nameValue(raw)).toBe(value);
});

test("empty bytes and a public key of zeros are unset", () => {
  expect(bytesValue("0x")).toBeNull();
  expect(bytesValue("0xE301")).toBe("0xe301");
  const zero = `0x${"00".repeat(32)}` as const;
  expect(pubkeyValue({ x: zero, y: zero })).toBeNull();
  expect(pubkeyValue({ x: zero, y: "0x01" })).toEqual({ x: zero, y: "0x01" });
});
