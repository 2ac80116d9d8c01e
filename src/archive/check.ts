import { differingLogs, type LogsQuery, matches, mayHaveMore, type RpcLog } from "../rpc/log-answers.ts";
import type { BlockRange, RpcRequest } from "../rpc/nodes.ts";
import type { ArchiveLocation } from "./folder.ts";
import { readHeaders } from "./headers.ts";
import { type Manifest, queryOfFilter, type Segment } from "./manifest.ts";
import { askLogs, distinctLogs } from "./record.ts";
import { readResults } from "./results.ts";
import { type ArchivedBlock, keptHeader, readSegment, requireProven, rpcLogs } from "./segment.ts";

/** The findings of an archive check. */
export type ArchiveCheck = ReturnType<typeof createCheck>;

const createCheck = (segments: number) => ({
  ...{ segments, blocks: 0, logs: 0 },
  proof: { bloom: 0, header: 0, receipts: 0 },
  /** Blocks whose parent is in the archive and was compared. */
  links: 0,
  /** Blocks whose bloom has a contract and event without a log in the archive: by chance, or a log is missing. */
  lacking: [] as number[],
  /** Headers of blocks of which the archive has no log, and those among them whose bloom shows that they have none. */
  ...{ empty: 0, emptyByBloom: 0 },
  /** Results of calls, which nothing proves. */
  results: 0,
  /** Random blocks that were compared with a node, and compared blocks that may lack a log. */
  ...{ compared: 0, comparedLacking: 0 },
  problems: [] as string[],
});

type CheckOptions = {
  location: ArchiveLocation;
  manifest: Manifest;
  progress: (done: number) => void;
};

/** Recomputes what an archive claims: hashes of segments and headers, links to parents, blooms, order, receipts. */
export async function checkArchive({ location, manifest, progress }: CheckOptions): Promise<ArchiveCheck> {
  const { chainId, segments } = manifest;
  const found = createCheck(segments.length);
  // A problem ends the check of its file only.
  const checked = async (check: () => Promise<void>) => {
    await check().catch((error: Error) => void found.problems.push(error.message));
  };
  const hashes = new Map<number, string>();
  for (const [done, segment] of segments.entries()) {
    await checked(async () => {
      const queries = listFilters(manifest, segment).map((filter) =>
        queryOfFilter(manifest, filter, segment),
      );
      const blocks = await readSegment(location, chainId, segment);
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
  for (const file of manifest.headers ?? [])
    await checked(async () => {
      const segments = manifest.segments.filter(({ from, to }) => from <= file.to && to >= file.from);
      const queries = segments.flatMap((segment) =>
        listFilters(manifest, segment).map((filter) => queryOfFilter(manifest, filter, segment)),
      );
      for (const { number, hash, logsBloom } of await readHeaders(location, chainId, file)) {
        const archived = hashes.get(number);
        if (archived === hash) continue;
        if (archived !== undefined)
          found.problems.push(`Block ${number} is ${archived} with logs, ${hash} among the headers.`);
        found.empty += 1;
        if (!queries.some((query) => mayHaveMore(logsBloom, [], query))) found.emptyByBloom += 1;
      }
    });
  for (const file of manifest.results ?? [])
    await checked(async () => {
      found.results += (await readResults(location, chainId, file)).length;
    });
  return found;
}

/** `hashes` maps a block's number to its hash, and `-number - 1` to its parent's hash: segments come in any order. */
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

const listFilters = ({ filters }: Manifest, segment: Segment) =>
  segment.filters.flatMap((index) => filters[index] ?? []);

const longestRange = 500;

/** An archive, its check so far, the number of blocks to draw, and the node to ask. */
type ComparedArchive = Pick<CheckOptions, "location" | "manifest"> & {
  found: ArchiveCheck;
  samples: number;
  random: () => number;
  ask: AskNode;
};

/**
 * Compares an archive with a node: each segment's last block, and random and `lacking` ones with the logs since the
 * block before.
 */
export async function compareWithNode(options: ComparedArchive): Promise<void> {
  const { location, manifest, found, samples, random, ask } = options;
  const { lacking, problems } = found;
  const chosen = new Set(lacking.slice(0, samples));
  found.comparedLacking = chosen.size;
  let [left, open] = [manifest.segments.reduce((sum, { blocks }) => sum + blocks, 0), samples];
  for (const segment of manifest.segments) {
    // An unreadable segment is already a problem.
    const blocks = await readSegment(location, manifest.chainId, segment).catch(() => []);
    const last = blocks.at(-1);
    if (last !== undefined) problems.push(...(await blockDifferences(ask, "archive", last)));
    const queries = listFilters(manifest, segment).map((filter) => queryOfFilter(manifest, filter, segment));
    for (const [index, block] of blocks.entries()) {
      // Every set of `samples` blocks is equally likely.
      const isDrawn = random() * left-- < open;
      if (isDrawn) open -= 1;
      else if (!chosen.has(Number(block.header.number))) continue;
      problems.push(...(await differencesAt(ask, "archive", { blocks, index, range: segment, queries })));
    }
  }
  found.compared = samples - open;
  found.problems = [...new Set(problems)];
}

/** Blocks with logs of a range that match a query, and the index of one of them. */
type Place = {
  blocks: readonly ArchivedBlock[];
  index: number;
  range: BlockRange;
  queries: readonly LogsQuery[];
};

/**
 * How a stored block differs from the node's, and the logs since the block before it, or to the end of the range, up to
 * 500 blocks.
 */
export async function differencesAt(
  ask: AskNode,
  store: HeaderStore,
  { blocks, index, range, queries }: Place,
): Promise<string[]> {
  const block = blocks[index] as ArchivedBlock;
  const number = Number(block.header.number);
  const before = Number(blocks[index - 1]?.header.number ?? range.from - 1);
  const to = index === blocks.length - 1 ? Math.min(range.to, number + longestRange) : number;
  const near = { from: Math.max(before + 1, number - longestRange + 1), to };
  const own = rpcLogs(block).filter((log) => queries.some((query) => matches(log, query)));
  return [
    ...(await blockDifferences(ask, store, block)),
    ...logDifferences(store, own, await nodeLogs(ask, near, queries)),
  ];
}

/** The items in random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, order: Math.random() }));
  return drawn.sort((a, b) => a.order - b.order).map(({ item }) => item);
}

// --- Differences between stored blocks and a node's, in sentences; `store` holds the stored ones ---

/** Sends a request to a node. Rejects if it does not respond. */
export type AskNode = (body: RpcRequest) => Promise<unknown>;

type HeaderStore = "archive" | "cache" | "portal";
/** A whole block as a node returns it. */
export type NodeBlock = Record<string, unknown> & { transactions?: Record<string, unknown>[] };

// Not every node returns these.
const otherFields = ["size", "totalDifficulty"];

/** How a stored block's header and transactions differ from the node's. */
export async function blockDifferences(
  ask: AskNode,
  store: HeaderStore,
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
  return [...problems, ...transactionDifferences(store, { header, transactions }, theirs)];
}

/** How a stored block's transactions differ from those of the node's whole block: in hash, sender or recipient. */
export function transactionDifferences(
  store: HeaderStore,
  { header, transactions }: Pick<ArchivedBlock, "header" | "transactions">,
  theirs: NodeBlock,
): string[] {
  const sent = new Map(theirs.transactions?.map((one) => [Number(one["transactionIndex"]), one]));
  return transactions.flatMap(({ transactionIndex, hash, from, to }) => {
    const one = sent.get(Number(transactionIndex));
    return isSame(hash, one?.["hash"]) && isSame(from, one?.["from"]) && isSame(to, one?.["to"] ?? null)
      ? []
      : `Transaction ${Number(transactionIndex)} of block ${Number(header.number)} is not the same in the ${store} and at the node.`;
  });
}

const isSame = (one: unknown, other: unknown) => String(one).toLowerCase() === String(other).toLowerCase();

/** The node's logs that match any query: one request for all named contracts, and one for events of any contract. */
export async function nodeLogs(
  ask: AskNode,
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

/** Describes the logs that only the store or only the node has. */
export function logDifferences(
  store: HeaderStore,
  own: readonly RpcLog[],
  theirs: readonly RpcLog[],
): string[] {
  return differingLogs(own, theirs).map((log) => {
    const { logIndex, blockNumber, address, topics } = log;
    const name = `Log ${Number(logIndex)} of block ${Number(blockNumber)}, of ${address} (${topics[0] ?? "no event"}),`;
    return `${name} is ${own.includes(log) ? "too many" : "missing"} in the ${store}.`;
  });
}
