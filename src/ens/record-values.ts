import type { Hex } from "viem";
import { isNormalizedName } from "./names.ts";

// What a record's raw value means to a reader. Indexed and live values pass through the same functions, so that both
// ways of resolving give the same answer.

/** The value of an address record: EVM addresses in lower case, other coins as raw bytes in hex; null if it is unset. */
export function addressValue(raw: string): string | null {
  if (raw === "" || raw === "0x" || raw.includes("\0")) return null;
  const value = raw.toLowerCase();
  return /^0x0{40}$/.test(value) ? null : value;
}

/** The value of a text record; null if it is unset or holds a NUL. */
export function textValue(raw: string): string | null {
  return raw === "" || raw.includes("\0") ? null : raw;
}

/** Whether a text record's key can be kept: neither empty nor with a NUL. */
export function isTextKey(key: string): boolean {
  return textValue(key) !== null;
}

/** The value of a `name` record; null unless it is a normalised name (ENSIP-15). */
export function nameValue(raw: string): string | null {
  return raw !== "" && isNormalizedName(raw) ? raw : null;
}

/** The value of a record of bytes (content hash, DNS zone hash); null if it is empty. */
export function bytesValue(raw: Hex): Hex | null {
  return raw === "0x" ? null : (raw.toLowerCase() as Hex);
}

/** The two coordinates of a public key; null if both are zero. */
export function pubkeyValue({ x, y }: { x: Hex; y: Hex }): { x: Hex; y: Hex } | null {
  return BigInt(x) === 0n && BigInt(y) === 0n ? null : { x, y };
}
