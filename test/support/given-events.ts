import type { Hex } from "viem";
import { labelhash } from "../../src/ens/labels.ts";
import { createSubgraphHarness, type GivenEvent } from "./handlers.ts";

/** Who owns and sends what has no other owner. */
export const owner: Hex = `0x${"a1".repeat(20)}`;
export const other: Hex = `0x${"b2".repeat(20)}`;

/** An event of a contract of the root chain, and where it differs from the usual place. */
export const event = (contract: string, name: string, args: object, more: Partial<GivenEvent> = {}) =>
  ({ contract, event: name, args, ...more }) as GivenEvent;
export const own = (node: Hex, label: string, to: Hex = owner) =>
  event("ENSv1Registry", "NewOwner", { node, label: labelhash(label), owner: to });
export const registered = (label: string, expires: string) =>
  event("BaseRegistrar", "NameRegistered", { id: BigInt(labelhash(label)), owner, expires });
/** A controller tells a label, which need not be that of the hash. */
export const revealed = (label: string, hash = labelhash(label)) =>
  event("LegacyEthRegistrarController", "NameRenewed", { name: label, label: hash, cost: "5", expires: "1" });
export const wrapped = (node: Hex, name: Hex, fuses = 0, expiry = "0") =>
  event("NameWrapper", "NameWrapped", { node, name, owner, fuses, expiry });
export const text = (node: Hex, key: string, value: string) =>
  event("Resolver", "TextChanged(value)", { node, indexedKey: node, key, value }, { address: other });

/** The entities after events, each the next log of block 1, and the anomalies. */
export async function after(
  labels: readonly string[],
  events: readonly GivenEvent[],
  options: Omit<Parameters<typeof createSubgraphHarness>[0] & object, "labels"> = {},
) {
  const harness = createSubgraphHarness({ labels, ...options });
  for (const [index, one] of events.entries()) await harness.play({ logIndex: index + 1, ...one });
  const entities = harness.entities();
  return { entities, domains: entities["Domain"] ?? {}, anomalies: harness.anomalies };
}
