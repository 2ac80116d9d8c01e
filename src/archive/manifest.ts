import { z } from "zod/v4";
import type { LogsQuery } from "../rpc/log-answers.ts";
import type { BlockRange } from "../rpc/nodes.ts";

/** Something is wrong with an archive; the message says what. */
export class ArchiveError extends Error {
  override name = "ArchiveError";
}

/** Limits of what a manifest may name, so that no archive can fill memory. Bytes. */
export const limits = { manifest: 64 * 1024 * 1024, segment: 64 * 1024 * 1024, unpacked: 128 * 1024 * 1024 };

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const address = z.string().regex(/^0x[0-9a-f]{40}$/);
const topic = z.string().regex(/^0x[0-9a-f]{64}$/);

const filterSchema = z.strictObject({
  /** Contracts; `null` for all, a factory for those that it deployed. */
  addresses: z.union([z.array(address).min(1), z.null(), z.strictObject({ factory: address, event: topic })]),
  /** Events; `null` for all. */
  topics: z.array(topic).min(1).nullable(),
});

const segmentSchema = z.strictObject({
  /** SHA-256 of the file, and its name. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  from: count,
  to: count,
  /** Places in `filters`: all logs that match one of them are there. */
  filters: z.array(count).min(1),
  blocks: count,
  logs: count,
  bytes: count.max(limits.segment),
  /** Bytes when decompressed. */
  unpacked: count.max(limits.unpacked),
  /** How many blocks are proven how far; see `levels`. */
  proof: z.strictObject({ bloom: count, header: count, receipts: count }),
});

const resultsSchema = z.strictObject({
  /** SHA-256 of the file, and its name. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  from: count,
  to: count,
  count: count.min(1),
  bytes: count.max(limits.segment),
  unpacked: count.max(limits.unpacked),
});

const askedSchema = z.strictObject({
  from: count,
  to: count,
  /** How many results the nodes could not give. */
  missing: count,
});

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
    /** Results of what rules asked of nodes beyond logs. */
    results: z.array(resultsSchema).max(1_000_000).optional(),
    /** Blocks of whose logs the results were asked for, ascending; of all others they were not. */
    asked: z.array(askedSchema).max(1_000_000).optional(),
  })
  .refine(({ segments }) => segments.every(({ from, to }) => from <= to), "a segment ends before it begins")
  .refine(
    ({ segments, filters }) =>
      segments.every((segment) => segment.filters.every((place) => place < filters.length)),
    "a segment names a filter that is not there",
  )
  .refine(
    ({ asked = [] }) =>
      asked.every(({ from, to }, place) => from <= to && from > (asked[place - 1]?.to ?? -1)),
    { message: "ranges are out of order", path: ["asked"] },
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
    throw new ArchiveError(`manifest.json: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
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
function covers(manifest: Covered, places: readonly number[], query: LogsQuery): boolean {
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
  const { from, to } = query;
  const near = manifest.segments.filter((segment) => segment.from <= to && segment.to >= from);
  const starts = new Set([from]);
  for (const segment of near) {
    if (segment.from > from) starts.add(segment.from);
    if (segment.to < to) starts.add(segment.to + 1);
  }
  const sorted = [...starts].sort((a, b) => a - b);
  const known = new Map<string, boolean>();
  const pieces: Piece[] = [];
  for (const [i, start] of sorted.entries()) {
    const end = (sorted[i + 1] ?? to + 1) - 1;
    const here = near.filter((segment) => segment.from <= start && segment.to >= end);
    const places = [...new Set(here.flatMap((segment) => segment.filters))];
    const key = places.join();
    const isCovered = known.get(key) ?? covers(manifest, places, query);
    known.set(key, isCovered);
    const last = pieces.at(-1);
    if (!isCovered && last?.segments.length === 0) last.to = end;
    else pieces.push({ from: start, to: end, segments: isCovered ? here : [] });
  }
  return pieces;
}

/** The parts of a range of which an archive lacks some logs of a filter. */
export function gapsOf(
  manifest: Manifest,
  { addresses, topics }: ArchiveFilter,
  range: BlockRange,
): BlockRange[] {
  const lists = Array.isArray(addresses) ? addresses : undefined;
  const factory =
    lists === undefined && addresses !== null ? JSON.stringify({ addresses, topics }) : undefined;
  const query = {
    ...range,
    blockHash: undefined,
    addresses: lists && new Set(lists),
    topics: [topics === null ? undefined : new Set(topics)],
  };
  const usable =
    factory === undefined
      ? manifest
      : // What a factory deploys is not known beforehand: only its own filter covers it.
        {
          ...manifest,
          filters: manifest.filters.map((one) =>
            JSON.stringify(one) === factory ? { ...one, addresses: null } : one,
          ),
        };
  return piecesOf(usable, query)
    .filter(({ segments }) => segments.length === 0)
    .map(({ from, to }) => ({ from, to }));
}
