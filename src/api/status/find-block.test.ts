import { expect, test } from "vitest";
import type { BlockRef } from "../../ponder/checkpoints.ts";
import { createFindBlock } from "./find-block.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

function chainOf(blocks: Map<number, BlockRef | Error>) {
  const asked: string[] = [];
  const failures: string[] = [];
  let now = 0;
  const findBlock = createFindBlock(
    async (chainId, number) => {
      asked.push(`${chainId}:${number}`);
      const block = blocks.get(number);
      if (block instanceof Error) throw block;
      return block;
    },
    { clock: () => now, onFailure: (chainId, number) => failures.push(`${chainId}:${number}`) },
  );
  const ask = async (number: number, atMs = now) => {
    now = atMs;
    const block = findBlock(1, number);
    await settled();
    return block;
  };
  return { asked, failures, ask };
}

test("fetches a block in the background, once", async () => {
  const { asked, ask } = chainOf(new Map([[7, { timestamp: 70, number: 7 }]]));
  expect(await ask(7)).toBeUndefined();
  expect(await ask(7)).toEqual({ timestamp: 70, number: 7 });
  expect(await ask(7, 1_000_000)).toEqual({ timestamp: 70, number: 7 });
  expect(asked).toEqual(["1:7"]);
});

test("retries a failing node with growing pauses of at most 30 seconds", async () => {
  const { asked, failures, ask } = chainOf(new Map([[7, new Error("down")]]));
  const times = [0, 999, 1_000, 2_999, 3_000, 6_999, 7_000, 15_000, 31_000, 61_000, 90_999, 91_000];
  const counts: number[] = [];
  for (const time of times) {
    expect(await ask(7, time)).toBeUndefined();
    counts.push(asked.length);
  }
  expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8]);
  expect(failures).toHaveLength(8);
});

test("finds a block once the node responds again", async () => {
  const blocks = new Map<number, BlockRef | Error>([[7, new Error("down")]]);
  const { ask } = chainOf(blocks);
  await ask(7);
  blocks.set(7, { timestamp: 70, number: 7 });
  await ask(7, 1_000);
  expect(await ask(7)).toEqual({ timestamp: 70, number: 7 });
});

test("requests a block that is not mined yet every five seconds", async () => {
  const { asked, failures, ask } = chainOf(new Map());
  for (const time of [0, 4_999, 5_000, 9_999, 10_000]) await ask(7, time);
  expect(asked).toHaveLength(3);
  expect(failures).toEqual([]);
});

test("does not send two requests at the same time", async () => {
  let calls = 0;
  const findBlock = createFindBlock(
    () => {
      calls += 1;
      return new Promise(() => undefined);
    },
    { onFailure: () => undefined },
  );
  findBlock(1, 7);
  findBlock(1, 7);
  findBlock(2, 7);
  await settled();
  expect(calls).toBe(2);
});
