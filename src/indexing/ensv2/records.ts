import { type Hex, hexToBytes } from "viem";
import { ethName } from "../../deployments/ensv2.ts";
import { rootNode, subnode, tokenIdToHex } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { dnsLabels } from "../../ens/names.ts";
import { parseAccountKey } from "../../ens/owned-accounts.ts";
import { textOfHex } from "../../ens/record-values.ts";
import { decodedReferrer } from "../../ens/registrations.ts";
import {
  v2Account,
  v2Alias,
  v2Label,
  v2Record,
  v2RecordGeneration,
  v2RecordLink,
  v2Resource,
} from "../../schema/ensv2.ts";
import { subregistry } from "../../schema/registrars.ts";
import { findDomain } from "../domains.ts";
import { applyProvenLabel, completeAction, openAction } from "../registrar.ts";
import { type Scope, upsert } from "../scope.ts";

// Events of ENSv2 without a counterpart in the first generation: records under record ids, to which names are linked;
// aliases of resolvers keyed by nodes; sales of names; accounts that act for others.

/** Linked: the node has the records of the record id; 0 unlinks it. The root node's link is the default. */
export function applyLinked(
  scope: Scope,
  { node, ...set }: Pick<typeof v2RecordLink.$inferInsert, "node" | "recordId" | "name">,
) {
  const { blockNumber, logIndex, transactionHash } = scope;
  const position = { blockNumber, timestamp: Number(scope.timestamp), logIndex, transactionHash };
  return upsert(scope, v2RecordLink, { ...buildResolverKey(scope), node }, { ...set, ...position });
}

/** Cleared: all values of the record id are unset at once. */
export function applyCleared(scope: Scope, { recordId }: { recordId: bigint }) {
  return scope.db
    .insert(v2RecordGeneration)
    .values({ ...buildResolverKey(scope), recordId, generation: 1 })
    .onConflictDoUpdate(({ generation }) => ({ generation: generation + 1 }));
}

/** AddressUpdated and the like: sets a record of the record id; null if only the chain knows the value. */
export async function setRecord(
  scope: Scope,
  recordId: bigint,
  { kind, key, value }: { kind: string; key: string; value: Hex | null },
): Promise<void> {
  const record = { ...buildResolverKey(scope), recordId };
  const generation = (await scope.db.find(v2RecordGeneration, record))?.generation ?? 0;
  const account = kind === "data" ? (parseAccountKey(textOfHex(key))?.account ?? null) : null;
  const first = { ...record, keyHash: keccak256(`${kind}:${key}`), kind, key, account };
  await upsert(scope, v2Record, first, { value, generation });
}

/** AliasChanged: names that end in `fromName` are read as if they ended in `toName`. */
export function applyAliasChanged(
  scope: Scope,
  { fromName, toName: target }: { fromName: Hex; toName: Hex },
) {
  const nameHash = keccak256(hexToBytes(fromName));
  return upsert(scope, v2Alias, { ...buildResolverKey(scope), nameHash }, { target });
}

/** NamedResource and the like: limits roles on the resource to a name (DNS wire format) or to one of its records. */
export async function applyNamedResource(
  scope: Scope,
  { resource, name }: { resource: bigint; name: Hex },
  kind: "name" | "text" | "data" | "address",
  key: string,
): Promise<void> {
  const labels = dnsLabels(name);
  if (labels === undefined) return scope.report("malformed-name", scope);
  const node = labels.reduceRight<Hex>((parent, label) => subnode(parent, keccak256(label)), rootNode);
  await setResource(scope, resource, { node, name, kind, key });
}

/** Stores what roles on a resource are limited to. */
export async function setResource(
  scope: Scope,
  resource: bigint,
  limits: Pick<typeof v2Resource.$inferInsert, "node" | "name" | "kind" | "key">,
): Promise<void> {
  await upsert(scope, v2Resource, { ...buildResolverKey(scope), resource: tokenIdToHex(resource) }, limits);
}

function buildResolverKey({ chainId, emitter: resolver }: Scope) {
  return { chainId, resolver };
}

/** AccountCreated: whoever calls through the account acts for its owner. */
export function applyAccountCreated(
  { db, chainId }: Scope,
  { hcaOwner: owner, hca: account }: { hcaOwner: Hex; hca: Hex },
) {
  return db.insert(v2Account).values({ chainId, account, owner }).onConflictDoUpdate({ owner });
}

type SalePrice = { base: bigint; premium: bigint };
type Sale = { label: Hex; duration: bigint; paymentToken: Hex; referrer: Hex };

/**
 * NameRegistered of the .eth registrar (the last log of a registration) or NameRenewed: an action on a name of the
 * registry.
 */
export async function addSale(
  scope: Scope,
  subregistryId: string,
  sale: Sale,
  { type, ...price }: SalePrice & { type: "registration" | "renewal" },
): Promise<void> {
  await scope.db.insert(subregistry).values({ subregistryId, node: ethName.node }).onConflictDoNothing();
  const action = { type, node: computeNode(sale), subregistryId, duration: sale.duration };
  await openAction(scope, action, buildFacts(sale, price));
}

/** NameRenewed of the contract that renews first-generation names: completes the base registrar's action. */
export function applyV1RenewalSold(
  scope: Scope,
  { amount, ...sale }: Sale & { amount: bigint },
): Promise<void> {
  return completeAction(scope, computeNode(sale), buildFacts(sale, { base: amount, premium: 0n }));
}

function computeNode({ label }: Sale): Hex {
  return subnode(ethName.node, keccak256(hexToBytes(label)));
}

function buildFacts({ paymentToken, referrer }: Sale, { base, premium }: SalePrice) {
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
 * Label of the label store, where anybody may announce one. It heals first-generation .eth names whose own events carry
 * no label.
 */
export async function applyLabel(
  scope: Scope,
  { labelHash: labelhash, label }: { labelHash: Hex; label: Hex },
): Promise<void> {
  const bytes = hexToBytes(label);
  if (keccak256(bytes) !== labelhash) return scope.report("malformed-label", scope);
  await scope.db.insert(v2Label).values({ labelhash, label }).onConflictDoNothing();
  // Most labels belong to the second generation only.
  if ((await findDomain(scope, subnode(ethName.node, labelhash))) === undefined) return;
  await applyProvenLabel(scope, ethName, { labelhash, label: Buffer.from(bytes).toString("utf8") });
}
