import type { Hex } from "viem";
import { zeroAddress } from "../ens/nodes.ts";
import { account } from "../schema/subgraph.ts";
import type { Scope } from "./scope.ts";

/** True if `address` is the row's owner, so its account already exists; false for the zero address, which may lack one. */
export function isOwnedBy(row: { ownerId: Hex } | undefined, address: Hex): boolean {
  return row?.ownerId === address && address !== zeroAddress;
}

/** Creates the account at its first mention. */
export function ensureAccount({ db, blockNumber }: Scope, address: Hex) {
  return db.insert(account).values({ id: address, changeBlock: blockNumber }).onConflictDoNothing();
}
