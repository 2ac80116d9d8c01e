import { afterEach, expect, test } from "vitest";
import { waitFor } from "../../devnet/wait.ts";
import { recordedEntities, startWorld, type World } from "../support/world.ts";

// The recorded chain of the test network: it is indexed from its genesis block, and 1,666 is its last.
const chainId = "15658733";
const start = { timestamp: 1493943200, number: 0 };

type BlockRef = { timestamp: number; number: number };
type ChainStatus = {
  chainStatus: string;
  config: { configType: string; startBlock: BlockRef; endBlock?: BlockRef };
  latestIndexedBlock?: BlockRef;
  backfillEndBlock?: BlockRef;
  latestKnownBlock?: BlockRef;
};
type Status = {
  responseCode: string;
  realtimeProjection: {
    projectedAt: number;
    worstCaseDistance: number;
    snapshot: {
      strategy: string;
      slowestChainIndexingCursor: number;
      snapshotTime: number;
      omnichainSnapshot: {
        omnichainStatus: string;
        chains: Record<string, ChainStatus>;
        omnichainIndexingCursor: number;
      };
    };
  };
};

let world: World | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

/** Asks for the status again and again; holds every answer against the rules and remembers what it has seen. */
function watchStatus(url: string) {
  const seen: string[] = [];
  const faults: string[] = [];
  let cursor = 0;
  let isOn = true;
  let last: Status | undefined;

  const look = async () => {
    const response = await fetch(`${url}/api/indexing-status`).catch(() => undefined);
    if (response === undefined) return;
    if (response.status !== 200) {
      if (seen.length > 0 || (await response.text()) !== '{"responseCode":"error"}')
        faults.push("an error again");
      return;
    }
    last = (await response.json()) as Status;
    const { projectedAt, worstCaseDistance, snapshot } = last.realtimeProjection;
    const chain = snapshot.omnichainSnapshot.chains[chainId];
    if (snapshot.slowestChainIndexingCursor < cursor) faults.push("the cursor went back");
    cursor = snapshot.slowestChainIndexingCursor;
    if (worstCaseDistance !== projectedAt - cursor) faults.push("the distance is not that to the cursor");
    if (projectedAt < snapshot.snapshotTime) faults.push("projected before the snapshot");
    const state = `${snapshot.omnichainSnapshot.omnichainStatus} ${chain?.chainStatus}`;
    if (seen.at(-1) !== state) seen.push(state);
  };
  const done = (async () => {
    while (isOn) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();

  return {
    seen,
    faults,
    last: () => last?.realtimeProjection.snapshot,
    async stop() {
      isOn = false;
      await done;
    },
  };
}

// Blocks of the recording with an event of a name, ascending.
const recorded = recordedEntities();
const eventBlocks = ["Transfer", "NewOwner", "NewResolver", "NewTTL", "WrappedTransfer", "NameWrapped"]
  .flatMap((type) => recorded[type] ?? [])
  .map((event) => Number(event["blockNumber"]))
  .sort((a, b) => a - b);

/** Asks again and again, in one query, for the head and the newest event; remembers heads whose rows were missing. */
function watchHead(world: World) {
  const faults: string[] = [];
  const seen = new Set<number>();
  let isOn = true;

  const look = async () => {
    const answer = await world
      .query<{ _meta: { block: { number: number } }; domainEvents: { blockNumber: number }[] }>(
        "{ _meta { block { number } } domainEvents(first: 1, orderBy: blockNumber, orderDirection: desc) { blockNumber } }",
      )
      .catch(() => undefined);
    if (answer === undefined) return;
    const head = answer._meta.block.number;
    const newest = answer.domainEvents[0]?.blockNumber ?? 0;
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

const statusAtHead = (watch: ReturnType<typeof watchStatus>) =>
  waitFor(
    "the status of block 1,666",
    async () =>
      watch.last()?.slowestChainIndexingCursor === 1767071746
        ? { done: true }
        : { state: JSON.stringify(watch.last()) },
    { timeoutMs: 120_000 },
  );

test("the status shows backfill, following and a restart after a crash; its cursor never goes back, and no head runs ahead", async () => {
  // From here on Ponder finalizes block 1,636 when it sees block 1,666: a restart then has no block to index again before
  // it is live, and leaves its checkpoints as they were.
  world = await startWorld({ head: 1_606 });
  world.start();
  let watch = watchStatus(world.url);
  await world.waitForIndex({ block: 1_606 });
  world.node.chain.setHead(1_666);
  await world.waitForIndex({ block: 1_666 });
  await statusAtHead(watch);
  await watch.stop();

  expect(watch.faults).toEqual([]);
  expect(watch.seen.at(-1)).toBe("omnichain-following chain-following");
  const order = [
    "omnichain-unstarted chain-queued",
    "omnichain-backfill chain-backfill",
    "omnichain-following chain-following",
  ];
  expect(order.filter((state) => watch.seen.includes(state))).toEqual(watch.seen);
  expect(watch.last()?.omnichainSnapshot).toEqual({
    omnichainStatus: "omnichain-following",
    chains: {
      [chainId]: {
        chainStatus: "chain-following",
        config: { configType: "indefinite", startBlock: start },
        latestIndexedBlock: { timestamp: 1767071746, number: 1_666 },
        latestKnownBlock: { timestamp: 1767071746, number: 1_666 },
      },
    },
    omnichainIndexingCursor: 1767071746,
  });

  await world.crash();
  world.start();
  watch = watchStatus(world.url);
  const head = watchHead(world);
  await statusAtHead(watch);
  await watch.stop();
  await head.stop();
  expect(head.faults).toEqual([]);
  expect([...head.seen]).toEqual(expect.arrayContaining([1_636, 1_666]));
  expect(watch.faults).toEqual([]);
  expect(watch.seen.at(-1)).toBe("omnichain-following chain-following");
  // Two starts, and in between up to 25 s until the crashed process' lock on the tables has run out.
}, 300_000);

test("a range of blocks ends as completed, which is never in real time", async () => {
  world = await startWorld({ environment: { END_BLOCK: "900" } });
  world.start();
  const watch = watchStatus(world.url);
  await waitFor(
    "the end of the range",
    async () => {
      const status = watch.last()?.omnichainSnapshot.omnichainStatus;
      return status === "omnichain-completed" ? { done: true } : { state: String(status) };
    },
    { timeoutMs: 110_000 },
  );
  await watch.stop();
  expect(watch.faults).toEqual([]);

  const chain = watch.last()?.omnichainSnapshot.chains[chainId];
  expect(chain).toEqual({
    chainStatus: "chain-completed",
    config: { configType: "definite", startBlock: start, endBlock: { timestamp: 1699160021, number: 900 } },
    latestIndexedBlock: { timestamp: 1699160021, number: 900 },
  });
  const realtime = await fetch(`${world.url}/amirealtime`);
  expect(realtime.status).toBe(503);
  expect(await realtime.json()).toEqual({
    message: expect.stringMatching(
      /^The worst-case distance is \d+ seconds, more than the 60 seconds asked for\.$/,
    ),
  });
  expect((await fetch(`${world.url}/api/realtime?maxWorstCaseDistance=999999999999`)).status).toBe(200);

  const config = await fetch(`${world.url}/api/config`);
  expect(await config.json()).toEqual({
    indexedChainIds: [15658733],
    databaseSchemaName: "public",
    isSubgraphCompatible: true,
    labelSet: { labelSetId: "subgraph", labelSetVersion: 0 },
    namespace: "ens-test-env",
    plugins: ["subgraph"],
    versionInfo: {
      runtime: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      indexingFramework: "0.17.7",
      nsDb: expect.stringMatching(/^\d+\.\d+\.\d+/),
      nsIndexer: expect.stringMatching(/^\d+\.\d+\.\d+/),
      nsNormalize: "1.11.1",
      nsRainbow: expect.stringMatching(/^\d+\.\d+\.\d+/),
      nsRainbowSchema: expect.any(Number),
    },
  });
  for (const path of [
    "/",
    "/api/config",
    "/amirealtime?maxWorstCaseDistance=-1",
    "/nowhere",
    "/health",
    "/subgraph",
  ]) {
    const { headers } = await fetch(world.url + path, { headers: { origin: "https://dapp.example" } });
    expect([path, headers.get("access-control-allow-origin")]).toEqual([path, "*"]);
  }
  for (const path of ["/health", "/ready", "/metrics"]) {
    expect([path, (await fetch(world.url + path)).status]).toEqual([path, 200]);
  }
  const unknown = await fetch(`${world.url}/api/config/`);
  expect([unknown.status, await unknown.text()]).toEqual([404, '{"message":"Not Found"}']);
});
