import { afterAll, describe, expect, inject, test } from "vitest";
import { startWorld, type World } from "../support/world.ts";

// Reads of former blocks, over the recorded chain: they equal those of an index that stopped there.

const worlds: World[] = [];
afterAll(async () => {
  for (const world of worlds) await world.close();
});

async function open(environment: Record<string, string>, head?: number) {
  const world = await startWorld({ environment, ...(head === undefined ? {} : { head }) });
  worlds.push(world);
  world.start();
  return world;
}

describe.skipIf(!inject("postgresUrl"))("a former block", () => {
  test("of the backfill and of live blocks reads like an index that stopped there", async () => {
    const world = await open({ HISTORY_BLOCKS: "all" }, 1_500);
    await world.waitForIndex();
    for (let head = 1_500; head < 1_666; head += 2) {
      world.node.chain.setHead(head);
      if (head % 40 === 0) await world.waitForIndex({ block: head });
    }
    world.node.chain.setHead(1_666);
    await world.waitForIndex();
    // One in the backfill, one among the live blocks.
    for (const block of [900, 1_580]) {
      const stopped = await open({ END_BLOCK: String(block) });
      await stopped.waitForIndex({ block });
      expect(await world.entities(block)).toEqual(await stopped.entities());
    }
  });
});
