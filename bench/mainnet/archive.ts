import type { Hex } from "viem";
import { type Block, toBlock } from "../../devnet/chain/block.ts";
import { createChain } from "../../devnet/chain/chain.ts";
import { openManifest } from "../../src/archive/folder.ts";
import { addSegment, archivedBlock, logsOfSegment } from "../../src/archive/record.ts";
import { describeWanted } from "../../src/archive/wanted.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import type { RpcLog } from "../../src/rpc/log-answers.ts";
import { generateBlocks, packed, serveChain } from "../backfill/chain.ts";
import { generateAccount, namesHistory } from "../backfill/history.ts";

const mainnet = 1;
const firstBlock = 10_000_000;
const firstTimestamp = 1_600_000_000;
const computeTimestamp = (block: number) => firstTimestamp + (block - firstBlock) * 12;
// Deeper than Ponder's finality: every log is final.
const emptyBlocks = 100;

/** Owns every fifth name. */
const hotAccount = generateAccount(1_000_000);

const odd = ["🦊", "Upper Case ", "a\u200db", 'quo"te\\', "ünïcode", "_under", "x".repeat(150), "日本語"];
const [oddEvery, spamEvery] = [33, 20_000];

// A long tail of labels that are not plain, and now and then one of ten thousand characters.
function generateLabel(index: number): string | undefined {
  if (index % spamEvery === 1_000) return `spam${"0123456789".repeat(1_000)}${index}`;
  return index % oddEvery === 0 ? `${odd[(index / oddEvery) % odd.length]}${index}` : undefined;
}

const pickOwner = (index: number) => (index % 5 === 0 ? hotAccount : undefined);

/** What an archive was filled with: `headers` are its blocks without transactions and logs. */
export type Filled = Awaited<ReturnType<typeof fillArchive>>;

/** Writes a generated history of mainnet of at least `count` logs into an archive, a segment at a time. */
export async function fillArchive(folder: string, count: number) {
  const environment = {
    NAMESPACE: "mainnet",
    PLUGINS: "subgraph",
    SUBGRAPH_COMPAT: "true",
    START_BLOCK: String(firstBlock),
  };
  const filters = describeWanted(
    parseEnvironment({ ...environment, RPC_URL_1: "http://127.0.0.1", LABELS_URL: "file:none" }, () => ""),
    "mainnet",
  ).filters;
  const manifest = await openManifest(folder, mainnet);
  const { transactions, labels } = namesHistory("mainnet", count, {
    labelOf: generateLabel,
    ownerOf: pickOwner,
  });
  const headers: Block[] = [];
  let [from, firstTransaction, parent] = [firstBlock, 0, undefined as Hex | undefined];
  for (const part of packed(transactions, logsOfSegment)) {
    const options = {
      chainId: mainnet,
      firstBlock: from,
      firstTransaction,
      timestampOf: computeTimestamp,
      parent,
    };
    const built = generateBlocks(part, options);
    const last = built.at(-1) as Block;
    const blocks = built.map(({ fields, transactions, logs }) => {
      headers.push(toBlock({ ...fields, transactions: [] }, [], []));
      const full = { ...fields, transactions };
      return archivedBlock(
        full as unknown as Parameters<typeof archivedBlock>[0],
        logs as unknown as RpcLog[],
      );
    });
    await addSegment(folder, manifest, { from, to: last.number, filters, blocks });
    firstTransaction += part.length;
    from = last.number + 1;
    parent = last.hash;
  }
  const sum = (of: "logs" | "bytes") => manifest.segments.reduce((all, one) => all + one[of], 0);
  return {
    labels,
    logs: sum("logs"),
    bytes: sum("bytes"),
    lastBlock: from - 1,
    headers,
    /** Environment of an index of it, without labels, database and RPC. */
    environment: { ...environment, ARCHIVE: folder },
  };
}

/**
 * Serves the headers of an archive and the blocks behind it, all without logs, over JSON-RPC; `mine` adds a block and
 * returns its number.
 */
export async function serveHead({ lastBlock, headers }: Filled) {
  const chain = createChain({ chainId: mainnet, blocks: headers, standIns: 2 * emptyBlocks, finality: 0 });
  chain.setHead(lastBlock + emptyBlocks);
  const { url, close } = await serveChain(chain);
  const mine = () => {
    chain.setHead(chain.head() + 1);
    return chain.head();
  };
  return { url, mine, close };
}
