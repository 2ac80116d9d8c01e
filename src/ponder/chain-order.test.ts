import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { chainsInOrder, headAt, mergeInOrder } from "./chain-order.ts";

type Block = { number: string; timestamp: string; branch: string };
type Event = { type: "block" | "reorg" | "finalize"; block: Block; isHeld?: boolean };

/** A chain whose events the test decides; `end` ends it. */
function followedChain(id: number) {
  const chain = { id, name: `chain ${id}` };
  const events: Event[] = [];
  let isEnded = false;
  let wake: () => void = () => undefined;
  const push = (type: Event["type"], number: number, time: number, branch = "") => {
    events.push({
      type,
      block: { number: `0x${number.toString(16)}`, timestamp: `0x${time.toString(16)}`, branch },
    });
    wake();
  };
  async function* generator() {
    for (;;) {
      const event = events.shift();
      if (event !== undefined) yield { chain, event };
      else if (isEnded) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const syncProgress = {
    current: { number: "0x0", timestamp: "0x0", branch: "" } as Block,
    isEnd: () => false,
    getCheckpoint: () => checkpoint(syncProgress.current, id),
  };
  const end = () => {
    isEnded = true;
    wake();
  };
  return { chain, push, end, generator: generator(), sync: { syncProgress } };
}
type FollowedChain = ReturnType<typeof followedChain>;

// ponder: timestamp 10 digits, chain 16, number 16, the rest of a whole block is nines.
const digits = (value: number | string, length: number) => String(Number(value)).padStart(length, "0");
const checkpoint = ({ timestamp, number }: Block, id: number) =>
  `${digits(timestamp, 10)}${digits(id, 16)}${digits(number, 16)}${"9".repeat(33)}`;

/** What Ponder does with the merged events (getRealtimeEventsOmnichain), with one event in each block. */
function follow(chains: readonly FollowedChain[], pauseMs: number) {
  const away = new Set<number>();
  const perChainSync = new Map(chains.map(({ chain, sync }) => [chain, sync]));
  const yielded: string[] = [];
  const logged: string[] = [];
  let executed: string[] = [];
  let pending: string[] = [];
  const finalized = new Map(chains.map(({ chain }) => [chain.id, ""]));
  const isOf = (event: string, id: number) => Number(event.slice(10, 26)) === id;
  const done = (async () => {
    const log = (_: string, message: string) => void logged.push(message);
    const generators = chains.map(({ generator }) => generator);
    const options = { pauseMs, log, away };
    for await (const { chain, event } of mergeInOrder(generators, perChainSync, options)) {
      const progress = perChainSync.get(chain)!.syncProgress;
      const { type, block, isHeld } = event as Event;
      yielded.push(`${chain.id}: ${type} ${Number(block.number)}${isHeld ? ", held" : ""}`);
      if (type === "finalize") {
        finalized.set(chain.id, checkpoint(block, chain.id));
        const final = [...finalized.values()].sort()[0]!;
        // After a crash the index goes on from here.
        expect(pending.filter((one) => one.slice(0, 75) <= final)).toEqual([]);
        continue;
      }
      progress.current = block;
      if (type === "reorg") {
        const upTo = [...chainsInOrder(perChainSync, chain, away)]
          .map(([, { syncProgress }]) => syncProgress.getCheckpoint())
          .sort()[0]!;
        pending.push(...executed.filter((one) => one.slice(0, 75) > upTo));
        executed = executed.filter((one) => one.slice(0, 75) <= upTo);
        const isGone = (one: string) =>
          isOf(one, chain.id) && Number(one.slice(26, 42)) > Number(block.number);
        expect(executed.filter(isGone)).toEqual([]);
        pending = pending.filter((one) => !isGone(one));
        continue;
      }
      pending.push(checkpoint(block, chain.id) + block.branch);
      if (isHeld) continue;
      const at = checkpoint(block, chain.id);
      const ready = pending.filter((one) => one.slice(0, 75) <= at).sort();
      pending = pending.filter((one) => one.slice(0, 75) > at);
      // Whatever was executed before comes before it.
      expect((executed.at(-1) ?? "") < ready[0]!).toBe(true);
      executed.push(...ready);
    }
  })();
  return { done, yielded, logged, executed: () => executed, pending: () => pending };
}

const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await pause(1);
};

test("a silent chain is left out, and what it has from that time is put in its place at once", async () => {
  const [one, two] = [followedChain(1), followedChain(2)];
  const index = follow([one, two], 20);
  one.push("block", 1, 100);
  two.push("block", 1, 101);
  for (const number of [2, 3, 4]) two.push("block", number, 100 * number);
  await until(() => index.yielded.includes("2: block 4"));
  expect(index.logged).toEqual(["The chain has no new blocks. The other chains continue without it"]);
  for (const number of [2, 3, 4]) one.push("block", number, 100 * number - 50);
  // One that the chain is no longer behind with.
  one.push("block", 5, 400);
  await until(() => index.yielded.includes("1: block 5"));
  one.end();
  two.push("block", 5, 500);
  two.end();
  await index.done;
  expect(index.yielded.slice(5, 10)).toEqual([
    "1: reorg 1",
    ...["1: block 2, held", "1: block 3, held", "1: block 4, held", "1: block 5"],
  ]);
  expect(index.executed().map((event) => Number(event.slice(0, 10)))).toEqual([
    ...[100, 101, 150, 200, 250, 300, 350, 400, 400, 500],
  ]);
});

test("a chain is waited for as long as the pause, from the last that was heard of it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const [one, two] = [followedChain(1), followedChain(2)];
  const index = follow([one, two], 600_000);
  two.push("block", 1, 101);
  await vi.advanceTimersByTimeAsync(300_000);
  one.push("block", 1, 100);
  await vi.advanceTimersByTimeAsync(599_000);
  expect([index.yielded, index.logged]).toEqual([["1: block 1"], []]);
  await vi.advanceTimersByTimeAsync(1_100);
  expect(index.yielded).toEqual(["1: block 1", "2: block 1"]);
  one.end();
  two.end();
  await index.done;
});

test("rows that are reverted to a block leave each chain at its last block before it", () => {
  const blockOf = (number: number, time: number) => ({
    number: `${number}`,
    timestamp: `${time}`,
    branch: "",
  });
  const synced = (id: number, final: [number, number], ...blocks: [number, number][]) =>
    [
      { id, name: `chain ${id}` },
      {
        syncProgress: { getCheckpoint: () => checkpoint(blockOf(...final), id) },
        unfinalizedBlocks: blocks.map((block) => ({ block: blockOf(...block) })),
      },
    ] as const;
  const at = checkpoint(blockOf(7, 112), 2);
  const sync = [
    synced(1, [3, 80], [4, 100], [5, 112], [6, 124]),
    synced(2, [1, 50], [8, 113]),
    synced(3, [2, 90], [3, 112]),
  ];
  expect(sync.map(([chain]) => headAt(new Map(sync), chain, at))).toEqual([
    checkpoint(blockOf(5, 112), 1),
    at,
    // Blocks of one time are in the order of their chains.
    checkpoint(blockOf(2, 90), 3),
  ]);
});

test("five chains go on while the sixth pauses, a block behind at most, and its blocks are put in their places", async () => {
  const chains = [1, 2, 3, 4, 5, 6].map(followedChain);
  const index = follow(chains, 20);
  const [others, paused] = [chains.slice(0, 5), chains[5]!];
  const timeOf = (number: number, id: number) => 100 * number + id;
  const push = ({ chain, push: give }: FollowedChain, number: number) =>
    give("block", number, timeOf(number, chain.id));
  for (const chain of chains) push(chain, 1);
  for (let number = 2; number <= 20; number++) {
    for (const chain of others) push(chain, number);
    // Nothing else comes until each has its block before.
    await until(() =>
      others.every(({ chain }) => index.yielded.includes(`${chain.id}: block ${number - 1}`)),
    );
  }
  expect(index.yielded.filter((event) => event.startsWith("6:"))).toEqual(["6: block 1"]);
  for (let number = 2; number <= 20; number++) push(paused, number);
  await until(() => index.yielded.includes("6: block 20"));
  for (const chain of chains) push(chain, 21);
  for (const { end } of chains) end();
  await index.done;
  expect(index.executed().map((event) => Number(event.slice(0, 10)))).toEqual(
    Array.from({ length: 21 }, (_, at) => [1, 2, 3, 4, 5, 6].map((id) => timeOf(at + 1, id))).flat(),
  );
});

test("what one chain throws is thrown", async () => {
  const one = followedChain(1);
  async function* failing() {
    throw new Error("no such block");
    // biome-ignore lint/correctness/noUnreachable: makes it a generator of the type
    yield undefined as never;
  }
  const index = follow([one, { ...followedChain(2), generator: failing() }], 20);
  await expect(index.done).rejects.toThrow("no such block");
});

describe("whatever chains pause, reorganize and come back", () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "all blocks are executed in the order of time (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const chains = [1, 2, 3].map(followedChain);
      const index = follow(chains, 8);
      const canonical = chains.map(() => [{ number: 0, time: 0, branch: "" }]);
      const grow = async (which: number) => {
        const [chain, blocks] = [chains[which]!, canonical[which]!];
        for (let left = 60; left > 0; left--) {
          if (random.below(8) === 0) await pause(random.below(40));
          const head = blocks.at(-1)!;
          if (random.below(10) === 0 && blocks.length > 4) {
            blocks.length -= 1 + random.below(3);
            const { number, time, branch } = blocks.at(-1)!;
            chain.push("reorg", number, time, branch);
          } else {
            const block = {
              number: blocks.length,
              time: (blocks.at(-1) ?? head).time + 1 + random.below(30),
              branch: String(left),
            };
            blocks.push(block);
            chain.push("block", block.number, block.time, block.branch);
            const final = blocks.at(-6);
            if (final && block.number % 6 === 0) chain.push("finalize", final.number, final.time);
          }
        }
        // No other branch has a block of this number.
        const last = { number: 1_000, time: 10_000, branch: "" };
        blocks.push(last);
        chain.push("block", last.number, last.time);
        await until(() => index.yielded.includes(`${which + 1}: block ${last.number}`));
      };
      await Promise.all([...chains.keys()].map(grow));
      // What a returning chain reverted is executed with the next block of any chain.
      canonical[2]!.push({ number: 1_001, time: 20_000, branch: "" });
      chains[2]!.push("block", 1_001, 20_000);
      for (const { end } of chains) end();
      await index.done;
      const expected = canonical.flatMap((blocks, which) =>
        blocks.slice(1).map(({ number, time, branch }) => {
          const block = { number: String(number), timestamp: String(time), branch };
          return checkpoint(block, which + 1) + branch;
        }),
      );
      expect(index.executed()).toEqual(expected.sort());
      expect(index.pending()).toEqual([]);
    },
  );
});
