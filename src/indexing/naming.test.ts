import { describe, expect, test } from "vitest";
import { multichainNaming, subgraphNaming } from "./naming.ts";

// keccak-256 of "eth" and "ETH".
const eth = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const upperCase = "0xaaaebeba3810b1e6b70781f14b2d72c1cb89c0b2b320c43bb67ff79f562f5ff4";

describe("labels of the subgraph", () => {
  test.each([
    ["eth", { labelName: "eth", part: "eth" }],
    ["ETH", { labelName: "ETH", part: "ETH" }],
    ["", { labelName: null, part: "" }],
    ["a.b", undefined],
    [undefined, undefined],
  ])("%j, known or claimed by an event", (label, stored) => {
    expect(subgraphNaming.known(label)).toEqual(stored);
    expect(subgraphNaming.claimed(eth, label)).toEqual(stored);
  });

  test("an unknown label is null in its column and encoded in names", () => {
    expect(subgraphNaming.unknown(eth)).toEqual({ labelName: null, part: `[${eth.slice(2)}]` });
  });
});

describe("interpreted labels", () => {
  test.each([
    ["eth", { labelName: "eth", part: "eth" }],
    ["ETH", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("%j, if it is known", (label, stored) => {
    expect(multichainNaming.known(label)).toEqual(stored);
  });

  test("a claimed label must be the preimage and normalised", () => {
    expect(multichainNaming.claimed(eth, "eth")).toEqual({ labelName: "eth", part: "eth" });
    expect(multichainNaming.claimed(eth, "xyz")).toBeUndefined();
    expect(multichainNaming.claimed(upperCase, "ETH")).toBeUndefined();
    expect(multichainNaming.claimed(eth, undefined)).toBeUndefined();
  });

  test("an unknown label is encoded", () => {
    const part = `[${upperCase.slice(2)}]`;
    expect(multichainNaming.unknown(upperCase)).toEqual({ labelName: part, part });
  });
});
