import { computeDigest, digestLength } from "../ens/keccak.ts";

// Labelhashes as 32 bytes each, in lists one after another, for the innermost loops.

/**
 * Key of a stored label: the first 52 bits of its labelhash, which a JavaScript number holds exactly. If labels share a
 * key, `collisions` has all but the first, by their whole labelhash.
 * @example labelKey(computeDigest("eth")) // 0x4f5b812789fc6
 */
export function labelKey(digests: Uint8Array, start = 0): number {
  const byte = (i: number) => digests[start + i] ?? 0;
  const first = ((byte(0) << 24) | (byte(1) << 16) | (byte(2) << 8) | byte(3)) >>> 0;
  return first * 2 ** 20 + ((byte(4) << 12) | (byte(5) << 4) | (byte(6) >> 4));
}

/** Whether the 32 bytes from `start` on are the keccak-256 of the label. */
export function isPreimage(label: string, digests: Uint8Array, start = 0): boolean {
  return isSameDigest(computeDigest(label), digests, start);
}

/** Whether the 32 bytes of `digests` from `start` on equal `digest`. */
export function isSameDigest(digest: Uint8Array, digests: Uint8Array, start = 0): boolean {
  let difference = 0;
  for (let i = 0; i < digestLength; i++) difference |= (digest[i] ?? 0) ^ (digests[start + i] ?? 0);
  return difference === 0;
}
