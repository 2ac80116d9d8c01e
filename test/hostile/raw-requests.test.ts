import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../src/read/sql/client.ts";
import { startServer } from "../support/labels/running-server.ts";
import { createEndpoint } from "../support/subgraph/endpoint.ts";
import { serveGuarded } from "./support/guarded.ts";
import { openRaw } from "./support/raw.ts";

// Bytes that proxies and servers read differently (RFC 9112, sections 3, 6.1 and 11.2): a request that hides a second
// one, and bytes that are not a request. Each gets an error and ends the connection; what follows is never answered.

let labels: Awaited<ReturnType<typeof startServer>>;
let api: Server;
const ports: Record<string, number> = {};

beforeAll(async () => {
  labels = await startServer();
  ports["labels"] = labels.port;
  const database: Database = { row: async () => [] };
  const app = new Hono().get("/health", (c) => c.json({})).route("/subgraph", createEndpoint(database).app);
  api = await serveGuarded(app);
  ports["api"] = (api.address() as AddressInfo).port;
});
afterAll(async () => {
  await labels?.stop();
  api?.close();
});

const hidden = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
const post = (path: string, headers: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body}`;

const cases: [string, (path: string) => string][] = [
  [
    "a length beside chunks",
    (path) => post(path, "content-length: 4\r\ntransfer-encoding: chunked", `0\r\n\r\n${hidden}`),
  ],
  ["two lengths", (path) => post(path, "content-length: 0\r\ncontent-length: 30", hidden)],
  ["a negative length", (path) => post(path, "content-length: -1", hidden)],
  ["a length in hex", (path) => post(path, "content-length: 0x10", hidden)],
  ["an unknown transfer coding", (path) => post(path, "transfer-encoding: xchunked", `0\r\n\r\n${hidden}`)],
  ["a chunk without a size", (path) => post(path, "transfer-encoding: chunked", `zz\r\n\r\n${hidden}`)],
  ["a chunk of a negative size", (path) => post(path, "transfer-encoding: chunked", `-1\r\n\r\n${hidden}`)],
  [
    "a chunk whose size overflows",
    (path) => post(path, "transfer-encoding: chunked", `fffffffffffffffff\r\n\r\n${hidden}`),
  ],
  [
    "a chunk that is longer than its size",
    (path) => post(path, "transfer-encoding: chunked", `1\r\nab\r\n0\r\n\r\n${hidden}`),
  ],
  [
    "chunks that end with line feeds alone",
    (path) => post(path, "transfer-encoding: chunked", `1\na\n0\n\n${hidden}`),
  ],
  [
    "chunked twice",
    (path) => post(path, "transfer-encoding: chunked\r\ntransfer-encoding: identity", `0\r\n\r\n${hidden}`),
  ],
  ["no host", (path) => `POST ${path} HTTP/1.1\r\ncontent-length: 0\r\n\r\n${hidden}`],
  ["an unknown version", (path) => `GET ${path} HTTP/3.7\r\nhost: x\r\n\r\n${hidden}`],
  ["a request after an HTTP/1.0 one", () => `GET /nothing HTTP/1.0\r\n\r\n${hidden}`],
  [
    "chunks in HTTP/1.0",
    (path) => `POST ${path} HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  ],
  ["a tunnel", () => `CONNECT 127.0.0.1:1 HTTP/1.1\r\nhost: x\r\n\r\n${hidden}`],
  ["a bare line feed in a header", (path) => post(path, "x: a\nb", hidden)],
  ["a space before the colon of a header", (path) => post(path, "content-length : 0", hidden)],
  ["a NUL in a header", (path) => post(path, "x: a\0b", hidden)],
  ["a folded header", (path) => post(path, "x: a\r\n b: c", hidden)],
  ["no HTTP", () => `\x16\x03\x01\x00\xa5\r\n\r\n${hidden}`],
  ["headers of 100 kB", (path) => post(path, `x: ${"a".repeat(100_000)}`, hidden)],
];

describe.each(["labels", "api"])("%s", (service) => {
  test.each(cases)("refuses %s", async (_, bytesOf) => {
    const path = service === "labels" ? "/v1/heal" : "/subgraph";
    const { socket, ended } = await openRaw(ports[service] ?? 0, bytesOf(path));
    let isLeft = false;
    socket.setTimeout(100_000, () => {
      isLeft = true;
      socket.destroy();
    });
    const received = await ended;
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
    expect(statuses.filter((status) => status < 400)).toEqual([]);
    expect(statuses.length).toBeLessThan(2);
    expect(isLeft).toBe(false);
    expect((await fetch(`http://127.0.0.1:${ports[service]}/health`)).status).toBe(200);
  });
});
