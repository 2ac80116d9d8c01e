import { type Hex, hexToBytes } from "viem";
import { ethName } from "../../deployments/ensv2.ts";
import { rootNode, subnode, tokenIdToHex } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { dnsLabels } from "../../ens/names.ts";
import { decodedReferrer } from "../../ens/registrations.ts";
import {
  v2Alias,
  v2Label,
  v2Lease,
  v2Record,
  v2RecordGeneration,
  v2RecordLink,
  v2Resource,
} from "../../schema/ensv2.ts";
import { subregistry } from "../../schema/registrars.ts";
import { findDomain } from "../domains.ts";
import { applyProvenLabel, completeAction, openAction } from "../registrar.ts";
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

/** NamedResource and its like: roles on the resource are limited to a name, or to one record of it. */
export async function applyResource(
  scope: Scope,
  { resource, name }: { resource: bigint; name: Hex },
  kind: "name" | "text" | "data" | "address",
  key: string,
): Promise<void> {
  const labels = dnsLabels(name);
  if (labels === undefined) return scope.report("malformed-name", scope);
  const node = labels.reduceRight<Hex>((parent, label) => subnode(parent, keccak256(label)), rootNode);
  await saveResource(scope, resource, { node, name, kind, key });
}

/** ResourceArgument: roles on the resource are limited to one key, coin type or interface, of any name. */
export async function applyResourceArgument(
  scope: Scope,
  { resource, arg: key }: { resource: bigint; arg: Hex },
): Promise<void> {
  await saveResource(scope, resource, { node: null, name: null, kind: "argument", key });
}

async function saveResource(
  scope: Scope,
  resource: bigint,
  meaning: Pick<typeof v2Resource.$inferInsert, "node" | "name" | "kind" | "key">,
): Promise<void> {
  await scope.db
    .insert(v2Resource)
    .values({ ...placeOf(scope), resource: tokenIdToHex(resource), ...meaning })
    .onConflictDoUpdate(meaning);
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

type Lease = { tokenId: bigint; label: Hex; duration: bigint; paymentToken: Hex; referrer: Hex };

/** NameRegistered of the .eth registrar, the last log of a paid registration. */
export function applyLeaseStarted(
  scope: Scope,
  { owner, base, premium, ...lease }: Lease & { owner: Hex; base: bigint; premium: bigint },
) {
  return addLease(scope, lease, { type: "registration", owner, base, premium });
}

/** NameRenewed of the .eth registrar or of the renewer of names that are still in the first generation. */
export function applyLeaseRenewed(
  scope: Scope,
  { newExpiry: expiry, amount: base, ...lease }: Lease & { newExpiry: bigint; amount: bigint },
) {
  return addLease(scope, lease, { type: "renewal", expiry, base, premium: 0n });
}

type Sale = { label: Hex; duration: bigint; paymentToken: Hex; referrer: Hex };

/** NameRegistered of the .eth registrar, as an action: the name becomes one of the registry (a CAIP-10 id). */
export function applyRegistrationSold(
  scope: Scope,
  subregistryId: string,
  { base, premium, ...sale }: Sale & { base: bigint; premium: bigint },
): Promise<void> {
  return addSale(scope, subregistryId, sale, { type: "registration", base, premium });
}

/** NameRenewed of the .eth registrar, as an action. */
export function applyRenewalSold(
  scope: Scope,
  subregistryId: string,
  { amount: base, ...sale }: Sale & { amount: bigint },
): Promise<void> {
  return addSale(scope, subregistryId, sale, { type: "renewal", base, premium: 0n });
}

/** NameRenewed of the contract that renews names of the first generation: completes the base registrar's action. */
export function applyV1RenewalSold(
  scope: Scope,
  { amount, ...sale }: Sale & { amount: bigint },
): Promise<void> {
  return completeAction(scope, nodeOf(sale), factsOf(sale, { base: amount, premium: 0n }));
}

async function addSale(
  scope: Scope,
  subregistryId: string,
  sale: Sale,
  { type, ...price }: { type: "registration" | "renewal"; base: bigint; premium: bigint },
): Promise<void> {
  await scope.db.insert(subregistry).values({ subregistryId, node: ethName.node }).onConflictDoNothing();
  const action = { type, node: nodeOf(sale), subregistryId, duration: sale.duration };
  await openAction(scope, action, factsOf(sale, price));
}

function nodeOf({ label }: Sale): Hex {
  return subnode(ethName.node, keccak256(hexToBytes(label)));
}

function factsOf({ paymentToken, referrer }: Sale, { base, premium }: { base: bigint; premium: bigint }) {
  return {
    baseCost: base,
    premium,
    total: base + premium,
    paymentToken,
    encodedReferrer: referrer,
    decodedReferrer: decodedReferrer(referrer),
  };
}

/**
 * Label of the store of labels: anybody may have a label announced, each is announced once. It heals names of the first
 * generation under .eth, whose own events may carry no label.
 */
export async function applyLabel(
  scope: Scope,
  { labelHash: labelhash, label }: { labelHash: Hex; label: Hex },
): Promise<void> {
  const bytes = hexToBytes(label);
  if (keccak256(bytes) !== labelhash) return scope.report("malformed-label", scope);
  await scope.db.insert(v2Label).values({ labelhash, label }).onConflictDoNothing();
  // Most are of the second generation only.
  if ((await findDomain(scope, subnode(ethName.node, labelhash))) === undefined) return;
  await applyProvenLabel(scope, ethName, { labelhash, label: Buffer.from(bytes).toString("utf8") });
}

function addLease(
  scope: Scope,
  { tokenId, label, duration, paymentToken, referrer }: Lease,
  values: Pick<typeof v2Lease.$inferInsert, "type" | "owner" | "expiry" | "base" | "premium">,
) {
  return scope.db.insert(v2Lease).values({
    id: scope.eventId,
    chainId: scope.chainId,
    registrar: scope.emitter,
    tokenId: tokenIdToHex(tokenId),
    labelhash: keccak256(hexToBytes(label)),
    label,
    duration,
    paymentToken,
    referrer,
    ...values,
    sender: scope.sender,
    blockNumber: BigInt(scope.blockNumber),
    timestamp: scope.timestamp,
    transactionHash: scope.transactionHash,
  });
}
