import type { Hex } from "viem";
import { addrReverseNode, rootNode, subnode, zeroAddress } from "../ens/ids.ts";
import { resolver } from "../schema/subgraph.ts";
import {
  bareDomain,
  countSubdomain,
  type DomainRow,
  discountIfEmpty,
  expectDomain,
  findDomain,
  healedLabel,
  saveDomain,
} from "./domains.ts";
import { addDomainEvent, ensureAccount, ensureResolver } from "./events.ts";
import { reverseLabel } from "./reverse-labels.ts";
import { childName, type Scope, type StoredLabel } from "./scope.ts";

// The registry was deployed twice. Nodes that the new registry names are migrated; the old one's later events for them
// are ignored.

type Origin = { isOldRegistry: boolean };

type Owned = { parentNode: Hex; labelhash: Hex; owner: Hex };

// The new registry, which emits most events, leaves the column null.
const buildOrigin = (isOldRegistry: boolean) => (isOldRegistry ? { fromOldRegistry: true } : {});

/**
 * Registry NewOwner: a subname was created, or its parent set another owner. `label` is called for the label of an
 * unnamed node.
 */
export async function applyNewOwner(
  scope: Scope,
  { parentNode, labelhash, owner, isOldRegistry }: Owned & Origin,
  label = (): Promise<StoredLabel | undefined> => findProvenLabel(scope, { parentNode, labelhash, owner }),
): Promise<void> {
  const node = subnode(parentNode, labelhash);
  const before = await findDomain(scope, node);
  if (isOldRegistry && before?.isMigrated) return;
  await ensureAccount(scope, owner);

  const isMigrated = !isOldRegistry;
  const counts = before === undefined || before.parentId === null;
  const needsName = before === undefined || before.name === null;
  const parent = counts
    ? await countSubdomain(scope, parentNode, isMigrated)
    : needsName && (await expectDomain(scope, parentNode, isMigrated));

  const changes = {
    ownerId: owner,
    parentId: parentNode,
    labelhash,
    isMigrated,
    ...(parent && needsName ? buildName(scope, labelhash, await label(), { parent, before }) : {}),
  };
  await saveDomain(scope, before ?? bareDomain(scope, node, isMigrated), changes);
  if (owner === zeroAddress) await discountIfEmpty(scope, node);
  await addDomainEvent(scope, {
    type: "NewOwner",
    domainId: node,
    parentDomainId: parentNode,
    ownerId: owner,
    ...buildOrigin(isOldRegistry),
  });
}

// subgraph: a name is built once, and not again when a label above becomes known.
function buildName(
  { naming }: Scope,
  labelhash: Hex,
  known: StoredLabel | undefined,
  { parent, before }: { parent: DomainRow; before: DomainRow | undefined },
) {
  const { labelName, part } = known ?? naming.unknown(labelhash);
  const name = parent.id === rootNode ? part : childName(part, parent.name);
  // subgraph: the empty string is stored as null.
  return {
    name: name || null,
    labelName: known ? labelName : (before?.labelName ?? labelName),
    unrevealedName: childName(part, parent.unrevealedName),
  };
}

async function findProvenLabel(scope: Scope, { parentNode, labelhash, owner }: Owned) {
  const reverse = parentNode === addrReverseNode ? await reverseLabel(scope, labelhash, owner) : undefined;
  return scope.naming.proven(labelhash, reverse ?? (await healedLabel(scope, labelhash)));
}

/** Registry Transfer: the owner of a node changed. */
export async function applyRegistryTransfer(
  scope: Scope,
  { node, owner, isOldRegistry }: { node: Hex; owner: Hex } & Origin,
): Promise<void> {
  const before = await expectDomain(scope, node, !isOldRegistry);
  if (isOldRegistry && before.isMigrated) return;
  await ensureAccount(scope, owner);
  await saveDomain(scope, before, { ownerId: owner });
  if (owner === zeroAddress) await discountIfEmpty(scope, node);
  await addDomainEvent(scope, {
    type: "Transfer",
    domainId: node,
    ownerId: owner,
    ...buildOrigin(isOldRegistry),
  });
}

/**
 * Registry NewResolver: a node got another resolver, or none. Only the root chain's registry links domains to
 * resolvers.
 */
export async function applyNewResolver(
  scope: Scope,
  { node, resolver: address, isOldRegistry }: { node: Hex; resolver: Hex } & Origin,
): Promise<void> {
  const before = await expectDomain(scope, node, !isOldRegistry);
  // subgraph: the root's resolver is taken from the old registry too, although the root counts as migrated.
  if (isOldRegistry && node !== rootNode && before.isMigrated) return;

  const link = await linkResolver(scope, node, address);
  const links = scope.chainId === scope.rootChainId;
  if (links) await saveDomain(scope, before, link);
  if (before.ownerId === zeroAddress && (links || link.resolverId === null))
    await discountIfEmpty(scope, node);
  await addDomainEvent(scope, {
    type: "NewResolver",
    domainId: node,
    resolverId: link.resolverId ?? zeroAddress,
    ...buildOrigin(isOldRegistry),
  });
}

async function linkResolver(scope: Scope, node: Hex, address: Hex) {
  if (address === zeroAddress) return { resolverId: null, resolvedAddressId: null };
  const { id, isNew } = await ensureResolver(scope, node, address);
  const known = isNew ? null : await scope.db.find(resolver, { id });
  return { resolverId: id, resolvedAddressId: known?.addrId ?? null };
}

/** Registry NewTTL: the time to live of a node's records changed. */
export async function applyNewTtl(
  scope: Scope,
  { node, ttl, isOldRegistry }: { node: Hex; ttl: bigint } & Origin,
): Promise<void> {
  const before = await findDomain(scope, node);
  if (isOldRegistry && before?.isMigrated) return;
  if (before) await saveDomain(scope, before, { ttl });
  else scope.report("unknown-node", scope);
  await addDomainEvent(scope, { type: "NewTTL", domainId: node, ttl, ...buildOrigin(isOldRegistry) });
}
