import {
  createClient,
  custom,
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionData,
  type Hex,
  parseAbi,
} from "viem";
import { describe, expect, test } from "vitest";
import type { Selection } from "../names/selection.ts";
import { type ChainReader, createChainReader, liveRecords, UnavailableError } from "./chain-reader.ts";

const registry: Hex = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
const universalResolver: Hex = "0xeeeeeeee14d718c2b47d9923deab1335e144eeee";
const resolver: Hex = "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63";
const zero: Hex = `0x${"0".repeat(40)}`;
// ENSIP-1: the nodes of eth and alice.eth.
const ethNode = "93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const aliceNode = "787192fc5378cc32aa956ddfdedbf26b24e8d78e40109add0eea2c1a012c3dec";
const abi = parseAbi(["function text(bytes32 node, string key) view returns (string)"]);
const request = { abi, functionName: "text", args: [`0x${aliceNode}`, "url"] } as const;

const word = (address: string): Hex => `0x${address.slice(2).padStart(64, "0")}`;
const textData = (value: string) => encodeAbiParameters([{ type: "string" }], [value]);

type Call = { to: string; data: Hex };

/** A reader of chain 1, whose node gives `reply` for each call. */
function readerOf(
  reply: (call: Call) => Hex | Promise<Hex>,
  { hasUniversalResolver = false } = {},
): { reader: ChainReader; calls: Call[] } {
  const calls: Call[] = [];
  const transport = custom(
    {
      request: async ({ method, params }) => {
        if (method !== "eth_call") throw new Error(`unexpected ${method}`);
        const { to, data } = params[0] as Call;
        calls.push({ to, data });
        return reply({ to, data });
      },
    },
    { retryCount: 0 },
  );
  const known = {
    root: { chainId: 1, address: registry },
    universalResolver: hasUniversalResolver ? universalResolver : undefined,
  };
  const reader = createChainReader({
    known,
    clientOf: (chainId) => (chainId === 1 ? createClient({ transport }) : undefined),
    askGateways: async () => {
      throw new Error("no gateway is expected");
    },
    signal: new AbortController().signal,
  });
  return { reader, calls };
}

const fail = (error: object) => () => {
  throw Object.assign(new Error("the node fails"), error);
};

describe("a contract's function", () => {
  test("is called with its arguments, and its return data decoded", async () => {
    const { reader, calls } = readerOf(() => textData("https://ens.domains"));
    expect(await reader.read(1, resolver, request)).toBe("https://ens.domains");
    expect(calls).toEqual([{ to: resolver, data: encodeFunctionData(request) }]);
  });

  test.each<[string, () => Hex]>([
    ["reverts", fail({ code: 3, message: "execution reverted" })],
    ["returns nothing", () => "0x"],
    ["returns data of another shape", () => `0x${"ff".repeat(32)}`],
  ])("returns undefined if the contract %s", async (_, reply) => {
    expect(await readerOf(reply).reader.read(1, resolver, request)).toBeUndefined();
  });

  test("is unavailable if the node fails, and on a chain without a client", async () => {
    const { reader } = readerOf(fail({ code: -32000, message: "header not found" }));
    await expect(reader.read(1, resolver, request)).rejects.toThrow(UnavailableError);
    await expect(reader.read(10, resolver, request)).rejects.toThrow("Chain 10 has no RPC URL.");
  });
});

describe("a contract that asks for lookups without end", () => {
  const lookupAbi = parseAbi([
    "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
    "function query((address sender, string[] urls, bytes data)[] requests)",
  ]);
  // ENSIP-21: a batch gateway that the client serves itself; here for no request at all.
  const endless = encodeErrorResult({
    abi: lookupAbi,
    errorName: "OffchainLookup",
    args: [
      resolver,
      ["x-batch-gateway:true"],
      encodeFunctionData({ abi: lookupAbi, functionName: "query", args: [[]] }),
      "0xca11bac0",
      "0x",
    ],
  });
  const looping = fail({ code: 3, message: "execution reverted", data: endless });

  test("refuses after five calls", async () => {
    const { reader, calls } = readerOf(looping);
    expect(await reader.read(1, resolver, request)).toBeUndefined();
    expect(calls).toHaveLength(5);
  });

  test("makes a request unavailable once it took 500 calls", async () => {
    const { reader, calls } = readerOf(looping);
    const reads = Array.from({ length: 150 }, () => reader.read(1, resolver, request));
    const ends = await Promise.allSettled(reads);
    expect(calls.length).toBe(500);
    const reasons = ends.flatMap((end) => (end.status === "rejected" ? [String(end.reason)] : []));
    expect(new Set(reasons)).toEqual(
      new Set(["UnavailableError: The request takes too many calls of contracts."]),
    );
  });
});

describe("the resolver of a name (ENSIP-10)", () => {
  const found = { resolver, isWildcard: false };

  // The registry's resolver(bytes32) has the selector 0x0178b8bf (ENSIP-1).
  test.each([
    ["of its own", aliceNode, "alice.eth", found],
    ["of the nearest name above", aliceNode, "deep.sub.alice.eth", { ...found, isWildcard: true }],
    ["of the top-level name", ethNode, "alice.eth", { ...found, isWildcard: true }],
    ["of no name", "", "alice.eth", undefined],
  ])("is that %s, from the registry", async (_, node, name, expected) => {
    const { reader } = readerOf(({ to, data }) => {
      expect([to, data.slice(0, 10)]).toEqual([registry, "0x0178b8bf"]);
      return word(data.slice(10) === node ? resolver : zero);
    });
    expect(await reader.findResolver(name)).toEqual(expected);
  });

  const answer = (address: Hex, offset: bigint) =>
    encodeAbiParameters(
      [{ type: "address" }, { type: "bytes32" }, { type: "uint256" }],
      [address, `0x${aliceNode}`, offset],
    );

  test.each([
    ["of its own", answer(resolver, 0n), found],
    ["of a name above", answer(resolver, 4n), { ...found, isWildcard: true }],
    ["of no name", answer(zero, 0n), undefined],
  ])("is that %s, from the universal resolver", async (_, data, expected) => {
    const { reader, calls } = readerOf(() => data, { hasUniversalResolver: true });
    expect(await reader.findResolver("alice.eth")).toEqual(expected);
    expect(calls.map(({ to }) => to)).toEqual([universalResolver]);
    // The argument is the name in DNS wire format (RFC 1035).
    expect(calls[0]?.data).toContain("05616c6963650365746800");
  });
});

const alice: Hex = `0x${"a1".repeat(20)}`;

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
function resolverOf(values: Values): ChainReader {
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
  liveRecords(resolverOf(values), { chainId: 1, resolver, name: "alice.eth", isWildcard }, selection);

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
    ["returns", textData("wild"), "wild"],
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
    expect(asked).toEqual([["0x05616c6963650365746800", encodeFunctionData(request)]]);
  });
});
