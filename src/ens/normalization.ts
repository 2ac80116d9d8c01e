import { ens_normalize } from "@adraffy/ens-normalize";
import type { Hex } from "viem";
import { encodedLabel } from "./labels.ts";

// ASCII letters and digits are normalised in any order (ENSIP-15). Most labels have nothing else, and this check takes
// a tenth of the time.
const isPlain = /^[a-z0-9]+(?:\.[a-z0-9]+)*$/;

/**
 * Normalised form of a name (ENSIP-15), or the reason why it has none.
 * @example normalizedName("Vitalik.ETH") // { name: "vitalik.eth" }
 */
export function normalizedName(name: string): { name: string } | { fault: string } {
  if (isPlain.test(name)) return { name };
  try {
    return { name: ens_normalize(name) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Whether a name is its own normalised form (ENSIP-15), as the root is.
 * @example isNormalizedName("vitalik.eth") // true
 * @example isNormalizedName("Vitalik.eth") // false
 */
export function isNormalizedName(name: string): boolean {
  const result = normalizedName(name);
  return "name" in result && result.name === name;
}

/**
 * Whether a single label is normalised (ENSIP-15). It is not if it is empty or contains a full stop.
 * @example isNormalizedLabel("vitalik") // true
 * @example isNormalizedLabel("a.b") // false
 */
export function isNormalizedLabel(label: string): boolean {
  return label !== "" && !label.includes(".") && isNormalizedName(label);
}

/** Whether a label is encoded: `[` + 64 lower-case hex digits + `]`. */
export function isEncodedLabel(label: string): boolean {
  return /^\[[0-9a-f]{64}\]$/.test(label);
}

/**
 * Label of an interpreted name: the label if it is known and normalised, else the encoded label.
 * @example interpretedLabel("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0", "eth") // "eth"
 * @example interpretedLabel("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0", undefined) // "[4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0]"
 */
export function interpretedLabel(labelhash: Hex, label: string | undefined): string {
  return label !== undefined && isNormalizedLabel(label) ? label : encodedLabel(labelhash);
}
