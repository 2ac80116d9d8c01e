import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { ServerLimits } from "../../labels-service/http/server.ts";
import { startServer } from "../../labels-service/test-support/running-server.ts";
import { labelhash } from "../../src/ens/labels.ts";

// Clients that send slowly, without end, or not at all, and such that do not read.

let server: Awaited<ReturnType<typeof startServer>>;
afterEach(() => server.stop());

async function start(limits: Partial<ServerLimits>) {
  server = await startServer(limits);
  server.database.reload({ isForced: true });
}

/** Opens a connection and sends `bytes`; `ended` resolves with what came back when the server has closed it. */
function open(bytes: string) {
  const socket = connect(server.port, "127.0.0.1");
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
  });
  socket.on("error", () => undefined); // A reset is an end like any other.
  socket.write(bytes);
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  return { socket, ended };
}

const head = "POST /v1/heal HTTP/1.1\r\nhost: x\r\n";

test.each([
  ["says nothing", "", { headersMs: 300 }],
  ["begins its headers only", "GET /health HTTP/1.1\r\nhost:", { headersMs: 300 }],
  ["begins its body only", `${head}content-length: 100\r\n\r\n{`, { stalledMs: 300 }],
  ["stays idle after a response", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", { idleMs: 300 }],
])("a client that %s is dropped", async (_, bytes, limits) => {
  await start(limits);
  const { ended } = open(bytes);
  expect(await ended).not.toContain("HTTP/1.1 5");
  expect((await server.ask("/health")).status).toBe(200);
});

test.each([
  ["headers", "GET /health HTTP/1.1\r\nx: ", { headersMs: 300 }],
  ["a body", `${head}content-length: 1000000\r\n\r\n{`, { requestMs: 300, headersMs: 300 }],
])("a client that sends %s a byte at a time gets 408", async (_, bytes, limits) => {
  await start(limits);
  const { socket, ended } = open(bytes);
  const dripping = setInterval(() => socket.write("x"), 20);
  const received = await ended;
  clearInterval(dripping);
  expect(received).toMatch(/^HTTP\/1\.1 408 /);
});

test.each([
  ["in chunks", "transfer-encoding: chunked", (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`],
  ["of a length that is too large", "content-length: 9000000000", (text: string) => text],
])("a body without end %s is cut off", async (_, header, framed) => {
  await start({});
  const { socket, ended } = open(`${head}${header}\r\n\r\n`);
  const piece = framed(" ".repeat(60_000));
  let sent = 0;
  while (!socket.destroyed && sent < 200_000_000) {
    sent += piece.length;
    if (!socket.write(piece)) await Promise.race([once(socket, "drain"), ended]).catch(() => undefined);
  }
  // A client that goes on writing may see the reset before the response.
  expect(await ended).toMatch(/^$|^HTTP\/1\.1 413 .*"errorCode":413}$/s);
  expect((await server.ask("/health")).status).toBe(200);
  // 4 MiB are taken and thrown away; the rest is what the buffers of both sides hold.
  expect(sent).toBeLessThan(40_000_000);
});

test("a body that is a little too large is refused, and the connection closed", async () => {
  await start({});
  const body = " ".repeat(1_200_000);
  const { ended } = open(`${head}content-length: ${body.length}\r\n\r\n${body}GET /health HTTP/1.1\r\n\r\n`);
  expect((await ended).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 413"]);
});

test("more connections than allowed are closed at once, and accepted again when others have gone", async () => {
  await start({ connections: 5 });
  const held = Array.from({ length: 5 }, () => open(""));
  await Promise.all(held.map(({ socket }) => once(socket, "connect")));
  expect(await open("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").ended).toBe("");
  for (const { socket } of held) socket.destroy();
  await expect
    .poll(() =>
      server.ask("/health").then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
});

test("a client that takes a response drop by drop is dropped", async () => {
  await start({ responseMs: 500 });
  const body = JSON.stringify({ labelhashes: new Array(270).fill(labelhash("x".repeat(120_000))) });
  const { socket, ended } = open(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  socket.pause();
  await expect.poll(() => server.connections()).toBe(1);
  const sipping = setInterval(() => socket.read(1000), 50);
  await expect.poll(() => server.connections()).toBe(0);
  clearInterval(sipping);
  socket.resume();
  expect((await ended).length).toBeLessThan(32_400_000);
});
