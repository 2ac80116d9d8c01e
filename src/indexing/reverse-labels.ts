import type { Hex } from "viem";
import { isLabelOf, labelhash } from "../ens/labels.ts";
import { isReadGranted } from "./node-reads.ts";
import type { AskNodes, Scope } from "./scope.ts";

/**
 * Label of a subname of `addr.reverse`: the hex digits of an account's address. The registry's event has only its hash,
 * so the account is searched in the sender, the owner, the transaction's receipt and its call trace. Undefined if none
 * matches or the node returns no traces.
 */
export async function reverseLabel(scope: Scope, hash: Hex, owner: Hex): Promise<string | undefined> {
  // ENSIP-19: only the root chain's registry contains names of accounts.
  if (scope.naming.isSubgraphCompatible || scope.chainId !== scope.rootChainId) return undefined;
  const own = [scope.sender, owner]
    .map((address) => address.slice(2).toLowerCase())
    .find((label) => isLabelOf(label, hash));
  if (own !== undefined) return own;
  if (await isReadGranted(scope, "transaction")) {
    const { saved, chainId, blockNumber, transactionHash } = scope;
    // This is no JSON-RPC method: a saved label takes less space than the trace that contains it, and its hash proves
    // it.
    const request = { method: "label_in_transaction", params: [transactionHash, hash], blockNumber };
    const known = await saved?.find(chainId, request);
    if (known !== undefined && isLabelOf(known, hash)) return known;
    const label = await findLabelInTransaction(scope, hash);
    if (label !== undefined) {
      saved?.keep(chainId, request, label);
      return label;
    }
  }
  scope.report("unhealed-reverse-label", scope);
  return undefined;
}

type Transaction = { id: string; labels: Map<string, ReadonlyMap<Hex, string>> };

// The latest transaction of each reader: one transaction may name any number of accounts.
const latest = new WeakMap<AskNodes, Transaction>();

async function findLabelInTransaction(scope: Scope, hash: Hex): Promise<string | undefined> {
  const { nodes, chainId, blockNumber, transactionHash } = scope;
  const id = `${chainId} ${blockNumber} ${transactionHash}`;
  const known = latest.get(nodes);
  const transaction: Transaction = known?.id === id ? known : { id, labels: new Map() };
  latest.set(nodes, transaction);
  for (const { method, options } of requests) {
    const request = { method, params: [transactionHash, ...options], blockNumber, ...limits };
    const labels = transaction.labels.get(method) ?? listLabels(await nodes(chainId, request));
    transaction.labels.set(method, labels);
    const label = labels.get(hash);
    if (label !== undefined) return label;
  }
  return undefined;
}

// The receipt comes first: newer reverse registrars emit ReverseClaimed with the address, and contracts name themselves
// on creation. A trace costs the node an execution of the transaction. Real responses stay far below these limits.
const requests = [
  { method: "eth_getTransactionReceipt", options: [] },
  { method: "debug_traceTransaction", options: [{ tracer: "callTracer" }] },
];
const limits = { maxBytes: 8_000_000, timeoutMs: 4_000 };

/** Labels of all accounts in a response, by labelhash. */
const listLabels = (answer: unknown): ReadonlyMap<Hex, string> =>
  new Map(Array.from(addressesIn(answer), (label) => [labelhash(label), label] as const));

const maxAddresses = 25_000;

/**
 * The first 25,000 addresses in a receipt or call trace, as 40 lower-case digits: plain ones, and 32-byte words that
 * can be one.
 */
export function addressesIn(trace: unknown): Set<string> {
  const found = new Set<string>();
  const pending: unknown[] = [trace];
  while (pending.length > 0 && found.size < maxAddresses) {
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
  for (let i = start; i + wordDigits <= digits.length && found.size < maxAddresses; i += wordDigits) {
    if (digits.startsWith(paddingDigits, i))
      found.add(digits.slice(i + paddingDigits.length, i + wordDigits));
  }
}
