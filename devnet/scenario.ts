import { type Hex, keccak256, stringToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
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
import type { PlannedTransaction } from "./block-builder.ts";
import { createRandom } from "./random.ts";
import type { RecordedName } from "./recorded-names.ts";
import type { RecordChange } from "./records.ts";

/** What happens on the chain while it is alive: registrations, renewals, records, subnames, wraps, transfers. */
export type Scenario = ReturnType<typeof createScenario>;

type Name = {
  label: string;
  owner: number;
  expires: bigint;
  hasResolver: boolean;
  wrapped: boolean;
  subnames: number;
};

/**
 * A scenario over the contracts of a recording. The seed decides everything but time: equal seeds give equal
 * names, owners and records. `recorded` are names that may be renewed.
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
  const random = createRandom(seed);
  const accounts = Array.from({ length: accountCount }, (_, index) =>
    privateKeyToAccount(keccak256(stringToHex(`devnet account ${seed}-${index}`))),
  );
  const nonces = accounts.map(() => 0);
  const approved = new Set<number>();
  const claimed = new Set<number>();
  const renewable = new Map(recorded.map(({ label, expires }) => [label, expires]));
  const names: Name[] = [];
  const taken = new Set(renewable.keys());

  function account(index: number) {
    const found = accounts[index];
    if (found === undefined) throw new Error(`There is no account ${index}.`);
    return found;
  }

  function send(sender: number, action: Action): PlannedTransaction {
    const nonce = nonces[sender] ?? 0;
    nonces[sender] = nonce + 1;
    return { ...action, nonce };
  }

  function newLabel(): string {
    for (;;) {
      const parts = Array.from({ length: 2 + random.below(3) }, () => random.pick(syllables));
      const label = random.below(4) === 0 ? `${parts.join("")}${random.below(1000)}` : parts.join("");
      if (taken.has(label) || label.length < 5) continue;
      return label;
    }
  }

  function someRecords(owner: number): RecordChange[] {
    const all: RecordChange[] = [
      { type: "addr", coinType: 60n, address: account(owner).address.toLowerCase() as Hex },
      { type: "addr", coinType: 0n, address: `0x0014${random.hexDigits(20)}` },
      { type: "text", key: "url", value: `https://example.org/${random.hexDigits(3)}` },
      { type: "text", key: "description", value: random.pick(descriptions) },
      { type: "text", key: "avatar", value: `ipfs://bafybei${random.hexDigits(8)}` },
      { type: "contenthash", hash: `0xe3010170122${random.hexDigits(33).slice(0, 65)}` },
    ];
    return all.filter(() => random.below(2) === 0);
  }

  /** Registers a label (a new one unless given) for an account, with or without resolver and primary name. */
  function registerName(now: number, given?: { label?: string; owner?: number; plain?: boolean }) {
    const label = given?.label ?? newLabel();
    const owner = given?.owner ?? random.below(accountCount);
    const plain = given?.plain ?? random.below(4) === 0;
    const duration = BigInt(1 + random.below(3)) * year;
    const expires = BigInt(now) + duration;
    const records = plain ? undefined : [...someRecords(owner)];
    const reverse = plain || random.below(2) === 0 ? "none" : claimed.has(owner) ? "again" : "first";
    if (reverse !== "none") claimed.add(owner);
    taken.add(label);
    names.push({ label, owner, expires, hasResolver: !plain, wrapped: false, subnames: 0 });
    return [
      send(
        owner,
        register(contracts, {
          label,
          owner: account(owner),
          duration,
          expires,
          cost: price(label, duration),
          records,
          reverse,
          referrer: random.below(3) === 0 ? `0x${"0".repeat(24)}${random.hexDigits(20)}` : undefined,
        }),
      ),
    ];
  }

  function renewName(now: number) {
    const own = names.length > 0 && random.below(2) === 0 ? random.pick(names) : undefined;
    const open = [...renewable].filter(([, expires]) => expires + gracePeriod > BigInt(now));
    const [label, current] = own === undefined ? (random.pick(open) ?? []) : [own.label, own.expires];
    if (label === undefined || current === undefined) return registerName(now);
    const duration = BigInt(1 + random.below(2)) * year;
    const expires = current + duration;
    if (own === undefined) renewable.set(label, expires);
    else own.expires = expires;
    const payer = random.below(accountCount);
    const cost = price(label, duration);
    return [send(payer, renew(contracts, { label, payer: account(payer), duration, expires, cost }))];
  }

  function changeRecords(now: number) {
    const name = random.pick(names.filter(({ hasResolver }) => hasResolver));
    if (name === undefined) return registerName(now);
    const records = someRecords(name.owner);
    if (records.length === 0) records.push({ type: "text", key: "status", value: `block time ${now}` });
    const target = { name: `${name.label}.eth`, owner: account(name.owner), records };
    return [send(name.owner, setRecords(contracts, target))];
  }

  function makeSubname(now: number) {
    const parent = random.pick(names.filter(({ subnames }) => subnames < subnameLabels.length));
    if (parent === undefined) return registerName(now);
    const label = subnameLabels[parent.subnames++] as string;
    const owner = account(parent.owner);
    const create = parent.wrapped ? createWrappedSubname : createSubname;
    return [send(parent.owner, create(contracts, { parent: `${parent.label}.eth`, label, owner }))];
  }

  function wrapName(now: number) {
    const name = random.pick(names.filter(({ wrapped }) => !wrapped));
    if (name === undefined) return registerName(now);
    const owner = account(name.owner);
    const before = approved.has(name.owner) ? [] : [send(name.owner, approveWrapper(contracts, owner))];
    approved.add(name.owner);
    const { label, expires, hasResolver: hadResolver } = name;
    name.wrapped = true;
    name.hasResolver = true;
    return [...before, send(name.owner, wrap(contracts, { label, owner, expires, hadResolver }))];
  }

  function transferName(now: number) {
    const name = random.pick(names.filter(({ wrapped, subnames }) => !wrapped && subnames === 0));
    if (name === undefined) return registerName(now);
    const to = (name.owner + 1) % accountCount;
    const action = transferToken(contracts, {
      label: name.label,
      owner: account(name.owner),
      to: account(to).address,
    });
    const sent = send(name.owner, action);
    // The registry still knows the former owner, who alone could change records: leave the name in peace.
    names.splice(names.indexOf(name), 1);
    return [sent];
  }

  const steps = [
    ...Array(5).fill(registerName),
    ...Array(3).fill(renewName),
    ...Array(3).fill(changeRecords),
    ...Array(2).fill(makeSubname),
    wrapName,
    transferName,
  ] as ((now: number) => PlannedTransaction[])[];

  return {
    /** Labels that subnames get: no event reveals those of unwrapped names, only a label service knows them. */
    subnameLabels,
    /** Transactions of the next block; about half of the blocks stay empty. `now` in Unix seconds. */
    next(now: number): PlannedTransaction[] {
      const count = random.pick([0, 0, 1, 1, 2]);
      return Array.from({ length: count }).flatMap(() => random.pick(steps)(now));
    },
    registerName,
    /** Addresses of the accounts that act, lower case. */
    addresses: accounts.map(({ address }) => address.toLowerCase() as Hex),
  };
}

/** Price of a term in wei, as the oracle asks it per second at 3,000 USD for one ether. */
function price(label: string, duration: bigint): bigint {
  const usdPerYear = label.length === 3 ? 640n : label.length === 4 ? 160n : 5n;
  return (usdPerYear * duration * 10n ** 18n) / (3000n * year);
}

const accountCount = 12;
const year = 31_536_000n;
const gracePeriod = 7_776_000n;
const subnameLabels = ["pay", "vault", "mail", "blog", "shop", "team"];
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
