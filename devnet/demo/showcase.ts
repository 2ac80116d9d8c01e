import { type Hex, keccak256, namehash, stringToHex } from "viem";
import type { PlannedTransaction } from "../chain/block.ts";
import { emits } from "../events.ts";
import { addressesFor, type Deployment, evmCoinType, register, setPrimaryName } from "../life.ts";
import { chainIds } from "../recorded-chains.ts";
import { bridges } from "./datasources.ts";

/** Who deployed the recorded contracts: the first account of every local Ethereum node. */
const deployer = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/** Who has the names `demo.eth`, `demo.base.eth` and `demo.linea.eth`. */
export const demoAccount = "0xe74cef90b6cf1a77fefad731713e6f53e575c183";

// No outside host is asked for it.
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" fill="#3b82f6"/><circle cx="32" cy="32" r="18" fill="#fff"/></svg>';
const avatar = `data:image/svg+xml;base64,${Buffer.from(picture).toString("base64")}`;

/** Labels of reverse names of the other chains (ENSIP-19), whose text no event carries. */
export const reverseLabels = [chainIds.base, chainIds.linea].map((id) =>
  BigInt(evmCoinType(id)).toString(16),
);

/**
 * A name of the demo's account with records, which is its primary name; on the root chain also what leads to the names
 * of the other two, as ENS's own deployment has it.
 */
export function showcase(deployment: Deployment, now: number): PlannedTransaction[] {
  const { chain, parent } = deployment;
  const records = {
    addresses: { ...addressesFor(chain, demoAccount), [evmCoinType()]: demoAccount },
    texts: {
      url: "https://example.org/demo",
      description: "One name on three chains",
      avatar,
    },
    contenthash: `0xe30101701220${"d3".repeat(32)}`,
  } as const;
  const lease = { expires: BigInt(now) + 31_536_000n, cost: 5n * 10n ** 16n };
  const [base = "", linea = ""] = reverseLabels;
  const second = (label: string, resolver: Hex) =>
    register({ ...deployment, resolver }, { ...lease, label, owner: deployer });
  const bridged = () => [
    createSubname(deployment, { parent: "", label: "reverse", resolver: bridges.reverseResolver }),
    createSubname(deployment, { parent: "reverse", label: base, resolver: bridges.baseReverseResolver }),
    createSubname(deployment, { parent: "reverse", label: linea, resolver: bridges.lineaReverseResolver }),
    second("base", bridges.baseResolver),
    second("linea", bridges.lineaResolver),
  ];
  return [
    ...(chain === "root" ? bridged() : []),
    register(deployment, { ...lease, label: "demo", owner: demoAccount, records }),
    setPrimaryName(deployment, demoAccount, `demo.${parent}`),
  ];
}

function createSubname(
  { registry: to }: Deployment,
  { parent, label, resolver }: { parent: string; label: string; resolver: Hex },
): PlannedTransaction {
  const node = namehash(parent === "" ? label : `${label}.${parent}`);
  const logs = [
    emits.newOwner(to, namehash(parent), keccak256(stringToHex(label)), deployer),
    emits.newResolver(to, node, resolver),
  ];
  return { from: deployer, to, value: 0n, logs };
}
