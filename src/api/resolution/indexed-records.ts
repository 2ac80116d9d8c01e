import { defaultEvmCoinType, isEvmCoinType } from "../../ens/coin-types.ts";
import { addressValue, nameValue } from "../../ens/record-values.ts";
import type { IndexedRecords } from "./resolver-records.ts";
import { emptySelection, type Records, type Selection } from "./selection.ts";

/** The part of a selection that only the chain can tell: ABI texts, interfaces, and the version before its first change. */
export function liveSelection({ version, abi, interfaces }: Selection): Selection {
  return { ...emptySelection(), version, abi, interfaces };
}

/** The rest of the selection, as the index tells it. `hasDefaultAddress`: see StaticResolver. */
export function indexedRecords(
  records: IndexedRecords,
  selection: Selection,
  { hasDefaultAddress }: { hasDefaultAddress: boolean },
): Records {
  const address = (coinType: bigint): string | null => {
    const own = records.addresses.get(String(coinType));
    const isFallback = own === undefined && hasDefaultAddress && isEvmCoinType(coinType);
    const raw = isFallback ? records.addresses.get(String(defaultEvmCoinType)) : own;
    return raw === undefined ? null : addressValue(raw);
  };
  const { pubkeyX: x, pubkeyY: y } = records;
  return {
    ...(selection.name ? { name: records.name === null ? null : nameValue(records.name) } : {}),
    ...(selection.addresses.length > 0
      ? { addresses: Object.fromEntries(selection.addresses.map((type) => [String(type), address(type)])) }
      : {}),
    ...(selection.texts.length > 0
      ? { texts: Object.fromEntries(selection.texts.map((key) => [key, records.texts.get(key) ?? null])) }
      : {}),
    ...(selection.contenthash ? { contenthash: records.contenthash } : {}),
    ...(selection.pubkey ? { pubkey: x === null || y === null ? null : { x, y } } : {}),
    ...(selection.dnszonehash ? { dnszonehash: records.dnszonehash } : {}),
  };
}
