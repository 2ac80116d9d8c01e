import { createServer, type Server } from "node:http";
import type { Hex } from "viem";
import { type GeneratedLog, madeUpHash } from "./chain.ts";

const logsPerBlock = 25;
const holesky = 17_000;
const zero32: Hex = `0x${"0".repeat(64)}`;
const zero20: Hex = `0x${"0".repeat(40)}`;

export type RpcServer = {
  url: string;
  firstBlock: number;
  lastBlock: number;
  requests(): number;
  close(): void;
};

/** Serves a made-up history over JSON-RPC, about 25 logs a block from `firstBlock` on, one block every 12 seconds. */
export async function serveHistory(
  transactions: readonly GeneratedLog[][],
  firstBlock: number,
): Promise<RpcServer> {
  const blocks = packed(transactions);
  const lastBlock = firstBlock + blocks.length - 1;
  const hex = (value: number) => `0x${value.toString(16)}`;

  const logsOf = blocks.map((block, i) => {
    let logIndex = 0;
    return block.transactions.flatMap((logs, transactionIndex) =>
      logs.map((log) => ({
        ...log,
        blockHash: madeUpHash("block", firstBlock + i),
        blockNumber: hex(firstBlock + i),
        transactionHash: madeUpHash("transaction", block.firstTransaction + transactionIndex),
        transactionIndex: hex(transactionIndex),
        logIndex: hex(logIndex++),
        removed: false,
      })),
    );
  });

  const blockAt = (height: number, isFull: boolean) => {
    const block = blocks[height - firstBlock];
    if (height > lastBlock) return null;
    return {
      ...headerAt(height),
      transactions: (block?.transactions ?? []).map((_, transactionIndex) => {
        const hash = madeUpHash("transaction", (block?.firstTransaction ?? 0) + transactionIndex);
        if (!isFull) return hash;
        return {
          ...transaction,
          hash,
          blockHash: madeUpHash("block", height),
          blockNumber: hex(height),
          transactionIndex: hex(transactionIndex),
        };
      }),
    };
  };
  const headerAt = (height: number) => ({
    ...header,
    number: hex(height),
    hash: madeUpHash("block", height),
    parentHash: madeUpHash("block", height - 1),
    timestamp: hex(1_600_000_000 + (height - firstBlock) * 12),
    logsBloom: `0x${(blocks[height - firstBlock] ? "f" : "0").repeat(512)}`,
  });

  let requests = 0;
  const answer = (method: string, params: unknown[]): unknown => {
    requests++;
    if (method === "eth_chainId") return hex(holesky);
    if (method === "eth_blockNumber") return hex(lastBlock);
    if (method === "eth_getBlockByNumber") {
      const [tag, isFull] = params as [string, boolean];
      return blockAt(tag.startsWith("0x") ? Number(tag) : lastBlock, isFull);
    }
    if (method === "eth_getLogs") return filterLogs(logsOf, firstBlock, params[0] as LogFilter);
    throw new Error(`method ${method} is not served`);
  };

  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answer(method, params ?? []) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the RPC server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    firstBlock,
    lastBlock,
    requests: () => requests,
    close: () => server.close(),
  };
}

function packed(transactions: readonly GeneratedLog[][]) {
  const blocks: { firstTransaction: number; transactions: GeneratedLog[][] }[] = [];
  let size = logsPerBlock;
  for (const [place, logs] of transactions.entries()) {
    if (size >= logsPerBlock) {
      blocks.push({ firstTransaction: place, transactions: [] });
      size = 0;
    }
    blocks.at(-1)?.transactions.push(logs);
    size += logs.length;
  }
  return blocks;
}

type LogFilter = { fromBlock: Hex; toBlock: Hex; address?: Hex | Hex[]; topics?: (Hex | Hex[] | null)[] };

function filterLogs<L extends GeneratedLog>(
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

const header = {
  sha3Uncles: zero32,
  miner: zero20,
  stateRoot: zero32,
  transactionsRoot: zero32,
  receiptsRoot: zero32,
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
  from: zero20,
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
