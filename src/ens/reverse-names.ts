import type { Hex } from "viem";

/** Coin type of Ethereum (SLIP-44). */
const ethCoinType = 60n;

/** Coin type that stands for every EVM chain without a record of its own (ENSIP-19). */
export const defaultEvmCoinType = 0x80000000n;

/**
 * Whether the address record of a coin type is the address of an EVM account (20 bytes).
 * @example isEvmCoinType(2147492101n) // true
 * @example isEvmCoinType(0n) // false
 */
export function isEvmCoinType(coinType: bigint): boolean {
  return coinType === ethCoinType || (coinType >= defaultEvmCoinType && coinType < 2n * defaultEvmCoinType);
}

/** An account as reverse names identify it: its address and the coin type of its chain. */
export type ReverseAccount = { address: Hex; coinType: bigint };

/**
 * Reverse name of an address: `<40 digits>.addr.reverse`, `.default.reverse` or `.<coin type in hex>.reverse` (ENSIP-19).
 * @example reverseName({ address: "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", coinType: 2147492101n }) // "d8da6bf26964af9d7eed9e03e53415d37aa96045.80002105.reverse"
 */
export function reverseName({ address, coinType }: ReverseAccount): string {
  return `${address.slice(2).toLowerCase()}.${parentOf(coinType)}.reverse`;
}

/**
 * The account that a reverse name stands for; undefined for any other name (ENSIP-19).
 * @example parseReverseName("d8da6bf26964af9d7eed9e03e53415d37aa96045.addr.reverse") // { address: "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", coinType: 60n }
 */
export function parseReverseName(name: string): ReverseAccount | undefined {
  const match = /^([0-9a-f]{40})\.(addr|default|[1-9a-f][0-9a-f]{0,63})\.reverse$/.exec(name);
  const [, digits, parent] = match ?? [];
  if (digits === undefined || parent === undefined) return undefined;
  return { address: `0x${digits}`, coinType: coinTypeOf(parent) };
}

function parentOf(coinType: bigint): string {
  if (coinType === ethCoinType) return "addr";
  return coinType === defaultEvmCoinType ? "default" : coinType.toString(16);
}

function coinTypeOf(parent: string): bigint {
  if (parent === "addr") return ethCoinType;
  return parent === "default" ? defaultEvmCoinType : BigInt(`0x${parent}`);
}
