import type { Hex } from "viem";
import { headerHash } from "../../src/rpc/block-proofs.ts";
import { type ServedBlock, serveBlock } from "./served-block.ts";

/**
 * Empty blocks for the numbers a recording lacks: an indexer requests the finalized block and the start blocks of contracts, which a
 * recording of a few blocks does not contain. They reach from block 0 to `after` blocks past `last`. Each header hashes to its hash and
 * names its parent, recorded or not; only a recorded block that follows one names another.
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
  const byHash = new Map<Hex, ServedBlock>();
  const known = new Map<number, ServedBlock>();

  // Those after the recording are linked from its last block on, the others to whatever the block before them would be called.
  function parentHashOf(number: number): Hex {
    if (number === 0) return zeroHash;
    const parent = byNumber.get(number - 1) ?? (number > last.number ? withNumber(number - 1) : undefined);
    return parent?.hash ?? zeroHash;
  }

  function withNumber(number: number): ServedBlock | undefined {
    if (!(number >= 0 && number <= last.number + after)) return undefined;
    const found = known.get(number);
    if (found !== undefined) return found;
    const near = number < first.number ? first : last;
    const { hash: _hash, ...fields } = near.fields;
    const header = {
      ...fields,
      number: toHex(number),
      parentHash: parentHashOf(number),
      timestamp: toHex(Math.max(0, near.timestamp + secondsPerBlock * (number - near.number))),
      transactionsRoot: emptyTrieRoot,
      receiptsRoot: emptyTrieRoot,
      logsBloom: emptyBloom,
      gasUsed: "0x0",
      transactions: [],
    };
    const block = serveBlock({ ...header, hash: headerHash(header) }, [], []);
    known.set(number, block);
    byHash.set(block.hash, block);
    return block;
  }

  return { withNumber, withHash: (hash: Hex) => byHash.get(hash) };
}

/** Root of an empty Merkle-Patricia trie (Ethereum yellow paper): keccak of the RLP of the empty string. */
export const emptyTrieRoot: Hex = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** Bloom filter of a block without logs. */
export const emptyBloom: Hex = `0x${"0".repeat(512)}`;

const zeroHash: Hex = `0x${"0".repeat(64)}`;
const secondsPerBlock = 12;
const toHex = (number: number): Hex => `0x${number.toString(16)}`;
