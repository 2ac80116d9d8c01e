/** Coin type of Ethereum (SLIP-44). */
export const ethCoinType = 60n;

/** Coin type that stands for every EVM chain without a record of its own (ENSIP-19). */
export const defaultEvmCoinType = 0x80000000n;

/**
 * Coin type of an EVM chain: 60 for chain 1, the default EVM coin type for chain 0, else the chain id with the high bit
 * set (ENSIP-11, ENSIP-19).
 * @example coinTypeOfChain(8453) // 2147492101n
 */
export function coinTypeOfChain(chainId: number): bigint {
  return chainId === 1 ? ethCoinType : defaultEvmCoinType | BigInt(chainId);
}

/**
 * Whether the address record of a coin type is the address of an EVM account (20 bytes).
 * @example isEvmCoinType(2147492101n) // true
 * @example isEvmCoinType(0n) // false
 */
export function isEvmCoinType(coinType: bigint): boolean {
  return coinType === ethCoinType || (coinType >= defaultEvmCoinType && coinType < 2n * defaultEvmCoinType);
}
