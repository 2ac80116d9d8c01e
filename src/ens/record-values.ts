import type { Hex } from "viem";
import { isNormalizedName } from "./normalization.ts";

// Meaning of a record's raw value. Indexed and live values pass through the same functions, so that both ways of
// resolving agree.

/**
 * Value of an address record: an EVM address in lower case, other coins as hex bytes; null if unset.
 * @example addressValue("0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045") // "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
 * @example addressValue("0x0000000000000000000000000000000000000000") // null
 */
export function addressValue(raw: string): string | null {
  if (raw === "" || raw === "0x" || raw.includes("\0")) return null;
  const value = raw.toLowerCase();
  return /^0x0{40}$/.test(value) ? null : value;
}

/**
 * Value of a text record; null if it is unset or contains a NUL.
 * @example textValue("") // null
 */
export function textValue(raw: string): string | null {
  return raw === "" || raw.includes("\0") ? null : raw;
}

/** With what the keys of records of agents begin (ENSIP-25, ENSIP-26): names are listed by them. */
export const agentKeys = "agent-";

/** A text's bytes in hex, as ENSv2's keys of records are stored. */
export const hexOfText = (text: string): Hex => `0x${Buffer.from(text).toString("hex")}`;

/** The text of such a key. */
export const textOfHex = (hex: string): string => Buffer.from(hex.slice(2), "hex").toString("utf8");

/** `agentKeys` likewise. */
export const agentKeysInHex = hexOfText(agentKeys);

/** Whether a text record's key can be stored: it is not empty and contains no NUL. */
export function isTextKey(key: string): boolean {
  return textValue(key) !== null;
}

/**
 * Value of a `name` record; null unless it is a normalised name (ENSIP-15).
 * @example nameValue("vitalik.eth") // "vitalik.eth"
 * @example nameValue("Vitalik.eth") // null
 */
export function nameValue(raw: string): string | null {
  return raw !== "" && isNormalizedName(raw) ? raw : null;
}

/** Value of a `name` record that is selected as it is stored (`raw`), or only if it is a normalised name. */
export const nameRecord = (raw: string, selected: unknown): string | null =>
  selected === "raw" ? textValue(raw) : nameValue(raw);

/**
 * Value of a bytes record (content hash, DNS zone hash) in lower case; null if empty.
 * @example bytesValue("0xE301") // "0xe301"
 */
export function bytesValue(raw: Hex): Hex | null {
  return raw === "0x" ? null : (raw.toLowerCase() as Hex);
}

/** Coordinates of a public key; null if both are zero. */
export function pubkeyValue({ x, y }: { x: Hex; y: Hex }): { x: Hex; y: Hex } | null {
  return BigInt(x) === 0n && BigInt(y) === 0n ? null : { x, y };
}
