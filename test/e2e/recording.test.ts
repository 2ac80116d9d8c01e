import { afterAll, beforeAll, expect, test } from "vitest";
import { asRecorded } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

// Every event of the real contracts, oddities included; the last 30 blocks are indexed as live ones.
let world: World;
beforeAll(async () => {
  world = await startWorld();
  world.start();
  await world.waitForIndex();
});
afterAll(() => world?.close());

test("the index of the recorded chain contains exactly the entities of the ENS subgraph", async () => {
  expect(await world.compareWithRecording()).toEqual(asRecorded);
});

test("the first response to a client carries the indexed block", async () => {
  expect(
    await world.query(
      '{ _meta { block { number } hasIndexingErrors } domain(id: "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae") { name } }',
    ),
  ).toEqual({
    _meta: { block: { number: 1666 }, hasIndexingErrors: false },
    domain: { name: "eth" },
  });
});
