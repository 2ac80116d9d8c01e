import type { Hex } from "viem";
import { labelhashOf } from "../ens/labels.ts";
import { addrReverseNode } from "../ens/nodes.ts";
import { outlastOutage } from "./outlast-outage.ts";
import type { Scope } from "./scope.ts";

/**
 * Label of a subname of `addr.reverse`: the hex digits of an account's address. The registry tells only its hash; the
 * account is looked for where it must be: sender, owner, then any address in the transaction's call trace.
 * Undefined for other parents, and where no address fits or the node gives no traces.
 */
export async function reverseLabel(
  scope: Scope,
  { parentNode, labelhash, owner }: { parentNode: Hex; labelhash: Hex; owner: Hex },
): Promise<string | undefined> {
  if (parentNode !== addrReverseNode || scope.naming.isSubgraphCompatible) return undefined;
  // ENSIP-19: only the root chain's registry holds names of accounts.
  if (scope.chainId !== scope.rootChainId) return undefined;
  for (const address of [scope.sender, owner]) {
    const label = address.slice(2).toLowerCase();
    if (labelhashOf(label) === labelhash) return label;
  }
  for (const label of addressesIn(await traceOf(scope))) {
    if (labelhashOf(label) === labelhash) return label;
  }
  scope.report("unhealed-reverse-label", scope);
  return undefined;
}

// A node without the debug methods says so definitely; waiting would not help.
async function traceOf(scope: Scope): Promise<unknown> {
  try {
    return await outlastOutage(() => scope.traceTransaction());
  } catch {
    return undefined;
  }
}

/** All addresses in a call trace, as 40 lower-case digits: plain ones, and 32-byte words that can be one. */
export function addressesIn(trace: unknown): Set<string> {
  const found = new Set<string>();
  const pending: unknown[] = [trace];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") for (const address of addressesInHex(value)) found.add(address);
    else if (typeof value === "object" && value !== null) pending.push(...Object.values(value));
  }
  return found;
}

const selectorDigits = 8;
const wordDigits = 64;
const paddingDigits = "0".repeat(24);

function addressesInHex(text: string): string[] {
  if (!/^0x[0-9a-fA-F]*$/.test(text)) return [];
  const digits = text.slice(2).toLowerCase();
  if (digits.length === 40) return [digits];
  // Call data has a selector in front of its words, return data has not.
  const start = digits.length % wordDigits === selectorDigits ? selectorDigits : 0;
  const words: string[] = [];
  for (let i = start; i + wordDigits <= digits.length; i += wordDigits) {
    const word = digits.slice(i, i + wordDigits);
    if (word.startsWith(paddingDigits)) words.push(word.slice(24));
  }
  return words;
}
