import { copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { labelhashOf } from "../../src/ens/labels.ts";
import { createLiveDatabase, type LiveDatabase } from "../live-database.ts";
import { ingestBytes } from "../test-support/ingest-text.ts";
import { createLabelsServer } from "./server.ts";

const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const emptyHash = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
const zeros = `0x${"0".repeat(64)}`;
const unusual = [
  "",
  "\0",
  "a.b",
  '"quoted"',
  "back\\slash\\ud800",
  "cr\rhere",
  "\u2028\u2029",
  "\u007f\u0085\u202e",
  "x".repeat(120_000),
];
const invalidLabelhash = "Invalid labelhash - must be a valid hex string";

let folder: string;
let database: LiveDatabase;
let server: Server;
let base: string;
const logged: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "server-"));
  const databasePath = join(folder, "labels.sqlite");
  await ingestBytes(["eth", "xyz", ...unusual].join("\n"), { databasePath, format: "text" });
  copyFileSync(databasePath, join(folder, "version-0.sqlite"));
  await ingestBytes("new\neth\n", { databasePath, labelSetVersion: 1 });
  const log = (level: string, message: string) => void logged.push(`${level} ${message}`);
  database = createLiveDatabase(databasePath, log);
  server = createLabelsServer({
    database,
    log,
    now: () => new Date("2026-01-02T03:04:05.678Z"),
    logsRequests: false,
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  database.close();
  rmSync(folder, { recursive: true });
});

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(base + path, init);
  const text = await response.text();
  const type = response.headers.get("content-type");
  return { status: response.status, type, body: type?.endsWith("json") ? JSON.parse(text) : text };
}

const error = (status: number, message: string) => ({
  status,
  type: "application/json",
  body: { status: "error", error: message, errorCode: status },
});
const json = (body: unknown) => ({ status: 200, type: "application/json", body });
const post = (body: unknown, headers: Record<string, string> = {}) =>
  ask("/v1/heal", { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });

describe("before a database is attached", () => {
  test("the process is alive, and everything else is not ready", async () => {
    expect(await ask("/health")).toEqual(json({ status: "ok" }));
    const notReady = error(503, "The label database is not ready yet");
    for (const path of [
      "/ready",
      `/v1/heal/${ethHash}`,
      "/v1/heal/nonsense",
      "/v1/heal",
      "/v1/labels/count",
      "/v1/config",
      "/v1/version",
    ]) {
      expect(await ask(path)).toEqual(notReady);
    }
    expect(await post({ labelhashes: [] })).toEqual(notReady);
    expect((await ask("/metrics")).body).toContain("labels_ready 0");
  });
});

describe("with a database", () => {
  beforeAll(() => database.reload({ isForced: true }));

  test("it is ready", async () => {
    expect(await ask("/ready")).toEqual(json({ status: "ok" }));
    expect(await ask("/health")).toEqual(json({ status: "ok" }));
  });

  test("the information endpoints tell of it", async () => {
    const labelSet = { labelSetId: "ens-test-env", highestLabelSetVersion: 1 };
    expect(await ask("/v1/config")).toEqual(json({ version: "0.1.0", labelSet, recordsCount: 12 }));
    expect(await ask("/v1/version")).toEqual(
      json({ status: "success", versionInfo: { version: "0.1.0", dbSchemaVersion: 1, labelSet } }),
    );
    expect(await ask("/v1/labels/count")).toEqual(
      json({ status: "success", count: 12, timestamp: "2026-01-02T03:04:05.678Z" }),
    );
  });

  test.each(unusual.map((label) => [label.length > 100 ? "120 kB" : JSON.stringify(label), label]))(
    "heals %s byte for byte, alone and in a list",
    async (_, label) => {
      const healed = await ask(
        `/v1/heal/${labelhashOf(label)}?label_set_id=ens-test-env&label_set_version=0`,
      );
      expect(healed).toEqual(json({ status: "success", label }));
      expect(await post({ labelhashes: [labelhashOf(label)] })).toEqual(
        json({ status: "success", labels: [label] }),
      );
    },
  );

  const digits = ethHash.slice(2);
  test.each([
    ["as it should be", ethHash],
    ["in upper case", `0x${digits.toUpperCase()}`],
    ["without prefix", digits],
    ["in brackets", `[${digits}]`],
    ["in brackets, URL-encoded", `%5B${digits}%5D`],
    ["in brackets with prefix", `[${ethHash}]`],
  ])("takes a labelhash %s", async (_, text) => {
    expect(await ask(`/v1/heal/${text}`)).toEqual(json({ status: "success", label: "eth" }));
  });

  test("takes 63 digits as a labelhash without its leading zero", async () => {
    expect(await ask(`/v1/heal/0x${"0".repeat(63)}`)).toEqual(error(404, "Label not found"));
  });

  test.each([
    ["nothing", ""],
    ["62 digits", ethHash.slice(0, -2)],
    ["65 digits", `${ethHash}0`],
    ["another prefix", `0X${digits}`],
    ["a letter that is no digit", `${ethHash.slice(0, -1)}g`],
    ["a digit of another script", `${ethHash.slice(0, -1)}%D9%A1`],
    ["one bracket", `[${digits}`],
    ["broken URL encoding", `${ethHash.slice(0, -1)}%ZZ`],
  ])("refuses %s as a labelhash", async (_, text) => {
    expect(await ask(`/v1/heal/${text}`)).toEqual(error(400, invalidLabelhash));
  });

  test("a heal without a labelhash is a bad request", async () => {
    expect(await ask("/v1/heal")).toEqual(error(400, invalidLabelhash));
  });

  test.each([
    ["?label_set_id=ens-test-env&label_set_version=0", 404],
    ["?label_set_id=ens-test-env&label_set_version=1", 200],
    ["?label_set_id=ens-test-env", 200],
    ["", 200],
    ["?label_set_id=&label_set_version=", 200],
    ["?other=1", 200],
    ["?label_set_id=ens-test-env&label_set_id=other&label_set_version=0&label_set_version=7", 404],
  ])("a label of version 1 is answered to a query of %j with %i", async (query, status) => {
    expect((await ask(`/v1/heal/${labelhashOf("new")}${query}`)).status).toBe(status);
  });

  const tooHigh = "Requested label set version is higher than available label set version";
  const versionFault = "label_set_version must be a non-negative integer";
  const idFault = 'label_set_id must have 1 to 50 characters, only a to z and "-"';
  const mismatch = 'Label set id mismatch: the server holds "ens-test-env", the client requested "subgraph"';
  test.each([
    // What is wrong in each row is checked from left to right, whatever else is wrong too.
    ["/nonsense?label_set_id=BAD&label_set_version=x", versionFault],
    ["/nonsense?label_set_version=1.5", versionFault],
    ["/nonsense?label_set_version=-1", versionFault],
    ["/nonsense?label_set_version=%20", versionFault],
    ["/nonsense?label_set_version=0x0", versionFault],
    ["/nonsense?label_set_version=0e0", versionFault],
    ["/nonsense?label_set_version=9007199254740992", versionFault],
    ["/nonsense?label_set_id=BAD&label_set_version=9", idFault],
    [`/nonsense?label_set_id=${"a".repeat(51)}`, idFault],
    ["/nonsense?label_set_version=9", "label_set_id is required when label_set_version is given"],
    ["/nonsense?label_set_id=subgraph&label_set_version=9", invalidLabelhash],
    [`/${zeros}?label_set_id=subgraph&label_set_version=9`, mismatch],
    [`/${zeros}?label_set_id=ens-test-env&label_set_version=2`, tooHigh],
  ])("GET /v1/heal%s is refused for the first of its faults", async (path, message) => {
    expect(await ask(`/v1/heal${path}`)).toEqual(error(400, message));
  });

  test("heals a list in order, within the pinned version", async () => {
    const labelhashes = [labelhashOf("new"), `[${digits}]`, zeros, emptyHash];
    expect(await post({ labelhashes })).toEqual(
      json({ status: "success", labels: ["new", "eth", null, ""] }),
    );
    expect(await post({ labelhashes, label_set_id: "ens-test-env", label_set_version: 0 })).toEqual(
      json({ status: "success", labels: [null, "eth", null, ""] }),
    );
    expect(await post({ labelhashes: [] })).toEqual(json({ status: "success", labels: [] }));
  });

  test("heals a list as one JSON value a line", async () => {
    const response = await fetch(`${base}/v1/heal`, {
      method: "POST",
      headers: { accept: "application/x-ndjson" },
      body: JSON.stringify({ labelhashes: [ethHash, zeros, labelhashOf("cr\rhere")] }),
    });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(await response.text()).toBe('"eth"\nnull\n"cr\\rhere"\n');
  });

  test("heals the longest list", async () => {
    const labelhashes = Array.from({ length: 10_000 }, (_, i) => (i % 2 ? ethHash : zeros));
    const { body } = await post({ labelhashes });
    expect(body.labels).toEqual(labelhashes.map((labelhash) => (labelhash === ethHash ? "eth" : null)));
    expect(await post({ labelhashes: [...labelhashes, ethHash] })).toEqual(
      error(400, "labelhashes: 10001 are too many, at most 10000 are healed at once"),
    );
  });

  test("sends many long labels as fast as they are taken", async () => {
    const labelhashes = Array.from({ length: 200 }, () => labelhashOf("x".repeat(120_000)));
    const response = await fetch(`${base}/v1/heal`, {
      method: "POST",
      body: JSON.stringify({ labelhashes }),
    });
    expect((await response.text()).length).toBeGreaterThan(24_000_000);
  });

  test.each([
    ["", "body: must be a JSON object"],
    ["[]", "body: must be a JSON object"],
    ["{", "body: must be a JSON object"],
    ["{}", "labelhashes: must be a list of labelhashes"],
    ['{"labelhashes":"0x"}', "labelhashes: must be a list of labelhashes"],
    ['{"labelhashes":[1]}', `labelhashes[0]: ${invalidLabelhash}`],
    [`{"labelhashes":["${zeros}","0x"]}`, `labelhashes[1]: ${invalidLabelhash}`],
    ['{"labelhashes":[],"label_set_id":5}', "label_set_id: Expected string, received number"],
    ['{"labelhashes":[],"label_set_version":"0"}', "label_set_version: Expected number, received string"],
    ['{"labelhashes":[],"label_set_version":0}', "label_set_id is required when label_set_version is given"],
    ['{"labelhashes":["x"],"label_set_id":"B"}', idFault],
    ['{"labelhashes":["x"],"label_set_id":"subgraph"}', `labelhashes[0]: ${invalidLabelhash}`],
    ['{"labelhashes":[],"label_set_id":"subgraph"}', mismatch],
    ['{"labelhashes":[],"label_set_id":"ens-test-env","label_set_version":2}', tooHigh],
  ])("POST /v1/heal refuses %s", async (body, message) => {
    expect(await post(body)).toEqual(error(400, message));
  });

  test("refuses a body that is too large", async () => {
    expect(await post(" ".repeat(1024 * 1024 + 1))).toEqual(
      error(413, "The body has more than 1048576 bytes"),
    );
  });

  test.each([
    ["GET", "/"],
    ["GET", "/v1/nothing"],
    ["GET", `/v1/heal/${ethHash}/`],
    ["GET", "/health/"],
    ["GET", "/v1/config/"],
    ["POST", `/v1/heal/${ethHash}`],
    ["POST", "/health"],
    ["PUT", "/v1/heal"],
    ["DELETE", "/v1/config"],
    ["OPTIONS", "/health"],
  ])("%s %s is not found", async (method, path) => {
    expect(await ask(path, { method })).toEqual({
      status: 404,
      type: "text/plain; charset=UTF-8",
      body: "404 Not Found",
    });
  });

  test("HEAD is GET without a body", async () => {
    for (const [path, status] of [
      [`/v1/heal/${ethHash}`, 200],
      [`/v1/heal/${zeros}`, 404],
      ["/health", 200],
      ["/nope", 404],
    ] as const) {
      const response = await fetch(base + path, { method: "HEAD" });
      expect([response.status, await response.text(), response.headers.get("content-length")]).toEqual([
        status,
        "",
        null,
      ]);
    }
  });

  test("web pages of any origin may use what is below /v1, also its 404s, and nothing else", async () => {
    for (const [path, origin] of [
      [`/v1/heal/${ethHash}`, "*"],
      ["/v1/heal/x", "*"],
      ["/v1/nope", "*"],
      ["/health", null],
      ["/ready", null],
      ["/metrics", null],
      ["/", null],
    ] as const) {
      expect((await fetch(base + path)).headers.get("access-control-allow-origin")).toBe(origin);
    }
  });

  test("answers what browsers ask before a request", async () => {
    const response = await fetch(`${base}/v1/anything`, {
      method: "OPTIONS",
      headers: { "access-control-request-headers": "content-type,x-other" },
    });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "HEAD,GET,POST,OPTIONS",
      "access-control-allow-headers": "content-type,x-other",
      vary: "Access-Control-Request-Headers",
    });
  });

  test("survives clients that leave in the middle, and bytes that are no HTTP", async () => {
    const { port } = server.address() as AddressInfo;
    const body = JSON.stringify({
      labelhashes: Array.from({ length: 200 }, () => labelhashOf("x".repeat(120_000))),
    });
    for (const bytes of [
      "POST /v1/heal HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{",
      `POST /v1/heal HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      "\x16\x03\x01\0\0\r\n\r\n",
      `GET /v1/heal/${"f".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
    ]) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.destroy();
    }
    expect((await ask("/ready")).status).toBe(200);
    expect(logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("counts requests by route and outcome", async () => {
    const { body, type } = await ask("/metrics");
    expect(type).toMatch(/^text\/plain/);
    expect(body).toMatch(/^labels_requests_total\{route="heal",outcome="healed"\} \d+$/m);
    expect(body).toMatch(/^labels_requests_total\{route="heal_batch",outcome="refused"\} \d+$/m);
    expect(body).toMatch(/^labels_heal_duration_seconds_count\{route="heal"\} \d+$/m);
    expect(body).toContain("labels_records 12");
    expect(body).toContain('labels_highest_label_set_version{label_set_id="ens-test-env"} 1');
  });

  test("logs nothing for single requests", () => {
    expect(logged).toEqual(["info label database attached"]);
  });

  test("takes up another database, while a list is still being sent from the old one", async () => {
    const labelhashes = Array.from({ length: 200 }, () => labelhashOf("x".repeat(120_000)));
    const sending = fetch(`${base}/v1/heal`, { method: "POST", body: JSON.stringify({ labelhashes }) });
    const response = await sending;
    renameSync(join(folder, "version-0.sqlite"), database.current()!.path);
    database.reload({ isForced: false });
    expect((await ask("/v1/config")).body.labelSet).toEqual({
      labelSetId: "ens-test-env",
      highestLabelSetVersion: 0,
    });
    expect((await response.text()).length).toBeGreaterThan(24_000_000);
    expect((await ask(`/v1/heal/${labelhashOf("new")}`)).status).toBe(404);
  });
});

test("compressed bodies are not understood", async () => {
  const body = gzipSync(JSON.stringify({ labelhashes: [] }));
  const response = await fetch(`${base}/v1/heal`, {
    method: "POST",
    headers: { "content-encoding": "gzip" },
    body,
  });
  expect(response.status).toBe(400);
});
