import type { Hex } from "viem";
import { account } from "../schema/subgraph.ts";
import type { Scope } from "./scope.ts";

/** Makes the account at its first mention. */
export function ensureAccount({ db, blockNumber }: Scope, address: Hex) {
  return db.insert(account).values({ id: address, changeBlock: blockNumber }).onConflictDoNothing();
}
