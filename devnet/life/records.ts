import type { Hex } from "viem";
import { type EmittedLog, emits } from "../events.ts";

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
