import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { deploymentOf, register } from "../../devnet/life.ts";
import { type FeedMessage, fold, listed, messagesOf, openReader } from "../support/feed.ts";
import { randomOf } from "../support/feed-history.ts";
import { postgresPrograms, query as rowsOf, startPostgres } from "../support/postgres.ts";
import { startWorld } from "../support/world.ts";

const sale = { owner: `0x${"11".repeat(20)}`, expires: 2_000_000_000n } as const;

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
    const client = openReader(() => [reader.url], "from=start", { random: randomOf(7), most: 20 });
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

    // What replay conflicts with is cancelled, the test's own statements too.
    await world.waitFor("the standby to stand still", async () => {
      await rowsOf(standby.url, "SELECT pg_wal_replay_pause()");
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

    const resumed = async () => ({ done: await rowsOf(standby.url, "SELECT pg_wal_replay_resume()") });
    await world.waitFor("the standby to go on", resumed);
    let isHeld = false;
    const statuses = readOn(() => !isHeld);
    await untilHeld(after);
    isHeld = true;
    // What is cancelled again and again is to be asked later.
    expect([...(await statuses)].filter((status) => status !== 503)).toEqual([200]);
    expect(client.counts.reverted).toBeGreaterThan(0);
    await client.stop();

    await world.waitFor("pages to have what is listed", async () => {
      const stream = await fetch(`${reader.url}/v1/events/stream?from=start`);
      for await (const first of messagesOf(stream))
        if (entriesOf(await paged(reader.url, first)) === entriesOf(after)) return { done: true };
        else break;
      return { state: "they differ" };
    });
    expect(reader.lastLines(500).filter((line) => /read-only/.test(line))).toEqual([]);
  },
);
