import { differingLogs, matches, mayHaveMore, type RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { type ArchivePlace, readResults, readSegment } from "./folder.ts";
import { blocksIn, rpcLogs } from "./front.ts";
import { type Manifest, type Proof, queryOfFilter, type Segment } from "./manifest.ts";
import { proofOf } from "./proofs.ts";
import { resultsIn } from "./results.ts";
import { type ArchivedBlock, keptHeader } from "./segment.ts";

/** What a check of an archive found. */
export type ArchiveCheck = {
  segments: number;
  blocks: number;
  logs: number;
  proof: Record<Proof, number>;
  /** Blocks whose parent is there too, and was compared. */
  links: number;
  /** Blocks whose bloom has a contract and event of which the archive has no log: chance, or a log is missing. */
  suspects: number[];
  /** Results of calls, which nothing proves. */
  results: number;
  /** Blocks at random that were compared with a node, and blocks that may lack a log. */
  compared: number;
  comparedSuspects: number;
  problems: string[];
};

type CheckOptions = {
  place: ArchivePlace;
  manifest: Manifest;
  progress: (done: number, of: number) => void;
};

/** Recomputes what an archive says of itself: hashes of segments and headers, links to parents, blooms, orders, receipts. */
export async function checkArchive({ place, manifest, progress }: CheckOptions): Promise<ArchiveCheck> {
  const { chainId, segments } = manifest;
  const proof = { bloom: 0, header: 0, receipts: 0 };
  const found: ArchiveCheck = {
    ...{ segments: segments.length, blocks: 0, logs: 0, proof, links: 0 },
    ...{ suspects: [], results: 0, compared: 0, comparedSuspects: 0, problems: [] },
  };
  const hashes = new Map<number, string>();
  for (const [done, segment] of segments.entries()) {
    try {
      const blocks = blocksIn(segment, await readSegment(place, chainId, segment));
      const counted = checkBlocks(manifest, segment, { blocks: [...blocks.values()], hashes, found });
      const told = Object.entries(segment.proof).find(([level, count]) => counted[level as Proof] !== count);
      if (told !== undefined)
        found.problems.push(
          `Segment ${nameOf(segment)}: the manifest claims another level of proof than its blocks have.`,
        );
    } catch (error) {
      found.problems.push(error instanceof Error ? error.message : String(error));
    }
    progress(done + 1, segments.length);
  }
  for (const file of manifest.results ?? []) {
    try {
      found.results += resultsIn(file, await readResults(place, chainId, file)).length;
    } catch (error) {
      found.problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  return found;
}

const nameOf = ({ hash, from, to }: Segment) => `${hash.slice(0, 12)}… (blocks ${from} to ${to})`;

type Checked = { blocks: readonly ArchivedBlock[]; hashes: Map<number, string>; found: ArchiveCheck };

function checkBlocks(manifest: Manifest, segment: Segment, { blocks, hashes, found }: Checked) {
  const counted = { bloom: 0, header: 0, receipts: 0 };
  const queries = filtersOf(manifest, segment).map((filter) => queryOfFilter(manifest, filter, segment));
  for (const block of blocks) {
    const { number: hex, hash, parentHash, logsBloom } = block.header;
    const number = Number(hex);
    const result = proofOf(block);
    if ("problem" in result) found.problems.push(`Segment ${nameOf(segment)}: ${result.problem}.`);
    else counted[result.proof] += 1;
    const [parent, child, other] = [hashes.get(number - 1), hashes.get(-number - 2), hashes.get(number)];
    if (parent !== undefined) found.links += 1;
    const isLinked =
      (parent ?? parentHash) === parentHash && (child ?? hash) === hash && (other ?? hash) === hash;
    if (!isLinked)
      found.problems.push(
        `Block ${number} does not follow the block before it, or is there twice with different hashes.`,
      );
    hashes.set(number, hash);
    // The parent that a block names, for segments that come in another order.
    hashes.set(-number - 1, parentHash);
    const logs = rpcLogs(block);
    const isStrange =
      block.receipts === undefined && logs.some((log) => !queries.some((query) => matches(log, query)));
    if (isStrange) found.problems.push(`Block ${number} has a log that its segment's filters do not name.`);
    const isSuspect =
      block.receipts === undefined && queries.some((query) => mayHaveMore(logsBloom, logs, query));
    if (isSuspect) found.suspects.push(number);
    found.blocks += 1;
    found.logs += logs.length;
  }
  for (const level of ["bloom", "header", "receipts"] as const) found.proof[level] += counted[level];
  return counted;
}

const filtersOf = ({ filters }: Manifest, segment: Segment) =>
  segment.filters.flatMap((place) => filters[place] ?? []);

const longestRange = 500;
const mostAddresses = 500;

type Ask = (body: RpcRequest) => Promise<unknown>;

type Compared = {
  place: ArchivePlace;
  manifest: Manifest;
  found: ArchiveCheck;
  /** How many blocks are drawn; of an archive that has no more, all are compared. */
  samples: number;
  random: () => number;
  ask: Ask;
};

/**
 * Compares an archive with a node: the header of each segment's last block; random blocks and those that may lack a log, each with its
 * transactions, its logs, and that there are none between it and the block before it.
 */
export async function compareWithNode(options: Compared): Promise<void> {
  const { place, manifest, found, samples, ask } = options;
  const { suspects, problems } = found;
  const suspected = new Set(suspects.slice(0, samples));
  found.comparedSuspects = suspected.size;
  const drawn = drawnBlocks(options);
  for (const [at, segment] of manifest.segments.entries()) {
    // What cannot be read is a problem already.
    const bytes = await readSegment(place, manifest.chainId, segment).catch(() => undefined);
    const blocks = bytes === undefined ? [] : blocksOrNone(segment, bytes);
    const last = blocks.at(-1);
    if (last !== undefined) problems.push(...(await headerDifferences(last, false, ask)));
    for (const [i, block] of blocks.entries()) {
      const number = Number(block.header.number);
      if (!drawn(at, i) && !suspected.has(number)) continue;
      const before = Number(blocks[i - 1]?.header.number ?? segment.from - 1);
      const to = block === last ? Math.min(segment.to, number + longestRange) : number;
      const range = { from: Math.max(before + 1, number - longestRange + 1), to };
      problems.push(...(await headerDifferences(block, true, ask)));
      problems.push(...(await logDifferences({ manifest, segment, range, block }, ask)));
    }
  }
  found.problems = [...new Set(problems)];
}

function blocksOrNone(segment: Segment, bytes: Uint8Array): ArchivedBlock[] {
  try {
    return [...blocksIn(segment, bytes).values()];
  } catch {
    return [];
  }
}

/** Whether a block is one of those that are drawn, by the places of its segment and of itself; counts them. */
function drawnBlocks({ manifest: { segments }, found, samples, random }: Compared) {
  const all = segments.reduce((sum, { blocks }) => sum + blocks, 0);
  found.compared = Math.min(all, samples);
  if (all <= samples) return () => true;
  const drawn = new Set(Array.from({ length: samples }, () => Math.floor(random() * all)));
  const starts: number[] = [];
  let start = 0;
  for (const { blocks } of segments) {
    starts.push(start);
    start += blocks;
  }
  return (segment: number, block: number) => drawn.has((starts[segment] ?? 0) + block);
}

type NodeBlock = Record<string, unknown> & { transactions?: Record<string, unknown>[] };

// Not every node returns them.
const otherFields = ["size", "totalDifficulty"];

/** What differs between a block and the node's: of its header, and of its transactions if they are wanted. */
async function headerDifferences(block: ArchivedBlock, isWhole: boolean, ask: Ask): Promise<string[]> {
  const { header, transactions } = block;
  const params = [header.number, isWhole];
  const theirs = ((await ask({ method: "eth_getBlockByNumber", params })) ?? {}) as NodeBlock;
  const name = `Block ${Number(header.number)}`;
  if (theirs["hash"] !== header.hash)
    return [`${name} is ${header.hash} in the archive, ${theirs["hash"] ?? "not there"} at the node.`];
  const other = keptHeader(theirs);
  const problems = Object.entries(header)
    .filter(([field, value]) => !otherFields.includes(field) && !isSame(value, other[field] ?? value))
    .map(([field]) => `${name} has another ${field} in the archive than at the node.`);
  const sent = new Map(theirs.transactions?.map((one) => [Number(one["transactionIndex"]), one]));
  for (const [index, hash, from, to] of isWhole ? transactions : []) {
    const one = sent.get(index);
    if (!isSame(hash, one?.["hash"]) || !isSame(from, one?.["from"]) || !isSame(to, one?.["to"] ?? null))
      problems.push(
        `Transaction ${index} of block ${Number(header.number)} is not the same in the archive and at the node.`,
      );
  }
  return problems;
}

const isSame = (one: unknown, other: unknown) => String(one).toLowerCase() === String(other).toLowerCase();

type BlockPart = { manifest: Manifest; segment: Segment; range: BlockRange; block: ArchivedBlock };

/** Logs that only a block, or the node has in a range of which the archive has no other block. */
async function logDifferences({ manifest, segment, range, block }: BlockPart, ask: Ask): Promise<string[]> {
  const logs = rpcLogs(block);
  const problems: string[] = [];
  for (const filter of filtersOf(manifest, segment)) {
    const query = queryOfFilter(manifest, filter, range);
    const own = logs.filter((log) => matches(log, query));
    const theirs: RpcLog[] = [];
    for (const address of batches(query.addresses)) {
      const topics = query.topics.map((one) => (one === undefined ? null : [...one]));
      const blocks = { fromBlock: toHex(range.from), toBlock: toHex(range.to) };
      const params = { ...blocks, ...(address && { address }), topics };
      theirs.push(...((await ask({ method: "eth_getLogs", params: [params] })) as RpcLog[]));
    }
    for (const { blockNumber, logIndex } of differingLogs(own, theirs))
      problems.push(
        `Log ${Number(logIndex)} of block ${Number(blockNumber)} is not the same in the archive and at the node.`,
      );
  }
  return problems;
}

function batches(addresses: ReadonlySet<string> | undefined): (string[] | undefined)[] {
  if (addresses === undefined) return [undefined];
  const all = [...addresses];
  return Array.from({ length: Math.ceil(all.length / mostAddresses) }, (_, i) =>
    all.slice(i * mostAddresses, (i + 1) * mostAddresses),
  );
}

/** The items in random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, order: Math.random() }));
  return drawn.sort((a, b) => a.order - b.order).map(({ item }) => item);
}
