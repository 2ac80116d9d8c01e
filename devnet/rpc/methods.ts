import type { Hex } from "viem";
import type { ContractCalls } from "../calls/contracts.ts";
import type { Block } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";
import type { Recording } from "../recording.ts";
import { filterLogs } from "./log-filter.ts";
import { invalidParams, RpcError } from "./rpc-error.ts";

/** A JSON-RPC method: takes the call's parameters, returns the result, throws RpcError. */
export type RpcMethod = (params: unknown[]) => unknown;

/**
 * The Ethereum JSON-RPC methods that the node serves from the chain, and from the recorded calls and traces. It executes
 * nothing: a call that was not recorded is answered by `contracts`, or reverts as in an account without code.
 */
export function createMethods(
  chain: Chain,
  { calls, traces }: Pick<Recording, "calls" | "traces">,
  contracts: ContractCalls = new Map(),
): ReadonlyMap<string, RpcMethod> {
  return new Map<string, RpcMethod>([
    ["eth_chainId", () => toHex(chain.chainId)],
    ["net_version", () => String(chain.chainId)],
    ["net_listening", () => true],
    ["web3_clientVersion", () => "devnet/recorded-blocks"],
    ["eth_syncing", () => false],
    ["eth_accounts", () => []],
    ["eth_gasPrice", () => "0x3b9aca00"],
    ["eth_maxPriorityFeePerGas", () => "0x3b9aca00"],
    ["eth_blockNumber", () => toHex(chain.head())],
    ...blockMethods(chain),
    ["eth_getLogs", ([filter]) => filterLogs(chain, filter)],
    ["eth_call", callMethod(chain, calls, contracts)],
    ["debug_traceTransaction", traceMethod(traces)],
  ]);
}

function blockMethods(chain: Chain): [name: string, method: RpcMethod][] {
  const byTag = (tag: unknown): Block | undefined => chain.block(numberOf(chain, tag));
  const byHash = (hash: unknown): Block | undefined => chain.blockWithHash(text("hash", hash));
  const transaction = (hash: unknown) => chain.transaction(text("hash", hash));
  const countOf = (block: Block | undefined) => (block ? toHex(block.transactions.length) : null);
  return [
    ["eth_getBlockByNumber", ([tag, full]) => shown(byTag(tag), full)],
    ["eth_getBlockByHash", ([hash, full]) => shown(byHash(hash), full)],
    ["eth_getBlockTransactionCountByNumber", ([tag]) => countOf(byTag(tag))],
    ["eth_getBlockTransactionCountByHash", ([hash]) => countOf(byHash(hash))],
    ["eth_getTransactionByHash", ([hash]) => transaction(hash)?.transaction ?? null],
    ["eth_getTransactionReceipt", ([hash]) => transaction(hash)?.receipt ?? null],
    [
      "eth_getBlockReceipts",
      ([tag]) => {
        const block = typeof tag === "string" && tag.length === 66 ? byHash(tag) : byTag(tag);
        return block?.receipts ?? null;
      },
    ],
  ];
}

function callMethod(chain: Chain, calls: Recording["calls"], contracts: ContractCalls): RpcMethod {
  const recorded = new Map(calls.map((call) => [callKey(call.to, call.data, call.block), call]));
  return ([call, tag]) => {
    const { to, data, input } = record("the call", call);
    const block = numberOf(chain, tag);
    const callData = String(data ?? input ?? "0x") as Hex;
    const found = recorded.get(callKey(String(to), callData, toHex(block)));
    if (found?.error !== undefined) throw new RpcError(found.error);
    const result = found?.result ?? contracts.get(String(to).toLowerCase())?.(callData, block);
    if (result === undefined) throw new RpcError({ code: 3, message: "execution reverted" });
    return result;
  };
}

function traceMethod(traces: Recording["traces"]): RpcMethod {
  const recorded = new Map<string, unknown>(traces.map(({ hash, result }) => [hash, result]));
  return ([hash]) => {
    const trace = recorded.get(text("hash", hash).toLowerCase());
    if (trace === undefined) throw new RpcError({ code: -32000, message: "no trace was recorded" });
    return trace;
  };
}

function numberOf(chain: Chain, tag: unknown): number {
  const number = chain.numberOf(tag);
  if (number === undefined) throw invalidParams("the block must be a tag or a hex number");
  return number;
}

function shown(block: Block | undefined, full: unknown) {
  if (block === undefined) return null;
  return full === true ? { ...block.fields, transactions: block.transactions } : block.fields;
}

function text(field: string, value: unknown): string {
  if (typeof value !== "string") throw invalidParams(`${field} must be a string`);
  return value;
}

function record(field: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw invalidParams(`${field} must be an object`);
  return value as Record<string, unknown>;
}

const callKey = (to: string, data: string, block: string) => `${to} ${data} ${block}`.toLowerCase();
const toHex = (number: number) => `0x${number.toString(16)}`;
