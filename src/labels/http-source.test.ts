import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Hex } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import { labelhash } from "../ens/labels.ts";
import { askFacts, type LabelReply, openHttpSource } from "./http-source.ts";
import { type LabelSource, LabelSourceError, labelCounters } from "./source.ts";

const describedSet = { labelSetId: "subgraph", highestLabelSetVersion: 0 };
const notFound = { status: 404, body: "404 Not Found" };
const ok = (body: unknown) => ({ status: 200, body: JSON.stringify(body) });

const asking =
  (replies: Record<string, LabelReply>) =>
  async <T>(path: string, read: (reply: LabelReply) => T) =>
    read(replies[path] ?? notFound);

describe("facts of a label service", () => {
  test.each<
    [string, Record<string, LabelReply>, { version: string; schemaVersion: number; recordsCount: number }]
  >([
    [
      "this project's service",
      {
        "/v1/version": ok({
          status: "success",
          versionInfo: { version: "0.1.0", dbSchemaVersion: 1, labelSet: describedSet },
        }),
        "/v1/config": ok({ version: "0.1.0", labelSet: describedSet, recordsCount: 7 }),
      },
      { version: "0.1.0", schemaVersion: 1, recordsCount: 7 },
    ],
    [
      "ENSRainbow 1.5",
      {
        "/v1/version": ok({
          status: "success",
          versionInfo: { version: "1.5.1", dbSchemaVersion: 3, labelSet: describedSet },
        }),
        "/v1/labels/count": ok({ status: "success", count: 9, timestamp: "2026-01-01T00:00:00.000Z" }),
      },
      { version: "1.5.1", schemaVersion: 3, recordsCount: 9 },
    ],
    [
      "ENSRainbow 1.10",
      { "/v1/config": ok({ version: "1.10.0", labelSet: describedSet, recordsCount: 8 }) },
      { version: "1.10.0", schemaVersion: 3, recordsCount: 8 },
    ],
    [
      "ENSRainbow 1.16",
      {
        "/v1/config": ok({ serverLabelSet: describedSet, versionInfo: { ensRainbow: "1.16.0" } }),
        "/v1/labels/count": ok({ status: "success", count: 6, timestamp: "2026-01-01T00:00:00.000Z" }),
      },
      { version: "1.16.0", schemaVersion: 3, recordsCount: 6 },
    ],
  ])("are understood from %s", async (_, replies, expected) => {
    expect(await askFacts(asking(replies))).toEqual({ ...describedSet, ...expected });
  });

  test("are missing without a label service", async () => {
    await expect(askFacts(asking({}))).rejects.toThrow("This is not a label service");
  });
});

const limits = { timeoutMs: 100_000, firstRetryMs: 5, longestRetryMs: 20, cacheSize: 10_000 };
const labelSet = { labelSetId: "subgraph", highestLabelSetVersion: 3 };
const eth = labelhash("eth");

const success = (label: string) => ({ status: 200, body: { status: "success", label } });
const failure = (status: number, error = "x") => ({
  status,
  body: { status: "error", error, errorCode: status },
});
type Answer = { status: number; body: unknown } | "hang up" | "say nothing";

let server: Server | undefined;
let source: LabelSource | undefined;
const asked: string[] = [];
const lines: string[] = [];

afterEach(async () => {
  await source?.close();
  await stop();
  asked.length = 0;
  lines.length = 0;
});

async function stop() {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
}

/**
 * A label service that knows its facts and answers each heal with the next of `answers`, the last one repeatedly; lists
 * with those of `answerList`, 404 without it.
 */
async function serve(answers: Answer[], port = 0, answerList?: (labelhashes: Hex[]) => Answer) {
  let next = 0;
  server = createServer(async (request, response) => {
    const path = request.url ?? "";
    if (request.method === "POST" && path === "/v1/heal" && answerList !== undefined) {
      const { labelhashes, ...pin } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      asked.push(`list of ${labelhashes.length} ${JSON.stringify(pin)}`);
      send(request, response, answerList(labelhashes));
    } else if (path.startsWith("/v1/heal/")) {
      asked.push(path);
      send(request, response, answers[Math.min(next++, answers.length - 1)]!);
    } else send(request, response, facts(path));
  });
  await new Promise<void>((resolve) => server!.listen(port, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

function facts(path: string): Answer {
  if (path === "/v1/version") {
    const versionInfo = { version: "1.2.3", dbSchemaVersion: 1, labelSet };
    return { status: 200, body: { status: "success", versionInfo } };
  }
  return { status: 200, body: { version: "1.2.3", labelSet, recordsCount: 5 } };
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer) {
  if (answer === "say nothing") return;
  if (answer === "hang up") {
    request.socket.destroy();
    return;
  }
  const isText = typeof answer.body === "string";
  response.writeHead(answer.status, { "content-type": isText ? "text/html" : "application/json" });
  response.end(isText ? answer.body : JSON.stringify(answer.body));
}

async function open(port: number, { prefix = "", timeoutMs = limits.timeoutMs } = {}) {
  source = await openHttpSource(
    new URL(`http://127.0.0.1:${port}${prefix}`),
    {
      url: `http://127.0.0.1:${port}${prefix}`,
      labelSetId: "subgraph",
      labelSetVersion: 2,
      log: (level, message, fields) =>
        void lines.push(`${level} ${message} ${fields?.["reason"] ?? ""}`.trim()),
    },
    { ...limits, timeoutMs },
  );
  return source;
}

// Silence is waited for until the limit; every other answer comes, whatever it takes.
const limitsFor = (answer: Answer) => (answer === "say nothing" ? { timeoutMs: 1_500 } : {});

describe("label service client", () => {
  test("sends the pinned label set with each heal and returns the label", async () => {
    const source = await open(await serve([success("eth")]));
    expect(await source.heal(eth)).toBe("eth");
    expect(asked).toEqual([
      "/v1/heal/0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0?label_set_id=subgraph&label_set_version=2",
    ]);
  });

  test("returns known labels at once then, the empty one and 404 as unknown among them", async () => {
    const source = await open(await serve([success("eth"), success(""), failure(404)]));
    const labelhashes = [eth, labelhash(""), labelhash("unknown")];
    const healed = [];
    for (const one of labelhashes) healed.push(await source.heal(one));
    expect(healed).toEqual(["eth", "", undefined]);
    expect(labelhashes.map(source.heal)).toEqual(healed);
    expect(asked.length).toBe(3);
  });

  test("sends one request for simultaneous heals of one labelhash", async () => {
    const source = await open(await serve([success("eth")]));
    expect(await Promise.all([source.heal(eth), source.heal(eth), source.heal(eth)])).toEqual([
      "eth",
      "eth",
      "eth",
    ]);
    expect(asked.length).toBe(1);
  });

  test("evicts old labels when the cache is full", async () => {
    const source = await open(await serve([failure(404)]));
    for (let i = 0; i < 100; i++) await source.heal(labelhash(`unknown${i}`));
    const answer = source.heal(labelhash("unknown0"));
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toBeUndefined();
  });

  test.each<[string, Answer]>([
    ["a broken connection", "hang up"],
    ["silence", "say nothing"],
    ["503 while the database is loaded", failure(503)],
    ["500", failure(500, "Internal server error")],
    ["a proxy's 502", { status: 502, body: "<html>Bad gateway</html>" }],
    ["a proxy's 404", { status: 404, body: "404 Not Found" }],
    ["a proxy's page with 200", { status: 200, body: "<html>Soon back</html>" }],
    ["429", { status: 429, body: "slow down" }],
    ["a label of another hash", success('"eth"')],
  ])("waits through %s and never treats the label as unknown", async (_, fault) => {
    // The first on a kept connection that breaks is sent again at once.
    const repeated = fault === "hang up" ? [fault] : [];
    const source = await open(
      await serve([...repeated, fault, fault, fault, success("eth")]),
      limitsFor(fault),
    );
    const before = { ...labelCounters };
    expect(await source.heal(eth)).toBe("eth");
    expect(labelCounters.outages - before.outages).toBe(1);
    expect(labelCounters.retries - before.retries).toBe(3);
    expect([labelCounters.waiting, labelCounters.unknown]).toEqual([0, before.unknown]);
    expect(lines.map((line) => line.slice(0, 30))).toEqual([
      "warn label service cannot be u",
      "info label service can be used",
    ]);
  });

  test("asks again, without an outage, over a new connection when a kept one is closed", async () => {
    const source = await open(await serve(["hang up", success("eth")]));
    const before = { ...labelCounters };
    expect(await source.heal(eth)).toBe("eth");
    expect([labelCounters.outages, labelCounters.retries]).toEqual([before.outages, before.retries]);
    expect(lines).toEqual([]);
  });

  test("waits for a service that is not there yet", async () => {
    const port = await serve([]);
    await stop();
    const opening = open(port);
    await expect.poll(() => lines.length).toBe(1);
    await serve([success("eth")], port);
    expect(await (await opening).heal(eth)).toBe("eth");
  });

  test.each<[Answer, string]>([
    [
      failure(400, "Requested label set version is higher"),
      "status 400: Requested label set version is higher",
    ],
    [{ status: 401, body: "who are you" }, "The label service refuses the request with status 401."],
  ])("throws if the service refuses the request: %j", async (answer, message) => {
    const source = await open(await serve([answer]));
    await expect(source.heal(eth)).rejects.toThrow(LabelSourceError);
    await expect(source.heal(eth)).rejects.toThrow(message);
  });

  const pin = '{"label_set_id":"subgraph","label_set_version":2}';
  const known = new Map(["eth", "", "vitalik"].map((label) => [labelhash(label), label]));
  const hashes = [...known.keys(), labelhash("unknown")];
  const healList = (list: Hex[]): Answer => ({
    status: 200,
    body: { status: "success", labels: list.map((one) => known.get(one) ?? null) },
  });

  test("fetches labels that are expected together, each once, and has them at once then", async () => {
    const source = await open(await serve([], 0, healList));
    await source.expect?.([...hashes, ...hashes]);
    expect(hashes.map((one) => source.heal(one))).toEqual(["eth", "", "vitalik", undefined]);
    await source.expect?.(hashes);
    expect(asked).toEqual([`list of 4 ${pin}`]);
  });

  test("asks for long lists in parts", async () => {
    const source = await open(await serve([], 0, healList));
    await source.expect?.(Array.from({ length: 19 }, (_, index) => labelhash(`unknown${index}`)));
    asked.length = 0;
    await source.expect?.(Array.from({ length: 2_500 }, (_, index) => labelhash(`other${index}`)));
    expect(asked).toEqual([1_000, 1_000, 500].map((count) => `list of ${count} ${pin}`));
  });

  test.each<[string, (labelhashes: Hex[]) => Answer]>([
    [
      "of another hash",
      (list) => ({ status: 200, body: { status: "success", labels: list.map(() => "wrong") } }),
    ],
    ["of too few labels", () => ({ status: 200, body: { status: "success", labels: ["eth"] } })],
    ["that is a proxy's", () => ({ status: 200, body: { labels: [] } })],
    ["with status 503", () => failure(503)],
    ["with status 413", () => failure(413)],
    ["that never comes", () => "say nothing"],
  ])("takes nothing from a list %s: the labels are asked for one by one", async (_, answerList) => {
    const source = await open(await serve([success("eth")], 0, answerList), limitsFor(answerList([])));
    await source.expect?.([eth, labelhash("vitalik")]);
    expect(await source.heal(eth)).toBe("eth");
    expect(asked).toEqual([`list of 2 ${pin}`, expect.stringContaining(`/v1/heal/${eth}`)]);
  });

  test("asks a service without lists for many at the same time, and for no list again", async () => {
    const source = await open(await serve([failure(404)], 0, () => ({ status: 404, body: "404 Not Found" })));
    await source.expect?.(hashes.slice(0, 2));
    expect(asked.map((path) => path.slice(0, 9))).toEqual(["list of 2", "/v1/heal/", "/v1/heal/"]);
    expect(source.heal(eth)).toBeUndefined();
    await source.expect?.(hashes);
    expect(asked).toHaveLength(5);
  });

  test("reports the facts, and the last known ones during an outage", async () => {
    const source = await open(await serve([]));
    const known = { ...labelSet, recordsCount: 5, version: "1.2.3", schemaVersion: 1 };
    expect(await source.describe()).toEqual(known);
    await stop();
    expect(await source.describe()).toEqual(known);
  });

  test("ends waiting heals when it is closed", async () => {
    const source = await open(await serve([failure(503)]));
    const healing = source.heal(eth);
    const outcome = expect(healing).rejects.toThrow("The label source was closed.");
    await expect.poll(() => lines.length).toBe(1);
    await source.close();
    await outcome;
  });

  test("keeps the path of the URL as a prefix", async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? "");
      send(request, response, facts((request.url ?? "").replace("/labels", "")));
    });
    await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
    await open((server.address() as AddressInfo).port, { prefix: "/labels/" });
    expect(asked).toEqual(["/labels/v1/version", "/labels/v1/config"]);
  });
});
