import { hash } from "node:crypto";
import { computeDigest } from "../ens/keccak.ts";

/** A log of Ethereum JSON-RPC; quantities are hex. */
export type RpcLog = {
  address: string;
  topics: string[];
  data: string;
  blockNumber: string;
  blockHash: string;
  logIndex: string;
  transactionHash: string;
  transactionIndex: string;
  removed?: boolean;
};

/** The parameter of `eth_getLogs`. */
export type LogsFilter = {
  address?: string | string[] | null;
  topics?: (string | string[] | null)[] | null;
  fromBlock?: string;
  toBlock?: string;
  blockHash?: string;
};

/** A parsed filter to test logs against; undefined parts match everything. */
export type LogsQuery = {
  from: number;
  to: number;
  blockHash: string | undefined;
  addresses: ReadonlySet<string> | undefined;
  topics: readonly (ReadonlySet<string> | undefined)[];
};

/** Parses a filter; undefined if a bound is a tag, whose block is unknown. */
export function parseLogsFilter(filter: LogsFilter): LogsQuery | undefined {
  const { address, topics, fromBlock, toBlock, blockHash } = filter;
  const [from, to] = blockHash === undefined ? [Number(fromBlock), Number(toBlock)] : [0, Infinity];
  if (Number.isNaN(from) || Number.isNaN(to)) return undefined;
  return {
    from,
    to,
    blockHash,
    addresses: toLowerCaseSet(address),
    topics: (topics ?? []).map(toLowerCaseSet),
  };
}

function toLowerCaseSet(value: string | string[] | null | undefined): ReadonlySet<string> | undefined {
  if (value === null || value === undefined || value.length === 0) return undefined;
  return new Set((typeof value === "string" ? [value] : value).map((text) => text.toLowerCase()));
}

/**
 * The first fault in form, range, filter or order of a node's logs. This runs for every log of a backfill: no decoding,
 * no allocation.
 */
export function logsProblem(answer: unknown, query: LogsQuery): string | undefined {
  if (!Array.isArray(answer)) return "the answer is not a list";
  let lastBlock = -1;
  let lastIndex = -1;
  let lastHash = "";
  for (let i = 0; i < answer.length; i++) {
    const log = answer[i] as RpcLog;
    if (!hasForm(log)) return `entry ${i} is not a log`;
    const block = Number(log.blockNumber);
    const index = Number(log.logIndex);
    if (!(block >= query.from && block <= query.to)) return `block ${log.blockNumber} was not asked for`;
    if (!matches(log, query)) return `log ${index} of block ${block} does not match the filter`;
    if (block === lastBlock) {
      if (!(index > lastIndex)) return `log ${index} of block ${block} is repeated or out of order`;
      if (log.blockHash !== lastHash) return `logs of block ${block} carry two block hashes`;
    } else if (!(block > lastBlock && index >= 0)) {
      return `block ${block} comes after block ${lastBlock}`;
    } else if (query.blockHash !== undefined && log.blockHash !== query.blockHash) {
      return `log ${index} is of block ${String(log.blockHash)}, which was not asked for`;
    }
    lastBlock = block;
    lastIndex = index;
    lastHash = log.blockHash;
  }
  return undefined;
}

function hasForm(log: RpcLog | null): log is RpcLog {
  return (
    typeof log === "object" &&
    log !== null &&
    isHex(log.address, 42) &&
    isHex(log.blockHash, 66) &&
    isHex(log.transactionHash, 66) &&
    isHex(log.blockNumber) &&
    isHex(log.logIndex) &&
    isHex(log.data) &&
    log.data.length % 2 === 0 &&
    Array.isArray(log.topics) &&
    log.topics.length <= 4 &&
    log.removed !== true
  );
}

function isHex(text: unknown, length?: number): boolean {
  return (
    typeof text === "string" &&
    (length === undefined ? text.length >= 2 : text.length === length) &&
    text.charCodeAt(0) === 48 &&
    text.charCodeAt(1) === 120
  );
}

/** Whether a log's address and topics match the query; ignores its block. */
export function matches({ address, topics }: Pick<RpcLog, "address" | "topics">, query: LogsQuery): boolean {
  if (query.addresses !== undefined && !hasText(query.addresses, address)) return false;
  for (let position = 0; position < query.topics.length; position++) {
    const wanted = query.topics[position];
    const topic = topics[position];
    if (wanted !== undefined && (topic === undefined || !hasText(wanted, topic))) return false;
  }
  return true;
}

const hasText = (texts: ReadonlySet<string>, text: string) =>
  texts.has(text) || texts.has(text.toLowerCase());

/** Whether a number of logs may be a limit at which a provider cuts responses off: a multiple of 1,000. */
export function mayBeCutOff(count: number): boolean {
  return count > 0 && count % 1_000 === 0;
}

/** The logs that only one of two responses has. */
export function differingLogs(one: readonly RpcLog[], other: readonly RpcLog[]): RpcLog[] {
  const textsOf = (logs: readonly RpcLog[]) => new Map(logs.map((log) => [formatLog(log), log]));
  const [ones, others] = [textsOf(one), textsOf(other)];
  const only = (these: Map<string, RpcLog>, those: Map<string, RpcLog>) =>
    [...these].flatMap(([text, log]) => (those.has(text) ? [] : [log]));
  return [...only(ones, others), ...only(others, ones)];
}

/** The numbers of the blocks in which two responses to one query differ, ascending. */
export function differingBlocks(one: readonly RpcLog[], other: readonly RpcLog[]): number[] {
  const blocks = differingLogs(one, other).map(({ blockNumber }) => Number(blockNumber));
  return [...new Set(blocks)].sort((a, b) => a - b);
}

/** A log's content and position as one text, equal across nodes. Every comparison of logs uses it. */
function formatLog(log: RpcLog): string {
  const { address, topics, data, blockNumber, blockHash, logIndex, transactionHash, transactionIndex } = log;
  return `${Number(blockNumber)} ${blockHash} ${Number(logIndex)} ${transactionHash} ${Number(transactionIndex)} ${address} ${topics.join()} ${data}`.toLowerCase();
}

/** A digest of the content and positions of logs. */
export const digestOfLogs = (logs: readonly RpcLog[]): string =>
  hash("sha256", logs.map(formatLog).join("\n"), "base64");

/** Drops the oldest entries of a map or set beyond `max`. */
export function limitSize<Key>(all: Map<Key, unknown> | Set<Key>, max: number): void {
  for (const oldest of all.keys()) {
    if (all.size <= max) return;
    all.delete(oldest);
  }
}

// --- Blooms (Ethereum yellow paper, 4.4.1: three bits of 2,048 for each address and topic) ---

type BloomBits = readonly [number, number, number];
const bitsByItem = new Map<string, BloomBits>();
const maxItems = 20_000;

/** The three bloom bits of an address or topic; bit 0 is the last of the bloom. */
function computeBloomBits(hex: string): BloomBits {
  const digest = new DataView(computeDigest(Buffer.from(hex.slice(2), "hex")).buffer);
  const bit = (offset: number) => digest.getUint16(offset) & 2047;
  return [bit(0), bit(2), bit(4)];
}

/** Caches the bits of recurring items: addresses and event topics. */
function recallBloomBits(hex: string): BloomBits {
  const known = bitsByItem.get(hex);
  if (known !== undefined) return known;
  const bits = computeBloomBits(hex);
  if (bitsByItem.size >= maxItems) bitsByItem.clear();
  bitsByItem.set(hex, bits);
  return bits;
}

function hasBits(bloom: string, bits: BloomBits): boolean {
  const end = bloom.length - 1;
  for (const bit of bits) {
    const code = bloom.charCodeAt(end - (bit >> 2));
    const digit = code < 58 ? code - 48 : (code | 32) - 87;
    if ((digit & (1 << (bit & 3))) === 0) return false;
  }
  return true;
}

/** Whether the bloom, hex as in a header, may contain an address or event topic. */
export const mayContain = (bloom: string, hex: string): boolean => hasBits(bloom, recallBloomBits(hex));

/**
 * Whether the bloom may contain a contract of the query without a log or, if the query is for all contracts, an event
 * without a log.
 */
export function mayHaveMore(
  bloom: string,
  logs: readonly RpcLog[],
  { addresses, topics }: LogsQuery,
): boolean {
  const events = [...(topics[0] ?? [])];
  const isSilent = (address: string) => !logs.some((log) => log.address.toLowerCase() === address);
  if (addresses !== undefined) {
    const mayEmit = [...addresses].some((address) => mayContain(bloom, address) && isSilent(address));
    return mayEmit && (events.length === 0 || events.some((topic) => mayContain(bloom, topic)));
  }
  return events.some((topic) => mayContain(bloom, topic) && !logs.some((log) => log.topics[0] === topic));
}

/** The bloom of logs as hex: the `logsBloom` of a block with exactly these logs. */
export function computeBloom(logs: readonly Pick<RpcLog, "address" | "topics">[]): string {
  const bloom = Buffer.alloc(256);
  const add = (item: string) => {
    for (const bit of recallBloomBits(item)) {
      const index = 255 - (bit >> 3);
      bloom[index] = (bloom[index] ?? 0) | (1 << (bit & 7));
    }
  };
  for (const { address, topics } of logs) {
    add(address);
    for (const topic of topics) add(topic);
  }
  return `0x${bloom.toString("hex")}`;
}

const headerTexts = ["number", "hash", "parentHash", "timestamp", "logsBloom", "receiptsRoot"] as const;

/** The block fields that the checks read; transactions are hashes. */
export type Header = Record<(typeof headerTexts)[number], string> & { transactions: string[] };

/** Reads the fields of a block; undefined if the response is not a block, which Ponder refuses. */
export function headerIn(answer: unknown): Header | undefined {
  const { transactions, ...fields } = Object(answer) as Record<string, unknown>;
  const isHeader = headerTexts.every((field) => typeof fields[field] === "string");
  if (!isHeader || !Array.isArray(transactions)) return undefined;
  return {
    ...(Object.fromEntries(headerTexts.map((field) => [field, fields[field]])) as Header),
    transactions: (transactions as (string | { hash: string })[]).map((one) =>
      typeof one === "string" ? one : one?.hash,
    ),
  };
}

/** Whether the header's bloom contains a log's address and topics; if not, the block has no such log. */
export const isInBloom = (
  { logsBloom }: Pick<Header, "logsBloom">,
  { address, topics }: Pick<RpcLog, "address" | "topics">,
): boolean =>
  mayContain(logsBloom, address) &&
  topics.every((topic, index) =>
    index === 0 ? mayContain(logsBloom, topic) : hasBits(logsBloom, computeBloomBits(topic)),
  );

/**
 * A refused response. Ponder retries, if possible with another URL; if `isFinal`, it starts over with the range or the
 * newest block.
 */
export class WrongAnswerError extends Error {
  override name = "WrongAnswerError";
  /** ponder: it does not retry requests that fail with this code (JSON-RPC: parse error). */
  readonly code?: number;
  constructor(message: string, { isFinal = false } = {}) {
    super(message);
    if (isFinal) this.code = -32_700;
    // The stack says nothing about the node.
    delete this.stack;
  }
}
