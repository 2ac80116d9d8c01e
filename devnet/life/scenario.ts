import { type Hex, keccak256, stringToHex } from "viem";
import { type LocalAccount, privateKeyToAccount } from "viem/accounts";
import type { PlannedTransaction } from "../chain/block-builder.ts";
import { createRandom, type Random } from "../random.ts";
import {
  type Action,
  approveWrapper,
  type Contracts,
  createSubname,
  createWrappedSubname,
  register,
  renew,
  setRecords,
  transferToken,
  wrap,
} from "./actions.ts";
import { newLabel, someRecords } from "./made-up.ts";
import type { RecordedName } from "./recorded-names.ts";

/** The accounts and names of a live chain: everything that the next step depends on. */
type State = {
  contracts: Contracts;
  random: Random;
  accounts: readonly LocalAccount[];
  nonces: number[];
  /** Accounts that let the name wrapper take their tokens. */
  approved: Set<number>;
  /** Accounts with a primary name. */
  claimed: Set<number>;
  /** End of the term of each recorded name, Unix seconds. */
  renewable: Map<string, bigint>;
  /** Names registered by this scenario that an account of it still holds. */
  names: Name[];
  taken: Set<string>;
};

type Name = {
  label: string;
  owner: number;
  expires: bigint;
  hasResolver: boolean;
  wrapped: boolean;
  subnames: number;
};

/**
 * What happens on a live chain: registrations, renewals, records, subnames, wraps, transfers, over the contracts of a
 * recording. The seed determines everything except time: equal seeds give equal names, owners and records. `recorded`
 * are names that may be renewed.
 */
export function createScenario({
  contracts,
  seed,
  recorded = [],
}: {
  contracts: Contracts;
  seed: number;
  recorded?: RecordedName[] | undefined;
}) {
  const accounts = Array.from({ length: accountCount }, (_, index) =>
    privateKeyToAccount(keccak256(stringToHex(`devnet account ${seed}-${index}`))),
  );
  const renewable = new Map(recorded.map(({ label, expires }) => [label, expires]));
  const state: State = {
    contracts,
    random: createRandom(seed),
    accounts,
    nonces: accounts.map(() => 0),
    approved: new Set(),
    claimed: new Set(),
    renewable,
    names: [],
    taken: new Set(renewable.keys()),
  };
  return {
    /** Transactions of the next block; about half of the blocks stay empty. `now` in Unix seconds. */
    next(now: number): PlannedTransaction[] {
      const count = state.random.pick([0, 0, 1, 1, 2]);
      return Array.from({ length: count }).flatMap(() => state.random.pick(steps)(state, now));
    },
    /** Registers a label (a new one unless given) for an account, with or without resolver and primary name. */
    registerName: (now: number, given: GivenName = {}) => registerName(state, now, given),
    /** Addresses of the accounts that act, lower case. */
    addresses: accounts.map(({ address }) => address.toLowerCase() as Hex),
  };
}

type GivenName = { label?: string; owner?: number; plain?: boolean };
type Step = (state: State, now: number) => PlannedTransaction[];

function account({ accounts }: State, index: number): LocalAccount {
  const found = accounts[index];
  if (found === undefined) throw new Error(`There is no account ${index}.`);
  return found;
}

const addressOf = (state: State, index: number) => account(state, index).address.toLowerCase() as Hex;

function send({ nonces }: State, sender: number, action: Action): PlannedTransaction {
  const nonce = nonces[sender] ?? 0;
  nonces[sender] = nonce + 1;
  return { ...action, nonce };
}

function registerName(state: State, now: number, given: GivenName = {}): PlannedTransaction[] {
  const { contracts, random, claimed, names, taken } = state;
  const label = given.label ?? newLabel(random, taken);
  const owner = given.owner ?? random.below(accountCount);
  const plain = given.plain ?? random.below(4) === 0;
  const duration = BigInt(1 + random.below(3)) * year;
  const expires = BigInt(now) + duration;
  const records = plain ? undefined : someRecords(random, addressOf(state, owner));
  const reverse = plain || random.below(2) === 0 ? "none" : claimed.has(owner) ? "again" : "first";
  if (reverse !== "none") claimed.add(owner);
  taken.add(label);
  names.push({ label, owner, expires, hasResolver: !plain, wrapped: false, subnames: 0 });
  const action = register(contracts, {
    label,
    owner: account(state, owner),
    expires,
    cost: price(label, duration),
    records,
    reverse,
    referrer: random.below(3) === 0 ? `0x${"0".repeat(24)}${random.hexDigits(20)}` : undefined,
  });
  return [send(state, owner, action)];
}

function renewName(state: State, now: number): PlannedTransaction[] {
  const { contracts, random, names, renewable } = state;
  const own = names.length > 0 && random.below(2) === 0 ? random.pick(names) : undefined;
  const open = [...renewable].filter(([, expires]) => expires + gracePeriod > BigInt(now));
  const [label, current] = own === undefined ? (random.pick(open) ?? []) : [own.label, own.expires];
  if (label === undefined || current === undefined) return registerName(state, now);
  const duration = BigInt(1 + random.below(2)) * year;
  const expires = current + duration;
  if (own === undefined) renewable.set(label, expires);
  else own.expires = expires;
  const payer = random.below(accountCount);
  const cost = price(label, duration);
  const action = renew(contracts, { label, payer: account(state, payer), expires, cost });
  return [send(state, payer, action)];
}

function changeRecords(state: State, now: number): PlannedTransaction[] {
  const name = state.random.pick(state.names.filter(({ hasResolver }) => hasResolver));
  if (name === undefined) return registerName(state, now);
  const records = someRecords(state.random, addressOf(state, name.owner));
  if (records.length === 0) records.push({ type: "text", key: "status", value: `block time ${now}` });
  const target = { name: `${name.label}.eth`, owner: account(state, name.owner), records };
  return [send(state, name.owner, setRecords(state.contracts, target))];
}

function makeSubname(state: State, now: number): PlannedTransaction[] {
  const parent = state.random.pick(state.names.filter(({ subnames }) => subnames < subnameLabels.length));
  if (parent === undefined) return registerName(state, now);
  const label = subnameLabels[parent.subnames++] as string;
  const owner = account(state, parent.owner);
  const create = parent.wrapped ? createWrappedSubname : createSubname;
  return [
    send(state, parent.owner, create(state.contracts, { parent: `${parent.label}.eth`, label, owner })),
  ];
}

function wrapName(state: State, now: number): PlannedTransaction[] {
  const { contracts, random, names, approved } = state;
  const name = random.pick(names.filter(({ wrapped }) => !wrapped));
  if (name === undefined) return registerName(state, now);
  const owner = account(state, name.owner);
  const before = approved.has(name.owner) ? [] : [send(state, name.owner, approveWrapper(contracts, owner))];
  approved.add(name.owner);
  const { label, expires, hasResolver: hadResolver } = name;
  name.wrapped = true;
  name.hasResolver = true;
  return [...before, send(state, name.owner, wrap(contracts, { label, owner, expires, hadResolver }))];
}

function transferName(state: State, now: number): PlannedTransaction[] {
  const { contracts, random, names } = state;
  const name = random.pick(names.filter(({ wrapped, subnames }) => !wrapped && subnames === 0));
  if (name === undefined) return registerName(state, now);
  const { label, owner } = name;
  const to = account(state, (owner + 1) % accountCount).address;
  // The registry still has the former owner, who alone could change records: nothing more happens to this name.
  names.splice(names.indexOf(name), 1);
  return [send(state, owner, transferToken(contracts, { label, owner: account(state, owner), to }))];
}

// Registrations, renewals and record changes happen most often.
const steps: readonly Step[] = [
  ...Array<Step>(5).fill((state, now) => registerName(state, now)),
  ...Array<Step>(3).fill(renewName),
  ...Array<Step>(3).fill(changeRecords),
  ...Array<Step>(2).fill(makeSubname),
  wrapName,
  transferName,
];

/** Price of a term in wei: the oracle's yearly fee in USD at 3,000 USD for one ether. */
function price(label: string, duration: bigint): bigint {
  const usdPerYear = label.length === 3 ? 640n : label.length === 4 ? 160n : 5n;
  return (usdPerYear * duration * 10n ** 18n) / (3000n * year);
}

const accountCount = 12;
const year = 31_536_000n;
const gracePeriod = 7_776_000n;
/** Labels of subnames: no event reveals those of unwrapped names, only a label service knows them. */
export const subnameLabels = ["pay", "vault", "mail", "blog", "shop", "team"];
