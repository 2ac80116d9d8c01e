import { LRUCache } from "lru-cache";
import type { Log } from "../log/json-log.ts";
import type { Believe } from "../rpc/believed.ts";
import {
  type LogsFilter,
  type LogsQuery,
  limitSize,
  matches,
  queryOf,
  type RpcLog,
} from "../rpc/log-answers.ts";
import { type RpcRequest, toHex } from "../rpc/nodes.ts";
import { type ArchivePlace, nameOfPlace, readManifest, readSegment } from "./folder.ts";
import {
  ArchiveError,
  believedOfArchive,
  levelOf,
  type Manifest,
  type Piece,
  piecesOf,
  type Segment,
} from "./manifest.ts";
import { createPaces } from "./pace.ts";
import { requireProven } from "./proofs.ts";
import { type ArchivedBlock, decodeSegment } from "./segment.ts";

/** What Ponder creates from an entry of its list of RPC URLs. */
type Backend = { hostname: string; request: (body: RpcRequest) => Promise<unknown> };

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
 * ponder: `map` is the call by which Ponder turns the entries into its clients.
 */
export function archivedUrls(urls: string[], options: FrontOptions): string[] {
  const [first = ""] = urls;
  const list = Array<string>(entriesOfArchive).fill(first);
  const map = (toBackend: (url: string) => Backend) => {
    const front = createFront(options, urls.map(toBackend));
    const client = { hostname: new URL(first).hostname, request: front };
    return Array.from({ length: entriesOfArchive }, () => client);
  };
  Object.defineProperty(list, "map", { value: map });
  return list;
}

type Ask = (body: RpcRequest) => Promise<unknown>;

/** Answers requests from the archive of a chain, and from the nodes what it does not cover. */
export function createFront(options: FrontOptions, backends: readonly Backend[]) {
  const opened = memoized(() => openChain(options));
  const paced = createPaces(backends, { now: Date.now });
  const ask: Ask = (body) => paced((backend) => backend.request(body));
  return async (body: RpcRequest): Promise<unknown> => {
    const archive = await opened();
    return archive === undefined ? ask(body) : answer(archive, body, ask);
  };
}

/** The result of a function that is called again only after it failed. */
function memoized<T>(create: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= create().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

type OpenArchive = FrontOptions & {
  manifest: Manifest;
  /**
   * Blocks whose logs were answered and that were not asked for since: by the archive, or by a node. The archive may lack the
   * transactions of the others, for which Ponder asks while it follows the chain.
   */
  answered: Map<number, "archive" | "node">;
};

async function openChain(options: FrontOptions): Promise<OpenArchive | undefined> {
  const { place, chain, chainId, log } = options;
  const manifest = await readManifest(place, chainId);
  if (manifest === undefined) {
    log("info", "The archive has no data of this chain: everything is asked of its RPC URLs", { chain });
    return undefined;
  }
  const { segments } = manifest;
  const [from, to] = [
    Math.min(...segments.map((one) => one.from)),
    Math.max(...segments.map((one) => one.to)),
  ];
  const logs = segments.reduce((sum, one) => sum + one.logs, 0);
  const proven = levelOf(manifest);
  log("info", "An archive answers what it covers", { chain, from, to, logs, proven });
  options.believe?.(believedOfArchive(manifest));
  options.opened?.(`${nameOfPlace(place)}, ${proven}`);
  return { ...options, manifest, answered: new Map() };
}

async function answer(archive: OpenArchive, body: RpcRequest, ask: Ask): Promise<unknown> {
  const [first, second] = Array.isArray(body.params) ? body.params : [];
  if (
    body.method === "eth_getBlockByNumber" &&
    second === true &&
    typeof first === "string" &&
    first.startsWith("0x")
  )
    return (await blockOf(archive, Number(first))) ?? ask(body);
  const isLogs = body.method === "eth_getLogs" && typeof first === "object" && first !== null;
  const query = isLogs ? queryOf(first as LogsFilter) : undefined;
  if (query === undefined || query.blockHash !== undefined) return ask(body);
  const pieces = piecesOf(archive.manifest, query);
  if (pieces.every(({ segments }) => segments.length === 0)) return asked(archive, body, ask);
  const logs: unknown[] = [];
  // One after the other: a range may span many segments.
  for (const piece of pieces) {
    for (const log of await logsOf(archive, piece, { query, filter: first as LogsFilter, ask }))
      logs.push(log);
  }
  return logs;
}

// Ponder asks for the blocks of a range when it has all logs of it; a range that was given up leaves its blocks behind.
const mostAnswered = 500_000;

/** Logs by the nodes. Their blocks are the nodes' too: the archive may lack their transactions. */
async function asked({ answered }: OpenArchive, body: RpcRequest, ask: Ask): Promise<unknown> {
  const logs = await ask(body);
  for (const { blockNumber } of Array.isArray(logs) ? (logs as RpcLog[]) : [])
    answered.set(Number(blockNumber), "node");
  limitSize(answered, mostAnswered);
  return logs;
}

type LogsPart = { query: LogsQuery; filter: LogsFilter; ask: Ask };

async function logsOf(
  archive: OpenArchive,
  piece: Piece,
  { query, filter, ask }: LogsPart,
): Promise<unknown[]> {
  const { from, to, segments } = piece;
  if (segments.length === 0) {
    const part = { ...filter, fromBlock: toHex(from), toBlock: toHex(to) };
    return (await asked(archive, { method: "eth_getLogs", params: [part] }, ask)) as unknown[];
  }
  const found = new Map<string, RpcLog>();
  for (const segment of segments) {
    for (const [number, block] of await readBlocks(archive, segment)) {
      if (number < from || number > to) continue;
      const logs = rpcLogs(block, query);
      for (const log of logs) found.set(`${number} ${log.logIndex}`, log);
      if (logs.length > 0 && !archive.answered.has(number)) archive.answered.set(number, "archive");
    }
  }
  limitSize(archive.answered, mostAnswered);
  const logs = [...found.values()];
  if (segments.length === 1) return logs;
  return logs.sort(
    (a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex),
  );
}

/** Logs of a block as a node returns them; all, or those that a query asks for. */
export function rpcLogs({ header, transactions, logs }: ArchivedBlock, query?: LogsQuery): RpcLog[] {
  const found: RpcLog[] = [];
  for (const [index, place, address, topics, data] of logs) {
    if (query !== undefined && !matches({ address, topics }, query)) continue;
    const [transactionIndex, transactionHash] = transactions[place] ?? [0, ""];
    found.push({
      ...{
        address,
        topics,
        data,
        blockNumber: header.number,
        blockHash: header.hash,
        logIndex: toHex(index),
      },
      ...{ transactionHash, transactionIndex: toHex(transactionIndex), removed: false },
    });
  }
  return found;
}

/** A block with the transactions of its logs, which the archive has answered before; else undefined. */
async function blockOf(archive: OpenArchive, number: number): Promise<unknown> {
  const isOwn = archive.answered.get(number) === "archive";
  archive.answered.delete(number);
  if (!isOwn) return undefined;
  const near = archive.manifest.segments.filter(({ from, to }) => from <= number && number <= to);
  const found: ArchivedBlock[] = [];
  for (const segment of near) {
    const block = (await readBlocks(archive, segment)).get(number);
    if (block !== undefined) found.push(block);
  }
  const [first] = found;
  if (first === undefined) return undefined;
  const { number: blockNumber, hash: blockHash } = first.header;
  const all = new Map(found.flatMap(({ transactions }) => transactions.map((one) => [one[0], one])));
  const transactions = [...all.values()]
    .sort(([a], [b]) => a - b)
    .map(([index, hash, from, to]) => ({
      hash,
      from,
      to,
      transactionIndex: toHex(index),
      blockNumber,
      blockHash,
      // ponder: sets the other fields that are missing.
      gasPrice: "0x0",
    }));
  return { ...first.header, transactions };
}

type Blocks = Map<number, ArchivedBlock>;

// Of all chains of the process, by what they take in memory, about.
const recent = new LRUCache<string, Promise<Blocks>>({ maxSize: 200_000_000 });

const bytesOf = (blocks: Blocks) =>
  [...blocks.values()].reduce((sum, { header, transactions, logs, receipts = [] }) => {
    const texts = Object.values(header).reduce((length, text) => length + text.length, 0);
    const data = logs.reduce((length, [, , , , bytes]) => length + bytes.length, 0);
    return sum + texts + data + 500 * (1 + transactions.length + logs.length + receipts.length);
  }, 0);

/** The blocks of a segment by number, which stay in memory for a while. Throws an ArchiveError if they are not proven as far as the manifest says. */
async function readBlocks(
  { place, chainId }: Pick<FrontOptions, "place" | "chainId">,
  segment: Segment,
): Promise<Blocks> {
  const key = `${place} ${chainId} ${segment.hash}`;
  const known = recent.get(key);
  if (known !== undefined) return known;
  const read = readSegment(place, chainId, segment).then((bytes) => {
    const blocks = blocksIn(segment, bytes);
    requireProven(segment, blocks.values());
    recent.set(key, read, { size: bytesOf(blocks) });
    return blocks;
  });
  recent.set(key, read, { size: Math.max(1, segment.unpacked) });
  read.catch(() => recent.delete(key));
  return read;
}

/** The blocks of a segment by number. Throws an ArchiveError if they are not those that the manifest lists. */
export function blocksIn(segment: Segment, bytes: Uint8Array): Blocks {
  const blocks: Blocks = new Map();
  let [last, logs] = [-1, 0];
  for (const block of decodeSegment(bytes, segment.unpacked)) {
    const number = Number(block.header.number);
    if (number <= last || number < segment.from || number > segment.to)
      throw new ArchiveError(
        `Segment ${segment.hash.slice(0, 8)}… has block ${number} out of order or outside its range.`,
      );
    blocks.set(number, block);
    last = number;
    logs += block.logs.length;
  }
  if (blocks.size !== segment.blocks || logs !== segment.logs)
    throw new ArchiveError(
      `Segment ${segment.hash.slice(0, 8)}… has ${blocks.size} blocks and ${logs} logs, not ${segment.blocks} and ${segment.logs}.`,
    );
  return blocks;
}
