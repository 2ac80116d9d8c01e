import { differingLogs, matches, mayHaveMore, type RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, type RpcRequest, toHex } from "../rpc/nodes.ts";
import { type ArchivePlace, readResults, readSegment } from "./folder.ts";
import { blocksIn, rpcLogs } from "./front.ts";
import { type Manifest, queryOfFilter, type Segment } from "./manifest.ts";
import { type Proof, proofOf } from "./proofs.ts";
import { resultsIn } from "./results.ts";
import type { ArchivedBlock } from "./segment.ts";

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
  /** Ranges that were compared with a node, and results of calls. */
  compared: number;
  comparedResults: number;
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
    ...{ suspects: [], results: 0, compared: 0, comparedResults: 0, problems: [] },
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

const longestRange = 100;
const mostAddresses = 500;

type Compared = {
  place: ArchivePlace;
  manifest: Manifest;
  found: ArchiveCheck;
  samples: number;
  random: () => number;
  ask: (body: RpcRequest) => Promise<unknown>;
};

/** Compares random ranges of an archive with a node: first around blocks that may lack a log, then anywhere. */
export async function compareWithNode({
  place,
  manifest,
  found,
  samples,
  random,
  ask,
}: Compared): Promise<void> {
  const { segments, chainId } = manifest;
  for (let i = 0; i < samples && segments.length > 0; i++) {
    const suspect = found.suspects[i < samples / 2 ? Math.floor(random() * found.suspects.length) : -1];
    const holds = ({ from, to }: Segment) => suspect === undefined || (from <= suspect && suspect <= to);
    const fitting = segments.filter(holds);
    const segment = fitting[Math.floor(random() * fitting.length)];
    if (segment === undefined) continue;
    const from = suspect ?? segment.from + Math.floor(random() * (segment.to - segment.from + 1));
    const range = { from, to: Math.min(segment.to, from + longestRange - 1) };
    const blocks = [...blocksIn(segment, await readSegment(place, chainId, segment)).values()];
    found.problems.push(...(await differencesIn({ manifest, segment, range, blocks }, ask)));
    found.compared += 1;
  }
}

type RangePart = {
  manifest: Manifest;
  segment: Segment;
  range: BlockRange;
  blocks: readonly ArchivedBlock[];
};

async function differencesIn(
  { manifest, segment, range, blocks }: RangePart,
  ask: Compared["ask"],
): Promise<string[]> {
  const { from, to } = range;
  const here = blocks.filter(({ header }) => Number(header.number) >= from && Number(header.number) <= to);
  const logs = here.flatMap((block) => rpcLogs(block));
  const problems: string[] = [];
  for (const filter of filtersOf(manifest, segment)) {
    const query = queryOfFilter(manifest, filter, range);
    const own = logs.filter((log) => matches(log, query));
    const theirs: RpcLog[] = [];
    for (const address of batches(query.addresses)) {
      const topics = query.topics.map((one) => (one === undefined ? null : [...one]));
      const params = { fromBlock: toHex(from), toBlock: toHex(to), ...(address && { address }), topics };
      theirs.push(...((await ask({ method: "eth_getLogs", params: [params] })) as RpcLog[]));
    }
    for (const { blockNumber, logIndex } of differingLogs(own, theirs))
      problems.push(
        `Log ${Number(logIndex)} of block ${Number(blockNumber)} is not the same in the archive and at the node.`,
      );
  }
  const [block] = here;
  if (block === undefined) return problems;
  const answer = (await ask({ method: "eth_getBlockByNumber", params: [block.header.number, false] })) as {
    hash?: string;
  };
  if (answer?.hash !== block.header.hash)
    problems.push(
      `Block ${Number(block.header.number)} is ${block.header.hash} in the archive, ${answer?.hash} at the node.`,
    );
  return problems;
}

function batches(addresses: ReadonlySet<string> | undefined): (string[] | undefined)[] {
  if (addresses === undefined) return [undefined];
  const all = [...addresses];
  return Array.from({ length: Math.ceil(all.length / mostAddresses) }, (_, i) =>
    all.slice(i * mostAddresses, (i + 1) * mostAddresses),
  );
}
