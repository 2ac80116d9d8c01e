import { type Hex, hexToBytes } from "viem";
import { subnode, tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { maxLevels } from "../../ens/registrations.ts";
import { v2Contract, v2Domain, v2Entry, v2RegistryPath } from "../../schema/ensv2.ts";
import { ensureAccount, ensureResolver } from "../events.ts";
import { childName, type Scope, upsert } from "../scope.ts";
import { type NamingJob, runNamingJobs } from "./naming-jobs.ts";

// Names of entries, for lists of names. A registry has a path for each name that it is put under, and an entry has a
// row for each path of its registry. A change above rewrites no row: readers check whether a path is reached.

type PathEntry = typeof v2Entry.$inferSelect;
type ContractRow = typeof v2Contract.$inferSelect;
/** A name that a registry is under. A fixed registry has no entry `above`. */
type RegistryPath = { node: Hex; name: string; registry: Hex; path: number; above?: Edge };
/** The entry that leads to a registry, and the path of the entry's own registry. */
type Edge = { parent: Hex; storageId: Hex; parentPath: number };

// Anybody can put a registry under their names, so the names that it does not claim are limited. A registry with many
// entries is listed under fewer of them, so that the rows of a log do not multiply.
const maxUnclaimed = 64;
const fewUnclaimed = 8;
const maxRows = 1_024;

const computeCapacity = (entryCount: number) =>
  Math.max(fewUnclaimed, Math.min(maxUnclaimed, Math.floor(maxRows / Math.max(1, entryCount))));

/** Inserts or updates the row of a contract. */
export function saveContract(
  scope: Pick<Scope, "db" | "chainId">,
  address: Hex,
  set: Partial<typeof v2Contract.$inferInsert>,
) {
  const first = { chainId: scope.chainId, address, hasRecordIds: false, isUpgraded: false };
  return upsert(scope, v2Contract, first, set);
}

/**
 * Names the entry at each path of its registry, and the entries of its subregistry where the name is new or `isBack` in
 * force. `left`: the subregistry that it had before.
 */
export async function nameEntry(
  scope: Scope,
  { entry, isBack, left = zeroAddress }: { entry: PathEntry; isBack: boolean; left?: Hex | undefined },
): Promise<void> {
  const named: RegistryPath[] = [];
  for (const path of await readPaths(scope, entry.registry))
    if (await nameAt(scope, path, entry)) named.push(path);
  await nameBelow(scope, { entry, paths: named, isBack, left });
}

/** Puts the registry under the name that it claims, if the claimed entry points to it. */
export async function nameClaim(scope: Scope, registry: Hex): Promise<void> {
  const { db, chainId } = scope;
  const row = await db.find(v2Contract, { chainId, address: registry });
  if (!row?.parent || !row.parentLabel) return;
  const storageId = computeClaimedId(row.parentLabel);
  const entry = await db.find(v2Entry, { chainId, registry: row.parent, storageId });
  if (entry === null || entry.subregistry !== registry) return;
  const paths = await readPaths(scope, row.parent);
  await nameBelow(scope, { entry, paths, isBack: false, left: zeroAddress });
}

const computeClaimedId = (label: Hex) => toStorageId(BigInt(keccak256(hexToBytes(label))));

// A log without new names still works off its share of the waiting jobs.
async function nameBelow(
  scope: Scope,
  {
    entry,
    paths,
    isBack,
    left,
  }: { entry: PathEntry; paths: readonly RegistryPath[]; isBack: boolean; left: Hex },
): Promise<void> {
  const { registry, subregistry, storageId } = entry;
  const leads =
    subregistry !== zeroAddress &&
    entry.expiry > scope.timestamp &&
    !scope.v2.fixedRegistries.has(subregistry);
  const below = leads && !isBack ? await readPresentPaths(scope, subregistry) : [];
  const jobs: NamingJob[] = paths
    .filter((path) => leads && !below.some(({ above }) => isSame(above, buildEdge(path, entry))))
    .map(({ path }) => ({ registry, path, storageId, count: 1, node: null }));
  for (const one of new Set([registry, subregistry, left])) jobs.push(...(await moveHome(scope, one)));
  await runNamingJobs(scope, jobs, (job, budget) => nameEntries(scope, job, budget));
}

// Names all entries of a registry at its home once the home is another path, if the registry leaves names out.
async function moveHome(scope: Scope, registry: Hex): Promise<NamingJob[]> {
  const row = await scope.db.find(v2Contract, { chainId: scope.chainId, address: registry });
  if (!row?.leavesOut) return [];
  const home = await findHome(scope, await readPresentPaths(scope, registry));
  if (home === undefined || home.path === row.homePath) return [];
  await saveContract(scope, registry, { homePath: home.path });
  return listNamingJobs(home.path, row);
}

// The job that names all entries of a registry at a path.
const listNamingJobs = (path: number, row: ContractRow | null): NamingJob[] =>
  row?.lastEntry
    ? [{ registry: row.address, path, storageId: row.lastEntry, count: row.entryCount ?? 0, node: null }]
    : [];

const buildEdge = ({ registry: parent, path: parentPath }: RegistryPath, { storageId }: PathEntry): Edge => ({
  parent,
  storageId,
  parentPath,
});
const isSame = (one: Edge | undefined, other: Edge) =>
  one !== undefined &&
  one.parent === other.parent &&
  one.parentPath === other.parentPath &&
  one.storageId === other.storageId;

// Names as many of a job's entries as the budget allows (in rows), or deletes the rows of a path that was given up.
async function nameEntries(
  scope: Scope,
  job: NamingJob,
  budget: number,
): Promise<{ spent: number; rest: NamingJob[] }> {
  const { db, chainId } = scope;
  const { registry, node } = job;
  const paths = node === null ? await readPaths(scope, registry) : [];
  const path = paths.find((one) => one.path === job.path);
  if (node === null && path === undefined) return { spent: 1, rest: [] };
  let { storageId, count } = job;
  const rest: NamingJob[] = [];
  for (let spent = 1; ; ) {
    const entry: PathEntry | null =
      count > 0 ? await db.find(v2Entry, { chainId, registry, storageId }) : null;
    if (entry === null) return { spent, rest };
    if (spent >= budget) return { spent, rest: [...rest, { ...job, storageId, count }] };
    spent += 1;
    if (path === undefined) {
      const id = subnode(node as Hex, entry.labelhash);
      await db.delete(v2Domain, { chainId, id, registry, path: job.path });
    } else if (await nameAt(scope, path, entry)) {
      const put = await putSubregistry(scope, { path, entry });
      spent += put.spent;
      rest.push(...put.jobs);
    }
    if (entry.previous === null) return { spent, rest };
    storageId = entry.previous;
    count -= 1;
  }
}

/**
 * Makes a new entry its registry's latest; returns the one before. Undefined for an existing entry or a registry
 * without paths.
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
 * Node of the name that a token stands for now; undefined if its registry is of unknown code, or if no name leads
 * there.
 */
export async function nodeOfV2Token(
  scope: Scope,
  { registry, tokenId }: { registry: Hex; tokenId: bigint },
): Promise<Hex | undefined> {
  const { db, chainId } = scope;
  const storageId = toStorageId(tokenId);
  const paths = await readPaths(scope, registry);
  const entry = paths.length === 0 ? null : await db.find(v2Entry, { chainId, registry, storageId });
  if (entry === null || entry.tokenId !== tokenIdToHex(tokenId)) return undefined;
  let found: RegistryPath | undefined;
  for (const path of paths) {
    const isBetter = found === undefined || (await isClaimed(scope, path));
    if (isBetter && (await isReached(scope, path))) found = path;
  }
  return found && subnode(found.node, entry.labelhash);
}

/**
 * The id under which a registry stores the entry of a token id, resource or labelhash: its last four bytes are zero.
 */
export function toStorageId(id: bigint): Hex {
  return tokenIdToHex(id & ~0xffff_ffffn);
}

type Below = RegistryPath & { above: Edge };

// Whether each path on the way up passes a test, up to one for which the test returns "enough". False beyond the
// deepest level.
async function passUpwards(
  scope: Scope,
  from: RegistryPath,
  passes: (path: Below, level: number) => boolean | "enough" | Promise<boolean | "enough">,
): Promise<boolean> {
  let path: RegistryPath | null = from;
  for (let level = 0; level < maxLevels && path !== null; level++) {
    const { above }: RegistryPath = path;
    if (above === undefined) return true;
    const passed = await passes({ ...path, above }, level);
    if (passed !== true) return passed === "enough";
    path = await findPath(scope, above.parent, above.parentPath);
  }
  return false;
}

// The time (Unix seconds) until which each entry on the way is in force and points to the next registry; 0 if one does
// not now.
async function findReachEnd(scope: Scope, from: RegistryPath): Promise<bigint> {
  const { db, chainId, timestamp } = scope;
  let until = 2n ** 64n;
  const isReached = await passUpwards(scope, from, async ({ registry, above }) => {
    const entry = await db.find(v2Entry, { chainId, registry: above.parent, storageId: above.storageId });
    if (entry === null || entry.subregistry !== registry || entry.expiry <= timestamp) return false;
    if (entry.expiry < until) until = entry.expiry;
    return true;
  });
  return isReached ? until : 0n;
}

const isReached = async (scope: Scope, from: RegistryPath) => (await findReachEnd(scope, from)) > 0n;

// The path that leads to the registry for longest. All entries are listed there, whatever a bound leaves out elsewhere:
// an entry that the walk reaches has a name in lists, however many names strangers add.
async function findHome(scope: Scope, paths: readonly RegistryPath[]): Promise<RegistryPath | undefined> {
  let [home, longest]: [RegistryPath | undefined, bigint] = [undefined, 0n];
  for (const path of paths) {
    const until = await findReachEnd(scope, path);
    if (until > longest) [home, longest] = [path, until];
  }
  return home;
}

// Whether the registry claims to be there, and so does each one above it, up to one without a claim.
function isClaimed(scope: Scope, from: RegistryPath): Promise<boolean> {
  const { db, chainId } = scope;
  return passUpwards(scope, from, async ({ registry, above }, level) => {
    const row = await db.find(v2Contract, { chainId, address: registry });
    if (!row?.parent || !row.parentLabel) return level > 0 && "enough";
    return row.parent === above.parent && computeClaimedId(row.parentLabel) === above.storageId;
  });
}

/** Whether the emitter is a registry of the deployment, or one of known code that the factory deployed. */
export async function isProvenRegistry(scope: Scope): Promise<boolean> {
  const { db, chainId, emitter: address, v2 } = scope;
  return v2.fixedRegistries.has(address) || isProven(scope, await db.find(v2Contract, { chainId, address }));
}

/**
 * Whether the emitter is a proven registry or a resolver whose code the deployment has; undefined for any other
 * contract.
 */
export async function knownCode(scope: Scope): Promise<"registry" | "resolver" | undefined> {
  const { db, chainId, emitter: address, v2 } = scope;
  if (v2.fixedRegistries.has(address)) return "registry";
  const row = await db.find(v2Contract, { chainId, address });
  if (row?.implementation && v2.resolverImplementations.has(row.implementation))
    return row.isUpgraded ? undefined : "resolver";
  return isProven(scope, row) ? "registry" : undefined;
}

// Anybody may have the factory deploy a proxy of any code, which can emit anything.
function isProven({ v2 }: Scope, row: ContractRow | null): boolean {
  const { userImplementations, wrapperImplementations } = v2;
  if (row === null || row.implementation === null) return false;
  if (wrapperImplementations.has(row.implementation)) return true;
  return userImplementations.size === 0 || userImplementations.has(row.implementation);
}

type ListedPath = RegistryPath & { isListed: boolean };

// The paths of a registry, the oldest first. New entries are listed only at the paths within its capacity, and at its
// home.
async function readPaths(scope: Scope, registry: Hex): Promise<ListedPath[]> {
  const fixed = scope.v2.fixedRegistries.get(registry);
  if (fixed !== undefined) return [{ ...fixed, registry, path: 0, isListed: true }];
  const row = await scope.db.find(v2Contract, { chainId: scope.chainId, address: registry });
  if (!isProven(scope, row)) return [];
  const paths = await readPresentPaths(scope, registry);
  const capacity = computeCapacity(row?.entryCount ?? 0);
  const tooMany = (await rankUnclaimed(scope, { paths, capacity })).slice(capacity);
  if (tooMany.length === 0) return paths.map((path) => ({ ...path, isListed: true }));
  if (!row?.leavesOut) await leaveOut(scope, registry);
  const home = await findHome(scope, paths);
  return paths.map((path) => ({ ...path, isListed: path === home || !tooMany.includes(path) }));
}

async function leaveOut(scope: Scope, registry: Hex): Promise<void> {
  await saveContract(scope, registry, { leavesOut: true });
  scope.report("names-left-out", scope);
}

async function readPresentPaths({ db, chainId }: Scope, registry: Hex): Promise<RegistryPath[]> {
  const row = await db.find(v2Contract, { chainId, address: registry });
  const paths: RegistryPath[] = [];
  for (const path of row?.paths ?? []) {
    const found = await db.find(v2RegistryPath, { chainId, registry, path });
    if (found !== null) paths.push({ ...found, above: found });
  }
  return paths;
}

async function findPath(
  { db, chainId, v2 }: Scope,
  registry: Hex,
  path: number,
): Promise<RegistryPath | null> {
  const fixed = v2.fixedRegistries.get(registry);
  if (fixed !== undefined) return { ...fixed, registry, path };
  const found = await db.find(v2RegistryPath, { chainId, registry, path });
  return found && { ...found, above: found };
}

/** The rows spent, and the jobs that follow. */
type Put = { spent: number; jobs: NamingJob[] };

// Puts the entry's subregistry under its name. A registry on the way to itself gets no further path, and neither does
// one of unknown code. A registry that the factory has yet to announce gets one.
async function putSubregistry(
  scope: Scope,
  { path: above, entry }: { path: RegistryPath; entry: PathEntry },
): Promise<Put> {
  const { db, chainId, naming } = scope;
  const { subregistry: registry, labelhash } = entry;
  if (registry === zeroAddress || entry.expiry <= scope.timestamp || scope.v2.fixedRegistries.has(registry))
    return { spent: 0, jobs: [] };
  const row = await db.find(v2Contract, { chainId, address: registry });
  if (row !== null && row.implementation !== null && !isProven(scope, row)) return { spent: 0, jobs: [] };
  const present = await readPresentPaths(scope, registry);
  const edge = buildEdge(above, entry);
  const there = present.find((path) => isSame(path.above, edge));
  const spent = 1 + present.length;
  const jobs = (path: number) => listNamingJobs(path, row);
  if (there !== undefined) return { spent, jobs: jobs(there.path) };
  if (!(await passUpwards(scope, above, (path) => path.registry !== registry))) return { spent, jobs: [] };
  const { part } = naming.proven(labelhash, decodeLabel(entry)) ?? naming.unknown(labelhash);
  const names = { node: subnode(above.node, labelhash), name: childName(part, above.name) ?? part };
  const path = (row?.pathCount ?? 0) + 1;
  const all = [...present, { registry, path, ...names, above: edge }];
  const capacity = computeCapacity(row?.entryCount ?? 0);
  const outdone = await findOutdonePath(scope, { paths: all, capacity });
  if (outdone !== undefined) await leaveOut(scope, registry);
  if (outdone?.path === path) return { spent, jobs: [] };
  await db.insert(v2RegistryPath).values({ chainId, registry, path, ...names, ...edge });
  const paths = all.filter((one) => one !== outdone).map((one) => one.path);
  await saveContract(scope, registry, { paths, pathCount: path });
  if (outdone === undefined) return { spent, jobs: jobs(path) };
  await db.delete(v2RegistryPath, { chainId, registry, path: outdone.path });
  const left = jobs(outdone.path).map((job) => ({ ...job, node: outdone.node }));
  return { spent, jobs: [...left, ...jobs(path)] };
}

/** Paths of a registry, the oldest first, and how many of those that it does not claim may be listed. */
type Bounded = { paths: readonly RegistryPath[]; capacity: number };

// The path that exceeds the capacity: one that is not reached, else the last by rank. Never the home.
async function findOutdonePath(scope: Scope, bounded: Bounded): Promise<RegistryPath | undefined> {
  const unclaimed = await rankUnclaimed(scope, bounded);
  if (unclaimed.length <= bounded.capacity) return undefined;
  for (const path of unclaimed) if (!(await isReached(scope, path))) return path;
  const home = await findHome(scope, bounded.paths);
  return unclaimed.findLast((path) => path !== home);
}

// The paths that the registry does not claim, by rank: the older half of the capacity, which nobody can displace, then
// the shortest, then the oldest. Empty if all paths fit.
async function rankUnclaimed(scope: Scope, { paths, capacity }: Bounded): Promise<RegistryPath[]> {
  if (paths.length <= capacity) return [];
  const unclaimed: RegistryPath[] = [];
  for (const path of paths) if (!(await isClaimed(scope, path))) unclaimed.push(path);
  const older = unclaimed.splice(0, Math.ceil(capacity / 2));
  const lengthOf = ({ name }: RegistryPath) => name.split(".").length;
  return [...older, ...unclaimed.sort((one, other) => lengthOf(one) - lengthOf(other))];
}

// Stores the entry's row at a path; false if it has none. At an unlisted path, the entry has a row only if it was
// listed there before.
async function nameAt(
  scope: Scope,
  { node: parentId, name: parentName, path, isListed }: ListedPath,
  entry: PathEntry,
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
  const key = { chainId, id, registry, path };
  if (isListed) {
    const { labelName, part } = naming.proven(labelhash, decodeLabel(entry)) ?? naming.unknown(labelhash);
    const name = childName(part, parentName) ?? part;
    const names = { name, labelName: labelName ?? part, labelhash, parentId };
    await upsert(scope, v2Domain, { ...key, ...names, createdAt }, state);
  } else {
    if ((await db.find(v2Domain, key)) === null) return false;
    await db.update(v2Domain, key).set(state);
  }
  await ensureAccount(scope, ownerId);
  return true;
}

const decodeLabel = ({ label }: PathEntry) => Buffer.from(label.slice(2), "hex").toString("utf8");
