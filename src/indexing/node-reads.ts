import { setTimeout as sleep } from "node:timers/promises";
import { isRefusal } from "../ens/contract-refusals.ts";

/** A JSON-RPC request about the block of an event, with the longest response (bytes) and time allowed. */
export type NodeRequest = {
  method: string;
  params: readonly unknown[];
  blockNumber: number;
  maxBytes: number;
  timeoutMs: number;
};

/**
 * The result that a chain's nodes return; undefined if they refuse, have none, exceed a limit, or fail on this request
 * while they serve others. Waits while no node serves any. Never rejects because of what a chain contains.
 */
export type AskNodes = (chainId: number, request: NodeRequest) => Promise<unknown>;

type Timing = { firstWaitMs: number; longestWaitMs: number; repeatMs: number; probeMs: number };
const production: Timing = { firstWaitMs: 500, longestWaitMs: 30_000, repeatMs: 100, probeMs: 3_000 };

// Attempts while the node serves other requests. A missing response costs the most time; a server's own failure is hard
// for an attacker to cause, and temporary.
const tries = { failed: 3, slow: 2, unwell: 8, throttled: 8 };
const longestRepeatMs = 1_000;

/**
 * Reads of indexing functions whose subject an attacker can choose. They do not go through Ponder's client: it would
 * follow OffchainLookup, try ten times over a minute, and read responses of any size. The price is that a new index
 * reads them again. `onOutage` is called when a read starts to wait for a chain.
 */
export function createNodes(
  chains: readonly { id: number; rpc: { http: readonly string[] } }[],
  { onOutage, timing = production }: { onOutage: (chainId: number) => void; timing?: Timing },
): AskNodes {
  const urls = new Map(chains.map(({ id, rpc }) => [id, rpc.http]));
  const patience = new Map<string, Patience>();
  return (chainId, request) => {
    const key = `${chainId} ${request.method}`;
    const ofMethod = patience.get(key) ?? createPatience();
    patience.set(key, ofMethod);
    return ask(urls.get(chainId) ?? [], request, {
      patience: ofMethod,
      timing,
      onOutage: () => onOutage(chainId),
    });
  };
}

async function ask(
  urls: readonly string[],
  request: NodeRequest,
  { patience, timing, onOutage }: { patience: Patience; timing: Timing; onOutage: () => void },
): Promise<unknown> {
  let spent = 0; // of all tries, as a share
  let repeats = 0;
  let throttled = 0;
  let outages = 0;
  for (let attempt = 0; urls.length > 0; attempt++) {
    const url = urls[attempt % urls.length] ?? "";
    const timeoutMs = patience.isShort() ? Math.ceil(request.timeoutMs / 8) : request.timeoutMs;
    const reply = await post(url, { ...request, timeoutMs });
    if (reply.kind === "result") {
      if (repeats > 0) patience.repeatHelped();
      return reply.result ?? undefined;
    }
    if (reply.kind === "refused") return undefined;
    if (reply.kind === "throttled") throttled += 1;
    else if (await servesBlock(url, request.blockNumber, timing.probeMs)) {
      spent += 1 / tries[reply.kind];
      if (spent >= 1 || patience.isShort()) {
        patience.repeatFailed();
        return undefined;
      }
      await sleep(Math.min(longestRepeatMs, timing.repeatMs * 2 ** repeats++));
      continue;
    }
    if (throttled > tries.throttled * urls.length) return undefined;
    if ((attempt + 1) % urls.length > 0) continue;
    if (outages === 0 && throttled === 0) onOutage();
    await sleep(Math.min(timing.longestWaitMs, timing.firstWaitMs * 2 ** outages++));
  }
  return undefined;
}

type Patience = ReturnType<typeof createPatience>;
const patienceWindowMs = 60_000;
const fruitlessRepeats = 3;

// Retries are for temporary failures. While none of the latest was temporary, the next ones get one short attempt:
// whoever can cause a failure can cause any number, and together they must not stall the index.
function createPatience() {
  let fruitless: number[] = [];
  return {
    isShort: () =>
      fruitless.length === fruitlessRepeats && Date.now() - (fruitless[0] ?? 0) < patienceWindowMs,
    repeatFailed: () => {
      fruitless = [...fruitless, Date.now()].slice(-fruitlessRepeats);
    },
    repeatHelped: () => {
      fruitless = [];
    },
  };
}

// A node that serves the event's block is healthy: the request itself is what fails.
async function servesBlock(url: string, blockNumber: number, timeoutMs: number): Promise<boolean> {
  const params = [`0x${blockNumber.toString(16)}`, false];
  const reply = await post(url, { method: "eth_getBlockByNumber", params, timeoutMs, maxBytes: 4_000_000 });
  return reply.kind === "result" && reply.result !== null;
}

type Reply = { kind: "result"; result: unknown } | { kind: "refused" | keyof typeof tries };

const tooManyRequests = 429;
const throttlingCodes = new Set<unknown>([tooManyRequests, -32005]);
const unsupportedCodes = new Set<unknown>([-32601, -32004]);

async function post(
  url: string,
  { method, params, timeoutMs, maxBytes }: Omit<NodeRequest, "blockNumber">,
): Promise<Reply> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal,
    });
    const body = await textUpTo(maxBytes, response);
    if (response.status === tooManyRequests) return { kind: "throttled" };
    if (body === undefined) return { kind: "refused" };
    const reply = replyOf(parsed(body));
    return reply.kind === "failed" && response.status >= 500 ? { kind: "unwell" } : reply;
  } catch {
    return { kind: signal.aborted ? "slow" : "unwell" };
  }
}

function replyOf(body: unknown): Reply {
  if (typeof body !== "object" || body === null) return { kind: "failed" };
  const { result, error } = body as {
    result?: unknown;
    error?: { code?: unknown; message?: unknown } | null;
  };
  if (typeof error === "object" && error !== null) {
    // The code comes first: a contract chooses the text of its revert.
    if (throttlingCodes.has(error.code)) return { kind: "throttled" };
    return { kind: unsupportedCodes.has(error.code) || isRefusal(error) ? "refused" : "failed" };
  }
  return result === undefined ? { kind: "failed" } : { kind: "result", result };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // Such as a proxy's page.
  }
}

async function textUpTo(maxBytes: number, { body }: Response): Promise<string | undefined> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the rest of the body.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
