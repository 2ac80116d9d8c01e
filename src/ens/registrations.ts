import type { Hex } from "viem";
import { zeroAddress } from "./ids.ts";

/** Seconds after a registration's expiry during which only its holder may renew it: 90 days. */
export const gracePeriod = 7_776_000n;

/** Seconds after the expiry of an ENSv2 name under .eth during which only its holder may renew it: 28 days. */
export const gracePeriodOfV2 = 2_419_200;

/**
 * Seconds after the grace period of a name under .eth, of either generation, in which registering it costs a falling
 * premium: 21 days.
 */
export const premiumPeriod = 1_814_400;

/** The most levels of registries or names that searches follow. */
export const maxLevels = 64;

const padding = `0x${"0".repeat(24)}`;

/**
 * Address in a 32-byte referrer: the last 20 bytes if the first 12 are zero, else the zero address.
 * @example decodedReferrer("0x000000000000000000000000d8da6bf26964af9d7eed9e03e53415d37aa96045") // "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
 */
export function decodedReferrer(encoded: Hex): Hex {
  const bytes = encoded.toLowerCase();
  return bytes.startsWith(padding) ? `0x${bytes.slice(padding.length)}` : zeroAddress;
}

/** Name wrapper fuse CANNOT_UNWRAP. */
export const cannotUnwrap = 1;

/** Name wrapper fuse PARENT_CANNOT_CONTROL: the name's expiry binds (ENS name wrapper documents). */
export const parentCannotControl = 0x10000;

/** Name wrapper fuse IS_DOT_ETH: a registrar leases the name, and the lease's expiry applies. */
export const isDotEth = 0x20000;

/** Whether a wrapped name's parent gave up control of it, so that its expiry binds. */
export function isParentCannotControlBurned(fuses: number): boolean {
  return (fuses & parentCannotControl) !== 0;
}

/** Fuses by which a subname that its parent cannot control differs from a registrar's name. */
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
 * subgraph: a uint32 as the signed 32-bit number of a GraphQL Int.
 * @example toSignedFuses(0x80010000) // -2147418112
 */
export function toSignedFuses(fuses: number): number {
  return fuses | 0;
}
