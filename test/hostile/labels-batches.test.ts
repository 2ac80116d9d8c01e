import { renameSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import type { ServerLimits } from "../../labels-service/http/server.ts";
import { createBatch as batchOfLabels, createLabelDatabase } from "../../labels-service/store/database.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { errorReply, startServer } from "../support/labels/running-server.ts";
import { openRaw } from "./support/raw.ts";

// Batches that ask for far more than they contain: one long label again and again.

let server: Awaited<ReturnType<typeof startServer>>;
afterEach(() => server.stop());

async function start(limits: Partial<ServerLimits> = {}) {
  server = await startServer(limits);
  server.database.reload({ isForced: true });
}

const long = "x".repeat(120_000);
const batchOf = (count: number) => ({ labelhashes: new Array(count).fill(labelhash(long)) });
const busy = errorReply(503, "The service is busy with other large requests, ask again later");

/** The most memory in bytes that the process gained while `work` ran. */
async function growth(work: Promise<unknown>): Promise<number> {
  const before = process.memoryUsage.rss();
  let max = before;
  const watch = setInterval(() => {
    max = Math.max(max, process.memoryUsage.rss());
  }, 5);
  await work;
  clearInterval(watch);
  return Math.max(max, process.memoryUsage.rss()) - before;
}

test("a batch of one long label 10,000 times is refused before the label is read", async () => {
  await start();
  const grown = await growth(
    server.post(batchOf(10_000)).then((reply) =>
      // 10,000 x 120,000 bytes; the limit is 32 MiB.
      expect(reply).toEqual(
        errorReply(
          413,
          "The labels have 1200000000 bytes together, at most 33554432 are sent at once: ask for fewer",
        ),
      ),
    ),
  );
  expect(grown).toBeLessThan(150_000_000);
});

test("the largest batch below the limit is sent, and one label more refused", async () => {
  await start();
  // 279 x 120,000 = 33,480,000, and 280 x 120,000 = 33,600,000 bytes.
  const { status, body } = await server.post(batchOf(279));
  expect([status, body.labels.length, new Set(body.labels)]).toEqual([200, 279, new Set([long])]);
  expect((await server.post(batchOf(280))).status).toBe(413);
});

/** Asks for a batch and reads nothing of the response. */
async function askUnread(body: string) {
  const head = `POST /v1/heal HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`;
  const { socket } = await openRaw(server.port, head + body);
  return socket.pause();
}

test("batches that nobody reads hold a piece each, and end when their time is over", async () => {
  // The bodies of the requests, 19 kB each, have to arrive within it too.
  await start({ stalledMs: 5_000 });
  const asked = async () => {
    const sockets = await Promise.all(
      Array.from({ length: 20 }, () => askUnread(JSON.stringify(batchOf(279)))),
    );
    await expect
      .poll(async () => (await server.ask("/metrics")).body)
      .toContain('labels_requests_total{route="heal_batch",outcome="ok"} 20');
    // What is left is the connection of these questions.
    await expect.poll(() => server.connections()).toBeLessThan(2);
    for (const socket of sockets) socket.destroy();
  };
  // 20 batches of 33 MB.
  expect(await growth(asked())).toBeLessThan(300_000_000);
  expect((await server.post(batchOf(1))).status).toBe(200);
});

test("a body that does not fit into the shared memory is refused", async () => {
  await start({ memory: 100_000 });
  expect(await server.post(batchOf(6_000))).toEqual(busy);
  const response = await fetch(`${server.base}/v1/heal/${labelhash("eth")}`);
  expect(await response.json()).toEqual({ status: "success", label: "eth" });
});

test("a label that does not fit into the shared memory is refused, with when to ask again", async () => {
  await start({ memory: 100_000 });
  const response = await fetch(`${server.base}/v1/heal/${labelhash(long)}`);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await response.json()).toEqual(busy.body);
});

test("many heals of a long label at once do not delay other requests by all of them", async () => {
  await start({ memory: 10_000_000_000 });
  const longest = "y".repeat(8_000_000);
  const writer = createLabelDatabase(`${server.databasePath}.next`, "ens-test-env");
  writer.add(batchOfLabels([longest]));
  writer.finish(new Date(0));
  renameSync(`${server.databasePath}.next`, server.databasePath);
  server.database.reload({ isForced: true });
  let healed = 0;
  const heals = Array.from({ length: 10 }, async () => {
    await (await fetch(`${server.base}/v1/heal/${labelhash(longest)}`)).body?.cancel();
    healed++;
  });
  await Promise.race(heals);
  expect((await server.ask("/health")).status).toBe(200);
  expect(healed).toBeLessThan(10);
  await Promise.all(heals);
});
