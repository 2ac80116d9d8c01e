// Clients in a process of their own, each with one request at a time and at a constant rate. Each sends the newest
// block that it has seen.

import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import type { Fact } from "./clock.ts";
import { type Answer, type Kind, listKinds } from "./kinds.ts";

/** What the process is sent first. `base`: the block before the first subname of `clock.eth`. */
export type ClientJob = { url: string; clients: number; perSecond: number; chainId: string; base: number };

/**
 * What came since the last report. Times are Unix milliseconds. `hashes`: those that were said of blocks, by timestamp.
 */
export type Report = {
  requests: number;
  failed: { begun: number; ended: number; text: string }[];
  /** Told to wait: 503 with `Retry-After`, and the Graph node's error of a block that is not there yet. */
  busy: number;
  notYet: number;
  wentBack: string[];
  /** Two blocks in the rows of an answer, or in /subgraph rows of another block than `_meta` names. */
  mixed: string[];
  /** Answers of REST that name a block after that of their rows, or before it. */
  ahead: string[];
  behind: number;
  longestMs: number;
  hashes: [timestamp: number, hash: Hex][];
};

const empty = (): Report => ({
  ...{
    requests: 0,
    failed: [],
    busy: 0,
    notYet: 0,
    wentBack: [],
    mixed: [],
    ahead: [],
    behind: 0,
    longestMs: 0,
  },
  hashes: [],
});
let report = empty();
const lastGood: number[] = [];

async function send(url: string, { path, body }: ReturnType<Kind["request"]>) {
  const headers = { "content-type": "application/json" };
  const post = body && { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(url + path, { ...post, signal: AbortSignal.timeout(20_000) });
  return { status: response.status, wait: response.headers.has("retry-after"), text: await response.text() };
}

const isSame = (one: Fact, other: Fact) =>
  (["number", "timestamp"] as const).every(
    (key) => one[key] === undefined || other[key] === undefined || one[key] === other[key],
  );

const isAfter = (one: Fact, other: Fact) =>
  Number(one.timestamp) > Number(other.timestamp) || Number(one.number) > Number(other.number);

/** Notes what an answer says; returns the newest block that the client has seen. */
function check({ named, hash, facts }: Answer, isExact: boolean, seen: number, what: string): number {
  if (hash && named.timestamp !== undefined) report.hashes.push([named.timestamp, hash]);
  if (named.number !== undefined && named.number < seen)
    report.wentBack.push(`${seen} -> ${named.number}: ${what}`);
  const shown = () => `${JSON.stringify({ named, facts })} ${what}`;
  const isMixed = facts.some((fact) => facts.some((other) => !isSame(fact, other)));
  if (isMixed || (isExact && !facts.every((fact) => isSame(fact, named)))) report.mixed.push(shown());
  else if (facts.some((fact) => isAfter(fact, named))) report.behind += 1;
  else if (!facts.every((fact) => isSame(fact, named))) report.ahead.push(shown());
  return Math.max(seen, named.number ?? 0);
}

async function client(index: number, job: ClientJob, kinds: readonly Kind[]): Promise<never> {
  let seen = 0;
  const everyMs = (1_000 * job.clients) / job.perSecond;
  lastGood[index] = Date.now();
  let due = Date.now() + Math.random() * everyMs;
  for (;;) {
    await sleep(Math.max(0, due - Date.now()));
    due = Math.max(due + everyMs, Date.now());
    const kind = kinds[Math.floor(Math.random() * kinds.length)] as Kind;
    const request = kind.request(seen);
    const begun = Date.now();
    const answered = await send(job.url, request).catch((error: Error) => error);
    const ended = Date.now();
    report.requests += 1;
    const what = `${request.path.slice(0, 90)} ${JSON.stringify(request.body ?? "").slice(0, 60)}`;
    const fail = (text: string) =>
      report.failed.push({ begun, ended, text: `${text.slice(0, 300)} ${what}` });
    if (answered instanceof Error) fail(`${answered} ${answered.cause ?? ""}`);
    else if (answered.status === 503 && answered.wait) report.busy += 1;
    else if (answered.status !== 200) fail(`${answered.status} ${answered.text}`);
    else if (answered.text.includes("has only indexed up to block number")) report.notYet += 1;
    else if (answered.text.startsWith('{"errors"')) fail(answered.text);
    else {
      report.longestMs = Math.max(report.longestMs, ended - (lastGood[index] ?? ended));
      lastGood[index] = ended;
      const body = JSON.parse(answered.text) as never;
      seen = check(kind.read(body), request.path.startsWith("/subgraph"), seen, what);
    }
  }
}

process.on("disconnect", () => process.exit());
process.on("message", (job: ClientJob | "report") => {
  if (job !== "report") {
    const kinds = listKinds(job);
    for (let index = 0; index < job.clients; index++) void client(index, job, kinds);
    return;
  }
  const now = Date.now();
  const longestMs = Math.max(report.longestMs, ...lastGood.map((at) => now - at));
  process.send?.({ ...report, longestMs } satisfies Report);
  report = empty();
});
