import type { Hex } from "viem";
import { keccak256 } from "./keccak.ts";

/** keccak-256 of the label's UTF-8 bytes, whatever the label is (viem's `labelhash` treats "" and `[…]` differently). */
export function labelhashOf(label: string): Hex {
  return keccak256(label);
}

/** The label as it stands in a name when it is unknown or unusable: `[` + 64 hex digits + `]`. */
export function encodedLabel(labelhash: Hex): string {
  return `[${labelhash.slice(2)}]`;
}

/**
 * Whether the subgraph puts the label into names: it holds no NUL, full stop, `[` or `]`.
 * Anything else passes, the empty label too (ens-subgraph, `checkValidLabel`).
 */
export function isUsableLabel(label: string): boolean {
  return !/[\0.[\]]/.test(label);
}

/**
 * The labelhash in its one form, `0x` and 64 lower-case digits, or undefined if `text` is none.
 * Takes what people paste: upper case, no prefix, `[hash]`, and 63 digits (one leading zero was lost).
 */
export function normalizeLabelhash(text: string): Hex | undefined {
  if (isNormal(text)) return text;
  const inner = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  const digits = inner.startsWith("0x") ? inner.slice(2) : inner;
  if (!/^[0-9a-fA-F]{63,64}$/.test(digits)) return undefined;
  return `0x${digits.toLowerCase().padStart(64, "0")}`;
}

const isLowerCaseDigit = new Uint8Array(256);
for (const digit of "0123456789abcdef") isLowerCaseDigit[digit.charCodeAt(0)] = 1;

/** Nearly every labelhash comes in its one form already; without branches this costs a third of a pattern. */
function isNormal(text: string): text is Hex {
  if (text.length !== 66 || !text.startsWith("0x")) return false;
  let digits = 0;
  for (let i = 2; i < 66; i++) digits += isLowerCaseDigit[text.charCodeAt(i)] ?? 0;
  return digits === 64;
}
