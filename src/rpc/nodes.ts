import { LRUCache } from "lru-cache";
import { Counter } from "prom-client";
import { type Log, seeOperations } from "../log/json-log.ts";
import { metricsRegistry } from "../ponder/process.ts";
import type { Believe } from "./believed.ts";
import { emptyRoot, headerHash, provenLogs } from "./block-proofs.ts";
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

/** A JSON-RPC request as Ponder passes it on. */
export type RpcRequest = { method: string; params?: unknown };

/** Requests that may be sent for checks alone: `most` at first, and `share` more for each other request that is added. */
function createBudget(share: number, most: number) {
  let left = most;
  return {
    add: () => {
      left = Math.max(left, Math.min(most, left + share));
    },
    /** Whether there are so many requests left, which are then spent. */
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

/** What the checks of one chain need. */
export type NodesOptions = {
  chain: string;
  /** Share of the ranges of logs, from 0 to 1, that are asked for twice: of a second URL, if there is one. */
  crossCheckShare: number;
  /** Id of the chain; 0 does not compare it. */
  chainId: number;
  /** False for a local chain: see `IndexedChain`. */
  isPublic: boolean;
  log: Log;
  count: CountAnswer;
  /** Stores the blocks that may have been stored with wrong answers: all that are known now. */
  reportUnverified: (ranges: readonly BlockRange[]) => Promise<void> | undefined;
  /** Is told what is believed without proof. */
  believe: Believe;
  random: () => number;
  now: () => number;
};

/** Blocks from `from` to `to`, both included. */
export type BlockRange = { from: number; to: number };

// Kinds of answers and checks that are counted.
type AnswerKind =
  | "refused"
  | "missing-logs"
  | "put-aside"
  | "cut-off"
  | "extra-request"
  | "unverified"
  | "differing"
  | "wrong-chain";

/** Counts an answer or a check by chain and host. */
export type CountAnswer = (fact: { chain: string; host: string; kind: AnswerKind }) => void;

const metricName = "nsindex_rpc_checks_total";

/** A count that Ponder shows at /metrics; outside of Ponder nothing is counted. */
export function openAnswerCount(): CountAnswer {
  const registry = metricsRegistry();
  // A hot reload opens the metric again over the same registry.
  registry?.removeSingleMetric(metricName);
  const counter = new Counter({
    name: metricName,
    help: "Answers of RPC URLs that were refused or are unverified, and requests that only served a check",
    labelNames: ["chain", "host", "kind"],
    registers: registry === undefined ? [] : [registry],
  });
  return (fact) => counter.inc(fact);
}

/** One URL of a chain, known by its host only: the rest of a URL may hold a key. Times in milliseconds since 1970. */
export type Node = ReturnType<typeof newNode>;

/** A URL that nothing is known of yet. */
export const newNode = (host: string, request: (body: RpcRequest) => Promise<unknown>) => ({
  host,
  request,
  /** Answers in a row that were refused. */
  refused: 0,
  /** Ranges of its logs that were compared; the first few always are. */
  compared: 0,
  /** Whether it left out or invented logs: from then on every range of it is compared. */
  hasLied: false,
  /** Whether it was last seen to serve another chain. */
  isForeign: false,
  /** Since when its answers have to be asked for again, if that has not begun. */
  unverifiedSince: undefined as number | undefined,
  /** Until when the other URLs answer in its place, and until when it is not asked about calls. */
  asideUntil: 0,
  silentUntil: 0,
  /** When it was last seen to serve the chain; after how many requests or at what time it is asked; what that may cost. */
  chainCheck: { provenAt: 0, requests: 0, until: 0, isPlanned: false, budget: createBudget(0.005, 10) },
});

/** An answer about some blocks that Ponder received and may have stored, and when (milliseconds since 1970). */
export type Served = BlockRange & {
  node: Node;
  at: number;
  /** Of logs: what was asked for besides the blocks, the same object for the same question. */
  selection?: LogsRequest;
  /** Whether the answer is the same when it is asked for again; undefined if nobody can tell now. */
  isSameAgain: () => Promise<boolean | undefined>;
};

/** The logs of a range: what tells them from others, and those of each block; undefined once the block was checked. */
export type ServedRange = Served & {
  selection: LogsRequest;
  digest: string;
  byBlock: Map<number, RpcLog[] | undefined>;
};

/** The URLs of one chain, and what they returned. */
export type Nodes = ReturnType<typeof newNodes>;

/** The URLs of a chain of which nothing is known yet. */
export const newNodes = (options: NodesOptions, all: Node[]) => ({
  ...options,
  all,
  /** The number of the newest block that one of them named. */
  newest: undefined as number | undefined,
  /** Whether receipts were seen to have the root that their header names: from then on others that do not are wrong. */
  areReceiptsProvable: false,
  /** Nodes whose receipts of a block did not have its root, until any prove the block's logs. */
  contradicting: new LRUCache<string, Set<Node>>({ max: 100 }),
  /** Proven headers by hash, also those that are on their way. */
  headers: new LRUCache<string, Promise<Header | undefined>>({ max: 512 }),
  /** The last ranges of logs, with what waits for their blocks. */
  ranges: new Set<ServedRange>(),
  /** Filters of logs by their text, each kept once. */
  selections: new Map<string, LogsRequest>(),
  /** What Ponder received and may have stored, and the part of it that was wrong or may be. */
  served: new Set<Served>(),
  unverified: new Set<Served>(),
  /** Resolves once what is unverified was stored, or could not be. */
  stored: Promise.resolve() as Promise<void> | undefined,
  /** Headers and receipts that may be asked for; all of them once a block did not fit its logs. */
  checks: createBudget(0.005 + options.crossCheckShare, 20),
  /** Calls that may be asked twice: on most chains all of them, and once two URLs differ. */
  calls: createBudget(0.02, 100),
  hasDisputes: false,
  /** How many blocks may have been compared with their receipts because they are a sample. */
  sampled: 0,
});

const refusalsUntilAside = 3;
const asideMinutes = 10;

/** The URL that answers for `node`: itself unless it is put aside; of those that all are, one that was not proven wrong. */
export function inPlaceOf(nodes: Nodes, node: Node): Node {
  const rank = (one: Node) => (isAside(nodes, one) ? (one.hasLied || one.isForeign ? 2 : 1) : 0);
  return [node, ...nodes.all].reduce((best, one) => (rank(one) < rank(best) ? one : best));
}

/** The URLs but `node` that are not put aside. */
export const othersThan = (nodes: Nodes, node: Node): Node[] =>
  nodes.all.filter((other) => other !== node && !isAside(nodes, other));

/** Whether the other URLs answer in the place of a node. */
export const isAside = (nodes: Nodes, { asideUntil }: Node) => asideUntil > nodes.now();

/** The error for an answer that breaks the rules of its method; a URL with several in a row is put aside. */
export function refusal(
  nodes: Nodes,
  node: Node,
  problem: string,
  options?: { isFinal: boolean },
): WrongAnswerError {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "refused" });
  node.refused += 1;
  // It may have come to serve another chain.
  node.chainCheck.requests = 0;
  if (node.refused >= refusalsUntilAside) putAside(nodes, node, problem);
  return new WrongAnswerError(`Refused an answer of ${node.host}: ${problem}.`, options);
}

/** Writes a line about a URL. */
export function report(
  nodes: Nodes,
  node: Node,
  { level, message }: { level: "warn" | "error"; message: string },
  fields: Parameters<Log>[2],
): void {
  const section = seeOperations("When a node leaves out logs");
  nodes.log(level, message, { chain: nodes.chain, hostname: node.host, ...fields, section });
}

/** The error for an answer that lacks, invents or changes logs; `truth` names what proves it, in words. Reports the URL, and puts it aside if there is another. */
export function missingLogs(
  nodes: Nodes,
  node: Node,
  { block, truth, isFinal = false }: { block: number; truth: string; isFinal?: boolean },
): WrongAnswerError {
  const problem = `the logs of block ${block} differ from ${truth}`;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "missing-logs" });
  // One line: what follows is counted.
  if (!node.hasLied) {
    const message =
      "RPC endpoint returned incomplete or fabricated logs. What it returned before is compared";
    report(nodes, node, { level: "error", message }, { block, truth });
    node.unverifiedSince = 0;
    node.hasLied = true;
  }
  putAside(nodes, node, problem);
  return new WrongAnswerError(`Refused logs of ${node.host}: ${problem}.`, { isFinal });
}

/** Has the other URLs answer in the place of one for a while, if there is one that can. */
export function putAside(nodes: Nodes, node: Node, reason: string) {
  if (isAside(nodes, node)) return;
  node.asideUntil = nodes.now() + asideMinutes * 60_000;
  const another = inPlaceOf(nodes, node);
  if (another === node) {
    node.asideUntil = 0;
    return;
  }
  node.refused = 0;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "put-aside" });
  const fields = { reason, minutes: asideMinutes, in_its_place: another.host };
  report(nodes, node, { level: "warn", message: "Put an RPC URL aside" }, fields);
}

/** Asks a node for something that Ponder did not ask for; undefined if it fails or knows nothing. */
export async function probe(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "extra-request" });
  try {
    return (await node.request(body)) ?? undefined;
  } catch {
    // The request only serves a check: what the check says without it is the caller's to decide.
    return undefined;
  }
}

/** Says and counts that something of a URL is believed without proof. */
export function sayUnverified(nodes: Nodes, node: Node, what: string): void {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "unverified" });
  nodes.believe([what]);
}

/** What contradicts the hash that a header names; undefined if nothing does. Headers of local chains that lack fields are believed. */
export function hashProblem(nodes: Nodes, node: Node, response: unknown): string | undefined {
  const { number, hash } = response as Header;
  const computed = headerHash(response as Record<string, unknown>);
  if (computed === hash) return undefined;
  const problem = `the header of block ${Number(number)} ${computed === undefined ? "lacks a field that its hash covers" : `does not hash to ${hash}`}`;
  if (computed !== undefined || nodes.isPublic) return problem;
  sayUnverified(nodes, node, "headers, which lack fields that their hashes cover");
  return undefined;
}

/** The header that a node returned; undefined if it is none, or not proven. */
export function provenHeader(nodes: Nodes, node: Node, response: unknown): Header | undefined {
  const header = headerIn(response);
  return header !== undefined && hashProblem(nodes, node, response) === undefined ? header : undefined;
}

/** The header of a block by its hash or number, which a check needs; undefined if the node has none that is proven. */
export async function askHeader(nodes: Nodes, node: Node, block: string): Promise<Header | undefined> {
  const isHash = block.length === 66;
  const method = isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const header = provenHeader(nodes, node, await probe(nodes, node, { method, params: [block, false] }));
  const isAsked = isHash ? header?.hash === block : Number(header?.number) === Number(block);
  return isAsked ? header : undefined;
}

/**
 * All logs of a block by receipts that have the root that the header names, of a node or else of another, and what proves them, in words;
 * undefined if none has them. `known`: receipts that the node returned before. Reports nodes whose receipts of the block contradict the proven ones.
 */
export async function logsByReceipts(
  nodes: Nodes,
  first: Node,
  header: Header,
  known?: unknown,
): Promise<{ logs: RpcLog[]; truth: string } | undefined> {
  if (header.receiptsRoot === emptyRoot) return { logs: [], truth: "its header" };
  const contradicting = nodes.contradicting.get(header.hash) ?? new Set();
  const body = { method: "eth_getBlockReceipts", params: [header.hash] };
  for (const node of [first, ...othersThan(nodes, first)]) {
    const isKnown = node === first && known !== undefined;
    const receipts = isKnown ? known : await probe(nodes, node, body);
    const logs = provenLogs(receipts, header);
    if (logs === undefined) {
      if (areOfBlock(receipts, header)) nodes.contradicting.set(header.hash, contradicting.add(node));
      continue;
    }
    nodes.areReceiptsProvable = true;
    const truth = `the receipts of ${node.host}`;
    for (const wrong of contradicting) missingLogs(nodes, wrong, { block: Number(header.number), truth });
    nodes.contradicting.delete(header.hash);
    return { logs, truth };
  }
  return undefined;
}

const areOfBlock = (receipts: unknown, { hash }: Header) =>
  Array.isArray(receipts) && receipts.length > 0 && receipts.every((receipt) => receipt?.blockHash === hash);

/** A request for logs: the filter as it is sent, and as answers are tested against it. */
export type LogsRequest = { filter: LogsFilter; query: LogsQuery };

/** The request for the logs of other blocks. */
export const inRange = ({ filter, query }: LogsRequest, { from, to }: BlockRange): LogsRequest => ({
  filter: { ...filter, fromBlock: toHex(from), toBlock: toHex(to) },
  query: { ...query, from, to },
});

/** The logs of one node, in order and as asked for; an answer that may be cut off is asked for again in halves. */
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

/** A number as JSON-RPC writes it. */
export const toHex = (number: number) => `0x${number.toString(16)}`;
