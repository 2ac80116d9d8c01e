import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Hex, toHex } from "viem";
import type { EmittedLog } from "../../devnet/events.ts";
import { writeLabelsFile } from "../../devnet/labels-file.ts";
import { headerHash, receiptsRoot } from "../../src/rpc/block-proofs.ts";
import { namesHistory, type Special, type Transaction } from "./history.ts";

const logsPerBlock = 25;
const zero32: Hex = `0x${"0".repeat(64)}`;
const zero20: Hex = `0x${"0".repeat(40)}`;
const hex = (value: number): Hex => `0x${value.toString(16)}`;

type ChainOptions = {
  id: number;
  firstBlock: number;
  /** Empty blocks after the history. */
  emptyBlocks: number;
  /** Unix seconds of a block. */
  timestampOf: (height: number) => number;
  /** Bytes of further transactions in each block, about, as most of mainnet's are. Default: none. */
  paddedBytes?: number | undefined;
  /** Number of the first transaction and hash of the block before, if these are the next part of a longer chain. */
  firstTransaction?: number;
  parent?: Hex | undefined;
};

/** A log as `eth_getLogs` returns it. */
type ServedLog = EmittedLog & { blockNumber: Hex; transactionHash: Hex };
type Block = { header: { number: Hex; hash: Hex } & object; transactions: object[]; logs: ServedLog[] };

/** A generated chain: about 25 logs a block from `firstBlock` on, then empty blocks. */
export type GeneratedChain = ReturnType<typeof generateChain>;

/** The blocks of a generated history, and its answers to what an indexer requests. */
export function generateChain(transactions: Iterable<Transaction>, options: ChainOptions) {
  const { id, firstBlock, emptyBlocks, firstTransaction = 0 } = options;
  const blocks: Block[] = [];
  let taken = firstTransaction;
  const add = (own: Transaction[]) => {
    blocks.push(
      blockOf(own, {
        options,
        index: blocks.length,
        taken,
        parent: blocks.at(-1)?.header.hash ?? options.parent,
      }),
    );
    taken += own.length;
  };
  for (const own of packed(transactions)) add(own);
  const lastBlock = firstBlock + blocks.length - 1;
  const count = blocks.reduce((sum, { logs }) => sum + logs.length, 0);
  for (let empty = 0; empty < emptyBlocks; empty++) add([]);
  const head = firstBlock + blocks.length - 1;
  const byHash = new Map<unknown, Block>(blocks.map((block) => [block.header.hash, block]));
  const earlier = (height: number) => blockOf([], { options, index: height - firstBlock, taken: 0 });
  return {
    id,
    firstBlock,
    /** The last block with logs. */
    lastBlock,
    head,
    blocks,
    /** How many logs it has. */
    logs: count,
    /** Result of a JSON-RPC method; throws if the chain does not serve it. */
    answer(method: string, params: unknown[]): unknown {
      if (method === "eth_chainId") return hex(id);
      if (method === "eth_blockNumber") return hex(head);
      if (method === "eth_getLogs") return filterLogs(blocks, firstBlock, params[0] as LogFilter);
      const [tag, isFull] = params as [string, boolean];
      if (method === "eth_getBlockByNumber") {
        const height = tag.startsWith("0x") ? Number(tag) : head;
        return height > head ? null : shown(blocks[height - firstBlock] ?? earlier(height), isFull);
      }
      const asked = byHash.get(tag);
      if (method === "eth_getBlockReceipts" && asked !== undefined) return receiptsOf(asked);
      throw new Error(`${method} of ${JSON.stringify(params)} is not in the history`);
    },
  };
}

function* packed(transactions: Iterable<Transaction>): Generator<Transaction[]> {
  let [own, size] = [[] as Transaction[], 0];
  for (const transaction of transactions) {
    own.push(transaction);
    size += transaction.logs.length;
    if (size < logsPerBlock) continue;
    yield own;
    [own, size] = [[], 0];
  }
  if (own.length > 0) yield own;
}

const receiptFields = { type: "0x0", statusOrRoot: "0x1", cumulativeGasUsed: "0x5208" };

function blockOf(
  own: readonly Transaction[],
  of: { options: ChainOptions; index: number; taken: number; parent?: Hex | undefined },
): Block {
  const { id, firstBlock, timestampOf, paddedBytes = 0 } = of.options;
  const height = firstBlock + of.index;
  const number = hex(height);
  const padding = own.length === 0 ? 0 : Math.round(paddedBytes / paddingBytes);
  const all = [
    ...own,
    ...Array.from({ length: padding }, () => ({ from: zero20, logs: [], input: paddingInput })),
  ];
  // The chain id keeps the hashes of two chains apart.
  const hashes = all.map((_, place) =>
    place < own.length
      ? (`0xa1${toHex(id * 2 ** 32 + of.taken + place, { size: 31 }).slice(2)}` as const)
      : (`0xc1${toHex(height * 4_096 + place, { size: 31 }).slice(2)}` as const),
  );
  const fields = {
    ...headerFields,
    number,
    parentHash: of.parent ?? zero32,
    timestamp: hex(timestampOf(height)),
    receiptsRoot: receiptsRoot(all.map(({ logs }) => ({ ...receiptFields, logs }))),
    // Its bloom is saturated: most of mainnet's are.
    logsBloom: `0x${(own.length > 0 ? "f" : "0").repeat(512)}`,
  };
  const header = { ...fields, hash: headerHash(fields) as Hex };
  const transactions = all.map(({ logs: _, ...transaction }, place) => ({
    ...transactionFields,
    ...transaction,
    hash: hashes[place],
    blockHash: header.hash,
    blockNumber: number,
    transactionIndex: hex(place),
  }));
  let logIndex = 0;
  const logs = own.flatMap((transaction, place) =>
    transaction.logs.map((log) => ({
      ...log,
      blockHash: header.hash,
      blockNumber: number,
      transactionHash: hashes[place] as Hex,
      transactionIndex: hex(place),
      logIndex: hex(logIndex++),
      removed: false,
    })),
  );
  return { header, transactions, logs };
}

const shown = ({ header, transactions }: Block, isFull: boolean) => ({
  ...header,
  transactions: isFull ? transactions : transactions.map((one) => (one as { hash: Hex }).hash),
});

function receiptsOf({ transactions, logs, header }: Block) {
  const { statusOrRoot: status, ...fields } = receiptFields;
  return (transactions as { hash: Hex; transactionIndex: Hex }[]).map(({ hash, transactionIndex }) => ({
    ...{ ...fields, status, transactionHash: hash, transactionIndex, blockHash: header.hash },
    logs: logs.filter(({ transactionHash }) => transactionHash === hash),
  }));
}

type LogFilter = { fromBlock: Hex; toBlock: Hex; address?: Hex | Hex[]; topics?: (Hex | Hex[] | null)[] };

function filterLogs(blocks: readonly Block[], firstBlock: number, filter: LogFilter): ServedLog[] {
  const addresses = filter.address && new Set([filter.address].flat().map((one) => one.toLowerCase()));
  const selectors = filter.topics?.[0] && new Set([filter.topics[0]].flat());
  const from = Math.max(0, Number(filter.fromBlock) - firstBlock);
  const to = Math.max(0, Number(filter.toBlock) - firstBlock + 1);
  return blocks
    .slice(from, to)
    .flatMap(({ logs }) => logs)
    .filter(
      ({ address, topics }) =>
        (!addresses || addresses.has(address)) && (!selectors || selectors.has(topics[0] as Hex)),
    );
}

// A transfer of a token or a swap, with its fields: about 1.4 kB of JSON.
const paddingBytes = 1_400;
const paddingInput: Hex = `0x${"a9059cbb".repeat(70)}`;

const headerFields = {
  sha3Uncles: zero32,
  miner: zero20,
  stateRoot: zero32,
  transactionsRoot: zero32,
  difficulty: "0x0",
  totalDifficulty: "0x0",
  gasLimit: "0x1c9c380",
  gasUsed: "0x5208",
  extraData: "0x",
  mixHash: zero32,
  nonce: "0x0000000000000000",
  size: "0x400",
  uncles: [],
};

const transactionFields = {
  type: "0x0",
  to: zero20,
  input: "0x",
  value: "0x0",
  nonce: "0x0",
  gas: "0x5208",
  gasPrice: "0x1",
  v: "0x1b",
  r: zero32,
  s: zero32,
};

/** Resolves when so many bytes have come over a line. */
export type Line = (bytes: number) => Promise<void>;

/** Serves answers over JSON-RPC on the loopback interface. `line`: over which line at that time; of JSON, gzip leaves a quarter. */
export async function serveAnswers(answer: GeneratedChain["answer"], line?: () => Line | undefined) {
  let requests = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params = [] } = JSON.parse(Buffer.concat(chunks).toString());
    requests += 1;
    let reply: object;
    try {
      reply = { result: answer(method, params) };
    } catch (error) {
      // Not a revert, which would count as a result.
      reply = { error: { code: -32601, message: String(error) } };
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id, ...reply });
    await line?.()?.(body.length / 4);
    response.setHeader("content-type", "application/json");
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests: () => requests, close: () => void server.close() };
}

const holesky = 17_000;

/** A generated history, served. */
export type ServedHistory = Awaited<ReturnType<typeof serveHistory>>;

/** What is served: `logs` of names, or the transactions given. */
type HistoryOptions = Special & {
  logs: number;
  folder: string;
  given?: { transactions: Iterable<Transaction>; labels: readonly string[] };
  paddedBytes?: number;
  line?: () => Line | undefined;
};

/**
 * Serves a generated history as Holesky, which every plugin can index without other chains, one block every 12 seconds, and writes every second label into a file, like an outdated label set.
 * `environment` points an index at both.
 */
export async function serveHistory({ logs, folder, given, paddedBytes, line, ...special }: HistoryOptions) {
  const { transactions, labels } = given ?? namesHistory("holesky", logs, special);
  const firstBlock = 10_000_000;
  const chain = generateChain(transactions, {
    id: holesky,
    firstBlock,
    // Deeper than Ponder's finality: every log is final.
    emptyBlocks: 100,
    paddedBytes,
    timestampOf: (height) => 1_600_000_000 + (height - firstBlock) * 12,
  });
  const rpc = await serveAnswers(chain.answer, line);
  return {
    ...rpc,
    chain,
    environment: {
      NAMESPACE: "holesky",
      LABELS_URL: halfOfLabels(folder, labels),
      [`RPC_URL_${holesky}`]: rpc.url,
      START_BLOCK: String(firstBlock),
      END_BLOCK: String(chain.lastBlock),
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
