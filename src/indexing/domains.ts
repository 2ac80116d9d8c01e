import type { Hex } from "viem";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { isLabelOf } from "../ens/labels.ts";
import { v2Label } from "../schema/ensv2.ts";
import { domain } from "../schema/subgraph.ts";
import type { Scope } from "./scope.ts";

// `changeBlock` of a domain that is not stored yet.
const notStored = -1;

export type DomainRow = typeof domain.$inferSelect;

/** The domain of a node. A missing root is created in memory and stored with its first change. */
export async function findDomain(scope: Scope, node: Hex): Promise<DomainRow | undefined> {
  const row = await scope.db.find(domain, { id: node });
  if (row) return row;
  return node === rootNode ? buildRootDomain(scope) : undefined;
}

/** A domain of which only the node is known: its owner is zero, and it has no name. */
export function bareDomain(scope: Scope, node: Hex, isMigrated: boolean): DomainRow {
  return {
    id: node,
    name: null,
    labelName: null,
    labelhash: null,
    unrevealedName: null,
    parentId: null,
    subdomainCount: 0,
    resolvedAddressId: null,
    resolverId: null,
    ttl: null,
    isMigrated,
    ...pickHome(scope),
    createdAt: scope.timestamp,
    ownerId: zeroAddress,
    registrantId: null,
    wrappedOwnerId: null,
    expiryDate: null,
    changeBlock: notStored,
  };
}

/** Namespace and chain of the event's deployment. */
export const pickHome = ({ namespace, chainId }: Scope) => ({ namespace, chainId });

/**
 * The domain of a node that the registry should have named; a bare one if it did not (an index from the middle of the
 * history).
 */
export async function expectDomain(scope: Scope, node: Hex, isMigrated: boolean): Promise<DomainRow> {
  const row = await findDomain(scope, node);
  if (row) return row;
  scope.report("unknown-node", scope);
  return bareDomain(scope, node, isMigrated);
}

/** Stores `changes` of a domain, or the whole domain if it is not stored yet. */
export async function saveDomain(
  { db, blockNumber: changeBlock }: Scope,
  row: DomainRow,
  changes: Partial<DomainRow>,
): Promise<DomainRow> {
  return row.changeBlock === notStored
    ? db.insert(domain).values({ ...row, ...changes, changeBlock })
    : db.update(domain, { id: row.id }).set({ ...changes, changeBlock });
}

/** Counts a new subdomain of a domain, which is created if no event named it before. */
export async function countSubdomain(scope: Scope, parentNode: Hex, isMigrated: boolean): Promise<DomainRow> {
  const parent = await expectDomain(scope, parentNode, isMigrated);
  return saveDomain(scope, parent, { subdomainCount: parent.subdomainCount + 1 });
}

/**
 * subgraph: a domain without resolver, owner and subdomains counts as gone. Each save of such a domain lowers the
 * parent's count by one and tests the parent; the domain itself stays.
 */
export async function discountIfEmpty(scope: Scope, savedNode: Hex): Promise<void> {
  for (let node: Hex | null = savedNode; node !== null; ) {
    const row: DomainRow | null = await scope.db.find(domain, { id: node });
    if (!row || !isEmpty(row) || row.parentId === null) return;
    const parent: DomainRow | null = await scope.db.find(domain, { id: row.parentId });
    if (!parent) return;
    await saveDomain(scope, parent, { subdomainCount: parent.subdomainCount - 1 });
    node = parent.id;
  }
}

function isEmpty({ resolverId, ownerId, subdomainCount }: DomainRow): boolean {
  return (
    ownerId === zeroAddress &&
    subdomainCount === 0 &&
    (resolverId === null || resolverId.startsWith(zeroAddress))
  );
}

// subgraph: the root counts as migrated from the start, so that the old registry cannot change it.
function buildRootDomain(scope: Scope): DomainRow {
  return { ...bareDomain(scope, rootNode, true), name: scope.naming.rootName, createdAt: 0n };
}

/**
 * The label of a labelhash from the label source, else as ENSv2's label store announced it; undefined if neither has
 * it.
 */
export async function healedLabel(scope: Scope, labelhash: Hex): Promise<string | undefined> {
  const label = await scope.heal(labelhash);
  if (label !== undefined || !scope.isV2Indexed) return label;
  const announced = await scope.db.find(v2Label, { labelhash });
  if (announced === null) return undefined;
  const text = Buffer.from(announced.label.slice(2), "hex").toString("utf8");
  // Bytes that are not UTF-8 do not decode to the label.
  return isLabelOf(text, labelhash) ? text : undefined;
}
