import type { Hex } from "viem";
import { accountId, subnode, zeroAddress } from "../ens/ids.ts";
import { keccak256 } from "../ens/keccak.ts";
import { parseAccountKey } from "../ens/owned-accounts.ts";
import { isTextKey, textValue } from "../ens/record-values.ts";
import {
  domainResolverRelation,
  migratedNode,
  resolverAddressRecord,
  resolverContract,
  resolverDataRecord,
  resolverRecord,
  resolverTextRecord,
  reverseNameEvent,
  reverseNameRecord,
} from "../schema/protocol-acceleration.ts";
import { type Scope, upsert } from "./scope.ts";

// Values of resolver records, as the emitting contract would return them now. Every contract counts, whether a registry
// points to it or not.

type RecordsRow = typeof resolverRecord.$inferSelect;
type RecordsChanges = Partial<Omit<RecordsRow, "id" | "chainId" | "address" | "node">>;

/** AddressChanged: raw bytes. Twenty zero bytes are stored, since they hide a default address (ENSIP-19). */
export async function setAddressRecord(
  scope: Scope,
  { node, coinType, newAddress: address }: { node: Hex; coinType: bigint; newAddress: Hex },
): Promise<void> {
  await saveRecords(scope, node, (before) => ({
    coinTypes: withItem(before?.coinTypes ?? [], coinType),
  }));
  const key = { ...buildKey(scope, node), coinType };
  const value = address.toLowerCase();
  if (value === "0x") await scope.db.delete(resolverAddressRecord, key);
  else await upsert(scope, resolverAddressRecord, key, { value });
}

/**
 * AddrChanged: coin type 60. Zero is a cleared record or twenty zero bytes; the preceding AddressChanged shows which.
 */
export async function setAddrRecord(
  scope: Scope,
  { node, a: newAddress }: { node: Hex; a: Hex },
): Promise<void> {
  const coinType = 60n;
  if (newAddress !== zeroAddress) return setAddressRecord(scope, { node, coinType, newAddress });
  const stored = await scope.db.find(resolverAddressRecord, { ...buildKey(scope, node), coinType });
  if (stored?.value !== zeroAddress) await setAddressRecord(scope, { node, coinType, newAddress: "0x" });
}

/** TextChanged: sets the record, or clears it if `value` is undefined or meaningless. Ignores unusable keys. */
export async function setTextRecord(
  scope: Scope,
  { node, key, value: raw }: { node: Hex; key: string; value: string | undefined },
): Promise<void> {
  if (!isTextKey(key)) return;
  const isListed = await listKey(scope, node, { list: "textKeys", key });
  const value = raw === undefined ? null : textValue(raw);
  const id = { ...buildKey(scope, node), keyHash: keccak256(key) };
  // An unlisted key has no row, and Ponder sends every deletion to the database.
  if (value === null && isListed) await scope.db.delete(resolverTextRecord, id);
  if (value !== null) await upsert(scope, resolverTextRecord, { ...id, key }, { value });
}

/** ABIChanged: the event carries only the content type. */
export function addAbiContentType(
  scope: Scope,
  { node, contentType }: { node: Hex; contentType: bigint },
): Promise<void> {
  return saveRecords(scope, node, (before) => ({
    abiContentTypes: withItem(before?.abiContentTypes ?? [], contentType),
  }));
}

/**
 * DataChanged (ENSIP-24): the event has only the hash of the value; the hash of no bytes clears the record. Ignores
 * unusable keys.
 */
export async function setDataRecord(
  scope: Scope,
  { node, key, indexedData: valueHash }: { node: Hex; key: string; indexedData: Hex },
): Promise<void> {
  if (!isTextKey(key)) return;
  const isListed = await listKey(scope, node, { list: "dataKeys", key });
  const isCleared = valueHash === keccak256("");
  const id = { ...buildKey(scope, node), keyHash: keccak256(key) };
  if (isCleared && isListed) await scope.db.delete(resolverDataRecord, id);
  if (isCleared) return;
  const account = parseAccountKey(key)?.account ?? null;
  await upsert(scope, resolverDataRecord, { ...id, key }, { valueHash, account });
}

// Lists a key of records that have rows of their own. Returns whether it was listed before.
async function listKey(
  scope: Scope,
  node: Hex,
  { list, key }: { list: "textKeys" | "dataKeys"; key: string },
): Promise<boolean> {
  let isListed = false;
  await saveRecords(scope, node, (before) => {
    const keys = before?.[list] ?? [];
    isListed = keys.includes(key);
    return isListed ? {} : { [list]: [...keys, key] };
  });
  return isListed;
}

/** VersionChanged: all records of the node were cleared at once. */
export async function clearRecords(
  scope: Scope,
  { node, newVersion: version }: { node: Hex; newVersion: bigint },
): Promise<void> {
  const key = buildKey(scope, node);
  const before = await scope.db.find(resolverRecord, { id: buildRecordsId(scope, node) });
  for (const coinType of before?.coinTypes ?? []) {
    await scope.db.delete(resolverAddressRecord, { ...key, coinType });
  }
  for (const textKey of before?.textKeys ?? []) {
    await scope.db.delete(resolverTextRecord, { ...key, keyHash: keccak256(textKey) });
  }
  for (const dataKey of before?.dataKeys ?? []) {
    await scope.db.delete(resolverDataRecord, { ...key, keyHash: keccak256(dataKey) });
  }
  await saveRecords(scope, node, () => ({
    name: null,
    contenthash: null,
    pubkeyX: null,
    pubkeyY: null,
    dnszonehash: null,
    abiContentTypes: null,
    coinTypes: null,
    textKeys: null,
    dataKeys: null,
    version,
  }));
}

/**
 * NameForAddrChanged: an account named itself on a reverse registrar. A name that is not normalized means nothing, but
 * is stored: it hides the account's default name (ENSIP-19).
 */
export async function setReverseName(
  scope: Scope,
  { address, coinType, name }: { address: Hex; coinType: bigint; name: string },
): Promise<void> {
  const { db, chainId, blockNumber, logIndex, transactionHash } = scope;
  const key = { address, coinType };
  // No column can hold a NUL, and the name without it would be another.
  const value = name.replaceAll("\0", "\ufffd");
  await db.insert(reverseNameEvent).values({
    id: `${chainId}-${blockNumber}-${logIndex}`,
    ...key,
    name: value || null,
    blockNumber,
    timestamp: Number(scope.timestamp),
    logIndex,
    transactionHash,
  });
  if (value === "") await db.delete(reverseNameRecord, key);
  else await upsert(scope, reverseNameRecord, key, { value });
}

/** Changes the emitter's row of records for a node. */
export async function saveRecords(
  scope: Scope,
  node: Hex,
  changes: (before: RecordsRow | null) => RecordsChanges,
): Promise<void> {
  const { db, chainId, emitter: address } = scope;
  await db
    .insert(resolverContract)
    .values({ id: accountId(chainId, address), chainId, address })
    .onConflictDoNothing();
  await db
    .insert(resolverRecord)
    .values({ id: buildRecordsId(scope, node), chainId, address, node, ...changes(null) })
    .onConflictDoUpdate(changes);
}

function buildKey({ chainId, emitter: address }: Scope, node: Hex) {
  return { chainId, address, node };
}

function buildRecordsId({ chainId, emitter }: Scope, node: Hex): string {
  return `${accountId(chainId, emitter)}/${node}`;
}

function withItem<T>(items: T[], item: T): T[] {
  return items.includes(item) ? items : [...items, item];
}

type ResolverRelation = { registry: Hex; node: Hex; resolver: Hex };

/** NewResolver: `registry` sets another resolver for the node, or none. */
export async function setRelation(
  scope: Scope,
  { registry, node, resolver }: ResolverRelation,
): Promise<void> {
  const key = { chainId: scope.chainId, address: registry, domainId: node };
  if (resolver === zeroAddress) {
    // Most nodes have none yet, and Ponder sends every deletion to the database.
    if (await scope.db.find(domainResolverRelation, key)) await scope.db.delete(domainResolverRelation, key);
  } else await upsert(scope, domainResolverRelation, key, { resolver });
}

/** NewResolver of the root chain's old registry, which counts until the new one names the node. */
export async function setFormerRelation(scope: Scope, relation: ResolverRelation): Promise<void> {
  const isMigrated = await scope.db.find(migratedNode, { node: relation.node });
  if (!isMigrated) await setRelation(scope, relation);
}

/**
 * NewOwner of the root chain's new registry, which is authoritative for the subname from now on. The subname has no
 * resolver until one is set: the new registry's fallback to the old one ends with the first owner.
 */
export async function migrateSubname(
  scope: Scope,
  { registry, parentNode, labelhash }: { registry: Hex; parentNode: Hex; labelhash: Hex },
): Promise<void> {
  const node = subnode(parentNode, labelhash);
  if (await scope.db.find(migratedNode, { node })) return;
  await scope.db.insert(migratedNode).values({ node });
  await setRelation(scope, { registry, node, resolver: zeroAddress });
}
