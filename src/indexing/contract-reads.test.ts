import { encodeAbiParameters, encodeFunctionData, getAddress, type Hex, RpcRequestError } from "viem";
import { describe, expect, test } from "vitest";
import { textRecordAbi } from "../../abis/resolver.ts";
import { createScopes, savedInMemory } from "../../test/support/scope.ts";
import { readText } from "./node-reads.ts";
import type { AskNodes, NodeRequest, Scope } from "./scope.ts";

const node: Hex = `0x${"0a".repeat(32)}`;
const emitter: Hex = `0x${"e1".repeat(20)}`;
const encoded = (value: string) => encodeAbiParameters([{ type: "string" }], [value]);

type ReadContract = (request: { address: Hex }) => Promise<string>;

/** Scopes over a node that returns `result`, with its requests and the reported anomalies. */
function createReads({
  result,
  isConfigured = false,
  readContract = async () => {
    throw new Error("Ponder's client is not for this contract");
  },
}: {
  result: unknown;
  isConfigured?: boolean;
  readContract?: ReadContract;
}) {
  const asked: NodeRequest[] = [];
  const { next, anomalies } = createScopes({ emitter });
  const nodes: AskNodes = async (_, request) => {
    asked.push(request);
    return result;
  };
  const client = { readContract } as unknown as Scope["client"];
  const read = (key = "url", changes: Partial<Scope> = {}) =>
    readText(next({ nodes, client, isConfigured: () => isConfigured, ...changes }), { node, key });
  return { read, asked, anomalies };
}

describe("an unconfigured contract", () => {
  test("is read by a plain call at the event's block, bounded in gas, bytes and time", async () => {
    const { read, asked, anomalies } = createReads({ result: encoded("a value") });
    expect(await read()).toBe("a value");
    const data = encodeFunctionData({ abi: textRecordAbi, args: [node, "url"] });
    expect(asked).toEqual([
      {
        method: "eth_call",
        params: [{ to: emitter, data, gas: "0x989680" }, "0x1"],
        blockNumber: 1,
        maxBytes: expect.any(Number),
        timeoutMs: expect.any(Number),
      },
    ]);
    expect(anomalies).toEqual([]);
  });

  test("is asked once: later indexes of the same block find what was kept, unless it is no text", async () => {
    const saved = savedInMemory();
    for (const [result, times] of [
      ["0x", 1],
      ["0x", 1],
      [encoded("a value"), 1],
      ["0x", 0],
    ] as const) {
      const { read, asked } = createReads({ result });
      expect(await read("url", { saved })).toBe(result === "0x" && times === 1 ? undefined : "a value");
      expect(asked).toHaveLength(times);
    }
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no data", "0x"],
    ["data of another shape", "0x01"],
    [
      "an impossible length",
      encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [32n, 1n << 200n]),
    ],
    ["no hex text", { object: true }],
  ])("that returns %s has an unknown value", async (_, result) => {
    const { read, anomalies } = createReads({ result });
    expect(await read()).toBeUndefined();
    expect(anomalies).toEqual(["unreadable-contract"]);
  });

  test("is read a hundred times at once, and then once a second, in every index", async () => {
    const { read, asked, anomalies } = createReads({ result: encoded("") });
    const at = async (timestamp: bigint, count: number) => {
      asked.length = 0;
      for (let i = 0; i < count; i++) await read(`${i}`, { timestamp });
      return asked.length;
    };
    expect([await at(1_000n, 150), await at(1_010n, 50), await at(5_000n, 101)]).toEqual([100, 10, 100]);
    expect(anomalies).toEqual(Array(50 + 40 + 1).fill("too-many-reads"));
  });
});

describe("a configured contract", () => {
  test("is read through Ponder's client, in a spelling that Ponder does not take for any emitter's", async () => {
    const addresses: Hex[] = [];
    const readContract: ReadContract = async ({ address }) => {
      addresses.push(address);
      return "a value";
    };
    const { read, asked } = createReads({ result: undefined, isConfigured: true, readContract });
    expect(await read()).toBe("a value");
    expect([addresses, asked]).toEqual([[getAddress(emitter)], []]);
    expect(addresses).not.toEqual([emitter]);
  });

  test("has no value if it reverts, and is still read that way", async () => {
    const error = { code: 3, message: "execution reverted" };
    const readContract = async () => {
      throw new RpcRequestError({ body: {}, url: "http://node", error });
    };
    const { read, asked, anomalies } = createReads({ result: undefined, isConfigured: true, readContract });
    expect([await read(), await read()]).toEqual([undefined, undefined]);
    expect([asked, anomalies]).toEqual([[], ["unreadable-contract", "unreadable-contract"]]);
  });

  test("is read from the nodes once Ponder's client failed on it", async () => {
    let failures = 0;
    const readContract = async () => {
      failures += 1;
      throw new Error("gone");
    };
    const { read, asked } = createReads({ result: encoded("a value"), isConfigured: true, readContract });
    expect([await read(), await read()]).toEqual(["a value", "a value"]);
    expect([failures, asked.length]).toEqual([1, 2]);
  });

  test.each(["0x5Fb30E5Ddc1ae84e5dDC5a3ACc2c5bB9bdbb4fAE", "k".repeat(300)])(
    "is read with bounds if the key is long or could steer Ponder's client: %s",
    async (key) => {
      const { read, asked } = createReads({ result: encoded("a value"), isConfigured: true });
      expect(await read(key)).toBe("a value");
      expect(asked).toHaveLength(1);
    },
  );
});
