import { differingLogs, type LogsQuery, matches, mayHaveMore, type RpcLog } from "../rpc/log-answers.ts";
import type { BlockRange, RpcRequest } from "../rpc/nodes.ts";
import type { ArchivePlace } from "./folder.ts";
import { type Manifest, queryOfFilter, type Segment } from "./manifest.ts";
import { askLogs, distinctLogs } from "./record.ts";
import { readResults } from "./results.ts";
import { type ArchivedBlock, keptHeader, readSegment, requireProven, rpcLogs } from "./segment.ts";

/** What a check of an archive found. */
export type ArchiveCheck = ReturnType<typeof newCheck>;

const newCheck = (segments: number) => ({
  ...{ segments, blocks: 0, logs: 0 },
  proof: { bloom: 0, header: 0, receipts: 0 },
  /** Blocks whose parent is there too, and was compared. */
  links: 0,
  /** Blocks whose bloom has a contract and event of which the archive has no log: chance, or a log is missing. */
  lacking: [] as number[],
  /** Results of calls, which nothing proves. */
  results: 0,
  /** Blocks at random that were compared with a node, and blocks that may lack a log. */
  ...{ compared: 0, comparedLacking: 0 },
  problems: [] as string[],
});

type CheckOptions = {
  place: ArchivePlace;
  manifest: Manifest;
  progress: (done: number) => void;
};

/** Recomputes what an archive says of itself: hashes of segments and headers, links to parents, blooms, orders, receipts. */
export async function checkArchive({ place, manifest, progress }: CheckOptions): Promise<ArchiveCheck> {
  const { chainId, segments } = manifest;
  const found = newCheck(segments.length);
  // A problem ends the check of its file alone.
  const checked = async (check: () => Promise<void>) => {
    await check().catch((error: Error) => void found.problems.push(error.message));
  };
  const hashes = new Map<number, string>();
  for (const [done, segment] of segments.entries()) {
    await checked(async () => {
      const queries = filtersOf(manifest, segment).map((filter) => queryOfFilter(manifest, filter, segment));
      const blocks = await readSegment(place, chainId, segment);
      for (const block of blocks) {
        checkLinks(block, hashes, found);
        checkLogs(block, queries, found);
      }
      requireProven(segment, blocks);
      for (const level of ["bloom", "header", "receipts"] as const)
        found.proof[level] += segment.proof[level];
    });
    progress(done + 1);
  }
  for (const file of manifest.results ?? [])
    await checked(async () => {
      found.results += (await readResults(place, chainId, file)).length;
    });
  return found;
}

/** `hashes`: of blocks by number, and of the parents that they name by their own number below zero: segments come in any order. */
function checkLinks({ header }: ArchivedBlock, hashes: Map<number, string>, found: ArchiveCheck): void {
  const [number, { hash, parentHash }] = [Number(header.number), header];
  const [parent, child, other] = [hashes.get(number - 1), hashes.get(-number - 2), hashes.get(number)];
  if (parent !== undefined) found.links += 1;
  const isLinked =
    (parent ?? parentHash) === parentHash && (child ?? hash) === hash && (other ?? hash) === hash;
  if (!isLinked)
    found.problems.push(
      `Block ${number} does not follow the block before it, or is there twice with different hashes.`,
    );
  hashes.set(number, hash);
  hashes.set(-number - 1, parentHash);
}

function checkLogs(block: ArchivedBlock, queries: readonly LogsQuery[], found: ArchiveCheck): void {
  const logs = rpcLogs(block);
  found.blocks += 1;
  found.logs += logs.length;
  if (block.receipts !== undefined) return;
  const number = Number(block.header.number);
  if (logs.some((log) => !queries.some((query) => matches(log, query))))
    found.problems.push(`Block ${number} has a log that its segment's filters do not name.`);
  if (queries.some((query) => mayHaveMore(block.header.logsBloom, logs, query))) found.lacking.push(number);
}

const filtersOf = ({ filters }: Manifest, segment: Segment) =>
  segment.filters.flatMap((index) => filters[index] ?? []);

const longestRange = 500;

/** An archive and what its check found; how many blocks are drawn (all of an archive that has no more); whom to ask. */
type Compared = Pick<CheckOptions, "place" | "manifest"> & {
  found: ArchiveCheck;
  samples: number;
  random: () => number;
  ask: Ask;
};

/**
 * Compares an archive with a node: the header of each segment's last block; random blocks and those that may lack a log, each with its
 * transactions, its logs, and that there are none between it and the block before it.
 */
export async function compareWithNode(options: Compared): Promise<void> {
  const { place, manifest, found, samples, random, ask } = options;
  const { lacking, problems } = found;
  const chosen = new Set(lacking.slice(0, samples));
  found.comparedLacking = chosen.size;
  let [left, open] = [manifest.segments.reduce((sum, { blocks }) => sum + blocks, 0), samples];
  for (const segment of manifest.segments) {
    // What cannot be read is a problem already.
    const blocks = await readSegment(place, manifest.chainId, segment).catch(() => []);
    const last = blocks.at(-1);
    if (last !== undefined) problems.push(...(await blockDifferences(ask, "archive", last)));
    for (const [i, block] of blocks.entries()) {
      const number = Number(block.header.number);
      // Each set of so many blocks is drawn as often as any other.
      const isDrawn = random() * left-- < open;
      if (isDrawn) open -= 1;
      else if (!chosen.has(number)) continue;
      const before = Number(blocks[i - 1]?.header.number ?? segment.from - 1);
      const to = block === last ? Math.min(segment.to, number + longestRange) : number;
      const range = { from: Math.max(before + 1, number - longestRange + 1), to };
      const queries = filtersOf(manifest, segment).map((filter) => queryOfFilter(manifest, filter, range));
      const own = rpcLogs(block).filter((log) => queries.some((query) => matches(log, query)));
      problems.push(...(await blockDifferences(ask, "archive", block)));
      problems.push(...logDifferences("archive", own, await nodeLogs(ask, range, queries)));
    }
  }
  found.compared = samples - open;
  found.problems = [...new Set(problems)];
}

/** The items in random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, order: Math.random() }));
  return drawn.sort((a, b) => a.order - b.order).map(({ item }) => item);
}

// --- How stored blocks differ from those of a node, in sentences; `store` is where they are ---

/** Asks a node. Rejects if it does not answer. */
export type Ask = (body: RpcRequest) => Promise<unknown>;

type Store = "archive" | "cache";
type NodeBlock = Record<string, unknown> & { transactions?: Record<string, unknown>[] };

// Not every node returns them.
const otherFields = ["size", "totalDifficulty"];

/** What differs between a block and the node's, of its header and its transactions. */
export async function blockDifferences(
  ask: Ask,
  store: Store,
  { header, transactions }: ArchivedBlock,
): Promise<string[]> {
  const body = { method: "eth_getBlockByNumber", params: [header.number, true] };
  const theirs = ((await ask(body)) ?? {}) as NodeBlock;
  const name = `Block ${Number(header.number)}`;
  if (theirs["hash"] !== header.hash)
    return [`${name} is ${header.hash} in the ${store}, ${theirs["hash"] ?? "not there"} at the node.`];
  const other = keptHeader(theirs);
  const problems = Object.entries(header)
    .filter(([field, value]) => !otherFields.includes(field) && !isSame(value, other[field] ?? value))
    .map(([field]) => `${name} has another ${field} in the ${store} than at the node.`);
  const sent = new Map(theirs.transactions?.map((one) => [Number(one["transactionIndex"]), one]));
  for (const { transactionIndex, hash, from, to } of transactions) {
    const index = Number(transactionIndex);
    const one = sent.get(index);
    if (!isSame(hash, one?.["hash"]) || !isSame(from, one?.["from"]) || !isSame(to, one?.["to"] ?? null))
      problems.push(
        `Transaction ${index} of ${name.toLowerCase()} is not the same in the ${store} and at the node.`,
      );
  }
  return problems;
}

const isSame = (one: unknown, other: unknown) => String(one).toLowerCase() === String(other).toLowerCase();

/** The node's logs that any of the queries asks for: one request for all contracts that are named, and one for events of any. */
export async function nodeLogs(
  ask: Ask,
  range: BlockRange,
  queries: readonly LogsQuery[],
): Promise<RpcLog[]> {
  const logsOf = (some: readonly LogsQuery[], addresses: readonly string[] | null) => {
    const topics = some.map(({ topics: [events] }) => events);
    const events = topics.includes(undefined) ? null : topics.flatMap((of) => [...(of ?? [])]);
    return some.length === 0 ? [] : askLogs(ask, range, addresses, events && [...new Set(events)]);
  };
  const known = queries.filter(({ addresses }) => addresses !== undefined);
  const addresses = new Set(known.flatMap((query) => [...(query.addresses ?? [])]));
  const any = queries.filter((query) => query.addresses === undefined);
  const found = [...(await logsOf(known, [...addresses])), ...(await logsOf(any, null))];
  return distinctLogs(found.filter((log) => queries.some((query) => matches(log, query))));
}

/** Logs that only the store has, or the node. */
export function logDifferences(store: Store, own: readonly RpcLog[], theirs: readonly RpcLog[]): string[] {
  return differingLogs(own, theirs).map((log) => {
    const { logIndex, blockNumber, address, topics } = log;
    const name = `Log ${Number(logIndex)} of block ${Number(blockNumber)}, of ${address} (${topics[0] ?? "no event"}),`;
    return `${name} is ${own.includes(log) ? "too many" : "missing"} in the ${store}.`;
  });
}
