import type { Hex } from "viem";
import type { ControllerFacts, ManagedName } from "../deployments/deployment.ts";
import { accountId } from "../ens/caip-ids.ts";
import { subnode } from "../ens/nodes.ts";
import { decodedReferrer } from "../ens/registrations.ts";
import { storedList } from "../ponder/store.ts";
import { registrarAction, registrationLifecycle, subregistry } from "../schema/registrars.ts";
import type { Scope } from "./scope.ts";

// One registration or renewal as a user sees it consists of several events of one transaction: the base registrar's opens
// the action, the controller's and the referral contract's, which follow, complete it. The lifecycle row of the name
// remembers its newest action, so that events of other names in between do not interfere.

type Named = { managed: ManagedName; labelhash: Hex };
type ActionType = "registration" | "renewal";
type LifecycleRow = typeof registrationLifecycle.$inferSelect;

/** Base registrar NameRegistered: opens a registration and a new lifecycle. */
export async function applyRegistration(
  scope: Scope,
  { managed, labelhash, expires }: Named & { expires: bigint },
): Promise<void> {
  const subregistryId = accountId(scope.chainId, scope.emitter);
  const node = subnode(managed.node, labelhash);
  await scope.db.insert(subregistry).values({ subregistryId, node: managed.node }).onConflictDoNothing();
  const duration = expires - scope.timestamp;
  const lifecycle = { subregistryId, expiresAt: expires, ...actionReference(scope, duration) };
  await scope.db
    .insert(registrationLifecycle)
    .values({ node, ...lifecycle })
    .onConflictDoUpdate(lifecycle);
  await openAction(scope, { type: "registration", node, subregistryId, duration });
}

/** Base registrar NameRenewed: opens a renewal of the newest lifecycle. */
export async function applyRenewal(
  scope: Scope,
  { managed, labelhash, expires }: Named & { expires: bigint },
): Promise<void> {
  const node = subnode(managed.node, labelhash);
  const before = await findLifecycle(scope, node);
  if (before === null) {
    scope.report("unknown-lifecycle", scope);
    return;
  }
  const { subregistryId } = before;
  const duration = expires - before.expiresAt;
  await scope.db
    .update(registrationLifecycle, { node })
    .set({ expiresAt: expires, ...actionReference(scope, duration) });
  await openAction(scope, { type: "renewal", node, subregistryId, duration });
}

/** Controller event: adds prices and referrer to the newest action on the name, if it is of the same transaction. */
export async function applyControllerFacts(
  scope: Scope,
  managed: ManagedName,
  { labelhash, price, encodedReferrer }: ControllerFacts,
): Promise<void> {
  await completeAction(scope, subnode(managed.node, labelhash), {
    ...(price ? { ...price, total: price.baseCost + price.premium } : {}),
    ...referralOf(encodedReferrer),
  });
}

/** Referral contract RenewalReferred, after the controller's event: replaces the referrer. */
export async function applyReferral(
  scope: Scope,
  { managed, labelhash, encodedReferrer }: Named & { encodedReferrer: Hex },
): Promise<void> {
  await completeAction(scope, subnode(managed.node, labelhash), referralOf(encodedReferrer));
}

function findLifecycle({ db }: Scope, node: Hex): Promise<LifecycleRow | null> {
  return db.find(registrationLifecycle, { node });
}

// A negative duration makes no action: the lifecycle moves, and later events find nothing to complete.
function actionReference(scope: Scope, duration: bigint) {
  return duration < 0n
    ? { actionId: null, actionTransactionHash: null }
    : { actionId: scope.eventId, actionTransactionHash: scope.transactionHash };
}

async function openAction(
  scope: Scope,
  {
    type,
    node,
    subregistryId,
    duration,
  }: { type: ActionType; node: Hex; subregistryId: string; duration: bigint },
): Promise<void> {
  if (duration < 0n) {
    scope.report("negative-duration", scope);
    return;
  }
  await scope.db.insert(registrarAction).values({
    id: scope.eventId,
    type,
    subregistryId,
    node,
    incrementalDuration: duration,
    registrant: scope.sender,
    blockNumber: BigInt(scope.blockNumber),
    timestamp: scope.timestamp,
    transactionHash: scope.transactionHash,
    eventIds: [scope.eventId],
  });
}

async function completeAction(
  scope: Scope,
  node: Hex,
  facts: Partial<typeof registrarAction.$inferInsert>,
): Promise<void> {
  const lifecycle = await findLifecycle(scope, node);
  const id = lifecycle?.actionTransactionHash === scope.transactionHash ? lifecycle.actionId : null;
  const action = id ? await scope.db.find(registrarAction, { id }) : null;
  if (action === null) {
    scope.report("controller-without-registrar", scope);
    return;
  }
  await scope.db
    .update(registrarAction, { id: action.id })
    .set({ ...facts, eventIds: [...storedList(action, "eventIds"), scope.eventId] });
}

function referralOf(encodedReferrer: Hex | undefined) {
  return encodedReferrer === undefined
    ? {}
    : { encodedReferrer, decodedReferrer: decodedReferrer(encodedReferrer) };
}
