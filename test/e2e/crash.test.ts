import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../devnet/wait.ts";
import { asRecorded, startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 1500 });
});
afterAll(() => world?.close());

test("an index that was killed in the backfill and while following ends as one that never was", {
  timeout: 400_000,
}, async () => {
  world.node.faults.set({ delayMs: 15 });
  world.start();
  await waitFor("the backfill to be in its middle", async () => {
    world.expectRunning();
    const blocks = world.node.counts()["eth_getBlockByNumber"] ?? 0;
    return blocks > 500 ? { done: blocks } : { state: `${blocks} blocks were asked for` };
  });
  await world.crash();
  world.node.faults.set({ delayMs: 0 });

  world.start();
  await world.waitForIndex();
  await follow(1500, 1580);
  await world.crash();

  world.start();
  await follow(1580, 1666);
  await world.waitForIndex();
  expect(await world.compareWithRecording()).toEqual(asRecorded);
});

/** Lets the head grow as on a living chain, some blocks at a time. */
async function follow(from: number, to: number) {
  for (let head = from; head <= to; head += 4) {
    world.node.chain.setHead(head);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  world.node.chain.setHead(to);
}
