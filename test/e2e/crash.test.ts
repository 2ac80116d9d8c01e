import { afterAll, beforeAll, expect, test } from "vitest";
import { deploymentOf, register } from "../../devnet/life.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import { asRecorded } from "../support/recordings.ts";
import { watchStatus } from "../support/watch-status.ts";
import { startWorld, type World } from "../support/world.ts";

// The embedded database, which has a folder of its own.

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 1620, database: "embedded" });
});
afterAll(() => world?.close());

test("an index killed in the backfill and while following ends equal to one that never was, and its status stays correct", async () => {
  world.node.faults.set({ delayMs: 15 });
  world.start();
  await world.waitFor("the backfill to be in its middle", async () => {
    const blocks = world.node.counts()["eth_getBlockByNumber"] ?? 0;
    return blocks > 200 ? { done: blocks } : { state: `${blocks} blocks were fetched` };
  });
  await world.crash();
  world.node.faults.set({ delayMs: 0 });

  world.start();
  const first = watchStatus(world.url, ["root"]);
  await world.waitForIndex();
  await follow(1620, 1640);
  await statusAt(first, 1640);
  await first.stop();
  expect([...first.faults]).toEqual([]);
  expect(first.seen.at(-1)).toBe("omnichain-following chain-following");
  const order = [
    "omnichain-unstarted chain-queued",
    "omnichain-backfill chain-backfill",
    "omnichain-following chain-following",
  ];
  expect(order.filter((state) => first.seen.includes(state))).toEqual(first.seen);
  await world.crash();

  world.start();
  const second = watchStatus(world.url, ["root"]);
  await follow(1640, 1666);
  await world.waitForIndex();
  await statusAt(second, 1666);
  await second.stop();
  expect([...second.faults]).toEqual([]);
  expect(second.seen.at(-1)).toBe("omnichain-following chain-following");
  // The recorded chain is indexed from its genesis block, and 1,666 is its last.
  expect(second.last()?.omnichainSnapshot).toEqual({
    omnichainStatus: "omnichain-following",
    chains: {
      [chainIds.root]: {
        chainStatus: "chain-following",
        config: { configType: "indefinite", startBlock: { timestamp: 1493943200, number: 0 } },
        latestIndexedBlock: { timestamp: 1767071746, number: 1_666 },
        latestKnownBlock: { timestamp: 1767071746, number: 1_666 },
      },
    },
    omnichainIndexingCursor: 1767071746,
  });
  expect(await world.compareWithRecording()).toEqual(asRecorded);
});

test("a test chain that was recreated under its id is indexed anew, although it is shorter", async () => {
  expect(await world.stop()).toEqual({ code: 0, signal: undefined });
  const { node } = world;
  node.chain.setHead(0);
  const sale = { label: "recreated", owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;
  node.mineBlock({ transactions: [register(deploymentOf("root"), sale)] });
  for (let block = 1; block < 5; block++) node.mineBlock();
  const service = world.start();
  await world.waitForIndex({ block: 5 });
  expect(service.lastLines(500).filter((line) => line.includes("The index starts over"))).toHaveLength(1);
  expect(await world.query("{ registrations { labelName } _meta { block { number } } }")).toEqual({
    registrations: [{ labelName: "recreated" }],
    _meta: { block: { number: 5 } },
  });
});

/** Advances the head as on a live chain, some blocks at a time. */
async function follow(from: number, to: number) {
  for (let head = from; head <= to; head += 4) {
    world.node.chain.setHead(head);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  world.node.chain.setHead(to);
}

async function statusAt(watch: ReturnType<typeof watchStatus>, block: number) {
  const { timestamp } = world.node.chain.block(block)!;
  await waitFor(`the status of block ${block}`, async () =>
    watch.last()?.slowestChainIndexingCursor === timestamp
      ? { done: true }
      : { state: JSON.stringify(watch.last()) },
  );
}
