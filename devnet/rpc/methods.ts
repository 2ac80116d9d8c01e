import type { Hex } from "viem";
import { z } from "zod/v4";
import type { ContractCalls } from "../calls.ts";
import type { Block, BlockLog } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { Recording } from "../recording.ts";

/**
 * A JSON-RPC method: takes the call's parameters, returns the result, throws RpcError, or ZodError for wrong
 * parameters.
 */
export type RpcMethod = (params: unknown[]) => unknown;

/**
 * The Ethereum JSON-RPC methods that the node serves from the chain, and from the recorded calls and traces. It
 * executes nothing: a call that was not recorded is answered by `contracts`, or reverts as in an account without code.
 */
export function createMethods(
  chain: Chain,
  { calls, traces }: Pick<Recording, "calls" | "traces">,
  contracts: ContractCalls = new Map(),
): ReadonlyMap<string, RpcMethod> {
  return new Map<string, RpcMethod>([
    ["eth_chainId", () => toHex(chain.chainId)],
    ["eth_blockNumber", () => toHex(chain.head())],
    ...blockMethods(chain),
    ["eth_getLogs", ([filter]) => filterLogs(chain, filter)],
    ["eth_call", callMethod(chain, calls, contracts)],
    // The code of contracts is not recorded, only what they return.
    ["eth_getCode", ([address]) => (contracts.has(String(address).toLowerCase()) ? "0x00" : "0x")],
    ["debug_traceTransaction", traceMethod(traces)],
  ]);
}

function blockMethods(chain: Chain): [name: string, method: RpcMethod][] {
  const byTag = (tag: unknown): Block | undefined => chain.block(resolveBlockNumber(chain, tag));
  const byHash = (hash: unknown): Block | undefined => chain.blockWithHash(z.string().parse(hash));
  const transaction = (hash: unknown) => chain.transaction(z.string().parse(hash));
  const shown = (block: Block | undefined, full: unknown) =>
    block && full === true ? { ...block.fields, transactions: block.transactions } : (block?.fields ?? null);
  const isHash = (tag: unknown) => typeof tag === "string" && tag.length === 66;
  return [
    ["eth_getBlockByNumber", ([tag, full]) => shown(byTag(tag), full)],
    ["eth_getBlockByHash", ([hash, full]) => shown(byHash(hash), full)],
    ["eth_getTransactionByHash", ([hash]) => transaction(hash)?.transaction ?? null],
    ["eth_getTransactionReceipt", ([hash]) => transaction(hash)?.receipt ?? null],
    ["eth_getBlockReceipts", ([tag]) => (isHash(tag) ? byHash(tag) : byTag(tag))?.receipts ?? null],
  ];
}

function callMethod(chain: Chain, calls: Recording["calls"], contracts: ContractCalls): RpcMethod {
  const recorded = new Map(calls.map((call) => [callKey(call.to, call.data, call.block), call]));
  return ([call, tag]) => {
    const { to, data, input } = z.record(z.string(), z.unknown()).parse(call);
    const block = resolveBlockNumber(chain, tag);
    const callData = String(data ?? input ?? "0x") as Hex;
    const found = recorded.get(callKey(String(to), callData, toHex(block)));
    if (found?.error !== undefined) throw new RpcError(found.error);
    const result = found?.result ?? contracts.get(String(to).toLowerCase())?.(callData);
    if (result === undefined) throw new RpcError({ code: 3, message: "execution reverted" });
    return result;
  };
}

function traceMethod(traces: Recording["traces"]): RpcMethod {
  const recorded = new Map<string, unknown>(traces.map(({ hash, result }) => [hash, result]));
  return ([hash]) => {
    const trace = recorded.get(z.string().parse(hash).toLowerCase());
    if (trace === undefined) throw new RpcError({ code: -32000, message: "no trace was recorded" });
    return trace;
  };
}

// A value or a list of values, lower-cased; undefined, null and an empty list mean any, as in geth.
const wanted = z
  .union([z.string().transform((one) => [one]), z.array(z.string())])
  .nullish()
  .transform((values) => (values?.length ? new Set(values.map((value) => value.toLowerCase())) : undefined));
const logFilter = z.object({
  blockHash: z.string().optional(),
  fromBlock: z.unknown(),
  toBlock: z.unknown(),
  address: wanted,
  topics: z.array(wanted).max(4).nullish(),
});

/** Logs that an `eth_getLogs` filter selects, in chain order (Ethereum JSON-RPC). */
export function filterLogs(chain: Chain, filter: unknown): BlockLog[] {
  const { blockHash, fromBlock, toBlock, address, topics } = logFilter.parse(filter);
  // A filter with more positions than a log has topics does not match it, even where the position is null.
  const hasTopics = ({ topics: own }: BlockLog) =>
    (topics ?? []).every((set, position) => {
      const topic = own[position];
      return topic !== undefined && (set === undefined || set.has(topic));
    });
  const blocks =
    blockHash === undefined ? range(chain, fromBlock, toBlock) : [chain.blockWithHash(blockHash)];
  return blocks.flatMap((block) => {
    if (block === undefined) throw new RpcError({ code: -32000, message: "unknown block" });
    return block.logs.filter((log) => (address?.has(log.address) ?? true) && hasTopics(log));
  });
}

function range(chain: Chain, fromBlock: unknown, toBlock: unknown): Block[] {
  const [from, to] = [resolveBlockNumber(chain, fromBlock), resolveBlockNumber(chain, toBlock)];
  if (from > to) throw new RpcError({ code: -32602, message: "fromBlock is after toBlock" });
  return chain.range(from, to);
}

function resolveBlockNumber(chain: Chain, tag: unknown): number {
  const number = chain.numberOf(tag);
  if (number === undefined)
    throw new RpcError({ code: -32602, message: "a block must be a tag or a hex number" });
  return number;
}

const callKey = (to: string, data: string, block: string) => `${to} ${data} ${block}`.toLowerCase();
const toHex = (number: number) => `0x${number.toString(16)}`;

/** An error response to a JSON-RPC call (codes of JSON-RPC 2.0 and EIP-1474). */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  constructor({ code, message }: { code: number; message: string }) {
    super(message);
    this.code = code;
  }
}
