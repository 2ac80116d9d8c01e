import { gzipSync } from "node:zlib";
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
  server.database.reload({ isForced: true });
});
afterAll(() => server.stop());

describe("batch heal", () => {
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

  test("refuses a body that is too large", async () => {
    expect(await server.post(" ".repeat(1024 * 1024 + 1))).toEqual(
      errorReply(413, "The body has more than 1048576 bytes"),
    );
  });

  test("compressed bodies are rejected", async () => {
    const body = gzipSync(JSON.stringify({ labelhashes: [] }));
    const response = await fetch(`${server.base}/v1/heal`, {
      method: "POST",
      headers: { "content-encoding": "gzip" },
      body,
    });
    expect(response.status).toBe(400);
  });
});
