import { LRUCache } from "lru-cache";
import type { Log } from "../log/json-log.ts";
import type { Believe } from "../rpc/believed.ts";
import { type Backend, urlsAs } from "../rpc/checked-rpc.ts";
import { type LogsFilter, limitSize, parseLogsFilter, type RpcLog } from "../rpc/log-answers.ts";
import { inRange, type LogsRequest, type NodesOptions, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { createPaces } from "./ask.ts";
import { type NodeBlock, transactionDifferences } from "./check.ts";
import { type ArchiveLocation, nameOfLocation, readManifest } from "./folder.ts";
import { archivedHashes, requireSame } from "./headers.ts";
import {
  ArchiveError,
  believedOfArchive,
  describeLevel,
  type Manifest,
  type RangePiece,
  rootShare,
  type Segment,
  splitRange,
} from "./manifest.ts";
import { type ArchivedBlock, readSegment, requireProven, rpcLogs } from "./segment.ts";

// An archive of a chain's logs in front of its nodes: requests that the archive covers are served from files, the rest
// go on to the nodes. This folder also records and checks archives. Responses of nodes are checked in src/rpc.

/** The archive in front of a chain's RPC URLs, and who is told about it. */
export type FrontOptions = {
  location: ArchiveLocation;
  chain: string;
  chainId: number;
  /**
   * Whether only blocks whose receipts are proven count, and only those that archived headers or the nodes name too.
   */
  needsProofs?: boolean;
  trustedBlock?: NodesOptions["trustedBlock"];
  log: Log;
  believe?: Believe;
  /** Called with the archive's location and the level of proof that it claims. */
  opened?: (archive: string) => void;
};

// ponder: it starts at 20 requests a second for each list entry; an archive answers some thousands.
const entriesOfArchive = 150;

/**
 * Ponder's list of RPC URLs with an archive in front. The URLs are asked what it does not cover, at the rate of `urls`.
 */
export function archivedUrls(urls: string[], options: FrontOptions): string[] {
  const [first = ""] = urls;
  return urlsAs(Array(entriesOfArchive).fill(first), (toBackend) => {
    const request = createFront(options, urls.map(toBackend));
    return Array(entriesOfArchive).fill({ hostname: new URL(first).hostname, request });
  });
}

type AskRpc = (body: RpcRequest) => Promise<unknown>;

/** Answers what a chain's archive covers, and asks the nodes for the rest. */
export function createFront(options: FrontOptions, backends: readonly Backend[]) {
  let opened: Promise<OpenArchive | undefined> | undefined;
  const paced = createPaces(backends);
  const ask: AskRpc = (body) => paced((backend) => backend.request(body));
  return async (body: RpcRequest): Promise<unknown> => {
    opened ??= openChain(options, ask).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    const archive = await opened;
    return archive === undefined ? ask(body) : answer(archive, body);
  };
}

type OpenArchive = FrontOptions & {
  manifest: Manifest;
  ask: AskRpc;
  archivedHash: ReturnType<typeof archivedHashes>;
  /**
   * Blocks whose logs were returned, by source, until they are requested. The archive may lack transactions of other
   * blocks, which Ponder requests while it follows the chain.
   */
  answered: Map<number, "archive" | "node">;
};

async function openChain(options: FrontOptions, ask: AskRpc): Promise<OpenArchive | undefined> {
  const { location, chain, chainId, needsProofs = false, log } = options;
  const found = await readManifest(location, chainId);
  const isUsed = ({ proof }: Segment) => !needsProofs || proof.bloom + proof.header === 0;
  const segments = found?.segments.filter(isUsed) ?? [];
  if (found === undefined || segments.length === 0) {
    const what = found === undefined ? "no data" : "no segment with proven receipts";
    log("info", `The archive has ${what} for this chain: using RPC only`, { chain });
    return undefined;
  }
  const manifest = { ...found, segments };
  const from = Math.min(...segments.map((one) => one.from));
  const to = Math.max(...segments.map((one) => one.to));
  const logs = segments.reduce((sum, one) => sum + one.logs, 0);
  const proven = describeLevel(manifest);
  log("info", `Using archive for blocks ${from}-${to}`, { chain, logs, proven });
  options.believe?.(believedOfArchive(manifest, needsProofs));
  options.opened?.(`${nameOfLocation(location)}, ${proven}`);
  const archivedHash = archivedHashes({ ...options, manifest, named: (number) => namedByNodes(ask, number) });
  return { ...options, manifest, ask, archivedHash, answered: new Map() };
}

// Their response is checked like any other.
async function namedByNodes(ask: AskRpc, number: number): Promise<string | undefined> {
  const block = await ask({ method: "eth_getBlockByNumber", params: [toHex(number), false] });
  return (block as { hash?: string } | null)?.hash;
}

async function answer(archive: OpenArchive, body: RpcRequest): Promise<unknown> {
  const { manifest, ask } = archive;
  const [first, second] = Array.isArray(body.params) ? body.params : [];
  const isBlock = body.method === "eth_getBlockByNumber" && second === true;
  if (isBlock && typeof first === "string" && first.startsWith("0x"))
    return (await findBlock(archive, Number(first))) ?? ask(body);
  const isLogs = body.method === "eth_getLogs" && typeof first === "object" && first !== null;
  const query = isLogs ? parseLogsFilter(first as LogsFilter) : undefined;
  if (query === undefined || query.blockHash !== undefined) return ask(body);
  const logs: RpcLog[] = [];
  // One at a time: a range may span many segments.
  for (const piece of splitRange(manifest, query))
    for (const log of await readLogs(archive, piece, { filter: first as LogsFilter, query })) logs.push(log);
  return logs;
}

// ponder: it requests the blocks of a range once it has all its logs; an abandoned range leaves its blocks behind.
const maxAnswered = 500_000;

async function readLogs(archive: OpenArchive, piece: RangePiece, request: LogsRequest): Promise<RpcLog[]> {
  const { answered, ask } = archive;
  const { from, to, segments } = piece;
  limitSize(answered, maxAnswered);
  if (segments.length === 0) {
    const { filter } = inRange(request, piece);
    const logs = (await ask({ method: "eth_getLogs", params: [filter] })) as RpcLog[];
    // The nodes return their blocks too.
    for (const { blockNumber } of logs) answered.set(Number(blockNumber), "node");
    return logs;
  }
  const found = new Map<string, RpcLog>();
  for (const segment of segments) {
    for (const [number, block] of await readBlocks(archive, segment)) {
      if (number < from || number > to) continue;
      const logs = rpcLogs(block, request.query);
      for (const log of logs) found.set(`${number} ${log.logIndex}`, log);
      if (logs.length > 0 && !answered.has(number)) answered.set(number, "archive");
    }
  }
  const logs = [...found.values()];
  if (segments.length === 1) return logs;
  return logs.sort(
    (a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex),
  );
}

/** A block with its logs' transactions if the archive returned the logs; else undefined. */
async function findBlock(archive: OpenArchive, number: number): Promise<unknown> {
  const isOwn = archive.answered.get(number) === "archive";
  archive.answered.delete(number);
  const near = archive.manifest.segments.filter(({ from, to }) => from <= number && number <= to);
  const found: ArchivedBlock[] = [];
  for (const segment of isOwn ? near : []) {
    const block = (await readBlocks(archive, segment)).get(number);
    if (block !== undefined) found.push(block);
  }
  const [{ header } = {}] = found;
  if (header === undefined) return undefined;
  if (archive.needsProofs) for (const block of found) await requireOnChain(archive, block);
  const sent = found.flatMap(({ transactions }) => transactions);
  const { number: blockNumber, hash: blockHash } = header;
  const transactions = [...new Map(sent.map((one) => [Number(one.transactionIndex), one]))]
    .sort(([a], [b]) => a - b)
    // ponder: it fills in the other missing fields.
    .map(([, one]) => ({ ...one, blockNumber, blockHash, gasPrice: "0x0" }));
  return { ...header, transactions };
}

// Nothing in an archive proves hashes and senders of transactions: the receipts root covers neither.
async function requireOnChain({ ask, archivedHash, chainId }: OpenArchive, block: ArchivedBlock) {
  const number = Number(block.header.number);
  const linked = await archivedHash(number);
  const theirs = (await ask({
    method: "eth_getBlockByNumber",
    params: [toHex(number), true],
  })) as NodeBlock | null;
  const [who, hash] = linked ? ["in its headers", linked] : ["at the nodes", theirs?.["hash"] as string];
  requireSame({ chainId, number }, { archived: block.header.hash, known: hash, who });
  const [problem] = transactionDifferences("archive", block, theirs ?? {});
  if (problem !== undefined) throw new ArchiveError(problem);
}

type Blocks = Map<number, ArchivedBlock>;
type SegmentOfChain = {
  archive: Pick<FrontOptions, "location" | "chainId" | "needsProofs">;
  segment: Segment;
};

// For all chains of the process; sizes are in bytes.
const recent = new LRUCache<string, Blocks, SegmentOfChain>({
  maxSize: 200_000_000,
  ignoreFetchAbort: true,
  fetchMethod: async (_key, _stale, { context: { archive, segment } }) => {
    const blocks = await readSegment(archive.location, archive.chainId, segment);
    requireProven(segment, blocks, archive.needsProofs ? 1 : rootShare);
    return new Map(blocks.map((block) => [Number(block.header.number), block]));
  },
});

/** The blocks of a segment by number, cached. Throws an ArchiveError if their proof differs from the manifest's. */
const readBlocks = (archive: SegmentOfChain["archive"], segment: Segment): Promise<Blocks> =>
  recent.forceFetch(`${archive.location} ${archive.chainId} ${segment.hash}`, {
    context: { archive, segment },
    size: Math.max(1, segment.unpacked),
  });
