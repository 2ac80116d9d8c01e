import { afterAll, beforeAll, expect, test } from "vitest";
import { readDeployment, register } from "../../devnet/life.ts";
import { type ChainName, chainIds, chainNames } from "../../devnet/recorded-chains.ts";
import type { OmnichainSnapshot } from "../../src/status/types.ts";
import { datasourcesFile } from "../support/recordings.ts";
import { storedRows } from "../support/stored-rows.ts";
import { startWorld, type World } from "../support/world.ts";

// Three chains go on from their recordings, and Base pauses for an hour of their time. Each test goes on where the one
// before it ended.

const environment = {
  SUBGRAPH_COMPAT: "false",
  PLUGINS: "subgraph,basenames,lineanames,registrars,protocol-acceleration,tokenscope",
  CHAIN_PAUSE_SECONDS: "1",
};
const began = Math.floor(Date.now() / 1_000) - 7_200;
const owner = `0x${"11".repeat(20)}` as const;

let world: World;
let fresh: World | undefined;
beforeAll(async () => {
  world = await startWorld({ chains: chainNames, datasources: datasourcesFile(), environment });
  // Without most of what is recorded, which other tests index.
  for (const chain of chainNames) world.nodes[chain].chain.setHead(60);
  for (const chain of chainNames) mine(chain, 0);
});
afterAll(async () => {
  await fresh?.close();
  await world?.close();
});

/**
 * Mines a block some seconds after the beginning; with a name, if one is given, whose records name the same owner on
 * every chain.
 */
function mine(chain: ChainName, second: number, label?: string) {
  const records = { addresses: { 60: owner }, texts: { url: `https://${label}.example` } };
  const sale = { label: label ?? "", owner, expires: 2_000_000_000n, records };
  const transactions = label === undefined ? [] : [register(readDeployment(chain), sale)];
  world.nodes[chain].mineBlock({ timestamp: began + second, transactions });
}

/** Waits until the given chains are indexed up to their heads; resolves with the indexed block of each chain. */
async function atHeads(of: World, chains: readonly ChainName[]) {
  const { omnichainSnapshot } = await of.waitForStatus(`the heads of ${chains}`, ({ omnichainSnapshot }) =>
    chains.every((name) => {
      const chain = omnichainSnapshot.chains[chainIds[name]];
      return chain?.chainStatus === "chain-following" && chain.latestIndexedBlock.number === headOf(name);
    }),
  );
  return omnichainSnapshot;
}
const headOf = (chain: ChainName) => world.nodes[chain].chain.head();

/** Compares what the index says of each chain during the pause with the nodes. */
async function eachChainByItself({ chains, omnichainIndexingCursor }: OmnichainSnapshot) {
  const heads = Object.fromEntries(
    chainNames.map((name) => [chainIds[name], world.nodes[name].chain.block(headOf(name))!]),
  );
  const [root, base] = [heads[chainIds.root]!, heads[chainIds.base]!];
  expect(base.timestamp).toBe(began + 395);
  expect(chains[chainIds.base]).toMatchObject({
    latestIndexedBlock: { number: base.number, timestamp: began + 395 },
  });
  expect(omnichainIndexingCursor).toBe(root.timestamp);

  const ask = async (path: string) => {
    const response = await fetch(`${world.url}${path}`);
    return { status: response.status, body: await response.json() };
  };
  const { body: status } = await ask("/api/indexing-status");
  const { projectedAt } = status.realtimeProjection;
  for (const [id, { timestamp }] of Object.entries(heads))
    expect(status.distances[id]).toBe(projectedAt - timestamp);
  expect(await ask("/amirealtime?maxWorstCaseDistance=600")).toEqual({
    status: 503,
    body: { message: expect.stringContaining(`of chain ${chainIds.base} is`) },
  });
  expect((await ask("/amirealtime?maxWorstCaseDistance=999999")).body.slowestChainIndexingCursor).toBe(
    base.timestamp,
  );
  const { body: name } = await ask("/v1/names/early400.eth");
  for (const [id, { number }] of Object.entries(heads)) expect(name.meta.as_of[id].block_number).toBe(number);
  const { _meta } = await world.query<{ _meta: { block: { number: number } } }>(
    "{ _meta { block { number } } }",
  );
  expect(_meta.block.number).toBe(root.number);
}

/** Checks what a start without any node of Base serves: the rows, and which chain is behind. */
async function isServedWithout() {
  const ask = async (path: string) => {
    const response = await fetch(`${world.url}${path}`);
    return { status: response.status, body: await response.json() };
  };
  expect(await ask("/v1/names/early400.eth")).toMatchObject({ status: 200 });
  expect(await ask("/amirealtime?maxWorstCaseDistance=600")).toEqual({
    status: 503,
    body: { message: expect.stringContaining(`of chain ${chainIds.base} is`) },
  });
  const { distances } = (await ask("/api/indexing-status")).body;
  expect(distances[chainIds.base]).toBeGreaterThan(
    Math.max(distances[chainIds.root], distances[chainIds.linea]),
  );
}

const others = ["root", "linea"] as const;

test("a chain that pauses holds back no other", async () => {
  world.start();
  await atHeads(world, chainNames);
  // Blocks become final while they are followed.
  for (let second = 5; second < 400; second += 10) for (const chain of chainNames) mine(chain, second);
  await atHeads(world, chainNames);
  for (let second = 400; second < 2_000; second += 50)
    for (const chain of others) mine(chain, second, second % 200 === 0 ? `early${second}` : undefined);
  await atHeads(world, others);

  world.nodes.root.chain.setHead(headOf("root") - 3);
  for (let second = 1_900; second < 2_100; second += 50) mine("root", second, `other${second}`);
  const during = await atHeads(world, others);
  await eachChainByItself(during);
});

test("a start without a node of that chain serves, and follows the others", async () => {
  await world.crash();
  world.nodes.base.faults.set({ down: true });
  world.start();
  await atHeads(world, others);
  await isServedWithout();
  for (let second = 2_100; second < 3_900; second += 100)
    for (const chain of others) mine(chain, second, second % 200 === 0 ? `late${second}` : undefined);
  await atHeads(world, others);
});

test("the chain comes back into its place", async () => {
  world.nodes.base.faults.set({ down: false });
  for (let second = 450; second < 3_900; second += 100)
    mine("base", second, second % 200 === 50 ? `inside${second}` : undefined);
  for (const chain of chainNames) mine(chain, 3_920, "after");
  await atHeads(world, chainNames);
  for (const chain of chainNames) mine(chain, 3_940);
  await atHeads(world, chainNames);
});

test("its rows are then those of an index that waited for it", async () => {
  fresh = await startWorld({
    chains: chainNames,
    chain: world.node,
    datasources: datasourcesFile(),
    environment: {
      ...environment,
      ...Object.fromEntries(chainNames.map((name) => [`RPC_URL_${chainIds[name]}`, world.nodes[name].url])),
      CHAIN_PAUSE_SECONDS: "600",
    },
  });
  fresh.start();
  // Its last blocks wait for a later one of the root chain. They are empty.
  await atHeads(fresh, ["root"]);
  const [rows, expected] = [await storedRows(world.databaseUrl), await storedRows(fresh.databaseUrl)];
  expect(expected.filter((row) => row.includes("inside")).length).toBeGreaterThan(10);
  expect(rows).toEqual(expected);
});
