import type { Hex } from "viem";
import { tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { v2Entry, v2Event, v2Role } from "../../schema/ensv2.ts";
import { type Scope, upsert } from "../scope.ts";
import { isProvenRegistry, storageIdOf } from "./registry-paths.ts";

type Values = typeof v2Event.$inferInsert;

/** What happened to the entry of a labelhash. `index` is the position in a batch, part of the id. */
export type EntryEvent = Pick<Values, "type"> &
  Partial<Pick<Values, "holder" | "address" | "tokenId" | "sender" | "expiry" | "roles" | "formerRoles">> & {
    index?: number;
  };

/** Stores what happened to an entry of the emitter, if the emitter is a registry of known code. */
export async function addEntryEvent(
  scope: Scope,
  labelhash: Hex,
  { index, ...values }: EntryEvent,
): Promise<void> {
  if (!(await isProvenRegistry(scope))) return;
  const { naming, db, chainId, blockNumber, logIndex, timestamp, transactionHash } = scope;
  const id = naming.eventId(chainId, blockNumber, logIndex);
  await db.insert(v2Event).values({
    id: index === undefined ? id : `${id}-${index}`,
    chainId,
    registry: scope.emitter,
    labelhash,
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
    resource,
    account,
    oldRoleBitmap,
    newRoleBitmap,
  }: { resource: bigint; account: Hex; oldRoleBitmap: bigint; newRoleBitmap: bigint },
): Promise<void> {
  if (account === zeroAddress || (newRoleBitmap & ~everyRole) !== 0n) return scope.report("odd-roles", scope);
  const key = { chainId: scope.chainId, address: scope.emitter, resource: tokenIdToHex(resource), account };
  const roles = tokenIdToHex(newRoleBitmap);
  await upsert(scope, v2Role, key, { roles });
  const storageId = storageIdOf(resource);
  // Roles on the whole contract belong to no entry.
  if (BigInt(storageId) === 0n || !(await isProvenRegistry(scope))) return;
  const entry = await scope.db.find(v2Entry, { chainId: scope.chainId, registry: scope.emitter, storageId });
  if (entry === null) return;
  const { tokenId, labelhash } = entry;
  const formerRoles = tokenIdToHex(oldRoleBitmap);
  const event = { type: "EACRolesChanged", holder: account, tokenId, roles, formerRoles };
  await addEntryEvent(scope, labelhash, event);
}

// A role is the lowest of its four bits.
const everyRole = BigInt(`0x${"1".repeat(64)}`);
