import { type Hex, namehash } from "viem";
import {
  basenamesBaseRegistrarAbi,
  basenamesControllerAbi,
  lineaControllerAbi,
} from "../../abis/registrars.ts";
import { emits, logsOf } from "../../devnet/events.ts";
import { createRandom } from "../../devnet/random.ts";
import {
  change,
  type Deployment,
  type Name,
  newName,
  primaryName,
  registration,
  renewal,
  someName,
  tokenId,
  topLevel,
} from "./deployment.ts";
import {
  accountOf,
  addressOf,
  type History,
  hashOf,
  historyOf,
  rootNode,
  type Transaction,
  zero,
} from "./made-up.ts";

const registeredWithRecord = logsOf(basenamesBaseRegistrarAbi, "NameRegisteredWithRecord");
const registeredOnBase = logsOf(basenamesControllerAbi, "NameRegistered");
const renewedOnBase = logsOf(basenamesControllerAbi, "NameRenewed");
const registeredByProof = logsOf(lineaControllerAbi, "PohNameRegistered");
const registeredByOwner = logsOf(lineaControllerAbi, "OwnerNameRegistered");
const registeredOnLinea = logsOf(lineaControllerAbi, "NameRegistered");
const renewedOnLinea = logsOf(lineaControllerAbi, "NameRenewed");

const baseControllers = ["EARegistrarController", "RegistrarController", "UpgradeableRegistrarController"];

/** A history of names of base.eth: three controllers one after the other, most names with records and a primary name. */
export function baseHistory(count: number): History {
  const at = (contract: string) => addressOf("basenames", contract);
  const names: Deployment = {
    random: createRandom(2),
    contracts: { registry: at("Registry"), registrar: at("BaseRegistrar"), resolver: at("L2Resolver1") },
    managedName: "base.eth",
    managedNode: namehash("base.eth"),
    prefix: "base",
    names: [],
    labels: [],
  };
  const { random, contracts } = names;
  const controllers = baseControllers.map(at);
  const first = {
    from: accountOf(0),
    logs: [
      ...topLevel(names, ["eth", "base"]),
      emits.newOwner(contracts.registry, rootNode, hashOf("reverse"), zero),
      emits.newOwner(contracts.registry, namehash("reverse"), hashOf("80002105"), zero),
    ],
  };
  const transactions = historyOf(count, [first], (done) => {
    const kind = names.names.length < 50 ? 0 : random.below(100);
    if (kind < 50) return registerOnBase(names, controllers, done);
    if (kind < 60) return renewOnBase(names, controllers);
    if (kind < 65) return primaryNames("rrBase", someName(names), "base.eth");
    return change(names, random.below(100), someName(names));
  });
  return { transactions, labels: [...names.labels, "reverse", "80002105"], calls: new Map() };
}

function registerOnBase(names: Deployment, controllers: readonly Hex[], done: number): Transaction {
  const { random, contracts } = names;
  const { registrar, resolver } = contracts;
  const name = newName(names, done < 0.05 ? 0 : done < 0.6 ? 1 : 2, false);
  const { owner, expires, label, labelhash } = name;
  const kind = random.below(4);
  const logs = registration(names, name, kind > 0)
    // With a resolver, the registrar emits the longer event of a registration.
    .map((log) =>
      kind > 0 && log.address === registrar && log.topics[0] === registered
        ? registeredWithRecord(registrar, tokenId(name), owner, expires, resolver, 0n)
        : log,
    );
  if (kind > 1) logs.push(...primaryName(names, namehash("80002105.reverse"), name));
  logs.push(registeredOnBase(controllers[name.controller] ?? registrar, label, labelhash, owner, expires));
  return { from: owner, logs };
}

function renewOnBase(names: Deployment, controllers: readonly Hex[]): Transaction {
  const name = someName(names);
  // The early controller does not renew names; the next one does.
  name.controller = Math.max(1, name.controller);
  const logs = renewal(names, name);
  const controller = controllers[name.controller] ?? names.contracts.registrar;
  logs.push(renewedOnBase(controller, name.label, name.labelhash, name.expires));
  return { from: name.owner, logs };
}

const [registered] = emits.registered(zero, 0n, zero, 0n).topics;

/** A history of names of linea.eth: all registered through the wrapper, most of them free of charge. */
export function lineaHistory(count: number): History {
  const at = (contract: string) => addressOf("lineanames", contract);
  const names: Deployment = {
    random: createRandom(3),
    contracts: {
      registry: at("Registry"),
      registrar: at("BaseRegistrar"),
      wrapper: at("NameWrapper"),
      resolver: at("DefaultPublicResolver"),
    },
    managedName: "linea.eth",
    managedNode: namehash("linea.eth"),
    prefix: "linea",
    names: [],
    labels: [],
  };
  const { random } = names;
  const controller = at("EthRegistrarController");
  const first = { from: accountOf(0), logs: topLevel(names, ["eth", "linea"]) };
  const transactions = historyOf(count, [first], () => {
    const kind = names.names.length < 50 ? 0 : random.below(100);
    if (kind < 50) return registerOnLinea(names, controller);
    if (kind < 60) return renewOnLinea(names, controller);
    if (kind < 63) return primaryNames("rrLinea", someName(names), "linea.eth");
    return change(names, random.below(100), someName(names));
  });
  return { transactions, labels: names.labels, calls: new Map() };
}

function registerOnLinea(names: Deployment, controller: Hex): Transaction {
  const name = newName(names, 0, true);
  const { owner, expires, label, labelhash } = name;
  const kind = names.random.below(10);
  const logs = registration(names, name, true);
  if (kind === 0) logs.push(registeredByOwner(controller, label, labelhash, owner, expires));
  else if (kind < 7) logs.push(registeredByProof(controller, label, labelhash, owner, expires));
  else logs.push(registeredOnLinea(controller, label, labelhash, owner, 10n ** 15n, 0n, expires));
  return { from: owner, logs };
}

function renewOnLinea(names: Deployment, controller: Hex): Transaction {
  const name = someName(names);
  const logs = renewal(names, name);
  logs.push(renewedOnLinea(controller, name.label, name.labelhash, 10n ** 15n, name.expires));
  return { from: name.owner, logs };
}

/** A history of a chain whose only ENS contract is a reverse registrar. */
export function reverseHistory(datasource: string, count: number): History {
  const random = createRandom(4);
  const transactions = historyOf(count, [], () => {
    const id = random.below(5000);
    return primaryNames(datasource, { owner: accountOf(id), label: `name${id}` }, "eth");
  });
  return { transactions, labels: [], calls: new Map() };
}

function primaryNames(
  datasource: string,
  { owner, label }: Pick<Name, "owner" | "label">,
  parent: string,
): Transaction {
  const registrar = addressOf(datasource, "L2ReverseRegistrar");
  return { from: owner, logs: [emits.nameForAddr(registrar, owner, `${label}.${parent}`)] };
}
