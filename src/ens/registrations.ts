import type { Hex } from "viem";
import { zeroAddress } from "./ids.ts";

/** Seconds after a registration's expiry in which only its holder may renew it: 90 days. */
export const gracePeriod = 7_776_000n;

/** Seconds after the expiry of a name under .eth in ENSv2 in which only its holder can renew it: 28 days. */
export const gracePeriodOfV2 = 2_419_200;

/** How many registries or names deep names are looked for. */
export const mostLevels = 64;

const padding = `0x${"0".repeat(24)}`;

/**
 * Address in the 32 bytes of a referrer: the last 20 bytes, or the zero address unless the first 12 are zero.
 * @example decodedReferrer("0x000000000000000000000000d8da6bf26964af9d7eed9e03e53415d37aa96045") // "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
 */
export function decodedReferrer(encoded: Hex): Hex {
  const bytes = encoded.toLowerCase();
  return bytes.startsWith(padding) ? `0x${bytes.slice(padding.length)}` : zeroAddress;
}

/** Fuse "cannot unwrap" of the name wrapper. */
export const cannotUnwrap = 1;

/** Fuse "parent cannot control" of the name wrapper: the name's expiry binds (ENS name wrapper documents). */
export const parentCannotControl = 0x10000;

/** Fuse "is .eth": a registrar leases the name, and its end is that of the lease. */
export const isDotEth = 0x20000;

/**
 * Whether a wrapped name's parent has given up control of it, so that its expiry holds.
 * @example isParentCannotControlBurned(0x10001) // true
 */
export function isParentCannotControlBurned(fuses: number): boolean {
  return (fuses & parentCannotControl) !== 0;
}

/** Fuses that tell a subname, which its parent cannot control, from a name of the registrar. */
export const emancipation = { mask: parentCannotControl | isDotEth, value: parentCannotControl };

/**
 * Whether a wrapped name is a subname that its parent cannot control.
 * @example isEmancipated(0x10001) // true
 * @example isEmancipated(0x30001) // false
 */
export function isEmancipated(fuses: number): boolean {
  return (fuses & emancipation.mask) === emancipation.value;
}

/**
 * subgraph: a uint32 as the signed 32-bit number that GraphQL's Int carries.
 * @example toSignedFuses(0x80010000) // -2147418112
 */
export function toSignedFuses(fuses: number): number {
  return fuses | 0;
}
