import type { Hex } from "viem";
import { addrReverseNode } from "../ens/ids.ts";
import { isLabelOf, labelhash } from "../ens/labels.ts";
import type { NodeRequest } from "./scope.ts";

// Where the account of a subname of addr.reverse is searched. Pure: a recording of an archive searches in the same places.

/** A NewOwner event of a registry, and who sent its transaction. */
type NewOwner = { labelhash: Hex; owner: Hex; sender: Hex };

/** Whether a subname is that of an account. ENSIP-19: only the root chain's registry contains names of accounts. */
export const isOfAccount = ({ parentNode }: { parentNode: Hex }, isRootChain: boolean): boolean =>
  isRootChain && parentNode === addrReverseNode;

/** The label if it is the transaction's sender or the new owner: the event itself has the account. */
export function labelInEvent({ labelhash, owner, sender }: NewOwner): string | undefined {
  return [sender, owner]
    .map((address) => address.slice(2).toLowerCase())
    .find((label) => isLabelOf(label, labelhash));
}

/**
 * The name by which a label is kept that was found in a transaction. Not a request of JSON-RPC: a label takes less space than the
 * trace that it was found in, and proves itself.
 */
export const savedLabel = (transactionHash: Hex, labelhash: Hex) => ({
  method: "label_in_transaction",
  params: [transactionHash, labelhash],
});

// The receipt first: the newer reverse registrars emit ReverseClaimed with the address, and contracts name themselves when
// they are created. A trace costs the node the execution of the transaction. Real ones stay far below these limits.
const sources = [
  { method: "eth_getTransactionReceipt", options: [], maxBytes: 8_000_000, timeoutMs: 4_000 },
  {
    method: "debug_traceTransaction",
    options: [{ tracer: "callTracer" }],
    maxBytes: 8_000_000,
    timeoutMs: 4_000,
  },
];

/** The requests whose answers may have the account, to be sent in turn. */
export const accountRequests = (transactionHash: Hex, blockNumber: number): NodeRequest[] =>
  sources.map(({ options, ...source }) => ({
    ...source,
    params: [transactionHash, ...options],
    blockNumber,
  }));

/** The labels of all accounts in an answer, by labelhash. */
export const labelsIn = (answer: unknown): ReadonlyMap<Hex, string> =>
  new Map(Array.from(addressesIn(answer), (label) => [labelhash(label), label] as const));

const mostAddresses = 25_000;

/**
 * The first 25,000 addresses in a receipt or call trace, as 40 lower-case digits: plain ones, and 32-byte words that can be
 * one. Takes any depth and any number of calls.
 */
export function addressesIn(trace: unknown): Set<string> {
  const found = new Set<string>();
  const pending: unknown[] = [trace];
  while (pending.length > 0 && found.size < mostAddresses) {
    const value = pending.pop();
    if (typeof value === "string") addAddresses(value, found);
    else if (typeof value === "object" && value !== null) {
      for (const part of Object.values(value)) pending.push(part);
    }
  }
  return found;
}

const selectorDigits = 8;
const wordDigits = 64;
const paddingDigits = "0".repeat(24);

function addAddresses(text: string, found: Set<string>): void {
  if (!/^0x[0-9a-fA-F]*$/.test(text)) return;
  const digits = text.slice(2).toLowerCase();
  if (digits.length === 40) found.add(digits);
  // Call data has a selector before its words, return data does not.
  const start = digits.length % wordDigits === selectorDigits ? selectorDigits : 0;
  for (let i = start; i + wordDigits <= digits.length && found.size < mostAddresses; i += wordDigits) {
    if (digits.startsWith(paddingDigits, i))
      found.add(digits.slice(i + paddingDigits.length, i + wordDigits));
  }
}
