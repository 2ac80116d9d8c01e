import type { Hex } from "viem";
import { tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { v2Entry, v2Event, v2Role } from "../../schema/ensv2.ts";
import { type Scope, upsert } from "../scope.ts";
import { isProvenRegistry, knownCode, toStorageId } from "./registry-paths.ts";

type Values = typeof v2Event.$inferInsert;

/** What happened to the entry of a labelhash. `index` is the position in a batch, part of the id. */
export type EntryEvent = Pick<Values, "type"> &
  Partial<Pick<Values, "holder" | "address" | "tokenId" | "sender" | "expiry" | "roles" | "formerRoles">> & {
    index?: number;
  };

/** Stores what happened to an entry of the emitter, if the emitter is a registry of known code. */
export async function addEntryEvent(scope: Scope, labelhash: Hex, event: EntryEvent): Promise<void> {
  if (await isProvenRegistry(scope)) await addEvent(scope, { ...event, labelhash });
}

async function addEvent(
  scope: Scope,
  { index, ...values }: EntryEvent & Pick<Values, "labelhash" | "resource">,
): Promise<void> {
  const { naming, db, chainId, blockNumber, logIndex, timestamp, transactionHash } = scope;
  const id = naming.eventId(chainId, blockNumber, logIndex);
  await db.insert(v2Event).values({
    id: index === undefined ? id : `${id}-${index}`,
    chainId,
    registry: scope.emitter,
    blockNumber,
    logIndex,
    timestamp: Number(timestamp),
    transactionHash,
    ...values,
  });
}

/** EACRolesChanged: sets the roles of an account on a resource of the emitter, which may be any contract. */
export async function applyRolesChanged(
  scope: Scope,
  {
    resource: id,
    account,
    oldRoleBitmap,
    newRoleBitmap,
  }: { resource: bigint; account: Hex; oldRoleBitmap: bigint; newRoleBitmap: bigint },
): Promise<void> {
  if (account === zeroAddress || (newRoleBitmap & ~everyRole) !== 0n) return scope.report("odd-roles", scope);
  const [resource, roles] = [tokenIdToHex(id), tokenIdToHex(newRoleBitmap)];
  const { db, chainId, emitter } = scope;
  await upsert(scope, v2Role, { chainId, address: emitter, resource, account }, { roles });
  const code = await knownCode(scope);
  if (code === undefined) return;
  const change = { holder: account, roles, formerRoles: tokenIdToHex(oldRoleBitmap) };
  if (code === "resolver") return addEvent(scope, { type: "ResolverPermissionChanged", resource, ...change });
  if (id === 0n) return addEvent(scope, { type: "RootPermissionChanged", resource, ...change });
  const entry = await db.find(v2Entry, { chainId, registry: emitter, storageId: toStorageId(id) });
  if (entry === null) return;
  const { tokenId, labelhash } = entry;
  await addEvent(scope, { type: "EACRolesChanged", labelhash, tokenId, ...change });
}

// A role is the lowest of its four bits.
const everyRole = BigInt(`0x${"1".repeat(64)}`);
