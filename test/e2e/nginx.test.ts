import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ReadableStream } from "node:stream/web";
import { setTimeout as pause } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startNginx } from "../support/nginx.ts";
import { programOf } from "../support/pgbouncer.ts";
import { createEndpoint, createLoadedDatabase } from "../support/subgraph/endpoint.ts";

const canRun = programOf("nginx") !== undefined;
let client: Awaited<ReturnType<typeof createLoadedDatabase>>;
beforeAll(async () => {
  client = await createLoadedDatabase({ Account: [{ id: `0x${"00".repeat(20)}` }] });
});
afterAll(() => client.close());

/** A reader: the subgraph, and a stream whose second message waits. `seen`: the requests that reached it. */
async function startReader() {
  const seen: string[] = [];
  const released = Promise.withResolvers<void>();
  const app = new Hono()
    .use(async (c, next) => {
      seen.push(
        `${c.req.method} ${new URL(c.req.url).pathname} ${c.req.header("if-none-match") ? "if" : ""}`.trim(),
      );
      await next();
    })
    .get("/busy", (c) => c.json({ message: "busy" }, 503))
    .get("/v1/events/stream", (c) => {
      const messages = async function* () {
        yield Buffer.from("event: heartbeat\n\n");
        await released.promise;
        yield Buffer.from("event: event\n\n");
      };
      return c.body(ReadableStream.from(messages()) as globalThis.ReadableStream, 200, {
        "content-type": "text/event-stream",
      });
    })
    .route("/subgraph", createEndpoint(client).app);
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
  await once(server, "listening");
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    release: released.resolve,
    stop,
  };
}

async function startBoth(count = 1) {
  const readers = await Promise.all(Array.from({ length: count }, startReader));
  const nginx = await startNginx(readers.map(({ url }) => url));
  onTestFinished(() => nginx.stop());
  const ask = async (query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${nginx.url}/subgraph?${new URLSearchParams({ query })}`, { headers });
    return {
      cache: response.headers.get("x-cache"),
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    };
  };
  return { readers, nginx, ask };
}

const query = "{ accounts { id } _meta { block { number } } }";

test.skipIf(!canRun)("nginx sends what it has, and asks again once the next block is due", async () => {
  const {
    readers: [reader],
    ask,
  } = await startBoth();
  const first = await ask(query);
  expect([first.cache, first.status, first.headers.get("cache-control")]).toEqual([
    "MISS",
    200,
    // The newest block of the database is old: the next one is due.
    "public, max-age=0, s-maxage=1",
  ]);
  const second = await ask(query);
  expect([second.cache, second.text]).toEqual(["HIT", first.text]);
  const known = await ask(query, { "if-none-match": first.headers.get("etag") ?? "" });
  expect([known.cache, known.status, known.text]).toEqual(["HIT", 304, ""]);
  expect(reader?.seen).toEqual(["GET /subgraph"]);
  await client.exec(
    "UPDATE _ponder_checkpoint SET latest_checkpoint = overlay(latest_checkpoint PLACING '1667' FROM 39)",
  );
  // It counts in whole seconds.
  let old = await ask(query);
  for (; old.cache === "HIT"; old = await ask(query)) await pause(100);
  expect([old.cache, old.text]).toEqual(["EXPIRED", expect.stringContaining('"number":1667')]);
  // It asks with the tag, and gets all of it only if it has changed.
  expect(reader?.seen.slice(0, 2)).toEqual(["GET /subgraph", "GET /subgraph if"]);
});

test.skipIf(!canRun)(
  "nginx keeps no errors, no pages for programs, and one form for each that clients take",
  async () => {
    const {
      readers: [reader],
      nginx,
      ask,
    } = await startBoth();
    for (let round = 0; round < 2; round++) {
      expect((await ask("{ accounts { nope } }")).cache).toBe("MISS");
      const busy = await fetch(`${nginx.url}/busy`);
      expect([busy.status, busy.headers.get("x-cache")]).toEqual([503, "MISS"]);
      const page = await ask(query, { accept: "text/html" });
      expect([page.cache, page.headers.get("content-type")]).toEqual(["MISS", "text/html; charset=UTF-8"]);
    }
    const forms = ["application/json", "*/*", "application/graphql-response+json"].map((accept) => ({
      accept,
    }));
    const caches = [];
    for (const form of forms) caches.push((await ask(query, form)).cache);
    expect(caches).toEqual(["MISS", "HIT", "HIT"]);
    const many = await Promise.all(Array.from({ length: 20 }, () => ask("{ accounts(first: 1) { id } }")));
    expect(many.filter(({ cache }) => cache === "MISS")).toHaveLength(1);
    expect((await fetch(`${nginx.url}/metrics`)).status).toBe(404);
    expect(reader?.seen).not.toContain("GET /metrics");
  },
);

test.skipIf(!canRun)(
  "nginx passes a stream on message by message, and asks another reader when one is gone",
  async () => {
    const { readers, nginx, ask } = await startBoth(2);
    const stream = (await fetch(`${nginx.url}/v1/events/stream`)).body
      ?.pipeThrough(new TextDecoderStream())
      .getReader();
    expect((await stream?.read())?.value).toBe("event: heartbeat\n\n");
    for (const { release } of readers) release();
    expect((await stream?.read())?.value).toBe("event: event\n\n");
    expect((await stream?.read())?.done).toBe(true);
    readers[0]?.stop();
    for (let count = 1; count < 9; count++)
      expect((await ask(`{ accounts(first: ${count}) { id } }`)).status).toBe(200);
    const posts = await Promise.all(
      Array.from({ length: 8 }, () =>
        fetch(`${nginx.url}/subgraph`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ query }),
        }),
      ),
    );
    expect(posts.map(({ status }) => status)).toEqual(posts.map(() => 200));
  },
);

test.skipIf(!canRun)("nginx tells a client that asks too much so", async () => {
  const { nginx } = await startBoth();
  // Fewer at a time than a client may have connections.
  const statuses = new Set<number>();
  for (let round = 0; round < 40; round++) {
    const answers = Array.from({ length: 10 }, (_, at) => fetch(`${nginx.url}/busy?${round}.${at}`));
    for (const { status } of await Promise.all(answers)) statuses.add(status);
  }
  expect(statuses).toEqual(new Set([503, 429]));
});
