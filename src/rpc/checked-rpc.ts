import { backendWithCredentials, hasCredentials } from "../ponder/rpc-request.ts";
import { believedOfUrls } from "./believed.ts";
import { emptyRoot } from "./block-proofs.ts";
import { type CheckedChain, headerOf, otherBlock, requestBlock } from "./checked-blocks.ts";
import { addCallCredit, createCalls, recheckCalls, requestCall } from "./checked-calls.ts";
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
  type LogsFilter,
  matches,
  mayHaveMore,
  queryOf,
  type RpcLog,
  silentBlock,
} from "./log-answers.ts";
import {
  anotherThan,
  askHeader,
  type BlockRange,
  fetchValidatedLogs,
  inPlaceOf,
  type LogsRequest,
  logsByReceipts,
  missingLogs,
  type Node,
  type NodesOptions,
  newNode,
  newNodes,
  type RpcRequest,
  receiptsOf,
  refusal,
  sayUnverified,
  startingWith,
  toHex,
} from "./nodes.ts";
import { watchOutages } from "./outage.ts";
import { requireOwnAnswer, requireSameChain, scheduleChainCheck } from "./same-chain.ts";
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
  const watched = watchOutages(options);
  const nodes = urls.map((url) => {
    const { hostname, request } = hasCredentials(url) ? backendWithCredentials(url) : toBackend(url);
    const node = byUrl.get(url) ?? newNode(hostname, watched(url, hostname, request));
    byUrl.set(url, node);
    return node;
  });
  const doubts: Record<"logs" | "calls", readonly BlockRange[]> = { logs: [], calls: [] };
  const doubtIn = (kind: keyof typeof doubts) => (ranges: readonly BlockRange[]) => {
    doubts[kind] = ranges;
    options.doubt([...doubts.logs, ...doubts.calls]);
  };
  const all = newNodes({ ...options, doubt: doubtIn("logs") }, [...byUrl.values()]);
  const { crossCheckShare, isPublic } = options;
  const isWarning = isPublic && (byUrl.size === 1 || crossCheckShare === 0);
  options.believe(believedOfUrls(byUrl.size, crossCheckShare), isWarning ? "warn" : "info");
  const chain: CheckedChain = {
    nodes: all,
    calls: createCalls(all, doubtIn("calls")),
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
  addCallCredit(chain.calls);
  try {
    return await checkedAnswer(chain, node, body);
  } finally {
    recheckSuspects(chain);
    recheckCalls(chain.calls);
  }
}

function checkedAnswer(chain: CheckedChain, node: Node, body: RpcRequest): Promise<unknown> {
  const { method, params } = body;
  const [first] = Array.isArray(params) ? params : [];
  if (method === "eth_getBlockByNumber" || method === "eth_getBlockByHash") {
    return requestBlock(chain, node, body);
  }
  const query = method === "eth_getLogs" && isObject(first) ? queryOf(first as LogsFilter) : undefined;
  if (query === undefined) return requestCall(chain.calls, node, body);
  return requestLogs(chain, node, { filter: first as LogsFilter, query });
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

async function requestLogs(chain: CheckedChain, node: Node, request: LogsRequest): Promise<RpcLog[]> {
  const { nodes, answered } = chain;
  const { blockHash } = request.query;
  if (blockHash !== undefined) return requestLiveLogs(chain, node, { ...request, blockHash });
  const logs = await fetchValidatedLogs(nodes, node, request);
  const isDue = isCheckDue(nodes, node, logs);
  const answer = isDue ? await crossChecked(nodes, { node, logs }, request) : { node, logs };
  addCredit(nodes, answered);
  if (isDue && spendCredit(answered)) await checkSilentBlock(chain, answer, request);
  requireOwnAnswer(nodes, answer.node);
  const served = remember(answered, answer, request, nodes.now());
  if (hasNoWitness(nodes)) {
    answered.doubtful.push(served);
    nodes.doubt(answered.doubtful);
  }
  nodes.fetched?.(request.query, answer.logs);
  scheduleChainCheck(nodes, answer.node, () => recheckSuspects(chain));
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
  const header = await askHeader(nodes, witness, toHex(silent));
  if (header === undefined || !mayHaveMore(header.logsBloom, [], query)) return;
  const proven = await logsByReceipts(nodes, startingWith(nodes, witness), { header, mostSingle: 0 });
  if (proven?.logs.some((log) => matches(log, query)))
    throw missingLogs(nodes, node, { block: silent, truth: receiptsOf(witness) });
}

/**
 * The logs of a live block, from receipts that have the root that its header names: of the node or of another. Where receipts were never
 * proven, because no URL serves them, the node's own logs must have the header's bloom and indexes without a gap. Throws if neither holds.
 */
async function requestLiveLogs(
  chain: CheckedChain,
  node: Node,
  { query, blockHash }: LogsRequest & { blockHash: string },
): Promise<RpcLog[]> {
  const { nodes } = chain;
  const header = await headerOf(chain, node, blockHash);
  if (header === undefined) {
    throw (
      (await otherBlock(chain, node, blockHash)) ??
      refusal(nodes, node, `the header of block ${blockHash} is missing`)
    );
  }
  if (header.receiptsRoot === emptyRoot) return [];
  const body = { method: "eth_getBlockReceipts", params: [blockHash] };
  const receipts = await node.request(body).catch((error: unknown) => error);
  const known = { node, receipts };
  const proven = await logsByReceipts(nodes, startingWith(nodes, node), { header, mostSingle: 0, known });
  if (proven !== undefined) return proven.logs.filter((log) => matches(log, query));
  const problem = `no receipts prove the logs of block ${Number(header.number)}`;
  if (nodes.areReceiptsProvable) {
    const another = await otherBlock(chain, node, blockHash);
    throw another ?? (receipts instanceof Error ? receipts : refusal(nodes, node, problem));
  }
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

const everything = { addresses: undefined, topics: [] };
