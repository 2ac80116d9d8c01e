import { encodeFunctionData, type Hex } from "viem";
import type { EmittedLog } from "./block-builder.ts";
import { resolverAbi } from "./contracts.ts";
import { emit } from "./emit.ts";

/** One change of a name's records at a resolver. */
export type RecordChange =
  | { type: "addr"; coinType: bigint; address: Hex }
  | { type: "text"; key: string; value: string }
  | { type: "contenthash"; hash: Hex };

/** Logs of one record change. The Ethereum address (coin type 60) is told twice, in the new form and the old. */
export function recordLogs(resolver: Hex, node: Hex, change: RecordChange): EmittedLog[] {
  if (change.type === "text") {
    const { key, value } = change;
    return [emit(resolver, resolverAbi, "TextChanged", { node, indexedKey: key, key, value })];
  }
  if (change.type === "contenthash") {
    return [emit(resolver, resolverAbi, "ContenthashChanged", { node, hash: change.hash })];
  }
  const { coinType, address } = change;
  const changed = emit(resolver, resolverAbi, "AddressChanged", { node, coinType, newAddress: address });
  return coinType === 60n
    ? [changed, emit(resolver, resolverAbi, "AddrChanged", { node, a: address })]
    : [changed];
}

/** Call data of each change. */
export function recordsCalls(node: Hex, changes: readonly RecordChange[]): Hex[] {
  return changes.map((change) => {
    if (change.type === "text") {
      const args = [node, change.key, change.value] as const;
      return encodeFunctionData({ abi: resolverAbi, functionName: "setText", args });
    }
    if (change.type === "contenthash") {
      const args = [node, change.hash] as const;
      return encodeFunctionData({ abi: resolverAbi, functionName: "setContenthash", args });
    }
    const args = [node, change.coinType, change.address] as const;
    return encodeFunctionData({ abi: resolverAbi, functionName: "setAddr", args });
  });
}

/** Call data that makes all changes in one transaction. */
export function recordsCall(node: Hex, changes: readonly RecordChange[]): Hex {
  const calls = recordsCalls(node, changes);
  const [only] = calls;
  if (calls.length === 1 && only !== undefined) return only;
  return encodeFunctionData({ abi: resolverAbi, functionName: "multicall", args: [calls] });
}
