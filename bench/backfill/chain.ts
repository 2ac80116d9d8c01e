import { join } from "node:path";
import { type Hex, toHex } from "viem";
import { type Block, buildBlock, type PlannedTransaction } from "../../devnet/chain/block.ts";
import { type Chain, createChain } from "../../devnet/chain/chain.ts";
import { writeLabelsFile } from "../../devnet/labels-file.ts";
import { createMethods } from "../../devnet/rpc/methods.ts";
import { serveRpc } from "../../devnet/rpc/server.ts";
import { namesHistory, type Special, type Transaction } from "./history.ts";

const logsPerBlock = 25;
const zero20: Hex = `0x${"0".repeat(40)}`;

type BlocksOptions = {
  chainId: number;
  firstBlock: number;
  /** Unix seconds of a block. */
  timestampOf: (height: number) => number;
  /** Transactions of others in each block, with two logs each; as on mainnet, most of a block. */
  others?: number | undefined;
  /** Number of the first transaction and hash of the block before, if these are the next part of a longer chain. */
  firstTransaction?: number;
  parent?: Hex | undefined;
};

/** The blocks of a generated history, with about 25 logs each. */
export function generateBlocks(transactions: Iterable<Transaction>, options: BlocksOptions): Block[] {
  const { chainId, firstBlock, timestampOf, firstTransaction = 0, others = 0 } = options;
  const blocks: Block[] = [];
  const firstParent = options.parent ?? (`0x${"0".repeat(64)}` as const);
  let taken = firstTransaction;
  for (const own of packed(transactions, logsPerBlock)) {
    const height = firstBlock + blocks.length;
    const planned = own.map(({ from, logs }, index): PlannedTransaction => {
      // The chain id keeps the hashes of two chains apart.
      const hash = `0xa1${toHex(chainId * 2 ** 32 + taken + index, { size: 31 }).slice(2)}` as const;
      return { from, to: zero20, value: 0n, logs, input: "0x", hash };
    });
    taken += own.length;
    blocks.push(
      buildBlock({
        ...{ chainId, timestamp: timestampOf(height), entropy: "", bloom: saturatedBloom },
        parent: { number: height - 1, hash: blocks.at(-1)?.hash ?? firstParent },
        transactions: [...planned, ...Array.from({ length: others }, (_, at) => planTrade(height, at))],
      }),
    );
  }
  return blocks;
}

const transferTopics: [Hex, Hex, Hex] = [
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
  `0x${"1".repeat(64)}`,
  `0x${"2".repeat(64)}`,
];
const token: Hex = `0x${"70".repeat(20)}`;

// A token for a token: two transfers.
function planTrade(height: number, at: number): PlannedTransaction {
  const transfer = { address: token, topics: transferTopics, data: toHex(height * 1_000 + at, { size: 32 }) };
  const hash: Hex = `0xc1${toHex(height * 4_096 + at, { size: 31 }).slice(2)}`;
  return {
    from: zero20,
    to: token,
    value: 0n,
    logs: [transfer, transfer],
    input: `0x${"a9059cbb".repeat(70)}`,
    hash,
  };
}

/** The transactions in parts of at least so many logs. */
export function* packed(transactions: Iterable<Transaction>, min: number): Generator<Transaction[]> {
  let [own, size] = [[] as Transaction[], 0];
  for (const transaction of transactions) {
    own.push(transaction);
    size += transaction.logs.length;
    if (size < min) continue;
    yield own;
    [own, size] = [[], 0];
  }
  if (own.length > 0) yield own;
}

// Most of mainnet's blooms are.
const saturatedBloom = `0x${"f".repeat(512)}`;
/** Serves a generated chain over JSON-RPC. */
export async function serveChain(chain: Chain) {
  const methods = new Map(createMethods(chain, { calls: [], traces: [] }));
  // Nothing was traced: a node without the method is not asked again.
  methods.delete("debug_traceTransaction");
  const { url, counts, close } = await serveRpc({ methods });
  const requests = () => Object.values(counts()).reduce((sum, count) => sum + count, 0);
  return { url, requests, close };
}

/** The chain that generated histories are served as. */
export const holesky = 17_000;

/** A generated history, served. */
export type ServedHistory = Awaited<ReturnType<typeof serveHistory>>;

/** What is served: `logs` of names, or the transactions given. */
type HistoryOptions = Special & {
  logs: number;
  folder: string;
  others?: number;
  given?: { transactions: Iterable<Transaction>; labels: readonly string[] };
};

/**
 * Serves a generated history as Holesky, which every plugin can index without other chains, one block every 12 seconds,
 * and writes every second label into a file, like an outdated label set. `environment` points an index at both.
 */
export async function serveHistory({ logs, folder, given, others, ...special }: HistoryOptions) {
  const { transactions, labels } = given ?? namesHistory("holesky", logs, special);
  const firstBlock = 10_000_000;
  const blocks = generateBlocks(transactions, {
    chainId: holesky,
    firstBlock,
    others,
    timestampOf: (height) => 1_600_000_000 + (height - firstBlock) * 12,
  });
  // Empty blocks deeper than Ponder's finality: every log is final.
  const chain = createChain({ chainId: holesky, blocks, standIns: 100, finality: 0 });
  const lastBlock = firstBlock + blocks.length - 1;
  const rpc = await serveChain(chain);
  return {
    ...rpc,
    firstBlock,
    lastBlock,
    /** How many logs it has. */
    logs: blocks.reduce(
      (sum, block) => sum + block.logs.filter(({ address }) => address !== token).length,
      0,
    ),
    environment: {
      NAMESPACE: "holesky",
      LABELS_URL: halfOfLabels(folder, labels),
      [`RPC_URL_${holesky}`]: rpc.url,
      START_BLOCK: String(firstBlock),
      END_BLOCK: String(lastBlock),
    },
  };
}

/** Writes every second label into a database, like an outdated label set; returns its LABELS_URL. */
export function halfOfLabels(folder: string, labels: readonly string[]): string {
  const path = join(folder, "labels.sqlite");
  writeLabelsFile(
    path,
    labels.filter((_, i) => i % 2 === 0),
  );
  return `file:${path}`;
}
