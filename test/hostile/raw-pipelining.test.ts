import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { type Exchange, serveOneAtATime } from "../../src/http/one-at-a-time.ts";
import { closedAfterEach, openRaw } from "./support/raw.ts";

// Clients that send requests without waiting for responses (RFC 9112, section 9.3.2), against the server of both
// services.

const servers = closedAfterEach();

/** A server that returns path and body of each request; of `/slow…` not before `release`. */
async function serve(onRequest: (count: number) => unknown = () => undefined) {
  const seen: string[] = [];
  const sockets: Socket[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let atOnce = 0;
  const max = { atOnce: 0 };
  const handle = async ({ incoming, outgoing }: Exchange) => {
    const { url = "" } = incoming;
    const count = seen.push(url);
    onRequest(count);
    atOnce += 1;
    max.atOnce = Math.max(max.atOnce, atOnce);
    outgoing.once("close", () => {
      atOnce -= 1;
    });
    if (url.startsWith("/slow")) await released;
    let body = "";
    if (incoming.method === "POST") for await (const chunk of incoming) body += chunk;
    outgoing.end(`${url} ${body.length};`);
  };
  const server = serveOneAtATime(createServer(), (exchange) => void handle(exchange));
  server.on("connection", (socket: Socket) => sockets.push(socket));
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, seen, max, release, sockets };
}

/** Opens a connection; `answers` are the bodies of the responses so far, in order. */
async function open(port: number) {
  const { socket, received } = await openRaw(port);
  return { socket, answers: () => received().match(/\/[\w/]* \d+;/g) ?? [] };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const post = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n${"x".repeat(length)}`;

test("all are answered one by one, in their order, whatever their length", async () => {
  const { port, max } = await serve();
  const { socket, answers } = await open(port);
  const lengths = [0, 1, 4_095, 4_096, 100_000, 3, 1_000_000, 0, 65_536];
  const requests = lengths.flatMap((length, index) => [post(`/${index}`, length), get("/between")]);
  const expected = lengths.flatMap((length, index) => [`/${index} ${length};`, "/between 0;"]);
  socket.write(requests.join(""));
  await expect.poll(answers).toEqual(expected);
  for (const byte of requests.slice(0, 4).join("")) socket.write(byte);
  await expect.poll(() => answers().slice(expected.length)).toEqual(expected.slice(0, 4));
  expect(max.atOnce).toBe(1);
});

test("1,000 small ones over each of 20 connections are all answered", async () => {
  const { port, max } = await serve();
  const clients = await Promise.all(Array.from({ length: 20 }, () => open(port)));
  for (const { socket } of clients) socket.write(get("/").repeat(1_000));
  for (const { answers } of clients) {
    await expect.poll(() => answers().length).toBe(1_000);
  }
  expect(max.atOnce).toBeLessThanOrEqual(20);
});

test("others wait for one request of each connection, not for all", async () => {
  const { port, seen } = await serve((count) => count === 1 && other.socket.write(get("/other")));
  const other = await open(port);
  const floods = await Promise.all(Array.from({ length: 5 }, () => open(port)));
  for (const { socket } of floods) socket.write(get("/flood").repeat(5_000));
  await expect.poll(other.answers).toEqual(["/other 0;"]);
  // One for each turn until its bytes are there, and those that arrived with it.
  expect(seen.indexOf("/other")).toBeLessThan(100);
});

test("nothing more is read while a response is pending", async () => {
  const { port, seen, release, sockets } = await serve();
  const { socket, answers } = await open(port);
  socket.write(get("/slow") + get("/next").repeat(200_000));
  await expect.poll(() => seen).toEqual(["/slow"]);
  const quick = await open(port);
  quick.socket.write(get("/quick"));
  await expect.poll(quick.answers).toEqual(["/quick 0;"]);
  expect(sockets[0]?.bytesRead).toBeLessThan(200_000);
  expect(seen).toEqual(["/slow", "/quick"]);
  release();
  await expect.poll(() => answers().slice(0, 2)).toEqual(["/slow 0;", "/next 0;"]);
});

test("nothing of what a client sent is done once it has gone", async () => {
  const { port, seen, release } = await serve();
  const { socket } = await open(port);
  socket.write(get("/slow") + get("/next").repeat(1_000));
  await expect.poll(() => seen).toEqual(["/slow"]);
  socket.resetAndDestroy();
  release();
  const quick = await open(port);
  quick.socket.write(get("/quick"));
  await expect.poll(quick.answers).toEqual(["/quick 0;"]);
  expect(seen.filter((path) => path === "/next").length).toBeLessThan(3);
});

test.each([
  ["HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", ["/a 0;"]],
  ["HTTP/1.0 with a length", "POST /a HTTP/1.0\r\ncontent-length: 3\r\n\r\nabc", ["/a 3;"]],
  ["a last request", "GET /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", ["/a 0;"]],
])("%s ends the connection after its response", async (_, bytes, expected) => {
  const { port } = await serve();
  const { socket, answers } = await open(port);
  socket.write(bytes);
  await once(socket, "close");
  expect(answers()).toEqual(expected);
});

test("what is no request ends the connection, and what follows is not answered", async () => {
  const { port, seen } = await serve();
  const { socket, answers } = await open(port);
  socket.write(`${get("/a").repeat(200)}no request\r\n\r\n${get("/hidden")}`);
  await once(socket, "close");
  expect(answers().length).toBeGreaterThan(100);
  expect(seen).not.toContain("/hidden");
});
