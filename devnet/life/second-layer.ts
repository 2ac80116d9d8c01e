import { type Hex, keccak256, stringToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { PlannedTransaction } from "../chain/block-builder.ts";
import { createRandom } from "../random.ts";
import type { Action } from "./actions.ts";
import { newLabel, someRecords } from "./made-up.ts";
import type { RecordChange } from "./records.ts";
import { changeRecords, nameAccount, prolong, type SecondLayer, sell } from "./second-layer-actions.ts";

type Name = { label: string; owner: number; expires: bigint };

/**
 * What happens on a live chain besides the root one: registrations with records, renewals, records, primary names. The seed
 * determines everything except time.
 */
export function createSecondLayer(layer: SecondLayer, seed: number) {
  const random = createRandom(seed);
  const accounts = Array.from({ length: accountCount }, (_, index) =>
    privateKeyToAccount(keccak256(stringToHex(`devnet account ${seed}-${index}`))),
  );
  const nonces = accounts.map(() => 0);
  const names: Name[] = [];
  const taken = new Set<string>();

  function send(sender: number, action: (account: (typeof accounts)[number]) => Action): PlannedTransaction {
    const account = accounts[sender];
    if (account === undefined) throw new Error(`There is no account ${sender}.`);
    const nonce = nonces[sender] ?? 0;
    nonces[sender] = nonce + 1;
    return { ...action(account), nonce };
  }

  function register(now: number): PlannedTransaction[] {
    const label = newLabel(random, taken);
    const owner = random.below(accountCount);
    const duration = BigInt(1 + random.below(3)) * year;
    const expires = BigInt(now) + duration;
    taken.add(label);
    names.push({ label, owner, expires });
    const sale = send(owner, (account) => {
      const address = account.address.toLowerCase() as Hex;
      const records = withAddresses(layer.chainId, address, someRecords(random, address));
      return sell(layer, {
        label,
        owner: account,
        expires,
        cost: weiPerSecond * duration,
        records,
      });
    });
    if (random.below(2) === 0) return [sale];
    const name = `${label}.${layer.parent}`;
    return [sale, send(owner, (account) => nameAccount(layer, { account, name }))];
  }

  function renew(now: number): PlannedTransaction[] {
    const name = random.pick(names);
    if (name === undefined) return register(now);
    name.expires += year;
    const { label, expires } = name;
    const cost = weiPerSecond * year;
    return [send(random.below(accountCount), (payer) => prolong(layer, { label, payer, expires, cost }))];
  }

  function change(now: number): PlannedTransaction[] {
    const name = random.pick(names);
    if (name === undefined) return register(now);
    const records: RecordChange[] = [{ type: "text", key: "status", value: `block time ${now}` }];
    return [send(name.owner, (owner) => changeRecords(layer, { label: name.label, owner, records }))];
  }

  const steps = [register, register, renew, change];
  return {
    /** Transactions of the next block; about half of the blocks stay empty. `now` in Unix seconds. */
    next: (now: number): PlannedTransaction[] => (random.below(2) === 0 ? [] : random.pick(steps)(now)),
  };
}

/** The records, and the account's address on Ethereum and on the chain: what a primary name on it needs (ENSIP-19). */
export function withAddresses(chainId: number, address: Hex, records: RecordChange[]): RecordChange[] {
  const coinTypes = [60n, evmCoinTypes | BigInt(chainId)];
  return [
    ...coinTypes.map((coinType): RecordChange => ({ type: "addr", coinType, address })),
    ...records.filter((change) => change.type !== "addr" || !coinTypes.includes(change.coinType)),
  ];
}

/** ENSIP-11: the coin type of an EVM chain is its id with this bit set. */
const evmCoinTypes = 0x80000000n;
const accountCount = 6;
const year = 31_536_000n;
/** About 0.001 ether a year. */
const weiPerSecond = 31_709_791n;
