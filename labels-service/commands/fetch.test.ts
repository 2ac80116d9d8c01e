import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { folderForEach, temporaryFolders } from "../../test/support/folders.ts";
import { ingestBytes, labelSet, runCommand, start } from "../../test/support/labels/commands.ts";
import { startServer } from "../../test/support/server.ts";
import { ingest } from "../ingest/ingest.ts";
import { readDatabase } from "../store/database.ts";
import { fetchLabelSet, findLabelSet, type LabelSetSource } from "./fetch.ts";
import { validate } from "./validate.ts";

const folderOf = folderForEach("fetch-");
const newFolder = temporaryFolders("fetch-set-");

/** A label set of 2,000 labels, as its server has it. */
let file: Buffer;
beforeAll(async () => {
  const folder = newFolder();
  const labels = Array.from({ length: 2_000 }, (_, i) => `label${i}\n`).join("");
  await runCommand(["ingest", "-", ...labelSet("x", 0)], { folder, stdin: labels });
  const path = join(folder, "x_0.ensrainbow");
  await runCommand(["export", "--output", path], { folder });
  file = readFileSync(path);
});

const sumOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

type Answer = (request: IncomingMessage, response: ServerResponse, attempt: number) => unknown;

/** Sends a file, or the range of it that is requested (RFC 9110, 14). The line breaks when `until` bytes arrived. */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes = file, until = bytes.length }: { bytes?: Buffer; until?: number } = {},
) {
  const [, from = "0"] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
  const size = bytes.length;
  if (request.headers.range === undefined) response.writeHead(200, { "content-length": size });
  else response.writeHead(206, { "content-range": `bytes ${from}-${size - 1}/${size}` });
  if (until >= size) return response.end(bytes.subarray(Number(from)));
  response.write(bytes.subarray(Number(from), until));
  while (partSize() < until && !response.destroyed) await setTimeout(2);
  response.destroy();
}

const sendAll: Answer = (request, response) => send(request, response);

const database = () => join(folderOf(), "data/labels.sqlite");

/** Bytes that are downloaded. */
function partSize(): number {
  const folder = `${database()}.ingest`;
  const [name] = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".download")) : [];
  return name === undefined ? 0 : statSync(join(folder, name)).size;
}

/** A server of label set x, version 0, whose file comes from `answer`. `asked` lists paths and ranges. */
async function startHost(
  answer: Answer = sendAll,
  { sum = () => sumOf(file), licence = "Do as you like." } = {},
) {
  const asked: string[] = [];
  let attempts = 0;
  const listener: RequestListener = (request, response) => {
    asked.push([request.url, request.headers.range].filter(Boolean).join(" "));
    if (request.url?.endsWith(".sha256sum")) return response.end(`${sum()}  x_0.ensrainbow\n`);
    if (!request.url?.endsWith(".LICENSE.txt")) return answer(request, response, ++attempts);
    response.writeHead(licence === "" ? 404 : 200).end(licence);
  };
  const server = await startServer(listener);
  const ofFile = () => asked.filter((line) => /\.ensrainbow( |$)/.test(line));
  return { server, asked, ofFile };
}

/** Fetches without real pauses; `waits` are those that were due. */
async function fetchFrom(source: LabelSetSource, limits: { freeBytes?: number; idleMs?: number } = {}) {
  const waits: number[] = [];
  let remarks = "";
  const outcome = { waits, remarks: () => remarks };
  const task = await fetchLabelSet(source, {
    databasePath: database(),
    idleMs: limits.idleMs ?? 60_000,
    wait: async (ms) => void waits.push(ms),
    freeBytes: async () => limits.freeBytes ?? 1e12,
    stderr: {
      write: (text) => {
        remarks += text;
      },
    },
  });
  const report = task && (await ingest({ ...task, now: () => new Date(0) }));
  return { ...outcome, report };
}

const x = (server: string, version = 0) =>
  findLabelSet({ labelSetId: "x", labelSetVersion: version }, server);
const fetchX = (server: string, limits = {}) => fetchFrom(x(server), limits);

function expectLabels(count: number) {
  const found = readDatabase(database(), (reader) => validate(reader, { write: () => {} }));
  expect(found).toEqual({ labels: count, faults: 0, descriptions: [] });
}

const inFolder = () => (existsSync(join(database(), "..")) ? readdirSync(join(database(), "..")).sort() : []);

describe("the command", () => {
  const run = (labelsServer: string, args = ["x", "0"]) =>
    runCommand(["fetch", ...args], { folder: folderOf(), labelsServer });

  test("fetches and ingests a version, keeps its licence, and leaves nothing else", async () => {
    const { server, asked } = await startHost();
    const { code, stdout, stderr } = await run(`${server}/sets/`);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `Downloading x_0.ensrainbow at ${new URL(server).host}.\n`,
    });
    expect(stdout).toMatch(/^Ingested version 0 of "x" from ensrainbow: 2,000 rows/);
    const path = "/sets/labelsets/x_0.ensrainbow";
    expect(asked).toEqual([`${path}.sha256sum`, path, `${path}.LICENSE.txt`]);
    expectLabels(2_000);
    expect(inFolder()).toEqual(["labels.sqlite", "x_0.LICENSE.txt"]);
    expect(readFileSync(join(database(), "../x_0.LICENSE.txt"), "utf8")).toBe("Do as you like.");
  });

  test("does not download what is there, and refuses another content of it", async () => {
    let sum = sumOf(file);
    const { server, ofFile } = await startHost(sendAll, { sum: () => sum });
    await run(server);
    const before = readFileSync(database());
    expect(await run(server)).toMatchObject({
      code: 0,
      stdout: `Version 0 of "x" is already in ${database()}.\n`,
    });
    sum = "0".repeat(64);
    const { code, stderr } = await run(server);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The database has another version 0 of "x" with 2,000 labels\. /),
    });
    expect(ofFile()).toHaveLength(1);
    expect(readFileSync(database()).equals(before)).toBe(true);
  });

  test.each([
    [["y", "0"], 'The database holds label set "x"; "y" does not belong in it.\n'],
    [["x", "2"], "The database holds versions 0 to 0; only version 1 can be ingested, not version 2.\n"],
    [["X", "0"], 'A label set id has 1 to 50 characters, only a to z and "-".\n'],
    [["x", "-1"], "error: unknown option '-1'\n"],
    [["x", "0x"], "Expected a whole number from 0 to 4294967295.\n"],
  ])("refuses %j before it downloads anything", async (args, message) => {
    const { server, asked } = await startHost();
    await ingestBytes("eth\n", { databasePath: database(), labelSetId: "x" });
    const { code, stderr } = await run(server, args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(asked).toEqual([]);
  });

  test.each(["ftp://host", "host", "http://user:pa55@host", "http://host/?key=1"])(
    "refuses %s as LABELS_SERVER_URL",
    async (url) => {
      expect(await run(url)).toMatchObject({
        code: 1,
        stderr: "LABELS_SERVER_URL must be an http(s):// URL without credentials and query.\n",
      });
    },
  );

  test("survives kill -9: the next attempt downloads only the rest", async () => {
    const half = Math.floor(file.length / 2);
    let isWhole = false;
    const { server, ofFile } = await startHost((request, response) => {
      if (isWhole) return send(request, response);
      response.writeHead(200, { "content-length": file.length }).write(file.subarray(0, half));
    });
    const settings = { LABELS_SERVER_URL: server };
    const { child, ended } = start(["fetch", "x", "0"], folderOf(), "", settings);
    await expect.poll(partSize, { timeout: 60_000 }).toBe(half);
    child.kill("SIGKILL");
    expect((await ended).signal).toBe("SIGKILL");
    isWhole = true;
    expect(await start(["fetch", "x", "0"], folderOf(), "", settings).ended).toMatchObject({ code: 0 });
    expect(ofFile()[1]).toContain(`bytes=${half}-`);
    expectLabels(2_000);
    expect(inFolder()).toEqual(["labels.sqlite", "x_0.LICENSE.txt"]);
  });
});

describe("a host", () => {
  test("whose line breaks again and again is asked for the rest each time", async () => {
    const { server, ofFile } = await startHost((request, response, attempt) =>
      send(request, response, { until: attempt * 5_000 }),
    );
    const { waits } = await fetchX(server);
    expectLabels(2_000);
    expect(ofFile().length).toBeGreaterThan(file.length / 5_000);
    expect(new Set(ofFile()).size).toBe(ofFile().length);
    expect(new Set(waits)).toEqual(new Set([1_000]));
  });

  test.each<[string, Answer]>([
    [
      "ignores ranges",
      (request, response, attempt) => {
        delete request.headers.range;
        send(request, response, attempt === 1 ? { until: 5_000 } : {});
      },
    ],
    [
      "does not say how long the file is",
      (_, response) => {
        response.write(file.subarray(0, 100));
        response.end(file.subarray(100));
      },
    ],
    [
      "redirects within itself",
      (request, response) =>
        request.url?.startsWith("/else")
          ? send(request, response)
          : response.writeHead(302, { location: "/else.ensrainbow" }).end(),
    ],
    [
      "had more bytes before",
      (request, response, attempt) => {
        if (attempt === 1) return send(request, response, { until: 5_000 });
        if (attempt === 2) return response.writeHead(416, { "content-range": "bytes */4000" }).end();
        send(request, response);
      },
    ],
    [
      "sends less than a range",
      (request, response, attempt) => {
        if (attempt === 1) return send(request, response, { until: 5_000 });
        const from = Number(/\d+/.exec(request.headers.range ?? "")?.[0]);
        const end = Math.min(from + 9_999, file.length - 1);
        response.writeHead(206, { "content-range": `bytes ${from}-${end}/${file.length}` });
        response.end(file.subarray(from, end + 1));
      },
    ],
  ])("that %s is used", async (_, answer) => {
    const { server } = await startHost(answer);
    await fetchX(server);
    expectLabels(2_000);
  });

  const date = (ms: number) => new Date(Date.now() + ms).toUTCString();
  test.each<[string, number, (wait: number) => boolean]>([
    ["7", 429, (wait) => wait === 7_000],
    [date(300_000), 503, (wait) => wait > 200_000 && wait <= 300_000],
    ["soon", 502, (wait) => wait === 1_000],
  ])("that is busy (Retry-After: %s, status %d) is asked again then", async (after, status, isDue) => {
    const { server } = await startHost((request, response, attempt) =>
      attempt === 1 ? response.writeHead(status, { "retry-after": after }).end() : send(request, response),
    );
    const { waits } = await fetchX(server);
    expect(waits.map(isDue)).toEqual([true]);
    expectLabels(2_000);
  });

  const status = (code: number, headers: Record<string, string> = {}): Answer => {
    return (_, response) => response.writeHead(code, headers).end("no");
  };
  test.each<[string, Answer, string, number?]>([
    ["has no file", status(404), "There is no x_0.ensrainbow at HOST."],
    ["refuses", status(403), "The request for x_0.ensrainbow at HOST is answered with status 403."],
    ["fails", status(500), "x_0.ensrainbow at HOST cannot be downloaded now: status 500.", 5],
    ["is busy for long", status(429, { "retry-after": "86400" }), "cannot be downloaded now: status 429."],
    [
      "sends a page",
      status(200, { "content-type": "text/html" }),
      "Instead of x_0.ensrainbow at HOST comes a",
    ],
    ["packs", status(200, { "content-encoding": "gzip" }), "The host packs x_0.ensrainbow at HOST for its"],
    [
      "leads to a private network",
      status(302, { location: "http://169.254.169.254/x" }),
      "HOST redirects to http://169.254.169.254, which is not a public host over TLS.",
    ],
    [
      "sends nothing",
      () => {},
      "x_0.ensrainbow at HOST cannot be downloaded now: it sends nothing for 0.1 s.",
      5,
    ],
    [
      "sends another content",
      (_, response) => response.end(Buffer.alloc(file.length)),
      "x_0.ensrainbow at HOST does not have the SHA-256",
    ],
    [
      "has another content after a break",
      (request, response, attempt) =>
        attempt === 1
          ? send(request, response, { until: 5_000 })
          : send(request, response, { bytes: Buffer.concat([file, file]) }),
      "it changed.",
      1,
    ],
    [
      "sends another range",
      (request, response, attempt) =>
        attempt === 1
          ? send(request, response, { until: 5_000 })
          : response.writeHead(206, { "content-range": `bytes 0-9/${file.length}` }).end("0123456789"),
      "x_0.ensrainbow at HOST comes with another range than requested.",
      1,
    ],
    [
      "closes each connection",
      (_, response) => response.destroy(),
      "x_0.ensrainbow at HOST cannot be downloaded now: other side closed.",
      5,
    ],
  ])("that %s leads to no database, and is named", async (_, answer, message, pauses = 0) => {
    const { server, ofFile } = await startHost(answer);
    const idleMs = message.includes("nothing") ? 100 : 60_000;
    const { host } = new URL(server);
    await expect(fetchX(server, { idleMs })).rejects.toThrow(message.replace("HOST", host));
    expect(ofFile()).toHaveLength(pauses + 1);
    expect(existsSync(database())).toBe(false);
  });

  test.each(["<html>\u001b[2J</html>", "", "a6316b1e"])(
    "whose sum is %j is asked for nothing else",
    async (sum) => {
      const { server, ofFile } = await startHost(sendAll, { sum: () => sum });
      await expect(fetchX(server)).rejects.toThrow(
        `The file of the SHA-256 at ${new URL(server).host} does not begin with one.`,
      );
      expect(ofFile()).toEqual([]);
    },
  );

  test("without a licence is used, with a remark", async () => {
    const { server } = await startHost(sendAll, { licence: "" });
    const { remarks } = await fetchX(server);
    expect(remarks()).toContain("The licence text is not kept: There is no x_0.ensrainbow.LICENSE.txt at ");
    expect(inFolder()).toEqual(["labels.sqlite"]);
  });

  test("that has not the set itself but another one is refused", async () => {
    const { server } = await startHost();
    const source = { ...x(server), labelSetId: "y" };
    await expect(fetchFrom(source)).rejects.toThrow('The file is version 0 of "x", not version 0 of "y".');
    expect(existsSync(database())).toBe(false);
  });
});

describe("a set with known places", () => {
  const nothing: Answer = (_, response) => response.writeHead(404).end();
  const known = (...servers: string[]): LabelSetSource => {
    const [first = "", ...others] = servers.map((server) => x(server).urls[0]);
    return { ...x(servers[0]!), urls: [first, ...others], sha256: sumOf(file), records: 2_000 };
  };

  test("comes from the first place that has it, and goes on where another stopped", async () => {
    const gone = await startHost(nothing);
    let fails = false;
    const broken = await startHost((request, response) => {
      if (fails) return response.writeHead(403).end();
      fails = true;
      send(request, response, { until: 5_000 });
    });
    const good = await startHost();
    const { report } = await fetchFrom(known(gone.server, broken.server, good.server));
    expect(report?.added).toBe(2_000);
    expect(good.ofFile()[0]).toMatch(/bytes=\d+-$/);
    expect([gone, broken, good].flatMap(({ asked }) => asked).join(" ")).not.toContain("sha256sum");
  });

  test("is not taken with another sum, whatever the host says", async () => {
    const { server } = await startHost();
    const source = { ...known(server), sha256: "1".repeat(64) };
    await expect(fetchFrom(source)).rejects.toThrow(`does not have the SHA-256 ${"1".repeat(64)}.`);
    const places = await Promise.all([startHost(nothing), startHost(nothing)]);
    await expect(fetchFrom(known(...places.map((place) => place.server)))).rejects.toThrow(
      /^There is no .* There is no .*\. The next run of this command resumes\.$/,
    );
    expect(existsSync(database())).toBe(false);
  });

  test("replaces no database of a trial", async () => {
    await ingestBytes("eth\n", { databasePath: database(), labelSetId: "x" });
    const { server, asked } = await startHost();
    await expect(fetchFrom(known(server))).rejects.toThrow(
      'The database has another version 0 of "x" with 1 label. A version is never replaced',
    );
    expect(asked).toEqual([]);
  });

  test("is The Graph's table for subgraph 0", () => {
    const { urls, sha256, records } = findLabelSet(
      { labelSetId: "subgraph", labelSetVersion: 0 },
      "https://a.b",
    );
    // The sum and the number of rows without the stray header, as published for the dump of January 2024.
    expect({ urls, sha256, records }).toEqual({
      urls: ["https://storage.googleapis.com/ens-files/ens_names.sql.gz", "https://a.b/ens_names.sql.gz"],
      sha256: "a6316b1e7770b1f3142f1f21d4248b849a5c6eb998e3e66336912c9750c41f31",
      records: 133_856_894,
    });
  });
});

describe("a dump", () => {
  const row = (label: string, text = label) => `${labelhash(label)}\t${text}\n`;
  const dumpOf = (invalid: number) => {
    const rows = [
      row("eth"),
      "hash\tname\n",
      ...Array.from({ length: invalid }, (_, i) => row(`a${i}`, "x")),
    ];
    return gzipSync(`COPY public.ens_names (hash, name) FROM stdin;\n${rows.join("")}\\.\n`);
  };

  test("may have a stray header and ten invalid rows, not eleven", async () => {
    let dump = dumpOf(11);
    const { server } = await startHost((request, response) => send(request, response, { bytes: dump }), {
      sum: () => sumOf(dump),
    });
    const source: LabelSetSource = { ...x(server), format: "sql" };
    await expect(fetchFrom(source)).rejects.toThrow(/^11 of 13 rows are invalid/);
    expect(inFolder()).toEqual(["x_0.LICENSE.txt"]);
    dump = dumpOf(10);
    const { report } = await fetchFrom(source);
    expect(report?.counts).toMatchObject({ accepted: 1, invalid: 10, ignored: 1 });
    const labels = openLabelFile(database());
    expect(labels.heal(labelhash("eth"), 0)).toBe("eth");
    labels.close();
  });
});

describe("space", () => {
  // A download of n bytes needs 2.2 n: docs/labels.md has the figures.
  const needed = () => Math.ceil(file.length * 2.2);

  test("is checked before the download, and what is missing is named", async () => {
    const { server } = await startHost();
    await expect(fetchX(server, { freeBytes: needed() - 2_000_000 })).rejects.toThrow(
      /^Free 2 MB in ".*data", or choose another disk with --database: the download takes 0 MB, the database 0 MB, and its ingest 0 MB while it runs\.$/,
    );
    expect(partSize()).toBe(0);
    await fetchX(server, { freeBytes: needed() });
    expectLabels(2_000);
  });

  test("limits a download of unknown length", async () => {
    const { server } = await startHost(async (_, response) => {
      while (!response.destroyed) if (!response.write(file)) await once(response, "drain").catch(() => {});
    });
    await expect(fetchX(server, { freeBytes: needed() * 10 })).rejects.toThrow(/^Free \d+ MB in /);
    expect(partSize()).toBeLessThanOrEqual(file.length * 10);
  });
});
