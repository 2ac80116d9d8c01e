import type { Hex } from "viem";
import { expect, test } from "vitest";
import { namehash } from "../../ens/names.ts";
import type { ChainReader } from "./chain-reader.ts";
import type { Resolution } from "./resolve.ts";
import { primaryName } from "./resolve.ts";

// ENSIP-19, over contracts alone; resolve.test.ts has the same over the index.

const resolver: Hex = "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63";
const account: Hex = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045";
const other: Hex = `0x${"b0".repeat(20)}`;
const digits = account.slice(2);

type Names = { [name: string]: { name?: string; addresses?: Record<string, Hex> } };

/** Contracts that have the names' records and nothing else; `asked` collects the names whose resolver is looked up. */
function resolutionOf(names: Names, asked: string[] = []): Resolution {
  const byNode = new Map(Object.entries(names).map(([name, records]) => [namehash(name), records]));
  const reader: ChainReader = {
    findResolver: async (name) => {
      asked.push(name);
      return name in names ? { resolver, isWildcard: false } : undefined;
    },
    read: async (_chainId, _to, request) => {
      const { functionName, args } = request as { functionName: string; args: readonly [Hex, bigint?] };
      const records = byNode.get(args[0]);
      if (functionName === "name") return records?.name;
      return functionName === "addr" ? records?.addresses?.[String(args[1])] : undefined;
    },
  };
  return {
    known: { root: { chainId: 1, address: other } } as Resolution["known"],
    reader,
    database: undefined,
    signal: new AbortController().signal,
  };
}

const primary = (resolution: Resolution, chainId: number, address = account) =>
  primaryName(resolution, { address, chainId });

// Coin types of the chains: ENSIP-9 (Ethereum), ENSIP-11 (others), ENSIP-19 (default).
test.each([
  ["Ethereum", 1, `${digits}.addr.reverse`, "60"],
  ["the default of EVM chains", 0, `${digits}.default.reverse`, "2147483648"],
  ["Base", 8453, `${digits}.80002105.reverse`, "2147492101"],
  ["OP Mainnet", 10, `${digits}.8000000a.reverse`, "2147483658"],
])(
  "on %s is the reverse name's, if its address there is the account",
  async (_, chainId, reverse, coinType) => {
    const asked: string[] = [];
    const names: Names = {
      [reverse]: { name: "vitalik.eth" },
      "vitalik.eth": { addresses: { [coinType]: "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045" } },
    };
    expect(await primary(resolutionOf(names, asked), chainId)).toBe("vitalik.eth");
    expect(asked).toEqual([reverse, "vitalik.eth"]);
  },
);

test.each<[string, Names]>([
  ["the account has no reverse name", {}],
  [
    "the name has another address",
    {
      [`${digits}.addr.reverse`]: { name: "vitalik.eth" },
      "vitalik.eth": { addresses: { "60": other } },
    },
  ],
  [
    "the name has the address on another chain only",
    {
      [`${digits}.addr.reverse`]: { name: "vitalik.eth" },
      "vitalik.eth": { addresses: { "2147492101": account } },
    },
  ],
])("is null if %s", async (_, names) => {
  expect(await primary(resolutionOf(names), 1)).toBeNull();
});
