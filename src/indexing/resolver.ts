import type { Hex } from "viem";
import { addrReverseNode } from "../ens/ids.ts";
import { resolver } from "../schema/subgraph.ts";
import { type DomainRow, findDomain, updateDomainIfStored } from "./domains.ts";
import { addResolverEvent, ensureAccount, isOwnedBy } from "./events.ts";
import type { Scope } from "./scope.ts";

// Records as the subgraph sees them: keys and coin types that were ever set, and the values of addr and contenthash.
// Events of every contract count, whether the registry ever pointed at it or not.

type ResolverRow = typeof resolver.$inferSelect;

/** AddrChanged: the address record of coin type 60. */
export async function applyAddrChanged(
  scope: Scope,
  { node, address }: { node: Hex; address: Hex },
): Promise<void> {
  const id = await saveResolver(scope, node, { addrId: address });
  const linked = await updateResolvedAddress(scope, { node, resolverId: id, address });
  if (!isOwnedBy(linked, address)) await ensureAccount(scope, address);
  await addResolverEvent(scope, { type: "AddrChanged", resolverId: id, addrId: address });
}

/** AddressChanged: the address record of any coin type, as raw bytes. */
export async function applyAddressChanged(
  scope: Scope,
  { node, coinType, address }: { node: Hex; coinType: bigint; address: Hex },
): Promise<void> {
  const id = await saveResolver(scope, node, (before) => {
    const coinTypes = before?.coinTypes ?? [];
    return coinTypes.includes(coinType) ? {} : { coinTypes: [...coinTypes, coinType] };
  });
  await addResolverEvent(scope, { type: "MulticoinAddrChanged", resolverId: id, coinType, addr: address });
}

/** TextChanged: `value` is undefined in the older form of the event, which does not carry it. */
export async function applyTextChanged(
  scope: Scope,
  { node, key, value }: { node: Hex; key: string; value: string | undefined },
): Promise<void> {
  const id = await saveResolver(scope, node, (before) => addedKey(scope, before, key));
  // subgraph: the empty value is null, but one of NULs only is empty, since NULs go later.
  const stored = scope.naming.isSubgraphCompatible ? value : value?.replaceAll("\0", "");
  await addResolverEvent(scope, { type: "TextChanged", resolverId: id, key, value: stored || null });
}

// subgraph: the raw key is looked for among stored ones, which lost their NULs; so such a key is added repeatedly.
function addedKey({ naming }: Scope, before: ResolverRow | null, raw: string): Partial<ResolverRow> {
  const texts = before?.texts ?? [];
  const stored = raw.replaceAll("\0", "");
  return texts.includes(naming.isSubgraphCompatible ? raw : stored) ? {} : { texts: [...texts, stored] };
}

/** ContenthashChanged: `0x` if it was cleared. */
export async function applyContenthashChanged(
  scope: Scope,
  { node, hash }: { node: Hex; hash: Hex },
): Promise<void> {
  const id = await saveResolver(scope, node, { contentHash: hash });
  await addResolverEvent(scope, { type: "ContenthashChanged", resolverId: id, hash });
}

/** NameChanged: the record `name`, of reverse names the primary name. subgraph: a name with a NUL is ignored. */
export async function applyNameChanged(
  scope: Scope,
  { node, name }: { node: Hex; name: string },
): Promise<void> {
  if (name.includes("\0")) return;
  const id = await saveResolver(scope, node, {});
  const account = await accountOf(scope, { node, resolverId: id });
  const primary = account === undefined ? {} : { primaryNameOf: account };
  await addResolverEvent(scope, { type: "NameChanged", resolverId: id, name, ...primary });
}

// The account of a reverse name (ENSIP-3) whose resolver it is; undefined also where nobody knows the label.
async function accountOf(
  scope: Scope,
  { node, resolverId }: { node: Hex; resolverId: string },
): Promise<Hex | undefined> {
  if (scope.chainId !== scope.rootChainId) return undefined;
  const reverse = await findDomain(scope, node);
  if (reverse?.parentId !== addrReverseNode || reverse.resolverId !== resolverId) return undefined;
  return /^[0-9a-f]{40}$/.test(reverse.labelName ?? "") ? `0x${reverse.labelName}` : undefined;
}

/** An event that changes nothing of the resolver entity that it creates. */
export async function applyRecordEvent(
  scope: Scope,
  node: Hex,
  event: Omit<Parameters<typeof addResolverEvent>[1], "resolverId">,
): Promise<void> {
  await addResolverEvent(scope, { resolverId: await saveResolver(scope, node, {}), ...event });
}

/** VersionChanged: all records of the node were cleared at once. */
export async function applyVersionChanged(
  scope: Scope,
  { node, version }: { node: Hex; version: bigint },
): Promise<void> {
  const cleared = { addrId: null, contentHash: null, texts: null, coinTypes: null };
  const id = await saveResolver(scope, node, cleared);
  await updateResolvedAddress(scope, { node, resolverId: id, address: null });
  await addResolverEvent(scope, { type: "VersionChanged", resolverId: id, version });
}

type Changes = Partial<Omit<ResolverRow, "id" | "domainId" | "address">>;

/** Creates or changes the resolver entity of the emitting contract and the node; returns its id. */
async function saveResolver(
  { db, naming, chainId, emitter, blockNumber }: Scope,
  node: Hex,
  changes: Changes | ((before: ResolverRow | null) => Changes),
): Promise<string> {
  const id = naming.resolverId(chainId, emitter, node);
  const withBlock = (set: Changes) => ({ ...set, changeBlock: blockNumber });
  const isFixed = typeof changes === "object";
  const first = withBlock(isFixed ? changes : changes(null));
  await db
    .insert(resolver)
    .values({ id, domainId: node, address: emitter, ...first })
    .onConflictDoUpdate(isFixed ? first : (before) => withBlock(changes(before)));
  return id;
}

async function updateResolvedAddress(
  scope: Scope,
  { node, resolverId, address }: { node: Hex; resolverId: string; address: Hex | null },
): Promise<DomainRow | undefined> {
  // Only the root chain's registry links domains to resolvers.
  if (scope.chainId !== scope.rootChainId) return undefined;
  return updateDomainIfStored(scope, node, (before) =>
    before.resolverId === resolverId ? { resolvedAddressId: address } : undefined,
  );
}
