import { backendWithCredentials, hasCredentials } from "../ponder/rpc-request.ts";
import { believedOfUrls } from "./believed.ts";
import { emptyRoot } from "./block-proofs.ts";
import { requestCall } from "./checked-calls.ts";
import { checkBlock, checkSilentBlock, crossChecked, isCheckDue, keepRange } from "./compared-logs.ts";
import {
  bloomOf,
  headerIn,
  type LogsFilter,
  matches,
  queryOf,
  type RpcLog,
  WrongAnswerError,
} from "./log-answers.ts";
import {
  askHeader,
  fetchValidatedLogs,
  hashProblem,
  inPlaceOf,
  type LogsRequest,
  logsByReceipts,
  type Node,
  type Nodes,
  type NodesOptions,
  newNode,
  newNodes,
  provenHeader,
  type RpcRequest,
  refusal,
  sayUnverified,
  startingWith,
} from "./nodes.ts";
import { watchOutages } from "./outage.ts";
import { requireNearBlock, requireOwnAnswer, requireSameChain, scheduleChainCheck } from "./same-chain.ts";
import { recheckUnverified } from "./unverified.ts";

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
  const watched = watchOutages(options);
  const nodes = urls.map((url) => {
    const { hostname, request } = hasCredentials(url) ? backendWithCredentials(url) : toBackend(url);
    const node = byUrl.get(url) ?? newNode(hostname, watched(url, hostname, request));
    byUrl.set(url, node);
    return node;
  });
  const all = newNodes(options, [...byUrl.values()]);
  const { crossCheckShare, isPublic } = options;
  const isWarning = isPublic && (byUrl.size === 1 || crossCheckShare === 0);
  options.believe(believedOfUrls(byUrl.size, crossCheckShare), isWarning ? "warn" : "info");
  return nodes.map((node) => ({
    hostname: node.host,
    request: (body) => checkedRequest(all, inPlaceOf(all, node), body),
  }));
}

async function checkedRequest(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  await requireSameChain(nodes, node);
  nodes.calls.add();
  try {
    return await checkedAnswer(nodes, node, body);
  } finally {
    recheckUnverified(nodes);
  }
}

function checkedAnswer(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  const { method, params } = body;
  const [first] = Array.isArray(params) ? params : [];
  if (method === "eth_getBlockByNumber" || method === "eth_getBlockByHash")
    return requestBlock(nodes, node, body);
  const isLogs = method === "eth_getLogs" && typeof first === "object" && first !== null;
  const query = isLogs ? queryOf(first as LogsFilter) : undefined;
  if (query === undefined) return requestCall(nodes, node, body);
  const request = { filter: first as LogsFilter, query };
  const { blockHash } = query;
  return blockHash === undefined
    ? requestLogs(nodes, node, request)
    : requestLiveLogs(nodes, node, { ...request, blockHash });
}

// --- Blocks ---

/**
 * A block that Ponder asks for, checked. Throws if it is not the one that was asked for, does not hash to its hash, or does not fit the
 * logs that were returned. ponder: links live blocks by their parents' hashes, which are proven thereby.
 */
async function requestBlock(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  const { headers } = nodes;
  const [wanted, isFull] = body.params as [unknown, unknown];
  const isHex = typeof wanted === "string" && wanted.startsWith("0x");
  const isByHash = isHex && body.method === "eth_getBlockByHash";
  const answer = node.request(body);
  if (isByHash) {
    // Its logs are requested at the same time: they are checked when the header is there.
    const known = headers.get(wanted);
    const found = answer.then((response) => provenHeader(nodes, node, response)).catch(() => undefined);
    headers.set(
      wanted,
      found.then((header) => header ?? known),
    );
  }
  const response = await answer;
  // ponder: would give up a whole range for a block that a node does not know yet, or for once.
  if (response === null && isHex)
    throw (await otherBlock(nodes, node, wanted)) ?? refusal(nodes, node, `it has no block ${wanted}`);
  const block = headerIn(response);
  if (block === undefined) return response;
  if (isHex && (isByHash ? block.hash !== wanted : Number(block.number) !== Number(wanted)))
    throw refusal(nodes, node, `block ${block.hash} was not asked for`);
  const problem = hashProblem(nodes, node, response);
  if (problem !== undefined) throw refusal(nodes, node, problem);
  if (wanted === "latest") await requireNearBlock(nodes, node, Number(block.number));
  node.refused = 0;
  if (isHex && !isByHash && isFull === true) await checkBlock(nodes, node, block);
  headers.set(block.hash, Promise.resolve(block));
  return response;
}

/**
 * The error for a block that a node named, but does not have: the node has another one at its height, so that asking again, for
 * a minute as Ponder does, can't help. Undefined if the node may only be behind.
 */
async function otherBlock(nodes: Nodes, node: Node, hash: string): Promise<WrongAnswerError | undefined> {
  const number = (await nodes.headers.get(hash))?.number;
  const now = number === undefined ? undefined : await askHeader(nodes, node, number);
  if (now === undefined || now.hash === hash) return undefined;
  const problem = `block ${Number(number)} is ${now.hash} there, no longer ${hash}`;
  return new WrongAnswerError(`Gave up a block of ${node.host}: ${problem}.`, { isFinal: true });
}

// --- Logs ---

async function requestLogs(nodes: Nodes, node: Node, request: LogsRequest): Promise<RpcLog[]> {
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

const everything = { addresses: undefined, topics: [] };

/**
 * The logs of a live block, from receipts that have the root that its header names: of the node or of another. Where receipts were never
 * proven, because no URL serves them, the node's own logs must have the header's bloom and indexes without a gap. Throws if neither holds.
 */
async function requestLiveLogs(
  nodes: Nodes,
  node: Node,
  { query, blockHash }: LogsRequest & { blockHash: string },
): Promise<RpcLog[]> {
  const header = (await nodes.headers.get(blockHash)) ?? (await askHeader(nodes, node, blockHash));
  const unproven = async (problem: string) =>
    (await otherBlock(nodes, node, blockHash)) ?? refusal(nodes, node, problem);
  if (header === undefined) throw await unproven(`the header of block ${blockHash} is missing`);
  if (header.receiptsRoot === emptyRoot) return [];
  const body = { method: "eth_getBlockReceipts", params: [blockHash] };
  const receipts = await node.request(body).catch((error: unknown) => error);
  const proven = await logsByReceipts(nodes, startingWith(nodes, node), header, { node, receipts });
  if (proven !== undefined) return proven.logs.filter((log) => matches(log, query));
  const problem = `no receipts prove the logs of block ${Number(header.number)}`;
  if (nodes.areReceiptsProvable)
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
  if (!isOfBlock || bloomOf(logs) !== header.logsBloom.toLowerCase())
    throw refusal(nodes, node, `${problem}, and they do not fit its header`);
  sayUnverified(nodes, node, "data of live logs, because no URL serves the receipts of whole blocks");
  return logs.filter((log) => matches(log, query));
}
