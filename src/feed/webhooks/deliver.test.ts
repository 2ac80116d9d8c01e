import type { IncomingHttpHeaders, RequestListener, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { Registry } from "prom-client";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { createEmptyDatabase, createPool } from "../../../test/support/postgres.ts";
import { startServer } from "../../../test/support/server.ts";
import { type Hook, webhooksFrom } from "../../config/webhooks-file.ts";
import type { Statement } from "../../ponder/sql-client.ts";
import { startWebhooks } from "./deliver.ts";
import { openPositions } from "./positions.ts";
import type { Clock, FeedMessage, ReadFeed } from "./read.ts";
import type { ReadHookReminders } from "./reminders.ts";

let database: TestDatabase;
const run: Statement = (text, values) => database.query(text, values);
beforeAll(async () => {
  database = await createTestDatabase("nothing");
});
beforeEach(() => run("DROP SCHEMA IF EXISTS nsindex_webhooks CASCADE"));
afterAll(() => database?.close());

const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
const hookTo = (url: string, more: object = {}): Hook => {
  const text = JSON.stringify([{ name: "a", url, secret, from: "start", allowPrivate: true, ...more }]);
  const faults: string[] = [];
  const [hook] = webhooksFrom("hooks.json", () => text, faults);
  return hook ?? expect.fail(faults.join());
};

const message = (number: number, data: object = {}): FeedMessage => ({
  id: String(number),
  event: "event",
  data: { number, ...data },
});
const messages = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => message(from + index));

/** A feed whose ids are numbers from 1. An id beyond its end is of another index. */
function feedOf(log: FeedMessage[]): ReadFeed {
  return async (after, { from, limit }) => {
    const start = after === undefined ? (from === "start" ? 0 : log.length) : Number(after);
    if (start > log.length) return { messages: [], position: undefined, mustRefetch: true };
    const found = log.slice(start, start + limit);
    return { messages: found, position: String(start + found.length) };
  };
}

type Received = { headers: IncomingHttpHeaders; body: string; numbers: unknown[] };

/** A receiver that answers with `respond`, 204 by default. */
async function receiver(
  respond: (response: ServerResponse, count: number) => void = (response) => response.writeHead(204).end(),
) {
  const received: Received[] = [];
  const handle: RequestListener = async (request, response) => {
    const body = await text(request);
    const numbers = JSON.parse(body).map(({ data }: FeedMessage) => ("number" in data ? data.number : data));
    received.push({ headers: request.headers, body, numbers });
    respond(response, received.length);
  };
  return { url: await startServer(handle), received, numbers: () => received.flatMap((one) => one.numbers) };
}

/**
 * A clock whose pauses are over at once. Its time moves in pauses of hooks alone, not in those between signs of life.
 */
function quickClock(): Clock {
  let time = Date.now();
  return {
    now: () => time,
    async pause(ms, signal) {
      if (ms === 15_000) return pause(10, undefined, { signal });
      time += ms;
      return turn(undefined, { signal });
    },
    deadline: () => new AbortController().signal,
  };
}

type Started = Partial<Omit<Parameters<typeof startWebhooks>[0], "hooks">> & { schema?: string };

function start(hooks: Hook[], log: FeedMessage[], { schema = "names_v1", ...more }: Started = {}) {
  const lines: string[] = [];
  const started = startWebhooks({
    hooks,
    readFeed: feedOf(log),
    readReminders: async () => undefined,
    database: { run, namespace: "mainnet", schema },
    isReady: () => true,
    log: (level, text) => void lines.push(`${level} ${text}`),
    clock: quickClock(),
    ...more,
  });
  const stop = async () => {
    started.stop();
    await started.ended;
  };
  onTestFinished(stop);
  return { ...started, stop, lines };
}

const positions = openPositions(run, "mainnet");
/** A hook with one attempt left. */
async function nearlyPaused(name: string) {
  await positions.prepare([{ name, from: "start" }]);
  const stored = await positions.read(name);
  const pending = {
    id: "msg_1",
    body: JSON.stringify(messages(1, 1)),
    messages: 1,
    position: "1",
  };
  await positions.save(name, stored, { ...stored.state, pending, failures: 7, behindSince: 0 });
}
const stateOf = async (name: string) => (await positions.read(name)).state;
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

test("delivers all messages in order, in batches below 20 kB, and goes on with new ones", async () => {
  const { url, received, numbers } = await receiver();
  const log = range(1, 200).map((number) => message(number, { text: "é".repeat(300) }));
  start([hookTo(url)], log);
  await expect.poll(numbers).toEqual(range(1, 200));
  expect(Math.max(...received.map(({ body }) => Buffer.byteLength(body)))).toBeLessThan(20_000);
  // One message has some 640 bytes.
  expect(received.length).toBeLessThan(12);
  log.push(message(201));
  await expect.poll(numbers).toEqual(range(1, 201));
  expect(received.at(-1)?.body).toBe('[{"id":"201","event":"event","data":{"number":201}}]');
});

test("a message that is longer than a batch goes alone", async () => {
  const { url, received } = await receiver();
  start([hookTo(url)], [message(1), message(2, { text: "x".repeat(30_000) }), message(3)]);
  await expect.poll(() => received.map((one) => one.numbers)).toEqual([[1], [2], [3]]);
});

test("signs by Standard Webhooks, with the id and time of the attempt", async () => {
  const { url, received } = await receiver();
  // The verifier reads the system's clock.
  start([hookTo(url)], messages(1, 1), { clock: { ...quickClock(), now: Date.now } });
  await expect.poll(() => received.length).toBe(1);
  const [{ headers, body } = { headers: {}, body: "" }] = received;
  expect(headers["content-type"]).toBe("application/json");
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual([
    { id: "1", event: "event", data: { number: 1 } },
  ]);
});

test("begins at the latest unless the hook says otherwise", async () => {
  const { url, numbers } = await receiver();
  const log = messages(1, 5);
  start([hookTo(url, { from: "latest" })], log);
  await expect.poll(() => stateOf("a")).toMatchObject({ position: "5" });
  log.push(message(6));
  await expect.poll(numbers).toEqual([6]);
});

test("retries with the same id after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, then pauses; resumes where it was", async () => {
  let isBroken = true;
  const times: number[] = [];
  const clock = quickClock();
  const { url, received, numbers } = await receiver((response) => {
    times.push(clock.now());
    response.writeHead(isBroken ? 500 : 200).end();
  });
  // Thirty hours are waited for at once.
  const { lines, status } = start([hookTo(url)], messages(1, 2), { clock, waitingMs: 36_000_000 });
  await expect
    .poll(async () => (await stateOf("a")).paused?.reason)
    .toBe("8 attempts failed, the last one because the response was 500");
  // Svix' schedule.
  const delays = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1_000);
  expect(delays).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(new Set(received.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(8);
  expect(lines).toEqual([
    "warn Webhook a fails, retrying: the response was 500.",
    "error Webhook a is paused: 8 attempts failed, the last one because the response was 500.",
  ]);
  await expect.poll(() => status()[0]?.paused?.reason).toContain("8 attempts");
  isBroken = false;
  const stored = await positions.read("a");
  await positions.save("a", stored, { ...stored.state, paused: undefined, failures: 0, nextAt: undefined });
  await expect.poll(() => received.length).toBe(9);
  expect(numbers().slice(-2)).toEqual([1, 2]);
  await expect.poll(() => stateOf("a")).toEqual({ position: "2", from: "latest", failures: 0 });
});

// As the receiver's clock has it, in Unix milliseconds.
const receiverTime = 1_795_668_000_000;
const byClock = (seconds: number) => `, and the receiver's clock differs by ${seconds} s from this machine's`;

/** A clock that the test moves, in milliseconds beside the receiver's. */
const movedClock = (beside: { ms: number }): Clock => ({
  ...quickClock(),
  now: () => receiverTime + beside.ms,
  pause: (_, signal) => pause(1, undefined, { signal }),
});

test.each([3_600, -3_600])(
  "deliveries by a clock that is %s s off fail for it, and go on at once when it is right",
  async (seconds) => {
    const beside = { ms: seconds * 1_000 };
    const clock = movedClock(beside);
    const { url, received, numbers } = await receiver((response) => {
      response.setHeader("date", new Date(receiverTime).toUTCString());
      // Standard Webhooks: five minutes are tolerated.
      const signed = Number(received.at(-1)?.headers["webhook-timestamp"]);
      response.writeHead(Math.abs(signed - receiverTime / 1_000) > 300 ? 400 : 204).end();
    });
    const { lines, status } = start([hookTo(url)], messages(1, 2), { clock });
    await expect.poll(() => status()[0]?.fault).toBe(`the response was 400${byClock(3_600)}`);
    beside.ms += 5_000;
    await expect.poll(async () => (await stateOf("a")).failures).toBe(2);
    expect(lines).toEqual([
      `warn Webhook a fails, retrying: the response was 400${byClock(Math.abs(seconds + 5))}.`,
    ]);
    // The third attempt would be 5 minutes later.
    beside.ms = 5_000;
    await expect.poll(() => stateOf("a")).toEqual({ position: "2", from: "latest", failures: 0 });
    expect(numbers()).toEqual([1, 2, 1, 2, 1, 2]);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  },
);

test.each([
  [400, 240, ""],
  [401, 241, byClock(241)],
  [500, 3_600, ""],
  [400, Number.NaN, ""],
])("a response with %s by a clock that is %s s behind", async (code, seconds, reason) => {
  const date = new Date(receiverTime - seconds * 1_000).toUTCString();
  const { url } = await receiver((response) => response.writeHead(code, { date }).end());
  start([hookTo(url)], messages(1, 1), { clock: movedClock({ ms: 0 }) });
  await expect.poll(async () => (await stateOf("a")).fault).toBe(`the response was ${code}${reason}`);
});

test("a delivery that was not noted before a kill comes again with its id", async () => {
  const { url, received, numbers } = await receiver();
  const log = messages(1, 3);
  let isKilled = false;
  const dying: Statement = async (text, values) => {
    if (received.length === 1 && text.startsWith("UPDATE")) isKilled = true;
    if (isKilled) throw new Error("killed");
    return run(text, values);
  };
  const first = start([hookTo(url)], log, {
    database: { run: dying, namespace: "mainnet", schema: "names_v1" },
  });
  await expect.poll(() => isKilled).toBe(true);
  await first.stop();
  const before = received.length;
  log.push(message(4));
  start([hookTo(url)], log);
  await expect.poll(() => numbers().slice(-1)).toEqual([4]);
  // What was sent comes as it was, then what is new.
  expect(received.slice(before).map((one) => one.numbers)).toEqual([[1, 2, 3], [4]]);
  const [{ body, headers }, again] = [received[0], received[before]] as [Received, Received];
  expect([again.body, again.headers["webhook-id"]]).toEqual([body, headers["webhook-id"]]);
});

test("an index whose events differ: the hook is told to fetch again, and goes on from the latest", async () => {
  const { url, received, numbers } = await receiver();
  const log = messages(1, 3);
  await positions.prepare([{ name: "a", from: "start" }]);
  const stored = await positions.read("a");
  await positions.save("a", stored, { ...stored.state, position: "99" });
  start([hookTo(url)], log);
  await expect
    .poll(() => received.map(({ body }) => body))
    .toEqual(['[{"id":"3","event":"must-refetch","data":{}}]']);
  log.push(message(4));
  await expect.poll(() => numbers().at(-1)).toBe(4);
});

test("a receiver that never answers neither stops another hook nor lasts", async () => {
  const asked: ServerResponse[] = [];
  const dead = await receiver((response) => void asked.push(response));
  const living = await receiver();
  const late = new AbortController();
  const clock = {
    ...quickClock(),
    deadline: (ms: number) => (ms === 15_000 ? late.signal : new AbortController().signal),
  };
  const hooks = [hookTo(dead.url), { ...hookTo(living.url), name: "b" }];
  const log = messages(1, 500);
  const { stop } = start(hooks, log, { clock });
  await expect.poll(() => asked.length).toBe(1);
  await expect.poll(living.numbers).toEqual(range(1, 500));
  expect(asked.length).toBe(1);
  late.abort();
  await expect.poll(async () => (await stateOf("a")).fault).toBe("there was no response in time");
  await stop();
});

test("redirects are failures and are not followed", async () => {
  const target = await receiver();
  const moved = await receiver((response) => response.writeHead(307, { location: target.url }).end());
  start([hookTo(moved.url)], messages(1, 1));
  await expect.poll(async () => (await stateOf("a")).fault).toBe("the response was 307");
  expect(target.received).toEqual([]);
});

test("reads little of an answer of 10 GB", async () => {
  let written = 0;
  let isClosed = false;
  const { url } = await receiver((response) => {
    response.writeHead(200, { "content-length": 10_000_000_000 });
    response.on("close", () => {
      isClosed = true;
    });
    const more = () => {
      written += 65_536;
      if (!isClosed) response.write(Buffer.alloc(65_536), () => setImmediate(more));
    };
    more();
  });
  start([hookTo(url)], messages(1, 1));
  await expect.poll(() => stateOf("a")).toMatchObject({ position: "1" });
  await expect.poll(() => isClosed).toBe(true);
  // What the buffers of both sockets hold.
  expect(written).toBeLessThan(50_000_000);
});

test.each([
  ["an address", "http://127.0.0.1:9/", "private network"],
  ["another form of it", "http://2130706433:9/", "private network"],
  ["an address of IPv6", "http://[::ffff:7f00:1]:9/", "private network"],
  ["a name that resolves to it", "http://localhost:9/", "private network"],
  ["a link-local address", "http://169.254.169.254/", "private network"],
])("does not send to %s in a private network unless it is allowed", async (_, url, reason) => {
  start([hookTo(url, { allowPrivate: false })], messages(1, 1));
  await expect.poll(async () => (await stateOf("a")).fault).toContain(reason);
});

test("one of two indexes delivers; the other goes on when the first ends", async () => {
  const { url, numbers } = await receiver();
  const log = messages(1, 3);
  // Every other time, the first index is holding its hooks when it is told to end.
  const holdLate: Statement = async (text, values) => {
    if (text.includes("alive_at = now()")) await pause(4);
    return run(text, values);
  };
  const first = start([hookTo(url)], log, {
    database: { run: holdLate, namespace: "mainnet", schema: "names_v1" },
  });
  await expect.poll(numbers).toEqual([1, 2, 3]);
  const second = start([hookTo(url)], log, { schema: "names_v2" });
  log.push(...messages(4, 6));
  await expect.poll(numbers).toEqual(range(1, 6));
  expect(second.status()).toEqual([expect.objectContaining({ isHeld: false, lagSeconds: 0 })]);
  await expect.poll(() => stateOf("a")).toMatchObject({ position: "6" });
  await first.stop();
  log.push(message(7));
  await expect.poll(numbers).toEqual(range(1, 7));
});

test("nothing is delivered before the index is ready", async () => {
  const { url, numbers } = await receiver();
  let isReady = false;
  start([hookTo(url)], messages(1, 2), { isReady: () => isReady });
  await turn();
  expect(numbers()).toEqual([]);
  isReady = true;
  await expect.poll(numbers).toEqual([1, 2]);
});

test("replays from an id, while it waits for the next attempt too", async () => {
  let isBroken = true;
  const { url, numbers } = await receiver((response) => response.writeHead(isBroken ? 503 : 200).end());
  const log = messages(1, 4);
  start([hookTo(url)], log);
  await expect.poll(async () => (await stateOf("a")).failures).toBeGreaterThan(1);
  isBroken = false;
  await expect
    .poll(async () => {
      const stored = await positions.read("a");
      return positions.save("a", stored, { position: "2", from: "latest", failures: 0 });
    })
    .toBeDefined();
  await expect.poll(() => numbers().slice(-2)).toEqual([3, 4]);
});

test("an outage of the feed or the database is logged once, and waited out", async () => {
  const { url, numbers } = await receiver();
  const log = messages(1, 2);
  let reads = 0;
  const { lines } = start([hookTo(url)], log, {
    readFeed: (after, asked) => (++reads < 5 ? Promise.reject(new Error("away")) : feedOf(log)(after, asked)),
  });
  await expect.poll(numbers).toEqual([1, 2]);
  expect(lines).toEqual(["warn Webhook a: the feed or the database cannot be used, retrying: Error: away"]);
});

test("the position moves on while nothing matches", async () => {
  const { url } = await receiver();
  start([hookTo(url)], [], {
    readFeed: async (after = "0") => ({ messages: [], position: String(Math.min(Number(after) + 1, 7)) }),
  });
  await expect.poll(() => stateOf("a")).toEqual({ from: "start", position: "7", failures: 0 });
});

/** Reminders of every second from 1 on until chain time, which tests move. */
function remindersOf(chain: { time: number }): ReadHookReminders {
  return async (after, { limit }) => {
    if (after === undefined) return { reminders: [], place: [String(chain.time + 1), "", ""] };
    const first = Number(after[0]) + (after[1] === "" ? 0 : 1);
    if (first > chain.time) return undefined;
    const reminders = range(first, Math.min(chain.time, first + limit - 1)).map((moment) => ({
      place: [String(moment), "a.eth", node] as const,
      data: { reminder: "7d", due_at: String(moment), late: false, ...rowOfName },
    }));
    const isLast = reminders.length < limit;
    return { reminders, place: isLast ? [String(chain.time + 1), "", ""] : reminders.at(-1)!.place };
  };
}
const node = `0x${"5".repeat(64)}` as const;
const rowOfName = { name: "a.eth", display_name: "a.eth", namespace: "ens", namehash: node };
const idsOf = (received: readonly Received[]) =>
  received.flatMap(({ body }) => JSON.parse(body).map(({ id }: FeedMessage) => id));
const idOf = (moment: number) => `reminder-7d-${moment}-${node}`;

test("reminders begin at chain time and are sent once, also after a restart", async () => {
  const { url, received } = await receiver();
  const chain = { time: 100 };
  const hook = hookTo(url, { reminders: ["7d"], events: false });
  const first = start([hook], messages(1, 5), { readReminders: remindersOf(chain) });
  await expect.poll(() => stateOf("a")).toMatchObject({ reminders: ["101", "", ""] });
  chain.time = 103;
  await expect.poll(() => idsOf(received)).toEqual(range(101, 103).map(idOf));
  expect(JSON.parse(received[0]?.body ?? "")[0]).toEqual({
    ...{ id: idOf(101), event: "reminder" },
    data: { reminder: "7d", due_at: "101", late: false, ...rowOfName },
  });
  const delivered = { from: "start", failures: 0, reminders: ["104", "", ""] };
  await expect.poll(() => stateOf("a")).toEqual(delivered);
  await first.stop();
  chain.time = 300;
  start([hook], messages(1, 5), { readReminders: remindersOf(chain) });
  await expect.poll(() => idsOf(received)).toEqual(range(101, 300).map(idOf));
  expect(Math.max(...received.map(({ body }) => Buffer.byteLength(body)))).toBeLessThan(20_000);
  await expect.poll(() => stateOf("a")).toEqual({ ...delivered, reminders: ["301", "", ""] });
});

test("a reminder whose answer was lost comes again with its ids", async () => {
  const { url, received } = await receiver((response, count) =>
    response.writeHead(count < 3 ? 500 : 204).end(),
  );
  const chain = { time: 1 };
  const readFeed = async () => ({ messages: [], position: undefined });
  start([hookTo(url, { reminders: ["7d"] })], [], { readFeed, readReminders: remindersOf(chain) });
  await expect.poll(() => stateOf("a")).toMatchObject({ reminders: ["2", "", ""] });
  chain.time = 3;
  await expect.poll(() => received.length).toBe(3);
  expect(new Set(received.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`)).size).toBe(1);
  // The feed has not started; the hook still begins at its start.
  await expect.poll(() => stateOf("a")).toMatchObject({ reminders: ["4", "", ""], from: "start" });
});

test("events are delivered while reminders cannot be read", async () => {
  const { url, numbers } = await receiver();
  const readReminders = () => Promise.reject(new Error("slow"));
  start([hookTo(url, { reminders: ["7d"] })], messages(1, 3), { readReminders });
  await expect.poll(numbers).toEqual([1, 2, 3]);
});

test("events and reminders take turns", async () => {
  const { url, received } = await receiver();
  const chain = { time: 0 };
  const log: FeedMessage[] = [];
  start([hookTo(url, { reminders: ["7d"] })], log, { readReminders: remindersOf(chain) });
  await expect.poll(() => stateOf("a")).toMatchObject({ reminders: ["1", "", ""] });
  log.push(...range(1, 400).map((number) => message(number, { text: "x".repeat(400) })));
  chain.time = 400;
  await expect.poll(() => idsOf(received).length).toBe(800);
  const isReminder = (id: string) => id.startsWith("reminder");
  const ids = idsOf(received);
  expect(ids.filter(isReminder)).toEqual(range(1, 400).map(idOf));
  expect(ids.filter((id) => !isReminder(id))).toEqual(range(1, 400).map(String));
  // 400 of some 190 bytes are at least four deliveries.
  const kinds = received.slice(0, 8).map(({ body }) => isReminder(JSON.parse(body)[0].id));
  expect(kinds.slice(1).every((kind, index) => kind !== kinds[index])).toBe(true);
});

test("metrics tell what was delivered, what failed, how far a hook lags and whether it is paused", async () => {
  const registry = new Registry();
  const broken = await receiver((response) => response.writeHead(500).end());
  const living = await receiver();
  await nearlyPaused("a");
  const clock = quickClock();
  const began = clock.now();
  start([hookTo(broken.url), { ...hookTo(living.url), name: "b" }], messages(1, 3), { registry, clock });
  const value = async (name: string, hook: string) =>
    (await registry.getSingleMetric(name)?.get())?.values.find(({ labels }) => labels["hook"] === hook)
      ?.value;
  await expect.poll(() => value("nsindex_webhooks_paused", "a")).toBe(1);
  expect(await value("nsindex_webhooks_failed", "a")).toBe(1);
  expect(await value("nsindex_webhooks_lag_seconds", "a")).toBeGreaterThanOrEqual(began / 1_000);
  expect(await value("nsindex_webhooks_delivered", "a")).toBe(0);
  await expect.poll(() => value("nsindex_webhooks_delivered", "b")).toBe(3);
  await expect.poll(() => value("nsindex_webhooks_lag_seconds", "b")).toBe(0);
  expect(await value("nsindex_webhooks_paused", "b")).toBe(0);
});

const server = inject("postgresUrl");
test("on Postgres, with the clock of the system", async () => {
  const { url: databaseUrl, drop } = await createEmptyDatabase(server);
  const pool = createPool(databaseUrl, 3);
  const { url, received, numbers } = await receiver((response, count) =>
    response.writeHead(count === 1 ? 500 : 200).end(),
  );
  const log = messages(1, 3);
  const { stop, ended, status } = startWebhooks({
    hooks: [hookTo(url)],
    readFeed: feedOf(log),
    readReminders: async () => undefined,
    database: { run: (text, values) => pool.query(text, values), namespace: "mainnet", schema: "names_v1" },
    isReady: () => true,
    log: () => {},
  });
  await expect.poll(() => status()[0]?.fault).toBe("the response was 500");
  await expect.poll(numbers).toEqual([1, 2, 3, 1, 2, 3]);
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const read = () =>
    pool.query("SELECT state, deliverer FROM nsindex_webhooks.hooks").then(({ rows }) => rows);
  await expect
    .poll(read)
    .toEqual([{ state: { position: "3", from: "latest", failures: 0 }, deliverer: "names_v1" }]);
  stop();
  await ended;
  await expect.poll(read).toMatchObject([{ deliverer: null }]);
  await pool.end();
  await drop();
});
