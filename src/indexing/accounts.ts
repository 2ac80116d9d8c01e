import type { Hex } from "viem";
import { zeroAddress } from "../ens/nodes.ts";
import { account } from "../schema/subgraph.ts";
import type { Scope } from "./scope.ts";

/** The account of a stored owner was made when it became one; the zero address may be there without. */
export function isOwnedBy(row: { ownerId: Hex } | undefined, address: Hex): boolean {
  return row?.ownerId === address && address !== zeroAddress;
}

/** Makes the account at its first mention. */
export function ensureAccount({ db, blockNumber }: Scope, address: Hex) {
  return db.insert(account).values({ id: address, changeBlock: blockNumber }).onConflictDoNothing();
}
