import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { bytesValue } from "../../ens/record-values.ts";
import { isEvmCoinType } from "../../ens/reverse-names.ts";
import type { StoredName } from "../database/names.ts";
import type { KnownContracts } from "../resolution/known-contracts.ts";
import type { StoredRecords } from "../resolution/v2-records.ts";
import { homeOfRow, type IndexedNamespace } from "./indexed-namespaces.ts";

/** The chain and address of a name's resolver; undefined without one. */
export function resolverOf({ resolver }: StoredName, { chainId }: IndexedNamespace) {
  return resolver === undefined || resolver === zeroAddress
    ? undefined
    : { chain_id: chainId, address: resolver };
}

/** A name with its records, if requested; null if only the chain knows them. */
export type FoundName = { row: StoredName; records: StoredRecords | null };

/** The schema of a name's records. */
export const recordsSchema = z.strictObject({
  seen_addresses: z.array(z.string()),
  addresses: z.record(z.string(), z.string().nullable()),
  seen_texts: z.array(z.string()),
  texts: z.record(z.string(), z.string().nullable()),
  seen_abis: z.array(z.string()),
  abis: z.record(z.string(), z.string()),
  seen_singletons: z.array(z.enum(["contenthash", "name"])),
  contenthash: z.string().nullable().optional(),
  name: z.string().nullable().optional(),
});

type GroupedRecords = z.output<typeof recordsSchema>;

/** The schema of what is known of one record. */
export const recordSchema = z.strictObject({
  status: z.enum(["ok", "not_found", "unsupported", "failed"]),
  value: z.string().optional(),
  meta: z
    .strictObject({
      basis: z.literal("derived"),
      rule: z.literal("ensip19_default_address"),
      source_record_key: z.string(),
    })
    .optional(),
  unsupported_reason: z.string().optional(),
  failure_reason: z.string().optional(),
});

/** What is known of one record. */
export type RecordAnswer = z.output<typeof recordSchema>;

/** Coin type of the address record that other EVM chains fall back to (ENSIP-19). */
export const defaultCoin = "2147483648";

/** The address that a name's resolver returns for EVM coin types without their own record (ENSIP-19), if it does. */
export function defaultAddressOf(
  namespaces: readonly IndexedNamespace[],
  { row, records }: FoundName,
  known: KnownContracts,
) {
  const resolver = resolverOf(row, homeOfRow(namespaces, row));
  // All resolvers of ENSv2 fall back to it.
  const hasDefault =
    row.v2?.isInForce ||
    (resolver && known.staticResolverOf(resolver.chain_id, resolver.address)?.hasDefaultAddress);
  return hasDefault ? ownValue(records?.set?.addresses, defaultCoin) : undefined;
}

/** The address that a name's resolver returns for an EVM coin type: its own record, even one of zero bytes, else the default one. */
export function addressRecordOf({ records }: FoundName, coin: string, fallback: string | undefined) {
  const own = ownValue(records?.set?.addresses, coin) ?? (coin === "60" ? records?.addr : undefined);
  return own ?? fallback;
}

// Keys are user input, such as `constructor`.
const ownValue = (values: Readonly<Record<string, string>> | null | undefined, key: string) =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;

const byNumber = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1);

/** A name's records, in the form of rows. A seen key without a value was cleared; if values are not indexed, the map lacks the key. */
export function groupedRecords(records: StoredRecords | null): GroupedRecords {
  const { seenCoins, seenTexts, addr, hash, set } = records ?? {};
  const isKnown = records !== null && set !== undefined;
  const addresses: Record<string, string> = isKnown ? { ...set?.addresses } : addr ? { 60: addr } : {};
  const texts: Record<string, string> = isKnown ? { ...set?.texts } : {};
  const coins = [...new Set([...(seenCoins ?? []), ...Object.keys(addresses)])].sort(byNumber);
  const keys = [...new Set([...(seenTexts ?? []), ...Object.keys(texts)])].sort();
  const valued = (all: string[], values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      (isKnown ? all : Object.keys(values)).map((key) => [key, heldValue(ownValue(values, key))]),
    );
  const contenthash = set ? set.contenthash : ((hash && bytesValue(hash)) ?? null);
  // If values are not indexed, the name is unknown.
  const name = isKnown || records === null ? (set?.name ?? null) : undefined;
  const singletons = [
    // Clearing a contenthash emits empty bytes.
    ...(contenthash === null && !hash ? [] : ["contenthash" as const]),
    ...(name ? ["name" as const] : []),
  ];
  return {
    seen_addresses: coins,
    addresses: valued(coins, addresses),
    seen_texts: keys,
    texts: valued(keys, texts),
    seen_abis: [],
    abis: {},
    seen_singletons: singletons,
    contenthash,
    name,
  };
}

// Twenty zero bytes count as cleared.
const heldValue = (value: string | undefined) =>
  value === undefined || value === zeroAddress ? null : value;

/** Whether a key is that of an address record. */
export const isAddressKey = (key: string) => key.startsWith("addr:");
/** Whether a key is that of a text record; `avatar` is one. */
export const isTextKey = (key: string) => key === "avatar" || key.startsWith("text:");
/** The text record's own key, without `text:`. */
export const textKeyOf = (key: string) => key.replace(/^text:/, "");

/** Whether a name's resolver returns only what its events tell. A name without one may use that of a name above (ENSIP-10). */
export function isReadFromEvents(
  { namespaces, known }: { namespaces: readonly IndexedNamespace[]; known: KnownContracts },
  { row, records }: FoundName,
): boolean {
  if (row.v2?.isInForce) return records !== null;
  const resolver = resolverOf(row, homeOfRow(namespaces, row));
  return resolver !== undefined && known.staticResolverOf(resolver.chain_id, resolver.address) !== undefined;
}

/** What a name's row tells of a record, by its key (`addr:60`, `text:url`, `avatar`, `contenthash`, `name`). */
export function recordOf(
  { records, status }: { records?: GroupedRecords | undefined; status?: string | undefined },
  key: string,
  { found, fallback }: { found: FoundName; fallback: string | undefined },
): RecordAnswer {
  // Nobody holds the name, or only the chain knows its resolver in ENSv2.
  if (records === undefined)
    return {
      status: "unsupported",
      unsupported_reason:
        status === "released" ? "inventory_not_available" : "indexed_record_inventory_not_authoritative",
    };
  if (key === "name" && records.name === undefined)
    return { status: "unsupported", unsupported_reason: "record_family_not_supported" };
  const isAddress = isAddressKey(key);
  const name = isAddress ? key.slice(5) : textKeyOf(key);
  const [values, seen]: [Readonly<Record<string, string | null | undefined>>, readonly string[]] = isAddress
    ? [records.addresses, records.seen_addresses]
    : isTextKey(key)
      ? [records.texts, records.seen_texts]
      : [{ contenthash: records.contenthash, name: records.name }, []];
  const value = new Map(Object.entries(values)).get(name);
  if (value) return { status: "ok", value };
  if (value === undefined && seen.includes(name))
    return { status: "unsupported", unsupported_reason: "value_not_retained" };
  const derived =
    isAddress && isEvmCoinType(BigInt(name)) ? addressRecordOf(found, name, fallback) : undefined;
  if (fallback === undefined || fallback === zeroAddress || derived !== fallback)
    return { status: "not_found" };
  const meta = {
    basis: "derived",
    rule: "ensip19_default_address",
    source_record_key: `addr:${defaultCoin}`,
  } as const;
  return { status: "ok", value: fallback, meta };
}
