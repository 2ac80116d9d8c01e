import type { Hex } from "viem";
import { isNode } from "../../ens/given-names.ts";
import { reverseNode } from "../../ens/reverse-names.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import { secondGeneration } from "./stored-name.ts";
import { parseNamePath } from "./v2-walk.ts";

// Surrogate keys (docs/events.md): what a response contains, and what an event invalidates. A message of the feed has a
// key of each response that its event changes. Names depend on those above them in ENSv2, so responses have the keys of
// these too.

/** Marks a response that no set of keys covers; it is sent without keys. */
export const unkeyed = "";

/** The key of responses that list names or events of everybody; each message has it. */
export const keyOfAll = "all";

/**
 * Of every response by address; messages have it whose event may move the names below another one, whose holders are
 * not looked up.
 */
export const keyOfAddresses = "addresses";

/** The key of responses that depend on a name. */
export const nameKey = (node: Hex): string => `name:${node}`;

/** The key of responses that depend on the direct subnames of a name. */
export const subnamesKey = (node: Hex): string => `subnames:${node}`;

// Hashing more costs time, and headers have limits.
const maxLevels = 16;

/**
 * Keys of a name, or of a text that a client takes for one: of it and of all names above. Of a node alone these are not
 * known.
 */
export function keysOfName(text: string): string[] {
  if (isNode(text)) return [unkeyed];
  const nodes = text.split(".").length > maxLevels ? [] : parseNamePath(text).nodes;
  return nodes.length === 0 ? [keyOfAll] : nodes.map(nameKey).reverse();
}

/** Keys of what an address holds, claims or received; its claim is with its reverse name. */
export const keysOfAddress = (namespaces: readonly IndexedNamespace[], address: Hex): string[] => [
  `address:${address}`,
  nameKey(reverseNode(address)),
  ...(secondGeneration(namespaces) ? [keyOfAddresses] : []),
];

/** Adds keys to the response of a call. */
export function addKeys({ keys }: { keys: Set<string> }, ...more: readonly string[]): void {
  for (const key of more) keys.add(key);
}
