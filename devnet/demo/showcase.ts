import { type Hex, namehash } from "viem";
import type { PlannedTransaction } from "../chain/block.ts";
import { emits } from "../events.ts";
import {
  type Contracts,
  createSubname,
  type RecordChange,
  register,
  registerOn,
  type SecondLayer,
  setPrimaryName,
} from "../life/actions.ts";
import { withAddresses } from "../life/scenario.ts";
import { chainIds } from "../recorded-chains.ts";
import { bridges } from "./datasources.ts";

/** Who deployed the recorded contracts: the first account of every local Ethereum node. */
const deployer = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/** Who has the names `demo.eth`, `demo.base.eth` and `demo.linea.eth`. */
export const demoAccount = "0xe74cef90b6cf1a77fefad731713e6f53e575c183";

const year = 31_536_000n;
const demoRecords: RecordChange[] = [
  { type: "addr", coinType: 60n, address: demoAccount },
  // Every EVM chain without an address of its own (ENSIP-19).
  { type: "addr", coinType: 0x80000000n, address: demoAccount },
  { type: "text", key: "url", value: "https://example.org/demo" },
  { type: "text", key: "description", value: "One name on three chains" },
  { type: "text", key: "avatar", value: "ipfs://bafybeidemo" },
  { type: "contenthash", hash: `0xe30101701220${"d3".repeat(32)}` },
];

/** Labels of reverse names of the other chains (ENSIP-19), whose text no event carries. */
export const reverseLabels = [chainIds.base, chainIds.linea].map((id) =>
  (0x80000000n | BigInt(id)).toString(16),
);

/** What the root chain needs to lead to the other two, as ENS's own deployment has it, and a name with records and a primary name. */
export function rootShowcase(contracts: Contracts, now: number): PlannedTransaction[] {
  const [base = "", linea = ""] = reverseLabels;
  const second = (label: string, resolver: Hex) => [
    sold(contracts, { label, owner: deployer, now }),
    setResolver(contracts, `${label}.eth`, resolver),
  ];
  return [
    subname(contracts, { parent: "", label: "reverse", resolver: bridges.reverseResolver }),
    subname(contracts, { parent: "reverse", label: base, resolver: bridges.baseReverseResolver }),
    subname(contracts, { parent: "reverse", label: linea, resolver: bridges.lineaReverseResolver }),
    ...second("base", bridges.baseResolver),
    ...second("linea", bridges.lineaResolver),
    sold(contracts, { label: "demo", owner: demoAccount, now, records: demoRecords }),
  ];
}

/** The account's name on one of the other chains, with records and as its primary name there. */
export function secondShowcase(layer: SecondLayer, now: number): PlannedTransaction[] {
  const records = withAddresses(layer.chainId, demoAccount, demoRecords);
  const expires = BigInt(now) + year;
  return [
    registerOn(layer, { label: "demo", owner: demoAccount, expires, cost: 10n ** 15n, records }),
    setPrimaryName(layer, { account: demoAccount, name: `demo.${layer.parent}` }),
  ];
}

type Sold = { label: string; owner: Hex; now: number; records?: RecordChange[] };

function sold(contracts: Contracts, { label, owner, now, records }: Sold): PlannedTransaction {
  return register(contracts, {
    label,
    owner,
    expires: BigInt(now) + year,
    cost: 5n * 10n ** 16n,
    records,
    reverse: records === undefined ? "none" : "first",
  });
}

function setResolver({ ENSv1Registry: to }: Contracts, name: string, resolver: Hex): PlannedTransaction {
  return { from: deployer, to, value: 0n, logs: [emits.newResolver(to, namehash(name), resolver)] };
}

function subname(
  contracts: Contracts,
  { resolver, ...name }: { parent: string; label: string; resolver: Hex },
) {
  return createSubname({ ...contracts, PublicResolverV5: resolver }, { ...name, owner: deployer });
}
