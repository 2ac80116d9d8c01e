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
import { type ChainReader, createChainReader, UnavailableError } from "./chain-reader.ts";

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

describe("a contract that asks for look-ups without end", () => {
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
