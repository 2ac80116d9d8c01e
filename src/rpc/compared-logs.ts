import {
  differingBlocks,
  differingLogs,
  digestOfLogs,
  type Header,
  headerProblem,
  isInBloom,
  type LogsQuery,
  limitSize,
  matches,
  mayHaveMore,
  type RpcLog,
  type WrongAnswerError,
} from "./log-answers.ts";
import {
  anotherThan,
  askHeader,
  fetchValidatedLogs,
  type LogsRequest,
  logsByReceipts,
  missingLogs,
  mostSingleReceipts,
  type Node,
  type Nodes,
  type ProvenLogs,
  receiptsOf,
  refusal,
  sayUnverified,
  startingWith,
  toHex,
} from "./nodes.ts";

const alwaysCompared = 10;

/** Whether an answer is to be compared: a share is, and in any case the first of a URL and those of one that was wrong. */
export function isCheckDue(nodes: Nodes, node: Node, logs: readonly RpcLog[]): boolean {
  if (nodes.crossCheckShare === 0) return false;
  const isNew = logs.length > 0 && node.compared < alwaysCompared;
  return node.hasLied || isNew || nodes.random() < nodes.crossCheckShare;
}

/** The answer, or the one that holds when a second URL is asked; without one the same is asked again: providers have several nodes. */
export async function crossChecked(
  nodes: Nodes,
  answer: NodeAnswer,
  request: LogsRequest,
): Promise<NodeAnswer> {
  const { node } = answer;
  node.compared += 1;
  const another = anotherThan(nodes, node) ?? node;
  nodes.count({ chain: nodes.chain, host: another.host, kind: "extra-request" });
  // An outage of the second URL says nothing about the first.
  const others = await fetchValidatedLogs(nodes, another, request).catch(() => undefined);
  if (others === undefined) return answer;
  return decide(nodes, request, [answer, { node: another, logs: others }]);
}

/** Blocks of a difference that are decided by receipts; the first few show who is wrong. */
const mostDecided = 5;

/**
 * Decides between two answers to one query by proof: logs are right that equal receipts with the root that the block's header names.
 * Returns the right answer with its node, and puts the other node aside. Throws if both are wrong, or if nothing proves either.
 */
async function decide(
  nodes: Nodes,
  request: LogsRequest,
  answers: readonly [NodeAnswer, NodeAnswer],
): Promise<NodeAnswer> {
  const [one, other] = answers;
  const wrong = new Set<NodeAnswer>();
  let problem: WrongAnswerError | undefined;
  for (const block of differingBlocks(one.logs, other.logs).slice(0, mostDecided)) {
    const found = await truthOf(nodes, block, answers);
    if (found === "behind") continue;
    if (found === undefined) {
      throw refusal(nodes, one.node, `${other.node.host} has other logs in block ${block}`);
    }
    const truth = found.logs.filter((log) => matches(log, request.query));
    for (const answer of answers) {
      if (wrong.has(answer) || differingLogs(logsIn(answer, block), truth).length === 0) continue;
      if (found.behind.has(answer.node) && answer === other) continue;
      wrong.add(answer);
      problem = missingLogs(nodes, answer.node, { block, truth: receiptsOf(found.node) });
    }
  }
  if (!wrong.has(one)) return one;
  if (!wrong.has(other)) return other;
  throw problem;
}

/**
 * All logs of a block that two answers differ in, by receipts of any node, and which nodes do not know the block yet: they are behind, not
 * wrong. Undefined if nothing proves the logs, or if the nodes have different blocks there, both sound: no proof says which is the chain's.
 */
async function truthOf(
  nodes: Nodes,
  block: number,
  [one, other]: readonly [NodeAnswer, NodeAnswer],
): Promise<(ProvenLogs & { behind: Set<Node> }) | "behind" | undefined> {
  const asked = startingWith(nodes, one.node);
  const headers = await Promise.all(asked.map((node) => askHeader(nodes, node, toHex(block))));
  const behind = new Set(asked.filter((_, place) => headers[place] === undefined));
  const [header, ...rest] = headers.filter((found) => found !== undefined);
  const isOne = header !== undefined && rest.every(({ hash }) => hash === header.hash);
  const proven = isOne && (await logsByReceipts(nodes, asked, { header, mostSingle: mostSingleReceipts }));
  if (proven) return { ...proven, behind };
  return behind.has(other.node) && logsIn(one, block).length > logsIn(other, block).length
    ? "behind"
    : undefined;
}

/** An answer to `eth_getLogs`, and the node that gave it. */
export type NodeAnswer = { node: Node; logs: RpcLog[] };

const logsIn = ({ logs }: NodeAnswer, block: number) =>
  logs.filter((log) => Number(log.blockNumber) === block);

// --- Logs that wait for their blocks ---

/** A range of logs that Ponder received and when, its filter as text, and what tells its logs from others. */
export type ServedRange = {
  from: number;
  to: number;
  at: number;
  node: Node;
  selection: string;
  digest: string;
};

/** Ranges of logs that Ponder received, and their logs by block until Ponder fetches the block. */
export type AnsweredLogs = {
  ranges: { query: LogsQuery; node: Node; turn: number }[];
  /** The same for longer, so that they can be asked for again. */
  served: ServedRange[];
  /** Those of them that were wrong, or may be. */
  doubtful: ServedRange[];
  selections: Map<string, string>;
  /** By block number and by the text of the filter, so that an answer replaces the one before it. */
  byBlock: Map<number, Map<string, RpcLog[]>>;
  /** The turn in which a block was checked and its logs dropped. ponder: it may be checked while its ranges are answered again. */
  checked: Map<number, number>;
  turn: number;
  /** Receipts and headers that may be requested now: a share of the blocks before; all once a URL was wrong. */
  credit: number;
  /** How many blocks may have been compared with their receipts because they are a sample. */
  sampled: number;
};

const alwaysSampled = 20;
const mostCredit = 20;
const creditOfRequest = 0.005;
const mostRanges = 4_000;
const mostServed = 50_000;
// Of how many answers one is looked for that is asked for again: that follows within seconds.
const mostRecent = 500;
const mostBlocks = 100_000;

/** No answers yet. */
export function createAnsweredLogs(): AnsweredLogs {
  return {
    ranges: [],
    served: [],
    doubtful: [],
    selections: new Map(),
    byBlock: new Map(),
    checked: new Map(),
    turn: 0,
    credit: mostCredit,
    sampled: 0,
  };
}

/** Keeps an answer for the check of its blocks. Whoever asks for a range again has not stored what it got before. */
export function remember(
  answered: AnsweredLogs,
  { node, logs }: NodeAnswer,
  { filter, query }: LogsRequest,
  at: number,
): ServedRange {
  const { ranges, served, byBlock, selections } = answered;
  const text = JSON.stringify([filter.address, filter.topics]);
  const selection = selections.get(text) ?? text;
  selections.set(text, selection);
  const { from, to } = query;
  ranges.push({ query, node, turn: ++answered.turn });
  if (ranges.length > mostRanges) ranges.splice(0, mostRanges / 4);
  const range = { from, to, at, node, selection, digest: digestOfLogs(logs) };
  const isAskedAgain = (one: ServedRange) => one.selection === selection && one.from >= from && one.to <= to;
  answered.doubtful = answered.doubtful.filter((one) => !isAskedAgain(one));
  const recent = served.splice(-mostRecent);
  served.push(...recent.filter((one) => !isAskedAgain(one)), range);
  if (served.length > mostServed) served.splice(0, mostServed / 4);
  let start = 0;
  for (let i = 1; i <= logs.length; i++) {
    if (i < logs.length && logs[i]?.blockNumber === logs[start]?.blockNumber) continue;
    const block = Number(logs[start]?.blockNumber);
    const slice = logs.slice(start, i);
    const known = byBlock.get(block);
    if (known === undefined) byBlock.set(block, new Map([[selection, slice]]));
    else known.set(selection, slice);
    start = i;
  }
  limitSize(byBlock, mostBlocks);
  return range;
}

/** Whether a receipt or header may be requested for a check, and accounts for it. */
export function spendCredit(answered: AnsweredLogs): boolean {
  if (answered.credit < 1) return false;
  answered.credit -= 1;
  return true;
}

/** Accounts for a request of Ponder's, a share of which may be checked. */
export function addCredit(nodes: Nodes, answered: AnsweredLogs): void {
  const more = creditOfRequest + nodes.crossCheckShare;
  answered.credit = Math.min(answered.credit + more, Math.max(answered.credit, mostCredit));
}

/** Forgets what was answered for the ranges of a block, because Ponder asks for them again. */
function forget(answered: AnsweredLogs, block: number, ranges: AnsweredLogs["ranges"]): void {
  const from = Math.min(block, ...ranges.map(({ query }) => query.from));
  const to = Math.max(block, ...ranges.map(({ query }) => query.to));
  const isOther = (range: { from: number; to: number }) => range.to < from || range.from > to;
  answered.credit = Number.POSITIVE_INFINITY;
  answered.ranges = answered.ranges.filter(({ query }) => isOther(query));
  answered.served = answered.served.filter(isOther);
  for (const number of answered.byBlock.keys()) {
    if (number >= from && number <= to) answered.byBlock.delete(number);
  }
}

/**
 * Checks a block of the backfill against the logs that were returned for it. Throws if they are of another block or not in its
 * bloom. Where the bloom may contain more than they have, the receipts of a share of such blocks are compared with them.
 * ponder: a failed block makes Ponder fetch the range again, logs included, ten times at most; then the process ends.
 */
export async function checkBlock(
  nodes: Nodes,
  answered: AnsweredLogs,
  { node, block }: { node: Node; block: Header },
) {
  addCredit(nodes, answered);
  const number = Number(block.number);
  const known = answered.byBlock.get(number);
  if (known === undefined) return;
  const logs = [...known.values()].flat();
  const { turn } = answered;
  const since = answered.checked.get(number) ?? 0;
  const isIn = ({ query }: { query: LogsQuery }) => query.from <= number && number <= query.to;
  const ranges = answered.ranges.filter((range) => range.turn > since && isIn(range));
  try {
    const problem = headerProblem(block, logs);
    if (problem !== undefined) throw refusal(nodes, node, problem, { isFinal: true });
    const invented = logs.find((log) => !isInBloom(block, log));
    if (invented !== undefined) {
      const { node: liar = node } = ranges.find(({ query }) => matches(invented, query)) ?? {};
      throw missingLogs(nodes, liar, { block: number, truth: "its bloom", isFinal: true });
    }
    const isSampled =
      nodes.crossCheckShare > 0 &&
      (answered.sampled++ < alwaysSampled || nodes.random() < nodes.crossCheckShare);
    const isDoubtful = () =>
      ranges.some((range) => range.node.hasLied || mayHaveMore(block.logsBloom, logs, range.query));
    if ((isSampled || isDoubtful()) && spendCredit(answered)) {
      await compareWithReceipts(nodes, { block, logs, ranges });
    }
  } catch (error) {
    forget(answered, number, ranges);
    throw error;
  }
  // What was answered meanwhile is checked with the block's next request.
  if (answered.turn > turn && answered.ranges.some((range) => range.turn > turn && isIn(range))) return;
  answered.byBlock.delete(number);
  answered.checked.delete(number);
  answered.checked.set(number, answered.turn);
  limitSize(answered.checked, mostBlocks);
}

async function compareWithReceipts(
  nodes: Nodes,
  { block, logs, ranges }: { block: Header; logs: readonly RpcLog[]; ranges: AnsweredLogs["ranges"] },
) {
  const [first] = ranges;
  if (first === undefined) return;
  const witness = anotherThan(nodes, first.node) ?? first.node;
  const asked = startingWith(nodes, witness);
  const proven = await logsByReceipts(nodes, asked, { header: block, mostSingle: 0 });
  if (proven === undefined) {
    sayUnverified(nodes, witness, "logs of the backfill, because no URL serves the receipts of whole blocks");
    return;
  }
  const own = new Map(logs.map((log) => [Number(log.logIndex), log]));
  const wrong = ranges.find(({ query }) => {
    const truth = proven.logs.filter((log) => matches(log, query));
    const told = [...own.values()].filter((log) => matches(log, query));
    return differingLogs(truth, told).length > 0;
  });
  if (wrong === undefined) return;
  // Ponder has the logs already: only a failure of the block keeps it from storing them.
  throw missingLogs(nodes, wrong.node, {
    block: Number(block.number),
    truth: receiptsOf(proven.node),
    isFinal: true,
  });
}
