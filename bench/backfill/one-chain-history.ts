import { namehash } from "viem";
import { legacyControllerAbi } from "../../abis/registrars.ts";
import { type EmittedLog, emits, logsOf } from "../../devnet/events.ts";
import {
  addressLogs,
  type Chance,
  type Deployment,
  type Name,
  primaryName,
  registration,
  subname,
  text,
  tokenId,
  transfer,
} from "./deployment.ts";
import { accountOf, type History, hashOf, rootNode, subnodeOf, type Transaction, zero } from "./made-up.ts";

// Contracts of Holesky: a namespace of one chain, so that every plugin can index it.
const contracts = {
  registry: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e",
  registrar: "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
  resolver: "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63",
} as const;
const controller = "0xf13fc748601fdc5afa255e9d9166eb43f603a903";

const registered = logsOf(legacyControllerAbi, "NameRegistered");
const renewed = logsOf(legacyControllerAbi, "NameRenewed");
const expires = 1_900_000_000n;

const deploymentWith = (random: Chance): Deployment => ({
  random,
  contracts,
  managedName: "eth",
  managedNode: namehash("eth"),
  prefix: "name",
  names: [],
  labels: ["eth", "reverse", "addr"],
});

/**
 * A history of one chain in the proportions of mainnet's, of at least `count` logs: registrations with their eight to
 * nine events, renewals, transfers, records, subnames, reverse names. Always the same.
 */
export function oneChainHistory(count: number): History {
  const random = congruential();
  const deployment = deploymentWith(random);
  const { registry, registrar } = contracts;
  const transactions: Transaction[] = [
    {
      from: zero,
      logs: [
        emits.newOwner(registry, rootNode, hashOf("eth"), registrar),
        emits.newOwner(registry, rootNode, hashOf("reverse"), zero),
        emits.newOwner(registry, namehash("reverse"), hashOf("addr"), zero),
      ],
    },
  ];
  let total = 3;
  let names = 0;
  while (total < count) {
    const kind = names < 100 ? 0 : random.below(10);
    const label = kind < 4 ? `name${names++}` : `name${random.below(names)}`;
    const name = nameOf(label, random.below(names + 50) >> 2);
    const logs = kind < 4 ? registrationLogs(deployment, name, kind) : changeLogs(deployment, name, kind);
    if (kind < 4) deployment.labels.push(label);
    transactions.push({ from: zero, logs });
    total += logs.length;
  }
  return { transactions, labels: deployment.labels, calls: new Map() };
}

/** A registration of this history by an account, with a resolver and its address. */
export function collected(label: string, account: number): Transaction {
  return { from: zero, logs: registrationLogs(deploymentWith(congruential()), nameOf(label, account), 2) };
}

function nameOf(label: string, account: number): Name {
  const labelhash = hashOf(label);
  const node = subnodeOf(namehash("eth"), labelhash);
  return { label, labelhash, node, owner: accountOf(account), expires, isWrapped: false, controller: 0 };
}

// The higher kinds set records too, kind 1 also a reverse name.
function registrationLogs(deployment: Deployment, name: Name, kind: number): EmittedLog[] {
  const { label, labelhash, owner } = name;
  return [
    ...registration(deployment, name, kind > 0),
    registered(controller, label, labelhash, owner, 3n * 10n ** 15n, expires),
    ...(kind === 1 ? primaryName(deployment, namehash("addr.reverse"), name) : []),
  ];
}

function changeLogs(deployment: Deployment, name: Name, kind: number): EmittedLog[] {
  if (kind < 6) {
    const until = expires + BigInt(deployment.random.below(1_000_000));
    return [
      emits.renewed(contracts.registrar, tokenId(name), until),
      renewed(controller, name.label, name.labelhash, 10n ** 15n, until),
    ];
  }
  if (kind < 7) return transfer(deployment, name, name.owner);
  if (kind < 8) return text(deployment, name);
  if (kind < 9) return addressLogs(deployment, name.node, name.owner);
  return subname(deployment, name);
}

/** A linear congruential generator: earlier measurements used the same sequence. */
function congruential(): Chance {
  let state = 1;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % limit;
  };
  return { below, pick: <Value>(values: readonly Value[]) => values[below(values.length)] as Value };
}
