import type { Hex } from "viem";
import { type ServedBlock, serveBlock } from "./served-block.ts";

/**
 * Empty blocks for the numbers a recording lacks, linked by hash with the recorded ones: an indexer requests the
 * finalized block and for the start blocks of contracts, which a recording of a few blocks does not contain. They reach
 * from block 0 to `after` blocks past `last`.
 */
export function createStandIns({
  first,
  last,
  byNumber,
  after,
}: {
  first: ServedBlock;
  last: ServedBlock;
  byNumber: ReadonlyMap<number, ServedBlock>;
  after: number;
}) {
  // The hash of the block before a recorded one is known: it is that one's parent hash.
  const edges = new Map<Hex, number>();
  for (const { number, parentHash } of byNumber.values()) {
    if (number > 0 && !byNumber.has(number - 1)) edges.set(parentHash, number - 1);
  }

  function hashOf(number: number): Hex {
    return byNumber.get(number)?.hash ?? byNumber.get(number + 1)?.parentHash ?? markedHash(number);
  }

  function withNumber(number: number): ServedBlock | undefined {
    if (!(number >= 0 && number <= last.number + after)) return undefined;
    const near = number < first.number ? first : last;
    return serveBlock(
      {
        ...near.fields,
        number: toHex(number),
        hash: hashOf(number),
        parentHash: number === 0 ? zeroHash : hashOf(number - 1),
        timestamp: toHex(Math.max(0, near.timestamp + secondsPerBlock * (number - near.number))),
        transactionsRoot: emptyTrieRoot,
        receiptsRoot: emptyTrieRoot,
        logsBloom: emptyBloom,
        gasUsed: "0x0",
        transactions: [],
      },
      [],
      [],
    );
  }

  return {
    withNumber,
    withHash(hash: Hex): ServedBlock | undefined {
      if (hash.startsWith(mark)) return withNumber(Number(`0x${hash.slice(mark.length)}`));
      const number = edges.get(hash);
      return number === undefined ? undefined : withNumber(number);
    },
  };
}

/** Root of an empty Merkle-Patricia trie (Ethereum yellow paper): keccak of the RLP of the empty string. */
export const emptyTrieRoot: Hex = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** Bloom filter of a block without logs. */
export const emptyBloom: Hex = `0x${"0".repeat(512)}`;

const zeroHash: Hex = `0x${"0".repeat(64)}`;
const secondsPerBlock = 12;
// The hash of a stand-in encodes its number, so that it can be found without a table.
const mark = `0x${"e0".repeat(24)}`;
const markedHash = (number: number): Hex => `${mark}${number.toString(16).padStart(16, "0")}` as Hex;
const toHex = (number: number): Hex => `0x${number.toString(16)}`;
