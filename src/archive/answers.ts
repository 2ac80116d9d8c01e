import { setTimeout as wait } from "node:timers/promises";
import { isRefusal } from "../ens/contract-refusals.ts";
import { type RpcRequest, toHex } from "../rpc/nodes.ts";
import { pauseMs, retried } from "./parallel.ts";

/**
 * A request, the longest answer to it that is read (bytes; without it any), how long it may take, and which nodes were tried: each try
 * adds one.
 */
export type BoundedRequest = RpcRequest & { maxBytes?: number; timeoutMs?: number; tried?: Set<unknown> };

/** A node's answer that it cannot give a result; `code` is that of JSON-RPC. */
export class NodeError extends Error {
  override name = "NodeError";
  readonly code: unknown;
  constructor(message: string, code: unknown) {
    super(message);
    this.code = code;
  }
}

/** The code of an answer that was longer than its request allows. */
export const tooLong = "too long";

type Ask = (body: BoundedRequest) => Promise<unknown>;

/** What is known of a chain's nodes while they are asked for results. */
export type NodeState = {
  ask: Ask;
  /** Of how many nodes each request asks another one first. */
  urls: number;
  /** How many requests were sent. */
  requests: number;
  /** Methods that succeeded, and those that the nodes lack. */
  known: Set<string>;
  lacked: Set<string>;
  /** Requests in a row that no node could answer. */
  fruitless: number;
  /** Why the latest result could not be given. */
  reason: string;
};

/** Nodes that nothing is known of yet. */
export const newNodes = (ask: Ask, urls = 1): NodeState => ({
  ...{ ask, urls, requests: 0, known: new Set(), lacked: new Set() },
  ...{ fruitless: 0, reason: "" },
});

type Answer = { result?: unknown; hasFailed?: boolean };

const tries = { failed: 3, throttled: 8 };
const fruitlessRepeats = 3;
const repeatMs = 100;
const longestPauseMs = 30_000;
const throttlingCodes = new Set<unknown>([429, -32005]);
const unsupportedCodes = new Set<unknown>([-32601, -32004]);

/**
 * The result of a request; none if a contract refuses, or the answer is too long, and where nodes fail on this request alone. Rejects
 * if no node serves the block.
 */
export async function answerOf(nodes: NodeState, request: BoundedRequest, block: number): Promise<Answer> {
  const { ask } = nodes;
  const { method } = request;
  if (nodes.lacked.has(method)) return { hasFailed: true };
  let error: unknown;
  let isUnsupported = true;
  const tried = new Set();
  for (let attempt = 1, throttled = 0; ; attempt++) {
    nodes.requests += 1;
    try {
      const result = await ask({ ...request, tried });
      if (result === null) throw new NodeError("no result", undefined);
      nodes.known.add(method);
      if (attempt > nodes.urls) nodes.fruitless = 0;
      return { result };
    } catch (failure) {
      error = failure;
    }
    if (error instanceof NodeError && (error.code === tooLong || isRefusal(error))) return {};
    const { code } = error as { code?: unknown };
    const isThrottled = throttlingCodes.has(code);
    if (isThrottled) throttled += 1;
    else isUnsupported &&= unsupportedCodes.has(code);
    const rounds = nodes.fruitless < fruitlessRepeats ? tries.failed : 1;
    const most = isThrottled ? tries.throttled : rounds * nodes.urls;
    if (attempt - (isThrottled ? 0 : throttled) >= most) break;
    // Another node is asked at once.
    if (!isThrottled && attempt % nodes.urls > 0) continue;
    const pause = isThrottled ? pauseMs * 2 ** attempt : repeatMs * 2 ** (attempt / nodes.urls);
    await wait(Math.min(longestPauseMs, pause));
  }
  nodes.fruitless += 1;
  const { message } = error as { message: string };
  if (isUnsupported && !nodes.known.has(method)) nodes.lacked.add(method);
  // A node that is away ends the recording, which goes on from here later.
  if (!(error instanceof NodeError)) await retried(() => ask(blockRequest(block)));
  nodes.reason = `${method}: ${message.slice(0, longestReason)}`;
  return { hasFailed: true };
}

const longestReason = 200;

const blockRequest = (block: number): RpcRequest => ({
  method: "eth_getBlockByNumber",
  params: [toHex(block), false],
});
