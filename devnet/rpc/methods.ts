import type { Chain } from "../chain/chain.ts";
import type { ServedBlock } from "../chain/served-block.ts";
import type { Recording } from "../recording.ts";
import { filterLogs } from "./log-filter.ts";
import { invalidParams, RpcError } from "./rpc-error.ts";

/** A JSON-RPC method: takes the call's parameters, returns the result as JSON text, throws RpcError. */
export type RpcMethod = (params: unknown[]) => string;

/**
 * The Ethereum JSON-RPC methods that the node serves from the chain, and from the recorded calls and traces.
 * It executes nothing: a call that was not recorded reverts, as it would in an account without code.
 */
export function createMethods(
  chain: Chain,
  { calls, traces }: Pick<Recording, "calls" | "traces">,
): ReadonlyMap<string, RpcMethod> {
  const recordedCalls = new Map(calls.map((call) => [callKey(call.to, call.data, call.block), call]));
  const recordedTraces = new Map(traces.map(({ hash, result }) => [hash, JSON.stringify(result)]));

  const blockByTag = (tag: unknown): ServedBlock | undefined => {
    const number = chain.numberOf(tag);
    if (number === undefined) throw invalidParams("the block must be a tag or a hex number");
    return chain.block(number);
  };
  const blockByHash = (hash: unknown): ServedBlock | undefined => chain.blockWithHash(text("hash", hash));
  const transaction = (hash: unknown) => chain.transaction(text("hash", hash));
  const countOf = (block: ServedBlock | undefined) =>
    block === undefined ? "null" : JSON.stringify(toHex(block.transactions.length));

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
    ["eth_getBlockByNumber", ([tag, full]) => blockJson(blockByTag(tag), full)],
    ["eth_getBlockByHash", ([hash, full]) => blockJson(blockByHash(hash), full)],
    ["eth_getBlockTransactionCountByNumber", ([tag]) => countOf(blockByTag(tag))],
    ["eth_getBlockTransactionCountByHash", ([hash]) => countOf(blockByHash(hash))],
    ["eth_getLogs", ([filter]) => `[${filterLogs(chain, filter).join(",")}]`],
    ["eth_getTransactionByHash", ([hash]) => transaction(hash)?.transaction.json ?? "null"],
    ["eth_getTransactionReceipt", ([hash]) => transaction(hash)?.transaction.receipt ?? "null"],
    [
      "eth_getBlockReceipts",
      ([tag]) => {
        const block = typeof tag === "string" && tag.length === 66 ? blockByHash(tag) : blockByTag(tag);
        return block === undefined
          ? "null"
          : `[${block.transactions.map(({ receipt }) => receipt).join(",")}]`;
      },
    ],
    [
      "debug_traceTransaction",
      ([hash]) => {
        const trace = recordedTraces.get(text("hash", hash).toLowerCase() as `0x${string}`);
        if (trace === undefined) throw new RpcError({ code: -32000, message: "no trace was recorded" });
        return trace;
      },
    ],
    [
      "eth_call",
      ([call, tag]) => {
        const { to, data, input } = record("the call", call);
        const number = chain.numberOf(tag);
        if (number === undefined) throw invalidParams("the block must be a tag or a hex number");
        const recorded = recordedCalls.get(callKey(String(to), String(data ?? input ?? "0x"), toHex(number)));
        if (recorded?.error !== undefined) throw new RpcError(recorded.error);
        if (recorded?.result === undefined) throw new RpcError({ code: 3, message: "execution reverted" });
        return JSON.stringify(recorded.result);
      },
    ],
  ]);
}

function blockJson(block: ServedBlock | undefined, full: unknown): string {
  if (block === undefined) return "null";
  return full === true ? block.jsonWithTransactions : block.json;
}

function text(field: string, value: unknown): string {
  if (typeof value !== "string") throw invalidParams(`${field} must be a text`);
  return value;
}

function record(field: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw invalidParams(`${field} must be an object`);
  return value as Record<string, unknown>;
}

const callKey = (to: string, data: string, block: string) => `${to} ${data} ${block}`.toLowerCase();
const toHex = (number: number) => `0x${number.toString(16)}`;
