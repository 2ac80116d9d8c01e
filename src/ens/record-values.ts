import type { Hex } from "viem";
import { isNormalizedName } from "./normalization.ts";

// The meaning of a record's raw value. Indexed and live values pass through the same functions, so that both ways of
// resolving agree.

/**
 * The value of an address record: EVM addresses in lower case, other coins as raw bytes in hex; null if it is unset.
 * @example addressValue("0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045") // "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
 * @example addressValue("0x0000000000000000000000000000000000000000") // null
 */
export function addressValue(raw: string): string | null {
  if (raw === "" || raw === "0x" || raw.includes("\0")) return null;
  const value = raw.toLowerCase();
  return /^0x0{40}$/.test(value) ? null : value;
}

/**
 * The value of a text record; null if it is unset or contains a NUL.
 * @example textValue("https://ens.domains") // "https://ens.domains"
 * @example textValue("") // null
 */
export function textValue(raw: string): string | null {
  return raw === "" || raw.includes("\0") ? null : raw;
}

/**
 * Whether a text record's key can be stored: it is not empty and contains no NUL.
 * @example isTextKey("avatar") // true
 */
export function isTextKey(key: string): boolean {
  return textValue(key) !== null;
}

/**
 * The value of a `name` record; null unless it is a normalised name (ENSIP-15).
 * @example nameValue("vitalik.eth") // "vitalik.eth"
 * @example nameValue("Vitalik.eth") // null
 */
export function nameValue(raw: string): string | null {
  return raw !== "" && isNormalizedName(raw) ? raw : null;
}

/**
 * The value of a record of bytes (content hash, DNS zone hash) in lower case; null if it is empty.
 * @example bytesValue("0xE301") // "0xe301"
 * @example bytesValue("0x") // null
 */
export function bytesValue(raw: Hex): Hex | null {
  return raw === "0x" ? null : (raw.toLowerCase() as Hex);
}

/**
 * The two coordinates of a public key; null if both are zero.
 * @example pubkeyValue({ x: "0x00", y: "0x00" }) // null
 */
export function pubkeyValue({ x, y }: { x: Hex; y: Hex }): { x: Hex; y: Hex } | null {
  return BigInt(x) === 0n && BigInt(y) === 0n ? null : { x, y };
}
