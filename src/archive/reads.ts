import { isKept } from "../ponder/saved-results.ts";
import type { BlockRange } from "../rpc/nodes.ts";
import { answerOf, type BoundedRequest, type NodeState, newNodes } from "./answers.ts";
import { missingIn, noteAsked, unaskedPieces } from "./asked.ts";
import { readResults, writeManifest } from "./folder.ts";
import { readBlocks } from "./front.ts";
import { ArchiveError, type Manifest } from "./manifest.ts";
import { inParallel } from "./parallel.ts";
import { type ArchivedResult, addResults, resultsIn } from "./results.ts";

// Results of what rules ask of nodes because of logs. Which requests these are the rules say: they come in as functions.

type SeenLog = { address: string; topics: string[]; data: string; hash: string; sender: string };

/** The logs of a block in order, each with its transaction's hash and sender; the block's time in seconds. */
export type SeenBlock = { number: number; timestamp: bigint; logs: SeenLog[] };

type ReadRequest = Required<Omit<BoundedRequest, "tried">>;

/** A read of a rule: its block, the keys of its results, how many requests it takes at most, and what sends them. */
export type Read = {
  block: number;
  keys: readonly string[];
  requests: number;
  resultsOf: (ask: (request: ReadRequest) => Promise<unknown>) => Promise<ReadonlyMap<string, string>>;
};

/** The reads that rules make because of blocks, which come in order: what is read depends on the blocks before. */
export type ReadsOf = (block: SeenBlock) => readonly Read[];

/** How results are recorded. */
export type CallOptions = {
  /** Begins to follow the rules through a chain. */
  createReads: () => ReadsOf;
  /** Is told at the end how many results nodes could not give, and what they said of the last. */
  report: (missing: number, reason: string) => void;
};

type Options = {
  folder: string;
  chainId: number;
  ask: (body: BoundedRequest) => Promise<unknown>;
  /** How many nodes `ask` has. */
  urls?: number | undefined;
  width: number;
  progress: (state: Progress) => void;
  calls: CallOptions;
};

/** How far a recording is; the counts are of this one. */
export type Progress = { at: number; to: number; logs: number; bytes: number; requests: number };

type Reader = Options & {
  manifest: Manifest;
  state: Progress;
  /** The rules so far, and the last block that they have seen. */
  readsOf: ReadsOf;
  reached: number;
  nodes: NodeState;
  /** Reads with new results, and with results that the nodes could not give. */
  found: number;
  failed: number;
};

/** Asks nodes for the results of archived logs, writes them, and notes for which blocks that was done. */
export function openReader(options: Options, manifest: Manifest, state: Progress) {
  const reader: Reader = {
    ...options,
    ...{ manifest, state, readsOf: options.calls.createReads(), reached: -1 },
    ...{ nodes: newNodes(options.ask, options.urls), found: 0, failed: 0 },
  };
  return {
    /** Reads what was not asked for in a range, a segment at a time. */
    async read(range: BlockRange): Promise<void> {
      for (const piece of unaskedPieces(manifest, range)) await readPiece(reader, piece);
    },
    /**
     * Reads again what was missing before in some ranges, in any order, until the nodes lack as much as before in a few of them.
     * Reports what is missing in the end.
     */
    async readAgain(before: readonly BlockRange[]): Promise<void> {
      const lacking = (manifest.asked ?? []).filter(
        ({ from, to, missing }) => missing > 0 && before.some((one) => one.from <= from && to <= one.to),
      );
      let inVain = 0;
      for (const range of shuffled(lacking)) {
        if (inVain === mostInVain) break;
        Object.assign(reader, { found: 0, failed: 0 });
        await readPiece(reader, range, true);
        inVain = reader.found === 0 ? inVain + 1 : 0;
      }
      const missing = missingIn(manifest);
      if (missing > 0) options.calls.report(missing, reader.nodes.reason);
    },
  };
}

// Some results no node will ever give: other ranges may have others.
const mostInVain = 5;
const hopelessFailures = 3;
const isHopeless = ({ found, failed }: Reader) => found === 0 && failed >= hopelessFailures;

// Results that are written at once: an interruption loses no more.
const [mostResults, mostCharacters] = [2_000, 8_000_000];
const readsAtOnce = 256;

async function readPiece(reader: Reader, piece: BlockRange, isAgain = false): Promise<void> {
  const { folder, manifest, state, nodes } = reader;
  // What is granted depends on the blocks before: of an earlier block the rules begin anew.
  if (piece.from <= reader.reached) reader.readsOf = reader.calls.createReads();
  reader.reached = piece.to;
  nodes.fruitless = 0;
  const reads: Read[] = [];
  for (const block of await blocksOf(reader, piece)) reads.push(...reader.readsOf(block));
  const known = await knownKeys(reader, piece, reads);
  const pending = withoutRepeated(reads, known);
  let found: ArchivedResult[] = [];
  let missing = 0;
  const write = async () => {
    if (found.length > 0) await addResults(folder, manifest, found);
    found = [];
  };
  for (let i = 0; i < pending.length; ) {
    // A few show whether the nodes still lack what is read again.
    const part = pending.slice(i, i + (isAgain && reader.found === 0 ? reader.width : readsAtOnce));
    i += part.length;
    for (const answered of await inParallel(part, reader.width, (read) => resultsOf(reader, read, known))) {
      found.push(...answered.results);
      missing += answered.missing;
    }
    if (isAgain && isHopeless(reader)) return;
    const characters = found.reduce((sum, [, , { length }]) => sum + length, 0);
    if (found.length >= mostResults || characters >= mostCharacters) await write();
    state.at = part.at(-1)?.block ?? state.at;
    state.requests += nodes.requests;
    nodes.requests = 0;
    reader.progress(state);
  }
  await write();
  noteAsked(manifest, piece, missing);
  await writeManifest(folder, manifest);
}

/** The items in random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, place: Math.random() }));
  return drawn.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

// Several logs of a block may cause the same read.
function withoutRepeated(reads: readonly Read[], known: ReadonlySet<string>): Read[] {
  const seen = new Set(known);
  return reads.filter(({ keys }) => {
    const isNew = keys.some((key) => !seen.has(key));
    for (const key of keys) seen.add(key);
    return isNew;
  });
}

async function resultsOf(reader: Reader, read: Read, known: ReadonlySet<string>) {
  let hasFailed = false;
  const found = await read.resultsOf(async (request) => {
    const answer = await answerOf(reader.nodes, request, read.block);
    if (answer.hasFailed) hasFailed = true;
    return answer.result;
  });
  const fresh = read.keys.filter((key) => !known.has(key));
  const results = fresh.flatMap((key): ArchivedResult[] => {
    const result = found.get(key);
    return result === undefined || !isKept(result) ? [] : [[key, read.block, result]];
  });
  const missing = hasFailed ? fresh.filter((key) => !found.has(key)).length : 0;
  reader.found += results.length;
  if (missing > 0) reader.failed += 1;
  return { results, missing };
}

// --- Archived blocks and results ---

type Archive = Pick<Reader, "folder" | "chainId" | "manifest">;

async function blocksOf(archive: Archive, { from, to }: BlockRange): Promise<SeenBlock[]> {
  const { folder, chainId, manifest } = archive;
  const near = manifest.segments.filter((segment) => segment.from <= to && segment.to >= from);
  const blocks = new Map<number, { timestamp: bigint; logs: Map<number, SeenLog> }>();
  for (const segment of near) {
    for (const [number, { header, transactions, logs }] of await readBlocks(
      { place: folder, chainId },
      segment,
    )) {
      if (number < from || number > to) continue;
      const block = blocks.get(number) ?? { timestamp: timeIn(header), logs: new Map() };
      blocks.set(number, block);
      for (const [index, place, address, topics, data] of logs) {
        const [, hash = "", sender = ""] = transactions[place] ?? [];
        block.logs.set(index, { address, topics, data, hash, sender });
      }
    }
  }
  return [...blocks]
    .sort(([one], [other]) => one - other)
    .map(([number, { timestamp, logs }]) => ({
      ...{ number, timestamp },
      logs: [...logs].sort(([one], [other]) => one - other).map(([, log]) => log),
    }));
}

function timeIn(header: { number: string; [field: string]: unknown }): bigint {
  const { number, timestamp } = header;
  if (typeof timestamp !== "string" || !/^0x[0-9a-fA-F]{1,16}$/.test(timestamp))
    throw new ArchiveError(`Block ${Number(number)} of the archive has no time.`);
  return BigInt(timestamp);
}

/** Which results of reads the archive has. */
async function knownKeys({ folder, chainId, manifest }: Archive, piece: BlockRange, reads: readonly Read[]) {
  const known = new Set<string>();
  const wanted = new Set(reads.flatMap(({ keys }) => keys));
  const near = (manifest.results ?? []).filter(({ from, to }) => from <= piece.to && to >= piece.from);
  for (const file of wanted.size === 0 ? [] : near)
    for (const [key] of resultsIn(file, await readResults(folder, chainId, file)))
      if (wanted.has(key)) known.add(key);
  return known;
}

type CompareOptions = Archive &
  Pick<CallOptions, "createReads"> &
  Pick<Options, "ask"> & { samples: number; random: () => number };

/**
 * Compares random results of an archive with what a node gives for the reads of the same blocks: how many, and what differs. What the
 * node cannot give, and results that no rule asks for, are not compared.
 */
export async function compareResults({
  samples,
  random,
  createReads,
  ...archive
}: CompareOptions): Promise<{ compared: number; problems: string[] }> {
  const { folder, chainId, manifest, ask } = archive;
  const files = manifest.results ?? [];
  const nodes = newNodes(ask);
  const problems = new Set<string>();
  let compared = 0;
  for (let i = 0; i < samples && files.length > 0; i++) {
    const file = files[Math.floor(random() * files.length)] as (typeof files)[number];
    const results = resultsIn(file, await readResults(folder, chainId, file));
    const [key = "", number = 0, result = ""] = results[Math.floor(random() * results.length)] ?? [];
    const [block] = await blocksOf(archive, { from: number, to: number });
    const read = block && createReads()(block).find(({ keys }) => keys.includes(key));
    if (read === undefined) continue;
    let hasFailed = false;
    const found = await read.resultsOf(async (request) => {
      const answer = await answerOf(nodes, request, number);
      hasFailed ||= answer.hasFailed === true;
      return answer.result;
    });
    const theirs = found.get(key);
    if (theirs === undefined && hasFailed) continue;
    compared += 1;
    if (theirs !== result)
      problems.add(`A result of block ${number} is not the same in the archive and at the node.`);
  }
  return { compared, problems: [...problems] };
}

/** How many requests the reads of archived blocks take that were not asked about, by a few segments of a range. */
export async function expectedRequests(
  archive: Archive & { range: BlockRange },
  { createReads }: Pick<CallOptions, "createReads">,
): Promise<number> {
  const pieces = unaskedPieces(archive.manifest, archive.range);
  const step = Math.max(1, Math.ceil(pieces.length / sampled));
  const samples = pieces.filter((_, place) => place % step === 0);
  let requests = 0;
  for (const piece of samples) {
    const readsOf = createReads();
    for (const block of await blocksOf(archive, piece))
      for (const read of readsOf(block)) requests += read.requests;
  }
  return (requests * pieces.length) / Math.max(1, samples.length);
}

const sampled = 10;
