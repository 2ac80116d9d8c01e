import { unionOf } from "../ponder/cache.ts";
import type { BlockRange } from "../rpc/nodes.ts";
import type { Manifest } from "./manifest.ts";

// Which blocks of an archive were looked through for what rules ask of nodes beyond logs.

/** Notes that the nodes were asked for the results of a range, and how many of these they could not give. */
export function noteAsked(manifest: Manifest, { from, to }: BlockRange, missing: number): void {
  forgetAsked(manifest, { from, to });
  const sorted = [...(manifest.asked ?? []), { from, to, missing }].sort((a, b) => a.from - b.from);
  manifest.asked = [];
  for (const one of sorted) {
    const last = manifest.asked.at(-1);
    if (last?.to === one.from - 1 && last.missing === 0 && one.missing === 0) last.to = one.to;
    else manifest.asked.push({ ...one });
  }
}

/** Forgets that a range was asked about: it has more logs now. What is missing may be in any part of a range that is left. */
export function forgetAsked(manifest: Manifest, { from, to }: BlockRange): void {
  manifest.asked = manifest.asked?.flatMap((one) => {
    if (one.to < from || one.from > to) return [one];
    const parts = [
      { ...one, to: from - 1 },
      { ...one, from: to + 1 },
    ];
    return parts.filter((part) => part.from <= part.to);
  });
}

/** How many results nodes could not give. */
export const missingIn = ({ asked = [] }: Manifest): number =>
  asked.reduce((sum, { missing }) => sum + missing, 0);

/** The parts of a range that have segments and were not asked about, ascending, none beyond where a segment begins or ends. */
export function unaskedPieces({ segments, asked = [] }: Manifest, range: BlockRange): BlockRange[] {
  const near = segments.filter(({ from, to }) => from <= range.to && to >= range.from);
  const bounds = [...near, ...asked, range].flatMap(({ from, to }) => [from, to + 1]);
  const starts = [...new Set(bounds)].filter((start) => start >= range.from && start <= range.to + 1);
  starts.sort((a, b) => a - b);
  const [isArchived, isAsked] = [within(unionOf(near)), within(asked)];
  return starts.slice(0, -1).flatMap((from, place) => {
    const [hasLogs, isDone] = [isArchived(from), isAsked(from)];
    return hasLogs && !isDone ? [{ from, to: (starts[place + 1] ?? from + 1) - 1 }] : [];
  });
}

/** Whether a block is in one of some ascending ranges, for blocks in ascending order. */
function within(ranges: readonly BlockRange[]): (block: number) => boolean {
  let place = 0;
  return (block) => {
    while ((ranges[place]?.to ?? block) < block) place += 1;
    return (ranges[place]?.from ?? block + 1) <= block;
  };
}
