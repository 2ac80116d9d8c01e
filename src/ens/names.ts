import type { Hex } from "viem";
import { rootNode, subnode } from "./ids.ts";
import { keccak256 } from "./keccak.ts";
import { labelhash } from "./labels.ts";
import { interpretedLabel, isEncodedLabel, isNormalizedLabel } from "./normalization.ts";

// Names and nodes. The files of this folder are pure functions of the ENS standards; they read no database, node or
// configuration.

/**
 * Node of a name (ENSIP-1). Labels are literal, except that encoded labels stand for their labelhash.
 * @example namehash("vitalik.eth") // "0xee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835"
 */
export function namehash(name: string): Hex {
  if (name === "") return rootNode;
  return name.split(".").reduceRight<Hex>((parent, label) => subnode(parent, labelhashIn(label)), rootNode);
}

/**
 * Node of an interpreted name, whose labels are normalised (ENSIP-15) or encoded; "" is the root. Undefined for any
 * other text.
 * @example nodeOfInterpretedName("vitalik.eth") // "0xee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835"
 * @example nodeOfInterpretedName("Vitalik.eth") // undefined
 */
export function nodeOfInterpretedName(name: string): Hex | undefined {
  const labels = name === "" ? [] : name.split(".");
  return labels.every((label) => isEncodedLabel(label) || isNormalizedLabel(label))
    ? namehash(name)
    : undefined;
}

/**
 * The name and every name above it, nearest first, without the root.
 * @example namesAbove("pay.alice.eth") // ["pay.alice.eth", "alice.eth", "eth"]
 */
export function namesAbove(name: string): string[] {
  const labels = name === "" ? [] : name.split(".");
  return labels.map((_, index) => labels.slice(index).join("."));
}

/**
 * The name without its first label: "", the root, for a single label.
 * @example parentName("pay.alice.eth") // "alice.eth"
 */
export function parentName(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 ? "" : name.slice(dot + 1);
}

/** Labelhash of a label in a name. Labels are literal, except that encoded labels stand for their labelhash. */
export function labelhashIn(label: string): Hex {
  return isEncodedLabel(label) ? `0x${label.slice(1, -1)}` : labelhash(label);
}

/**
 * Labels of a name in DNS wire format as raw bytes, first label first. Ignores bytes after the final zero. Undefined
 * for malformed bytes: empty, without the final zero, or with a length past the end.
 * @example dnsLabels("0x0474657374036574680000") // [Buffer.from("test"), Buffer.from("eth")]
 */
export function dnsLabels(wire: Hex): Buffer[] | undefined {
  const bytes = Buffer.from(wire.slice(2), "hex");
  const labels: Buffer[] = [];
  let offset = 0;
  for (;;) {
    const length = bytes[offset];
    if (length === undefined) return undefined;
    if (length === 0) return labels;
    const end = offset + 1 + length;
    if (end > bytes.length) return undefined;
    labels.push(bytes.subarray(offset + 1, end));
    offset = end;
  }
}

/**
 * The interpreted name of a name in DNS wire format; undefined if that is malformed.
 * @example nameOfWire("0x0365746800") // "eth"
 */
export const nameOfWire = (wire: Hex): string | undefined =>
  dnsLabels(wire)
    ?.map((label) => interpretedLabel(keccak256(label), label.toString("utf8")))
    .join(".");

/** Labels of a name in DNS wire format. Undefined unless it is the name of `node`, directly under `parentNode`. */
export function labelsOfNode({ node, parentNode, fqdn }: { node: Hex; parentNode: Hex; fqdn: Hex }) {
  const labels = dnsLabels(fqdn);
  const [first] = labels ?? [];
  return first !== undefined && subnode(parentNode, keccak256(first)) === node ? labels : undefined;
}
