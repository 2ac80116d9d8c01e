type Block = { number: number };

/** What /api/indexing-status says of each chain, by id. */
export type Chains = Record<
  string,
  {
    chainStatus: string;
    config: { startBlock: Block };
    latestIndexedBlock?: Block;
    backfillEndBlock?: Block;
  }
>;

/** Blocks of all chains that are indexed, and all that the backfill has. */
export type Progress = { done: number; all: number };

/** Progress of a backfill; `heads`: newest block of each chain by id, for chains whose turn has not come. */
export function measureProgress(chains: Chains, heads: ReadonlyMap<number, number>): Progress {
  const progress = { done: 0, all: 0 };
  for (const [id, head] of heads) {
    const chain = chains[id];
    if (chain === undefined) continue;
    const { number: start } = chain.config.startBlock;
    const { number: latest } = chain.latestIndexedBlock ?? { number: start };
    const end = chain.backfillEndBlock?.number ?? Math.max(head, latest);
    progress.done += (/following|completed/.test(chain.chainStatus) ? end : latest) - start;
    progress.all += end - start;
  }
  return progress;
}

/** The progress in words, from 5 % on with the expected end by its speed since an earlier one `seconds` ago. */
export function describeProgress({ done, all }: Progress, earlier: Progress, seconds: number): string {
  if (done >= all)
    return `all ${all.toLocaleString("en")} blocks are indexed; the database's indexes are built`;
  const speed = (done - earlier.done) / seconds;
  const rest = speed > 0 && done >= all / 20 ? `, about ${Math.ceil((all - done) / speed)} s to go` : "";
  const percent = Math.floor((100 * done) / all);
  return `${percent} % of ${all.toLocaleString("en")} blocks are indexed${rest}`;
}
