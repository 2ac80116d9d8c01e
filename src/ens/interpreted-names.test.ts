import { namehash } from "viem";
import { expect, test } from "vitest";
import { nodeOfInterpretedName } from "./interpreted-names.ts";

test.each([
  ["", "0x0000000000000000000000000000000000000000000000000000000000000000"],
  ["eth", "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"],
  ["vitalik.eth", "0xee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835"],
])("node of %j", (name, node) => {
  expect(nodeOfInterpretedName(name)).toBe(node);
});

test("a label may stand as its hash", () => {
  const labelhash = "af2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc";
  expect(nodeOfInterpretedName(`[${labelhash}].eth`)).toBe(namehash("vitalik.eth"));
});

test.each(["VITALIK.eth", "a..eth", ".eth", "eth.", "[af2c].eth", "a\0b.eth", `[${"A".repeat(64)}].eth`])(
  "%j is no interpreted name",
  (name) => {
    expect(nodeOfInterpretedName(name)).toBeUndefined();
  },
);
