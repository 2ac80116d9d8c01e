import type { Hex } from "viem";
import { addrReverseNode } from "../ens/ids.ts";
import { resolver } from "../schema/subgraph.ts";
import { type DomainRow, findDomain, saveDomain } from "./domains.ts";
import { addResolverEvent, ensureAccount, isOwnedBy } from "./events.ts";
import type { Scope } from "./scope.ts";

// Records as the subgraph has them: keys and coin types that were ever set, and the values of addr and contenthash.
// Events of every contract count, whether the registry ever pointed to it or not.

type ResolverRow = typeof resolver.$inferSelect;

/** AddrChanged: the address record of coin type 60. */
export async function applyAddrChanged(
  scope: Scope,
  { node, a: address }: { node: Hex; a: Hex },
): Promise<void> {
  const resolverId = await applyRecordEvent(
    scope,
    node,
    { type: "AddrChanged", addrId: address },
    { addrId: address },
  );
  const linked = await updateResolvedAddress(scope, { node, resolverId, address });
  if (!isOwnedBy(linked, address)) await ensureAccount(scope, address);
}

/** AddressChanged: the address record of any coin type, as raw bytes. */
export async function applyAddressChanged(
  scope: Scope,
  { node, coinType, newAddress: addr }: { node: Hex; coinType: bigint; newAddress: Hex },
): Promise<void> {
  await applyRecordEvent(scope, node, { type: "MulticoinAddrChanged", coinType, addr }, (before) => {
    const coinTypes = before?.coinTypes ?? [];
    return coinTypes.includes(coinType) ? {} : { coinTypes: [...coinTypes, coinType] };
  });
}

/** TextChanged. The older form of the event carries no `value`. */
export async function applyTextChanged(
  scope: Scope,
  { node, key, value }: { node: Hex; key: string; value?: string | undefined },
): Promise<void> {
  // subgraph: an empty value is null, but a value of only NULs is the empty string, since NULs are stripped later.
  const stored = scope.naming.isSubgraphCompatible ? value : value?.replaceAll("\0", "");
  const event = { type: "TextChanged", key, value: stored || null };
  await applyRecordEvent(scope, node, event, (before) => addKey(scope, before, key));
}

// subgraph: the raw key is compared with stored keys, which have lost their NULs, so a key with NULs is added each
// time.
function addKey({ naming }: Scope, before: ResolverRow | null, raw: string): Partial<ResolverRow> {
  const texts = before?.texts ?? [];
  const stored = raw.replaceAll("\0", "");
  return texts.includes(naming.isSubgraphCompatible ? raw : stored) ? {} : { texts: [...texts, stored] };
}

/** ContenthashChanged; `0x` if it was cleared. */
export async function applyContenthashChanged(
  scope: Scope,
  { node, hash }: { node: Hex; hash: Hex },
): Promise<void> {
  await applyRecordEvent(scope, node, { type: "ContenthashChanged", hash }, { contentHash: hash });
}

/**
 * NameChanged: the record `name`, which on a reverse name is the primary name. subgraph: a name with a NUL is ignored.
 */
export async function applyNameChanged(
  scope: Scope,
  { node, name }: { node: Hex; name: string },
): Promise<void> {
  if (name.includes("\0")) return;
  const account = await findReverseAccount(scope, node);
  const primary = account === undefined ? {} : { primaryNameOf: account };
  await applyRecordEvent(scope, node, { type: "NameChanged", name, ...primary });
}

// The account of a reverse name (ENSIP-3) whose resolver is the emitter; undefined otherwise, or if the label is
// unknown.
async function findReverseAccount(scope: Scope, node: Hex): Promise<Hex | undefined> {
  const { naming, chainId, emitter } = scope;
  if (chainId !== scope.rootChainId) return undefined;
  const reverse = await findDomain(scope, node);
  if (
    reverse?.parentId !== addrReverseNode ||
    reverse.resolverId !== naming.resolverId(chainId, emitter, node)
  )
    return undefined;
  return /^[0-9a-f]{40}$/.test(reverse.labelName ?? "") ? `0x${reverse.labelName}` : undefined;
}

/** An event about a node: creates or changes the emitter's resolver entity and returns its id. */
export async function applyRecordEvent(
  scope: Scope,
  node: Hex,
  event: Omit<Parameters<typeof addResolverEvent>[1], "resolverId">,
  changes: ResolverChanges | ((before: ResolverRow | null) => ResolverChanges) = {},
): Promise<string> {
  const { db, chainId, emitter: address } = scope;
  const resolverId = scope.naming.resolverId(chainId, address, node);
  const withBlock = (set: ResolverChanges) => ({ ...set, changeBlock: scope.blockNumber });
  const isFixed = typeof changes === "object";
  const first = withBlock(isFixed ? changes : changes(null));
  await db
    .insert(resolver)
    .values({ id: resolverId, domainId: node, address, ...first })
    .onConflictDoUpdate(isFixed ? first : (before) => withBlock(changes(before)));
  await addResolverEvent(scope, { resolverId, ...event });
  return resolverId;
}

/** VersionChanged: all records of the node were cleared at once. */
export async function applyVersionChanged(
  scope: Scope,
  { node, newVersion: version }: { node: Hex; newVersion: bigint },
): Promise<void> {
  const cleared = { addrId: null, contentHash: null, texts: null, coinTypes: null };
  const resolverId = await applyRecordEvent(scope, node, { type: "VersionChanged", version }, cleared);
  await updateResolvedAddress(scope, { node, resolverId, address: null });
}

type ResolverChanges = Partial<Omit<ResolverRow, "id" | "domainId" | "address">>;

async function updateResolvedAddress(
  scope: Scope,
  { node, resolverId, address }: { node: Hex; resolverId: string; address: Hex | null },
): Promise<DomainRow | undefined> {
  // Only the root chain's registry links domains to resolvers.
  if (scope.chainId !== scope.rootChainId) return undefined;
  const before = await findDomain(scope, node);
  if (before?.resolverId !== resolverId) return before;
  return saveDomain(scope, before, { resolvedAddressId: address });
}
