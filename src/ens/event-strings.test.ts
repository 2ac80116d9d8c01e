import { encodeAbiParameters, type Hex, stringToHex } from "viem";
import { expect, test } from "vitest";
import { emittedString } from "./event-strings.ts";

const bytesOf = (...values: Hex[]) =>
  encodeAbiParameters([...values.map(() => ({ type: "bytes" }) as const)], values as never);

test("keeps a leading byte order mark, which decoders drop", () => {
  const data = bytesOf(stringToHex("\ufeffbom"));
  expect(emittedString(data, 0, "bom")).toBe("\ufeffbom");
});

test("reads the argument at its position", () => {
  const data = bytesOf(stringToHex("key"), stringToHex("\ufeffvalue"));
  expect(emittedString(data, 0, "key")).toBe("key");
  expect(emittedString(data, 1, "value")).toBe("\ufeffvalue");
});

test("turns bad UTF-8 into the replacement character", () => {
  expect(emittedString(bytesOf("0xefbbbfff"), 0, "?")).toBe("\ufeff\ufffd");
});

test("trusts the decoder if there can be no mark, and if the data is too short", () => {
  expect(emittedString(bytesOf(stringToHex("plain")), 0, "plain")).toBe("plain");
  expect(emittedString("0xefbbbf", 0, "short")).toBe("short");
});
