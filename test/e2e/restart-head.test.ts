import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { waitFor } from "../../devnet/wait.ts";
import type { Staleness } from "../../src/api/status/status.ts";
import { asRecorded, recordedEntities } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

// Every event of the real contracts, oddities included, from a node that fails; the last 60 blocks are indexed as live ones.

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

test("an index waits for a chain that is not up yet, and survives errors of the backfill", async () => {
  world.node.faults.set({ down: true });
  const service = world.start();
  await waitFor("the service to report what it waits for", async () => {
    const line = service.lastLines().find((text) => text.includes("No response from RPC_URL_15658733"));
    return line === undefined ? { state: service.lastLines().join("\n") } : { done: line };
  });
  expect(service.ending()).toBeUndefined();

  world.node.faults.set({ down: false, fail: { rate: 0.1, status: 503, methods: ["eth_getLogs"] } });
  await world.waitForIndex({ block: 1_606 });
});

test("the first response to a client carries the indexed block", async () => {
  expect(
    await world.query(
      '{ _meta { block { number } hasIndexingErrors } domain(id: "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae") { name } }',
    ),
  ).toEqual({
    _meta: { block: { number: 1_606 }, hasIndexingErrors: false },
    domain: { name: "eth" },
  });
});

test("an outage of all RPC URLs while live is a line when it begins and one when it ends", async () => {
  const all = () => world.running().lastLines(Number.POSITIVE_INFINITY);
  world.node.faults.set({ fail: null });
  const before = all().length;
  world.node.faults.set({ down: true });
  await world.waitFor("requests to fail again and again", async () => {
    const metrics = await (await fetch(`${world.url}/metrics`)).text();
    const counts = metrics.matchAll(/^ponder_rpc_request_error_total\{.*\} (\d+)$/gm);
    const failed = [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    return failed >= 40 ? { done: failed } : { state: `${failed} failed` };
  });
  world.node.faults.set({ down: false });
  world.node.chain.setHead(1_630);
  await world.waitForIndex({ block: 1_630 });

  const lines = all().slice(before);
  expect(lines.filter((line) => /RPC URL responds/.test(line))).toEqual([
    expect.stringMatching(
      / WARN +No RPC URL responds\. Indexing waits chain=\S+ hostnames=127\.0\.0\.1 reason=/,
    ),
    expect.stringMatching(/ INFO +An RPC URL responds again chain=\S+ hostname=127\.0\.0\.1 seconds=\d+$/),
  ]);
  const others = lines.filter((line) => !/ INFO +(Indexed block|Finalized|Detected)/i.test(line));
  // Beside the two lines: a check that was under way, say.
  expect(others.length, others.join("\n")).toBeLessThanOrEqual(5);
});

test("after outages and errors it contains exactly the entities of the ENS subgraph", async () => {
  world.node.faults.set({ fail: { rate: 0.3, status: 429 } });
  world.node.chain.setHead(1_666);
  await world.waitForIndex({ block: 1_666 });
  world.expectRunning();
  world.node.faults.set({ fail: null });
  expect(await world.compareWithRecording()).toEqual(asRecorded);
});

test("after a crash no head runs ahead of its rows", async () => {
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

test("beside a killed indexing process a reader says that the index is stale, until it is indexed again", async ({
  skip,
}) => {
  if (!inject("postgresUrl")) skip("needs a Postgres server: an embedded database has one process");
  const reader = await world.startBeside("serve");
  const json = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${reader.url}${path}`, init);
    return [response.status, await response.json()];
  };
  const query = JSON.stringify({ query: "{ _meta { hasIndexingErrors block { number } } }" });
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: query };
  const meta = (hasIndexingErrors: boolean) => [
    200,
    { data: { _meta: { hasIndexingErrors, block: { number: 1_666 } } } },
  ];
  const stale = async () => {
    const response = await fetch(`${reader.url}/api/indexing-status`).catch(() => undefined);
    const body = response?.status === 200 ? ((await response.json()) as { stale?: Staleness }) : undefined;
    return body && { stale: body.stale };
  };
  const waitUntil = (what: string, isStale: boolean) =>
    waitFor(what, async () => {
      const found = await stale();
      const isDone = found !== undefined && (found.stale !== undefined) === isStale;
      return isDone ? { done: found.stale } : { state: JSON.stringify(found) ?? "no status" };
    });

  try {
    await waitUntil("the reader", false);
    expect(await json("/subgraph", post)).toEqual(meta(false));
    const killedAt = Math.floor(Date.now() / 1_000);
    await world.crash();
    const found = await waitUntil("the reader to notice", true);
    expect(Math.abs((found?.since ?? 0) - killedAt)).toBeLessThanOrEqual(5);
    expect(await json("/amirealtime?maxWorstCaseDistance=999999999999")).toEqual([
      503,
      { message: found?.reason },
    ]);
    expect(await json("/subgraph", post)).toEqual(meta(true));
    expect((await fetch(`${reader.url}/ready`)).status).toBe(200);
    expect(await (await fetch(`${reader.url}/metrics`)).text()).toMatch(
      /^nsindex_index_stale_seconds [1-9]/m,
    );
    const logged = () => reader.lastLines(200).filter((line) => line.includes("is stale"));
    await waitFor("the line in the log", async () =>
      logged().length > 0 ? { done: true } : { state: reader.lastLines(3).join("\n") },
    );
    expect(logged()).toHaveLength(1);

    world.start();
    await waitUntil("the reader to follow again", false);
    expect((await json("/amirealtime?maxWorstCaseDistance=999999999999"))[0]).toBe(200);
    await world.waitForIndex({ block: 1_666 });
    expect(await json("/subgraph", post)).toEqual(meta(false));
  } finally {
    await reader.stop();
  }
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
