import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { startServer } from "../../../test/support/server.ts";
import { createSender, type Parts, type SendLimits, sendAsItComes } from "./send.ts";

const text = "name 𝄞 €".repeat(40_000);
const parts = ['{"data":', Buffer.from(text), "", text, "}"];
const whole = `{"data":${text}${text}}`;

function respond(parts: Parts, isPacked: boolean, limits: Partial<SendLimits> = {}) {
  const send = createSender({ timeoutMs: 30_000, heldBytes: 100_000_000, ...limits });
  return new Hono()
    .get("/", (c) => send(c, parts, { headers: {}, isPacked }))
    .onError((error, c) => c.text(error.name, 503));
}

test("sends texts and pieces one after the other, packed on the way if asked to", async () => {
  expect(await (await respond(parts, false).request("/")).text()).toBe(whole);
  const packed = await (await respond(parts, true).request("/")).arrayBuffer();
  expect(gunzipSync(packed).toString()).toBe(whole);
});

test("prepares no more than the client reads", async () => {
  let prepared = 0;
  const piece = Buffer.alloc(10);
  const counted = Array.from({ length: 50 }, () =>
    Object.defineProperty(piece.subarray(), "subarray", {
      value: () => {
        prepared += 1;
        return piece;
      },
    }),
  );
  const response = await respond(counted, false).request("/");
  await setImmediate();
  expect(prepared).toBe(0);
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.read();
  expect(prepared).toBe(2);
  await reader?.cancel();
});

test("drops a client that does not read", async () => {
  const long = Array.from({ length: 1_000 }, () => Buffer.alloc(65_536, "a"));
  const server = createServer(getRequestListener(respond(long, false, { timeoutMs: 200 }).fetch)).listen(
    0,
    "127.0.0.1",
  );
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined); // The connection is reset.
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(server, "connection");
  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  expect(await connections()).toBe(1);
  await expect.poll(connections).toBe(0);
  socket.destroy();
  server.close();
});

test("cuts off a reader of texts over time that reads nothing, after a bounded part, and it goes on from the last whole one", async () => {
  const count = 1_000;
  const long = "x".repeat(65_536);
  let made = 0;
  let isEnded = false;
  async function* textsAfter(id: number) {
    try {
      for (let next = id + 1; next <= count; next++) {
        made += 1;
        yield `id: ${next}\ndata: ${long}\n\n`;
      }
    } finally {
      isEnded = true;
    }
  }
  const app = new Hono().get("/:id", (c) => {
    const id = Number(c.req.param("id"));
    // The other reader reads in this process, perhaps late.
    return sendAsItComes(c, textsAfter(id), {
      headers: {},
      isPacked: false,
      timeoutMs: id === 0 ? 200 : 60_000,
    });
  });
  const url = await startServer(getRequestListener(app.fetch));
  const socket = connect(Number(new URL(url).port), "127.0.0.1").pause();
  socket.on("error", () => undefined); // The connection is reset.
  socket.write("GET /0 HTTP/1.1\r\nhost: x\r\n\r\n");
  await expect.poll(() => isEnded).toBe(true);
  // What the sockets take at once.
  expect(made).toBeLessThan(count / 2);
  let got = "";
  for await (const chunk of socket.resume()) got += chunk;
  const idsOf = (text: string) =>
    Array.from(text.matchAll(/^id: (\d+)\ndata: x+\r?\n/gm), ([, id]) => Number(id));
  const first = idsOf(got);
  const rest = idsOf(await (await fetch(`${url}/${first.at(-1) ?? 0}`)).text());
  expect([...first, ...rest]).toEqual(Array.from({ length: count }, (_, at) => at + 1));
});

test.each([false, true])(
  "refuses further responses while too much waits for clients, packed: %s",
  async (isPacked) => {
    const app = respond([Buffer.alloc(1_000_000)], isPacked, { heldBytes: 2_500_000 });
    const open = async () => (await app.request("/")).body?.getReader();
    const readers = [await open(), await open()];
    for (const reader of readers) await reader?.read();
    const refused = await app.request("/");
    expect([refused.status, await refused.text()]).toEqual([503, "BusyError"]);
    await readers[0]?.cancel();
    expect((await (await app.request("/")).arrayBuffer()).byteLength).toBeGreaterThan(100);
    // Nothing is held for a response that nobody begins to read, nor for one that was read to its end.
    for (let i = 0; i < 9; i++) expect((await app.request("/", { method: "HEAD" })).status).toBe(200);
    expect((await app.request("/")).status).toBe(200);
  },
);
