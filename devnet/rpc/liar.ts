import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
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

/** What a lying node does to which requests. */
export type Lying = {
  /** One of them is chosen each time. */
  kinds: readonly Lie[];
  /** Share of the answers with logs that are changed. */
  rate: number;
  /** Requests for a range of blocks (backfill), for one block by its hash (live), or both. */
  of: "ranges" | "blocks" | "both";
  /** Logs that `truncate` leaves. */
  limit?: number;
};

/** A running proxy that lies. */
export type Liar = Awaited<ReturnType<typeof startLiar>>;

/** Passes JSON-RPC on to `target` and changes answers to `eth_getLogs`; the same seed tells the same lies. */
export async function startLiar({
  target,
  seed = 1,
  lying,
}: {
  target: string;
  seed?: number;
  lying: Lying;
}) {
  const random = createRandom(seed);
  let current = lying;
  let told = 0;

  function changed(filter: Answer, logs: Answer[]): Answer[] {
    const isOfBlock = filter["blockHash"] !== undefined;
    if (current.of === (isOfBlock ? "ranges" : "blocks")) return logs;
    if (logs.length === 0 || random.fraction() >= current.rate) return logs;
    const kind = random.pick(current.kinds);
    const lie = lies[kind](logs, { random, limit: current.limit ?? 1_000 });
    if (JSON.stringify(lie) !== JSON.stringify(logs)) told += 1;
    return lie;
  }

  const server = createServer(async (request, response) => {
    try {
      const { status, text } = await passOn(target, request, changed);
      response.writeHead(status, { "content-type": "application/json" }).end(text);
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
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function passOn(
  target: string,
  request: IncomingMessage,
  changed: (filter: Answer, logs: Answer[]) => Answer[],
): Promise<{ status: number; text: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString("utf8");
  const call = JSON.parse(body) as { method: string; params: Answer[] };
  const answer = await fetch(target, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  const text = await answer.text();
  const [filter] = call.params ?? [];
  if (call.method !== "eth_getLogs" || filter === undefined) return { status: answer.status, text };
  const parsed = JSON.parse(text) as { result?: Answer[] };
  if (parsed.result === undefined) return { status: answer.status, text };
  const result = changed(filter, parsed.result);
  return { status: answer.status, text: JSON.stringify({ ...parsed, result }) };
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
