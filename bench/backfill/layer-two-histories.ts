import { namehash } from "viem";
import { createRandom } from "../../devnet/random.ts";
import { createDeployment, emits, type Name } from "./deployment.ts";
import { eventOf } from "./event.ts";
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

const registeredWithRecord = eventOf(
  "NameRegisteredWithRecord(uint256 indexed id, address indexed owner, uint256 expires, address resolver, uint64 ttl)",
);
const registeredFree = "(string name, bytes32 indexed label, address indexed owner, uint256 expires)";
const registeredOnBase = eventOf(`NameRegistered${registeredFree}`);
const renewedOnBase = eventOf("NameRenewed(string name, bytes32 indexed label, uint256 expires)");
const registeredByProof = eventOf(`PohNameRegistered${registeredFree}`);
const registeredByOwner = eventOf(`OwnerNameRegistered${registeredFree}`);
const registeredOnLinea = eventOf(
  "NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires)",
);
const renewedOnLinea = eventOf(
  "NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
);

/** A history of names of base.eth: three controllers one after the other, most names with records and a primary name. */
export function baseHistory(count: number): History {
  const random = createRandom(2);
  const at = (contract: string) => addressOf("basenames", contract);
  const [registry, registrar, resolver] = [at("Registry"), at("BaseRegistrar"), at("L2Resolver1")];
  const controllers = ["EARegistrarController", "RegistrarController", "UpgradeableRegistrarController"].map(
    at,
  );
  const reverseParent = namehash("80002105.reverse");
  const names = createDeployment(
    random,
    { registry, registrar, resolver },
    { managedName: "base.eth", managedNode: namehash("base.eth"), prefix: "base" },
  );
  const controllerOf = ({ controller }: Name) => controllers[controller] ?? registrar;

  function register(done: number): Transaction {
    const name = names.newName(done < 0.05 ? 0 : done < 0.6 ? 1 : 2, false);
    const { owner, expires, label, labelhash } = name;
    const kind = random.below(4);
    const logs = names
      .registration(name, kind > 0)
      // With a resolver, the registrar tells the registration by the longer event.
      .map((log) =>
        kind > 0 && log.address === registrar && log.topics[0] === registered
          ? registeredWithRecord(registrar, names.tokenId(name), owner, expires, resolver, 0n)
          : log,
      );
    if (kind > 1) logs.push(...names.primaryName(reverseParent, name));
    logs.push(registeredOnBase(controllerOf(name), label, labelhash, owner, expires));
    return { from: owner, logs };
  }

  function renew(): Transaction {
    const name = names.someName();
    // The early controller renews nothing: the next one does.
    name.controller = Math.max(1, name.controller);
    const logs = names.renewal(name);
    logs.push(renewedOnBase(controllerOf(name), name.label, name.labelhash, name.expires));
    return { from: name.owner, logs };
  }

  const first = {
    from: accountOf(0),
    logs: [
      ...names.topLevel(["eth", "base"]),
      emits.newOwner(registry, rootNode, hashOf("reverse"), zero),
      emits.newOwner(registry, namehash("reverse"), hashOf("80002105"), zero),
    ],
  };
  const transactions = historyOf(count, [first], (done) => {
    const kind = names.count() < 50 ? 0 : random.below(100);
    if (kind < 50) return register(done);
    if (kind < 60) return renew();
    if (kind < 65) return primaryNames("rrBase", names.someName(), "base.eth");
    return names.change(random.below(100), names.someName());
  });
  return { transactions, labels: [...names.labels, "reverse", "80002105"], calls: new Map() };
}

const [registered] = emits.registered(zero, 0n, zero, 0n).topics;

/** A history of names of linea.eth: all registered through the wrapper, most of them free of charge. */
export function lineaHistory(count: number): History {
  const random = createRandom(3);
  const at = (contract: string) => addressOf("lineanames", contract);
  const controller = at("EthRegistrarController");
  const names = createDeployment(
    random,
    {
      registry: at("Registry"),
      registrar: at("BaseRegistrar"),
      wrapper: at("NameWrapper"),
      resolver: at("DefaultPublicResolver"),
    },
    { managedName: "linea.eth", managedNode: namehash("linea.eth"), prefix: "linea" },
  );

  function register(): Transaction {
    const name = names.newName(0, true);
    const { owner, expires, label, labelhash } = name;
    const kind = random.below(10);
    const registration = names.registration(name, true);
    if (kind === 0) registration.push(registeredByOwner(controller, label, labelhash, owner, expires));
    else if (kind < 7) registration.push(registeredByProof(controller, label, labelhash, owner, expires));
    else registration.push(registeredOnLinea(controller, label, labelhash, owner, 10n ** 15n, 0n, expires));
    return { from: owner, logs: registration };
  }

  function renew(): Transaction {
    const name = names.someName();
    const logs = names.renewal(name);
    logs.push(renewedOnLinea(controller, name.label, name.labelhash, 10n ** 15n, name.expires));
    return { from: name.owner, logs };
  }

  const first = { from: accountOf(0), logs: names.topLevel(["eth", "linea"]) };
  const transactions = historyOf(count, [first], () => {
    const kind = names.count() < 50 ? 0 : random.below(100);
    if (kind < 50) return register();
    if (kind < 60) return renew();
    if (kind < 63) return primaryNames("rrLinea", names.someName(), "linea.eth");
    return names.change(random.below(100), names.someName());
  });
  return { transactions, labels: names.labels, calls: new Map() };
}

/** A history of a chain that has a reverse registrar and nothing else of the name service. */
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
