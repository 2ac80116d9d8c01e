import { Counter } from "prom-client";
import { type Log, seeOperations } from "../log/json-log.ts";
import { metricsRegistry } from "../ponder/process.ts";
import type { Believe } from "./believed.ts";
import { emptyRoot, headerHash, provenLogs } from "./block-proofs.ts";
import {
  differingLogs,
  type Header,
  headerIn,
  type LogsFilter,
  type LogsQuery,
  limitSize,
  logsProblem,
  matches,
  mayBeCutOff,
  type RpcLog,
  WrongAnswerError,
} from "./log-answers.ts";

/** A JSON-RPC request as Ponder passes it on. */
export type RpcRequest = { method: string; params?: unknown };

/** One URL of a chain, known by its host only: the rest of a URL may hold a key. */
export type Node = {
  host: string;
  request: (body: RpcRequest) => Promise<unknown>;
  /** Answers in a row that were refused. */
  refused: number;
  /** Ranges of its logs that were compared; the first few always are. */
  compared: number;
  /** Whether it left out or invented logs: from then on every range of it is compared. */
  hasLied: boolean;
  /** When it was last seen to serve the chain, and what may be asked to see it. */
  trust: ChainTrust;
  /** Until when the other URLs answer in its place, in milliseconds since 1970. */
  asideUntil: number;
  /**
   * Answers of another chain since the last line about them, and when the next may be written; from when on it may serve another
   * one, while it does; the same until what it returned since is in doubt.
   */
  strange: {
    refused: number;
    silentUntil: number;
    since?: number | undefined;
    unchecked?: number | undefined;
  };
};

/** Times in milliseconds. */
export type ChainTrust = {
  /** Requests until its chain id is asked for, and until when at most. */
  requests: number;
  until: number;
  /** When an answer last showed the chain. */
  provenAt: number;
  /** Requests for the chain id that may be sent beside those: a share of the requests before. */
  credit: number;
  /** Whether one is planned. */
  isPlanned: boolean;
};

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
  /** Takes the block ranges that may have been stored with wrong logs: all that are known now. */
  doubt: (ranges: readonly BlockRange[]) => void;
  /** Is told what is believed without proof. */
  believe: Believe;
  /** Takes the logs of a range of the backfill, as Ponder gets them. */
  fetched?: (range: BlockRange, logs: readonly RpcLog[]) => void;
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
  | "in-doubt"
  | "wrong-chain";

/** Counts an answer or a check by chain and host. */
export type CountAnswer = (fact: { chain: string; host: string; kind: AnswerKind }) => void;

const metricName = "nsindex_rpc_checks_total";

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

const mostTrustCredit = 10;

/** That of a URL that was never asked. */
const newTrust = (): ChainTrust => ({
  requests: 0,
  until: 0,
  provenAt: 0,
  credit: mostTrustCredit,
  isPlanned: false,
});

/** A URL that nothing is known of yet. */
export const newNode = (host: string, request: Node["request"]): Node => ({
  host,
  request,
  refused: 0,
  asideUntil: 0,
  compared: 0,
  hasLied: false,
  trust: newTrust(),
  strange: { refused: 0, silentUntil: 0 },
});

/** The URLs of one chain, the number of the newest block that one of them named, and what was proven. */
export type Nodes = NodesOptions & {
  all: Node[];
  newest?: number;
  /** Whether receipts were seen to have the root that their header names: from then on others that do not are wrong. */
  areReceiptsProvable?: boolean;
  /** Nodes whose receipts of a block did not have its root, until any prove the block's logs. */
  contradicting: Map<string, Set<Node>>;
};

/** The URLs of a chain of which nothing is known yet. */
export const newNodes = (options: NodesOptions, all: Node[]): Nodes => ({
  ...options,
  all,
  contradicting: new Map(),
});

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
  node.trust.requests = 0;
  if (node.refused >= refusalsUntilAside) putAside(nodes, node, problem, { isProven: false });
  return new WrongAnswerError(`Refused an answer of ${node.host}: ${problem}.`, options);
}

/** Receipts of a node, as what proves another answer wrong. */
export const receiptsOf = ({ host }: Node) => `the receipts of ${host}`;

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
    nodes.log(
      "error",
      "RPC endpoint returned incomplete or fabricated logs. What it returned before is compared",
      {
        chain: nodes.chain,
        hostname: node.host,
        block,
        truth,
        section: seeOperations("When a node leaves out logs"),
      },
    );
  }
  putAside(nodes, node, problem, { isProven: true });
  node.hasLied = true;
  return new WrongAnswerError(`Refused logs of ${node.host}: ${problem}.`, { isFinal });
}

/**
 * Has the other URLs answer in the place of one for a while. One that is proven wrong changes places with a URL that was put aside
 * for answers that were refused: those may have been about blocks that the wrong one named.
 */
export function putAside(nodes: Nodes, node: Node, reason: string, { isProven }: { isProven: boolean }) {
  if (isProven && anotherThan(nodes, node) === undefined) {
    const refused = nodes.all.find(
      (other) => other !== node && !other.hasLied && other.strange.since === undefined,
    );
    if (refused !== undefined) refused.asideUntil = 0;
  }
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
    section: seeOperations("When a node leaves out logs"),
  });
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

/** The header of a block by its hash or number, which a check needs; undefined if the node has none that is proven. */
export async function askHeader(nodes: Nodes, node: Node, block: string): Promise<Header | undefined> {
  const isHash = block.length === 66;
  const method = isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const response = await probe(nodes, node, { method, params: [block, false] });
  const header = headerIn(response);
  if (header === undefined || hashProblem(nodes, node, response) !== undefined) return undefined;
  return (isHash ? header.hash === block : Number(header.number) === Number(block)) ? header : undefined;
}

/** All logs of a block, and the node whose receipts prove them. */
export type ProvenLogs = { logs: RpcLog[]; node: Node };

/** Receipts of a block that a node was asked for. */
export type AskedReceipts = { node: Node; receipts: unknown };

/**
 * All logs of a block by the receipts of the first of these nodes whose receipts have the root that the header names; undefined if none
 * has them. `mostSingle`: up to how many transactions their receipts are asked for one by one where a node has none for the block.
 * Reports nodes whose receipts of the block contradict the proven ones.
 */
export async function logsByReceipts(
  nodes: Nodes,
  asked: readonly Node[],
  { header, mostSingle, known }: { header: Header; mostSingle: number; known?: AskedReceipts },
): Promise<ProvenLogs | undefined> {
  if (header.receiptsRoot === emptyRoot && asked[0] !== undefined) return { logs: [], node: asked[0] };
  for (const node of asked) {
    const body = { method: "eth_getBlockReceipts", params: [header.hash] };
    let receipts = node === known?.node ? known.receipts : await probe(nodes, node, body);
    if (!Array.isArray(receipts) && header.transactions.length <= mostSingle) {
      // Not every node knows the receipts of a whole block.
      receipts = await Promise.all(
        header.transactions.map((hash) =>
          probe(nodes, node, { method: "eth_getTransactionReceipt", params: [hash] }),
        ),
      );
    }
    const logs = provenLogs(receipts, header);
    if (logs === undefined) {
      if (areOfBlock(receipts, header)) keepContradiction(nodes, node, header);
      continue;
    }
    nodes.areReceiptsProvable = true;
    for (const wrong of nodes.contradicting.get(header.hash) ?? [])
      missingLogs(nodes, wrong, { block: Number(header.number), truth: receiptsOf(node) });
    nodes.contradicting.delete(header.hash);
    return { logs, node };
  }
  return undefined;
}

const areOfBlock = (receipts: unknown, { hash }: Header) =>
  Array.isArray(receipts) && receipts.length > 0 && receipts.every((receipt) => receipt?.blockHash === hash);

const mostContradictions = 100;

function keepContradiction({ contradicting }: Nodes, node: Node, { hash }: Header): void {
  contradicting.set(hash, (contradicting.get(hash) ?? new Set()).add(node));
  limitSize(contradicting, mostContradictions);
}

/** A node first, then the others that may be asked: whoever can prove something will do. */
export const startingWith = (nodes: Nodes, first: Node): Node[] => [
  first,
  ...nodes.all.filter((node) => node !== first && !isAside(nodes, node)),
];

/** Up to how many receipts of single transactions settle a doubt. */
export const mostSingleReceipts = 300;

/** A request for logs: the filter as it is sent, and as answers are tested against it. */
export type LogsRequest = { filter: LogsFilter; query: LogsQuery };

/** The logs of one node, in order and as asked for; an answer that may be cut off is asked for again in halves. */
export async function fetchValidatedLogs(
  nodes: Nodes,
  node: Node,
  { filter, query }: LogsRequest,
): Promise<RpcLog[]> {
  const logs = await node.request({ method: "eth_getLogs", params: [filter] });
  const problem = logsProblem(logs, query);
  if (problem !== undefined) throw refusal(nodes, node, problem);
  node.refused = 0;
  const { from, to } = query;
  if (query.blockHash !== undefined || !mayBeCutOff((logs as RpcLog[]).length)) return logs as RpcLog[];
  if (!(from < to)) return wholeBlock(nodes, node, { logs: logs as RpcLog[], query });
  nodes.count({ chain: nodes.chain, host: node.host, kind: "cut-off" });
  const middle = Math.floor((from + to) / 2);
  const half = (first: number, last: number) =>
    fetchValidatedLogs(nodes, node, {
      filter: { ...filter, fromBlock: toHex(first), toBlock: toHex(last) },
      query: { ...query, from: first, to: last },
    });
  return [...(await half(from, middle)), ...(await half(middle + 1, to))];
}

/** The logs of one block whose number may be a limit: whether there are more only receipts can show. */
async function wholeBlock(
  nodes: Nodes,
  node: Node,
  { logs, query }: { logs: RpcLog[]; query: LogsQuery },
): Promise<RpcLog[]> {
  nodes.count({ chain: nodes.chain, host: node.host, kind: "cut-off" });
  const header = await askHeader(nodes, node, toHex(query.from));
  const proven =
    header && (await logsByReceipts(nodes, startingWith(nodes, node), { header, mostSingle: 0 }));
  if (proven === undefined) return logs;
  const all = proven.logs.filter((log) => matches(log, query));
  if (differingLogs(all, logs).length > 0)
    throw missingLogs(nodes, node, { block: query.from, truth: receiptsOf(proven.node) });
  return logs;
}

/** A number as JSON-RPC writes it. */
export const toHex = (number: number) => `0x${number.toString(16)}`;
