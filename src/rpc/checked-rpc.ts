import { backendWithCredentials, hasCredentials } from "../ponder/rpc-request.ts";
import {
  type AnsweredLogs,
  addCredit,
  checkBlock,
  createAnsweredLogs,
  crossChecked,
  isCheckDue,
  type NodeAnswer,
  remember,
  spendCredit,
} from "./compared-logs.ts";
import {
  bloomOf,
  differingBlocks,
  type Header,
  headerIn,
  headerProblem,
  type LogsFilter,
  matches,
  mayHaveMore,
  queryOf,
  type RpcLog,
  silentBlock,
  WrongAnswerError,
} from "./log-answers.ts";
import {
  anotherThan,
  askMore,
  inPlaceOf,
  type LogsRequest,
  logsOfReceipts,
  missingLogs,
  type Node,
  type Nodes,
  type NodesOptions,
  newNode,
  type RpcRequest,
  refusal,
  soundLogs,
  toHex,
} from "./nodes.ts";
import { proveSoon, requireOwnAnswer, requireOwnBlock, requireSameChain } from "./same-chain.ts";
import { hasNoWitness, recheckSuspects } from "./suspects.ts";

/** What Ponder creates from an entry of its list of RPC URLs. */
type Backend = { hostname: string; request: (body: RpcRequest) => Promise<unknown> };

type CheckedChain = {
  nodes: Nodes;
  answered: AnsweredLogs;
  headers: Map<string, Promise<Header | undefined>>;
  /** URLs that were wrong, and whose earlier answers were asked for again. */
  rechecked: Set<Node>;
};

/**
 * The URLs as Ponder's `rpc` option, with every answer checked before Ponder sees it. Ponder keeps its rate limit, retries
 * and choice of URL for each entry.
 * ponder: a transport of our own would get 20 requests a second for all URLs together. `map` is the call by which Ponder
 * turns the entries into its clients.
 */
export function checkedUrls(urls: readonly string[], options: NodesOptions): string[] {
  const list = [...urls];
  const map = (toBackend: (url: string) => Backend) => checkedBackends(urls, toBackend, options);
  Object.defineProperty(list, "map", { value: map });
  return list;
}

function checkedBackends(
  urls: readonly string[],
  toBackend: (url: string) => Backend,
  options: NodesOptions,
): Backend[] {
  const byUrl = new Map<string, Node>();
  const nodes = urls.map((url) => {
    const { hostname, request } = hasCredentials(url) ? backendWithCredentials(url) : toBackend(url);
    const node = byUrl.get(url) ?? newNode(hostname, request);
    byUrl.set(url, node);
    return node;
  });
  const chain: CheckedChain = {
    nodes: { ...options, all: [...byUrl.values()] },
    answered: createAnsweredLogs(),
    headers: new Map(),
    rechecked: new Set(),
  };
  return nodes.map((node) => ({
    hostname: node.host,
    request: (body) => checkedRequest(chain, inPlaceOf(chain.nodes, node), body),
  }));
}

async function checkedRequest(chain: CheckedChain, node: Node, body: RpcRequest): Promise<unknown> {
  await requireSameChain(chain.nodes, node);
  try {
    return await checkedAnswer(chain, node, body);
  } finally {
    recheckSuspects(chain);
  }
}

function checkedAnswer(chain: CheckedChain, node: Node, body: RpcRequest): Promise<unknown> {
  const { method, params } = body;
  const [first] = Array.isArray(params) ? params : [];
  if (method === "eth_getBlockByNumber" || method === "eth_getBlockByHash") {
    return requestBlock(chain, node, body);
  }
  const query = method === "eth_getLogs" && isObject(first) ? queryOf(first as LogsFilter) : undefined;
  if (query === undefined) return node.request(body);
  return requestLogs(chain, node, { filter: first as LogsFilter, query });
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

// --- Logs ---

async function requestLogs(chain: CheckedChain, node: Node, request: LogsRequest): Promise<RpcLog[]> {
  const { nodes, answered } = chain;
  const { blockHash } = request.query;
  if (blockHash !== undefined) {
    const logs = await soundLogs(nodes, node, request).catch(async (error) => {
      throw (await otherBlock(chain, node, blockHash)) ?? error;
    });
    await checkLiveLogs(chain, node, { logs, blockHash, filter: request.filter });
    return logs;
  }
  const logs = await soundLogs(nodes, node, request);
  const isDue = isCheckDue(nodes, node, logs);
  const answer = isDue ? await crossChecked(nodes, { node, logs }, request) : { node, logs };
  addCredit(answered);
  if (isDue && spendCredit(answered)) await checkSilentBlock(chain, answer, request);
  requireOwnAnswer(nodes, answer.node);
  const served = remember(answered, answer, request, nodes.now());
  if (hasNoWitness(nodes)) {
    answered.doubtful.push(served);
    nodes.doubt(answered.doubtful);
  }
  nodes.fetched?.(request.query, answer.logs);
  proveSoon(nodes, answer.node, () => recheckSuspects(chain));
  return answer.logs;
}

/**
 * Looks at the header of a block of which an answer has no logs, in half of the cases the one after its last log: there an
 * answer that was cut off lacks some. Throws if the block has logs that were asked for.
 */
async function checkSilentBlock({ nodes }: CheckedChain, { node, logs }: NodeAnswer, { query }: LogsRequest) {
  const silent = silentBlock(logs, query, nodes.random);
  const witness = anotherThan(nodes, node) ?? node;
  if (silent === undefined) return;
  const body = { method: "eth_getBlockByNumber", params: [toHex(silent), false] };
  const header = headerIn(await askMore(nodes, witness, body));
  if (header === undefined || !mayHaveMore(header.logsBloom, [], query)) return;
  const all = await logsOfReceipts(nodes, witness, header.hash);
  if (all?.some((log) => matches(log, query)))
    throw missingLogs(nodes, node, { block: silent, witness: witness.host });
}

/**
 * Checks all logs of a block against its header: their indexes have no gap, and their bloom is the header's. In doubt the
 * receipts decide. Throws if the answer is wrong, or if nothing proves it right.
 */
async function checkLiveLogs(
  chain: CheckedChain,
  node: Node,
  { logs, blockHash, filter }: { logs: RpcLog[]; blockHash: string; filter: LogsFilter },
) {
  if (filter.address !== undefined || filter.topics?.length) return;
  const { nodes } = chain;
  const header = await headerOf(chain, node, blockHash);
  if (header === undefined) throw refusal(nodes, node, `the header of block ${blockHash} is missing`);
  const number = Number(header.number);
  const numbers = [logs[0], logs.at(-1)].map((log) => Number(log?.blockNumber ?? number));
  if (numbers.some((other) => other !== number))
    throw refusal(nodes, node, `logs of block ${number} carry another number`);
  const bloom = header.logsBloom.toLowerCase();
  const isGapless = logs.length === 0 || Number(logs.at(-1)?.logIndex) === logs.length - 1;
  const isSound = isGapless && bloomOf(logs) === bloom;
  // The bloom does not show that a last log is missing if other logs have its contract and topics, as in a transaction that sets
  // several records of a name.
  const isOpen = logs.some(
    (log) => log.transactionHash === logs.at(-1)?.transactionHash && nodes.isOurs(log),
  );
  const share = nodes.crossCheckShare;
  if (isSound && (share === 0 || (!isOpen && nodes.random() >= share))) return;
  const witness = anotherThan(nodes, node) ?? node;
  const truth = await logsOfReceipts(nodes, witness, blockHash);
  const isProven = truth !== undefined && (witness !== node || bloomOf(truth) === bloom);
  if (!isProven && isSound) return;
  if (!isProven) {
    nodes.count({ chain: nodes.chain, host: node.host, kind: "unverified" });
    // Some chains have headers with other blooms, or none: a node that agrees with itself must not stop them.
    if (truth !== undefined && differingBlocks(logs, truth).length === 0) return;
    const problem = `the logs of block ${blockHash} do not fit its header, and no receipts prove them`;
    throw refusal(nodes, node, problem);
  }
  if (differingBlocks(logs, truth).length === 0) return;
  throw missingLogs(nodes, node, { block: number, witness: witness.host });
}

// --- Blocks ---

const mostHeaders = 512;

async function requestBlock(chain: CheckedChain, node: Node, body: RpcRequest): Promise<unknown> {
  const { nodes, headers } = chain;
  const [wanted, isFull] = body.params as [unknown, unknown];
  const answer = node.request(body);
  const isByHash = body.method === "eth_getBlockByHash" && typeof wanted === "string";
  // Its logs are requested at the same time: they are checked when the header is there.
  if (isByHash) {
    const known = headers.get(wanted);
    const header = answer.then(headerIn, () => undefined);
    keepHeader(
      chain,
      wanted,
      header.then((found) => found ?? known),
    );
  }
  const response = await answer;
  const isNumber = typeof wanted === "string" && wanted.startsWith("0x") && !isByHash;
  // ponder: would give up a whole range for a block that a node does not know yet, or for once.
  if (response === null && (isNumber || isByHash))
    throw (await otherBlock(chain, node, wanted)) ?? refusal(nodes, node, `it has no block ${wanted}`);
  const block = headerIn(response);
  if (block === undefined) return response;
  if ((isByHash && block.hash !== wanted) || (isNumber && Number(block.number) !== Number(wanted))) {
    throw refusal(nodes, node, `block ${block.hash} was not asked for`);
  }
  await requireOwnBlock(nodes, node, { response, block, isNewest: wanted === "latest" });
  node.refused = 0;
  if (wanted === "latest") nodes.keepHead(response as Header);
  if (isNumber && isFull === true) return checkedBlock(chain, node, { body, response, block });
  keepHeader(chain, block.hash, Promise.resolve(block));
  return response;
}

/** Whether a block is not the one that the answered logs name. */
function contradictsLogs({ byBlock }: AnsweredLogs, block: Header): boolean {
  const logs = [...(byBlock.get(Number(block.number))?.values() ?? [])].flat();
  return headerProblem(block, logs) !== undefined;
}

type BlockAnswer = { body: RpcRequest; response: unknown; block: Header };

/** A block of the backfill, checked. One that does not fit its logs is asked for once more: either may be wrong. */
async function checkedBlock(
  chain: CheckedChain,
  node: Node,
  { body, response, block }: BlockAnswer,
): Promise<unknown> {
  const { nodes, answered } = chain;
  if (contradictsLogs(answered, block)) {
    const witness = anotherThan(nodes, node) ?? node;
    const again = await askMore(nodes, witness, body);
    const other = headerIn(again);
    if (other !== undefined && !contradictsLogs(answered, other)) {
      nodes.count({ chain: nodes.chain, host: node.host, kind: "refused" });
      return checkedBlock(chain, witness, { body, response: again, block: other });
    }
  }
  keepHeader(chain, block.hash, Promise.resolve(block));
  await checkBlock(nodes, answered, { node, block });
  return response;
}

function keepHeader({ headers }: CheckedChain, hash: string, header: Promise<Header | undefined>) {
  headers.set(hash, header);
  const [oldest] = headers.keys();
  if (headers.size > mostHeaders && oldest !== undefined) headers.delete(oldest);
}

/** The header of a block, which Ponder requests before the block's logs or with them. */
async function headerOf({ nodes, headers }: CheckedChain, node: Node, hash: string) {
  const known = await headers.get(hash);
  if (known !== undefined) return known;
  return headerIn(await askMore(nodes, node, { method: "eth_getBlockByHash", params: [hash, false] }));
}

/**
 * The error for a block that a node named, but does not have: the node has another one at its height, so that asking again, for
 * a minute as Ponder does, can't help. Undefined if the node may only be behind.
 */
async function otherBlock({ nodes, headers }: CheckedChain, node: Node, hash: string) {
  const number = (await headers.get(hash))?.number;
  if (number === undefined) return undefined;
  const now = headerIn(
    await askMore(nodes, node, { method: "eth_getBlockByNumber", params: [number, false] }),
  );
  if (now === undefined || now.hash === hash) return undefined;
  const problem = `block ${Number(number)} is ${now.hash} there, no longer ${hash}`;
  return new WrongAnswerError(`Gave up a block of ${node.host}: ${problem}.`, { isFinal: true });
}
