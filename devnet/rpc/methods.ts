import type { Hex } from "viem";
import type { ContractCalls } from "../calls/contracts.ts";
import type { Chain } from "../chain/chain.ts";
import type { ServedBlock } from "../chain/served-block.ts";
import type { Recording } from "../recording.ts";
import { filterLogs } from "./log-filter.ts";
import { invalidParams, RpcError } from "./rpc-error.ts";

/** A JSON-RPC method: takes the call's parameters, returns the result as JSON text, throws RpcError. */
export type RpcMethod = (params: unknown[]) => string;

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
    ["eth_chainId", () => JSON.stringify(toHex(chain.chainId))],
    ["net_version", () => JSON.stringify(String(chain.chainId))],
    ["net_listening", () => "true"],
    ["web3_clientVersion", () => '"devnet/recorded-blocks"'],
    ["eth_syncing", () => "false"],
    ["eth_accounts", () => "[]"],
    ["eth_gasPrice", () => '"0x3b9aca00"'],
    ["eth_maxPriorityFeePerGas", () => '"0x3b9aca00"'],
    ["eth_blockNumber", () => JSON.stringify(toHex(chain.head()))],
    ...blockMethods(chain),
    ["eth_getLogs", ([filter]) => `[${filterLogs(chain, filter).join(",")}]`],
    ["eth_call", callMethod(chain, calls, contracts)],
    ["debug_traceTransaction", traceMethod(traces)],
  ]);
}

function blockMethods(chain: Chain): [name: string, method: RpcMethod][] {
  const byTag = (tag: unknown): ServedBlock | undefined => chain.block(numberOf(chain, tag));
  const byHash = (hash: unknown): ServedBlock | undefined => chain.blockWithHash(text("hash", hash));
  const transaction = (hash: unknown) => chain.transaction(text("hash", hash))?.transaction;
  const countOf = (block: ServedBlock | undefined) =>
    block === undefined ? "null" : JSON.stringify(toHex(block.transactions.length));
  return [
    ["eth_getBlockByNumber", ([tag, full]) => blockJson(byTag(tag), full)],
    ["eth_getBlockByHash", ([hash, full]) => blockJson(byHash(hash), full)],
    ["eth_getBlockTransactionCountByNumber", ([tag]) => countOf(byTag(tag))],
    ["eth_getBlockTransactionCountByHash", ([hash]) => countOf(byHash(hash))],
    ["eth_getTransactionByHash", ([hash]) => transaction(hash)?.json ?? "null"],
    ["eth_getTransactionReceipt", ([hash]) => transaction(hash)?.receipt ?? "null"],
    [
      "eth_getBlockReceipts",
      ([tag]) => {
        const block = typeof tag === "string" && tag.length === 66 ? byHash(tag) : byTag(tag);
        return block === undefined
          ? "null"
          : `[${block.transactions.map(({ receipt }) => receipt).join(",")}]`;
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
    return JSON.stringify(result);
  };
}

function traceMethod(traces: Recording["traces"]): RpcMethod {
  const recorded = new Map<string, string>(traces.map(({ hash, result }) => [hash, JSON.stringify(result)]));
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

function blockJson(block: ServedBlock | undefined, full: unknown): string {
  if (block === undefined) return "null";
  return full === true ? block.jsonWithTransactions : block.json;
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
