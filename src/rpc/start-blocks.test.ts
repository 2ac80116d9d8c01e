import { expect, test } from "vitest";
import { createStart } from "./start-blocks.ts";

const hashOf = (digit: string) => `0x${digit.repeat(64)}`;
const blockOf = (number: string, digit: string) => ({
  ...{ number, hash: hashOf(digit), parentHash: hashOf("f"), timestamp: "0x6553f100" },
});
const final = { ...blockOf("0x64", "a"), newest: "0x82" };
const later = { ...blockOf("0x78", "b"), newest: "0x96" };
const start = blockOf("0x1", "c");
const header = (number: string) => ({ method: "eth_getBlockByNumber", params: [number, false] });

/** The start of a chain whose node answers with `node`, at a time that the test decides. */
function startOf(node: (method: string) => unknown) {
  const clock = { now: 0 };
  const silent = new Set<number>();
  const logged: string[] = [];
  const answered = createStart({
    ...{ chain: "base", chainId: 8453, blocks: [final, later, start], silent },
    log: (_, message) => void logged.push(message),
    now: () => clock.now,
  });
  return { ask: answered(async ({ method }) => node(method)), clock, silent, logged };
}

const refusing = () => {
  throw new Error("connect ECONNREFUSED");
};

test("what Ponder asks at a start is answered with what the index knows, after two seconds without a node", async () => {
  const { ask, clock, silent, logged } = startOf(refusing);
  await expect(ask({ method: "eth_chainId" })).rejects.toThrow("ECONNREFUSED");
  clock.now = 1_999;
  await expect(ask({ method: "eth_chainId" })).rejects.toThrow("ECONNREFUSED");
  expect([...silent]).toEqual([]);
  clock.now = 2_000;
  expect(await ask({ method: "eth_chainId" })).toBe("0x2105");
  expect([...silent]).toEqual([8453]);
  expect(logged).toEqual(["No RPC URL responds. The other chains continue without this one"]);
  // Finality of 30 blocks: 0x82 - 30 = 0x64.
  expect(await ask(header("latest"))).toMatchObject({ number: "0x82" });
  expect(await ask(header("0x64"))).toMatchObject(blockOf("0x64", "a"));
  expect(await ask(header("0x1"))).toMatchObject(start);
});

test("the last cached block is final from then on, and no block moves backwards", async () => {
  const { ask, clock } = startOf(refusing);
  await expect(ask({ method: "eth_chainId" })).rejects.toThrow();
  clock.now = 2_000;
  expect(await ask(header("0x78"))).toMatchObject(blockOf("0x78", "b"));
  expect(await ask(header("0x1"))).toMatchObject(start);
  expect(await ask(header("latest"))).toMatchObject({ number: "0x96" });
});

test("what is not known, and blocks with their transactions, are asked of the node alone", async () => {
  const { ask, clock } = startOf(refusing);
  await expect(ask({ method: "eth_chainId" })).rejects.toThrow();
  clock.now = 2_000;
  for (const request of [
    header("0x65"),
    { method: "eth_getBlockByNumber", params: ["latest", true] },
    { method: "eth_getBlockByNumber", params: ["0x64", true] },
    { method: "eth_getLogs", params: [{ fromBlock: "0x64", toBlock: "0x64" }] },
    { method: "eth_call", params: [{}, "0x64"] },
  ])
    await expect(ask(request)).rejects.toThrow("ECONNREFUSED");
});

test("a node that responds is believed, also one that responds again", async () => {
  let isDown = false;
  const { ask, clock, silent } = startOf(() => (isDown ? refusing() : { number: "0x200" }));
  expect(await ask(header("latest"))).toEqual({ number: "0x200" });
  isDown = true;
  await expect(ask(header("latest"))).rejects.toThrow();
  clock.now = 10_000;
  expect(await ask(header("latest"))).toMatchObject({ number: "0x82" });
  isDown = false;
  clock.now = 40_000;
  expect(await ask(header("latest"))).toEqual({ number: "0x200" });
  expect([...silent]).toEqual([]);
});
