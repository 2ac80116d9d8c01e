import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { listen } from "./rpc/server.ts";

/** A block with the logs that a chain keeps, and their transactions, as in JSON-RPC. */
type PortalBlock = {
  header: Record<"number" | "hash" | "parentHash" | "logsBloom", string> & Record<string, string>;
  logs: (Record<"address" | "data" | "logIndex" | "transactionIndex" | "transactionHash", string> & {
    topics: string[];
  })[];
  transactions: { transactionIndex: string; hash: string; from: string; to: string | null }[];
};

/** A chain as a portal serves it: blocks with logs, and the header of any other one. */
export type PortalChain = {
  first: number;
  last: number;
  /** Blocks with logs of a range, ascending. */
  read(from: number, to: number): Iterable<PortalBlock> | AsyncIterable<PortalBlock>;
  headerOf(number: number): Record<string, unknown> | undefined;
};

/** What a portal does instead of an answer, or after some lines of one. */
export type PortalFault =
  | { status: number; body?: string; headers?: Record<string, string> }
  | { after: number; how: "end" | "cut" | "reset" | "garbage" | "silence" };

type PortalOptions = {
  /** By slug. */
  chains: Readonly<Record<string, PortalChain>>;
  /** Called for each stream with its first block; undefined for an honest answer. */
  fault?: (fromBlock: number) => PortalFault | undefined;
  /** Changes a block before it is sent; undefined leaves it out. */
  alter?: (block: PortalBlock) => PortalBlock | undefined;
  /** Columns of blocks, in snake case, that chunks up to a block lack. */
  lacking?: { column: string; to: number };
};

type Item = { address?: string[]; topic0?: string[]; transaction?: boolean };
type Request = {
  fromBlock: number;
  toBlock?: number;
  parentBlockHash?: string;
  logs?: Item[];
  fields: Record<"block" | "log" | "transaction", Record<string, true>>;
};

// The query engine's names (subsquid/data, crates/data/src/evm/tables).
const words = (text: string) => new Set(text.split(" "));
const known = {
  block: words(
    "number timestamp size hash parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty totalDifficulty gasLimit gasUsed extraData mixHash nonce baseFeePerGas withdrawalsRoot blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash",
  ),
  log: words("logIndex transactionIndex transactionHash address data topics"),
  transaction: words("transactionIndex hash from to"),
};
const numbers = words("number timestamp size logIndex transactionIndex");
const [maxItems, maxBytes] = [100, 256 * 1024];

/** Serves chains by the protocol of SQD's portals, with the faults that its clients have met. */
export async function startPortal(options: PortalOptions) {
  const requests: Request[] = [];
  const { url, close } = await listen((request, response) => {
    answer(request, response, options, requests).catch((error) => response.destroy(error));
  });
  return {
    url,
    close,
    /** The requests for streams so far. */
    requests,
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: PortalOptions,
  requests: Request[],
): Promise<void> {
  const [, slug = "", path] = /^\/datasets\/([^/]+)\/([^?]+)/.exec(request.url ?? "") ?? [];
  const chain = options.chains[slug];
  const send = (status: number, body: string, headers = {}) => response.writeHead(status, headers).end(body);
  if (chain === undefined) return void send(404, `dataset ${slug} is not found`);
  if (path === "metadata") return void send(200, JSON.stringify({ dataset: slug, start_block: chain.first }));
  if (path === "finalized-head") {
    const hash = chain.headerOf(chain.last)?.["hash"];
    return void send(200, JSON.stringify({ number: chain.last, hash }));
  }
  const body = await text(request);
  const asked = JSON.parse(body) as Request;
  requests.push(asked);
  const fault = options.fault?.(asked.fromBlock);
  if (fault !== undefined && "status" in fault)
    return void send(fault.status, fault.status === 204 ? "" : (fault.body ?? "busy"), fault.headers);
  const refused = findRefusal(body, asked, chain, options);
  if (refused !== undefined) return void send(...refused);
  await stream(response, asked, { chain, fault, alter: options.alter ?? ((block) => block) });
}

function findRefusal(
  body: string,
  { fromBlock, parentBlockHash, logs = [], fields }: Request,
  chain: PortalChain,
  { lacking }: PortalOptions,
): [number, string] | undefined {
  if (body.length > maxBytes || logs.length > maxItems) return [400, "Query is too large"];
  for (const [table, names] of Object.entries(fields))
    for (const name of Object.keys(names))
      if (!known[table as keyof typeof known].has(name)) return [400, `unknown field \`${name}\``];
  const column = lacking?.column ?? "";
  const field = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (fields.block[field] && fromBlock <= (lacking?.to ?? 0))
    return [400, `column '${column}' is not found in 'blocks'`];
  if (fromBlock < chain.first) return [400, `dataset starts from block ${chain.first}`];
  if (fromBlock > chain.last) return [204, ""];
  const before = chain.headerOf(fromBlock - 1)?.["hash"];
  if (parentBlockHash !== undefined && before !== undefined && before !== parentBlockHash)
    return [409, JSON.stringify({ previousBlocks: [{ number: fromBlock - 1, hash: before }] })];
  return undefined;
}

async function stream(
  response: ServerResponse,
  { fromBlock, toBlock = Number.POSITIVE_INFINITY, logs: items = [], fields }: Request,
  {
    chain,
    fault,
    alter,
  }: {
    chain: PortalChain;
    fault: Extract<PortalFault, { after: number }> | undefined;
    alter: NonNullable<PortalOptions["alter"]>;
  },
): Promise<void> {
  response.writeHead(200, { "content-type": "application/jsonl", "content-encoding": "gzip" });
  const packed = createGzip();
  packed.pipe(response);
  const to = Math.min(toBlock, chain.last);
  let sent = 0;
  const write = async (line: string) => {
    sent += 1;
    if (!packed.write(`${line}\n`)) await once(packed, "drain");
    return fault !== undefined && sent > fault.after;
  };
  let last = fromBlock - 1;
  if (fault?.after === 0) return breakOff(response, packed, fault.how);
  for await (const original of chain.read(fromBlock, to)) {
    const block = alter(original);
    if (block === undefined) continue;
    last = Number(block.header.number);
    const found = selectLogs(block, items);
    if (found.logs.length === 0) continue;
    const line = { header: pick(block.header, fields.block), ...select(found, fields) };
    if ((await write(JSON.stringify(line))) && fault) return breakOff(response, packed, fault.how);
  }
  // The last block of the range marks how far the answer came.
  const header = last < to ? chain.headerOf(to) : undefined;
  if (header) await write(JSON.stringify({ header: pick(header, fields.block) }));
  packed.end();
}

function breakOff(response: ServerResponse, packed: ReturnType<typeof createGzip>, how: string): void {
  const cut = '{"header":{"number":12,"ha';
  if (how === "silence") return void packed.flush();
  if (how === "garbage") return void packed.end("<html>busy</html>\n");
  if (how === "cut") return void packed.end(cut);
  if (how === "end") return void packed.end();
  packed.write(cut);
  packed.flush(() => response.destroy());
}

function selectLogs({ logs, transactions }: PortalBlock, items: readonly Item[]) {
  // An empty list matches nothing, a list that is left out everything.
  const isIn = (list: string[] | undefined, value: string | undefined) =>
    list === undefined || (value !== undefined && list.includes(value));
  const matching = (log: PortalBlock["logs"][number], item: Item) =>
    isIn(item.address, log.address) && isIn(item.topic0, log.topics[0]);
  const found = logs.filter((log) => items.some((item) => matching(log, item)));
  const joined = found.filter((log) => items.some((item) => item.transaction && matching(log, item)));
  const senders = new Set(joined.map(({ transactionIndex }) => Number(transactionIndex)));
  return {
    logs: found,
    transactions: transactions.filter(({ transactionIndex }) => senders.has(Number(transactionIndex))),
  };
}

function select({ logs, transactions }: ReturnType<typeof selectLogs>, fields: Request["fields"]) {
  return {
    logs: logs.map((log) => pick(log, fields.log)),
    ...(transactions.length > 0 && {
      transactions: transactions.map((one) => pick(one, fields.transaction)),
    }),
  };
}

const pick = (row: Record<string, unknown>, names: Record<string, true>) =>
  Object.fromEntries(
    Object.keys(names).flatMap((name) => {
      const value = row[name];
      if (value === undefined) return [];
      return [[name, numbers.has(name) ? Number(value) : value]];
    }),
  );
