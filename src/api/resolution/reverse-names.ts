import type { Hex } from "viem";
import { defaultEvmCoinType } from "../../ens/coin-types.ts";
import type { Database } from "../database/client.ts";

const statement = `
SELECT value FROM reverse_name_records WHERE address = $1 AND coin_type = ANY ($2::numeric[])
ORDER BY coin_type = $3::numeric DESC LIMIT 1`;

/** The name that an account gave itself for a coin type, else its default one (ENSIP-19); raw, not checked. */
export async function indexedReverseName(
  database: Database,
  { address, coinType }: { address: Hex; coinType: bigint },
  signal: AbortSignal,
): Promise<string | undefined> {
  const values = [address, `{${coinType},${defaultEvmCoinType}}`, String(coinType)];
  const [value] = await database.row(statement, values, signal);
  return value ?? undefined;
}
