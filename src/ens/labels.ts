import type { Hex } from "viem";
import { keccak256 } from "./keccak.ts";

/**
 * keccak-256 of the label's UTF-8 bytes, for any label (viem's `labelhash` treats "" and `[…]` differently).
 * @example labelhash("eth") // "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"
 */
export function labelhash(label: string): Hex {
  return keccak256(label);
}

/** Whether the label hashes to `hash`. */
export const isLabelOf = (label: string, hash: Hex): boolean => labelhash(label) === hash;

/** The form of an unknown or unusable label in names: `[` + 64 hex digits + `]`. */
export function encodedLabel(labelhash: Hex): string {
  return `[${labelhash.slice(2)}]`;
}

/**
 * subgraph: whether names may contain the label. Those with a NUL, full stop, `[` or `]` are unusable
 * (`checkValidLabel`); "" is usable.
 * @example isUsableLabel("UPPER case") // true
 * @example isUsableLabel("a.b") // false
 */
export function isUsableLabel(label: string): boolean {
  return !/[\0.[\]]/.test(label);
}

/**
 * Canonical labelhash (`0x` and 64 lower-case digits), or undefined if `text` is none. Accepts upper case, no prefix,
 * `[hash]`, and 63 digits, which lost a leading zero.
 * @example normalizeLabelhash("[4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0]") // "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"
 * @example normalizeLabelhash("0x12") // undefined
 */
export function normalizeLabelhash(text: string): Hex | undefined {
  if (/^0x[0-9a-f]{64}$/.test(text)) return text as Hex;
  const inner = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  const digits = inner.startsWith("0x") ? inner.slice(2) : inner;
  if (!/^[0-9a-fA-F]{63,64}$/.test(digits)) return undefined;
  return `0x${digits.toLowerCase().padStart(64, "0")}`;
}
