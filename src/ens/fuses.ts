/** Fuse "parent cannot control" of the name wrapper: the name's expiry binds (ENS name wrapper documents). */
const parentCannotControl = 0x10000;

/**
 * Whether a wrapped name's parent has given up control of it, so that its expiry holds.
 * @example isParentCannotControlBurned(0x10001) // true
 */
export function isParentCannotControlBurned(fuses: number): boolean {
  return (fuses & parentCannotControl) !== 0;
}

/**
 * subgraph: a uint32 as the signed 32-bit number that GraphQL's Int carries.
 * @example toSignedFuses(0x80010000) // -2147418112
 */
export function toSignedFuses(fuses: number): number {
  return fuses | 0;
}
