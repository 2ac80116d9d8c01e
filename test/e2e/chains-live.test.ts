import { afterAll, beforeAll, expect, test } from "vitest";
import { startNode } from "../../devnet/node.ts";
import { type ChainName, chainNames } from "../../devnet/recorded-chains.ts";
import { datasourcesFile, listedActions, recordedActions, recordingOf } from "../support/recordings.ts";
import { watchStatus } from "../support/watch-status.ts";
import { startWorld, type World } from "../support/world.ts";

// The three recordings as live chains: the root chain from 2017 on, Base and Linea from December 2023 on.

let world: World;
beforeAll(async () => {
  world = await startWorld({
    chains: chainNames,
    datasources: datasourcesFile(),
    environment: { SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,basenames,lineanames,threedns,registrars" },
  });
});
afterAll(() => world?.close());

test("live chains: one slow, one that stops, one whose node is restarted, and a restart of the index", async () => {
  const { nodes } = world;
  nodes.root.chain.setHead(1500);
  nodes.base.chain.setHead(178);
  nodes.linea.chain.setHead(140);
  nodes.base.faults.set({ delayMs: 40 });
  world.start();
  const watch = watchStatus(world.url, chainNames);
  const blockOf = (chain: ChainName, number: number) => nodes[chain].chain.block(number)!;
  const following = await world.waitForStatus(
    "live indexing",
    ({ omnichainSnapshot }) => omnichainSnapshot.omnichainStatus === "omnichain-following",
  );
  expect((await fetch(`${world.url}/api/registrar-actions?limit=1`)).status).toBe(200);

  // The stalled chain holds the cursor: none of the others is indexed beyond its head.
  nodes.root.chain.setHead(1666);
  nodes.linea.chain.setHead(158);
  const held = blockOf("base", 178).timestamp;
  const stopped = await world.waitForStatus(
    "the cursor at the head that does not move",
    ({ slowestChainIndexingCursor }) => slowestChainIndexingCursor >= held,
  );
  expect(stopped.slowestChainIndexingCursor).toBe(held);
  expect(stopped.slowestChainIndexingCursor).toBeGreaterThan(following.slowestChainIndexingCursor);
  expect(stopped.omnichainSnapshot.omnichainStatus).toBe("omnichain-following");

  const { port } = nodes.linea;
  await nodes.linea.close();
  nodes.linea = await startNode({ recording: recordingOf("linea"), port });
  await world.stop();
  watch.forget();
  world.start();
  await world.waitForStatus(
    "live indexing again",
    ({ omnichainSnapshot }) => omnichainSnapshot.omnichainStatus === "omnichain-following",
  );
  nodes.base.faults.set({ delayMs: 0 });
  nodes.base.chain.setHead(194);
  // The root chain's last block is the oldest head, which every other chain has passed.
  await world.waitForStatus(
    "the cursor at the oldest head",
    ({ slowestChainIndexingCursor }) => slowestChainIndexingCursor >= 1_767_071_746,
  );
  await watch.stop();
  expect([...watch.faults]).toEqual([]);
  expect(
    watch.seen.some((state) => /-backfill .*queued/.test(state) || /^omnichain-unstarted/.test(state)),
  ).toBe(true);
  const upTo = recordedActions().filter(({ action }) => Number(action.id.slice(0, 10)) <= 1_767_071_746);
  expect((await listedActions(world.url)).map(({ action }) => action)).toEqual(
    upTo.map(({ action }) => action),
  );
});
