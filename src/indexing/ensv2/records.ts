import { type Hex, hexToBytes } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import { v2Alias, v2Record, v2RecordGeneration, v2RecordLink } from "../../schema/ensv2.ts";
import type { Scope } from "../scope.ts";

// Records of the resolvers of the second generation that the common events do not carry: those under record ids, which names
// are linked to, and the aliases of resolvers keyed by nodes.

type RecordId = { recordId: bigint };

/** Linked: the records of a node are those of the record id; 0 unlinks it. The root node's link is the default. */
export async function applyLinked(
  scope: Scope,
  { recordId, node, name }: RecordId & { node: Hex; name: Hex },
): Promise<void> {
  await scope.db
    .insert(v2RecordLink)
    .values({ ...placeOf(scope), node, recordId, name })
    .onConflictDoUpdate({ recordId, name });
}

/** Cleared: all values of the record id are unset at once. */
export async function applyCleared(scope: Scope, { recordId }: RecordId): Promise<void> {
  await scope.db
    .insert(v2RecordGeneration)
    .values({ ...placeOf(scope), recordId, generation: 1 })
    .onConflictDoUpdate(({ generation }) => ({ generation: generation + 1 }));
}

/** AddressUpdated. */
export function applyAddressUpdated(
  scope: Scope,
  { recordId, coinType, addressBytes: value }: RecordId & { coinType: bigint; addressBytes: Hex },
) {
  return setRecord(scope, recordId, { kind: "address", key: String(coinType), value });
}

/** TextUpdated. */
export function applyTextUpdated(
  scope: Scope,
  { recordId, key, value }: RecordId & { key: Hex; value: Hex },
) {
  return setRecord(scope, recordId, { kind: "text", key, value });
}

/** DataUpdated. */
export function applyDataUpdated(
  scope: Scope,
  { recordId, key, value }: RecordId & { key: Hex; value: Hex },
) {
  return setRecord(scope, recordId, { kind: "data", key, value });
}

/** ContenthashUpdated. */
export function applyContenthashUpdated(scope: Scope, { recordId, hash: value }: RecordId & { hash: Hex }) {
  return setRecord(scope, recordId, { kind: "contenthash", key: "", value });
}

/** ABIUpdated: only the chain knows the value. */
export function applyAbiUpdated(scope: Scope, { recordId, contentType }: RecordId & { contentType: bigint }) {
  return setRecord(scope, recordId, { kind: "abi", key: String(contentType), value: null });
}

/** InterfaceUpdated. */
export function applyInterfaceUpdated(
  scope: Scope,
  { recordId, interfaceId: key, implementer: value }: RecordId & { interfaceId: Hex; implementer: Hex },
) {
  return setRecord(scope, recordId, { kind: "interface", key, value });
}

/** NameUpdated: the reverse name. */
export function applyNameUpdated(
  scope: Scope,
  { recordId, primaryName: value }: RecordId & { primaryName: Hex },
) {
  return setRecord(scope, recordId, { kind: "name", key: "", value });
}

/** AliasChanged: names that end in `fromName` are read as if they ended in `toName`. */
export async function applyAliasChanged(
  scope: Scope,
  { fromName, toName: target }: { fromName: Hex; toName: Hex },
): Promise<void> {
  await scope.db
    .insert(v2Alias)
    .values({ ...placeOf(scope), nameHash: keccak256(hexToBytes(fromName)), target })
    .onConflictDoUpdate({ target });
}

async function setRecord(
  scope: Scope,
  recordId: bigint,
  { kind, key, value }: { kind: string; key: string; value: Hex | null },
): Promise<void> {
  const record = { ...placeOf(scope), recordId };
  const generation = (await scope.db.find(v2RecordGeneration, record))?.generation ?? 0;
  await scope.db
    .insert(v2Record)
    .values({ ...record, keyHash: keccak256(`${kind}:${key}`), kind, key, value, generation })
    .onConflictDoUpdate({ value, generation });
}

function placeOf({ chainId, emitter: resolver }: Scope) {
  return { chainId, resolver };
}
