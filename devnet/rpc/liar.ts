import { hash } from "node:crypto";
import { json } from "node:stream/consumers";
import { createRandom, type Random } from "../random.ts";
import type { Answer } from "../recording.ts";
import { listen } from "./server.ts";

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
    const index = random.below(logs.length);
    return logs.flatMap((log, i) => (i === index ? [log, log] : [log]));
  },
  /** The last two logs change places. */
  disorder: (logs) => [...logs.slice(0, -2), ...logs.slice(-2).reverse()],
  /** A log carries the hash of a block that does not exist. */
  foreignHash: (logs, { random }) => {
    const index = random.below(logs.length);
    const blockHash = `0x${random.hexDigits(32)}`;
    return logs.map((log, i) => (i === index ? { ...log, blockHash } : log));
  },
  /** The last log is of a later block than asked for. */
  outside: (logs) => [...logs.slice(0, -1), { ...logs.at(-1), blockNumber: "0x7fffffff" }],
} satisfies Record<string, (logs: Answer[], chances: { random: Random; limit: number }) => Answer[]>;

type Lie = keyof typeof lies;

/**
 * Faults of other answers: blocks that change or are missing, a height that goes back and forth, failures of the
 * connection.
 */
type Fault = "flap" | "hashChange" | "nullBlock" | "malformed" | "cutBody" | "stall" | "tooMany";

/** What of the chain is changed, the same in every answer. */
export type Change = {
  /**
   * A part of a log; the content of two logs in a row; the time of a block; a block's logs, hidden behind an empty
   * bloom; what a call returns.
   */
  kind: "topics" | "data" | "address" | "transactionHash" | "swap" | "timestamp" | "hide" | "call";
  /** Share of the logs, blocks or calls that are changed. */
  rate: number;
  /** Whether receipts have the changed log too. */
  of: "logs" | "logs and receipts";
};

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
  change?: Change;
  /** One of them is chosen for a share of all requests. */
  faults?: { kinds: readonly Fault[]; rate: number };
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
  const transactionsOf = (blockHash: string) => transactionsIn(target, blockHash);

  function changed(filter: Answer, logs: Answer[]): Answer[] {
    const isOfBlock = filter["blockHash"] !== undefined;
    if (current.of === (isOfBlock ? "ranges" : "blocks")) return logs;
    if (truthful-- > 0) return logs;
    if (current.kinds.length === 0 || logs.length === 0 || random.fraction() >= current.rate) return logs;
    const kind = random.pick(current.kinds);
    return lies[kind](logs, { random, limit: current.limit ?? 1_000 });
  }

  async function answer(call: Call): Promise<Reply> {
    const { faults } = current;
    const fault = faults && random.fraction() < faults.rate ? random.pick(faults.kinds) : undefined;
    const isChanged = fault !== undefined && (isOfAnyMethod(fault) || isBlockRequest(call));
    const asked = isChanged && fault === "flap" ? await lowered(target, call, random) : call;
    const reply = await lyingReply(asked);
    if (!isChanged) return reply;
    told += 1;
    if (fault === "stall") await new Promise((resolve) => setTimeout(resolve, 20_000));
    return faulty(reply, fault, random);
  }

  async function lyingReply(call: Call): Promise<Reply> {
    const { change } = current;
    const reply = await passOn(target, call);
    if (call.method !== "eth_getLogs" && change === undefined) return reply;
    const parsed = JSON.parse(reply.text) as { result?: unknown };
    if (parsed.result === undefined || parsed.result === null) return reply;
    const isOfLogs = call.method === "eth_getLogs";
    let result: unknown = isOfLogs
      ? changed(call.params[0] as Answer, parsed.result as Answer[])
      : parsed.result;
    if (change !== undefined) result = await changedResult(change, { seed, call, result, transactionsOf });
    const text = JSON.stringify({ ...parsed, result });
    if (text !== JSON.stringify(parsed)) told += 1;
    return { ...reply, text };
  }

  const { url, close } = await serveReplies(answer);
  return {
    url,
    /** How many answers were changed. */
    told: () => told,
    lie: (next: Lying) => {
      current = next;
    },
    /** Passes all that follows on to another node, for example of another chain. */
    pointAt: (url: string) => {
      target = url;
    },
    close,
  };
}

/** Serves what `answer` makes of each call over HTTP. */
async function serveReplies(answer: (call: Call) => Promise<Reply>) {
  const { port, close } = await listen(async (request, response) => {
    try {
      const { status, text, headers, isCut = false } = await answer((await json(request)) as Call);
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
  // Another host name than the node's, so that logs and metrics tell the two apart.
  return { url: `http://localhost:${port}`, close };
}

/** The hashes of the transactions of a node's block. */
async function transactionsIn(node: string, blockHash: string): Promise<string[]> {
  const call = { id: 1, method: "eth_getBlockByHash", params: [blockHash, false] };
  const { result } = JSON.parse((await passOn(node, call)).text) as { result?: { transactions: string[] } };
  return result?.transactions ?? [];
}

type Call = { id?: unknown; method: string; params: unknown[] };

const isOfAnyMethod = (fault: Fault) => !["flap", "hashChange", "nullBlock"].includes(fault);
const isBlockRequest = ({ method }: Call) => /^eth_(getBlockBy(Number|Hash)|blockNumber)$/.test(method);

async function passOn(target: string, call: Call): Promise<Reply> {
  const answer = await fetch(target, {
    method: "POST",
    body: JSON.stringify(call),
    headers: { "content-type": "application/json" },
  });
  return { status: answer.status, text: await answer.text() };
}

/**
 * The request for a block up to eight below the head in place of that for the head, as a node behind the others
 * answers.
 */
async function lowered(target: string, call: Call, random: Random): Promise<Call> {
  const [tag, ...rest] = call.params ?? [];
  if (call.method !== "eth_getBlockByNumber" || tag !== "latest") return call;
  const { text } = await passOn(target, { ...call, method: "eth_blockNumber", params: [] });
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

// --- Changed content ---

type Changing = { seed: number; transactionsOf: (blockHash: string) => Promise<string[]> };

/** The result of a call with what is changed of it. */
async function changedResult(
  change: Change,
  { call: { method, params }, result, ...changing }: Changing & { call: Call; result: unknown },
): Promise<unknown> {
  const isHit = (key: string) => isChosen(change.rate, `${changing.seed} ${key}`);
  if (method === "eth_call") {
    const isCalled = change.kind === "call" && isHit(JSON.stringify(params));
    return isCalled ? flipped(String(result)) : result;
  }
  if (method === "eth_getLogs") return changedLogs(change, result as Answer[], changing);
  if (isBlockRequest({ method, params }) && typeof result === "object") {
    return changedBlock(change, result as Answer, changing.seed);
  }
  if (method === "eth_getTransactionReceipt") return changedReceipt(change, result as Answer, changing);
  if (method !== "eth_getBlockReceipts") return result;
  return Promise.all((result as Answer[]).map((receipt) => changedReceipt(change, receipt, changing)));
}

/** A block with what is changed of it: its time, or its bloom where its logs are hidden. */
export function changedBlock({ kind, rate }: Change, block: Answer, seed: number): Answer {
  if (!isChosen(rate, `${seed} ${String(block["number"])}`)) return block;
  if (kind === "hide") return { ...block, logsBloom: noBloom };
  const timestamp = `0x${(Number(block["timestamp"]) + 1).toString(16)}`;
  return kind === "timestamp" ? { ...block, timestamp } : block;
}

const noBloom = `0x${"0".repeat(512)}`;

/** A receipt with what is changed of its logs. */
export async function changedReceipt(change: Change, receipt: Answer, changing: Changing): Promise<Answer> {
  if (change.kind !== "hide" && change.of === "logs") return receipt;
  const logs = await changedLogs(change, receipt["logs"] as Answer[], changing);
  const isHidden = logs.length < (receipt["logs"] as Answer[]).length;
  return { ...receipt, logs, ...(isHidden ? { logsBloom: noBloom } : {}) };
}

async function changedLogs({ kind, rate }: Change, logs: Answer[], { seed, transactionsOf }: Changing) {
  const isHit = (key: unknown) => isChosen(rate, `${seed} ${String(key)}`);
  if (kind === "hide") return logs.filter(({ blockNumber }) => !isHit(blockNumber));
  if (kind === "swap") return swapped(logs, isHit);
  return Promise.all(
    logs.map(async (log) => {
      if (!isHit(`${String(log["blockHash"])} ${Number(log["logIndex"])}`)) return log;
      const topics = log["topics"] as string[];
      if (kind === "topics" && topics.length > 1)
        return { ...log, topics: [...topics.slice(0, -1), flipped(String(topics.at(-1)))] };
      if (kind === "data" || kind === "address") return { ...log, [kind]: flipped(String(log[kind])) };
      if (kind !== "transactionHash") return log;
      const hashes = await transactionsOf(String(log["blockHash"]));
      const other = hashes.findIndex((one) => one !== log["transactionHash"]);
      if (other < 0) return { ...log, transactionHash: flipped(String(log["transactionHash"])) };
      return { ...log, transactionHash: hashes[other], transactionIndex: `0x${other.toString(16)}` };
    }),
  );
}

/** Logs of which some pairs of one transaction, whose indexes follow each other, have changed places. */
function swapped(logs: Answer[], isHit: (key: unknown) => boolean): Answer[] {
  const pair = (log: Answer) => `${String(log["transactionHash"])} ${Number(log["logIndex"]) >> 1}`;
  return logs.map((log, i) => {
    const other = [logs[i - 1], logs[i + 1]].find((one) => one !== undefined && pair(one) === pair(log));
    if (other === undefined || !isHit(pair(log))) return log;
    const { address, topics, data } = other;
    return { ...log, address, topics, data };
  });
}

const isChosen = (rate: number, key: string) =>
  Number.parseInt(hash("md5", key).slice(0, 8), 16) < rate * 2 ** 32;

/** Hex whose last digit that is not zero is another one; the last of all if all are zero. */
const flipped = (hex: string) =>
  /[1-9a-f]0*$/.test(hex.slice(2))
    ? hex.replace(/([1-9a-f])(0*)$/, (_, digit: string, zeros: string) => (digit === "1" ? "2" : "1") + zeros)
    : hex.replace(/0$/, "1");
