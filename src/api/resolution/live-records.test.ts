import { encodeAbiParameters, encodeFunctionData, type Hex, namehash, parseAbi } from "viem";
import { describe, expect, test } from "vitest";
import { type ChainReader, liveRecords } from "./chain-reader.ts";
import type { Selection } from "./selection.ts";

const resolver: Hex = "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63";
const alice: Hex = `0x${"a1".repeat(20)}`;
const zero: Hex = `0x${"0".repeat(40)}`;

// Selectors as the standards give them.
const selectors = {
  supportsInterface: "0x01ffc9a7", // EIP-165
  resolve: "0x9061b923", // ENSIP-10
  name: "0x691f3431", // ENSIP-3
  legacyAddr: "0x3b3b57de", // ENSIP-1
  addr: "0xf1cb7e06", // ENSIP-9
  text: "0x59d1d43c", // ENSIP-5
  contenthash: "0xbc1c58d1", // ENSIP-7
  pubkey: "0xc8690233", // EIP-619
  ABI: "0x2203ab56", // ENSIP-4
  interfaceImplementer: "0x124a319c", // ENSIP-8
} as const;

type Values = { [selector: string]: (...args: readonly unknown[]) => unknown };

/** A resolver that is not extended and has the values by selector; it refuses all other functions. */
function readerOf(values: Values): ChainReader {
  return {
    read: async (_chainId, to, request) => {
      expect(to).toBe(resolver);
      const { args = [] } = request as { args?: readonly unknown[] };
      const selector = encodeFunctionData(request as never).slice(0, 10);
      return values[selector]?.(...(selector === selectors.resolve ? args : args.slice(1)));
    },
    findResolver: async () => undefined,
  };
}

const records = (values: Values, selection: Selection, isWildcard = false) =>
  liveRecords(readerOf(values), { chainId: 1, resolver, name: "alice.eth", isWildcard }, selection);

const everything: Selection = {
  name: true,
  addresses: [60n, 0n],
  texts: ["url"],
  contenthash: true,
  pubkey: true,
  dnszonehash: true,
  version: true,
  abi: 1n,
  interfaces: ["0x01ffc9a7"],
};

test("a record is unset if the resolver reverts", async () => {
  expect(await records({}, everything)).toEqual({
    name: null,
    addresses: { "60": null, "0": null },
    texts: { url: null },
    contenthash: null,
    pubkey: null,
    dnszonehash: null,
    version: null,
    abi: null,
    interfaces: { "0x01ffc9a7": null },
  });
});

const x: Hex = `0x${"01".repeat(32)}`;
const none: Hex = `0x${"00".repeat(32)}`;

describe("values as a resolver returns them", () => {
  test.each<[string, Values, Selection, object]>([
    ["a name", { [selectors.name]: () => "alice.eth" }, { name: true }, { name: "alice.eth" }],
    [
      // ENSIP-9: the script of 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa.
      "an address of Bitcoin",
      {
        [selectors.addr]: (coinType) =>
          coinType === 0n ? "0x76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac" : "0x",
      },
      { addresses: [0n, 2n] },
      { addresses: { "0": "0x76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac", "2": null } },
    ],
    [
      "an address of a resolver older than ENSIP-9",
      { [selectors.legacyAddr]: () => alice },
      { addresses: [60n, 61n] },
      { addresses: { "60": alice, "61": null } },
    ],
    [
      "texts, by key",
      { [selectors.text]: (key) => (key === "url" ? "https://ens.domains" : "") },
      { texts: ["url", "avatar"] },
      { texts: { url: "https://ens.domains", avatar: null } },
    ],
    [
      "a content hash",
      { [selectors.contenthash]: () => "0xE301" },
      { contenthash: true },
      { contenthash: "0xe301" },
    ],
    ["a public key", { [selectors.pubkey]: () => [x, none] }, { pubkey: true }, { pubkey: { x, y: none } }],
    [
      "an ABI",
      { [selectors.ABI]: (types) => (types === 3n ? [1n, "0x5b5d"] : [0n, "0x"]) },
      { abi: 3n },
      { abi: { contentType: "1", data: "0x5b5d" } },
    ],
    ["no ABI (content type 0)", { [selectors.ABI]: () => [0n, "0x"] }, { abi: 3n }, { abi: null }],
    [
      "implementers of interfaces",
      { [selectors.interfaceImplementer]: (id) => (id === "0xbc1c58d1" ? alice : zero) },
      { interfaces: ["0xbc1c58d1", "0x01ffc9a7"] },
      { interfaces: { "0xbc1c58d1": alice, "0x01ffc9a7": null } },
    ],
  ])("%s", async (_, values, selection, expected) => {
    expect(await records(values, selection)).toEqual(expected);
  });
});

describe("a resolver that is set for a parent name (ENSIP-10)", () => {
  test("has no records of the name if it is not extended", async () => {
    const values: Values = { [selectors.supportsInterface]: () => false, [selectors.text]: () => "above" };
    expect(await records(values, { texts: ["url"] }, true)).toEqual({ texts: { url: null } });
  });

  test.each<[string, Hex | undefined, string | null]>([
    ["returns", encodeAbiParameters([{ type: "string" }], ["wild"]), "wild"],
    ["refuses", undefined, null],
    ["returns no data", "0x", null],
    ["returns data that is not a string", `0x${"ff".repeat(32)}`, null],
  ])("is called through `resolve` if it is, and %s", async (_, reply, url) => {
    const asked: (readonly unknown[])[] = [];
    const values: Values = {
      [selectors.supportsInterface]: () => true,
      [selectors.resolve]: (...given) => {
        asked.push(given);
        return reply;
      },
    };
    expect(await records(values, { texts: ["url"] }, true)).toEqual({ texts: { url } });
    // The name in DNS wire format (RFC 1035), and the call data of the function.
    const args = [namehash("alice.eth"), "url"] as const;
    const abi = parseAbi(["function text(bytes32 node, string key) view returns (string)"]);
    expect(asked).toEqual([["0x05616c6963650365746800", encodeFunctionData({ abi, args })]]);
  });
});
