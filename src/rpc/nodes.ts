import { LRUCache } from "lru-cache";
import { Counter } from "prom-client";
import { type Log, seeOperations } from "../log/json-log.ts";
import { metricsRegistry } from "../ponder/process.ts";
import type { Believe } from "./believed.ts";
import { areComplete, emptyRoot, headerHash, provenLogs } from "./block-proofs.ts";
import {
  type Header,
  headerIn,
  type LogsFilter,
  type LogsQuery,
  logsProblem,
  mayBeCutOff,
  type RpcLog,
  WrongAnswerError,
} from "./log-answers.ts";

/** A JSON-RPC request from Ponder. */
export type RpcRequest = { method: string; params?: unknown };

/**
 * A budget of requests that only serve checks: `max` at first and at most, refilled by `share` for each added request.
 */
function createBudget(share: number, max: number) {
  let left = max;
  return {
    add: () => {
      left = Math.max(left, Math.min(max, left + share));
    },
    /** Spends requests; false if fewer are left. */
    spend: (requests = 1) => {
      if (left < requests) return false;
      left -= requests;
      return true;
    },
    lift: () => {
      left = Number.POSITIVE_INFINITY;
    },
  };
}

/** Options of the checks of one chain. */
export type NodesOptions = {
  chain: string;
  /** Share (0 to 1) of the log ranges that are requested twice, from a second URL if there is one. */
  crossCheckShare: number;
  /** Whether logs are refused unless receipts prove them and blocks unless two URLs name them. */
  needsProofs?: boolean;
  /** A block that the operator vouches for. */
  trustedBlock?: { number: number; hash: string } | undefined;
  /** 0 skips the check of the chain id. */
  chainId: number;
  /** False for a local chain: see `IndexedChain`. */
  isPublic: boolean;
  log: Log;
  count: CountAnswer;
  /** Stores the blocks that may have been stored with wrong responses: all that are known now. */
  reportUnverified: (ranges: readonly BlockRange[]) => Promise<void> | undefined;
  /** Is told what is believed without proof. */
  believe: Believe;
  random: () => number;
  now: () => number;
};

/** A range of blocks, both ends included. */
export type BlockRange = { from: number; to: number };

type AnswerKind =
  | "refused"
  | "missing-logs"
  | "put-aside"
  | "cut-off"
  | "extra-request"
  | "unverified"
  | "differing"
  | "wrong-chain";

/** Counts a response or a check by chain and host. */
export type CountAnswer = (fact: { chain: string; host: string; kind: AnswerKind }) => void;

const metricName = "nsindex_rpc_checks_total";

/** A counter on Ponder's /metrics; unregistered outside of Ponder. */
export function openAnswerCount(): CountAnswer {
  const registry = metricsRegistry();
  // A hot reload opens the metric again in the same registry.
  registry?.removeSingleMetric(metricName);
  const counter = new Counter({
    name: metricName,
    help: "Answers of RPC URLs that were refused or are unverified, and requests that only served a check",
    labelNames: ["chain", "host", "kind"],
    registers: registry === undefined ? [] : [registry],
  });
  return (fact) => counter.inc(fact);
}

/** An RPC URL and its state. Only its host is known: the rest may hold a key. Times are in milliseconds since 1970. */
export type Node = ReturnType<typeof newNode>;

/** A URL of which nothing is known yet. */
export const newNode = (host: string, request: (body: RpcRequest) => Promise<unknown>) => ({
  host,
  request,
  /** Consecutive refused responses. */
  refused: 0,
  /** Compared log ranges; the first few always are. */
  compared: 0,
  /** Whether it left out or invented logs; from then on all its ranges are compared. */
  hasLied: false,
  /** Whether it last reported another chain. */
  isForeign: false,
  /** Start of the responses to recheck, until the recheck begins. */
  unverifiedSince: undefined as number | undefined,
  /** Until when other URLs answer in its place, and until when no call is compared with it. */
  asideUntil: 0,
  silentUntil: 0,
  /**
   * When it last proved the chain, after how many requests or when it is asked again, and the budget of scheduled
   * checks.
   */
  chainCheck: { provenAt: 0, requests: 0, until: 0, isPlanned: false, budget: createBudget(0.005, 10) },
});

/** A response about blocks that Ponder received at a time (milliseconds since 1970) and may have stored. */
export type Served = BlockRange & {
  node: Node;
  at: number;
  /** For logs: the request apart from the blocks, one object for equal requests. */
  selection?: LogsRequest;
  /** Whether a new request returns the same; undefined if no URL can tell now. */
  isSameAgain: () => Promise<boolean | undefined>;
};

/** The logs of a range: their digest, and the logs by block, undefined once the block is checked. */
export type ServedRange = Served & {
  selection: LogsRequest;
  digest: string;
  byBlock: Map<number, RpcLog[] | undefined>;
};

/** The URLs of a chain, and what they returned. */
export type Nodes = ReturnType<typeof newNodes>;

/** The URLs of a chain of which nothing is known yet. */
export const newNodes = (options: NodesOptions, all: Node[]) => ({
  ...options,
  all,
  /** The number of the last `latest` block that a URL returned. */
  newest: undefined as number | undefined,
  /** Whether any receipts had the root that their header names; from then on live logs need such receipts. */
  areReceiptsProvable: false,
  /** By block hash: nodes whose receipts do not have the block's root, until others prove its logs. */
  contradicting: new LRUCache<string, Set<Node>>({ max: 100 }),
  /** Proven headers by hash, pending ones included. */
  headers: new LRUCache<string, Promise<Header | undefined>>({ max: 512 }),
  /** The latest log ranges, for the check of their blocks. */
  ranges: new Set<ServedRange>(),
  /** Log requests by address and topics, each kept once. */
  selections: new Map<string, LogsRequest>(),
  /** Responses that Ponder may have stored, and those that may be wrong. */
  served: new Set<Served>(),
  unverified: new Set<Served>(),
  /** Resolves once the unverified ranges are stored or storing failed. */
  stored: Promise.resolve() as Promise<void> | undefined,
  /** The budget for headers and receipts, unlimited once a block did not fit its logs. */
  checks: createBudget(0.005 + options.crossCheckShare, options.needsProofs ? Number.POSITIVE_INFINITY : 20),
  /** The budget for comparing calls: enough for all on most chains, unlimited once two URLs differ. */
  calls: createBudget(0.02, 100),
  hasDisputes: false,
  /** Blocks considered for the sample; the first few are always in it. */
  sampled: 0,
});

const refusalsUntilAside = 3;
const asideMinutes = 10;

/**
 * The URL that answers for `node`: itself unless it is put aside. If all are, one that has not lied and serves the
 * chain comes first.
 */
export function chooseSubstitute(nodes: Nodes, node: Node): Node {
  const rank = (one: Node) => (isAside(nodes, one) ? (one.hasLied || one.isForeign ? 2 : 1) : 0);
  return [node, ...nodes.all].reduce((best, one) => (rank(one) < rank(best) ? one : best));
}

/** The URLs other than `node` that are not put aside. */
export const othersThan = (nodes: Nodes, node: Node): Node[] =>
  nodes.all.filter((other) => other !== node && !isAside(nodes, other));

/** Whether other URLs answer in a node's place. */
export const isAside = (nodes: Nodes, { asideUntil }: Node) => asideUntil > nodes.now();

/** Counts an invalid response and returns its error. Three in a row put the URL aside. */
export function refusal(
  nodes: Nodes,
  node: Node,
  problem: string,
  options?: { isFinal: boolean },
): WrongAnswerError {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "refused" });
  node.refused += 1;
  // The URL may serve another chain now: the next request checks.
  node.chainCheck.requests = 0;
  if (node.refused >= refusalsUntilAside) putAside(nodes, node, problem);
  return new WrongAnswerError(`Rejected a response from ${node.host}: ${problem}.`, options);
}

/** Logs a message about a URL. */
export function report(
  nodes: Nodes,
  node: Node,
  { level, message }: { level: "warn" | "error"; message: string },
  fields: Parameters<Log>[2],
): void {
  const section = seeOperations("When a node leaves out logs");
  nodes.log(level, message, { chain: nodes.chain, hostname: node.host, ...fields, section });
}

/**
 * The error for a response that lacks, invents or changes logs; `truth` is the proof in words. Reports the URL and puts
 * it aside.
 */
export function missingLogs(
  nodes: Nodes,
  node: Node,
  { block, truth, isFinal = false }: { block: number; truth: string; isFinal?: boolean },
): WrongAnswerError {
  const problem = `the logs of block ${block} differ from ${truth}`;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "missing-logs" });
  // Reported once; repetitions are counted.
  if (!node.hasLied) {
    const message =
      "RPC endpoint returned incomplete or fabricated logs. Its earlier responses are being compared";
    report(nodes, node, { level: "error", message }, { block, truth });
    node.unverifiedSince = 0;
    node.hasLied = true;
  }
  putAside(nodes, node, problem);
  return new WrongAnswerError(`Rejected logs from ${node.host}: ${problem}.`, { isFinal });
}

/** Lets other URLs answer in a node's place for ten minutes, if one can. */
export function putAside(nodes: Nodes, node: Node, reason: string) {
  if (isAside(nodes, node)) return;
  node.asideUntil = nodes.now() + asideMinutes * 60_000;
  const another = chooseSubstitute(nodes, node);
  if (another === node) {
    node.asideUntil = 0;
    return;
  }
  node.refused = 0;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "put-aside" });
  const fields = { reason, minutes: asideMinutes, in_its_place: another.host };
  report(nodes, node, { level: "warn", message: "Put an RPC URL aside" }, fields);
}

/** Sends a request that only serves a check; undefined if it fails or returns null. */
export async function probe(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "extra-request" });
  try {
    return (await node.request(body)) ?? undefined;
  } catch {
    // The caller decides what a check means without a response.
    return undefined;
  }
}

/** Counts and reports what is taken on trust from a URL. */
export function sayUnverified(nodes: Nodes, node: Node, what: string): void {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "unverified" });
  nodes.believe([what]);
}

/** How a header contradicts its hash; undefined if it does not. Headers of local chains may lack fields. */
export function hashProblem(nodes: Nodes, node: Node, response: unknown): string | undefined {
  const { number, hash } = response as Header;
  const computed = headerHash(response as Record<string, unknown>);
  if (computed === hash) return undefined;
  const problem = `the header of block ${Number(number)} ${computed === undefined ? "lacks a field that its hash covers" : `does not hash to ${hash}`}`;
  if (computed !== undefined || nodes.isPublic || nodes.needsProofs) return problem;
  sayUnverified(nodes, node, "headers, which lack fields that their hashes cover");
  return undefined;
}

/** The header in a response; undefined if there is none or it is not proven. */
export function provenHeader(nodes: Nodes, node: Node, response: unknown): Header | undefined {
  const header = headerIn(response);
  return header !== undefined && hashProblem(nodes, node, response) === undefined ? header : undefined;
}

/** Requests a header by hash or number for a check; undefined if the node has no proven one. */
export async function askHeader(nodes: Nodes, node: Node, block: string): Promise<Header | undefined> {
  const isHash = block.length === 66;
  const method = isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const header = provenHeader(nodes, node, await probe(nodes, node, { method, params: [block, false] }));
  const isAsked = isHash ? header?.hash === block : Number(header?.number) === Number(block);
  return isAsked ? header : undefined;
}

/**
 * All logs of a block, and what proves them, in words: receipts of a node, or else of another, whose root the header
 * names. Undefined if no node serves the receipts. `known`: receipts that the node returned before. Reports nodes whose
 * receipts contradict the proven ones. If none are proven, it reports nodes whose receipts contradict the header, and
 * throws an error that is `isFinal`.
 */
export async function logsByReceipts(
  nodes: Nodes,
  first: Node,
  header: Header,
  { known, isFinal = false }: { known?: unknown; isFinal?: boolean } = {},
): Promise<{ logs: RpcLog[]; truth: string } | undefined> {
  if (header.receiptsRoot === emptyRoot) return { logs: [], truth: "its header" };
  const block = Number(header.number);
  let liar: Node | undefined;
  const contradicting = nodes.contradicting.get(header.hash) ?? new Set();
  const body = { method: "eth_getBlockReceipts", params: [header.hash] };
  for (const node of [first, ...othersThan(nodes, first)]) {
    const isKnown = node === first && known !== undefined;
    const receipts = isKnown ? known : await probe(nodes, node, body);
    const logs = provenLogs(receipts, header);
    if (logs === undefined) {
      if (!areOfBlock(receipts, header)) continue;
      nodes.contradicting.set(header.hash, contradicting.add(node));
      if (areComplete(receipts, { chainId: nodes.chainId, block })) liar ??= node;
      continue;
    }
    nodes.areReceiptsProvable = true;
    const truth = `the receipts of ${node.host}`;
    for (const wrong of contradicting) missingLogs(nodes, wrong, { block, truth });
    nodes.contradicting.delete(header.hash);
    return { logs, truth };
  }
  if (liar !== undefined)
    throw missingLogs(nodes, liar, { block, truth: "the receipts root of its header", isFinal });
  return undefined;
}

const areOfBlock = (receipts: unknown, { hash }: Header): receipts is Record<string, unknown>[] =>
  Array.isArray(receipts) && receipts.length > 0 && receipts.every((receipt) => receipt?.blockHash === hash);

/** A request for logs: the filter as it is sent, and as answers are tested against it. */
export type LogsRequest = { filter: LogsFilter; query: LogsQuery };

/** The same request for other blocks. */
export const inRange = ({ filter, query }: LogsRequest, { from, to }: BlockRange): LogsRequest => ({
  filter: { ...filter, fromBlock: toHex(from), toBlock: toHex(to) },
  query: { ...query, from, to },
});

/**
 * Returns a node's logs, or throws if they are invalid. A response that may be cut off is requested again in halves.
 */
export async function fetchValidatedLogs(nodes: Nodes, node: Node, request: LogsRequest): Promise<RpcLog[]> {
  const { filter, query } = request;
  const logs = await node.request({ method: "eth_getLogs", params: [filter] });
  const problem = logsProblem(logs, query);
  if (problem !== undefined) throw refusal(nodes, node, problem);
  node.refused = 0;
  const { from, to, blockHash } = query;
  if (blockHash !== undefined || from === to || !mayBeCutOff((logs as RpcLog[]).length))
    return logs as RpcLog[];
  nodes.count({ chain: nodes.chain, host: node.host, kind: "cut-off" });
  const middle = Math.floor((from + to) / 2);
  const half = (range: BlockRange) => fetchValidatedLogs(nodes, node, inRange(request, range));
  return [...(await half({ from, to: middle })), ...(await half({ from: middle + 1, to }))];
}

/** A number as a JSON-RPC quantity. */
export const toHex = (number: number) => `0x${number.toString(16)}`;
