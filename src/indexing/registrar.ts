import type { Hex } from "viem";
import type { ControllerFacts, ManagedName } from "../deployments/deployment.ts";
import { accountId, subnode } from "../ens/ids.ts";
import { decodedReferrer, gracePeriod } from "../ens/registrations.ts";
import { registrarAction, registrationLifecycle, subregistry } from "../schema/registrars.ts";
import { registration, wrappedDomain } from "../schema/subgraph.ts";
import { findActor } from "./actors.ts";
import { type DomainRow, expectDomain, findDomain, healedLabel, pickHome, saveDomain } from "./domains.ts";
import { addRegistrationEvent, ensureAccount, isOwnedBy } from "./events.ts";
import { applyNewOwner } from "./registry.ts";
import { childName, type Scope, type StoredLabel, upsert } from "./scope.ts";

type Registered = { managed: ManagedName; labelhash: Hex };

/** Base registrar NameRegistered: a name was registered, or re-registered. */
export async function applyNameRegistered(
  scope: Scope,
  { managed, labelhash, owner, expires }: Registered & { owner: Hex; expires: bigint },
): Promise<void> {
  const { db, naming } = scope;
  const node = subnode(managed.node, labelhash);
  const known = naming.proven(labelhash, await healedLabel(scope, labelhash));
  let before = await findDomain(scope, node);
  if (before === undefined) {
    // On other chains a registrar may hold names that the registry does not have yet; on the root chain that is an
    // anomaly.
    if (scope.chainId === scope.rootChainId) scope.report("unknown-node", scope);
    await applyNewOwner(scope, { parentNode: managed.node, labelhash, owner, isOldRegistry: false });
    before = await expectDomain(scope, node, true);
  }
  if (!isOwnedBy(before, owner)) await ensureAccount(scope, owner);
  // subgraph: a name that lapsed while wrapped and is registered anew is no longer wrapped (since June 2026).
  const leavesWrapper = naming.isSubgraphCompatible && before.wrappedOwnerId !== null;
  if (leavesWrapper) await db.delete(wrappedDomain, { id: node });
  await saveDomain(scope, before, {
    registrantId: owner,
    expiryDate: expires + gracePeriod,
    ...pickHome(scope),
    ...(leavesWrapper ? { wrappedOwnerId: null } : {}),
    ...buildNameUnder(scope, { managed, labelhash }, known, before),
  });
  await startRegistration(scope, { node, labelhash, known, registrantId: owner, expires });
}

type NewRegistration = {
  node: Hex;
  labelhash: Hex;
  known: StoredLabel | undefined;
  registrantId: Hex;
  expires: bigint;
};

/** Stores a new registration and its event. With an unknown label, the stored label stays. */
export async function startRegistration(
  scope: Scope,
  { node, labelhash, known, registrantId, expires: expiryDate }: NewRegistration,
): Promise<void> {
  const { db, naming, blockNumber: changeBlock, timestamp: registrationDate } = scope;
  const id = naming.registrationId(node, labelhash);
  const set = { domainId: node, registrationDate, expiryDate, registrantId, changeBlock };
  const { labelName } = known ?? naming.unknown(labelhash);
  await db
    .insert(registration)
    .values({ id, ...set, labelName })
    .onConflictDoUpdate(known ? { ...set, labelName } : set);
  await addRegistrationEvent(scope, { type: "NameRegistered", registrationId: id, registrantId, expiryDate });
}

// subgraph: an unknown label leaves the name unchanged. With several chains, the registry may not know the names above,
// so the name is written under the registrar's own; a known label stays.
function buildNameUnder(
  { naming }: Scope,
  { managed, labelhash }: Registered,
  known: StoredLabel | undefined,
  before: DomainRow,
): Partial<DomainRow> {
  const unrevealedName = null;
  if (known) return { labelName: known.labelName, name: childName(known.part, managed.name), unrevealedName };
  if (naming.isSubgraphCompatible) return {};
  const { labelName } = before.labelName ? before : naming.unknown(labelhash);
  return { labelName, name: labelName && childName(labelName, managed.name), unrevealedName };
}

/** Base registrar NameRenewed: a registration was extended. */
export async function applyNameRenewed(
  scope: Scope,
  { managed, labelhash, expires }: Registered & { expires: bigint },
): Promise<void> {
  await extendRegistration(scope, buildIds(scope, { managed, labelhash }), { expires, grace: gracePeriod });
}

/** Moves the expiry of a registration, and with the grace period that of its domain. */
export async function extendRegistration(
  scope: Scope,
  { node, id }: { node: Hex; id: Hex },
  { expires, grace }: { expires: bigint; grace: bigint },
): Promise<void> {
  const { db, blockNumber: changeBlock } = scope;
  if ((await db.find(registration, { id })) === null) return scope.report("unknown-registration", scope);
  await db.update(registration, { id }).set({ expiryDate: expires, changeBlock });
  const named = await findDomain(scope, node);
  if (named) await saveDomain(scope, named, { expiryDate: expires + grace });
  await addRegistrationEvent(scope, { type: "NameRenewed", registrationId: id, expiryDate: expires });
}

/** Base registrar Transfer: the token of a registration was transferred. A first mint precedes the registration. */
export async function applyNameTransferred(
  scope: Scope,
  { managed, labelhash, from, to }: Registered & { from: Hex; to: Hex },
): Promise<void> {
  await ensureAccount(scope, to);
  const { node, id } = buildIds(scope, { managed, labelhash });
  const { db, blockNumber } = scope;
  if (!(await db.find(registration, { id }))) return;
  await db.update(registration, { id }).set({ registrantId: to, changeBlock: blockNumber });
  const named = await findDomain(scope, node);
  if (named) await saveDomain(scope, named, { registrantId: to });
  const event = { type: "NameTransferred", registrationId: id, fromId: from, newOwnerId: to };
  await addRegistrationEvent(scope, event);
}

/**
 * Controller NameRegistered or NameRenewed. Only this event carries the label and, in most cases, the price, which is
 * otherwise 0.
 */
export async function applyControllerLabel(
  scope: Scope,
  managed: ManagedName,
  { labelhash, label, price }: ControllerFacts,
): Promise<void> {
  const { naming } = scope;
  const known = naming.known(labelhash, label);
  // subgraph: an unusable label voids the whole event, including its price.
  if (known === undefined && naming.isSubgraphCompatible) return;
  const cost = price === undefined ? 0n : price.baseCost + price.premium;
  await setLabel(scope, { managed, labelhash }, known, { cost });
}

/** Applies a label that was proven outside of the registrar to the registration and the domain. */
export async function applyProvenLabel(
  scope: Scope,
  managed: ManagedName,
  { labelhash, label }: { labelhash: Hex; label: string },
): Promise<void> {
  const known = scope.naming.known(labelhash, label);
  if (known !== undefined) await setLabel(scope, { managed, labelhash }, known, {});
}

async function setLabel(
  scope: Scope,
  { managed, labelhash }: Registered,
  known: StoredLabel | undefined,
  changes: { cost?: bigint },
): Promise<void> {
  const { db, blockNumber } = scope;
  const { node, id } = buildIds(scope, { managed, labelhash });
  const stored = await db.find(registration, { id });
  const label = known && { labelName: known.labelName };
  if (stored) await db.update(registration, { id }).set({ ...changes, ...label, changeBlock: blockNumber });
  // An event that names a registration also names its domain.
  if (known === undefined || (stored && isNamedSo(stored, known))) return;
  const before = await findDomain(scope, node);
  if (before === undefined || isNamedSo(before, known)) return;
  await saveDomain(scope, before, {
    ...label,
    name: childName(known.part, managed.name),
    unrevealedName: null,
  });
}

function isNamedSo({ labelName }: { labelName: string | null }, known: StoredLabel): boolean {
  return labelName !== null && labelName === known.labelName;
}

function buildIds({ naming }: Scope, { managed, labelhash }: Registered) {
  const node = subnode(managed.node, labelhash);
  return { node, id: naming.registrationId(node, labelhash) };
}

// A registration or renewal as a user sees it consists of several events of one transaction: the base registrar's opens
// the action, and the controller's and the referral contract's complete it. The name's lifecycle row holds its newest
// action, so that events of other names in between do not interfere.

type ActionRow = typeof registrarAction.$inferInsert;
type RegistrarAction = Pick<ActionRow, "node" | "subregistryId"> & {
  type: "registration" | "renewal";
  duration: bigint;
};

/**
 * Base registrar NameRegistered: opens a registration and a new lifecycle. A name that ENSv2's Graveyard takes is not
 * leased.
 */
export async function applyRegistration(
  scope: Scope,
  { managed, labelhash, owner, expires }: Registered & { owner: Hex; expires: bigint },
): Promise<void> {
  if (scope.v2.graveyards.has(owner.toLowerCase())) return;
  const subregistryId = accountId(scope.chainId, scope.emitter);
  const node = subnode(managed.node, labelhash);
  await scope.db.insert(subregistry).values({ subregistryId, node: managed.node }).onConflictDoNothing();
  const duration = expires - scope.timestamp;
  const lifecycle = { subregistryId, expiresAt: expires, ...buildActionReference(scope, duration) };
  await upsert(scope, registrationLifecycle, { node }, lifecycle);
  await openAction(scope, { type: "registration", node, subregistryId, duration });
}

/** Base registrar NameRenewed: opens a renewal of the newest lifecycle. */
export async function applyRenewal(
  scope: Scope,
  { managed, labelhash, expires }: Registered & { expires: bigint },
): Promise<void> {
  const node = subnode(managed.node, labelhash);
  const before = await scope.db.find(registrationLifecycle, { node });
  if (before === null) {
    scope.report("unknown-lifecycle", scope);
    return;
  }
  const { subregistryId } = before;
  const duration = expires - before.expiresAt;
  await scope.db
    .update(registrationLifecycle, { node })
    .set({ expiresAt: expires, ...buildActionReference(scope, duration) });
  await openAction(scope, { type: "renewal", node, subregistryId, duration });
}

/**
 * Controller or referral event: adds prices and referrer to the newest action on the name, if it is of the same
 * transaction.
 */
export function applyControllerFacts(
  scope: Scope,
  managed: ManagedName,
  { labelhash, price, encodedReferrer }: Omit<ControllerFacts, "label">,
): Promise<void> {
  return completeAction(scope, subnode(managed.node, labelhash), {
    ...(price && { ...price, total: price.baseCost + price.premium }),
    ...(encodedReferrer && { encodedReferrer, decodedReferrer: decodedReferrer(encodedReferrer) }),
  });
}

// A negative duration opens no action: the lifecycle moves, and later events find nothing to complete.
function buildActionReference(scope: Scope, duration: bigint) {
  return duration < 0n
    ? { actionId: null, actionTransactionHash: null }
    : { actionId: scope.eventId, actionTransactionHash: scope.transactionHash };
}

/** Adds an action on a node's name, with the facts that its event carries. */
export async function openAction(
  scope: Scope,
  { duration, ...action }: RegistrarAction,
  facts: Partial<ActionRow> = {},
): Promise<void> {
  if (duration < 0n) {
    scope.report("negative-duration", scope);
    return;
  }
  await scope.db.insert(registrarAction).values({
    id: scope.eventId,
    ...{ ...action, ...facts },
    incrementalDuration: duration,
    registrant: await findActor(scope),
    blockNumber: BigInt(scope.blockNumber),
    timestamp: scope.timestamp,
    transactionHash: scope.transactionHash,
    eventIds: [scope.eventId],
  });
}

/** Adds facts to the newest action on a node's name, if it is of the same transaction. */
export async function completeAction(scope: Scope, node: Hex, facts: Partial<ActionRow>): Promise<void> {
  const lifecycle = await scope.db.find(registrationLifecycle, { node });
  const id = lifecycle?.actionTransactionHash === scope.transactionHash ? lifecycle.actionId : null;
  const action = id ? await scope.db.find(registrarAction, { id }) : null;
  if (action === null) {
    scope.report("controller-without-registrar", scope);
    return;
  }
  await scope.db
    .update(registrarAction, { id: action.id })
    .set({ ...facts, eventIds: [...(action.eventIds ?? []), scope.eventId] });
}
