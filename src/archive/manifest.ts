import { isDeepStrictEqual } from "node:util";
import { z } from "zod/v4";
import { countNoun, escapeControls, parsedJson } from "../log/json-log.ts";
import { Refusal } from "../log/refusal.ts";
import type { LogsQuery } from "../rpc/log-answers.ts";
import type { BlockRange } from "../rpc/nodes.ts";

/** An archive is invalid; the message says why. */
export class ArchiveError extends Refusal {
  override name = "ArchiveError";
}

const megabyte = 1024 * 1024;

/** Limits of a manifest and its files in bytes, so that no archive can fill memory. */
export const archiveLimits = {
  manifest: 64 * megabyte,
  segment: 64 * megabyte,
  unpacked: 128 * megabyte,
  /** What any file may decompress to; a larger one may to `ratio` times its bytes. */
  small: 32 * megabyte,
  ratio: 50,
};

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const address = z.string().regex(/^0x[0-9a-f]{40}$/);
const topic = z.string().regex(/^0x[0-9a-f]{64}$/);

const filterSchema = z.strictObject({
  /** Contracts, `null` for all, or a factory for those that it deployed. */
  addresses: z.union([z.array(address).min(1), z.null(), z.strictObject({ factory: address, event: topic })]),
  /** Events; `null` for all. */
  topics: z.array(topic).min(1).nullable(),
});

const fileFields = {
  /** SHA-256 of the file; also its name. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  from: count,
  to: count,
  bytes: count.max(archiveLimits.segment),
  /** Bytes when decompressed. */
  unpacked: count.max(archiveLimits.unpacked),
};

const segmentSchema = z.strictObject({
  ...fileFields,
  /** Indexes in `filters`; the segment has all logs that match one of them. */
  filters: z.array(count).min(1),
  blocks: count,
  logs: count,
  /** Number of blocks by level of proof; see `levels`. */
  proof: z.strictObject({ bloom: count, header: count, receipts: count }),
});

const resultsSchema = z.strictObject({ ...fileFields, count: count.min(1) });

/** Headers of consecutive blocks: the hashes of the block before them, and of the last. */
const headersSchema = z.strictObject({ ...fileFields, parent: topic, last: topic });

type ListedFile = z.infer<z.ZodObject<typeof fileFields>>;
type ListedFiles = {
  segments: ListedFile[];
  results?: ListedFile[] | undefined;
  headers?: ListedFile[] | undefined;
};

/** All files of an archive. */
export const listFiles = ({ segments, results = [], headers = [] }: ListedFiles): ListedFile[] => [
  ...segments,
  ...results,
  ...headers,
];

const manifestSchema = z
  .strictObject({
    format: z.literal("names-archive"),
    version: z.literal(2),
    chainId: count,
    levels: z.record(z.string(), z.string()),
    filters: z.array(filterSchema).max(100_000),
    /** Contracts that factories deployed, by "<factory> <event>". */
    children: z.record(z.string(), z.array(address)),
    segments: z.array(segmentSchema).max(1_000_000),
    /** Results of handlers' requests. */
    results: z.array(resultsSchema).max(1_000_000).optional(),
    /** Headers of all blocks of a range, ascending. */
    headers: z.array(headersSchema).max(1_000_000).optional(),
  })
  .refine(({ segments }) => segments.every(({ from, to }) => from <= to), "a segment ends before it begins")
  .refine(
    (manifest) =>
      listFiles(manifest).every(
        ({ bytes, unpacked }) => unpacked <= Math.max(archiveLimits.small, archiveLimits.ratio * bytes),
      ),
    `a file decompresses to more than ${archiveLimits.small} bytes and ${archiveLimits.ratio} times its size`,
  )
  .refine(
    ({ segments, filters }) =>
      segments.every((segment) => segment.filters.every((index) => index < filters.length)),
    "a segment names a filter that is not there",
  )
  .refine(
    ({ headers = [] }) =>
      headers.every(({ from, parent }, i) => {
        const { to = from - 1, last = parent } = headers[i - 1] ?? {};
        return from === to + 1 && parent === last;
      }),
    "a file of headers does not follow the one before",
  );

/** What the archive of a chain holds; the file `manifest.json`. */
export type Manifest = z.infer<typeof manifestSchema>;

/** A segment in a manifest. */
export type Segment = Manifest["segments"][number];

/** A file of headers in a manifest. */
export type HeadersFile = NonNullable<Manifest["headers"]>[number];

/** A file of call results in a manifest. */
export type ResultsFile = NonNullable<Manifest["results"]>[number];

/** Selects logs by contracts (some, all, or those that a factory deployed) and events (some or all). */
export type ArchiveFilter = Manifest["filters"][number];

/** The levels of proof of a block, and what each proves. */
export const levels = {
  bloom: "Each log is in the bloom of its block's header; nothing shows that none is missing.",
  header: "And the block's hash was recomputed from its whole header.",
  receipts:
    "And all receipts are there: the header's receipts root was recomputed from them, so that no log is missing.",
};

/** A level of proof, recomputed from the archive alone. Each level includes the one before. */
export type Proof = keyof typeof levels;

const countByProof = ({ segments }: Pick<Manifest, "segments">) =>
  (["bloom", "header", "receipts"] as const).map((level) => ({
    level,
    blocks: segments.reduce((sum, { proof }) => sum + proof[level], 0),
  }));

/** The proof that an archive claims, in words: the lowest level, and how many blocks have another. */
export function describeLevel(manifest: Pick<Manifest, "segments" | "headers">): string {
  const [lowest, ...others] = countByProof(manifest).filter(({ blocks }) => blocks > 0);
  const more = others.map(({ level, blocks }) => `; of ${blocks} blocks ${level}`).join("");
  const [first, last] = [manifest.headers?.[0], manifest.headers?.at(-1)];
  const linked = first && last ? `, headers of blocks ${first.from} to ${last.to}` : "";
  return lowest === undefined ? "no blocks" : `level ${lowest.level}${more}${linked}`;
}

/**
 * Share of blocks whose receipts root is checked on reading: the check takes several times as long as decompression.
 */
export const rootShare = 0.05;

/**
 * What is taken on trust of an archive, by the levels in its manifest. `needsProofs`: all that can be checked is, not
 * only a sample.
 */
export function believedOfArchive(manifest: Manifest, needsProofs = false): string[] {
  const share = needsProofs ? 1 : rootShare;
  const isLinked = needsProofs && manifest.headers !== undefined;
  const [unproven = 0, header = 0, receipts = 0] = countByProof(manifest).map(({ blocks }) => blocks);
  const ofBlocks = (blocks: number) => countNoun(blocks, "archived block");
  const found: [number | undefined, string][] = [
    [
      manifest.segments.length,
      isLinked
        ? "that the archive has all blocks with logs"
        : "that the archive has all blocks of the chain and no others",
    ],
    [
      manifest.segments.length,
      `hashes and senders of transactions${needsProofs ? " that a node returns alike" : ""}`,
    ],
    [unproven, `headers of ${ofBlocks(unproven)} (level bloom)`],
    [unproven + header, `number and data of logs of ${ofBlocks(unproven + header)}`],
    [share < 1 ? receipts : 0, `data of logs of ${ofBlocks(receipts)} beyond a sample of ${share * 100} %`],
    [manifest.results?.length, "archived results of contracts"],
  ];
  return found.flatMap(([count, what]) => (count ? what : []));
}

/** An empty manifest. */
export const newManifest = (chainId: number): Manifest => ({
  format: "names-archive",
  version: 2,
  chainId,
  levels,
  filters: [],
  children: {},
  segments: [],
});

const longestProblem = 500;

/** Parses a manifest. Throws an ArchiveError that names the problem, also for another chain's manifest. */
export function parseManifest(text: string, chainId: number): Manifest {
  const json = parsedJson(text);
  if (json === undefined) throw new ArchiveError("manifest.json is not JSON");
  const parsed = manifestSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    // The archive chooses the keys.
    const problem = escapeControls(`${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
    throw new ArchiveError(`manifest.json: ${problem.slice(0, longestProblem)}`);
  }
  if (parsed.data.chainId !== chainId)
    throw new ArchiveError(`manifest.json is of chain ${parsed.data.chainId}, not of chain ${chainId}`);
  return parsed.data;
}

// --- CoveredLogs ---

/** The key of a factory among `children`. */
export const factoryKey = ({ factory, event }: { factory: string; event: string }) => `${factory} ${event}`;

/** Ranges, and the filters of which each has all logs. */
export type CoveredLogs = Pick<Manifest, "filters" | "children"> & {
  segments: readonly (BlockRange & Pick<Segment, "filters">)[];
};

/** The query for a filter's logs in a range. */
export function queryOfFilter(
  { children }: Pick<Manifest, "children">,
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

// Whether the filters with these indexes cover all logs of a query.
function covers(
  { filters, children }: Pick<Manifest, "filters" | "children">,
  indexes: readonly number[],
  { addresses, topics: [events] }: Pick<LogsQuery, "addresses" | "topics">,
): boolean {
  const candidates = indexes.flatMap((index) => filters[index] ?? []);
  return [...(events ?? [undefined])].every((event) => {
    const fitting = candidates.filter(
      ({ topics }) => topics === null || (event !== undefined && topics.includes(event)),
    );
    if (fitting.some((filter) => filter.addresses === null)) return true;
    // A contract has no logs before its deployment, so earlier segments of its factory cover it too.
    const known = fitting.map(({ addresses: of }) =>
      of === null || Array.isArray(of) ? of : children[factoryKey(of)],
    );
    return addresses !== undefined && [...addresses].every((one) => known.some((of) => of?.includes(one)));
  });
}

/** Part of a range, and the segments that have all its logs; none if it is not covered. */
export type RangePiece = BlockRange & { segments: Segment[] };

/** Splits a query's range, ascending, by whether segments cover the query. */
export function splitRange(manifest: Manifest, query: LogsQuery): RangePiece[] {
  const pieces: RangePiece[] = [];
  for (const { from, to, within: segments } of findStretches(manifest.segments, query)) {
    const isCovered = covers(manifest, listFilters(segments), query);
    const last = pieces.at(-1);
    if (!isCovered && last?.segments.length === 0) last.to = to;
    else pieces.push({ from, to, segments: isCovered ? segments : [] });
  }
  return pieces;
}

const listFilters = (segments: CoveredLogs["segments"]) => [
  ...new Set(segments.flatMap(({ filters }) => filters)),
];

/** Splits a range, ascending, where others begin or end; each part comes with those that contain it. */
export function findStretches<Other extends BlockRange>(others: readonly Other[], { from, to }: BlockRange) {
  const near = others.filter((one) => one.from <= to && one.to >= from);
  const bounds = near.flatMap((one) => [one.from, one.to + 1]);
  const starts = [...new Set([from, ...bounds])].filter((start) => start >= from && start <= to);
  starts.sort((a, b) => a - b);
  return starts.map((start, i) => ({
    from: start,
    to: (starts[i + 1] ?? to + 1) - 1,
    within: near.filter((one) => one.from <= start && start <= one.to),
  }));
}

/** Part of a range, and the filters whose logs an archive lacks there. */
export type Gap = BlockRange & { filters: readonly ArchiveFilter[] };

/** What an archive lacks of filters in a range, ascending. A factory's filter is missing as a whole. */
export function findGaps(manifest: CoveredLogs, filters: readonly ArchiveFilter[], range: BlockRange): Gap[] {
  // Most segments have the same filters.
  const known = new Map<string, ArchiveFilter[]>();
  const gaps: Gap[] = [];
  for (const { from, to, within } of findStretches(manifest.segments, range)) {
    const indexes = listFilters(within);
    const lackedHere = () => filters.flatMap((filter) => findLacked(manifest, indexes, filter) ?? []);
    const lacked = known.get(indexes.join()) ?? lackedHere();
    known.set(indexes.join(), lacked);
    const last = gaps.at(-1);
    if (last?.to === from - 1 && isDeepStrictEqual(last.filters, lacked)) last.to = to;
    else if (lacked.length > 0) gaps.push({ from, to, filters: lacked });
  }
  return gaps;
}

/** The part of a filter that the filters with these indexes do not cover; undefined if there is none. */
function findLacked(
  manifest: CoveredLogs,
  indexes: readonly number[],
  filter: ArchiveFilter,
): ArchiveFilter | undefined {
  const { addresses, topics } = filter;
  const isLacked = (part: Partial<ArchiveFilter>) =>
    !covers(manifest, indexes, queryOfFilter(manifest, { ...filter, ...part }, { from: 0, to: 0 }));
  if (addresses !== null && !Array.isArray(addresses)) {
    // A factory's contracts are not known in advance: only its own filter covers them.
    const text = JSON.stringify(filter);
    return indexes.some((index) => JSON.stringify(manifest.filters[index]) === text) ? undefined : filter;
  }
  if (!isLacked({})) return undefined;
  return {
    addresses: addresses?.filter((one) => isLacked({ addresses: [one] })) ?? null,
    topics: topics?.filter((one) => isLacked({ topics: [one] })) ?? null,
  };
}
