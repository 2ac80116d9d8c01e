import type { Hex } from "viem";
import type { V2KnownContracts } from "../../deployments/namespaces.ts";
import { subnode, tokenIdToHex, zeroAddress } from "../../ens/nodes.ts";
import { v2Contract, type v2Entry, v2Role } from "../../schema/ensv2.ts";
import type { Scope } from "../scope.ts";

/** ProxyDeployed: the factory deployed a registry or a resolver. The proxy's own logs came before. */
export function applyProxyDeployed(
  scope: Scope,
  { proxyAddress, implementation }: { proxyAddress: Hex; implementation: Hex },
) {
  return save(scope, proxyAddress, { implementation });
}

/** ResolverCreated: the emitter keeps records under record ids. */
export function applyResolverCreated(scope: Scope) {
  return save(scope, scope.emitter, { hasRecordIds: true });
}

/** ParentUpdated: a claim; zero takes it back. */
export function applyParentUpdated(scope: Scope, { parent, label }: { parent: Hex; label: Hex }) {
  const isNone = parent === zeroAddress;
  return save(scope, scope.emitter, { parent: isNone ? null : parent, parentLabel: isNone ? null : label });
}

/** A registry of a locked name does not announce its parent: it is the entry that first points at it, at migration. */
export async function adoptWrapperRegistry(
  scope: Scope,
  { wrapperImplementations, nodes }: V2KnownContracts,
  { subregistry: address, entry }: { subregistry: Hex; entry: typeof v2Entry.$inferSelect },
): Promise<void> {
  const { db, chainId } = scope;
  const row = address === zeroAddress ? null : await db.find(v2Contract, { chainId, address });
  if (!row?.implementation || !wrapperImplementations.has(row.implementation) || row.parent !== null) return;
  const { registry: parent, label: parentLabel, labelhash } = entry;
  const above = nodes.get(parent) ?? (await db.find(v2Contract, { chainId, address: parent }))?.node;
  await save(scope, address, { parent, parentLabel, node: above ? subnode(above, labelhash) : null });
}

/** EACRolesChanged: the roles of an account on a resource, of a registry or any other contract, are now these. */
export async function applyRolesChanged(
  scope: Scope,
  { resource, account, newRoleBitmap }: { resource: bigint; account: Hex; newRoleBitmap: bigint },
): Promise<void> {
  if (account === zeroAddress || (newRoleBitmap & ~everyRole) !== 0n) return scope.report("odd-roles", scope);
  const key = { chainId: scope.chainId, address: scope.emitter, resource: tokenIdToHex(resource), account };
  const roles = tokenIdToHex(newRoleBitmap);
  await scope.db
    .insert(v2Role)
    .values({ ...key, roles })
    .onConflictDoUpdate({ roles });
}

// A role is the lowest of four bits.
const everyRole = BigInt(`0x${"1".repeat(64)}`);

function save({ db, chainId }: Scope, address: Hex, set: Partial<typeof v2Contract.$inferInsert>) {
  return db
    .insert(v2Contract)
    .values({ chainId, address, hasRecordIds: false, ...set })
    .onConflictDoUpdate(set);
}
