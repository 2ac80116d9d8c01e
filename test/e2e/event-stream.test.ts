import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { listen } from "../../devnet/rpc/server.ts";
import { hasAnvil } from "../support/anvil.ts";
import { type FeedMessage, fold, listed, openReader } from "../support/feed.ts";
import { randomOf, startFeedHistory } from "../support/feed-history.ts";
import { temporaryFolders } from "../support/folders.ts";
import { startWorld } from "../support/world.ts";

// Readers of the stream of events while a chain reorganizes, processes are killed, connections end, and another index takes over.

const temporaryFolder = temporaryFolders();

describe.runIf(hasAnvil() && inject("postgresUrl") !== "")(
  "readers of the stream hold what is listed",
  () => {
    let history: Awaited<ReturnType<typeof startFeedHistory>>;
    beforeAll(async () => {
      history = await startFeedHistory(startWorld);
    });
    afterAll(() => history?.close());

    test.each([1, 2, 3])(
      "after reorganizations, kills, switches and broken connections, seed %i",
      async (seed) => {
        const { wrong, latest } = await history.run(seed);
        expect(wrong).toBe(0);
        expect(latest.reverted).toBeGreaterThan(0);
      },
    );
  },
);

test("readers and hooks of an embedded index get what is listed, over a restart and beyond final blocks", async () => {
  const held = new Map<string, unknown>();
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const deliveries = new Set<unknown>();
  const receiver = await listen(async (request, response) => {
    const messages = new Webhook(secret).verify(await text(request), request.headers as never);
    const id = request.headers["webhook-id"];
    // A delivery whose answer was lost comes again.
    if (!deliveries.has(id)) for (const message of messages as FeedMessage[]) fold(held, message);
    deliveries.add(id);
    response.writeHead(204).end();
  });
  const file = join(temporaryFolder(), "hooks.json");
  const hook = { name: "all", url: receiver.url, secret, from: "start", allowPrivate: true };
  writeFileSync(file, JSON.stringify([hook]));
  const world = await startWorld({ head: 1640, database: "embedded", environment: { WEBHOOKS_FILE: file } });
  onTestFinished(async () => {
    await world.close();
    await receiver.close();
  });
  world.start();
  await world.waitForIndex();
  await world.stop();
  world.node.chain.setHead(1666);
  world.start();
  await world.waitForIndex();
  const reader = openReader(() => [world.url], "from=start", { random: randomOf(5), most: 2_000 });
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
});
