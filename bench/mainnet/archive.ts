import { openManifest } from "../../src/archive/folder.ts";
import { addSegment, archivedBlock, logsOfSegment } from "../../src/archive/record.ts";
import { wantedOf } from "../../src/archive/wanted.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import type { RpcLog } from "../../src/rpc/log-answers.ts";
import { accountOf, type Transaction } from "../backfill/made-up.ts";
import { rootTransactions } from "../backfill/root-history.ts";
import { serveChains } from "../backfill/rpc.ts";
import { type ServedChain, serveChain } from "../backfill/served-chain.ts";

const mainnet = 1;
const firstBlock = 10_000_000;
const firstTimestamp = 1_600_000_000;
const timestampOf = (block: number) => firstTimestamp + (block - firstBlock) * 12;
// Deeper than Ponder's finality: every log is final.
const emptyBlocks = 100;

/** Owns every fifth name. */
export const hotAccount = accountOf(1_000_000);

const odd = ["🦊", "Upper Case ", "a\u200db", 'quo"te\\', "ünïcode", "_under", "x".repeat(150), "日本語"];
const [oddEvery, spamEvery] = [33, 20_000];

// A long tail of labels that are not plain, and now and then one of ten thousand characters.
function labelOf(place: number): string | undefined {
  if (place % spamEvery === 1_000) return `spam${"0123456789".repeat(1_000)}${place}`;
  return place % oddEvery === 0 ? `${odd[(place / oddEvery) % odd.length]}${place}` : undefined;
}

const ownerOf = (place: number) => (place % 5 === 0 ? hotAccount : undefined);

/** What an archive was filled with. */
export type Filled = {
  labels: string[];
  logs: number;
  bytes: number;
  lastBlock: number;
  /** Environment of an index of it, without labels, database and RPC. */
  environment: Record<string, string>;
};

/** Writes a generated history of mainnet of at least `count` logs into an archive, a segment at a time. */
export async function fillArchive(folder: string, count: number): Promise<Filled> {
  const environment = {
    NAMESPACE: "mainnet",
    PLUGINS: "subgraph",
    SUBGRAPH_COMPAT: "true",
    START_BLOCK: String(firstBlock),
  };
  const filters = wantedOf(
    parseEnvironment({ ...environment, RPC_URL_1: "http://127.0.0.1", LABELS_URL: "file:none" }, () => ""),
    "mainnet",
  ).filters;
  const manifest = await openManifest(folder, mainnet);
  const { transactions, labels } = rootTransactions(count, { labelOf, ownerOf });
  let [from, firstTransaction] = [firstBlock, 0];
  for (const part of parts(transactions)) {
    const blocks = blocksOf(part, from, firstTransaction);
    const to = from + blocks.length - 1;
    await addSegment(folder, manifest, { from, to, filters, blocks });
    firstTransaction += part.length;
    from = to + 1;
  }
  const sum = (of: "logs" | "bytes") => manifest.segments.reduce((all, one) => all + one[of], 0);
  return {
    labels,
    logs: sum("logs"),
    bytes: sum("bytes"),
    lastBlock: from - 1,
    environment: { ...environment, ARCHIVE: folder },
  };
}

function* parts(transactions: Iterable<Transaction>): Generator<Transaction[]> {
  let [part, logs] = [[] as Transaction[], 0];
  for (const transaction of transactions) {
    part.push(transaction);
    logs += transaction.logs.length;
    if (logs < logsOfSegment) continue;
    yield part;
    [part, logs] = [[], 0];
  }
  if (part.length > 0) yield part;
}

function blocksOf(transactions: Transaction[], from: number, firstTransaction: number) {
  const chain = serveChain(transactions, {
    id: mainnet,
    firstBlock: from,
    emptyBlocks: 0,
    firstTransaction,
    timestampOf: (place) => timestampOf(from + place),
  });
  return chain.logs.map((logs, place) => {
    const full = chain.answer("eth_getBlockByNumber", [`0x${(from + place).toString(16)}`, true]);
    return archivedBlock(full as Parameters<typeof archivedBlock>[0], logs as unknown as RpcLog[]);
  });
}

/** Serves the blocks behind an archive, all without logs, over JSON-RPC; `head` moves its newest block. */
export async function serveHead(lastBlock: number) {
  let head = lastBlock + emptyBlocks;
  const chain = serveChain([], {
    id: mainnet,
    firstBlock: lastBlock + 1,
    emptyBlocks: 1_000_000,
    timestampOf: (place) => timestampOf(lastBlock + 1 + place),
  });
  const moving: ServedChain = {
    ...chain,
    answer(method, params) {
      const newest = `0x${head.toString(16)}`;
      if (method === "eth_blockNumber") return newest;
      const [first, ...rest] = params;
      return chain.answer(method, [first === "latest" || first === "finalized" ? newest : first, ...rest]);
    },
  };
  const { urlOf, close } = await serveChains([moving]);
  return {
    url: urlOf(moving),
    /** Adds a block; returns its number. */
    mine: () => ++head,
    close,
  };
}
