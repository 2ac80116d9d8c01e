import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../devnet/wait.ts";
import { asRecorded } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ head: 1600 });
});
afterAll(() => world?.close());

test("an index waits for a chain that is not up yet, and survives outages and errors", {
  timeout: 300_000,
}, async () => {
  world.node.faults.set({ down: true });
  const service = world.start();
  await waitFor("the service to report what it waits for", async () => {
    const line = service.lastLines().find((text) => text.includes("No answer from RPC_URL_15658733"));
    return line === undefined ? { state: service.lastLines().join("\n") } : { done: line };
  });
  expect(service.ending()).toBeUndefined();

  world.node.faults.set({ down: false, fail: { rate: 0.1, status: 503, methods: ["eth_getLogs"] } });
  await world.waitForIndex();

  world.node.faults.set({ fail: null, down: true });
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  world.node.chain.setHead(1630);
  world.node.faults.set({ down: false });
  await world.waitForIndex();

  world.node.faults.set({ fail: { rate: 0.3, status: 429 } });
  world.node.chain.setHead(1666);
  await world.waitForIndex();
  expect(service.ending()).toBeUndefined();
  world.node.faults.set({ fail: null });
  expect(await world.compareWithRecording()).toEqual(asRecorded);
});
