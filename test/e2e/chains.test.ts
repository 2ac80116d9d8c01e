import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { type Entities, readEntities } from "../../devnet/entities.ts";
import {
  type ChainsWorld,
  chainIds,
  lastBlocks,
  startChainsWorld,
  watchChains,
} from "../support/chains-world.ts";

// The three carried recordings at once: the root chain from 2017 on, Base and Linea from December 2023 on.

type Listed = { action: { id: string }; name: string };
type Answer = { registrarActions: Listed[]; pageContext: { hasNext: boolean }; accurateAsOf: number };

const readFixture = (name: string) =>
  JSON.parse(gunzipSync(readFileSync(new URL(`../fixtures/${name}.json.gz`, import.meta.url))).toString());
const expected: Listed[] = readFixture("registrar-actions");
// Everything that Base, Linea and 3DNS leave in the tables of the subgraph.
const entitiesOfL2: Entities = readFixture("l2-entities");
const box = "0x665b1306e8eb7fc67d224df1c4ceb9003655ecffaf26d78c2832fe4788a22617";
// Names that ENSNode writes otherwise, and why: see docs/compatibility.md.
const decidedNames = new Map([
  ["[2f0090b7c73105c6437067ee812c39ca6ce31eabcdbdb1bc01ea18a1329f54d3].eth", "braras.eth"],
  ["bom.eth", "[62f45294c7fc26193bb4f96ad9ae4a3164035ed097db5d669b87e493f42d4a50].eth"],
  [
    "[80a1b0f9910f4bbab6597ad62f2dfcc92cbd5a5d1d27dd4b29256693e4835e04].eth",
    "[6661bae0fefa1a6a2cc1933eb60278c4615e88db94d576012cf36d1dd690828c].eth",
  ],
  [
    "[9a1e4a276db6a058ff55106bbf1b94b805d55a6cac0efd2e19ef385814b1b528].eth",
    "[896ff68abd315821da287dc68c38caa0c0231f40b50079cc531411f0a5d5c144].eth",
  ],
  [
    "[b14a6000b0235940a526ec18e3d02170c094905e47df0e04d99072abf9d09be3].eth",
    "[47b3d84865fbc965569e06f338f8620959ae3c52e8481b3feb0bd409996df2cf].eth",
  ],
  [
    "[c7998cdf4ca41c5651a46fa67e1526669842e434fa6ce52584ed899b7ccfd8b6].eth",
    "[c7d9200ff3bb9d1ec5c5c48ded05f496e56376ab74c3e6585a289e6d61b6b8d1].eth",
  ],
]);

// 3DNS has no registry to migrate from, and its top level domain counts the names that were registered under it.
function decidedDomain(type: string, entity: Entities[string][number]) {
  if (type !== "Domain") return entity;
  if (entity.id === box) return { ...entity, subdomainCount: 34 };
  return { ...entity, isMigrated: true };
}

const byId = (entities: Entities[string]) => new Map(entities.map((entity) => [entity.id, entity]));

let world: ChainsWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function allActions({ url }: ChainsWorld, path = ""): Promise<Listed[]> {
  const found: Listed[] = [];
  for (let page = 1; ; page++) {
    const response = await fetch(`${url}/api/registrar-actions${path}?page=${page}&recordsPerPage=100`);
    const { registrarActions, pageContext } = (await response.json()) as Answer;
    found.push(...registrarActions);
    if (!pageContext.hasNext) return found;
  }
}

test("definite ranges: late chains are queued until the cursor passes their start, then all complete", async () => {
  world = await startChainsWorld({
    ranges: {
      root: { endBlock: lastBlocks.root },
      base: { endBlock: lastBlocks.base },
      linea: { endBlock: lastBlocks.linea },
    },
  });
  world.start();
  const watch = watchChains(world);
  const early = await fetch(`${world.url}/api/registrar-actions`).catch(() => undefined);
  expect(early?.status ?? 503).toBe(503);
  const snapshot = await world.waitForStatus(
    "the completed index",
    ({ omnichainSnapshot }) => omnichainSnapshot.omnichainStatus === "omnichain-completed",
  );
  await watch.stop();
  expect([...watch.faults]).toEqual([]);
  expect(watch.seen.at(-1)).toBe("completed: completed completed completed");
  for (const state of watch.seen.slice(0, -1)) expect(state).toMatch(/^(unstarted|backfill): /);
  for (const chain of ["root", "base", "linea"] as const) {
    expect(snapshot.omnichainSnapshot.chains[chainIds[chain]]).toMatchObject({
      chainStatus: "chain-completed",
      config: { configType: "definite", endBlock: { number: lastBlocks[chain] } },
      latestIndexedBlock: { number: lastBlocks[chain] },
    });
  }

  const found = await allActions(world);
  expect(found).toEqual(
    expected.map(({ action, name }) => ({ action, name: decidedNames.get(name) ?? name })),
  );
  const base = "0xff1e3c0eb00ec714e34b6114125fbde1dea2f24a72fbf672e7b7fd5690328e10";
  const ofBase = found.filter(({ action }) => action.id.includes(chainIds.base));
  expect(await allActions(world, `/${base}`)).toEqual(ofBase);
  const stored = await readEntities(`${world.url}/subgraph`, entitiesOfL2);
  for (const [type, entities] of Object.entries(entitiesOfL2)) {
    const ids = new Set(entities.map(({ id }) => id));
    const decided = entities.map((entity) => decidedDomain(type, entity));
    expect(byId(stored[type]?.filter(({ id }) => ids.has(id)) ?? []), type).toEqual(byId(decided));
  }

  const { accurateAsOf } = (await (await fetch(`${world.url}/api/registrar-actions`)).json()) as Answer;
  expect(accurateAsOf).toBe(1_767_071_774);
  expect((await fetch(`${world.url}/amirealtime`)).status).toBe(503);
});

test("live chains: one slow, one that stops, one whose node and one whose index is started again", async () => {
  world = await startChainsWorld();
  const { nodes } = world;
  nodes.root.chain.setHead(1500);
  nodes.base.chain.setHead(178);
  nodes.linea.chain.setHead(140);
  nodes.base.faults.set({ delayMs: 40 });
  world.start();
  const watch = watchChains(world);
  const blockOf = (chain: keyof typeof chainIds, number: number) => nodes[chain].chain.block(number)!;
  const following = await world.waitForStatus(
    "live indexing",
    ({ omnichainSnapshot }) => omnichainSnapshot.omnichainStatus === "omnichain-following",
  );
  expect((await fetch(`${world.url}/api/registrar-actions?limit=1`)).status).toBe(200);

  // The chain that does not move holds the cursor: none of the others is indexed beyond its head.
  nodes.root.chain.setHead(1666);
  nodes.linea.chain.setHead(158);
  const held = blockOf("base", 178).timestamp;
  const stopped = await world.waitForStatus(
    "the cursor at the head that stands",
    ({ slowestChainIndexingCursor }) => slowestChainIndexingCursor >= held,
  );
  expect(stopped.slowestChainIndexingCursor).toBe(held);
  expect(stopped.slowestChainIndexingCursor).toBeGreaterThan(following.slowestChainIndexingCursor);
  expect(stopped.omnichainSnapshot.omnichainStatus).toBe("omnichain-following");

  await world.restartNode("linea");
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
  expect(watch.seen.some((state) => /backfill: .*queued/.test(state) || /^unstarted/.test(state))).toBe(true);
  const upTo = expected.filter(({ action }) => Number(action.id.slice(0, 10)) <= 1_767_071_746);
  expect((await allActions(world)).map(({ action }) => action)).toEqual(upTo.map(({ action }) => action));
}, 480_000);
