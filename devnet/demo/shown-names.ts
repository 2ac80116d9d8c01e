import {
  concatHex,
  encodeAbiParameters,
  type Hex,
  keccak256,
  namehash,
  pad,
  stringToHex,
  toHex,
  zeroAddress,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { packetToBytes } from "viem/ens";
import { wrappedControllerAbi } from "../../abis/registrars.ts";
import type { PlannedTransaction } from "../chain/block.ts";
import { createLogEncoder, emits } from "../events.ts";
import { addressesFor, type Deployment, register, renew, setData, setRecords } from "../life.ts";
import { chainIds, recordingFolder } from "../recorded-chains.ts";
import { readAddresses } from "../recording.ts";

/** Who has the names below, and refers others: the second account of every local Ethereum node. */
const referrer: Hex = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

/** Names of the root chain: a wrapped one with burned fuses, one in its premium auction, and one of an agent. */
export const shownNames = { wrapped: "locked.eth", premium: "auction.eth", agent: "agent.eth" } as const;

const { NameWrapper, WrappedEthRegistrarController } = readAddresses(recordingFolder("root"));
const [wrapper, wrappedController] = [NameWrapper!, WrappedEthRegistrarController!];
const soldWrapped = createLogEncoder(wrappedControllerAbi, "NameRegistered");
const day = 86_400n;
// Of .eth: days after an expiry in which only the holder may renew, then days of a falling premium.
const [graceDays, premiumDays] = [90n, 21n];
// ENS name wrapper documents.
const fuses = { CANNOT_UNWRAP: 1, CANNOT_TRANSFER: 4, PARENT_CANNOT_CONTROL: 0x10000, IS_DOT_ETH: 0x20000 };
const owner = referrer;
const encodedReferrer = pad(referrer);
const cutLabel = (name: string) => name.slice(0, -".eth".length);

/** The texts of ENSIP-25 to ENSIP-27, with ENSIP-25's example of a registry. */
const agentTexts = {
  class: "Agent",
  "agent-context": "# Agent\n\nSwaps tokens. Ask it over MCP.",
  "agent-endpoint[mcp]": "https://agent.example.org/mcp",
  "agent-registration[0x000100000101148004a169fb4a3325136eb29fa0ceb6d2e539a432][167]": "1",
};

// The third account of every local Ethereum node, whose key everybody knows, and the fourth.
const consenting = privateKeyToAccount("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a");
const silent: Hex = "0x90f79bf6eb2c4f870365e785982e1f101e93b906";

/** What accounts sign to consent to a name (ENSIP-28). */
const consentTypes = {
  Consent: [
    { name: "node", type: "bytes32" },
    { name: "accountChainId", type: "uint256" },
    { name: "account", type: "address" },
    { name: "expiresAt", type: "uint256" },
  ],
} as const;

/**
 * Data records of the agent's name (ENSIP-28): it lists two accounts on the root chain, and the first of them consents
 * for a year; `now` in Unix seconds.
 */
export async function proveAccounts(now: number): Promise<Readonly<Record<string, Hex>>> {
  const { address: account } = consenting;
  const expiresAt = BigInt(now) + 365n * day;
  const signature = await consenting.signTypedData({
    domain: { name: "ENS Name Owned Accounts", version: "1", chainId: BigInt(chainIds.root) },
    types: consentTypes,
    primaryType: "Consent",
    message: {
      node: namehash(shownNames.agent),
      accountChainId: BigInt(chainIds.root),
      account,
      expiresAt,
    },
  });
  const listing = `accounts[${chainIds.root}]`;
  const proof = [{ type: "uint256" }, { type: "bytes" }] as const;
  return {
    [listing]: concatHex([account, silent].map((one) => pad(one))),
    [`${listing}[${account.toLowerCase()}]`]: encodeAbiParameters(proof, [expiresAt, signature]),
  };
}

/** Registrations and a renewal of the shown names; `data`: records of the agent's name; `now` in Unix seconds. */
export function showNames(
  deployment: Deployment,
  now: number,
  data: Readonly<Record<string, Hex>>,
): PlannedTransaction[] {
  const lease = { owner, expires: BigInt(now) + 365n * day, cost: 5n * 10n ** 15n };
  const agent = { ...lease, label: cutLabel(shownNames.agent), referrer: encodedReferrer };
  const addresses = addressesFor("root", owner);
  return [
    register(deployment, { ...agent, records: { addresses, texts: agentTexts } }),
    renew(deployment, { ...agent, expires: agent.expires + 365n * day }),
    ...Object.entries(data).map(([key, value]) =>
      setData(deployment, { name: shownNames.agent, owner, key, value }),
    ),
    ...registerLocked(deployment, lease),
    setRecords(deployment, shownNames.wrapped, owner, {
      ...{ addresses, texts: { url: "https://example.org/locked", description: "A wrapped name" } },
    }),
  ];
}

/** A block of the past, with the registration of the name that is now halfway through its premium auction. */
export function longAgo(deployment: Deployment, now: number) {
  const expires = BigInt(now) - (premiumDays * day) / 2n - graceDays * day;
  const sale = { label: cutLabel(shownNames.premium), owner, expires, cost: 10n ** 15n };
  return { timestamp: Number(expires - 30n * day), transactions: [register(deployment, sale)] };
}

/** A registration through the name wrapper, as its controller emits it, then burned fuses. */
function registerLocked(
  { registry, registrar, resolver }: Deployment,
  { expires, cost }: { expires: bigint; cost: bigint },
): PlannedTransaction[] {
  const name = shownNames.wrapped;
  const [hash, node] = [keccak256(stringToHex(cutLabel(name))), namehash(name)];
  const id = BigInt(hash);
  const leased = fuses.PARENT_CANNOT_CONTROL | fuses.IS_DOT_ETH;
  const wireName = toHex(packetToBytes(name));
  const registered = [
    emits.tokenTransfer(registrar, zeroAddress, wrapper, id),
    emits.newOwner(registry, namehash("eth"), hash, wrapper),
    emits.registered(registrar, id, wrapper, expires),
    emits.wrappedTransfer(wrapper, wrappedController, zeroAddress, owner, BigInt(node), 1n),
    emits.wrapped(wrapper, node, wireName, owner, leased, expires + graceDays * day),
    emits.newResolver(registry, node, resolver),
    soldWrapped(wrappedController, cutLabel(name), hash, owner, cost, 0n, expires),
  ];
  const burned = [emits.fusesSet(wrapper, node, leased | fuses.CANNOT_UNWRAP | fuses.CANNOT_TRANSFER)];
  return [
    { from: owner, to: wrappedController, value: cost, logs: registered },
    { from: owner, to: wrapper, value: 0n, logs: burned },
  ];
}
