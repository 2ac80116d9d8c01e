import { ens_normalize } from "@adraffy/ens-normalize";
import type { Hex } from "viem";
import { labelhashOf } from "./labels.ts";
import { rootNode, subnode } from "./nodes.ts";

/** The normalised form of a name (ENSIP-15), or the reason why it has none. */
export function normalizedName(name: string): { name: string } | { fault: string } {
  try {
    return { name: ens_normalize(name) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether a name is its own normalised form (ENSIP-15); the root is. */
export function isNormalizedName(name: string): boolean {
  const result = normalizedName(name);
  return "name" in result && result.name === name;
}

/** Node of an interpreted name: labels in the form `[labelhash]` count as that hash (ENSIP-1). */
export function nodeOfName(name: string): Hex {
  if (name === "") return rootNode;
  return name.split(".").reduceRight<Hex>((parent, label) => subnode(parent, labelhashIn(label)), rootNode);
}

/** The name itself and every name above it, nearest first, without the root. */
export function namesAbove(name: string): string[] {
  const labels = name === "" ? [] : name.split(".");
  return labels.map((_, place) => labels.slice(place).join("."));
}

/** The name without its first label; the root for a name of one label. */
export function parentName(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? "" : name.slice(dot + 1);
}

/** Whether the label is written as `[` + 64 hex digits + `]`. */
export function isEncodedLabel(label: string): boolean {
  return /^\[[0-9a-f]{64}\]$/.test(label);
}

function labelhashIn(label: string): Hex {
  return isEncodedLabel(label) ? `0x${label.slice(1, -1)}` : labelhashOf(label);
}
