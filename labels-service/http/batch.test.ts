import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { bytesToHex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import { digestsOf } from "../../test/support/digests.ts";
import { batchOf, createLabelDatabase } from "../store/database.ts";
import { errorReply, jsonReply, startServer } from "../test-support/running-server.ts";
import { parseBatchBody } from "./batch.ts";
import { healList } from "./heal.ts";

const eth = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const parse = (text: string) => parseBatchBody(Buffer.from(text));

describe("a batch's body", () => {
  test.each([
    `{"labelhashes":["${eth}","${eth}"]}`,
    `{"labelhashes": ["${eth}", "${eth}"]}`,
    `{"label_set_id":"[\\"0x","labelhashes":["${eth}","${eth}"],"label_set_version":0}`,
  ])("is read as bytes: %s", (text) => {
    expect(parse(text).digests).toEqual(digestsOf(["eth", "eth"]));
    expect({ ...(parse(text).json as object), labelhashes: [] }).toEqual({
      ...JSON.parse(text),
      labelhashes: [],
    });
  });

  test.each([
    '{"labelhashes":[]}',
    `{"labelhashes":["${eth}","${eth.slice(2)}"]}`,
    `{"labelhashes":["${eth}",null]}`,
    `{"labelhashes":["${eth.toUpperCase()}"]}`,
    `{"labelhashes":["${eth}","0x\\u0034f5b"]}`,
    `{"labelhashes":"${eth}"}`,
    `{"other":["${eth}"],"labelhashes":[]}`,
    `{"deep":{"labelhashes":["${eth}"]},"labelhashes":["${eth}"]}`,
    `{"labelhashes":["${eth}"],"labelhashes":["x"]}`,
    `["${eth}"]`,
    `[["${eth}"]]`,
    `{"labelhashes":["${eth}"`,
    `{"labelhashes":["${eth}",]}`,
    `{"labelhashes":["${eth}"]`,
    "",
  ])("is read as JSON only: %s", (text) => {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {}
    expect(parse(text)).toEqual({ json, digests: undefined });
  });

  test("has the same meaning either way", () => {
    const labelhash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes));
    const item = fc.oneof({ weight: 20, arbitrary: labelhash }, fc.string());
    const body = fc.record(
      { label_set_id: fc.string(), labelhashes: fc.array(item), other: fc.array(labelhash) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, fc.constantFrom(undefined, 1), (value, indent) => {
        const { json, digests } = parse(JSON.stringify(value, null, indent));
        const given = value.labelhashes ?? [];
        const read = digests === undefined ? json : { ...(json as object), labelhashes: given };
        expect(read).toEqual(value);
        if (digests) expect(bytesToHex(digests)).toBe(`0x${given.map((text) => text.slice(2)).join("")}`);
      }),
    );
  });

  test("of any bytes throws nothing", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (before, after) => {
        parseBatchBody(Buffer.concat([before, Buffer.from(`["${eth}"`), after]));
      }),
    );
  });
});

const longLabel = "long".repeat(1000);
const labels = ["", "\0", longLabel, ...Array.from({ length: 2500 }, (_, i) => `label${i}`)];

let folder: string;
let file: LabelFile;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heal-list-"));
  const path = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(path, "ens-test-env");
  writer.add(batchOf(labels));
  writer.finish(new Date(0));
  file = openLabelFile(path);
});
afterAll(() => {
  file.close();
  rmSync(folder, { recursive: true });
});

describe("a list of labelhashes", () => {
  test("is healed in order, unknown, repeated and long labels included", async () => {
    const asked = [
      ...labels.toReversed(),
      "unknown",
      longLabel,
      "label7",
      "label7",
      "unknown too",
      longLabel,
    ];
    const { pieces } = await healList(file, digestsOf(asked), 0);
    expect([...pieces()].flat()).toEqual(
      asked.map((label) => (label.startsWith("unknown") ? undefined : label)),
    );
  });

  test("comes in pieces of 2000 labels, long ones in pieces of 256 KiB", async () => {
    const lengths = async (asked: string[]) =>
      [...(await healList(file, digestsOf(asked), 0)).pieces()].map((piece) => piece.length);
    expect(await lengths(labels)).toEqual([2000, 503]);
    // 66 labels of 4,000 bytes are more than 262,144 bytes, 65 are not.
    expect(await lengths(new Array(140).fill(longLabel))).toEqual([66, 66, 8]);
  });

  test("has labels of 64 KiB as JSON, of which there is one copy", async () => {
    const path = join(folder, "long.sqlite");
    const long = 'é"'.repeat(25_000);
    const writer = createLabelDatabase(path, "ens-test-env");
    writer.add(batchOf(["short", long]));
    writer.finish(new Date(0));
    const longFile = openLabelFile(path);
    const asked = digestsOf(["short", long, "unknown", long]);
    const [before, first, between, second, ...more] = [...(await healList(longFile, asked, 0)).pieces()];
    expect([before, between, more]).toEqual([["short"], [undefined], []]);
    expect(Buffer.from(first as Uint8Array).toString()).toBe(`"${'é\\"'.repeat(25_000)}"`);
    expect((second as Uint8Array).buffer).toBe((first as Uint8Array).buffer);
    longFile.close();
  });

  test("knows how many bytes it has before long labels are read", async () => {
    const bytesOf = async (asked: string[]) => {
      const { bytes, heldBytes } = await healList(file, digestsOf(asked), 0);
      return [bytes, heldBytes];
    };
    expect(await bytesOf(["label7", "unknown", ""])).toEqual([6, 6]);
    expect(await bytesOf(["label7", ...new Array(10_000).fill(longLabel)])).toEqual([
      40_000_006,
      6 + 256 * 1024,
    ]);
  });

  test("may be empty", async () => {
    const { bytes, pieces } = await healList(file, digestsOf([]), 0);
    expect([bytes, ...pieces()]).toEqual([0]);
  });
});

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

  test("sends many long labels as fast as the client reads", async () => {
    const labelhashes = Array.from({ length: 200 }, () => labelhash("x".repeat(120_000)));
    const response = await fetch(`${server.base}/v1/heal`, {
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
