import { type Hex, namehash } from "viem";
import { type LocalAccount, mnemonicToAccount } from "viem/accounts";
import type { PlannedTransaction } from "../chain/block-builder.ts";
import { emits } from "../events.ts";
import { type Action, type Contracts, createSubname, register } from "../life/actions.ts";
import type { RecordChange } from "../life/records.ts";
import { withAddresses } from "../life/second-layer.ts";
import { nameAccount, type SecondLayer, sell } from "../life/second-layer-actions.ts";
import { chainIds } from "../recorded-chains.ts";
import { bridges } from "./datasources.ts";

/** Seed phrase of the accounts that every local Ethereum node has: nobody's secret. */
const mnemonic = "test test test test test test test test test test test junk";
const deployer = mnemonicToAccount(mnemonic);

/** Who deployed the recorded contracts, lower case. */
export const deployerAddress = deployer.address.toLowerCase();

/** Who has the names `demo.eth`, `demo.base.eth` and `demo.linea.eth`. */
export const demoAccount: LocalAccount = mnemonicToAccount(mnemonic, { addressIndex: 77 });
const owner = demoAccount.address.toLowerCase() as Hex;

const year = 31_536_000n;
const demoRecords: RecordChange[] = [
  { type: "addr", coinType: 60n, address: owner },
  // Every EVM chain without an address of its own (ENSIP-19).
  { type: "addr", coinType: 0x80000000n, address: owner },
  { type: "text", key: "url", value: "https://example.org/demo" },
  { type: "text", key: "description", value: "One name on three chains" },
  { type: "text", key: "avatar", value: "ipfs://bafybeidemo" },
  { type: "contenthash", hash: `0xe30101701220${"d3".repeat(32)}` },
];

/** Labels of reverse names of the other chains (ENSIP-19), whose text no event carries. */
export const reverseLabels = [chainIds.base, chainIds.linea].map((id) =>
  (0x80000000n | BigInt(id)).toString(16),
);

/**
 * What the root chain needs to lead to the other two, as ENS's own deployment has it, and a name with records and a primary
 * name. `nonce`: the deployer's next one.
 */
export function rootShowcase(
  contracts: Contracts,
  { now, nonce }: { now: number; nonce: number },
): PlannedTransaction[] {
  const [base = "", linea = ""] = reverseLabels;
  const second = (label: string, resolver: Hex) => [
    sold(contracts, { label, owner: deployer, now }),
    setResolver(contracts, `${label}.eth`, resolver),
  ];
  const actions = [
    subname(contracts, { parent: "", label: "reverse", resolver: bridges.reverseResolver }),
    subname(contracts, { parent: "reverse", label: base, resolver: bridges.baseReverseResolver }),
    subname(contracts, { parent: "reverse", label: linea, resolver: bridges.lineaReverseResolver }),
    ...second("base", bridges.baseResolver),
    ...second("linea", bridges.lineaResolver),
  ];
  const demo = sold(contracts, { label: "demo", owner: demoAccount, now, records: demoRecords });
  return [...actions.map((action, place) => ({ ...action, nonce: nonce + place })), { ...demo, nonce: 0 }];
}

/** The account's name on one of the other chains, with records and as its primary name there. */
export function secondShowcase(layer: SecondLayer, now: number): PlannedTransaction[] {
  const expires = BigInt(now) + year;
  const records = withAddresses(layer.chainId, owner, demoRecords);
  const sale = { label: "demo", owner: demoAccount, expires, cost: 10n ** 15n, records };
  const name = `demo.${layer.parent}`;
  return [sell(layer, sale), nameAccount(layer, { account: demoAccount, name })].map((action, nonce) => ({
    ...action,
    nonce,
  }));
}

type Sold = { label: string; owner: LocalAccount; now: number; records?: RecordChange[] };

function sold(contracts: Contracts, { label, owner: account, now, records }: Sold): Action {
  return register(contracts, {
    label,
    owner: account,
    expires: BigInt(now) + year,
    cost: 5n * 10n ** 16n,
    records,
    reverse: records === undefined ? "none" : "first",
  });
}

function setResolver({ ENSv1Registry: to }: Contracts, name: string, resolver: Hex): Action {
  return { from: deployer, to, value: 0n, logs: [emits.newResolver(to, namehash(name), resolver)] };
}

function subname(
  contracts: Contracts,
  { resolver, ...name }: { parent: string; label: string; resolver: Hex },
) {
  return createSubname({ ...contracts, PublicResolverV5: resolver }, { ...name, owner: deployer });
}
