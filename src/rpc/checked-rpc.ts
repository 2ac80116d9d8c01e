import { backendWithCredentials, hasCredentials } from "../ponder/rpc-request.ts";
import { type CheckedChain, headerOf, otherBlock, requestBlock } from "./checked-blocks.ts";
import {
  addCredit,
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
  headerIn,
  type LogsFilter,
  matches,
  mayHaveMore,
  queryOf,
  type RpcLog,
  silentBlock,
} from "./log-answers.ts";
import {
  anotherThan,
  askMore,
  inPlaceOf,
  type LogsRequest,
  logsOfReceipts,
  missingLogs,
  type Node,
  type NodesOptions,
  newNode,
  type RpcRequest,
  refusal,
  soundLogs,
  toHex,
} from "./nodes.ts";
import { proveSoon, requireOwnAnswer, requireSameChain } from "./same-chain.ts";
import { hasNoWitness, recheckSuspects } from "./suspects.ts";

/** What Ponder creates from an entry of its list of RPC URLs. */
type Backend = { hostname: string; request: (body: RpcRequest) => Promise<unknown> };

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
