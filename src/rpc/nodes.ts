import { Counter } from "prom-client";
import type { Log } from "../log/json-log.ts";
import { metricsRegistry } from "../ponder/process.ts";
import {
  differingBlocks,
  type LogsFilter,
  type LogsQuery,
  logsProblem,
  matches,
  mayBeCutOff,
  type RpcLog,
} from "./log-answers.ts";

/** A JSON-RPC request as Ponder passes it on. */
export type RpcRequest = { method: string; params?: unknown };

/** One URL of a chain, known by its host only: the rest of a URL may hold a key. */
export type Node = {
  host: string;
  request: (body: RpcRequest) => Promise<unknown>;
  /** Answers in a row that were refused. */
  refused: number;
  /** Until when the other URLs answer in its place, in milliseconds since 1970. */
  asideUntil: number;
};

/** What the checks of one chain need. */
export type NodesOptions = {
  chain: string;
  /** Share of the ranges of logs, from 0 to 1, that a second URL is asked for too. */
  crossCheckShare: number;
  log: Log;
  count: CountAnswer;
  random: () => number;
  now: () => number;
};

// Kinds of answers and checks that are counted.
type AnswerKind = "refused" | "missing-logs" | "put-aside" | "cut-off" | "extra-request" | "unverified";

/** Counts an answer or a check by chain and host. */
export type CountAnswer = (fact: { chain: string; host: string; kind: AnswerKind }) => void;

const metricName = "names_rpc_checks_total";

/** A count that Ponder shows at /metrics; outside of Ponder nothing is counted. */
export function openAnswerCount(): CountAnswer {
  const registry = metricsRegistry();
  if (registry === undefined) return () => {};
  // A hot reload opens the metric again over the same registry.
  registry.removeSingleMetric(metricName);
  const counter = new Counter({
    name: metricName,
    help: "Answers of RPC URLs that were refused or in doubt, and requests that only served a check",
    labelNames: ["chain", "host", "kind"],
    registers: [registry],
  });
  return (fact) => counter.inc(fact);
}

/** The URLs of one chain. */
export type Nodes = NodesOptions & { all: Node[] };

/**
 * An answer that is not passed on. Ponder sends the request again, to another URL if there is one. If `isFinal`, it fetches
 * all logs of the block range again instead.
 */
export class WrongAnswerError extends Error {
  override name = "WrongAnswerError";
  /** ponder: requests that fail with this code (JSON-RPC: invalid answer) are not sent again. */
  readonly code?: number;
  constructor(message: string, { isFinal = false } = {}) {
    super(message);
    if (isFinal) this.code = -32_700;
    // The place in this program says nothing about the node.
    delete this.stack;
  }
}

const refusalsUntilAside = 3;
const asideMinutes = 10;

/** The URL that answers for `node`: itself, or while it is put aside the first that is not. */
export function inPlaceOf(nodes: Nodes, node: Node): Node {
  return isAside(nodes, node) ? (anotherThan(nodes, node) ?? node) : node;
}

/** Another URL than `node` that is not put aside. */
export function anotherThan(nodes: Nodes, node: Node): Node | undefined {
  return nodes.all.find((other) => other !== node && !isAside(nodes, other));
}

const isAside = (nodes: Nodes, { asideUntil }: Node) => asideUntil > nodes.now();

/** The error for an answer that breaks the rules of its method; a URL with several in a row is put aside. */
export function refusal(
  nodes: Nodes,
  node: Node,
  problem: string,
  options?: { isFinal: boolean },
): WrongAnswerError {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "refused" });
  node.refused += 1;
  if (node.refused >= refusalsUntilAside) putAside(nodes, node, problem);
  return new WrongAnswerError(`Refused an answer of ${node.host}: ${problem}.`, options);
}

/** The error for an answer that lacks or invents logs. Reports the URL, and puts it aside if there is another. */
export function missingLogs(
  nodes: Nodes,
  node: Node,
  { block, witness, isFinal = false }: { block: number; witness: string; isFinal?: boolean },
): WrongAnswerError {
  const problem = `the logs of block ${block} differ from the receipts of ${witness}`;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "missing-logs" });
  nodes.log("error", "An RPC URL left out or invented logs; what it returned before may be wrong too", {
    chain: nodes.chain,
    hostname: node.host,
    block,
    witness,
  });
  putAside(nodes, node, problem);
  return new WrongAnswerError(`Refused logs of ${node.host}: ${problem}.`, { isFinal });
}

function putAside(nodes: Nodes, node: Node, reason: string) {
  const another = anotherThan(nodes, node);
  if (another === undefined || isAside(nodes, node)) return;
  node.asideUntil = nodes.now() + asideMinutes * 60_000;
  node.refused = 0;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "put-aside" });
  nodes.log("warn", "Put an RPC URL aside", {
    chain: nodes.chain,
    hostname: node.host,
    reason,
    minutes: asideMinutes,
    in_its_place: another.host,
  });
}

/** Asks a node for something that Ponder did not ask for; undefined if it fails or knows nothing. */
export async function askMore(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "extra-request" });
  try {
    return (await node.request(body)) ?? undefined;
  } catch {
    // The request only serves a check: what the check says without it is the caller's to decide.
    return undefined;
  }
}

/** The logs of a block (hash or hex number) by the receipts of its transactions, in order; undefined if the node has none. */
export async function logsOfReceipts(nodes: Nodes, node: Node, block: string): Promise<RpcLog[] | undefined> {
  const receipts = await askMore(nodes, node, { method: "eth_getBlockReceipts", params: [block] });
  if (!Array.isArray(receipts)) return undefined;
  const logs = (receipts as { logs?: RpcLog[] }[]).flatMap((receipt) => receipt.logs ?? []);
  return logs.sort((a, b) => Number(a.logIndex) - Number(b.logIndex));
}

/** A request for logs: the filter as it is sent, and as answers are tested against it. */
export type LogsRequest = { filter: LogsFilter; query: LogsQuery };

/** The logs of one node, in order and as asked for; an answer that may be cut off is asked for again in halves. */
export async function soundLogs(nodes: Nodes, node: Node, { filter, query }: LogsRequest): Promise<RpcLog[]> {
  const logs = await node.request({ method: "eth_getLogs", params: [filter] });
  const problem = logsProblem(logs, query);
  if (problem !== undefined) throw refusal(nodes, node, problem);
  node.refused = 0;
  const { from, to } = query;
  if (!(from < to) || query.blockHash !== undefined || !mayBeCutOff((logs as RpcLog[]).length))
    return logs as RpcLog[];
  nodes.count({ chain: nodes.chain, host: node.host, kind: "cut-off" });
  const middle = Math.floor((from + to) / 2);
  const half = (first: number, last: number) =>
    soundLogs(nodes, node, {
      filter: { ...filter, fromBlock: toHex(first), toBlock: toHex(last) },
      query: { ...query, from: first, to: last },
    });
  return [...(await half(from, middle)), ...(await half(middle + 1, to))];
}

/** The answer, or a share of the time the one that holds when a second URL is asked too. */
export async function crossChecked(
  nodes: Nodes,
  answer: NodeAnswer,
  request: LogsRequest,
): Promise<NodeAnswer> {
  const another = nodes.all.length > 1 ? anotherThan(nodes, answer.node) : undefined;
  if (another === undefined || nodes.random() >= nodes.crossCheckShare) return answer;
  nodes.count({ chain: nodes.chain, host: another.host, kind: "extra-request" });
  // An outage of the second URL says nothing about the first.
  const logs = await soundLogs(nodes, another, request).catch(() => undefined);
  if (logs === undefined) return answer;
  return decide(nodes, request.query, [answer, { node: another, logs }]);
}

/** Blocks of a difference that are decided by receipts; the first few show who is wrong. */
const mostDecided = 5;

/**
 * Decides between two answers to one query, by the receipts of both nodes. Returns the right answer with its node, and
 * puts the other node aside. Throws if both are wrong, or if the answer that lacks logs cannot be proven right.
 */
async function decide(
  nodes: Nodes,
  query: LogsQuery,
  [one, other]: readonly [NodeAnswer, NodeAnswer],
): Promise<NodeAnswer> {
  const wrong = new Set<NodeAnswer>();
  let problem: WrongAnswerError | undefined;
  for (const block of differingBlocks(one.logs, other.logs).slice(0, mostDecided)) {
    const [ones, others] = await Promise.all([
      logsOfReceipts(nodes, one.node, toHex(block)),
      logsOfReceipts(nodes, other.node, toHex(block)),
    ]);
    // A node that does not know the block yet is behind, not wrong.
    if (others === undefined && logsIn(one, block).length >= logsIn(other, block).length) continue;
    const truth = (ones ?? others)?.filter((log) => matches(log, query));
    const witness = [ones && one.node.host, others && other.node.host].filter(Boolean).join(" and ");
    if (truth === undefined || (ones && others && differingBlocks(ones, others).length > 0)) {
      throw refusal(nodes, one.node, `${other.node.host} has other logs in block ${block}`);
    }
    for (const answer of [one, other]) {
      if (wrong.has(answer) || differingBlocks(logsIn(answer, block), truth).length === 0) continue;
      wrong.add(answer);
      problem = missingLogs(nodes, answer.node, { block, witness });
    }
  }
  if (!wrong.has(one)) return one;
  if (!wrong.has(other)) return other;
  throw problem;
}

/** An answer to `eth_getLogs`, and the node that gave it. */
export type NodeAnswer = { node: Node; logs: RpcLog[] };

const logsIn = ({ logs }: NodeAnswer, block: number) =>
  logs.filter((log) => Number(log.blockNumber) === block);

const toHex = (number: number) => `0x${number.toString(16)}`;
