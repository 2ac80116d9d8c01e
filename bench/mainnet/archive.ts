import { text } from "node:stream/consumers";
import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import { type Block, toBlock } from "../../devnet/chain/block.ts";
import { createChain } from "../../devnet/chain/chain.ts";
import { type PortalChain, startPortal } from "../../devnet/portal.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { openManifest } from "../../src/archive/folder.ts";
import { addSegment, archivedBlock, logsOfSegment } from "../../src/archive/record.ts";
import { type ArchivedBlock, readSegment, rpcLogs } from "../../src/archive/segment.ts";
import { describeWanted } from "../../src/archive/wanted.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { type LogsFilter, parseLogsFilter, type RpcLog } from "../../src/rpc/log-answers.ts";
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
    folder,
    labels,
    logs: sum("logs"),
    bytes: sum("bytes"),
    lastBlock: from - 1,
    headers,
    manifest,
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

/** The blocks of an archive's segment, of which the last few stay in memory. */
function createSegmentReader({ folder, manifest }: Filled) {
  const recent = new LRUCache<string, Promise<ArchivedBlock[]>>({ max: 4 });
  return async (from: number, to: number): Promise<ArchivedBlock[]> => {
    const near = manifest.segments.filter((one) => one.from <= to && one.to >= from);
    const blocks: ArchivedBlock[] = [];
    for (const segment of near) {
      const known = recent.get(segment.hash) ?? readSegment(folder, mainnet, segment);
      recent.set(segment.hash, known);
      for (const block of await known) {
        const number = Number(block.header.number);
        if (number >= from && number <= to) blocks.push(block);
      }
    }
    return blocks;
  };
}

/** Serves a filled archive as a portal does. */
export function startPortalOf(filled: Filled) {
  const read = createSegmentReader(filled);
  const blocksOfPiece = 2_000;
  const chain: PortalChain = {
    first: 0,
    last: filled.lastBlock,
    async *read(from, to) {
      for (let at = Math.max(from, firstBlock); at <= to; at += blocksOfPiece)
        yield* await read(at, Math.min(to, at + blocksOfPiece - 1));
    },
    headerOf: (number) => filled.headers[number - firstBlock]?.fields,
  };
  return startPortal({ chains: { "ethereum-mainnet": chain } });
}

/** A node that has the logs and transactions of a filled archive too, in front of `serveHead`. */
export async function serveNode(filled: Filled, head: string) {
  const read = createSegmentReader(filled);
  const blockAt = async (tag: unknown) => {
    const number = Number(tag);
    return Number.isNaN(number) ? undefined : (await read(number, number))[0];
  };
  const ask = async ({ method, params: [first, full] = [] }: { method: string; params?: unknown[] }) => {
    const block = method === "eth_getBlockByNumber" && full === true ? await blockAt(first) : undefined;
    if (block !== undefined) return { ...block.header, transactions: block.transactions };
    if (method !== "eth_getLogs") return undefined;
    const query = parseLogsFilter(first as LogsFilter);
    const blocks = await read(query?.from ?? 0, query?.to ?? 0);
    return blocks.flatMap((one) => rpcLogs(one, query));
  };
  return listen(async (request, response) => {
    const body = await text(request);
    const { id, ...call } = JSON.parse(body);
    const result = await ask(call);
    const send = (answer: string) =>
      response.writeHead(200, { "content-type": "application/json" }).end(answer);
    if (result !== undefined) return send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    send(await (await fetch(head, { method: "POST", body })).text());
  });
}
