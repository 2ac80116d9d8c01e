import { backendWithCredentials, hasCredentials } from "../ponder/rpc-request.ts";
import { believedOfUrls } from "./believed.ts";
import { requestCall } from "./checked-calls.ts";
import { checkBlock, otherBlock, requestLiveLogs, requestLogs, requireNamed } from "./compared-logs.ts";
import { headerIn, type LogsFilter, parseLogsFilter } from "./log-answers.ts";
import {
  chooseSubstitute,
  hashProblem,
  type Node,
  type Nodes,
  type NodesOptions,
  newNode,
  newNodes,
  provenHeader,
  type RpcRequest,
  refusal,
} from "./nodes.ts";
import { watchOutages } from "./outage.ts";
import { requireNearBlock, requireSameChain } from "./same-chain.ts";
import { recheckUnverified } from "./unverified.ts";

// Every response of a node is checked here before Ponder indexes or caches it. The files of this folder check logs,
// blocks and calls, and compare nodes. src/archive serves requests in front of these checks; handlers' own reads are in
// src/indexing/node-reads.ts.

/** The client that Ponder creates from an RPC URL. */
export type Backend = { hostname: string; request: (body: RpcRequest) => Promise<unknown> };

/**
 * Makes Ponder use other clients for a list of RPC URLs. ponder: it turns the entries into clients by calling `map`.
 */
export function urlsAs(
  list: string[],
  clientsOf: (toBackend: (url: string) => Backend) => Backend[],
): string[] {
  return Object.defineProperty(list, "map", { value: clientsOf });
}

/**
 * The URLs for Ponder's `rpc` option, with every response checked before Ponder sees it. Ponder keeps its rate limit,
 * retries and choice of URL. ponder: a custom transport would get 20 requests a second for all URLs together.
 */
export const checkedUrls = (urls: readonly string[], options: NodesOptions): string[] =>
  urlsAs([...urls], (toBackend) =>
    checkedBackends(
      urls,
      (url) => (hasCredentials(url) ? backendWithCredentials(url) : toBackend(url)),
      options,
    ),
  );

/** Clients of the URLs, some of which may be equal, with every response checked. */
export function checkedBackends(
  urls: readonly string[],
  toBackend: (url: string) => Backend,
  options: NodesOptions,
): Backend[] {
  const byUrl = new Map<string, Node>();
  const watched = watchOutages(options);
  const nodes = urls.map((url) => {
    const { hostname, request } = toBackend(url);
    const node = byUrl.get(url) ?? newNode(hostname, watched(url, hostname, request));
    byUrl.set(url, node);
    return node;
  });
  const all = newNodes(options, [...byUrl.values()]);
  const { crossCheckShare, isPublic, needsProofs } = options;
  options.believe(believedOfUrls(byUrl.size, crossCheckShare, needsProofs), isPublic ? "warn" : "info");
  return nodes.map((node) => ({
    hostname: node.host,
    request: (body) => sendChecked(all, chooseSubstitute(all, node), body),
  }));
}

async function sendChecked(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  await requireSameChain(nodes, node);
  nodes.calls.add();
  try {
    return await requestByMethod(nodes, node, body);
  } finally {
    recheckUnverified(nodes);
    // The unverified ranges are stored before Ponder gets the response: after a crash, the next start refuses to use
    // them.
    await nodes.stored;
  }
}

function requestByMethod(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  const { method, params } = body;
  const [first] = Array.isArray(params) ? params : [];
  if (method === "eth_getBlockByNumber" || method === "eth_getBlockByHash")
    return requestBlock(nodes, node, body);
  const isLogs = method === "eth_getLogs" && typeof first === "object" && first !== null;
  const query = isLogs ? parseLogsFilter(first as LogsFilter) : undefined;
  if (query === undefined) return requestCall(nodes, node, body);
  if (query.blockHash !== undefined) return requestLiveLogs(nodes, node, query, query.blockHash);
  return requestLogs(nodes, node, { filter: first as LogsFilter, query });
}

// Returns a checked block. Throws if it is not the requested one, if its header does not match its hash, or if it does
// not fit the returned logs. ponder: it links live blocks by their parent hashes, which the block hash proves.
async function requestBlock(nodes: Nodes, node: Node, body: RpcRequest): Promise<unknown> {
  const { headers } = nodes;
  const [wanted, isFull] = body.params as [unknown, unknown];
  const isHex = typeof wanted === "string" && wanted.startsWith("0x");
  const isByHash = isHex && body.method === "eth_getBlockByHash";
  const answer = node.request(body);
  if (isByHash) {
    // Ponder requests the logs at the same time; their check waits for this header.
    const known = headers.get(wanted);
    const found = answer.then((response) => provenHeader(nodes, node, response)).catch(() => undefined);
    headers.set(
      wanted,
      found.then((header) => header ?? known),
    );
  }
  const response = await answer;
  // ponder: it gives up a whole range if a node returns null for a block once, even if the node is only behind.
  if (response === null && isHex)
    throw (await otherBlock(nodes, node, wanted)) ?? refusal(nodes, node, `it has no block ${wanted}`);
  const block = headerIn(response);
  if (block === undefined) return response;
  if (isHex && (isByHash ? block.hash !== wanted : Number(block.number) !== Number(wanted)))
    throw refusal(nodes, node, `block ${block.hash} was not asked for`);
  const problem = hashProblem(nodes, node, response);
  if (problem !== undefined) throw refusal(nodes, node, problem);
  if (nodes.needsProofs && isHex && !isByHash) await requireNamed(nodes, node, block);
  if (wanted === "latest") await requireNearBlock(nodes, node, Number(block.number));
  node.refused = 0;
  if (isHex && !isByHash && isFull === true) await checkBlock(nodes, node, block);
  headers.set(block.hash, Promise.resolve(block));
  return response;
}
