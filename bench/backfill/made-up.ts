import { concat, type Hex, keccak256, stringToHex, zeroAddress } from "viem";
import type { EmittedLog } from "../../devnet/events.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";

/** One transaction of a generated history. */
export type Transaction = { from: Hex; logs: EmittedLog[] };

/** A generated history of one chain, with its contracts' results by `<address> <call data>`. */
export type History = { transactions: Transaction[]; labels: string[]; calls: Map<string, Hex> };

/** The zero address. */
export const zero: Hex = zeroAddress;

/** Node of the root. */
export const rootNode: Hex = `0x${"0".repeat(64)}`;

/** Seconds of a year. */
export const year = 31_536_000n;

/** keccak-256 of a text: the labelhash of a label. */
export const hashOf = (text: string): Hex => keccak256(stringToHex(text));

/** Node of the subname whose label hashes to `labelhash` (ENSIP-1). */
export const subnodeOf = (parent: Hex, labelhash: Hex): Hex => keccak256(concat([parent, labelhash]));

const accounts = new Map<number, Hex>();

/** A generated account. */
export function accountOf(id: number): Hex {
  const known = accounts.get(id);
  if (known) return known;
  const account: Hex = `0x${hashOf(`account ${id}`).slice(26)}`;
  accounts.set(id, account);
  return account;
}

/** Address of a contract of mainnet's namespace; throws if there is none. */
export function addressOf(datasource: string, contract: string): Hex {
  const address = namespaces.mainnet[datasource]?.contracts[contract]?.address;
  if (address === undefined) throw new Error(`The namespace has no address of ${datasource}.${contract}.`);
  return address;
}

/**
 * Transactions of a history: `first`, then those of `next` until there are `count` logs. `next` gets the completed
 * share of the history, 0 to 1.
 */
export function historyOf(
  count: number,
  first: readonly Transaction[],
  next: (done: number) => Transaction,
): Transaction[] {
  const transactions = [...first];
  let logs = first.reduce((sum, transaction) => sum + transaction.logs.length, 0);
  while (logs < count) {
    const transaction = next(logs / count);
    transactions.push(transaction);
    logs += transaction.logs.length;
  }
  return transactions;
}
