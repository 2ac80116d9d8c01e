import { decodeEventLog, encodeEventTopics, type Hex, keccak256, stringToHex } from "viem";
import { baseRegistrarAbi, unwrappedControllerAbi as controllerAbi } from "../../abis/registrars.ts";
import type { Answer, Recording } from "../recording.ts";
import type { Contracts } from "./actions.ts";

/** A `.eth` name of the recording that can be renewed: its label is known and `expires` is Unix seconds. */
export type RecordedName = { label: string; expires: bigint };

/**
 * Names registered in the recording, with the end of their last term. Labels come from the newest controller's events;
 * those that are not plain (a letter or digit first, then letters, digits, hyphens) are skipped.
 */
export function recordedNames(
  { receipts }: Pick<Recording, "receipts">,
  { BaseRegistrar, UnwrappedEthRegistrarController }: Contracts,
): RecordedName[] {
  const expiries = new Map<bigint, bigint>();
  const labels = new Map<bigint, string>();
  for (const { address, topics, data } of receipts.flatMap((receipt) => receipt["logs"] as Answer[])) {
    const log = { topics: topics as [Hex, ...Hex[]], data: data as Hex };
    if (address === BaseRegistrar && expiryTopics.has(log.topics[0])) {
      const { args } = decodeEventLog({ abi: baseRegistrarAbi, ...log });
      if ("expires" in args) expiries.set(args.id, args.expires);
    }
    if (address === UnwrappedEthRegistrarController && controllerTopics.has(log.topics[0])) {
      const { label } = decodeEventLog({ abi: controllerAbi, ...log }).args;
      if (plainLabel.test(label)) labels.set(BigInt(keccak256(stringToHex(label))), label);
    }
  }
  return [...labels].flatMap(([tokenId, label]) => {
    const expires = expiries.get(tokenId);
    return expires === undefined ? [] : [{ label, expires }];
  });
}

const topicsOf = (abi: typeof baseRegistrarAbi | typeof controllerAbi) =>
  new Set(
    (["NameRegistered", "NameRenewed"] as const).flatMap(
      (eventName) => encodeEventTopics({ abi: abi as typeof controllerAbi, eventName }) as Hex[],
    ),
  );
const expiryTopics = topicsOf(baseRegistrarAbi);
const controllerTopics = topicsOf(controllerAbi);
const plainLabel = /^[a-z0-9][a-z0-9-]{2,40}$/;
