import type { Hex } from "viem";
import { namehash } from "./names.ts";

const ethCoinType = 60n;

/** Coin type of every EVM chain without a record of its own (ENSIP-19). */
export const defaultEvmCoinType = 0x80000000n;

/**
 * Whether a coin type's address record is an EVM address (20 bytes): Ethereum's (SLIP-44), or an EVM chain's
 * (ENSIP-11).
 * @example isEvmCoinType(2147492101n) // true
 * @example isEvmCoinType(0n) // false
 */
export function isEvmCoinType(coinType: bigint): boolean {
  return coinType === ethCoinType || (coinType >= defaultEvmCoinType && coinType < 2n * defaultEvmCoinType);
}

/** An account as reverse names identify it, by address and its chain's coin type. */
export type ReverseAccount = { address: Hex; coinType: bigint };

/**
 * Reverse name of an account: `<40 digits>.addr.reverse`, `.default.reverse` or `.<coin type in hex>.reverse`
 * (ENSIP-19).
 * @example reverseName({ address: "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", coinType: 2147492101n }) // "d8da6bf26964af9d7eed9e03e53415d37aa96045.80002105.reverse"
 */
export function reverseName({ address, coinType }: ReverseAccount): string {
  return `${address.slice(2).toLowerCase()}.${formatParent(coinType)}.reverse`;
}

/**
 * Account of a reverse name (ENSIP-19); undefined for any other name.
 * @example parseReverseName("d8da6bf26964af9d7eed9e03e53415d37aa96045.addr.reverse") // { address: "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", coinType: 60n }
 */
export function parseReverseName(name: string): ReverseAccount | undefined {
  const match = /^([0-9a-f]{40})\.(addr|default|[1-9a-f][0-9a-f]{0,63})\.reverse$/.exec(name);
  const [, digits, parent] = match ?? [];
  if (digits === undefined || parent === undefined) return undefined;
  return { address: `0x${digits}`, coinType: parseParent(parent) };
}

function formatParent(coinType: bigint): string {
  if (coinType === ethCoinType) return "addr";
  return coinType === defaultEvmCoinType ? "default" : coinType.toString(16);
}

function parseParent(parent: string): bigint {
  if (parent === "addr") return ethCoinType;
  return parent === "default" ? defaultEvmCoinType : BigInt(`0x${parent}`);
}

/** Node of an address's reverse name on the root chain. */
export const reverseNode = (address: Hex): Hex => namehash(`${address.slice(2)}.addr.reverse`);
