import { type StartBlock, shared } from "./shared.ts";

// ponder: at a start it asks each chain for its id, its newest block, the one that is final then, its first block and
// its last cached one, and does nothing before it has them. docs/ponder.md#chains-that-are-silent-at-the-start
// describes what is kept of them.

type KnownBlock = Omit<StartBlock, "newest">;
type StartProgress = { start: KnownBlock; end?: KnownBlock; finalized: KnownBlock };

/**
 * Returns a function that keeps the blocks of a chain that the next start asks for. Call it when live indexing begins,
 * and before a block is finalized. The block that was final before is kept too: until Ponder has stored the new one, a
 * start may ask for either.
 */
export function createStartKeeper(keep = shared().keepStartBlocks) {
  const finals = new Map<number, StartBlock[]>();
  return async (chain: { id: number }, progress: object, final?: object): Promise<void> => {
    if (keep === undefined) return;
    const { finalityBlockCount } = chain as unknown as { finalityBlockCount: number };
    const { start, end, finalized } = progress as StartProgress;
    const block = pickFields((final ?? finalized) as KnownBlock);
    const newest = `0x${(Number(block.number) + finalityBlockCount).toString(16)}`;
    const lastTwo = [...(finals.get(chain.id) ?? []), { ...block, newest }].slice(-2);
    finals.set(chain.id, lastTwo);
    // ponder: an end that is not final yet has no hash.
    const ends = end === undefined || end.hash === "0x" ? [] : [end];
    await keep(chain.id, [...lastTwo, ...[start, ...ends].map(pickFields)]);
  };
}

const pickFields = ({ number, hash, parentHash, timestamp }: KnownBlock): StartBlock => ({
  ...{ number, hash, parentHash, timestamp },
});
