import { encodeFunctionData, type Hex } from "viem";
import { type EmittedLog, emits } from "../events.ts";
import { resolverFunctions as abi } from "./contracts.ts";

/** One change of a name's records at a resolver. */
export type RecordChange =
  | { type: "addr"; coinType: bigint; address: Hex }
  | { type: "text"; key: string; value: string }
  | { type: "contenthash"; hash: Hex };

/** Logs of one record change. The Ethereum address (coin type 60) is emitted twice, in the new form and the old. */
export function recordLogs(resolver: Hex, node: Hex, change: RecordChange): EmittedLog[] {
  if (change.type === "text") {
    const { key, value } = change;
    return [emits.textChanged(resolver, node, key, key, value)];
  }
  if (change.type === "contenthash") return [emits.contenthashChanged(resolver, node, change.hash)];
  const { coinType, address } = change;
  const changed = emits.addressChanged(resolver, node, coinType, address);
  return coinType === 60n ? [changed, emits.addrChanged(resolver, node, address)] : [changed];
}

/** Call data of each change. */
export function recordsCalls(node: Hex, changes: readonly RecordChange[]): Hex[] {
  return changes.map((change) => {
    if (change.type === "text") {
      return encodeFunctionData({ abi, functionName: "setText", args: [node, change.key, change.value] });
    }
    if (change.type === "contenthash") {
      return encodeFunctionData({ abi, functionName: "setContenthash", args: [node, change.hash] });
    }
    const args = [node, change.coinType, change.address] as const;
    return encodeFunctionData({ abi, functionName: "setAddr", args });
  });
}

/** Call data of all changes in one transaction: the call itself for one change, else a multicall. */
export function recordsCall(node: Hex, changes: readonly RecordChange[]): Hex {
  const calls = recordsCalls(node, changes);
  const [only] = calls;
  if (calls.length === 1 && only !== undefined) return only;
  return encodeFunctionData({ abi, functionName: "multicall", args: [calls] });
}
