import { keccak256, namehash, toHex } from "viem";
import { packetToBytes } from "viem/ens";
import { expect, test } from "vitest";
import { firstLabel, suffixesOf } from "./registry.ts";

test("each suffix has its node and its place in the DNS form", () => {
  expect(suffixesOf(toHex(packetToBytes("a.bcd.eth")))).toEqual([
    { node: namehash("a.bcd.eth"), offset: 0 },
    { node: namehash("bcd.eth"), offset: 2 },
    { node: namehash("eth"), offset: 6 },
    { node: namehash(""), offset: 10 },
  ]);
});

test("a label in brackets is a hash", () => {
  const hash = keccak256("0x61").slice(2);
  expect(suffixesOf(toHex(packetToBytes(`[${hash}].eth`)))[0]?.node).toBe(namehash("a.eth"));
});

test("the first label", () => {
  expect(firstLabel(toHex(packetToBytes("näme.eth")))).toBe("näme");
  expect(firstLabel("0x00")).toBe("");
});
