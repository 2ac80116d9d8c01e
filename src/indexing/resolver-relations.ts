import type { Hex } from "viem";
import { subnode, zeroAddress } from "../ens/nodes.ts";
import { domainResolverRelation, migratedNode } from "../schema/protocol-acceleration.ts";
import type { Scope } from "./scope.ts";

type Relation = { registry: Hex; node: Hex; resolver: Hex };

/** NewResolver: `registry` holds another resolver for the node, or none. */
export async function setRelation(scope: Scope, { registry, node, resolver }: Relation): Promise<void> {
  const key = { chainId: scope.chainId, address: registry, domainId: node };
  if (resolver === zeroAddress) await scope.db.delete(domainResolverRelation, key);
  else
    await scope.db
      .insert(domainResolverRelation)
      .values({ ...key, resolver })
      .onConflictDoUpdate({ resolver });
}

/** NewResolver of the older registry of the root chain, which counts until the newer one names the node. */
export async function setFormerRelation(scope: Scope, relation: Relation): Promise<void> {
  const isMigrated = await scope.db.find(migratedNode, { node: relation.node });
  if (!isMigrated) await setRelation(scope, relation);
}

/**
 * NewOwner of the newer registry of the root chain: from now on it is authoritative for the subname, which has no
 * resolver until one is set (the registry's fallback to the older one ends with the first owner).
 */
export async function migrateSubname(
  scope: Scope,
  { registry, parentNode, labelhash }: { registry: Hex; parentNode: Hex; labelhash: Hex },
): Promise<void> {
  const node = subnode(parentNode, labelhash);
  if (await scope.db.find(migratedNode, { node })) return;
  await scope.db.insert(migratedNode).values({ node });
  await setRelation(scope, { registry, node, resolver: zeroAddress });
}
