import { type Hex, hexToBytes } from "viem";
import { ethName } from "../../deployments/ensv2.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { tokenIdToHex } from "../../ens/nodes.ts";
import { v2Label, v2Lease } from "../../schema/ensv2.ts";
import { applyProvenLabel } from "../registrar.ts";
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
