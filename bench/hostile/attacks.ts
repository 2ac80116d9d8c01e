import { createHash } from "node:crypto";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../devnet/random.ts";
import { labelhash } from "../../src/ens/labels.ts";

/** Target of an attack. `port` is that of the attacked service. */
type Target = {
  port: number;
  /** Loopback address that the attack comes from. */
  from: string;
  random: Random;
  ends: AbortSignal;
};

/** A way to harm other clients by requests alone. */
export type Attack = {
  name: string;
  /** Seconds after which it is aborted. */
  seconds: number;
  service: "index" | "labels";
  run(target: Target): Promise<unknown>;
};

type Sent = {
  method?: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string | Readable | undefined;
  /** Milliseconds for which the client reads nothing of the response before it disconnects. */
  unreadForMs?: number | undefined;
};

/** Sends one request on its own connection; settles when the response is read or the connection ends. Never throws. */
function send({ port, from, ends: signal }: Target, sent: Sent): Promise<void> {
  const { method = "GET", path, headers = {}, body, unreadForMs } = sent;
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", localAddress: from, port, method, path, headers, signal };
    const asked = request({ ...options, agent: false }, (response) => {
      response.on("error", resolve).on("end", resolve);
      if (unreadForMs === undefined) response.resume();
      else setTimeout(() => asked.destroy(), unreadForMs);
    });
    asked.on("error", resolve).on("close", resolve);
    if (body instanceof Readable) body.pipe(asked);
    else asked.end(body);
  });
}

const json = { "content-type": "application/json" };
const post = (target: Target, path: string, body: unknown, unreadForMs?: number) =>
  send(target, { method: "POST", path, headers: json, body: JSON.stringify(body), unreadForMs });
const query = (target: Target, text: string, variables?: unknown, unreadForMs?: number) =>
  post(target, "/subgraph", { query: text, variables }, unreadForMs);

/** Joins the `count` results of `make` for the indexes from 0. */
const times = (count: number, make: (index: number) => string, separator = " ") =>
  Array.from({ length: count }, (_, index) => make(index)).join(separator);

/** Runs `count` at once; returns the results in order. */
const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

/** Calls `run` for `rounds` rounds in sequence, or until the attack has to end. */
async function inRounds({ ends }: Target, rounds: number, run: (round: number) => Promise<unknown>) {
  for (let round = 0; round < rounds && !ends.aborted; round++) await run(round);
}

/** Waits, but not beyond the end of the attack. */
const pause = ({ ends: signal }: Target, milliseconds: number) =>
  delay(milliseconds, undefined, { signal }).catch(() => undefined);

const megabyte = " ".repeat(1_000_000);

function* megabytes(count: number): Generator<string> {
  yield '{"query":"';
  for (let i = 0; i < count; i++) yield megabyte;
  yield '"}';
}

/** Sends bodies of so many megabytes at once, without Content-Length. */
const endless = (target: Target, path: string, bodies: number, length: number) =>
  atOnce(bodies, () =>
    send(target, {
      ...{ method: "POST", path, headers: { ...json, "transfer-encoding": "chunked" } },
      body: Readable.from(megabytes(length), { objectMode: false }),
    }),
  );

/** A connection on which `head` was sent; it stays open, and what comes is dropped. */
function open({ port, from }: Target, head: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  return new Promise((resolve) => {
    // An error is followed by "close".
    socket.on("error", () => resolve(socket));
    socket.on("connect", () => {
      if (head !== "") socket.resume().write(head);
      resolve(socket);
    });
  });
}

const formatHead = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

/** 400 bodies of 1,000,000 bytes at once, whose last 1,000 never arrive; each connection ends after 15 s. */
const unfinishedBodies = (target: Target, path: string) =>
  atOnce(400, async () => {
    const socket = await open(target, formatHead(path, 1_000_000) + megabyte.slice(1_000));
    await pause(target, 15_000);
    socket.destroy();
  });

/**
 * Sends a request `count` times over one connection at once, and waits until all are answered or the connection ends.
 */
async function pipeline(target: Target, bytes: string, count: number): Promise<void> {
  const socket = await open(target, "");
  let answered = 0;
  let tail = "";
  await new Promise<void>((resolve) => {
    socket.setEncoding("latin1").on("data", (data: string) => {
      const text = tail + data;
      answered += text.split("HTTP/1.1 ").length - 1;
      tail = text.slice(Math.max(0, text.length - 8));
      if (answered === count) resolve();
    });
    socket.on("close", resolve);
    target.ends.addEventListener("abort", () => resolve(), { once: true });
    socket.write(bytes.repeat(count));
  });
  socket.destroy();
}

const pipelinedHealth = (target: Target) =>
  atOnce(20, () => pipeline(target, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", 5_000));

/** Bodies that arrive a byte a second, beside sockets that send nothing. */
async function slowBodies(target: Target): Promise<void> {
  const slow = await atOnce(500, () => open(target, formatHead("/subgraph", 100_000)));
  const idle = await atOnce(2_000, () => open(target, ""));
  const dripping = setInterval(() => {
    for (const socket of slow) if (socket.writable) socket.write(" ");
  }, 1000);
  await pause(target, 35_000);
  clearInterval(dripping);
  for (const socket of [...slow, ...idle]) socket.destroy();
}

const smallQuery = '{"query":"{ domains(first: 3) { id name } }"}';
// About 57 MB: below the limit of a response.
const large = `{ domains(first: 1000) { ${times(760, (i) => `f${i}: id`)} } }`;
const wide = `{ domains(first: 1000) { ${times(7_400, (i) => `f${i}: id`)} } }`;
const aliases = `query($w: Domain_filter) { ${times(1000, (i) => `a${i}: domains(first: 1, where: $w) { id }`)} }`;
const conditions = { w: { or: Array.from({ length: 9_000 }, (_, i) => ({ id: i.toString(36) })) } };
// Substring searches over all names, different ones in each request.
const slow = (index: number) =>
  `{ domains(where: { or: [${times(900, (i) => `{ name_contains_nocase: "a${i}%b${index}%c" }`, ",")}] }) { id } }`;

// The account that has one in a thousand of the generated names (test/support/subgraph/generate.ts).
const hot = `0x${createHash("sha256").update("account0").digest("hex").slice(0, 40)}`;
// As many inputs as one request may have, for as many names as they may ask for.
const hotInputs = { inputs: Array.from({ length: 1_000 }, () => ({ address: hot, page_size: 50 })) };
const lists = (round: number) => {
  const page = `page_size=200&q=a${round}`;
  return [
    `search?${page}&match=contains`,
    `names/eth/subnames?${page}&match=contains&sort=expires_at`,
    `addresses/${hot}/names?${page}&match=contains&sort=registered_at&order=desc`,
    `addresses/${hot}/history?page_size=200`,
  ];
};

/** Lengths of labels that are expensive in a batch; each consists of the letter x. */
export const longLabelLengths = [100_000, 1_000_000] as const;
const [tenth, one] = longLabelLengths;
const batch = (target: Target, length: number, count: number, unreadForMs?: number): Promise<void> =>
  post(
    target,
    "/v1/heal",
    { labelhashes: new Array(count).fill(labelhash("x".repeat(length))) },
    unreadForMs,
  );

type Row = [name: string, seconds: number, run: Attack["run"]];

// Through how a request is sent, or its response read; by small, legal documents that are expensive to execute; by
// lookups.
const ofIndex: Row[] = [
  // 60 clients on deep pages of the sales.
  [
    "deep-pages",
    20,
    (target) => {
      const path = () => `/api/name-sales?limit=100&page=${900 + target.random.below(100)}`;
      return atOnce(60, () => inRounds(target, 50, () => send(target, { path: path() })));
    },
  ],
  ["chunked-bodies", 60, (target) => endless(target, "/subgraph", 2, 600)],
  // 20 responses of 57 MB that nobody reads, for 15 s.
  ["unread-responses", 45, (target) => atOnce(20, () => query(target, large, undefined, 15_000))],
  ["slow-bodies", 40, slowBodies],
  ["pipelined-health", 60, pipelinedHealth],
  // 2,000 small queries over each of 10 connections, without waiting for responses.
  [
    "pipelined-queries",
    60,
    (target) => {
      const bytes = formatHead("/subgraph", smallQuery.length) + smallQuery;
      return atOnce(10, () => pipeline(target, bytes, 2_000));
    },
  ],
  ["unfinished-bodies", 30, (target) => unfinishedBodies(target, "/subgraph")],
  // 65 kB: 1,000 rows x 7,400 aliases of one field, three times.
  ["wide-rows", 60, (target) => inRounds(target, 3, () => query(target, wide))],
  // 1,000 aliases x one `where` variable of 9,000 conditions.
  ["filter-9000", 60, (target) => query(target, aliases, conditions)],
  // 80 slow queries of one client at once, again as soon as they end.
  [
    "slow-queries",
    30,
    (target) =>
      inRounds(target, 3, async (round) => {
        await atOnce(80, (index) => query(target, slow(round * 80 + index)));
        await pause(target, 100);
      }),
  ],
  // 4 POSTs of 1,000 times the address with the most names, five times.
  [
    "lookup-hot",
    60,
    (target) => inRounds(target, 5, () => atOnce(4, () => post(target, "/v1/lookup", hotInputs))),
  ],
  // 30 searches for what is in the middle of many names, and lists by every order, three times.
  [
    "lookup-lists",
    60,
    (target) =>
      inRounds(target, 3, (round) =>
        atOnce(30, (index) => send(target, { path: `/v1/${lists(round)[index % 4]}` })),
      ),
  ],
];

const ofLabels: Row[] = [
  // A batch of one label of 1 MB, 10,000 times.
  ["label-batch-1MB", 60, (target) => batch(target, one, 10_000)],
  // 100 batches of one label of 100 kB, 300 times, that nobody reads, for 10 s.
  ["label-batch-unread", 30, (target) => atOnce(100, () => batch(target, tenth, 300, 10_000))],
  ["label-pipelined", 60, pipelinedHealth],
  ["label-unfinished-bodies", 30, (target) => unfinishedBodies(target, "/v1/heal")],
];

const createAttack =
  (service: Attack["service"]) =>
  ([name, seconds, run]: Row): Attack => ({ name, seconds, service, run });

/** All attacks. */
export const attacks: Attack[] = [
  ...ofIndex.map(createAttack("index")),
  ...ofLabels.map(createAttack("labels")),
];
