import { concat, type Hex, keccak256, stringToHex, zeroAddress } from "viem";
import { namespaces } from "../../src/deployments/namespaces.ts";
import type { GeneratedLog } from "./chain.ts";

/** One transaction of a made-up history. */
export type Transaction = { from: Hex; logs: GeneratedLog[] };

/** A made-up history of one chain, with what its contracts answer: result by `<address> <call data>`. */
export type History = { transactions: Transaction[]; labels: string[]; calls: Map<string, Hex> };

export const zero: Hex = zeroAddress;
export const rootNode: Hex = `0x${"0".repeat(64)}`;
export const year = 31_536_000n;

/** keccak-256 of a text: the labelhash of a label. */
export const hashOf = (text: string): Hex => keccak256(stringToHex(text));

export const subnodeOf = (parent: Hex, labelhash: Hex): Hex => keccak256(concat([parent, labelhash]));

const accounts = new Map<number, Hex>();

/** A made-up account. */
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

/** A history that `next` adds transactions to, until it has `count` logs; `next` is told how much of it is done, 0 to 1. */
export function historyOf(
  count: number,
  first: readonly Transaction[],
  next: (done: number) => Transaction,
): Transaction[] {
  const transactions = [...first];
  let made = first.reduce((sum, { logs }) => sum + logs.length, 0);
  while (made < count) {
    const transaction = next(made / count);
    transactions.push(transaction);
    made += transaction.logs.length;
  }
  return transactions;
}
