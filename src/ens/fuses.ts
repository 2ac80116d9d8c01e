/** Fuse "parent cannot control" of the name wrapper: the name's expiry binds (ENS name wrapper documents). */
const parentCannotControl = 0x10000;

export function isParentCannotControlBurned(fuses: number): boolean {
  return (fuses & parentCannotControl) !== 0;
}

/** A uint32 as the signed 32 bit number that GraphQL's Int carries; the original stores it so. */
export function toSignedFuses(fuses: number): number {
  return fuses | 0;
}
