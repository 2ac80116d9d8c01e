import type { Hex } from "viem";
import { reverseNameRecord } from "../schema/protocol-acceleration.ts";
import type { Scope } from "./scope.ts";

/**
 * NameForAddrChanged: an account named itself on the reverse registrar of a chain. Names that are not normalised stay: such
 * a name means nothing, but unlike none it hides the account's default name (ENSIP-19).
 */
export async function setReverseName(
  { db }: Scope,
  { address, coinType, name }: { address: Hex; coinType: bigint; name: string },
): Promise<void> {
  const key = { address, coinType };
  // No column can hold a NUL, and without it another name could be read.
  const value = name.replaceAll("\0", "\ufffd");
  if (value === "") await db.delete(reverseNameRecord, key);
  else
    await db
      .insert(reverseNameRecord)
      .values({ ...key, value })
      .onConflictDoUpdate({ value });
}
