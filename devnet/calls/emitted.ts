import type { Chain } from "../chain/chain.ts";
import type { ServedLog } from "../chain/served-block.ts";

/** A contract that is asked at a block: what it returns follows from what it has emitted so far. */
export type Asked = { chain: Chain; address: string; block: number };

/** A log and the block that holds it. */
type Placed = { log: ServedLog; block: number };

/** The newest log of the contract that `isWanted`, up to the block. */
export function newestLog(
  { chain, address, block }: Asked,
  isWanted: (log: ServedLog) => boolean,
): Placed | undefined {
  for (const served of chain.range(0, block).toReversed()) {
    for (const log of served.logs.toReversed()) {
      if (log.address === address && isWanted(log)) return { log, block: served.number };
    }
  }
  return undefined;
}
