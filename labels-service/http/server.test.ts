import { readFileSync, renameSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import {
  errorReply,
  jsonReply,
  startServer,
  unusualLabels,
} from "../../test/support/labels/running-server.ts";

const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const emptyHash = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
const zeros = `0x${"0".repeat(64)}`;
const invalidLabelhash = "Invalid labelhash - must be a valid hex string";
const tooHigh = "Requested label set version is higher than available label set version";
const idFault = 'label_set_id must have 1 to 50 characters, only a to z and "-"';
const mismatch = 'Label set id mismatch: the server holds "ens-test-env", the client requested "subgraph"';

let server: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

describe("before a database is attached", () => {
  test("the process is alive, and everything else is not ready", async () => {
    expect(await server.ask("/health")).toEqual(jsonReply({ status: "ok" }));
    const notReady = errorReply(503, "The label database is not ready yet");
    for (const path of [
      "/ready",
      `/v1/heal/${ethHash}`,
      "/v1/heal/nonsense",
      "/v1/heal",
      "/v1/labels/count",
      "/v1/config",
      "/v1/version",
    ]) {
      expect(await server.ask(path)).toEqual(notReady);
    }
    expect(await server.post({ labelhashes: [] })).toEqual(notReady);
    expect((await server.ask("/metrics")).body).toContain("labels_ready 0");
  });
});

describe("with a database", () => {
  beforeAll(() => server.database.reload({ isForced: true }));

  test("the information endpoints describe it", async () => {
    const labelSet = { labelSetId: "ens-test-env", highestLabelSetVersion: 1 };
    expect(await server.ask("/v1/config")).toEqual(
      jsonReply({ version: "0.1.0", labelSet, recordsCount: 12 }),
    );
    expect(await server.ask("/v1/version")).toEqual(
      jsonReply({ status: "success", versionInfo: { version: "0.1.0", dbSchemaVersion: 1, labelSet } }),
    );
    expect(await server.ask("/v1/labels/count")).toEqual(
      jsonReply({ status: "success", count: 12, timestamp: "2026-01-02T03:04:05.678Z" }),
    );
  });

  test.each(unusualLabels.map((label) => [label.length > 100 ? "120 kB" : JSON.stringify(label), label]))(
    "heals %s byte for byte, alone and in a list",
    async (_, label) => {
      const healed = await server.ask(
        `/v1/heal/${labelhash(label)}?label_set_id=ens-test-env&label_set_version=0`,
      );
      expect(healed).toEqual(jsonReply({ status: "success", label }));
      expect(await server.post({ labelhashes: [labelhash(label)] })).toEqual(
        jsonReply({ status: "success", labels: [label] }),
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
    expect(await server.ask(`/v1/heal/${text}`)).toEqual(jsonReply({ status: "success", label: "eth" }));
  });

  test("takes 63 digits as a labelhash without its leading zero", async () => {
    expect(await server.ask(`/v1/heal/0x${"0".repeat(63)}`)).toEqual(errorReply(404, "Label not found"));
  });

  test.each([
    ["nothing", ""],
    ["62 digits", ethHash.slice(0, -2)],
    ["65 digits", `${ethHash}0`],
    ["another prefix", `0X${digits}`],
    ["a letter that is not a digit", `${ethHash.slice(0, -1)}g`],
    ["a digit of another script", `${ethHash.slice(0, -1)}%D9%A1`],
    ["one bracket", `[${digits}`],
    ["broken URL encoding", `${ethHash.slice(0, -1)}%ZZ`],
  ])("refuses %s as a labelhash", async (_, text) => {
    expect(await server.ask(`/v1/heal/${text}`)).toEqual(errorReply(400, invalidLabelhash));
  });

  test.each([
    ["?label_set_id=ens-test-env&label_set_version=0", 404],
    ["?label_set_id=ens-test-env&label_set_version=1", 200],
    ["?label_set_id=ens-test-env", 200],
    ["", 200],
    ["?label_set_id=&label_set_version=", 200],
    ["?other=1", 200],
    ["?label_set_id=ens-test-env&label_set_id=other&label_set_version=0&label_set_version=7", 404],
  ])("a heal of a label of version 1 with query %j returns %i", async (query, status) => {
    expect((await server.ask(`/v1/heal/${labelhash("new")}${query}`)).status).toBe(status);
  });

  const versionFault = "label_set_version must be a non-negative integer";
  test.each([
    // Each row is checked from left to right, and the first error counts.
    ["", invalidLabelhash],
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
  ])("GET /v1/heal%s is rejected for its first error", async (path, message) => {
    expect(await server.ask(`/v1/heal${path}`)).toEqual(errorReply(400, message));
  });

  test("heals a list in order, within the pinned version", async () => {
    const labelhashes = [labelhash("new"), `[${ethHash.slice(2)}]`, zeros, emptyHash];
    expect(await server.post({ labelhashes })).toEqual(
      jsonReply({ status: "success", labels: ["new", "eth", null, ""] }),
    );
    expect(await server.post({ labelhashes, label_set_id: "ens-test-env", label_set_version: 0 })).toEqual(
      jsonReply({ status: "success", labels: [null, "eth", null, ""] }),
    );
    expect(await server.post({ labelhashes: [] })).toEqual(jsonReply({ status: "success", labels: [] }));
  });

  test("heals a list of many pieces in order, unknown, repeated and long labels included", async () => {
    const asked = Array.from(
      { length: 1_500 },
      (_, i) => [...unusualLabels, "eth", "unknown"][(i * 7) % 11] ?? "",
    );
    const { body } = await server.post({ labelhashes: asked.map(labelhash) });
    expect(body.labels).toEqual(asked.map((label) => (label === "unknown" ? null : label)));
  });

  test("heals a list as one JSON value per line", async () => {
    const response = await fetch(`${server.base}/v1/heal`, {
      method: "POST",
      headers: { accept: "application/x-ndjson" },
      body: JSON.stringify({ labelhashes: [ethHash, zeros, labelhash("cr\rhere")] }),
    });
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(await response.text()).toBe('"eth"\nnull\n"cr\\rhere"\n');
  });

  test("heals the longest list", async () => {
    const labelhashes = Array.from({ length: 10_000 }, (_, i) => (i % 2 ? ethHash : zeros));
    const { body } = await server.post({ labelhashes });
    expect(body.labels).toEqual(labelhashes.map((labelhash) => (labelhash === ethHash ? "eth" : null)));
    expect(await server.post({ labelhashes: [...labelhashes, ethHash] })).toEqual(
      errorReply(400, "labelhashes: 10001 are too many, at most 10000 are healed at once"),
    );
  });

  test.each([
    ["", "body: must be a JSON object"],
    ["[]", "body: must be a JSON object"],
    ["{", "body: must be a JSON object"],
    ["{}", "labelhashes: must be a list of labelhashes"],
    ['{"labelhashes":"0x"}', "labelhashes: must be a list of labelhashes"],
    ['{"labelhashes":[1]}', `labelhashes[0]: ${invalidLabelhash}`],
    [`{"labelhashes":["${zeros}","0x"]}`, `labelhashes[1]: ${invalidLabelhash}`],
    // The low byte of this character is the last digit, "0".
    [`{"labelhashes":["${ethHash.slice(0, -1)}\\u0130"]}`, `labelhashes[0]: ${invalidLabelhash}`],
    ['{"labelhashes":[],"label_set_id":5}', "label_set_id: must be a string"],
    ['{"labelhashes":[],"label_set_version":"0"}', "label_set_version: must be a non-negative integer"],
    [
      '{"labelhashes":[],"label_set_id":"x","label_set_version":-1}',
      "label_set_version: must be a non-negative integer",
    ],
    [
      '{"labelhashes":[],"label_set_id":"x","label_set_version":0.5}',
      "label_set_version: must be a non-negative integer",
    ],
    [
      '{"labelhashes":[],"label_set_id":"x","label_set_version":9007199254740992}',
      "label_set_version: must be a non-negative integer",
    ],
    ['{"labelhashes":[],"label_set_version":0}', "label_set_id is required when label_set_version is given"],
    ['{"labelhashes":["x"],"label_set_id":"B"}', idFault],
    ['{"labelhashes":["x"],"label_set_id":"subgraph"}', `labelhashes[0]: ${invalidLabelhash}`],
    ['{"labelhashes":[],"label_set_id":"subgraph"}', mismatch],
    ['{"labelhashes":[],"label_set_id":"ens-test-env","label_set_version":2}', tooHigh],
  ])("POST /v1/heal refuses %s", async (body, message) => {
    expect(await server.post(body)).toEqual(errorReply(400, message));
  });

  test("refuses a body that is too large, or compressed", async () => {
    expect(await server.post(" ".repeat(1024 * 1024 + 1))).toEqual(
      errorReply(413, "The body has more than 1048576 bytes"),
    );
    const body = gzipSync(JSON.stringify({ labelhashes: [] }));
    const init = { method: "POST", headers: { "content-encoding": "gzip" }, body };
    expect((await server.ask("/v1/heal", init)).status).toBe(400);
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
    expect(await server.ask(path, { method })).toEqual({
      status: 404,
      type: "text/plain; charset=UTF-8",
      body: "404 Not Found",
    });
  });

  test("HEAD is like GET without a body", async () => {
    for (const [path, status] of [
      [`/v1/heal/${ethHash}`, 200],
      [`/v1/heal/${zeros}`, 404],
      ["/health", 200],
      ["/nope", 404],
    ] as const) {
      const response = await fetch(server.base + path, { method: "HEAD" });
      expect([response.status, await response.text(), response.headers.get("content-length")]).toEqual([
        status,
        "",
        null,
      ]);
    }
  });

  test("web pages of any origin may use paths below /v1, 404s included, and nothing else", async () => {
    for (const [path, origin] of [
      [`/v1/heal/${ethHash}`, "*"],
      ["/v1/heal/x", "*"],
      ["/v1/nope", "*"],
      ["/health", null],
      ["/ready", null],
      ["/metrics", null],
      ["/", null],
    ] as const) {
      expect((await fetch(server.base + path)).headers.get("access-control-allow-origin")).toBe(origin);
    }
  });

  test("answers CORS preflights", async () => {
    const response = await fetch(`${server.base}/v1/anything`, {
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
    const { port } = server;
    const body = JSON.stringify({
      labelhashes: Array.from({ length: 200 }, () => labelhash("x".repeat(120_000))),
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
    expect((await server.ask("/ready")).status).toBe(200);
    expect(server.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("answers any path and query without an error of its own", async () => {
    const text = fc.stringMatching(/^[!-~]{0,80}$/);
    const path = fc.oneof(
      text.map((rest) => `/${rest}`),
      text.map((rest) => `/v1/heal/${rest}`),
      text.map((rest) => `/v1/heal/${ethHash}?${rest}`),
      fc
        .tuple(text, text)
        .map(([id, version]) => `/v1/heal/${ethHash}?label_set_id=${id}&label_set_version=${version}`),
    );
    await fc.assert(
      fc.asyncProperty(path, fc.constantFrom("GET", "HEAD", "POST", "OPTIONS"), async (path, method) => {
        const status = await new Promise((resolve, reject) => {
          const asked = request({ port: server.port, host: "127.0.0.1", path, method }, (answer) => {
            answer.resume().on("end", () => resolve(answer.statusCode));
          });
          asked.on("error", reject).end();
        });
        expect([200, 204, 400, 404]).toContain(status);
      }),
      { numRuns: 300 },
    );
  });

  test("counts requests by route and outcome", async () => {
    const { body, type } = await server.ask("/metrics");
    expect(type).toMatch(/^text\/plain/);
    expect(body).toMatch(/^labels_requests_total\{route="heal",outcome="healed"\} \d+$/m);
    expect(body).toMatch(/^labels_requests_total\{route="heal",outcome="refused"\} \d+$/m);
    expect(body).toMatch(/^labels_heal_duration_seconds_count\{route="heal"\} \d+$/m);
    expect(body).toContain("labels_records 12");
    expect(body).toContain('labels_highest_label_set_version{label_set_id="ens-test-env"} 1');
    const documented = new Set(readFileSync("docs/operations.md", "utf8").match(/`labels_[a-z_]+`/g));
    const shown = [...String(body).matchAll(/^# TYPE (labels_\S+)/gm)].map(([, name]) => `\`${name}\``);
    expect(new Set(shown)).toEqual(documented);
  });

  test("does not log individual requests", () => {
    expect(server.logged).toEqual(["info label database attached"]);
  });

  test("picks up another database, while a list is still being sent from the old one", async () => {
    const labelhashes = Array.from({ length: 200 }, () => labelhash("x".repeat(120_000)));
    const sending = fetch(`${server.base}/v1/heal`, {
      method: "POST",
      body: JSON.stringify({ labelhashes }),
    });
    const response = await sending;
    renameSync(server.older, server.databasePath);
    server.database.reload({ isForced: false });
    expect((await server.ask("/v1/config")).body.labelSet).toEqual({
      labelSetId: "ens-test-env",
      highestLabelSetVersion: 0,
    });
    expect((await response.text()).length).toBeGreaterThan(24_000_000);
    expect((await server.ask(`/v1/heal/${labelhash("new")}`)).status).toBe(404);
  });
});
