import { LRUCache } from "lru-cache";
import type { Log } from "../log/json-log.ts";
import type { Believe } from "../rpc/believed.ts";
import { type Backend, urlsAs } from "../rpc/checked-rpc.ts";
import { type LogsFilter, limitSize, queryOf, type RpcLog } from "../rpc/log-answers.ts";
import { inRange, type LogsRequest, type RpcRequest } from "../rpc/nodes.ts";
import { createPaces } from "./ask.ts";
import { type ArchivePlace, nameOfPlace, readManifest } from "./folder.ts";
import {
  believedOfArchive,
  levelOf,
  type Manifest,
  type Piece,
  piecesOf,
  rootShare,
  type Segment,
} from "./manifest.ts";
import { type ArchivedBlock, readSegment, requireProven, rpcLogs } from "./segment.ts";

/** Which archive stands in front of a chain's RPC URLs, and who is told what the chain's archive covers. */
export type FrontOptions = {
  place: ArchivePlace;
  chain: string;
  chainId: number;
  log: Log;
  /** Is told what is believed of the archive without proof. */
  believe?: Believe;
  /** Is told where the archive is, and how far it says that its blocks are proven. */
  opened?: (archive: string) => void;
};

// ponder: starts at 20 requests a second for each entry of the list; an archive answers some thousand.
const entriesOfArchive = 150;

/**
 * The list of RPC URLs that Ponder gets, with an archive in front: what it covers is not asked of the URLs. They are asked at
 * the rate at which `urls` would have been.
 */
export function archivedUrls(urls: string[], options: FrontOptions): string[] {
  const [first = ""] = urls;
  return urlsAs(Array(entriesOfArchive).fill(first), (toBackend) => {
    const request = createFront(options, urls.map(toBackend));
    return Array(entriesOfArchive).fill({ hostname: new URL(first).hostname, request });
  });
}

type Ask = (body: RpcRequest) => Promise<unknown>;

/** Answers requests from the archive of a chain, and from the nodes what it does not cover. */
export function createFront(options: FrontOptions, backends: readonly Backend[]) {
  let opened: Promise<OpenArchive | undefined> | undefined;
  const paced = createPaces(backends);
  const ask: Ask = (body) => paced((backend) => backend.request(body));
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
  ask: Ask;
  /**
   * Blocks whose logs were answered and that were not asked for since: by the archive, or by a node. The archive may lack the
   * transactions of the others, for which Ponder asks while it follows the chain.
   */
  answered: Map<number, "archive" | "node">;
};

async function openChain(options: FrontOptions, ask: Ask): Promise<OpenArchive | undefined> {
  const { place, chain, chainId, log } = options;
  const manifest = await readManifest(place, chainId);
  if (manifest === undefined) {
    log("info", "The archive has no data of this chain: everything is asked of its RPC URLs", { chain });
    return undefined;
  }
  const { segments } = manifest;
  const from = Math.min(...segments.map((one) => one.from));
  const to = Math.max(...segments.map((one) => one.to));
  const logs = segments.reduce((sum, one) => sum + one.logs, 0);
  const proven = levelOf(manifest);
  log("info", "An archive answers what it covers", { chain, from, to, logs, proven });
  options.believe?.(believedOfArchive(manifest));
  options.opened?.(`${nameOfPlace(place)}, ${proven}`);
  return { ...options, manifest, ask, answered: new Map() };
}

async function answer(archive: OpenArchive, body: RpcRequest): Promise<unknown> {
  const { manifest, ask } = archive;
  const [first, second] = Array.isArray(body.params) ? body.params : [];
  const isBlock = body.method === "eth_getBlockByNumber" && second === true;
  if (isBlock && typeof first === "string" && first.startsWith("0x"))
    return (await blockOf(archive, Number(first))) ?? ask(body);
  const isLogs = body.method === "eth_getLogs" && typeof first === "object" && first !== null;
  const query = isLogs ? queryOf(first as LogsFilter) : undefined;
  if (query === undefined || query.blockHash !== undefined) return ask(body);
  const logs: RpcLog[] = [];
  // One after the other: a range may span many segments.
  for (const piece of piecesOf(manifest, query))
    for (const log of await logsOf(archive, piece, { filter: first as LogsFilter, query })) logs.push(log);
  return logs;
}

// Ponder asks for the blocks of a range when it has all logs of it; a range that was given up leaves its blocks behind.
const mostAnswered = 500_000;

async function logsOf(archive: OpenArchive, piece: Piece, request: LogsRequest): Promise<RpcLog[]> {
  const { answered, ask } = archive;
  const { from, to, segments } = piece;
  limitSize(answered, mostAnswered);
  if (segments.length === 0) {
    const { filter } = inRange(request, piece);
    const logs = (await ask({ method: "eth_getLogs", params: [filter] })) as RpcLog[];
    // Their blocks are the nodes' too.
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

/** A block with the transactions of its logs, which the archive has answered before; else undefined. */
async function blockOf(archive: OpenArchive, number: number): Promise<unknown> {
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
  const sent = found.flatMap(({ transactions }) => transactions);
  const { number: blockNumber, hash: blockHash } = header;
  const transactions = [...new Map(sent.map((one) => [Number(one.transactionIndex), one]))]
    .sort(([a], [b]) => a - b)
    // ponder: sets the other fields that are missing.
    .map(([, one]) => ({ ...one, blockNumber, blockHash, gasPrice: "0x0" }));
  return { ...header, transactions };
}

type Blocks = Map<number, ArchivedBlock>;
type SegmentOfChain = { archive: Pick<FrontOptions, "place" | "chainId">; segment: Segment };

// Of all chains of the process, by their bytes.
const recent = new LRUCache<string, Blocks, SegmentOfChain>({
  maxSize: 200_000_000,
  fetchMethod: async (_key, _stale, { context: { archive, segment } }) => {
    const blocks = await readSegment(archive.place, archive.chainId, segment);
    requireProven(segment, blocks, rootShare);
    return new Map(blocks.map((block) => [Number(block.header.number), block]));
  },
});

/** The blocks of a segment by number, which stay in memory for a while. Throws an ArchiveError if they are not proven as far as the manifest says. */
const readBlocks = (archive: SegmentOfChain["archive"], segment: Segment): Promise<Blocks> =>
  recent.forceFetch(`${archive.place} ${archive.chainId} ${segment.hash}`, {
    context: { archive, segment },
    size: Math.max(1, segment.unpacked),
  });
