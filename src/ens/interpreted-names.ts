import type { Hex } from "viem";
import { isNormalizedLabel } from "./interpreted-labels.ts";
import { labelhashOf } from "./labels.ts";
import { rootNode, subnode } from "./nodes.ts";

/**
 * Node of an interpreted name: each label normalised (ENSIP-15) or `[labelhash]`; the empty name is the root.
 * Undefined if the text is no such name.
 */
export function nodeOfInterpretedName(name: string): Hex | undefined {
  if (name === "") return rootNode;
  const hashes = name.split(".").map(labelhashIn);
  let node = rootNode;
  for (const labelhash of hashes.reverse()) {
    if (labelhash === undefined) return undefined;
    node = subnode(node, labelhash);
  }
  return node;
}

function labelhashIn(label: string): Hex | undefined {
  const encoded = /^\[([0-9a-f]{64})\]$/.exec(label)?.[1];
  if (encoded !== undefined) return `0x${encoded}`;
  return isNormalizedLabel(label) ? labelhashOf(label) : undefined;
}
