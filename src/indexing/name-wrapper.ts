import type { Hex } from "viem";
import { keccak256 } from "../ens/keccak.ts";
import { encodedLabel } from "../ens/labels.ts";
import { dnsLabels } from "../ens/names.ts";
import {
  gracePeriod,
  isEmancipated,
  isParentCannotControlBurned,
  toSignedFuses,
} from "../ens/registrations.ts";
import { v2KeptFuses } from "../schema/ensv2.ts";
import { wrappedDomain } from "../schema/subgraph.ts";
import { type DomainRow, expectDomain, findDomain, saveDomain } from "./domains.ts";
import { addDomainEvent, ensureAccount } from "./events.ts";
import { unrevealedName } from "./healing.ts";
import { type Scope, upsert } from "./scope.ts";

/** NameWrapped. `name` is in DNS wire format. */
export async function applyNameWrapped(
  scope: Scope,
  {
    node,
    name: wire,
    owner,
    fuses: rawFuses,
    expiry,
  }: { node: Hex; name: Hex; owner: Hex; fuses: number; expiry: bigint },
): Promise<void> {
  const fuses = toSignedFuses(rawFuses);
  const wrapped = decodeWrappedName(scope, wire);
  await ensureAccount(scope, owner);
  const before = await expectDomain(scope, node, true);
  await saveDomain(scope, before, {
    wrappedOwnerId: owner,
    ...(wrapped && isUnnamed(before) ? { ...wrapped, unrevealedName: unrevealedName(before) } : {}),
    ...raiseExpiry(before, fuses, expiry),
  });
  const values = {
    domainId: node,
    expiryDate: expiry,
    renewedExpiryDate: null,
    fuses,
    ownerId: owner,
    name: wrapped?.name ?? null,
    changeBlock: scope.blockNumber,
  };
  await upsert(scope, wrappedDomain, { id: node }, values);
  await addDomainEvent(scope, {
    type: "NameWrapped",
    domainId: node,
    name: wrapped?.name ?? null,
    fuses,
    ownerId: owner,
    expiryDate: expiry,
  });
}

/** NameUnwrapped. Registrations set the expiry of direct subnames of `managedNode`. */
export async function applyNameUnwrapped(
  scope: Scope,
  { node, owner, managedNode }: { node: Hex; owner: Hex; managedNode: Hex },
): Promise<void> {
  await ensureAccount(scope, owner);
  const before = await expectDomain(scope, node, true);
  const expiryDate = before.parentId === managedNode ? before.expiryDate : null;
  await saveDomain(scope, before, { wrappedOwnerId: null, expiryDate });
  await addDomainEvent(scope, { type: "NameUnwrapped", domainId: node, ownerId: owner });
  await keepFuses(scope, node);
  await scope.db.delete(wrappedDomain, { id: node });
}

// The name wrapper keeps fuses and expiry of names that it unwraps, and no later event repeats them.
async function keepFuses({ db, naming, chainId, rootChainId }: Scope, node: Hex): Promise<void> {
  if (naming.isSubgraphCompatible || chainId !== rootChainId) return;
  const wrapped = await db.find(wrappedDomain, { id: node });
  if (!wrapped || !isEmancipated(wrapped.fuses)) return;
  const { fuses, expiryDate } = wrapped;
  await db
    .insert(v2KeptFuses)
    .values({ node, fuses, expiryDate })
    .onConflictDoUpdate(({ expiryDate: kept }) => ({
      fuses,
      expiryDate: kept > expiryDate ? kept : expiryDate,
    }));
}

/** FusesSet: fuses of a wrapped name were burned. */
export async function applyFusesSet(
  scope: Scope,
  { node, fuses: raw }: { node: Hex; fuses: number },
): Promise<void> {
  const fuses = toSignedFuses(raw);
  await changeWrapped(scope, node, { fuses });
  await addDomainEvent(scope, { type: "FusesSet", domainId: node, fuses });
}

/** ExpiryExtended: the expiry of a wrapped name changed. */
export async function applyExpiryExtended(
  scope: Scope,
  { node, expiry }: { node: Hex; expiry: bigint },
): Promise<void> {
  await changeWrapped(scope, node, { expiryDate: expiry });
  await addDomainEvent(scope, { type: "ExpiryExtended", domainId: node, expiryDate: expiry });
}

async function changeWrapped(
  scope: Scope,
  node: Hex,
  set: { fuses: number } | { expiryDate: bigint },
): Promise<void> {
  const wrapped = await scope.db.find(wrappedDomain, { id: node });
  if (!wrapped) return;
  await scope.db.update(wrappedDomain, { id: node }).set({ ...set, changeBlock: scope.blockNumber });
  const { fuses, expiryDate } = { ...wrapped, ...set };
  const before = await findDomain(scope, node);
  const raised = before && raiseExpiry(before, fuses, expiryDate);
  if (raised) await saveDomain(scope, before, raised);
}

/**
 * A renewal through the name wrapper. If the wrapper holds the name in registry and registrar, its entry ends with the
 * lease's grace period. That end has its own column: the original subgraph knows only what the wrapper's events carry.
 */
export async function applyWrapperRenewal(
  scope: Scope,
  { node, wrapper, expires }: { node: Hex; wrapper: Hex; expires: bigint },
): Promise<void> {
  const holder = wrapper.toLowerCase();
  const domain = await findDomain(scope, node);
  if (domain?.ownerId !== holder || domain.registrantId !== holder) return;
  if ((await scope.db.find(wrappedDomain, { id: node })) === null) return;
  await scope.db.update(wrappedDomain, { id: node }).set({ renewedExpiryDate: expires + gracePeriod });
}

/** TransferSingle, or the item of TransferBatch at `index`. A mint precedes NameWrapped. */
export async function applyWrappedTransfer(
  scope: Scope,
  { node, operator, from, to, index }: { node: Hex; operator: Hex; from: Hex; to: Hex; index: number },
): Promise<void> {
  await ensureAccount(scope, to);
  await saveDomain(scope, await expectDomain(scope, node, true), { wrappedOwnerId: to });
  const placeholder = { id: node, domainId: node, expiryDate: 0n, fuses: 0 };
  await upsert(scope, wrappedDomain, placeholder, { ownerId: to, changeBlock: scope.blockNumber });
  const event = { type: "WrappedTransfer", domainId: node, fromId: from, ownerId: to, operatorId: operator };
  await addDomainEvent(scope, event, index);
}

// In subgraph mode, one unusable label voids the whole name; in others, the label is written as its hash. A label that
// ends in NUL is unusable, although the original strips the NUL: the stripped name would pass for another.
function decodeWrappedName(
  { naming }: Scope,
  wire: Hex,
): { labelName: string | null; name: string } | undefined {
  const labels = dnsLabels(wire);
  if (labels === undefined) return undefined;
  if (labels.length === 0) return { labelName: null, name: "." };
  const stored = labels.map((bytes) => {
    const labelhash = keccak256(bytes);
    const known = naming.known(labelhash, bytes.toString("utf8"));
    return known ?? (naming.isSubgraphCompatible ? undefined : naming.unknown(labelhash));
  });
  const [first] = stored;
  if (first === undefined || stored.includes(undefined)) return undefined;
  return { labelName: first.labelName, name: stored.map((label) => label?.part).join(".") };
}

function isUnnamed({ labelName, labelhash }: DomainRow): boolean {
  return labelName === null || (labelhash !== null && labelName === encodedLabel(labelhash));
}

function raiseExpiry({ expiryDate: before }: DomainRow, fuses: number, expiryDate: bigint) {
  const isRaised = before === null || expiryDate > before;
  return isParentCannotControlBurned(fuses) && isRaised ? { expiryDate } : undefined;
}
