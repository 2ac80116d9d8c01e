import {
  bloomOf,
  differingBlocks,
  type LogsFilter,
  type LogsQuery,
  matches,
  mayContain,
  mayHaveMore,
  queryOf,
  type RpcLog,
} from "./log-answers.ts";
import {
  anotherThan,
  askMore,
  crossChecked,
  inPlaceOf,
  type LogsRequest,
  logsOfReceipts,
  missingLogs,
  type Node,
  type NodeAnswer,
  type Nodes,
  type NodesOptions,
  type RpcRequest,
  refusal,
  soundLogs,
} from "./nodes.ts";

/** What Ponder creates from an entry of its list of RPC URLs. */
type Backend = { hostname: string; request: (body: RpcRequest) => Promise<unknown> };

type CheckedChain = {
  nodes: Nodes;
  answered: AnsweredLogs;
  headers: Map<string, Promise<Header | undefined>>;
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
    const { hostname, request } = toBackend(url);
    const node = byUrl.get(url) ?? { host: hostname, request, refused: 0, asideUntil: 0 };
    byUrl.set(url, node);
    return node;
  });
  const chain: CheckedChain = {
    nodes: { ...options, all: [...byUrl.values()] },
    answered: createAnsweredLogs(),
    headers: new Map(),
  };
  return nodes.map((node) => ({
    hostname: node.host,
    request: (body) => checkedRequest(chain, inPlaceOf(chain.nodes, node), body),
  }));
}

function checkedRequest(chain: CheckedChain, node: Node, body: RpcRequest): Promise<unknown> {
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
  const logs = await soundLogs(nodes, node, request);
  if (request.query.blockHash !== undefined) {
    await checkLiveLogs(chain, node, { logs, blockHash: request.query.blockHash, filter: request.filter });
    return logs;
  }
  const answer = await crossChecked(nodes, { node, logs }, request);
  remember(answered, answer, request);
  return answer.logs;
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
  if (isGapless && bloomOf(logs) === bloom) return;
  const witness = anotherThan(nodes, node) ?? node;
  const truth = await logsOfReceipts(nodes, witness, blockHash);
  const isProven = truth !== undefined && (witness !== node || bloomOf(truth) === bloom);
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
  const { nodes } = chain;
  const [wanted, isFull] = body.params as [unknown, unknown];
  const answer = node.request(body);
  const isByHash = body.method === "eth_getBlockByHash" && typeof wanted === "string";
  // Its logs are requested at the same time: they are checked when the header is there.
  if (isByHash)
    keepHeader(
      chain,
      wanted,
      answer.then(headerIn, () => undefined),
    );
  const response = await answer;
  const block = headerIn(response);
  if (block === undefined) return response;
  const isNumber = typeof wanted === "string" && wanted.startsWith("0x") && !isByHash;
  if ((isByHash && block.hash !== wanted) || (isNumber && Number(block.number) !== Number(wanted))) {
    throw refusal(nodes, node, `block ${block.hash} was not asked for`);
  }
  keepHeader(chain, block.hash, Promise.resolve(block));
  if (isNumber && isFull === true) await checkBlock(nodes, chain.answered, { node, block });
  return response;
}

/** What the checks read of a block; undefined for an answer that is not one, which Ponder refuses. */
function headerIn(answer: unknown): Header | undefined {
  const { number, hash, logsBloom } = isObject(answer) ? (answer as Partial<Header>) : {};
  const isHeader = [number, hash, logsBloom].every((part) => typeof part === "string");
  return isHeader ? ({ number, hash, logsBloom } as Header) : undefined;
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

// --- Logs that wait for their blocks ---

/** What the checks read of a block. */
type Header = { number: string; hash: string; logsBloom: string };

/** Ranges of logs that Ponder received, and their logs by block until Ponder fetches the block. */
type AnsweredLogs = {
  ranges: { query: LogsQuery; node: Node }[];
  /** By block number and by the text of the filter, so that an answer replaces the one before it. */
  byBlock: Map<number, Map<string, RpcLog[]>>;
  /** Receipts that may be requested now: a share of the blocks before; all once a URL was wrong. */
  credit: number;
};

const mostCredit = 5;
const creditOfBlock = 0.01;
const mostRanges = 4_000;
const mostBlocks = 100_000;

function createAnsweredLogs(): AnsweredLogs {
  return { ranges: [], byBlock: new Map(), credit: mostCredit };
}

/** Keeps an answer for the check of its blocks. */
function remember(
  { ranges, byBlock }: AnsweredLogs,
  { node, logs }: NodeAnswer,
  { filter, query }: LogsRequest,
) {
  const selection = JSON.stringify([filter.address, filter.topics]);
  ranges.push({ query, node });
  if (ranges.length > mostRanges) ranges.splice(0, mostRanges / 4);
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
  for (const oldest of byBlock.keys()) {
    if (byBlock.size <= mostBlocks) break;
    byBlock.delete(oldest);
  }
}

/**
 * Checks a block of the backfill against the logs that were returned for it. Throws if they are of another block or not in its
 * bloom. Where the bloom may contain more than they have, the receipts of a share of such blocks are compared with them.
 * ponder: a failed block makes Ponder fetch the range again, logs included, ten times at most; then the process ends.
 */
async function checkBlock(
  nodes: Nodes,
  answered: AnsweredLogs,
  { node, block }: { node: Node; block: Header },
) {
  answered.credit = Math.min(answered.credit + creditOfBlock, Math.max(answered.credit, mostCredit));
  const number = Number(block.number);
  const known = answered.byBlock.get(number);
  if (known === undefined) return;
  const logs = [...known.values()].flat();
  const ranges = answered.ranges.filter(({ query }) => query.from <= number && number <= query.to);
  try {
    const problem = headerProblem(block, logs);
    if (problem !== undefined) throw refusal(nodes, node, problem, { isFinal: true });
    const isDoubtful = ranges.some(({ query }) => mayHaveMore(block.logsBloom, logs, query));
    if (isDoubtful && answered.credit >= 1) {
      answered.credit -= 1;
      await compareWithReceipts(nodes, { block, logs, ranges });
    }
  } catch (error) {
    answered.credit = Number.POSITIVE_INFINITY;
    answered.ranges = [];
    answered.byBlock.clear();
    throw error;
  }
  answered.byBlock.delete(number);
}

function headerProblem({ number, hash, logsBloom }: Header, logs: readonly RpcLog[]): string | undefined {
  for (const { blockHash, address, topics, logIndex } of logs) {
    const name = `log ${Number(logIndex)} of block ${Number(number)}`;
    if (blockHash !== hash) return `${name} has block hash ${blockHash}, but the block has ${hash}`;
    const [topic0] = topics;
    if (!mayContain(logsBloom, address) || (topic0 !== undefined && !mayContain(logsBloom, topic0)))
      return `${name} is not in the block's bloom`;
  }
  return undefined;
}

async function compareWithReceipts(
  nodes: Nodes,
  { block, logs, ranges }: { block: Header; logs: readonly RpcLog[]; ranges: AnsweredLogs["ranges"] },
) {
  const [first] = ranges;
  if (first === undefined) return;
  const witness = anotherThan(nodes, first.node) ?? first.node;
  const all = await logsOfReceipts(nodes, witness, block.hash);
  if (all === undefined) {
    nodes.count({ chain: nodes.chain, host: witness.host, kind: "unverified" });
    return;
  }
  const known = new Set(logs.map(({ logIndex }) => Number(logIndex)));
  const missing = all.filter(
    ({ logIndex, address }) => !known.has(Number(logIndex)) && mayContain(block.logsBloom, address),
  );
  const lacking = ranges.find(({ query }) => missing.some((log) => matches(log, query)));
  if (lacking === undefined) return;
  // Ponder has the logs already: only a failure of the block keeps it from storing them.
  throw missingLogs(nodes, lacking.node, {
    block: Number(block.number),
    witness: witness.host,
    isFinal: true,
  });
}
