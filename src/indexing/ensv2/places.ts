import type { Hex } from "viem";
import type { V2KnownContracts } from "../../deployments/namespaces.ts";
import { subnode, tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { unlessMissing } from "../../ponder/store.ts";
import { v2Contract, v2Domain, v2Entry, v2Place } from "../../schema/ensv2.ts";
import { resolver } from "../../schema/subgraph.ts";
import { ensureAccount } from "../events.ts";
import { childName } from "../naming.ts";
import type { Scope } from "../scope.ts";

// Names of entries, for lists of names. A registry keeps each name that it was ever put under as a place, and each entry has a
// row for each place of its registry. No row is rewritten when something above it changes: whether it is reached is read.

type Entry = typeof v2Entry.$inferSelect;
type ContractRow = typeof v2Contract.$inferSelect;
type Place = { node: Hex; name: string; registry: Hex; place: number };

// Bounds of what one log may cause: names of a registry, registries on the way to it, rows when a registry is put somewhere.
// A registry with many entries has fewer names, so that rows do not multiply.
const mostPlaces = 128;
const fewPlaces = 16;
const mostLevels = 64;
const mostRows = 10_000;

const isListed = (place: number, entryCount: number) =>
  place < fewPlaces || (place < mostPlaces && place * entryCount <= mostRows);

/** Stores what is known of a contract. */
export function saveContract(
  { db, chainId }: Pick<Scope, "db" | "chainId">,
  address: Hex,
  set: Partial<typeof v2Contract.$inferInsert>,
) {
  return db
    .insert(v2Contract)
    .values({ chainId, address, hasRecordIds: false, isUpgraded: false, ...set })
    .onConflictDoUpdate(set);
}

/** Names the entry at each place of its registry, and puts its subregistry there. */
export async function nameEntry(scope: Scope, known: V2KnownContracts, entry: Entry): Promise<void> {
  const { places, entryCount } = await placesOf(scope, known, entry.registry);
  const pending: { place: Place; entry: Entry }[] = [];
  for (const place of places)
    if (await nameAt(scope, place, { entry, isListed: isListed(place.place, entryCount) }))
      pending.push({ place, entry });
  if (entry.subregistry === zeroAddress) return;
  // What a registry has under its new name is named too, down the tree.
  for (let rows = 0, next = pending.pop(); next !== undefined && rows < mostRows; next = pending.pop()) {
    const place = await putSubregistry(scope, known, next);
    const entries = place === undefined ? [] : await entriesOf(scope, known, place.registry, mostRows - rows);
    rows += entries.length;
    for (const below of entries) {
      if (place === undefined) continue;
      await nameAt(scope, place, { entry: below, isListed: true });
      if (below.subregistry !== zeroAddress) pending.push({ place, entry: below });
    }
  }
}

/**
 * The registry's entry before a new one, which becomes its latest. Undefined for entries that exist, and where nobody needs it:
 * in registries whose place is fixed, and in those that prove nothing.
 */
export async function countEntry(
  { db, chainId, emitter: registry }: Scope,
  known: V2KnownContracts,
  storageId: Hex,
): Promise<Hex | undefined> {
  if (known.places.has(registry)) return undefined;
  const row = await db.find(v2Contract, { chainId, address: registry });
  if (!isProven(row, known) || (await db.find(v2Entry, { chainId, registry, storageId })) !== null)
    return undefined;
  const entryCount = (row?.entryCount ?? 0) + 1;
  await saveContract({ db, chainId }, registry, { lastEntry: storageId, entryCount });
  return row?.lastEntry ?? undefined;
}

/**
 * Node of the name that a token stands for now, of a registry that the deployment or its factory put on the chain; undefined
 * for other tokens, and where no name leads to the registry.
 */
export async function nodeOfV2Token(
  scope: Scope,
  known: V2KnownContracts,
  { registry, tokenId }: { registry: Hex; tokenId: bigint },
): Promise<Hex | undefined> {
  const { db, chainId } = scope;
  const storageId = storageIdOf(tokenId);
  const { places } = await placesOf(scope, known, registry);
  const entry = places.length === 0 ? null : await db.find(v2Entry, { chainId, registry, storageId });
  if (entry === null || entry.tokenId !== tokenIdToHex(tokenId)) return undefined;
  for (const place of places)
    if (await isReached(scope, known, place)) return subnode(place.node, entry.labelhash);
  return undefined;
}

/** The id under which a registry stores what a token id, resource or labelhash names: its last four bytes are zero. */
export function storageIdOf(id: bigint): Hex {
  return tokenIdToHex(id & ~0xffff_ffffn);
}

// Each entry on the way is in force, and points at the next registry.
async function isReached(
  { db, chainId, timestamp }: Scope,
  known: V2KnownContracts,
  from: Place,
): Promise<boolean> {
  let { registry, place } = from;
  for (let level = 0; level < mostLevels; level++) {
    if (known.places.has(registry)) return true;
    const row = await db.find(v2Place, { chainId, registry, place });
    const above = row && (await db.find(v2Domain, { chainId, id: row.node, registry: row.parent }));
    if (!row || !above || above.subregistry !== registry || above.expiryDate <= timestamp) return false;
    registry = row.parent;
    place = row.parentPlace;
  }
  return false;
}

/** Whether the emitter is a registry of the deployment, or one of known code that the factory put on the chain. */
export async function isProvenRegistry(
  { db, chainId, emitter: address }: Scope,
  known: V2KnownContracts,
): Promise<boolean> {
  return known.places.has(address) || isProven(await db.find(v2Contract, { chainId, address }), known);
}

// Anyone may have the factory deploy a proxy of any code, which then emits what it likes.
function isProven(
  row: ContractRow | null,
  { userImplementations, wrapperImplementations }: V2KnownContracts,
): boolean {
  if (row === null || row.implementation === null) return false;
  if (wrapperImplementations.has(row.implementation)) return true;
  return userImplementations.size === 0 || userImplementations.has(row.implementation);
}

async function placesOf(
  { db, chainId }: Scope,
  known: V2KnownContracts,
  registry: Hex,
): Promise<{ places: Place[]; entryCount: number }> {
  const fixed = known.places.get(registry);
  if (fixed !== undefined) return { places: [{ ...fixed, registry, place: 0 }], entryCount: 0 };
  const row = await db.find(v2Contract, { chainId, address: registry });
  const places: Place[] = [];
  for (let place = 0; isProven(row, known) && place < (row?.placeCount ?? 0); place++) {
    const found = await db.find(v2Place, { chainId, registry, place });
    if (found !== null) places.push(found);
  }
  return { places, entryCount: row?.entryCount ?? 0 };
}

// The place of the entry's subregistry, if it is a new one. A registry that is on the way to itself has no further one.
async function putSubregistry(
  scope: Scope,
  known: V2KnownContracts,
  { place: above, entry }: { place: Place; entry: Entry },
): Promise<Place | undefined> {
  const { db, chainId, naming } = scope;
  const { subregistry: registry, labelhash } = entry;
  if (known.places.has(registry)) return undefined;
  const node = subnode(above.node, labelhash);
  const row = await db.find(v2Contract, { chainId, address: registry });
  const place = row?.placeCount ?? 0;
  for (let earlier = 0; earlier < place; earlier++)
    if ((await db.find(v2Place, { chainId, registry, place: earlier }))?.node === node) return undefined;
  if (!isListed(place, row?.entryCount ?? 0) || (await isOnWay(scope, registry, above))) return undefined;
  const { part } = naming.proven(labelhash, textOf(entry)) ?? naming.unknown(labelhash);
  const name = childName(part, above.name) ?? part;
  await db
    .insert(v2Place)
    .values({ chainId, registry, place, node, name, parent: above.registry, parentPlace: above.place });
  await saveContract(scope, registry, { placeCount: place + 1 });
  return { node, name, registry, place };
}

async function isOnWay({ db, chainId }: Scope, wanted: Hex, from: Place): Promise<boolean> {
  let { registry, place } = from;
  for (let level = 0; level < mostLevels; level++) {
    if (registry === wanted) return true;
    const row = await db.find(v2Place, { chainId, registry, place });
    if (row === null) return false;
    registry = row.parent;
    place = row.parentPlace;
  }
  return true;
}

// The latest ones of a registry, as many as asked for.
async function entriesOf(
  { db, chainId }: Scope,
  known: V2KnownContracts,
  registry: Hex,
  most: number,
): Promise<Entry[]> {
  const row = await db.find(v2Contract, { chainId, address: registry });
  const entries: Entry[] = [];
  let storageId = isProven(row, known) ? (row?.lastEntry ?? null) : null;
  while (storageId !== null && entries.length < most) {
    const entry: Entry | null = await db.find(v2Entry, { chainId, registry, storageId });
    if (entry === null) break;
    entries.push(entry);
    storageId = entry.previous;
  }
  return entries;
}

// Whether the entry has a row there now. One that is not listed there has one if it was, before the registry had as many.
async function nameAt(
  scope: Scope,
  { node: parentId, name: parentName }: Place,
  { entry, isListed }: { entry: Entry; isListed: boolean },
): Promise<boolean> {
  const { db, chainId, naming, blockNumber: changeBlock } = scope;
  const { registry, labelhash, owner: ownerId, resolver: address, createdAt, subregistry } = entry;
  const id = subnode(parentId, labelhash);
  const resolverId = address === zeroAddress ? null : naming.resolverId(chainId, address, id);
  const state = {
    registrationDate: createdAt,
    expiryDate: entry.expiry,
    ownerId,
    resolverId,
    subregistry,
    changeBlock,
  };
  if (isListed) {
    const { labelName, part } = naming.proven(labelhash, textOf(entry)) ?? naming.unknown(labelhash);
    const name = childName(part, parentName) ?? part;
    const names = { name, labelName: labelName ?? part, labelhash, parentId };
    await db
      .insert(v2Domain)
      .values({ chainId, id, registry, ...names, createdAt, ...state })
      .onConflictDoUpdate(state);
  } else if (!(await unlessMissing(db.update(v2Domain, { chainId, id, registry }).set(state)))) return false;
  await ensureAccount(scope, ownerId);
  if (resolverId !== null)
    await db
      .insert(resolver)
      .values({ id: resolverId, domainId: id, address, changeBlock })
      .onConflictDoNothing();
  return true;
}

const textOf = ({ label }: Entry) => Buffer.from(label.slice(2), "hex").toString("utf8");
