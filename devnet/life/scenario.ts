import { type Hex, keccak256, stringToHex } from "viem";
import type { PlannedTransaction } from "../chain/block.ts";
import { createRandom, type Random } from "../random.ts";
import {
  approveWrapper,
  type Contracts,
  createSubname,
  createWrappedSubname,
  type RecordChange,
  register,
  registerOn,
  renew,
  renewOn,
  type SecondLayer,
  setPrimaryName,
  setRecords,
  transferToken,
  wrap,
} from "./actions.ts";

/** The accounts and names of a live chain: everything that the next step depends on. */
type State = {
  contracts: Contracts | SecondLayer;
  random: Random;
  accounts: readonly Hex[];
  /** Accounts that let the name wrapper take their tokens. */
  approved: Set<Hex>;
  /** Accounts with a primary name. */
  claimed: Set<Hex>;
  /** Names registered by this scenario that an account of it still holds. */
  names: Name[];
  taken: Set<string>;
};

type Name = {
  label: string;
  owner: Hex;
  expires: bigint;
  hasResolver: boolean;
  wrapped: boolean;
  subnames: number;
};

/**
 * What happens on a live chain: registrations, renewals, records, primary names, on the root chain also subnames, wraps and transfers,
 * over the contracts of a recording. The seed determines everything except time: equal seeds give equal names, owners and records.
 */
export function createScenario({ contracts, seed }: { contracts: Contracts | SecondLayer; seed: number }) {
  const accounts = Array.from(
    { length: 12 },
    (_, index): Hex => `0x${keccak256(stringToHex(`devnet account ${seed}-${index}`)).slice(26)}`,
  );
  const state: State = {
    contracts,
    random: createRandom(seed),
    accounts,
    approved: new Set(),
    claimed: new Set(),
    names: [],
    taken: new Set(),
  };
  return {
    /** Transactions of the next block; about half of the blocks stay empty. `now` in Unix seconds. */
    next(now: number): PlannedTransaction[] {
      const { random } = state;
      const steps = "parent" in contracts ? commonSteps : [...commonSteps, ...rootSteps];
      return Array.from({ length: random.pick([0, 0, 1, 1, 2]) }).flatMap(() =>
        random.pick(steps)(state, now),
      );
    },
    /** Registers a label (a new one unless given) for an account, with or without resolver and primary name. */
    registerName: (now: number, given: GivenName = {}) => registerName(state, now, given),
    /** Addresses of the accounts that act, lower case. */
    addresses: accounts,
  };
}

type GivenName = { label?: string; owner?: number; plain?: boolean };
type Step = (state: State, now: number) => PlannedTransaction[];

function registerName(state: State, now: number, given: GivenName = {}): PlannedTransaction[] {
  const { contracts, random, accounts, claimed, names, taken } = state;
  const label = given.label ?? newLabel(random, taken);
  const owner = accounts[given.owner ?? random.below(accounts.length)] as Hex;
  const plain = given.plain ?? random.below(4) === 0;
  const duration = BigInt(1 + random.below(3)) * year;
  const hasResolver = !plain || "parent" in contracts;
  const name = { label, owner, expires: BigInt(now) + duration, cost: price(label, duration) };
  const records = someRecords(random, owner);
  const isClaimed = !plain && random.below(2) === 0;
  taken.add(label);
  names.push({ ...name, hasResolver, wrapped: false, subnames: 0 });
  if ("parent" in contracts) {
    const sale = registerOn(contracts, {
      ...name,
      records: withAddresses(contracts.chainId, owner, records),
    });
    const primary = { account: owner, name: `${label}.${contracts.parent}` };
    return isClaimed ? [sale, setPrimaryName(contracts, primary)] : [sale];
  }
  const reverse = !isClaimed ? "none" : claimed.has(owner) ? "again" : "first";
  if (isClaimed) claimed.add(owner);
  const referrer: Hex = `0x${"0".repeat(24)}${random.hexDigits(20)}`;
  return [
    register(contracts, {
      ...name,
      records: plain ? undefined : records,
      reverse,
      referrer: random.below(3) === 0 ? referrer : undefined,
    }),
  ];
}

function renewName(state: State, now: number): PlannedTransaction[] {
  const { contracts, random, names, accounts } = state;
  const name = random.pick(names);
  if (name === undefined) return registerName(state, now);
  const duration = BigInt(1 + random.below(2)) * year;
  name.expires += duration;
  const { label, expires } = name;
  const renewal = { label, payer: random.pick(accounts), expires, cost: price(label, duration) };
  return ["parent" in contracts ? renewOn(contracts, renewal) : renew(contracts, renewal)];
}

function changeRecords(state: State, now: number): PlannedTransaction[] {
  const { contracts, random, names } = state;
  const found = random.pick(names.filter(({ hasResolver }) => hasResolver));
  if (found === undefined) return registerName(state, now);
  const { label, owner } = found;
  const records: RecordChange[] = [
    ...someRecords(random, owner),
    { type: "text", key: "status", value: `block time ${now}` },
  ];
  const [resolver, parent] =
    "parent" in contracts ? [contracts.resolver, contracts.parent] : [contracts.PublicResolverV5, "eth"];
  return [setRecords(resolver, { name: `${label}.${parent}`, owner, records })];
}

/** A step that only the contracts of the root chain know. */
const onRoot =
  (step: (state: State, contracts: Contracts) => PlannedTransaction[] | undefined): Step =>
  (state, now) =>
    ("parent" in state.contracts ? undefined : step(state, state.contracts)) ?? registerName(state, now);

const makeSubname = onRoot(({ random, names }, contracts) => {
  const parent = random.pick(names.filter(({ subnames }) => subnames < subnameLabels.length));
  if (parent === undefined) return undefined;
  const label = subnameLabels[parent.subnames++] as string;
  const create = parent.wrapped ? createWrappedSubname : createSubname;
  return [create(contracts, { parent: `${parent.label}.eth`, label, owner: parent.owner })];
});

const wrapName = onRoot(({ random, names, approved }, contracts) => {
  const name = random.pick(names.filter(({ wrapped }) => !wrapped));
  if (name === undefined) return undefined;
  const { label, owner, expires, hasResolver: hadResolver } = name;
  const before = approved.has(owner) ? [] : [approveWrapper(contracts, owner)];
  approved.add(owner);
  name.wrapped = true;
  name.hasResolver = true;
  return [...before, wrap(contracts, { label, owner, expires, hadResolver })];
});

const transferName = onRoot(({ random, names, accounts }, contracts) => {
  const name = random.pick(names.filter(({ wrapped, subnames }) => !wrapped && subnames === 0));
  if (name === undefined) return undefined;
  const { label, owner } = name;
  const to = accounts[(accounts.indexOf(owner) + 1) % accounts.length] as Hex;
  // The registry still has the former owner, who alone could change records: nothing more happens to this name.
  names.splice(names.indexOf(name), 1);
  return [transferToken(contracts, { label, owner, to })];
});

// Registrations, renewals and record changes happen most often.
const commonSteps: readonly Step[] = [
  ...Array<Step>(5).fill((state, now) => registerName(state, now)),
  ...Array<Step>(3).fill(renewName),
  ...Array<Step>(3).fill(changeRecords),
];
const rootSteps: readonly Step[] = [makeSubname, makeSubname, wrapName, transferName];

/** The records, and the account's address on Ethereum and on the chain: what a primary name on it needs (ENSIP-19). */
export function withAddresses(chainId: number, address: Hex, records: RecordChange[]): RecordChange[] {
  const coinTypes = [60n, evmCoinTypes | BigInt(chainId)];
  return [
    ...coinTypes.map((coinType): RecordChange => ({ type: "addr", coinType, address })),
    ...records.filter((change) => change.type !== "addr" || !coinTypes.includes(change.coinType)),
  ];
}

/** A label of two to four syllables, sometimes with a number, that is not among those taken. */
function newLabel(random: Random, taken: ReadonlySet<string>): string {
  for (;;) {
    const parts = Array.from({ length: 2 + random.below(3) }, () => random.pick(syllables));
    const label = random.below(4) === 0 ? `${parts.join("")}${random.below(1000)}` : parts.join("");
    if (!taken.has(label) && label.length >= 5) return label;
  }
}

/** About half of the records that a name may have; its Ethereum address is the owner's. */
function someRecords(random: Random, owner: Hex): RecordChange[] {
  const all: RecordChange[] = [
    { type: "addr", coinType: 60n, address: owner },
    { type: "addr", coinType: 0n, address: `0x0014${random.hexDigits(20)}` },
    { type: "text", key: "url", value: `https://example.org/${random.hexDigits(3)}` },
    { type: "text", key: "description", value: random.pick(descriptions) },
    { type: "text", key: "avatar", value: `ipfs://bafybei${random.hexDigits(8)}` },
    { type: "contenthash", hash: `0xe3010170122${random.hexDigits(33).slice(0, 65)}` },
  ];
  return all.filter(() => random.below(2) === 0);
}

/** Price of a term in wei: the oracle's yearly fee in USD at 3,000 USD for one ether. */
function price(label: string, duration: bigint): bigint {
  const usdPerYear = label.length === 3 ? 640n : label.length === 4 ? 160n : 5n;
  return (usdPerYear * duration * 10n ** 18n) / (3000n * year);
}

const year = 31_536_000n;
/** ENSIP-11: the coin type of an EVM chain is its id with this bit set. */
const evmCoinTypes = 0x80000000n;
/** Labels of subnames: no event reveals those of unwrapped names, only a label service knows them. */
export const subnameLabels = ["pay", "vault", "mail", "blog", "shop", "team"];
const descriptions = [
  "Weaver of wool",
  "Keeper of bees",
  "Maker of maps",
  "🦉 up at night",
  "Sells good tea",
];
const syllables =
  "ba be bo da de do fa fe ga go ha he ja ka ke ki la le li lo ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te to va vi wa ya zu".split(
    " ",
  );
