import { type Hex, toHex } from "viem";
import type { EmittedLog } from "../../devnet/events.ts";
import { headerHash, receiptsRoot } from "../../src/rpc/block-proofs.ts";
import type { Transaction } from "./made-up.ts";
import { createTraffic } from "./traffic.ts";

const logsPerBlock = 25;
const zero32: Hex = `0x${"0".repeat(64)}`;
const zero20: Hex = `0x${"0".repeat(40)}`;

/** A generated chain: about 25 logs a block from `firstBlock` on, then `emptyBlocks` without any. */
export type ServedChain = {
  id: number;
  firstBlock: number;
  /** The last block with logs. */
  lastBlock: number;
  /** Logs by block, the first block first. */
  logs: readonly (readonly EmittedLog[])[];
  /** What was requested since the count began. */
  traffic: ReturnType<typeof createTraffic>;
  /** Result of a JSON-RPC method; throws if the history does not contain it. */
  answer(method: string, params: unknown[]): unknown;
};

type ChainOptions = {
  id: number;
  firstBlock: number;
  emptyBlocks: number;
  /** Unix seconds of the block at an index of the history, 0 for the first, of a history with `count` blocks. */
  timestampOf: (place: number, count: number) => number;
  calls?: ReadonlyMap<string, Hex>;
  /** Bytes of further transactions in each block, about, as most of mainnet's are. Default: none. */
  paddedBytes?: number;
  /** Number of the first transaction, if these are the next part of a longer chain. */
  firstTransaction?: number;
};

/** Serves a generated history as a chain. */
export function serveChain(transactions: readonly Transaction[], options: ChainOptions): ServedChain {
  const { id, firstBlock, emptyBlocks, calls } = options;
  const blocks = packed(transactions);
  const lastBlock = firstBlock + blocks.length - 1;
  const head = lastBlock + emptyBlocks;
  const traffic = createTraffic();
  const headers = headersOf(options, blocks, head);
  const logs = blocks.map((block, place) =>
    logsOfBlock(options, { block, place, hash: headers.get(firstBlock + place)?.hash }),
  );
  return {
    id,
    firstBlock,
    lastBlock,
    logs,
    traffic,
    answer(method, params) {
      traffic.countRequest(method);
      if (method === "eth_chainId") return hex(id);
      if (method === "eth_blockNumber") return hex(head);
      if (method === "eth_getBlockByNumber") {
        const [tag, isFull] = params as [string, boolean];
        const height = tag.startsWith("0x") ? Number(tag) : head;
        if (isFull) traffic.countBlock(height);
        const found = headers.get(height) ?? headerAt(options, blocks, { height });
        return height > head
          ? null
          : { ...found, transactions: transactionsAt(options, blocks, { header: found, isFull }) };
      }
      if (method === "eth_getBlockReceipts") {
        const found = [...headers.values()].find(({ hash }) => hash === params[0]);
        const receipts = receiptsAt(options, blocks, Number(found?.number));
        const own = logs[Number(found?.number) - firstBlock] ?? [];
        return receipts.map(({ transactionHash, ...receipt }) => ({
          ...{ ...receipt, transactionHash, status: receipt.statusOrRoot, blockHash: found?.hash },
          logs: own.filter((log) => log.transactionHash === transactionHash),
        }));
      }
      if (method === "eth_getLogs") {
        const found = filterLogs(logs, firstBlock, params[0] as LogFilter);
        for (const { blockNumber, logIndex } of found) traffic.countLog(`${blockNumber} ${logIndex}`);
        return found;
      }
      if (method === "eth_call") {
        const [{ to, data }] = params as [{ to: string; data: string }];
        traffic.countCall(JSON.stringify(params));
        const result = calls?.get(`${to} ${data}`.toLowerCase());
        if (result !== undefined) return result;
      }
      throw new Error(`${method} of ${JSON.stringify(params)} is not in the history`);
    },
  };
}

// The chain id keeps the hashes of two chains apart.
const hashOf = ({ id, firstTransaction = 0 }: ChainOptions, block: Block, place: number) =>
  `0xa1${toHex(id * 2 ** 32 + firstTransaction + block.firstTransaction + place, { size: 31 }).slice(2)}` as Hex;

function logsOfBlock(
  options: ChainOptions,
  { block, place, hash }: { block: Block; place: number; hash: Hex | undefined },
) {
  const height = options.firstBlock + place;
  let logIndex = 0;
  return block.transactions.flatMap(({ logs }, transactionIndex) =>
    logs.map((log) => ({
      ...log,
      blockHash: hash,
      blockNumber: hex(height),
      transactionHash: hashOf(options, block, transactionIndex),
      transactionIndex: hex(transactionIndex),
      logIndex: hex(logIndex++),
      removed: false,
    })),
  );
}

type Header = ReturnType<typeof headerAt>;

const linkedEmptyBlocks = 1_000;

/** The headers of the history and of the newest blocks after it, by height, linked by their hashes. */
function headersOf(options: ChainOptions, blocks: readonly Block[], head: number): Map<number, Header> {
  const headers = new Map<number, Header>();
  const { firstBlock } = options;
  for (let height = firstBlock; height <= head; height++) {
    if (height === firstBlock + blocks.length) height = Math.max(height, head - linkedEmptyBlocks);
    const parent = headers.get(height - 1)?.hash;
    headers.set(height, headerAt(options, blocks, { height, parent }));
  }
  return headers;
}

// Its bloom is saturated: most of mainnet's are.
function headerAt(
  options: ChainOptions,
  blocks: readonly Block[],
  { height, parent = zero32 }: { height: number; parent?: Hex | undefined },
) {
  const place = height - options.firstBlock;
  const fields = {
    ...header,
    number: hex(height),
    parentHash: parent,
    timestamp: hex(options.timestampOf(place, blocks.length)),
    receiptsRoot: receiptsRoot(receiptsAt(options, blocks, height)),
    logsBloom: `0x${(blocks[place] ? "f" : "0").repeat(512)}`,
  };
  return { ...fields, hash: headerHash(fields) as Hex };
}

function receiptsAt(options: ChainOptions, blocks: readonly Block[], height: number) {
  const block = blocks[height - options.firstBlock];
  const own = (block?.transactions ?? []).map(({ logs }, place) => ({
    logs,
    transactionHash: hashOf(options, block as Block, place),
  }));
  const others = padding(options, height, own.length).map(({ hash }) => ({
    logs: [],
    transactionHash: hash,
  }));
  return [...own, ...(block === undefined ? [] : others)].map((receipt) => ({
    ...receipt,
    ...{ type: "0x0", statusOrRoot: "0x1", cumulativeGasUsed: "0x5208" },
  }));
}

function transactionsAt(
  options: ChainOptions,
  blocks: readonly Block[],
  { header: { hash: blockHash, number }, isFull }: { header: Header; isFull: boolean },
) {
  const block = blocks[Number(number) - options.firstBlock];
  if (!isFull)
    return receiptsAt(options, blocks, Number(number)).map(({ transactionHash }) => transactionHash);
  const own = (block?.transactions ?? []).map(({ from }, place) =>
    transactionAt({ from, hash: hashOf(options, block as Block, place) }, Number(number), place),
  );
  const others = block === undefined ? [] : padding(options, Number(number), own.length);
  return [...own, ...others].map((one) => ({ ...one, blockHash }));
}

const transactionAt = (
  of: { from: Hex; hash: Hex; input?: Hex },
  height: number,
  transactionIndex: number,
) => ({
  ...transaction,
  ...of,
  blockNumber: hex(height),
  transactionIndex: hex(transactionIndex),
});

// A transfer of a token or a swap, with its fields: about 1.4 kB of JSON.
const paddingBytes = 1_400;
const paddingInput: Hex = `0x${"a9059cbb".repeat(70)}`;

function padding({ paddedBytes = 0 }: ChainOptions, height: number, first: number) {
  return Array.from({ length: Math.round(paddedBytes / paddingBytes) }, (_, place) => {
    const hash: Hex = `0xc1${toHex(height * 4_096 + place, { size: 31 }).slice(2)}`;
    return transactionAt({ from: zero20, hash, input: paddingInput }, height, first + place);
  });
}

type Block = { firstTransaction: number; transactions: Transaction[] };

function packed(transactions: readonly Transaction[]): Block[] {
  const blocks: Block[] = [];
  let size = logsPerBlock;
  for (const [place, transaction] of transactions.entries()) {
    if (size >= logsPerBlock) {
      blocks.push({ firstTransaction: place, transactions: [] });
      size = 0;
    }
    blocks.at(-1)?.transactions.push(transaction);
    size += transaction.logs.length;
  }
  return blocks;
}

type LogFilter = { fromBlock: Hex; toBlock: Hex; address?: Hex | Hex[]; topics?: (Hex | Hex[] | null)[] };

function filterLogs<L extends EmittedLog>(
  logsOf: readonly L[][],
  firstBlock: number,
  filter: LogFilter,
): L[] {
  const addresses =
    filter.address && new Set([filter.address].flat().map((address) => address.toLowerCase()));
  const selectors = filter.topics?.[0] && new Set([filter.topics[0]].flat());
  const from = Math.max(0, Number(filter.fromBlock) - firstBlock);
  const to = Number(filter.toBlock) - firstBlock;
  return logsOf
    .slice(from, to + 1)
    .flat()
    .filter(
      ({ address, topics }) =>
        (!addresses || addresses.has(address)) && (!selectors || selectors.has(topics[0] as Hex)),
    );
}

const hex = (value: number) => `0x${value.toString(16)}`;

const header = {
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

const transaction = {
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
