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
  ])("%j, of the label source or of an event", (label, stored) => {
    expect(subgraphNaming.proven(eth, label)).toEqual(stored);
    expect(subgraphNaming.known(eth, label)).toEqual(stored);
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
  ])("%j, if it is proven", (label, stored) => {
    expect(multichainNaming.proven(eth, label)).toEqual(stored);
  });

  test("the label of an event must be the preimage and normalised", () => {
    expect(multichainNaming.known(eth, "eth")).toEqual({ labelName: "eth", part: "eth" });
    expect(multichainNaming.known(eth, "xyz")).toBeUndefined();
    expect(multichainNaming.known(upperCase, "ETH")).toBeUndefined();
    expect(multichainNaming.known(eth, undefined)).toBeUndefined();
  });

  test("an unknown label is encoded", () => {
    const part = `[${upperCase.slice(2)}]`;
    expect(multichainNaming.unknown(upperCase)).toEqual({ labelName: part, part });
  });
});
