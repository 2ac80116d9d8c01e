import { type Hex, keccak256, namehash, stringToHex, zeroAddress } from "viem";
import type { LocalAccount } from "viem/accounts";
import {
  basenamesBaseRegistrarAbi,
  basenamesControllerAbi,
  lineaControllerAbi,
} from "../../abis/registrars.ts";
import { type EmittedLog, emits, logsOf } from "../events.ts";
import type { Action } from "./actions.ts";
import { type RecordChange, recordLogs } from "./records.ts";

/** Contracts that issue the names under a name, on another chain than the root one. */
export type SecondLayer = {
  /** `base.eth` or `linea.eth`. */
  parent: "base.eth" | "linea.eth";
  chainId: number;
  registry: Hex;
  registrar: Hex;
  controller: Hex;
  resolver: Hex;
  reverseRegistrar: Hex;
};

/** A registration: `expires` in Unix seconds, `cost` in wei. */
export type Sale = {
  label: string;
  owner: LocalAccount;
  expires: bigint;
  cost: bigint;
  records: RecordChange[];
};

const registeredWithRecord = logsOf(basenamesBaseRegistrarAbi, "NameRegisteredWithRecord");
const soldOnBase = logsOf(basenamesControllerAbi, "NameRegistered");
const renewedOnBase = logsOf(basenamesControllerAbi, "NameRenewed");
const soldOnLinea = logsOf(lineaControllerAbi, "NameRegistered");
const renewedOnLinea = logsOf(lineaControllerAbi, "NameRenewed");

const nodeOf = ({ parent }: SecondLayer, label: string) => namehash(`${label}.${parent}`);
const hashOf = (label: string) => keccak256(stringToHex(label));

/** Registration of a name with the deployment's resolver and records. */
export function sell(layer: SecondLayer, sale: Sale): Action {
  return { from: sale.owner, to: layer.controller, value: sale.cost, logs: saleLogs(layer, sale) };
}

function saleLogs(layer: SecondLayer, { label, owner: { address: owner }, expires, cost, records }: Sale) {
  const { parent, registry, registrar, controller, resolver } = layer;
  const labelhash = hashOf(label);
  const node = nodeOf(layer, label);
  const tokenId = BigInt(labelhash);
  const created: EmittedLog[] = [
    emits.tokenTransfer(registrar, zeroAddress, owner, tokenId),
    emits.newOwner(registry, namehash(parent), labelhash, owner),
  ];
  const set = emits.newResolver(registry, node, resolver);
  const changed = records.flatMap((change) => recordLogs(resolver, node, change));
  if (parent === "base.eth") {
    const registered = registeredWithRecord(registrar, tokenId, owner, expires, resolver, 0n);
    return [
      ...created,
      set,
      registered,
      ...changed,
      soldOnBase(controller, label, labelhash, owner, expires),
    ];
  }
  const registered = emits.registered(registrar, tokenId, owner, expires);
  const sold = soldOnLinea(controller, label, labelhash, owner, cost, 0n, expires);
  return [...created, registered, set, ...changed, sold];
}

type Renewal = { label: string; payer: LocalAccount; expires: bigint; cost: bigint };

/** Renewal of a name until `expires` (Unix seconds), by anybody. */
export function prolong(layer: SecondLayer, { label, payer, expires, cost }: Renewal): Action {
  const { parent, registrar, controller } = layer;
  const labelhash = hashOf(label);
  const renewed =
    parent === "base.eth"
      ? renewedOnBase(controller, label, labelhash, expires)
      : renewedOnLinea(controller, label, labelhash, cost, expires);
  return {
    from: payer,
    to: controller,
    value: cost,
    logs: [emits.renewed(registrar, BigInt(labelhash), expires), renewed],
  };
}

/** Record changes of a name at the deployment's resolver. */
export function changeRecords(
  layer: SecondLayer,
  { label, owner, records }: { label: string; owner: LocalAccount; records: RecordChange[] },
): Action {
  const { resolver } = layer;
  const node = nodeOf(layer, label);
  const logs = records.flatMap((change) => recordLogs(resolver, node, change));
  return { from: owner, to: resolver, value: 0n, logs };
}

/** The account's name on this chain (ENSIP-19). */
export function nameAccount(
  { reverseRegistrar: to }: SecondLayer,
  { account, name }: { account: LocalAccount; name: string },
): Action {
  return { from: account, to, value: 0n, logs: [emits.nameForAddr(to, account.address, name)] };
}
