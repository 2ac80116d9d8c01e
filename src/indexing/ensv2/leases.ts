import { type Hex, hexToBytes } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import { tokenIdToHex } from "../../ens/nodes.ts";
import { v2Label, v2Lease } from "../../schema/ensv2.ts";
import type { Scope } from "../scope.ts";

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

/** Label of the store of labels: anybody may have a label announced, each is announced once. */
export async function applyLabel(
  scope: Scope,
  { labelHash: labelhash, label }: { labelHash: Hex; label: Hex },
): Promise<void> {
  if (keccak256(hexToBytes(label)) !== labelhash) return scope.report("malformed-label", scope);
  await scope.db.insert(v2Label).values({ labelhash, label }).onConflictDoNothing();
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
