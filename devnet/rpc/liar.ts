import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRandom, type Random } from "../random.ts";
import type { Answer } from "../recording.ts";

/** Ways to answer `eth_getLogs` wrongly. */
export const lies = {
  /** One to five logs of a block are missing. */
  drop: (logs, { random }) => {
    const dropped = new Set(pickSome(logsOfBlock(logs, random), random));
    return logs.filter((log) => !dropped.has(log));
  },
  /** All logs of a block are missing. */
  dropBlock: (logs, { random }) => {
    const dropped = new Set(logsOfBlock(logs, random));
    return logs.filter((log) => !dropped.has(log));
  },
  /** Nothing after the first logs, as providers with a limit do that report no error. */
  truncate: (logs, { limit }) => logs.slice(0, limit),
  empty: () => [],
  /** A log is there twice. */
  duplicate: (logs, { random }) => {
    const place = random.below(logs.length);
    return logs.flatMap((log, i) => (i === place ? [log, log] : [log]));
  },
  /** The last two logs change places. */
  disorder: (logs) => [...logs.slice(0, -2), ...logs.slice(-2).reverse()],
  /** A log carries the hash of a block that does not exist. */
  foreignHash: (logs, { random }) => {
    const place = random.below(logs.length);
    const blockHash = `0x${random.hexDigits(32)}`;
    return logs.map((log, i) => (i === place ? { ...log, blockHash } : log));
  },
  /** The last log is of a later block than asked for. */
  outside: (logs) => [...logs.slice(0, -1), { ...logs.at(-1), blockNumber: "0x7fffffff" }],
} satisfies Record<string, (logs: Answer[], chances: { random: Random; limit: number }) => Answer[]>;

type Lie = keyof typeof lies;

/** Faults of other answers: blocks that change or are missing, a height that goes back and forth, failures of the connection. */
type Fault = "flap" | "hashChange" | "nullBlock" | "malformed" | "cutBody" | "stall" | "tooMany";

/** What a lying node does to which requests. */
export type Lying = {
  /** One of them is chosen each time. */
  kinds: readonly Lie[];
  /** Share of the answers with logs that are changed. */
  rate: number;
  /** Requests for a range of blocks (backfill), for one block by its hash (live), or both. */
  of: "ranges" | "blocks" | "both";
  /** How many of these requests are answered truthfully before the first lie. */
  truthful?: number;
  /** Logs that `truncate` leaves. */
  limit?: number;
  /** One of them is chosen for a share of all requests. */
  faults?: { kinds: readonly Fault[]; rate: number; stallMs?: number };
};

/** A running proxy that lies. */
export type Liar = Awaited<ReturnType<typeof startLiar>>;

/** What a node answered. */
type Reply = { status: number; text: string; headers?: Record<string, string>; isCut?: boolean };

/** Passes JSON-RPC on to `target` and changes answers; the same seed tells the same lies to the same requests. */
export async function startLiar({
  target: firstTarget,
  seed = 1,
  lying,
}: {
  target: string;
  seed?: number;
  lying: Lying;
}) {
  const random = createRandom(seed);
  let target = firstTarget;
  let current = lying;
  let told = 0;
  let truthful = lying.truthful ?? 0;

  function changed(filter: Answer, logs: Answer[]): Answer[] {
    const isOfBlock = filter["blockHash"] !== undefined;
    if (current.of === (isOfBlock ? "ranges" : "blocks")) return logs;
    if (truthful-- > 0) return logs;
    if (current.kinds.length === 0 || logs.length === 0 || random.fraction() >= current.rate) return logs;
    const kind = random.pick(current.kinds);
    const lie = lies[kind](logs, { random, limit: current.limit ?? 1_000 });
    if (JSON.stringify(lie) !== JSON.stringify(logs)) told += 1;
    return lie;
  }

  async function answer(call: Call): Promise<Reply> {
    const { faults } = current;
    const fault = faults && random.fraction() < faults.rate ? random.pick(faults.kinds) : undefined;
    const isChanged = fault !== undefined && (isOfAnyMethod(fault) || isBlockRequest(call));
    const asked = isChanged && fault === "flap" ? await lowered(target, call, random) : call;
    const reply = await passOn(target, asked, changed);
    if (!isChanged) return reply;
    told += 1;
    if (fault === "stall") await new Promise((resolve) => setTimeout(resolve, faults?.stallMs ?? 20_000));
    return faulty(reply, fault, random);
  }

  const server = createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const reply = await answer(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Call);
      const { status, text, headers, isCut = false } = reply;
      const length = Buffer.byteLength(text) * (isCut ? 2 : 1);
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": length,
        ...headers,
      });
      if (isCut) response.write(text, () => response.destroy());
      else response.end(text);
    } catch {
      response.destroy();
    }
  });
  server.keepAliveTimeout = 30_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    // Another host name than the node's, so that logs and metrics tell the two apart.
    url: `http://localhost:${port}`,
    /** How many answers were changed. */
    told: () => told,
    lie: (next: Lying) => {
      current = next;
    },
    /** Passes all that follows on to another node, for example of another chain. */
    pointAt: (url: string) => {
      target = url;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Call = { id?: unknown; method: string; params: unknown[] };

const isOfAnyMethod = (fault: Fault) => !["flap", "hashChange", "nullBlock"].includes(fault);
const isBlockRequest = ({ method }: Call) => /^eth_(getBlockBy(Number|Hash)|blockNumber)$/.test(method);

async function passOn(
  target: string,
  call: Call,
  changed: (filter: Answer, logs: Answer[]) => Answer[],
): Promise<Reply> {
  const answer = await fetch(target, {
    method: "POST",
    body: JSON.stringify(call),
    headers: { "content-type": "application/json" },
  });
  const text = await answer.text();
  const [filter] = call.params ?? [];
  if (call.method !== "eth_getLogs" || filter === undefined) return { status: answer.status, text };
  const parsed = JSON.parse(text) as { result?: Answer[] };
  if (parsed.result === undefined) return { status: answer.status, text };
  const result = changed(filter as Answer, parsed.result);
  return { status: answer.status, text: JSON.stringify({ ...parsed, result }) };
}

/** The request for a block up to eight below the head in place of that for the head, as a node behind the others answers. */
async function lowered(target: string, call: Call, random: Random): Promise<Call> {
  const [tag, ...rest] = call.params ?? [];
  if (call.method !== "eth_getBlockByNumber" || tag !== "latest") return call;
  const { text } = await passOn(
    target,
    { ...call, method: "eth_blockNumber", params: [] },
    (_, logs) => logs,
  );
  const head = Number((JSON.parse(text) as { result: string }).result);
  return { ...call, params: [`0x${Math.max(0, head - random.below(9)).toString(16)}`, ...rest] };
}

function faulty(reply: Reply, fault: Fault, random: Random): Reply {
  const { text } = reply;
  if (fault === "malformed") return { ...reply, text: "<html>upstream error</html>" };
  if (fault === "cutBody") return { ...reply, text: text.slice(0, text.length / 2), isCut: true };
  if (fault === "tooMany")
    return { status: 429, text: '{"error":"rate limit"}', headers: { "retry-after": "1" } };
  const answer = JSON.parse(text) as { result?: { hash?: string } | null };
  if (fault === "nullBlock") return { ...reply, text: JSON.stringify({ ...answer, result: null }) };
  const hash = answer.result?.hash;
  if (fault !== "hashChange" || hash === undefined) return reply;
  return { ...reply, text: text.replaceAll(hash, `0x${random.hexDigits(32)}`) };
}

function logsOfBlock(logs: readonly Answer[], random: Random): Answer[] {
  const block = random.pick(logs)["blockNumber"];
  return logs.filter((log) => log["blockNumber"] === block);
}

function pickSome(logs: Answer[], random: Random): Answer[] {
  const left = [...logs];
  const count = Math.min(left.length, 1 + random.below(5));
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)).flat();
}
