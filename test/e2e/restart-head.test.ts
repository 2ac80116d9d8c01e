import { afterAll, beforeAll, expect, test } from "vitest";
import { recordedEntities } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

// Blocks of the recording with an event of a name, ascending.
const recorded = recordedEntities();
const eventBlocks = ["Transfer", "NewOwner", "NewResolver", "NewTTL", "WrappedTransfer", "NameWrapped"]
  .flatMap((type) => recorded[type] ?? [])
  .map((event) => Number(event["blockNumber"]))
  .sort((a, b) => a - b);

let world: World;
beforeAll(async () => {
  // From here on Ponder finalizes block 1,636 when it sees block 1,666: a restart then has no block to index again before
  // it is live, and leaves its checkpoints as they were.
  world = await startWorld({ head: 1_606 });
});
afterAll(() => world?.close());

test("after a crash no head runs ahead of its rows", { timeout: 300_000 }, async () => {
  world.start();
  await world.waitForIndex({ block: 1_606 });
  world.node.chain.setHead(1_666);
  await world.waitForIndex({ block: 1_666 });
  await world.crash();
  world.start();
  const head = watchHead(world);
  await world.waitFor("the head of the chain", async () =>
    head.seen.has(1_666) ? { done: true } : { state: [...head.seen].join(", ") },
  );
  await head.stop();
  expect(head.faults).toEqual([]);
  expect([...head.seen]).toEqual(expect.arrayContaining([1_636, 1_666]));
});

/** Repeatedly reads the head and the newest event in one query; remembers heads whose rows were missing. */
function watchHead({ query }: World) {
  const faults: string[] = [];
  const seen = new Set<number>();
  let isOn = true;

  const look = async () => {
    const response = await query<{
      _meta: { block: { number: number } };
      domainEvents: { blockNumber: number }[];
    }>(
      "{ _meta { block { number } } domainEvents(first: 1, orderBy: blockNumber, orderDirection: desc) { blockNumber } }",
    ).catch(() => undefined);
    if (response === undefined) return;
    const head = response._meta.block.number;
    const newest = response.domainEvents[0]?.blockNumber ?? 0;
    const expected = eventBlocks.findLast((block) => block <= head) ?? 0;
    seen.add(head);
    if (newest < expected) faults.push(`at block ${head} the newest event is of block ${newest}`);
  };
  const done = (async () => {
    while (isOn) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();

  return {
    faults,
    seen,
    async stop() {
      isOn = false;
      await done;
    },
  };
}
