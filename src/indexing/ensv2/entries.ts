import { type Hex, hexToBytes } from "viem";
import { subnode, tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { v2Contract, v2Entry } from "../../schema/ensv2.ts";
import { type Scope, upsert } from "../scope.ts";
import { addEntryEvent, type EntryEvent } from "./events.ts";
import { countEntry, nameClaim, nameEntry, saveContract as save, toStorageId } from "./registry-paths.ts";

// Entries of registries, as the contracts store them. The emitter may be any contract: a log that no registry could
// emit is reported and skipped, and an entry counts only if a name leads to its registry.

type EntryRow = typeof v2Entry.$inferSelect;
type TokenLabel = { tokenId: bigint; labelHash: Hex; label: Hex };
type Tokens = { operator: Hex; from: Hex; to: Hex; ids: readonly bigint[]; values: readonly bigint[] };

const versions = 0xffff_ffffn;
const maxLabelBytes = 255;

/**
 * LabelRegistered: replaces the whole entry. `sender` tells whether the name was migrated from the first generation.
 */
export async function applyLabelRegistered(
  scope: Scope,
  { owner, expiry, sender, ...label }: TokenLabel & { owner: Hex; expiry: bigint; sender: Hex },
): Promise<void> {
  const isMigrated = await isMigration(scope, sender);
  const migratedAt = isMigrated ? scope.timestamp : null;
  const values = { owner, expiry, migratedAt };
  if (!(await replaceEntry(scope, label, values))) return;
  const type = isMigrated ? "Migration" : "LabelRegistered";
  const tokenId = tokenIdToHex(label.tokenId);
  await addEntryEvent(scope, label.labelHash, { type, holder: owner, tokenId, sender, expiry });
}

// Migration controllers bring names under .eth; the registry of a locked name brings its subnames itself.
async function isMigration({ db, chainId, emitter, v2 }: Scope, sender: Hex): Promise<boolean> {
  if (sender !== emitter) return v2.migrators.has(sender) && v2.nodes.has(emitter);
  const registry = await db.find(v2Contract, { chainId, address: emitter });
  return registry !== null && registry.node !== null;
}

/** LabelReserved: replaces the whole entry, which then has no owner. */
export async function applyLabelReserved(
  scope: Scope,
  { expiry, ...label }: TokenLabel & { expiry: bigint },
): Promise<void> {
  if (!(await replaceEntry(scope, label, { owner: zeroAddress, expiry, migratedAt: null }))) return;
  const tokenId = tokenIdToHex(label.tokenId);
  await addEntryEvent(scope, label.labelHash, { type: "LabelReserved", tokenId, expiry });
}

/** LabelUnregistered: the entry expires now. Its pointers stay in storage, where a renewal finds them. */
export const applyLabelUnregistered = createChangeHandler((_args, { timestamp: expiry }) => ({
  set: { expiry },
  event: { type: "LabelUnregistered", expiry },
}));

/** ExpiryUpdated: also revives an expired entry. */
export const applyExpiryUpdated = createChangeHandler(({ newExpiry: expiry }: { newExpiry: bigint }) => ({
  set: { expiry },
  event: { type: "ExpiryUpdated", expiry },
}));

type SentBy<Name extends string> = Record<Name | "sender", Hex>;

/** ResolverUpdated: sets the entry's resolver. */
export const applyResolverUpdated = createChangeHandler(({ resolver, sender }: SentBy<"resolver">) => ({
  set: { resolver },
  event: { type: "ResolverUpdated", address: resolver, sender },
}));

const setSubregistry = createChangeHandler(({ subregistry, sender }: SentBy<"subregistry">) => ({
  set: { subregistry },
  event: { type: "SubregistryUpdated", address: subregistry, sender },
}));

/** SubregistryUpdated: the only event that puts a registry into the tree. */
export async function applySubregistryUpdated(
  scope: Scope,
  args: SentBy<"subregistry"> & { tokenId: bigint },
): Promise<void> {
  const entry = await setSubregistry(scope, args);
  if (entry && (await adoptWrapperRegistry(scope, entry))) await nameClaim(scope, entry.subregistry);
}

/** TokenRegenerated: a change of roles moved the token to a new id; the resource stays. */
export const applyTokenRegenerated = createChangeHandler(
  ({ tokenId, newTokenId }: { tokenId: bigint; newTokenId: bigint }, _, entry) =>
    toStorageId(newTokenId) === entry.storageId && tokenIdToHex(tokenId) === entry.tokenId
      ? { set: { tokenId: tokenIdToHex(newTokenId) } }
      : undefined,
);

/** TokenResource: the resource of a new registration's roles. */
export const applyTokenResource = createChangeHandler(
  ({ resource }: { resource: bigint }, _, { storageId }) =>
    toStorageId(resource) === storageId ? { set: { resource: tokenIdToHex(resource) } } : undefined,
);

/**
 * TransferSingle or TransferBatch. A burn before the expiry belongs to a change of roles, and TokenRegenerated follows.
 * A later burn ends a registration and raises both versions; it precedes the event that replaces the entry.
 */
export async function applyTokens(scope: Scope, { ids, values, ...parties }: Tokens): Promise<void> {
  if (ids.length !== values.length) return scope.report("odd-token-batch", scope);
  for (const [index, tokenId] of ids.entries()) {
    const value = values[index];
    if (value === 0n) continue;
    if (value !== 1n) return scope.report("odd-token-amount", scope);
    // A contract that moves a token it does not have is no registry: the rest of its list, of any length, is skipped.
    const transfer = { ...parties, tokenId, index: ids.length === 1 ? undefined : index };
    if (!(await move(scope, transfer))) return;
  }
}

type TokenTransfer = Pick<Tokens, "operator" | "from" | "to"> & {
  tokenId: bigint;
  index: number | undefined;
};

const move = createChangeHandler(
  ({ tokenId, operator, from, to, index }: TokenTransfer, { timestamp }, entry) => {
    if (entry.tokenId !== tokenIdToHex(tokenId)) return undefined;
    if (from !== zeroAddress && from !== entry.owner) return undefined;
    const event = {
      type: index === undefined ? "TransferSingle" : "TransferBatch",
      holder: to,
      address: from,
      tokenId: entry.tokenId,
      sender: operator,
      ...(index === undefined ? {} : { index }),
    };
    // Mints and burns belong to other events.
    if (to !== zeroAddress)
      return { set: to === entry.owner ? {} : { owner: to }, ...(from === zeroAddress ? {} : { event }) };
    if (timestamp < entry.expiry) return { set: {} };
    const { tokenId: token, resource } = entry;
    return {
      set: { owner: zeroAddress, tokenId: computeNextVersion(token), resource: computeNextVersion(resource) },
    };
  },
);

function computeNextVersion(id: Hex): Hex {
  const value = BigInt(id);
  return tokenIdToHex((value & ~versions) | ((value + 1n) & versions));
}

async function replaceEntry(
  scope: Scope,
  { tokenId, labelHash, label }: TokenLabel,
  values: Pick<EntryRow, "owner" | "expiry" | "migratedAt">,
): Promise<boolean> {
  const storageId = toStorageId(tokenId);
  const bytes = hexToBytes(label);
  const isLabel = bytes.length > 0 && bytes.length <= maxLabelBytes && keccak256(bytes) === labelHash;
  if (!isLabel || toStorageId(BigInt(labelHash)) !== storageId) {
    scope.report("malformed-label", scope);
    return false;
  }
  const parent = scope.v2.nodes.get(scope.emitter);
  const replaced = {
    ...values,
    labelhash: labelHash,
    label,
    node: parent ? subnode(parent, labelHash) : null,
    tokenId: tokenIdToHex(tokenId),
    resolver: zeroAddress,
    subregistry: zeroAddress,
    createdAt: scope.timestamp,
  };
  const before = await scope.db.find(v2Entry, buildKey(scope, storageId));
  const previous = await countEntry(scope, storageId);
  const first = { resource: storageId, previous: previous ?? null };
  const entry = await upsert(scope, v2Entry, { ...buildKey(scope, storageId), ...first }, replaced);
  await nameEntry(scope, { entry, isBack: false, left: before?.subregistry });
  return true;
}

/** Columns to set, and the event for histories. */
type EntryChange = { set: Partial<Omit<EntryRow, "chainId" | "registry" | "storageId">>; event?: EntryEvent };

// A handler that changes the entry of a token and returns it; undefined if it could not. It reports an unknown entry,
// and a change that contradicts the entry: `changes` returns undefined for it.
function createChangeHandler<Args extends object>(
  changes: (args: Args & { tokenId: bigint }, scope: Scope, entry: EntryRow) => EntryChange | undefined,
) {
  return async (scope: Scope, args: Args & { tokenId: bigint }): Promise<EntryRow | undefined> => {
    const key = buildKey(scope, toStorageId(args.tokenId));
    const before = await scope.db.find(v2Entry, key);
    const change = before && changes(args, scope, before);
    if (!change) {
      scope.report(before === null ? "unknown-entry" : "contradictory-entry", scope);
      return undefined;
    }
    const { set, event } = change;
    const updated = await scope.db.update(v2Entry, key).set(set);
    const isBack = updated.subregistry !== before.subregistry || before.expiry <= scope.timestamp;
    // Rows of names have no tokens or resources.
    if (Object.keys(set).some((key) => key !== "tokenId" && key !== "resource"))
      await nameEntry(scope, { entry: updated, isBack, left: before.subregistry });
    if (event !== undefined) await addEntryEvent(scope, updated.labelhash, event);
    return updated;
  };
}

function buildKey({ chainId, emitter: registry }: Scope, storageId: Hex) {
  return { chainId, registry, storageId };
}

/** ProxyDeployed: the factory deployed a registry or a resolver, whose own first logs precede it. */
export function applyProxyDeployed(
  scope: Scope,
  { sender: deployer, proxyAddress, implementation }: { sender: Hex; proxyAddress: Hex; implementation: Hex },
) {
  const { blockNumber, transactionHash } = scope;
  const created = { blockNumber, timestamp: Number(scope.timestamp), transactionHash };
  return save(scope, proxyAddress, { implementation, deployer, ...created });
}

/** Upgraded of a proxy of the factory: its code, first on deployment, before its roles and the factory's event. */
export async function applyUpgraded(
  scope: Scope,
  { implementation }: { implementation: Hex },
): Promise<void> {
  const row = await scope.db.find(v2Contract, { chainId: scope.chainId, address: scope.emitter });
  if (row?.implementation !== implementation)
    await save(scope, scope.emitter, row?.implementation ? { isUpgraded: true } : { implementation });
}

/** ResolverCreated: the emitter keeps records under record ids. */
export function applyResolverCreated(scope: Scope) {
  return save(scope, scope.emitter, { hasRecordIds: true });
}

/** ParentUpdated: the registry claims a parent; zero withdraws the claim. */
export async function applyParentUpdated(
  scope: Scope,
  { parent, label }: { parent: Hex; label: Hex },
): Promise<void> {
  const isNone = parent === zeroAddress;
  await save(scope, scope.emitter, { parent: isNone ? null : parent, parentLabel: isNone ? null : label });
  await nameClaim(scope, scope.emitter);
}

// A registry of a locked name does not announce its parent: it is under the registry that it was deployed for, by a
// migration controller or by that registry itself. Anybody else can deploy one for any name, and nobody knows which.
// Returns whether it was adopted now.
async function adoptWrapperRegistry(
  scope: Scope,
  { subregistry: address, registry: parent, label: parentLabel, labelhash }: EntryRow,
): Promise<boolean> {
  const { db, chainId, v2 } = scope;
  const row = address === zeroAddress ? null : await db.find(v2Contract, { chainId, address });
  if (!row?.implementation || !v2.wrapperImplementations.has(row.implementation) || row.node !== null)
    return false;
  if (row.deployer === null) return false;
  if (v2.lockedMigrators.has(row.deployer) ? !v2.nodes.has(parent) : row.deployer !== parent) return false;
  const above = v2.nodes.get(parent) ?? (await db.find(v2Contract, { chainId, address: parent }))?.node;
  if (!above) return false;
  await save(scope, address, { parent, parentLabel, node: subnode(above, labelhash) });
  return true;
}
