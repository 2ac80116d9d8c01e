import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let fresh: World;
beforeAll(async () => {
  world = await startWorld({ head: 120 });
  world.start();
  await world.waitForIndex();
});
afterAll(async () => {
  await fresh?.close();
  await world?.close();
});

const labelsOf = async (of: World, labels: string[]) => {
  const { registrations } = await of.query<{ registrations: { labelName: string }[] }>(
    `{ registrations(where: { labelName_in: ${JSON.stringify(labels)} }, orderBy: labelName) { labelName } }`,
  );
  return registrations.map(({ labelName }) => labelName);
};
const now = () => Math.floor(Date.now() / 1000);

test.each([1, 5, 20])(
  "a reorganisation of %i blocks reverts what was dropped and indexes what came",
  async (depth) => {
    const { node } = world;
    const scenario = node.scenario!;
    const label = (branch: string, block: number) => `${branch}${depth}block${block}`;
    const dropped = Array.from({ length: depth }, (_, block) => label("dropped", block));
    const kept = [0, depth].map((block) => label("kept", block));
    for (const name of dropped) {
      node.mineBlock({ transactions: scenario.registerName(now(), { label: name, owner: 1 }) });
    }
    await world.waitForIndex();
    expect(await labelsOf(world, dropped)).toEqual([...dropped].sort());

    node.reorganise({
      depth,
      transactions: (position) =>
        position === 0 || position === depth
          ? scenario.registerName(now(), { label: label("kept", position), owner: 2 })
          : [],
    });
    await world.waitForIndex();
    node.mineBlock({ transactions: [] });
    await world.waitForIndex();
    expect(await labelsOf(world, [...dropped, ...kept])).toEqual([...kept].sort());
  },
);

test("the status goes back with a chain whose time was put forward and reverted", async () => {
  const { node } = world;
  const cursorAt = (timestamp: number) =>
    world.waitFor(`the status of ${timestamp}`, async () => {
      const cursor = (await world.snapshot())?.slowestChainIndexingCursor;
      return cursor === timestamp ? { done: true } : { state: String(cursor) };
    });
  const tomorrow = node.mineBlock({ timestamp: now() + 86_400, transactions: [] });
  await cursorAt(tomorrow.timestamp);
  node.reorganise({ depth: 1 });
  const head = node.chain.block(node.chain.head())!;
  expect(head.timestamp).toBeLessThan(tomorrow.timestamp);
  await cursorAt(head.timestamp);
  const snapshot = await world.snapshot();
  // The branches before were mined faster than the clock.
  expect(snapshot?.snapshotTime).toBeLessThanOrEqual(Math.max(now(), head.timestamp));
  expect((await fetch(`${world.url}/amirealtime`)).status).toBe(200);
});

test("after them the index equals one that only saw the last branch", async () => {
  fresh = await startWorld({ chain: world.node });
  fresh.start();
  await fresh.waitForIndex();
  expect(await world.entities()).toEqual(await fresh.entities());
});
