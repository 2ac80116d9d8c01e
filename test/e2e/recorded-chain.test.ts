import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Kind, parse, parseValue, print } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isAnswered } from "../../devnet/indexing-service.ts";
import { freePort } from "../../devnet/ports.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import type { Staleness } from "../../src/status/types.ts";
import { indexedBlock } from "../support/indexer.ts";
import { childrenOf } from "../support/process-tree.ts";
import { asRecorded, clientQueries, recordedEntities } from "../support/recordings.ts";
import { watchStatus } from "../support/watch-status.ts";
import { startWorld, type World } from "../support/world.ts";

// Every event of the real contracts, oddities included, through what befalls an index: a node that fails, processes
// that are killed, a second indexer. The tests continue each other.

// Blocks of the recording with an event of a name, ascending.
const recorded = recordedEntities();
const eventBlocks = ["Transfer", "NewOwner", "NewResolver", "NewTTL", "WrappedTransfer", "NameWrapped"]
  .flatMap((type) => recorded[type] ?? [])
  .map((event) => Number(event["blockNumber"]))
  .sort((a, b) => a - b);

const first = 900;
// From here on Ponder finalizes block 1,636 when it sees block 1,666: a restart then has no block to index again before
// it is live, and leaves its checkpoints as they were.
const second = 1_606;
const live = 1_630;
const last = 1_666;

let world: World;
/** What the index contained and answered while a block was its newest. */
const atHead = new Map<number, Awaited<ReturnType<typeof contentOf>>>();

beforeAll(async () => {
  world = await startWorld({ head: first, environment: { HISTORY_BLOCKS: "all" } });
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
  const watch = watchStatus(world.url, ["root"]);
  await world.waitForIndex();
  world.node.faults.set({ fail: null });
  // The first response to a client carries the indexed block.
  expect(
    await world.query(
      '{ _meta { block { number } hasIndexingErrors } domain(id: "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae") { name } }',
    ),
  ).toEqual({ _meta: { block: { number: first }, hasIndexingErrors: false }, domain: { name: "eth" } });
  atHead.set(first, await contentOf(world));
  await watch.stop();
  expect([...watch.faults]).toEqual([]);
  const order = [
    "omnichain-unstarted chain-queued",
    "omnichain-backfill chain-backfill",
    "omnichain-following chain-following",
  ];
  expect(order.filter((state) => watch.seen.includes(state))).toEqual(watch.seen);
  expect(watch.seen.at(-1)).toBe("omnichain-following chain-following");
});

test("when the launcher is killed, nothing that it started stays behind, and npm's next start waits for no lock", async () => {
  const [ponder] = await childrenOf(world.running().pid);
  process.kill(world.running().pid!, "SIGKILL");
  await waitFor("the indexing process to end", async () => {
    return isAlive(ponder!) ? { state: "it is alive" } : { done: true };
  });

  world.node.chain.setHead(second);
  const npm = spawn("npm", ["start"], {
    ...{ env: world.environment, detached: true },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  createInterface({ input: npm.stdout }).on("line", (line) => lines.push(line));
  await waitFor("the index", async () => {
    if (npm.exitCode !== null) return { state: lines.slice(-9).join("\n") };
    const { status } = await fetch(`${world.url}/ready`);
    const block = status === 200 ? await indexedBlock(world.url) : 0;
    return block === second ? { done: block } : { state: `/ready returns ${status}, block ${block}` };
  });
  expectNoLock(lines);
  npm.kill("SIGKILL");
  await waitFor("the port to be free", async () => ({ done: await freePort(world.port) }));
});

test("so it is when npm is killed", async () => {
  const service = world.start();
  await world.waitForIndex({ block: second });
  expectNoLock(service.lastLines(500));
});

test("an outage of all RPC URLs while live is a line when it begins and one when it ends", async () => {
  const all = () => world.running().lastLines(Number.POSITIVE_INFINITY);
  const before = all().length;
  world.node.faults.set({ down: true });
  await world.waitFor("requests to fail again and again", async () => {
    const metrics = await (await fetch(`${world.url}/metrics`)).text();
    const counts = metrics.matchAll(/^ponder_rpc_request_error_total\{.*\} (\d+)$/gm);
    const failed = [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    return failed >= 40 ? { done: failed } : { state: `${failed} failed` };
  });
  world.node.faults.set({ down: false });
  world.node.chain.setHead(live);
  await world.waitForIndex({ block: live });
  atHead.set(live, await contentOf(world));

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

test("after outages, errors and kills it contains exactly the entities of the ENS subgraph", async () => {
  world.node.faults.set({ fail: { rate: 0.3, status: 429 } });
  world.node.chain.setHead(last);
  await world.waitForIndex({ block: last });
  world.expectRunning();
  world.node.faults.set({ fail: null });
  expect(await world.compareWithRecording()).toEqual(asRecorded);
});

test("blocks of the backfill and live ones read as they did when they were the newest", async () => {
  for (const [block, { entities, answers }] of atHead) {
    expect([block, await world.entities(block)]).toEqual([block, entities]);
    for (const { name, query, variables } of clientQueries())
      expect([block, name, await ask(world, pinnedTo(block, query), variables)]).toEqual([
        block,
        name,
        answers.get(name),
      ]);
  }
});

test("beside a killed indexing process a reader says that the index is stale, until it is indexed again; no head runs ahead of its rows", async () => {
  const reader = await world.startBeside("serve");
  const json = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${reader.url}${path}`, init);
    return [response.status, await response.json()];
  };
  const query = JSON.stringify({ query: "{ _meta { hasIndexingErrors block { number } } }" });
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: query };
  const meta = (hasIndexingErrors: boolean) => [
    200,
    { data: { _meta: { hasIndexingErrors, block: { number: last } } } },
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
    const [head, watch] = [watchHead(world), watchStatus(world.url, ["root"])];
    await world.waitFor("the head of the chain", async () =>
      head.seen.has(last) ? { done: true } : { state: [...head.seen].join(", ") },
    );
    await head.stop();
    expect(head.faults).toEqual([]);
    expect([...head.seen]).toEqual(expect.arrayContaining([1_636, last]));
    await waitUntil("the reader to follow again", false);
    expect((await json("/amirealtime?maxWorstCaseDistance=999999999999"))[0]).toBe(200);
    expect(await json("/subgraph", post)).toEqual(meta(false));
    await world.waitFor("the status of the newest block", async () => {
      const cursor = watch.last()?.slowestChainIndexingCursor;
      return cursor === 1_767_071_746 ? { done: true } : { state: String(cursor) };
    });
    await watch.stop();
    expect([...watch.faults]).toEqual([]);
    // The recorded chain is indexed from its genesis block, and 1,666 is its last.
    expect(watch.last()?.omnichainSnapshot).toEqual({
      omnichainStatus: "omnichain-following",
      chains: {
        [chainIds.root]: {
          chainStatus: "chain-following",
          config: { configType: "indefinite", startBlock: { timestamp: 1493943200, number: 0 } },
          latestIndexedBlock: { timestamp: 1767071746, number: last },
          latestKnownBlock: { timestamp: 1767071746, number: last },
        },
      },
      omnichainIndexingCursor: 1767071746,
    });
  } finally {
    await reader.stop();
  }
});

test("a second indexer says at once that it waits and for whom, and takes over when SIGTERM, as sent by container runtimes, stops the first", async () => {
  const other = await world.startBeside("start");
  const line = await waitFor("a line that says so", async () => {
    const said = other.lastLines().find((text) => text.includes("Another indexer holds schema"));
    return said === undefined ? { state: other.lastLines(3).join("\n") } : { done: said };
  });
  expect(line).toContain('schema "public", connected from 127.0.0.1. Waiting until it stops');
  expect(await world.stop("SIGTERM")).toEqual({ code: 0, signal: undefined });
  await freePort(world.port);
  await waitFor("the other one to take over", isAnswered(`${other.url}/ready`));
  expect(await other.stop("SIGINT")).toEqual({ code: 0, signal: undefined });
});

function expectNoLock(lines: readonly string[]) {
  expect(lines.filter((line) => /\block(ed)?\b/i.test(line))).toEqual([]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The entities of an index, and its answers to the queries of clients. */
async function contentOf(world: World) {
  const answers = new Map<string, unknown>();
  for (const { name, query, variables } of clientQueries())
    answers.set(name, await ask(world, pinnedTo(undefined, query), variables));
  return { entities: await world.entities(), answers };
}

/** A query with each root field at a block, without `_meta`, which has no hash then. */
function pinnedTo(block: number | undefined, query: string): string {
  const document = parse(query);
  const at = block === undefined ? [] : [parseValue(`{ number: ${block} }`)];
  return print({
    ...document,
    definitions: document.definitions.map((one) => {
      if (one.kind !== Kind.OPERATION_DEFINITION) return one;
      const selections = one.selectionSet.selections.flatMap((field) => {
        if (field.kind !== Kind.FIELD || field.name.value === "_meta") return [];
        if (field.arguments?.some(({ name }) => name.value === "block")) return [];
        const added = at.map((value) => ({
          ...({ kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: "block" }, value } as const),
        }));
        return { ...field, arguments: [...(field.arguments ?? []), ...added] };
      });
      return { ...one, selectionSet: { ...one.selectionSet, selections } };
    }),
  });
}

async function ask({ url }: World, query: string, variables: object): Promise<unknown> {
  const body = JSON.stringify({ query, variables });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/subgraph`, { method: "POST", headers, body })).json();
}

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
