import { once } from "node:events";
import { Agent, type OutgoingHttpHeaders, request } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { Hono } from "hono";
import { afterEach, describe, expect, test } from "vitest";
import type { ServerLimits } from "../../labels-service/http/server.ts";
import { labelhash } from "../../src/ens/labels.ts";
import type { Surface } from "../../src/ponder/http-server.ts";
import { startServer } from "../support/labels/running-server.ts";
import { serveGuarded } from "./support/guarded.ts";
import { closedAfterEach, openRaw } from "./support/raw.ts";

// Clients that send too much, too slowly or nothing, leave in the middle, or read nothing, against the server that
// Ponder serves with, and that of the label service.

type Limits = Partial<NonNullable<Surface["limits"]> & ServerLimits>;

const servers = closedAfterEach();

const kilobyte = "x".repeat(1_000);

/** A server that returns bodies as they came, `/slow` never and `/large` with 16 MB; `seen` has what reached it. */
async function serve(surface: Partial<Surface> = {}) {
  const seen: string[] = [];
  const app = new Hono()
    .get("/slow", async (c) => {
      seen.push("slow");
      await new Promise((resolve) => c.req.raw.signal.addEventListener("abort", resolve));
      seen.push("slow ended");
      return c.text("");
    })
    .get("/large", (c) => c.text(kilobyte.repeat(16_000)))
    .all("*", async (c) => {
      const body = await c.req.text();
      seen.push(`${c.req.method} ${body.length}`);
      return c.text(body);
    });
  const server = await serveGuarded(app, surface);
  servers.push(server);
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, seen };
}

type Sent = { method?: string; path?: string; headers?: OutgoingHttpHeaders; body?: string | Readable };

function send(port: number, { method = "POST", path = "/", headers = {}, body = "" }: Sent) {
  return new Promise<{ status: number; body: string; connection: string | undefined }>((resolve, reject) => {
    const sent = request(
      { port, host: "127.0.0.1", method, path, headers, agent: false },
      async (response) => {
        const { statusCode: status = 0, headers: received } = response;
        resolve({ status, body: await text(response), connection: received.connection });
      },
    );
    // A server that has refused the body need not read the rest.
    let isAnswered = false;
    sent.on("response", () => {
      isAnswered = true;
    });
    sent.on("error", (error) => isAnswered || reject(error));
    if (typeof body === "string") sent.end(body);
    else body.pipe(sent);
  });
}

const head = (length: number) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`;

describe("a body over the limit", () => {
  test.each(["/subgraph", "/nothing"])("is cut off while it arrives in chunks at %s", async (path) => {
    const { port, seen } = await serve();
    let sent = 0;
    const flood = Readable.from(
      (function* () {
        for (; sent < 100_000; sent++) yield kilobyte;
      })(),
      { objectMode: false },
    );
    const response = await send(port, { path, headers: { "transfer-encoding": "chunked" }, body: flood });
    flood.destroy();
    expect(response).toEqual({
      status: 413,
      body: JSON.stringify({ message: `too long for ${path}` }),
      connection: "close",
    });
    expect(sent).toBeLessThan(50_000);
    expect(seen).toEqual([]);
  });

  test("is refused by its length, before it arrives", async () => {
    const { port, seen } = await serve();
    const { ended } = await openRaw(port, head(100_001));
    expect(await ended).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n.*\{"message":"too long for \/"\}$/s);
    expect(seen).toEqual([]);
  });

  test("is refused with a GET too", async () => {
    const { port } = await serve();
    const body = Readable.from([kilobyte.repeat(200)], { objectMode: false });
    const headers = { "transfer-encoding": "chunked" };
    expect((await send(port, { method: "GET", headers, body })).status).toBe(413);
  });
});

test("bodies up to the limit arrive as they were sent, over one connection", async () => {
  const { port } = await serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<Socket | null>();
  const bodies = ["", "é", kilobyte.repeat(100), "{}"];
  for (const [index, body] of bodies.entries()) {
    const headers = index % 2 === 0 ? { "transfer-encoding": "chunked" } : {};
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent, headers });
    sent.end(body);
    const [response] = await once(sent, "response");
    expect(await text(response)).toBe(body);
    // Longer than load balancers keep theirs.
    expect(response.headers["keep-alive"]).toMatch(/^timeout=65\b/);
    sockets.add(sent.socket);
  }
  expect(sockets.size).toBe(1);
  agent.destroy();
});

const labelServers: Awaited<ReturnType<typeof startServer>>[] = [];
afterEach(async () => {
  for (const server of labelServers.splice(0)) await server.stop();
});

async function serveLabels(limits: Partial<ServerLimits> = {}) {
  const server = await startServer(limits);
  labelServers.push(server);
  server.database.reload({ isForced: true });
  return server;
}

const get = "GET /health HTTP/1.1\r\nhost: x\r\n";
const post = "POST /v1/heal HTTP/1.1\r\nhost: x\r\n";

describe.each([
  ["the index", async (limits: Limits) => (await serve({ limits })).port],
  ["the label service", async (limits: Limits) => (await serveLabels(limits)).port],
] as const)("of %s", (_, start) => {
  const expectHealth = async (port: number) =>
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);

  test.each<[string, string, Limits, RegExp]>([
    ["says nothing", "", { headersMs: 300 }, /^(HTTP\/1\.1 408 |$)/],
    ["begins its headers only", get, { headersMs: 300 }, /^HTTP\/1\.1 408 /],
    ["begins its body only", `${post}content-length: 100\r\n\r\n{`, { stalledMs: 300 }, /^HTTP\/1\.1 408 /],
    ["stays idle after a response", `${get}\r\n`, { idleMs: 300 }, /^HTTP\/1\.1 200 /],
  ])("a client that %s is ended", async (_, bytes, limits, expected) => {
    const port = await start(limits);
    expect(await (await openRaw(port, bytes)).ended).toMatch(expected);
    await expectHealth(port);
  });

  test.each<[string, string, Limits]>([
    ["headers", `${get}x: `, { headersMs: 300 }],
    ["a body", `${post}content-length: 1000\r\n\r\n{`, { requestMs: 300, headersMs: 300 }],
  ])("a client that sends %s a byte at a time gets 408", async (_, bytes, limits) => {
    const { socket, ended } = await openRaw(await start(limits), bytes);
    const dripping = setInterval(() => socket.write("x"), 20);
    expect(await ended).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(dripping);
  });

  test.each([
    [
      "in chunks",
      "transfer-encoding: chunked",
      (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`,
    ],
    ["of a length that is too large", "content-length: 9000000000", (text: string) => text],
  ])("a body without end %s is cut off", async (_, header, framed) => {
    const port = await start({});
    const { socket, ended } = await openRaw(port, `${post}${header}\r\n\r\n`);
    const piece = framed(" ".repeat(60_000));
    let sent = 0;
    while (!socket.destroyed && sent < 200_000_000) {
      sent += piece.length;
      if (!socket.write(piece)) await Promise.race([once(socket, "drain"), ended]).catch(() => undefined);
    }
    // A client that goes on writing may see the reset before the response.
    expect(await ended).toMatch(/^$|^HTTP\/1\.1 413 /);
    await expectHealth(port);
    // 4 MiB are taken and thrown away; the rest is what the buffers of both sides hold.
    expect(sent).toBeLessThan(40_000_000);
  });

  test("bodies that are arriving may hold so much together; then one is refused, after a second the oldest", async () => {
    const port = await start({ arrivingBytes: 250_000, stalledMs: 60_000 });
    const ofLength = (length: number) => `${post}content-length: ${length}\r\n\r\n`;
    const slow = [];
    for (let i = 0; i < 3; i++) slow.push(await openRaw(port, ofLength(100_000) + kilobyte.repeat(90)));
    const refused = /^HTTP\/1\.1 503 .*\r\nretry-after: \d\r\n/is;
    expect(await Promise.race(slow.map(({ ended }) => ended))).toMatch(refused);
    const sent = async (kilobytes: number) => {
      const closing = ofLength(kilobytes * 1_000).replace("host: x", "host: x\r\nconnection: close");
      const { ended } = await openRaw(port, closing + kilobyte.repeat(kilobytes));
      return Number(/^HTTP\/1\.1 (\d+)/.exec(await ended)?.[1] ?? 599);
    };
    // The label service finds no JSON in them.
    expect(await sent(50)).toBeLessThan(500);
    await expect.poll(() => sent(99)).toBeLessThan(500);
    expect(await slow[0]?.ended).toMatch(refused);
    for (const { socket } of slow) socket.destroy();
  });

  test("connections beyond the most are closed at once, and accepted again when others have gone", async () => {
    const port = await start({ connections: 5 });
    const held = await Promise.all(Array.from({ length: 5 }, () => openRaw(port, "")));
    expect(await (await openRaw(port, `${get}\r\n`)).ended).toBe("");
    for (const { socket } of held) socket.destroy();
    const ask = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(ask).toBe(200);
  });
});

test("a body that is a little too large for the label service is refused, and the connection closed", async () => {
  const { port } = await serveLabels();
  const body = " ".repeat(1_200_000);
  const { ended } = await openRaw(port, `${post}content-length: ${body.length}\r\n\r\n${body}${get}\r\n`);
  expect((await ended).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 413"]);
});

test("a client that takes labels drop by drop is dropped", async () => {
  const { port, connections } = await serveLabels({ responseMs: 500 });
  const body = JSON.stringify({ labelhashes: new Array(270).fill(labelhash("x".repeat(120_000))) });
  const { socket, ended } = await openRaw(port, `${post}content-length: ${body.length}\r\n\r\n${body}`);
  socket.pause();
  await expect.poll(connections).toBe(1);
  const sipping = setInterval(() => socket.read(1000), 50);
  await expect.poll(connections).toBe(0);
  clearInterval(sipping);
  socket.resume();
  expect((await ended).length).toBeLessThan(32_400_000);
});

test("a body that stalls is ended, and one that goes on is not", async () => {
  const { port } = await serve({ limits: { stalledMs: 1_000 } });
  const stalled = await openRaw(port, head(1000) + "x".repeat(999));
  expect(await stalled.ended).toMatch(/^HTTP\/1\.1 408 .*\{"message":"The body does not arrive."\}$/s);
  const going = await openRaw(port, head(15));
  const pieces = setInterval(() => going.socket.writable && going.socket.write("x"), 100);
  await once(going.socket, "data");
  clearInterval(pieces);
  going.socket.end();
  expect(await going.ended).toMatch(/^HTTP\/1\.1 200 .*x{15}$/s);
});

test("a POST that is broken off never reaches the application", async () => {
  const { port, url, seen } = await serve();
  for (let i = 0; i < 20; i++) {
    const { socket, ended } = await openRaw(port, `${head(1000)}{"query":`);
    socket.destroy();
    await ended;
  }
  expect((await fetch(`${url}/`, { method: "POST", body: "whole" })).status).toBe(200);
  expect(seen).toEqual(["POST 5"]);
});

test("responses that nobody reads may hold so much together; the oldest ends first", async () => {
  const { port, url } = await serve({ limits: { unreadBytes: 20_000_000 } });
  const unread = [];
  for (let i = 0; i < 6; i++) {
    const { socket } = await openRaw(port, "GET /large HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.pause();
    unread.push(socket);
  }
  await expect
    .poll(() => new Promise((resolve) => servers[0]?.getConnections((_, count) => resolve(count))))
    .toBeLessThan(4);
  expect((await (await fetch(`${url}/large`)).text()).length).toBe(16_000_000);
  for (const socket of unread) socket.destroy();
});

describe("a request that waits", () => {
  test("ends with 503 and is given up while the database is away", async () => {
    const { port, seen } = await serve({ isDatabaseAway: async () => true });
    const response = await send(port, { method: "GET", path: "/slow" });
    expect(response).toEqual({
      status: 503,
      body: '{"message":"The database does not respond.","details":"Try again in some seconds."}',
      connection: "close",
    });
    await expect.poll(() => seen).toEqual(["slow", "slow ended"]);
  });

  test("goes on while the database responds", async () => {
    const { url } = await serve();
    await expect(fetch(`${url}/slow`, { signal: AbortSignal.timeout(2_500) })).rejects.toThrow("timeout");
  });
});
