import { z } from "zod/v4";
import { counted, escapeControls } from "../log/json-log.ts";
import type { LogsQuery } from "../rpc/log-answers.ts";
import type { BlockRange } from "../rpc/nodes.ts";

/** Something is wrong with an archive; the message says what. */
export class ArchiveError extends Error {
  override name = "ArchiveError";
}

const megabyte = 1024 * 1024;

/** Limits of what a manifest may name, so that no archive can fill memory. Bytes; of a segment's text, characters. */
export const limits = {
  manifest: 64 * megabyte,
  segment: 64 * megabyte,
  unpacked: 128 * megabyte,
  text: 64 * megabyte,
  /** What a file may decompress to however small it is; a larger one to this many times its bytes. */
  small: 32 * megabyte,
  ratio: 50,
};

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const address = z.string().regex(/^0x[0-9a-f]{40}$/);
const topic = z.string().regex(/^0x[0-9a-f]{64}$/);

const filterSchema = z.strictObject({
  /** Contracts; `null` for all, a factory for those that it deployed. */
  addresses: z.union([z.array(address).min(1), z.null(), z.strictObject({ factory: address, event: topic })]),
  /** Events; `null` for all. */
  topics: z.array(topic).min(1).nullable(),
});

const fileFields = {
  /** SHA-256 of the file, and its name. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  from: count,
  to: count,
  bytes: count.max(limits.segment),
  /** Bytes when decompressed. */
  unpacked: count.max(limits.unpacked),
};

const segmentSchema = z.strictObject({
  ...fileFields,
  /** Places in `filters`: all logs that match one of them are there. */
  filters: z.array(count).min(1),
  blocks: count,
  logs: count,
  /** How many blocks are proven how far; see `levels`. */
  proof: z.strictObject({ bloom: count, header: count, receipts: count }),
});

const resultsSchema = z.strictObject({ ...fileFields, count: count.min(1) });

const manifestSchema = z
  .strictObject({
    format: z.literal("names-archive"),
    version: z.literal(1),
    chainId: count,
    levels: z.record(z.string(), z.string()),
    filters: z.array(filterSchema).max(100_000),
    /** Contracts that factories deployed, by "<factory> <event>". */
    children: z.record(z.string(), z.array(address)),
    segments: z.array(segmentSchema).max(1_000_000),
    /** Results of what handlers asked of nodes beyond logs. */
    results: z.array(resultsSchema).max(1_000_000).optional(),
    /** Not read: some archives have it. */
    asked: z.unknown().optional(),
  })
  .refine(({ segments }) => segments.every(({ from, to }) => from <= to), "a segment ends before it begins")
  .refine(
    ({ segments, results = [] }) =>
      [...segments, ...results].every(
        ({ bytes, unpacked }) => unpacked <= Math.max(limits.small, limits.ratio * bytes),
      ),
    `a file decompresses to more than ${limits.small} bytes and ${limits.ratio} times its size`,
  )
  .refine(
    ({ segments, filters }) =>
      segments.every((segment) => segment.filters.every((place) => place < filters.length)),
    "a segment names a filter that is not there",
  );

/** What an archive of a chain holds; the file `manifest.json`. */
export type Manifest = z.infer<typeof manifestSchema>;

/** A segment as the manifest lists it. */
export type Segment = Manifest["segments"][number];

/** A file of results of calls as the manifest lists it. */
export type ResultsFile = NonNullable<Manifest["results"]>[number];

/** Which logs are there: those of some contracts, of all, or of those that a factory deployed; some events, or all. */
export type ArchiveFilter = Manifest["filters"][number];

/** What is known of a block, by the name under which a manifest counts blocks. */
export const levels = {
  bloom: "Each log is in the bloom of its block's header; nothing shows that none is missing.",
  header: "And the block's hash was recomputed from its whole header.",
  receipts:
    "And all receipts are there: the header's receipts root was recomputed from them, so that no log is missing.",
};

/** How far a block is proven: what is recomputed from the archive alone, each level on top of the one before. */
export type Proof = keyof typeof levels;

/** How far an archive says that its blocks are proven: the lowest level, and how many blocks have another. */
export function levelOf({ segments }: Pick<Manifest, "segments">): string {
  const counts = (["bloom", "header", "receipts"] as const).flatMap((level) => {
    const blocks = segments.reduce((sum, { proof }) => sum + proof[level], 0);
    return blocks === 0 ? [] : [{ level, blocks }];
  });
  const [lowest, ...others] = counts;
  const more = others.map(({ level, blocks }) => `; of ${blocks} blocks ${level}`).join("");
  return lowest === undefined ? "no blocks" : `level ${lowest.level}${more}`;
}

/** The share of blocks whose receipts are proven when they are read: that takes some times as long as to decompress them. */
export const rootShare = 0.05;

/** What is believed of an archive, by the levels that its manifest names. */
export function believedOfArchive({ segments, results = [] }: Manifest): string[] {
  const sum = (level: Proof) => segments.reduce((blocks, { proof }) => blocks + proof[level], 0);
  const [unproven, header, receipts] = [sum("bloom"), sum("header"), sum("receipts")];
  const found: [number, string][] = [
    [
      segments.length,
      "that the archive has all blocks of the chain and no others, and senders of transactions",
    ],
    [unproven, `headers of ${counted(unproven, "archived block")} (level bloom)`],
    [unproven + header, `number and data of logs of ${counted(unproven + header, "archived block")}`],
    [
      receipts,
      `data of logs of ${counted(receipts, "archived block")} beyond a sample of ${rootShare * 100} %`,
    ],
    [results.length, "archived results of contracts"],
  ];
  return found.flatMap(([count, what]) => (count === 0 ? [] : what));
}

/** The manifest of an archive without segments. */
export const newManifest = (chainId: number): Manifest => ({
  format: "names-archive",
  version: 1,
  chainId,
  levels,
  filters: [],
  children: {},
  segments: [],
});

const longestProblem = 500;

/** Reads a manifest; throws an ArchiveError that names what is wrong, also if it is of another chain. */
export function parseManifest(text: string, chainId: number): Manifest {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ArchiveError("manifest.json is not JSON", { cause: error });
  }
  const parsed = manifestSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    // Keys are the archive's own.
    const problem = escapeControls(`${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
    throw new ArchiveError(`manifest.json: ${problem.slice(0, longestProblem)}`);
  }
  if (parsed.data.chainId !== chainId)
    throw new ArchiveError(`manifest.json is of chain ${parsed.data.chainId}, not of chain ${chainId}`);
  return parsed.data;
}

// --- What is covered ---

/** The key of a factory among `children`. */
export const factoryKey = ({ factory, event }: { factory: string; event: string }) => `${factory} ${event}`;

/** The query for the logs of a range that a filter names. */
export function queryOfFilter(
  { children }: Manifest,
  { addresses, topics }: ArchiveFilter,
  { from, to }: BlockRange,
): LogsQuery {
  const known =
    addresses === null || Array.isArray(addresses) ? addresses : (children[factoryKey(addresses)] ?? []);
  return {
    from,
    to,
    blockHash: undefined,
    addresses: known === null ? undefined : new Set(known),
    topics: [topics === null ? undefined : new Set(topics)],
  };
}

type Covered = Pick<Manifest, "filters" | "children">;

// Whether all logs that a query asks for match one of the filters with these places.
function covers(
  manifest: Covered,
  places: readonly number[],
  query: Pick<LogsQuery, "addresses" | "topics">,
): boolean {
  const filters = places.flatMap((place) => manifest.filters[place] ?? []);
  const ofEvent = (event: string | undefined) =>
    filters.filter(({ topics }) => topics === null || (event !== undefined && topics.includes(event)));
  const [events] = query.topics;
  return [...(events ?? [undefined])].every((event) => {
    const fitting = ofEvent(event);
    if (fitting.some(({ addresses }) => addresses === null)) return true;
    return query.addresses !== undefined && [...query.addresses].every((one) => isOf(manifest, fitting, one));
  });
}

// A contract has no logs before its deployment: what a factory deployed later is covered where nothing of it is.
function isOf({ children }: Covered, filters: readonly ArchiveFilter[], contract: string): boolean {
  return filters.some(({ addresses }) => {
    if (addresses === null) return true;
    const known = Array.isArray(addresses) ? addresses : children[factoryKey(addresses)];
    return known?.includes(contract) ?? false;
  });
}

/** A part of a range, and the segments that have all logs of it; none if it is not covered. */
export type Piece = BlockRange & { segments: Segment[] };

/** Parts of a query's range, ascending, by whether segments cover the query there. */
export function piecesOf(manifest: Manifest, query: LogsQuery): Piece[] {
  const known = new Map<string, boolean>();
  const pieces: Piece[] = [];
  for (const { from, to, segments } of stretchesOf(manifest, query)) {
    const places = placesOf(segments);
    const key = places.join();
    const isCovered = known.get(key) ?? covers(manifest, places, query);
    known.set(key, isCovered);
    const last = pieces.at(-1);
    if (!isCovered && last?.segments.length === 0) last.to = to;
    else pieces.push({ from, to, segments: isCovered ? segments : [] });
  }
  return pieces;
}

const placesOf = (segments: readonly Segment[]) => [...new Set(segments.flatMap(({ filters }) => filters))];

// Parts of a range in which no segment begins or ends, each with its segments.
function* stretchesOf({ segments }: Manifest, { from, to }: BlockRange): Generator<Piece> {
  const near = segments.filter((segment) => segment.from <= to && segment.to >= from);
  near.sort((a, b) => a.from - b.from);
  const starts = new Set([from]);
  for (const segment of near) {
    if (segment.from > from) starts.add(segment.from);
    if (segment.to < to) starts.add(segment.to + 1);
  }
  const sorted = [...starts].sort((a, b) => a - b);
  let here: Segment[] = [];
  let next = 0;
  for (const [place, start] of sorted.entries()) {
    here = here.filter((segment) => segment.to >= start);
    for (; (near[next]?.from ?? start + 1) <= start; next++) here.push(near[next] as Segment);
    yield { from: start, to: (sorted[place + 1] ?? to + 1) - 1, segments: here };
  }
}

/** A part of a range, and the logs that an archive lacks there. */
export type Lack = BlockRange & { filter: ArchiveFilter };

/** What an archive lacks of a filter in a range: of which contracts and events, ascending. What a factory deploys is lacked as a whole. */
export function lacksOf(manifest: Manifest, filter: ArchiveFilter, range: BlockRange): Lack[] {
  const known = new Map<string, string | undefined>();
  const found: (BlockRange & { text: string })[] = [];
  for (const { from, to, segments } of stretchesOf(manifest, range)) {
    const places = placesOf(segments);
    const key = places.join();
    if (!known.has(key)) known.set(key, JSON.stringify(lackedOf(manifest, places, filter)));
    const text = known.get(key);
    const last = found.at(-1);
    if (text === undefined) continue;
    if (last?.text === text && last.to === from - 1) last.to = to;
    else found.push({ from, to, text });
  }
  return found.map(({ from, to, text }) => ({ from, to, filter: JSON.parse(text) }));
}

/** The part of a filter that the filters with these places do not cover; undefined if they cover all of it. */
function lackedOf(
  manifest: Manifest,
  places: readonly number[],
  filter: ArchiveFilter,
): ArchiveFilter | undefined {
  const { addresses, topics } = filter;
  if (addresses !== null && !Array.isArray(addresses)) {
    // What a factory deploys is not known beforehand: only its own filter covers it.
    const text = JSON.stringify(filter);
    return places.some((place) => JSON.stringify(manifest.filters[place]) === text) ? undefined : filter;
  }
  const setOf = (value: string | null) => (value === null ? undefined : new Set([value]));
  const lacks = (address: string | null, topic: string | null) =>
    !covers(manifest, places, { addresses: setOf(address), topics: [setOf(topic)] });
  const [contracts, events] = [addresses ?? [null], topics ?? [null]];
  const lackedEvents = events.filter((event) => contracts.some((contract) => lacks(contract, event)));
  if (lackedEvents.length === 0) return undefined;
  const lackedContracts = contracts.filter((contract) =>
    lackedEvents.some((event) => lacks(contract, event)),
  );
  return {
    addresses: addresses && lackedContracts.filter((one) => one !== null),
    topics: topics && lackedEvents.filter((one) => one !== null),
  };
}
