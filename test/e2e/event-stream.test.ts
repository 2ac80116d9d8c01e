import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { deploymentOf, register } from "../../devnet/life.ts";
import { chainIds, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { type FeedMessage, fold, messagesOf } from "../support/feed.ts";
import { temporaryFolders } from "../support/folders.ts";
import { postgresPrograms, query as rowsOf, startPostgres } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

// Readers of the stream of events while a chain reorganizes, the indexing process is killed, and connections end.

const contracts = Object.values(readAddresses(recordingFolder("root")));
const sale = { owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;
const temporaryFolder = temporaryFolders();
const hasServer = inject("postgresUrl") !== "";

/** Numbers from 0 up to `below`, in an order that the seed determines (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A client that holds what the messages say, and connects again whenever its connection ends or it drops it. */
function openReader(urls: readonly string[], query: string, random: (below: number) => number) {
  const held = new Map<string, unknown>();
  const counts = { connections: 0, reverted: 0 };
  const stopped = new AbortController();
  let last = "";

  async function connect(): Promise<void> {
    const closing = new AbortController();
    const signal = AbortSignal.any([closing.signal, stopped.signal]);
    const url = `${urls[random(urls.length)]}/v1/events/stream?${query}`;
    const response = await fetch(url, { signal, headers: last === "" ? {} : { "last-event-id": last } });
    if (response.status === 400) throw new Error(`The stream refuses ${last}: ${await response.text()}`);
    let left = 3 + random(20);
    counts.connections += 1;
    for await (const message of messagesOf(response)) {
      if (message.event === "must-refetch") throw new Error("The stream lost the index.");
      if (message.event === "reverted") counts.reverted += 1;
      fold(held, message);
      last = message.id;
      left -= 1;
      if (left === 0) break;
    }
    closing.abort();
  }
  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        await connect();
      } catch (error) {
        // The service may be down, or not ready.
        if (error instanceof Error && /^The (stream|feed)/.test(error.message)) throw error;
        await pause(50);
      }
    }
  }
  const running = run();
  running.catch(() => undefined);
  return {
    held,
    counts,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/** What a client holds that reads `/v1/events` page by page behind a message. */
async function paged(url: string, first: FeedMessage): Promise<Map<string, unknown>> {
  const held = new Map<string, unknown>();
  fold(held, first);
  for (let after = first.id; ; ) {
    const response = await fetch(`${url}/v1/events?page_size=200&after=${after}`);
    const { data, reverted, page } = (await response.json()) as {
      data: FeedMessage["data"][];
      reverted: object[];
      page: { has_more: boolean; next_cursor: string };
    };
    for (const one of reverted) fold(held, { event: "reverted", id: "", data: { id: "", ...one } });
    for (const one of data) fold(held, { event: "event", id: "", data: one });
    if (!page.has_more) return held;
    after = page.next_cursor;
  }
}

/** What `/v1/events` lists, by id. */
async function listed(url: string): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (let next = ""; ; ) {
    const response = await fetch(`${url}/v1/events?order=asc&include=data,raw&page_size=200${next}`);
    const { data, page } = (await response.json()) as {
      data: { id: string }[];
      page: { has_more: boolean; next_cursor: string };
    };
    for (const entry of data) found.set(entry.id, entry);
    if (!page.has_more) return found;
    next = `&cursor=${page.next_cursor}`;
  }
}

describe.runIf(hasAnvil() && hasServer)("readers of the stream hold what /v1/events lists", () => {
  let chain: EmittingChain;
  let world: World;
  let readerUrl: string;
  let stopReader: () => Promise<unknown>;
  beforeAll(async () => {
    chain = await startEmittingChain(Number(chainIds.root), contracts);
    await mine("first", 70, 5);
    const environment = { SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,registrars" };
    world = await startWorld({ rpcUrl: chain.url, environment });
    world.start();
    await world.waitForIndex({ block: await chain.head() });
    const beside = await world.startBeside("serve");
    readerUrl = beside.url;
    stopReader = () => beside.stop("SIGINT");
  });
  afterAll(async () => {
    await stopReader?.();
    await world?.close();
    await chain?.close();
  });

  async function mine(branch: string, count: number, every: number) {
    for (let block = 0; block < count; block++) {
      const label = `${branch}x${block}`;
      await chain.mine(block % every === 0 ? [register(deploymentOf("root"), { ...sale, label }).logs] : []);
    }
  }

  test.each([1, 2, 3])("after reorganizations, kills and broken connections, seed %i", async (seed) => {
    const random = randomOf(seed);
    const latest = openReader([world.url, readerUrl], "from=start", randomOf(seed + 10));
    const final = openReader([readerUrl], "from=start&finality=finalized", randomOf(seed + 20));
    for (let step = 0; step < 10; step++) {
      const branch = `s${seed}n${step}`;
      const depth = step % 2 === 0 ? 0 : 1 + random(18);
      if (depth > 0) await chain.goBack(depth);
      await mine(branch, depth + 1 + random(4), 1 + random(2));
      if (step === 4 || step === 7) {
        await pause(random(400));
        await world.crash();
        world.start();
      }
      if (random(2) === 0) await world.waitForIndex({ block: await chain.head() });
    }
    await world.waitForIndex({ block: await chain.head() });
    const expected = await listed(world.url);
    const isHeld = ({ held }: typeof latest) =>
      JSON.stringify([...held].sort()) === JSON.stringify([...expected].sort());
    await world.waitFor("the reader to hold what is listed", async () =>
      isHeld(latest) ? { done: true } : { state: `${latest.held.size} of ${expected.size} entries` },
    );
    await latest.stop();
    expect(latest.counts.reverted).toBeGreaterThan(0);

    // Events are final once the chain is long enough, and later than they are: anvil's blocks may all be of one second.
    await chain.request("evm_increaseTime", 60);
    await mine(`s${seed}end`, 80, 100);
    await world.waitForIndex({ block: await chain.head() });
    await world.waitFor("the reader of final events to hold what is listed but the end", async () => {
      const missing = [...expected.keys()].filter((id) => !final.held.has(id));
      return missing.length === 0 ? { done: true } : { state: `${missing.length} are missing` };
    });
    await final.stop();
    expect(final.counts.reverted).toBe(0);
    const all = await listed(world.url);
    expect([...final.held.keys()].filter((id) => !all.has(id))).toEqual([]);
  });
});

test("readers and hooks of an embedded index get what is listed, over a restart and beyond final blocks", async () => {
  const held = new Map<string, unknown>();
  const reminded: string[] = [];
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const deliveries = new Set<unknown>();
  const receiver = await listen(async (request, response) => {
    const messages = new Webhook(secret).verify(await text(request), request.headers as never);
    const id = request.headers["webhook-id"];
    // A delivery whose answer was lost comes again.
    if (!deliveries.has(id))
      for (const message of messages as FeedMessage[]) {
        const { event, data } = message;
        if (event === "reminder") reminded.push(`${data["reminder"]} ${data["name"]} ${data["due_at"]}`);
        fold(held, message);
      }
    deliveries.add(id);
    response.writeHead(204).end();
  });
  const file = join(temporaryFolder(), "hooks.json");
  const hook = { name: "all", url: receiver.url, secret, from: "start", allowPrivate: true };
  const reminders = ["30d", "7d", "grace_begins", "grace_ends"];
  const filter = { namespace: "ens" };
  writeFileSync(file, JSON.stringify([hook, { ...hook, name: "b", events: false, reminders, filter }]));
  const world = await startWorld({ head: 1640, database: "embedded", environment: { WEBHOOKS_FILE: file } });
  onTestFinished(async () => {
    await world.close();
    await receiver.close();
  });
  world.start();
  await world.waitForIndex();
  await world.waitFor("deliveries", async () => (deliveries.size > 20 ? { done: true } : { state: "few" }));
  await world.stop();
  world.node.chain.setHead(1666);
  world.start();
  await world.waitForIndex();
  const reader = openReader([world.url], "from=start", randomOf(5));
  const expected = await listed(world.url);
  expect(expected.size).toBeGreaterThan(7_000);
  for (const entries of [reader.held, held])
    await world.waitFor("what is listed", async () =>
      [...expected.keys()].every((id) => entries.has(id))
        ? { done: true }
        : { state: `${entries.size} of ${expected.size} entries` },
    );
  await reader.stop();
  expect([reader.held.size, held.size]).toEqual([expected.size, expected.size]);

  // More than eight days of chain time passed meanwhile. The first reminders were those since the last final block.
  const [from, to] = [1_766_325_374, 1_767_071_747];
  const due: string[] = [];
  for (const [reminder, span, member] of [
    ["30d", 30 * 86_400, "expires"],
    ["7d", 7 * 86_400, "expires"],
    ["grace_begins", 0, "expires"],
    ["grace_ends", 0, "grace_ends"],
  ] as const) {
    const window = `${member}_after=${from + span}&${member}_before=${to + span}&page_size=200`;
    const response = await fetch(`${world.url}/v1/names?namespace=ens&${window}`);
    const { data, page } = (await response.json()) as {
      data: Record<string, string>[];
      page: { has_more: boolean };
    };
    expect(page.has_more).toBe(false);
    for (const row of data)
      if (reminder !== "grace_begins" || row["expires_at"] !== row["grace_ends_at"])
        due.push(`${reminder} ${row["name"]} ${Number(row[`${member}_at`]) - span}`);
  }
  const momentOf = (text: string) => Number(text.split(" ").at(-1));
  const since = () => reminded.filter((text) => momentOf(text) >= from);
  await world.waitFor("all reminders", async () =>
    since().length >= due.length ? { done: true } : { state: `${since().length} of ${due.length}` },
  );
  expect(since().sort()).toEqual(due.sort());
  expect(new Set(reminded).size).toBe(reminded.length);
  const moments = reminded.map(momentOf);
  expect(moments).toEqual([...moments].sort((a, b) => a - b));
  expect(new Set(due.map((text) => text.split(" ")[0]))).toEqual(new Set(reminders));
});

const programs = postgresPrograms();
test.skipIf(programs === undefined)(
  "a reader on a hot standby follows it, stands still while it does, and goes on",
  async () => {
    const settings = ["fsync=off", "wal_level=replica", "max_wal_senders=4", "max_connections=100"];
    const primary = await startPostgres(programs ?? "", settings);
    onTestFinished(() => primary.stop());
    // What is replayed cancels at once what reads the same.
    const hasty = [...settings, "max_standby_streaming_delay=0"];
    const standby = await startPostgres(programs ?? "", hasty, primary.url);
    onTestFinished(() => standby.stop());
    const environment = {
      ...{ DATABASE_URL: primary.url, DATABASE_SCHEMA: "public" },
      ...{ SUBGRAPH_COMPAT: "false", PLUGINS: "subgraph,registrars" },
    };
    const world = await startWorld({ head: 400, database: "embedded", environment });
    onTestFinished(() => world.close());
    world.start();
    await world.waitForIndex();
    const reader = await world.startBeside("serve", { DATABASE_URL: standby.url });
    onTestFinished(async () => void (await reader.stop("SIGINT")));
    const client = openReader([reader.url], "from=start", randomOf(7));
    const entriesOf = (entries: Map<string, unknown>) => JSON.stringify([...entries].sort());
    const untilHeld = async (expected: Map<string, unknown>) =>
      world.waitFor("the client to hold what is listed", async () =>
        entriesOf(client.held) === entriesOf(expected)
          ? { done: true }
          : { state: `${client.held.size} of ${expected.size} entries; ${reader.lastLines(5).join(" ")}` },
      );
    const readOn = async (goesOn: () => boolean) => {
      const statuses = new Set<number>();
      do statuses.add((await fetch(`${reader.url}/v1/events?page_size=200`)).status);
      while (goesOn());
      return statuses;
    };
    let count = 0;
    const mine = async (blocks: number) => {
      for (let block = 0; block < blocks; block++, count++)
        world.node.mineBlock({
          transactions: [register(deploymentOf("root"), { ...sale, label: `standby${count}` })],
        });
      await world.waitForIndex();
    };

    await mine(4);
    const before = await listed(world.url);
    await untilHeld(before);

    await rowsOf(standby.url, "SELECT pg_wal_replay_pause()");
    await world.waitFor("the standby to stand still", async () => {
      const [{ state } = { state: "" }] = await rowsOf<{ state: string }>(
        standby.url,
        "SELECT pg_get_wal_replay_pause_state() AS state",
      );
      return state === "paused" ? { done: true } : { state };
    });
    const head = world.node.chain.head();
    world.node.chain.setHead(head - 3);
    await mine(5);
    const after = await listed(world.url);
    const isGone = ([id, entry]: [string, unknown]) =>
      JSON.stringify(after.get(id)) !== JSON.stringify(entry);
    expect([...before].filter(isGone)).not.toEqual([]);
    await pause(1_000);
    expect(entriesOf(client.held)).toBe(entriesOf(before));
    expect(entriesOf(await listed(reader.url))).toBe(entriesOf(before));

    await rowsOf(standby.url, "SELECT pg_wal_replay_resume()");
    let isHeld = false;
    const statuses = readOn(() => !isHeld);
    await untilHeld(after);
    isHeld = true;
    expect([...(await statuses)]).toEqual([200]);
    expect(client.counts.reverted).toBeGreaterThan(0);
    await client.stop();

    const stream = await fetch(`${reader.url}/v1/events/stream?from=start`);
    for await (const first of messagesOf(stream)) {
      expect(entriesOf(await paged(reader.url, first))).toBe(entriesOf(after));
      break;
    }
    expect(reader.lastLines(500).filter((line) => /recovery|read-only/.test(line))).toEqual([]);
  },
);
