import { emptyRoot } from "./block-proofs.ts";
import {
  computeBloom,
  differingBlocks,
  differingLogs,
  digestOfLogs,
  type Header,
  isInBloom,
  type LogsQuery,
  matches,
  mayBeCutOff,
  mayHaveMore,
  type RpcLog,
  WrongAnswerError,
} from "./log-answers.ts";
import {
  askHeader,
  fetchValidatedLogs,
  inRange,
  type LogsRequest,
  logsByReceipts,
  missingLogs,
  type Node,
  type Nodes,
  othersThan,
  refusal,
  type Served,
  type ServedRange,
  sayUnverified,
  toHex,
} from "./nodes.ts";
import { provesChain, requireOwnAnswer, scheduleChainCheck } from "./same-chain.ts";
import { dropUnverified, keepServed } from "./unverified.ts";

type NodeAnswer = { node: Node; logs: RpcLog[] };

/**
 * Returns the checked logs of a backfill range, and keeps them until their blocks are checked. Throws if no response
 * holds.
 */
export async function requestLogs(nodes: Nodes, node: Node, request: LogsRequest): Promise<RpcLog[]> {
  const own = { node, logs: await fetchValidatedLogs(nodes, node, request) };
  const isDue = isCheckDue(nodes, own);
  const answer = isDue ? await crossChecked(nodes, own, request) : own;
  nodes.checks.add();
  if (isDue && nodes.checks.spend()) await checkSilentBlock(nodes, answer, request);
  requireOwnAnswer(nodes, answer.node);
  keepRange(nodes, answer, request);
  scheduleChainCheck(nodes, answer.node);
  return answer.logs;
}

const alwaysCompared = 10;

/**
 * Whether a response is compared: a share of all, the first ten with logs of each URL, and all of a URL that has lied.
 */
function isCheckDue(nodes: Nodes, { node, logs }: NodeAnswer): boolean {
  if (nodes.crossCheckShare === 0) return false;
  const isNew = logs.length > 0 && node.compared < alwaysCompared;
  return node.hasLied || isNew || nodes.random() < nodes.crossCheckShare;
}

/**
 * Compares a response with another URL's, or else with the same URL's: providers run several nodes. Returns the right
 * one.
 */
async function crossChecked(nodes: Nodes, answer: NodeAnswer, request: LogsRequest): Promise<NodeAnswer> {
  answer.node.compared += 1;
  const node = othersThan(nodes, answer.node)[0] ?? answer.node;
  nodes.count({ chain: nodes.chain, host: node.host, kind: "extra-request" });
  // An outage of the second URL says nothing about the first.
  const logs = await fetchValidatedLogs(nodes, node, request).catch(() => undefined);
  return logs === undefined ? answer : decide(nodes, request, [answer, { node, logs }]);
}

/** Differing blocks that receipts decide; the first few show which node is wrong. */
const maxDecided = 5;

// Decides between two responses to one query: the right logs equal receipts that have the header's receipts root.
// Returns the right response and puts the other node aside. Throws if both are wrong or nothing proves either, for
// example if the nodes have different blocks.
async function decide(
  nodes: Nodes,
  request: LogsRequest,
  [one, other]: readonly [NodeAnswer, NodeAnswer],
): Promise<NodeAnswer> {
  const wrong = new Map<NodeAnswer, WrongAnswerError>();
  for (const block of differingBlocks(one.logs, other.logs).slice(0, maxDecided)) {
    const logsIn = ({ logs }: NodeAnswer) => logs.filter((log) => Number(log.blockNumber) === block);
    const asked = [one.node, ...othersThan(nodes, one.node)];
    const headers = await Promise.all(asked.map((node) => askHeader(nodes, node, toHex(block))));
    // A node that does not know the block yet is behind, not wrong.
    const isBehind = headers[asked.indexOf(other.node)] === undefined;
    if (isBehind && logsIn(one).length > logsIn(other).length) continue;
    const [header, ...others] = headers.filter((found) => found !== undefined);
    const isOne = header !== undefined && others.every(({ hash }) => hash === header.hash);
    const proven = isOne ? await logsByReceipts(nodes, one.node, header) : undefined;
    if (proven === undefined)
      throw refusal(nodes, one.node, `${other.node.host} has other logs in block ${block}`);
    const truth = proven.logs.filter((log) => matches(log, request.query));
    for (const answer of [one, other])
      if (!wrong.has(answer) && differingLogs(logsIn(answer), truth).length > 0)
        wrong.set(answer, missingLogs(nodes, answer.node, { block, truth: proven.truth }));
  }
  if (!wrong.has(one)) return one;
  if (!wrong.has(other)) return other;
  throw wrong.get(one);
}

// Checks a block for which a response has no logs: in half of the cases the one after its last log, where a cut-off
// response lacks some. Throws if the block has logs that match the query.
async function checkSilentBlock(nodes: Nodes, { node, logs }: NodeAnswer, { query }: LogsRequest) {
  const next = Number(logs.at(-1)?.blockNumber ?? query.from - 1) + 1;
  const drawn = query.from + Math.floor(nodes.random() * (query.to - query.from + 1));
  const block = next <= query.to && nodes.random() < 0.5 ? next : drawn;
  if (logs.some(({ blockNumber }) => Number(blockNumber) === block)) return;
  const witness = othersThan(nodes, node)[0] ?? node;
  const header = await askHeader(nodes, witness, toHex(block));
  if (header === undefined || !mayHaveMore(header.logsBloom, [], query)) return;
  const proven = await logsByReceipts(nodes, witness, header);
  if (proven?.logs.some((log) => matches(log, query)))
    throw missingLogs(nodes, node, { block, truth: proven.truth });
}

// --- Live logs ---

const everything = { addresses: undefined, topics: [] };

/**
 * The logs of a live block, from receipts of any node that have the header's receipts root. If no URL has ever served
 * such receipts, the node's own logs must have the header's bloom and consecutive indexes. Throws if neither holds.
 */
export async function requestLiveLogs(
  nodes: Nodes,
  node: Node,
  query: LogsQuery,
  blockHash: string,
): Promise<RpcLog[]> {
  const header = (await nodes.headers.get(blockHash)) ?? (await askHeader(nodes, node, blockHash));
  const unproven = async (problem: string) =>
    (await otherBlock(nodes, node, blockHash)) ?? refusal(nodes, node, problem);
  if (header === undefined) throw await unproven(`the header of block ${blockHash} is missing`);
  if (header.receiptsRoot === emptyRoot) return [];
  const body = { method: "eth_getBlockReceipts", params: [blockHash] };
  const receipts = await node.request(body).catch((error: unknown) => error);
  const proven = await logsByReceipts(nodes, node, header, { known: receipts });
  if (proven !== undefined) return proven.logs.filter((log) => matches(log, query));
  const problem = `no receipts prove the logs of block ${Number(header.number)}`;
  if (nodes.areReceiptsProvable || nodes.needsProofs)
    throw receipts instanceof Error
      ? ((await otherBlock(nodes, node, blockHash)) ?? receipts)
      : await unproven(problem);
  const logs = await fetchValidatedLogs(nodes, node, {
    filter: { blockHash },
    query: { ...query, ...everything },
  });
  const isOfBlock = logs.every(
    (log, index) => Number(log.logIndex) === index && Number(log.blockNumber) === Number(header.number),
  );
  if (!isOfBlock || computeBloom(logs) !== header.logsBloom.toLowerCase())
    throw refusal(nodes, node, `${problem}, and they do not fit its header`);
  sayUnverified(nodes, node, "data of live logs, because no URL serves the receipts of whole blocks");
  return logs.filter((log) => matches(log, query));
}

/**
 * The error for a block that a node has replaced, so that Ponder's retries cannot help. Undefined if the node may only
 * be behind.
 */
export async function otherBlock(
  nodes: Nodes,
  node: Node,
  hash: string,
): Promise<WrongAnswerError | undefined> {
  const number = (await nodes.headers.get(hash))?.number;
  const now = number === undefined ? undefined : await askHeader(nodes, node, number);
  if (now === undefined || now.hash === hash) return undefined;
  const problem = `block ${Number(number)} is ${now.hash} there, no longer ${hash}`;
  return new WrongAnswerError(`Gave up a block of ${node.host}: ${problem}.`, { isFinal: true });
}

/**
 * Throws unless another URL names the same block at its height, and unless it is the trusted block if it has that one's
 * height. The block is refused where no other URL answers, and believed if it comes from the chain's only URL.
 */
export async function requireNamed(nodes: Nodes, node: Node, { number, hash }: Header): Promise<void> {
  const { trustedBlock } = nodes;
  const height = Number(number);
  const isOther = trustedBlock?.number === height && trustedBlock.hash !== hash;
  if (isOther)
    throw refusal(
      nodes,
      node,
      `block ${height} is ${hash} there, but the trusted one is ${trustedBlock.hash}`,
    );
  if (nodes.all.length === 1) return;
  // A URL that is put aside still names blocks.
  for (const other of nodes.all.filter((one) => one !== node)) {
    const header = await askHeader(nodes, other, number);
    if (header?.hash === hash) return;
    if (header !== undefined)
      throw refusal(nodes, node, `block ${height} is ${hash} there and ${header.hash} at ${other.host}`);
  }
  throw refusal(nodes, node, `no other URL names block ${height}`);
}

// --- Logs whose blocks are not checked yet ---

const [maxRanges, maxBlocks] = [1_000, 100_000];
const alwaysSampled = 20;

/**
 * Keeps a response until its blocks are checked. It replaces earlier ones: whoever requests a range again has not
 * stored them.
 */
export function keepRange(nodes: Nodes, { node, logs }: NodeAnswer, request: LogsRequest): void {
  const { from, to } = request.query;
  const text = JSON.stringify([request.filter.address, request.filter.topics]);
  const selection = nodes.selections.get(text) ?? request;
  nodes.selections.set(text, selection);
  const range: ServedRange = {
    ...{ from, to, node, selection, at: nodes.now(), digest: digestOfLogs(logs) },
    byBlock: Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber)),
    isSameAgain: () => isSameAgain(nodes, range),
  };
  const isAskedAgain = (one: Served) => one.from >= from && one.to <= to && one.selection === selection;
  dropRanges(nodes, isAskedAgain);
  dropUnverified(nodes, isAskedAgain);
  nodes.ranges.add(range);
  limitRanges(nodes);
  keepServed(nodes, range);
}

function limitRanges({ ranges }: Nodes): void {
  let blocks = [...ranges].reduce((sum, { byBlock }) => sum + byBlock.size, 0);
  for (const range of ranges) {
    if (ranges.size <= maxRanges && blocks <= maxBlocks) return;
    ranges.delete(range);
    blocks -= range.byBlock.size;
    // `served` keeps the range itself for longer.
    range.byBlock.clear();
  }
}

function dropRanges({ ranges, served }: Nodes, isDropped: (range: Served) => boolean): void {
  for (const range of ranges) {
    if (!isDropped(range)) continue;
    ranges.delete(range);
    served.delete(range);
  }
}

/**
 * Whether another URL, or else the same one while it serves the chain, returns the same logs again; undefined if no URL
 * can tell.
 */
async function isSameAgain(nodes: Nodes, range: ServedRange): Promise<boolean | undefined> {
  const another = nodes.all.find((one) => one !== range.node && !one.hasLied && !one.isForeign);
  const node = another ?? range.node;
  const isOnChain = async () => node === another || provesChain(nodes, node);
  if (node.hasLied || !(await isOnChain())) return undefined;
  const request = inRange(range.selection, range);
  try {
    const logs = await fetchValidatedLogs(nodes, node, request);
    const answer = await crossChecked(nodes, { node, logs }, request);
    return (await isOnChain()) ? digestOfLogs(answer.logs) === range.digest : undefined;
  } catch {
    // A failed request says nothing about the range.
    return undefined;
  }
}

/**
 * Checks a backfill block against its returned logs. Throws if they are of another block or not in its bloom. A sample
 * of blocks, and those whose logs may be incomplete, are compared with their receipts as far as the budget allows.
 * ponder: after a failed block it fetches the range again, logs included, up to ten times; then the process ends.
 */
export async function checkBlock(nodes: Nodes, node: Node, block: Header): Promise<void> {
  nodes.checks.add();
  const number = Number(block.number);
  // ponder: a block may be checked while its ranges are fetched again. Ranges whose logs of this block were checked do
  // not count.
  const isOpen = ({ from, to, byBlock }: ServedRange) =>
    from <= number && number <= to && !(byBlock.has(number) && byBlock.get(number) === undefined);
  const ranges = [...nodes.ranges].filter(isOpen);
  const logs = ranges.flatMap(({ byBlock }) => byBlock.get(number) ?? []);
  if (logs.length === 0) return;
  try {
    await compareWithBlock(nodes, { node, block, logs, ranges });
  } catch (error) {
    nodes.checks.lift();
    // Ponder requests these ranges again.
    dropRanges(nodes, ({ from, to }) => ranges.some((range) => from <= range.to && range.from <= to));
    throw error;
  }
  for (const { byBlock } of ranges) if (byBlock.has(number)) byBlock.set(number, undefined);
}

type LogComparison = { node: Node; block: Header; logs: readonly RpcLog[]; ranges: readonly ServedRange[] };

async function compareWithBlock(nodes: Nodes, { node, block, logs, ranges }: LogComparison): Promise<void> {
  const number = Number(block.number);
  const foreign = logs.find((log) => log.blockHash !== block.hash);
  if (foreign) {
    const problem = `log ${Number(foreign.logIndex)} of block ${number} has block hash ${foreign.blockHash}, but the block has ${block.hash}`;
    throw refusal(nodes, node, problem, { isFinal: true });
  }
  const invented = logs.find((log) => !isInBloom(block, log));
  const liar = ranges.find(({ byBlock }) => invented && byBlock.get(number)?.includes(invented));
  if (liar) throw missingLogs(nodes, liar.node, { block: number, truth: "its bloom", isFinal: true });
  const isSampled =
    nodes.crossCheckShare > 0 && (nodes.sampled++ < alwaysSampled || nodes.random() < nodes.crossCheckShare);
  const mayBeWrong = ({ node, selection, byBlock }: ServedRange) =>
    node.hasLied ||
    mayBeCutOff(byBlock.get(number)?.length ?? 0) ||
    mayHaveMore(block.logsBloom, logs, selection.query);
  if (!(isSampled || ranges.some(mayBeWrong)) || !nodes.checks.spend()) return;
  const [first = node] = ranges.map((range) => range.node);
  const witness = othersThan(nodes, first)[0] ?? first;
  const proven = await logsByReceipts(nodes, witness, block, { isFinal: true });
  if (proven === undefined) {
    if (nodes.needsProofs)
      throw refusal(nodes, witness, `no receipts prove the logs of block ${number}`, { isFinal: true });
    const what = nodes.areReceiptsProvable
      ? "logs of blocks of the backfill whose receipts no URL serves, although one serves those of others"
      : "logs of the backfill, because no URL serves the receipts of whole blocks";
    sayUnverified(nodes, witness, what);
    return;
  }
  const wrong = ranges.find(({ selection, byBlock }) => {
    const truth = proven.logs.filter((log) => matches(log, selection.query));
    return differingLogs(truth, byBlock.get(number) ?? []).length > 0;
  });
  // Ponder already has the logs; only a failed block keeps it from storing them.
  if (wrong) throw missingLogs(nodes, wrong.node, { block: number, truth: proven.truth, isFinal: true });
}
