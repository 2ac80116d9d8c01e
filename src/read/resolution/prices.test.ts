import {
  createClient,
  custom,
  decodeFunctionData,
  encodeAbiParameters,
  type Hex,
  http,
  parseAbi,
} from "viem";
import { expect, test } from "vitest";
import { RpcError } from "../../../devnet/rpc/methods.ts";
import { serveRpc } from "../../../devnet/rpc/server.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { createPrices } from "./prices.ts";

// The answer of mainnet's controller in form: two words. 0.003 ETH a year.
const rentPrice = parseAbi(["function rentPrice(string name, uint256 duration) view"]);
const words = encodeAbiParameters([{ type: "uint256" }, { type: "uint256" }], [3_000_000_000_000_000n, 7n]);

test("a year's price comes from the newest controller, and is kept for a minute", async () => {
  const asked: unknown[] = [];
  const node = await serveRpc({
    methods: new Map<string, (params: unknown[]) => unknown>([
      [
        "eth_call",
        ([call]) => {
          const { to, data } = call as { to: Hex; data: Hex };
          const { args } = decodeFunctionData({ abi: rentPrice, data });
          asked.push([to, ...args]);
          if (args[0] === "nothing") throw new RpcError({ code: 3, message: "execution reverted" });
          return words;
        },
      ],
    ]),
  });
  const client = createClient({ transport: http(node.url, { retryCount: 0 }) });
  const priceOf = createPrices(namespaces.mainnet, () => client);
  for (const label of ["vitalik", "vitalik", "nothing", "nothing"])
    expect(await priceOf(label)).toEqual(
      label === "nothing" ? undefined : { base: 3_000_000_000_000_000n, premium: 7n },
    );
  // ENS: ETHRegistrarController of 2025.
  const controller = "0x59e16fccd424cc24e280be16e11bcd56fb0ce547";
  expect(asked).toEqual([
    [controller, "vitalik", 31_536_000n],
    [controller, "nothing", 31_536_000n],
  ]);
  await node.close();
});

test("four prices are asked at once, so that pages leave the chain to others", async () => {
  const waiting: (() => void)[] = [];
  const request = () => new Promise<Hex>((resolve) => waiting.push(() => resolve(words)));
  const client = createClient({ transport: custom({ request }) });
  const priceOf = createPrices(namespaces.mainnet, () => client);
  const prices = ["a", "b", "c", "d", "e"].map(priceOf);
  expect(await prices[4]).toBeUndefined();
  await expect.poll(() => waiting.length).toBe(4);
  for (const answer of waiting) answer();
  expect((await Promise.all(prices)).map((price) => price !== undefined)).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
  // Its turn comes later.
  const later = priceOf("e");
  await expect.poll(() => waiting.length).toBe(5);
  waiting[4]?.();
  expect(await later).toEqual({ base: 3_000_000_000_000_000n, premium: 7n });
});
