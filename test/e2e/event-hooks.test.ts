import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { type FeedMessage, fold, listed, openReader } from "../support/feed.ts";
import { randomOf } from "../support/feed-history.ts";
import { temporaryFolders } from "../support/folders.ts";
import { startWorld } from "../support/world.ts";

const temporaryFolder = temporaryFolders();

// The tests continue each other.
const reminders = ["30d", "7d", "grace_begins", "grace_ends"];
const held = new Map<string, unknown>();
const reminded: string[] = [];
const deliveries = new Set<unknown>();
let receiver: Awaited<ReturnType<typeof listen>>;
let world: Awaited<ReturnType<typeof startWorld>>;

beforeAll(async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  receiver = await listen(async (request, response) => {
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
  const filter = { namespace: "ens" };
  writeFileSync(file, JSON.stringify([hook, { ...hook, name: "b", events: false, reminders, filter }]));
  world = await startWorld({ head: 1640, environment: { WEBHOOKS_FILE: file } });
});
afterAll(async () => {
  await world?.close();
  await receiver?.close();
});

test("hooks are sent while the index is built", async () => {
  world.start();
  await world.waitForIndex();
  await world.waitFor("deliveries", async () => (deliveries.size > 20 ? { done: true } : { state: "few" }));
  await world.stop();
});

test("readers and hooks get what is listed, over a restart and beyond final blocks", async () => {
  world.node.chain.setHead(1666);
  // All recorded blocks are final: what falls due is read once names are as they are in the end.
  for (let block = 0; block < 70; block++) world.node.mineBlock({ timestamp: 0, transactions: [] });
  world.start();
  await world.waitForIndex();
  const reader = openReader(() => [world.url], "from=start", { random: randomOf(5), max: 2_000 });
  const expected = await listed(world.url);
  expect(expected.size).toBeGreaterThan(7_000);
  for (const entries of [reader.held, held])
    await world.waitFor("what is listed", async () => {
      await reader.failed();
      return [...expected.keys()].every((id) => entries.has(id))
        ? { done: true }
        : { state: `${entries.size} of ${expected.size} entries` };
    });
  await reader.stop();
  expect([reader.held.size, held.size]).toEqual([expected.size, expected.size]);
});

test("each name is reminded of once, by time", async () => {
  // More than eight days of chain time passed meanwhile. The first reminders were those since the last final block.
  const [from, to] = [1_766_325_374, 1_767_071_747 + 70];
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
