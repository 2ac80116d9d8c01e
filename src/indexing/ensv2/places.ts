import { type Hex, hexToBytes } from "viem";
import { subnode, tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { mostLevels } from "../../ens/registrations.ts";
import { unlessMissing } from "../../ponder/store.ts";
import { v2Contract, v2Domain, v2Entry, v2Place } from "../../schema/ensv2.ts";
import { ensureAccount, ensureResolver } from "../events.ts";
import { childName } from "../naming.ts";
import { type Scope, upsert } from "../scope.ts";
import { type NamingJob, runNamingJobs } from "./naming-jobs.ts";

// Names of entries, for lists of names. A registry has a place for each name that it is put under, and each entry a row for each
// place of its registry. No row is rewritten when something above it changes: whether it is reached is read.

type Entry = typeof v2Entry.$inferSelect;
type ContractRow = typeof v2Contract.$inferSelect;
/** A name that a registry is under. Those of fixed registries have no entry above. */
type Place = { node: Hex; name: string; registry: Hex; place: number; above?: Edge };
/** The entry that leads to a registry, and the place of its own registry. */
type Edge = { parent: Hex; storageId: Hex; parentPlace: number };

// Anybody can put a registry under their names: of names that it does not claim it has so many. With many entries it is listed under
// fewer of them, so that the rows of a log do not multiply.
const mostUnclaimed = 64;
const fewUnclaimed = 8;
const mostRows = 1_024;

const capacityOf = (entryCount: number) =>
  Math.max(fewUnclaimed, Math.min(mostUnclaimed, Math.floor(mostRows / Math.max(1, entryCount))));

/** Stores what is known of a contract. */
export function saveContract(
  scope: Pick<Scope, "db" | "chainId">,
  address: Hex,
  set: Partial<typeof v2Contract.$inferInsert>,
) {
  const first = { chainId: scope.chainId, address, hasRecordIds: false, isUpgraded: false };
  return upsert(scope, v2Contract, first, set);
}

/** Names the entry at each place of its registry, and what its subregistry has under a name that is new or came back into force. */
export async function nameEntry(
  scope: Scope,
  { entry, isBack }: { entry: Entry; isBack: boolean },
): Promise<void> {
  const named: Place[] = [];
  for (const place of await placesOf(scope, entry.registry))
    if (await nameAt(scope, place, entry)) named.push(place);
  await nameBelow(scope, { entry, places: named, isBack });
}

/** Puts the registry under the name that it claims, if that entry leads to it. */
export async function nameClaim(scope: Scope, registry: Hex): Promise<void> {
  const { db, chainId } = scope;
  const row = await db.find(v2Contract, { chainId, address: registry });
  if (!row?.parent || !row.parentLabel) return;
  const storageId = claimedId(row.parentLabel);
  const entry = await db.find(v2Entry, { chainId, registry: row.parent, storageId });
  if (entry === null || entry.subregistry !== registry) return;
  const places = await placesOf(scope, row.parent);
  await nameBelow(scope, { entry, places, isBack: false });
}

const claimedId = (label: Hex) => storageIdOf(BigInt(keccak256(hexToBytes(label))));

// A log that brings no new name still takes its share of what is left to be named.
async function nameBelow(
  scope: Scope,
  { entry, places, isBack }: { entry: Entry; places: readonly Place[]; isBack: boolean },
): Promise<void> {
  const { registry, subregistry, storageId } = entry;
  const leads =
    subregistry !== zeroAddress &&
    entry.expiry > scope.timestamp &&
    !scope.v2.fixedRegistries.has(subregistry);
  const below = leads && !isBack ? await presentPlaces(scope, subregistry) : [];
  const jobs = places
    .filter((place) => leads && !below.some(({ above }) => isSame(above, edgeOf(place, entry))))
    .map(({ place }) => ({ registry, place, storageId, count: 1, node: null }));
  await runNamingJobs(scope, jobs, (job, budget) => nameEntries(scope, job, budget));
}

const edgeOf = ({ registry: parent, place: parentPlace }: Place, { storageId }: Entry): Edge => ({
  parent,
  storageId,
  parentPlace,
});
const isSame = (one: Edge | undefined, other: Edge) =>
  one !== undefined &&
  one.parent === other.parent &&
  one.parentPlace === other.parentPlace &&
  one.storageId === other.storageId;

// Names as many of a job's entries as the budget allows (in rows), or takes away what a place that was given up had.
async function nameEntries(
  scope: Scope,
  job: NamingJob,
  budget: number,
): Promise<{ spent: number; rest: NamingJob[] }> {
  const { db, chainId } = scope;
  const { registry, node } = job;
  const places = node === null ? await placesOf(scope, registry) : [];
  const place = places.find((one) => one.place === job.place);
  if (node === null && place === undefined) return { spent: 1, rest: [] };
  let { storageId, count } = job;
  const rest: NamingJob[] = [];
  for (let spent = 1; ; ) {
    const entry: Entry | null = count > 0 ? await db.find(v2Entry, { chainId, registry, storageId }) : null;
    if (entry === null) return { spent, rest };
    if (spent >= budget) return { spent, rest: [...rest, { ...job, storageId, count }] };
    spent += 1;
    if (place === undefined) {
      const id = subnode(node as Hex, entry.labelhash);
      await db.delete(v2Domain, { chainId, id, registry, place: job.place });
    } else if (await nameAt(scope, place, entry)) {
      const put = await putSubregistry(scope, { place, entry });
      spent += put.spent;
      rest.push(...put.jobs);
    }
    if (entry.previous === null) return { spent, rest };
    storageId = entry.previous;
    count -= 1;
  }
}

/**
 * The registry's entry before a new one, which becomes its latest. Undefined for entries that exist, and where nobody needs it:
 * in registries whose place is fixed, and in those that prove nothing.
 */
export async function countEntry(scope: Scope, storageId: Hex): Promise<Hex | undefined> {
  const { db, chainId, emitter: registry } = scope;
  if (scope.v2.fixedRegistries.has(registry)) return undefined;
  const row = await db.find(v2Contract, { chainId, address: registry });
  if (!isProven(scope, row) || (await db.find(v2Entry, { chainId, registry, storageId })) !== null)
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
  { registry, tokenId }: { registry: Hex; tokenId: bigint },
): Promise<Hex | undefined> {
  const { db, chainId } = scope;
  const storageId = storageIdOf(tokenId);
  const places = await placesOf(scope, registry);
  const entry = places.length === 0 ? null : await db.find(v2Entry, { chainId, registry, storageId });
  if (entry === null || entry.tokenId !== tokenIdToHex(tokenId)) return undefined;
  let found: Place | undefined;
  for (const place of places) {
    const isBetter = found === undefined || (await isClaimed(scope, place));
    if (isBetter && (await isReached(scope, place))) found = place;
  }
  return found && subnode(found.node, entry.labelhash);
}

/** The id under which a registry stores what a token id, resource or labelhash names: its last four bytes are zero. */
export function storageIdOf(id: bigint): Hex {
  return tokenIdToHex(id & ~0xffff_ffffn);
}

type Below = Place & { above: Edge };

// Whether each place on the way up passes a test, which can also say that the rest does not matter. False beyond the deepest level.
async function passUpwards(
  scope: Scope,
  from: Place,
  passes: (place: Below, level: number) => boolean | "enough" | Promise<boolean | "enough">,
): Promise<boolean> {
  let place: Place | null = from;
  for (let level = 0; level < mostLevels && place !== null; level++) {
    const { above }: Place = place;
    if (above === undefined) return true;
    const passed = await passes({ ...place, above }, level);
    if (passed !== true) return passed === "enough";
    place = await placeAt(scope, above.parent, above.parentPlace);
  }
  return false;
}

// Each entry on the way is in force, and points at the next registry.
function isReached(scope: Scope, from: Place): Promise<boolean> {
  const { db, chainId, timestamp } = scope;
  return passUpwards(scope, from, async ({ registry, above }) => {
    const entry = await db.find(v2Entry, { chainId, registry: above.parent, storageId: above.storageId });
    return entry !== null && entry.subregistry === registry && entry.expiry > timestamp;
  });
}

// Each registry on the way claims to be there, or nothing.
function isClaimed(scope: Scope, from: Place): Promise<boolean> {
  const { db, chainId } = scope;
  return passUpwards(scope, from, async ({ registry, above }, level) => {
    const row = await db.find(v2Contract, { chainId, address: registry });
    if (!row?.parent || !row.parentLabel) return level > 0 && "enough";
    return row.parent === above.parent && claimedId(row.parentLabel) === above.storageId;
  });
}

/** Whether the emitter is a registry of the deployment, or one of known code that the factory put on the chain. */
export async function isProvenRegistry(scope: Scope): Promise<boolean> {
  const { db, chainId, emitter: address, v2 } = scope;
  return v2.fixedRegistries.has(address) || isProven(scope, await db.find(v2Contract, { chainId, address }));
}

// Anyone may have the factory deploy a proxy of any code, which then emits what it likes.
function isProven({ v2 }: Scope, row: ContractRow | null): boolean {
  const { userImplementations, wrapperImplementations } = v2;
  if (row === null || row.implementation === null) return false;
  if (wrapperImplementations.has(row.implementation)) return true;
  return userImplementations.size === 0 || userImplementations.has(row.implementation);
}

type Listed = Place & { isListed: boolean };

// Where a registry is, the oldest place first. New entries are listed only at as many places as it may have.
async function placesOf(scope: Scope, registry: Hex): Promise<Listed[]> {
  const fixed = scope.v2.fixedRegistries.get(registry);
  if (fixed !== undefined) return [{ ...fixed, registry, place: 0, isListed: true }];
  const row = await scope.db.find(v2Contract, { chainId: scope.chainId, address: registry });
  if (!isProven(scope, row)) return [];
  const places = await presentPlaces(scope, registry);
  const capacity = capacityOf(row?.entryCount ?? 0);
  const tooMany = (await rankUnclaimed(scope, { places, capacity })).slice(capacity);
  return places.map((place) => ({ ...place, isListed: !tooMany.includes(place) }));
}

async function presentPlaces({ db, chainId }: Scope, registry: Hex): Promise<Place[]> {
  const row = await db.find(v2Contract, { chainId, address: registry });
  const places: Place[] = [];
  for (const place of row?.places ?? []) {
    const found = await db.find(v2Place, { chainId, registry, place });
    if (found !== null) places.push({ ...found, above: found });
  }
  return places;
}

async function placeAt({ db, chainId, v2 }: Scope, registry: Hex, place: number): Promise<Place | null> {
  const fixed = v2.fixedRegistries.get(registry);
  if (fixed !== undefined) return { ...fixed, registry, place };
  const found = await db.find(v2Place, { chainId, registry, place });
  return found && { ...found, above: found };
}

/** What it cost, and what is to be named there. */
type Put = { spent: number; jobs: NamingJob[] };

// Puts the entry's subregistry under its name. A registry that is on the way to itself has no further place, one of unknown code none;
// one that the factory has yet to announce has.
async function putSubregistry(
  scope: Scope,
  { place: above, entry }: { place: Place; entry: Entry },
): Promise<Put> {
  const { db, chainId, naming } = scope;
  const { subregistry: registry, labelhash } = entry;
  if (registry === zeroAddress || entry.expiry <= scope.timestamp || scope.v2.fixedRegistries.has(registry))
    return { spent: 0, jobs: [] };
  const row = await db.find(v2Contract, { chainId, address: registry });
  if (row !== null && row.implementation !== null && !isProven(scope, row)) return { spent: 0, jobs: [] };
  const present = await presentPlaces(scope, registry);
  const edge = edgeOf(above, entry);
  const there = present.find((place) => isSame(place.above, edge));
  const spent = 1 + present.length;
  const jobs = (place: number): NamingJob[] =>
    row?.lastEntry
      ? [{ registry, place, storageId: row.lastEntry, count: row.entryCount ?? 0, node: null }]
      : [];
  if (there !== undefined) return { spent, jobs: jobs(there.place) };
  if (!(await passUpwards(scope, above, (place) => place.registry !== registry))) return { spent, jobs: [] };
  const { part } = naming.proven(labelhash, textOf(entry)) ?? naming.unknown(labelhash);
  const names = { node: subnode(above.node, labelhash), name: childName(part, above.name) ?? part };
  const place = (row?.placeCount ?? 0) + 1;
  const all = [...present, { registry, place, ...names, above: edge }];
  const capacity = capacityOf(row?.entryCount ?? 0);
  const outdone = await outdonePlace(scope, { places: all, capacity });
  if (outdone?.place === place) return { spent, jobs: [] };
  await db.insert(v2Place).values({ chainId, registry, place, ...names, ...edge });
  const places = all.filter((one) => one !== outdone).map((one) => one.place);
  await saveContract(scope, registry, { places, placeCount: place });
  if (outdone === undefined) return { spent, jobs: jobs(place) };
  await db.delete(v2Place, { chainId, registry, place: outdone.place });
  const left = jobs(outdone.place).map((job) => ({ ...job, node: outdone.node }));
  return { spent, jobs: [...left, ...jobs(place)] };
}

/** Places of a registry, the oldest first, and how many of those that it does not claim may be listed. */
type Bounded = { places: readonly Place[]; capacity: number };

// The place that is too many: one that is not reached, else the last by rank.
async function outdonePlace(scope: Scope, bounded: Bounded): Promise<Place | undefined> {
  const unclaimed = await rankUnclaimed(scope, bounded);
  if (unclaimed.length <= bounded.capacity) return undefined;
  for (const place of unclaimed) if (!(await isReached(scope, place))) return place;
  return unclaimed.at(-1);
}

// Those that the registry does not claim: the older half of the capacity, which nobody can displace, then the shortest, of these the oldest.
// None where all have room.
async function rankUnclaimed(scope: Scope, { places, capacity }: Bounded): Promise<Place[]> {
  if (places.length <= capacity) return [];
  const unclaimed: Place[] = [];
  for (const place of places) if (!(await isClaimed(scope, place))) unclaimed.push(place);
  const older = unclaimed.splice(0, Math.ceil(capacity / 2));
  const lengthOf = ({ name }: Place) => name.split(".").length;
  return [...older, ...unclaimed.sort((one, other) => lengthOf(one) - lengthOf(other))];
}

// Stores the entry's row there; false if it has none. An entry that is not listed there has one if it was, before the registry had as many.
async function nameAt(
  scope: Scope,
  { node: parentId, name: parentName, place, isListed }: Listed,
  entry: Entry,
): Promise<boolean> {
  const { db, chainId, naming, blockNumber: changeBlock } = scope;
  const { registry, labelhash, owner: ownerId, resolver: address, createdAt, subregistry } = entry;
  const id = subnode(parentId, labelhash);
  const resolverId = address === zeroAddress ? null : (await ensureResolver(scope, id, address)).id;
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
    await upsert(scope, v2Domain, { chainId, id, registry, place, ...names, createdAt }, state);
  } else if (!(await unlessMissing(db.update(v2Domain, { chainId, id, registry, place }).set(state))))
    return false;
  await ensureAccount(scope, ownerId);
  return true;
}

const textOf = ({ label }: Entry) => Buffer.from(label.slice(2), "hex").toString("utf8");
