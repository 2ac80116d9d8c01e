import { encodeFunctionData, encodeFunctionResult, type Hex, namehash, parseAbi } from "viem";
import { createRandom } from "../../devnet/random.ts";
import type { GeneratedLog } from "./chain.ts";
import { createDeployment, emits, type Name, textKeys } from "./deployment.ts";
import { eventOf } from "./event.ts";
import {
  accountOf,
  addressOf,
  type History,
  hashOf,
  historyOf,
  rootNode,
  type Transaction,
  year,
  zero,
} from "./made-up.ts";

const at = (contract: string) => addressOf("ensroot", contract);
const controllers = ["Legacy", "Wrapped", "Unwrapped"].map((kind) => at(`${kind}EthRegistrarController`));
const registry = at("ENSv1Registry");
const registrar = at("BaseRegistrar");
const wrapper = at("NameWrapper");
const seaport = addressOf("seaport", "Seaport1_5");
const formerResolver = addressOf("rrRoot", "DefaultPublicResolver2");
const otherTokens: Hex = "0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d";

const registeredBy = [
  "NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 cost, uint256 expires)",
  "NameRegistered(string name, bytes32 indexed label, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires)",
  "NameRegistered(string label, bytes32 indexed labelhash, address indexed owner, uint256 baseCost, uint256 premium, uint256 expires, bytes32 referrer)",
].map(eventOf);
const renewedBy = [
  "NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
  "NameRenewed(string name, bytes32 indexed label, uint256 cost, uint256 expires)",
  "NameRenewed(string label, bytes32 indexed labelhash, uint256 cost, uint256 expires, bytes32 referrer)",
].map(eventOf);
const referred = eventOf(
  "RenewalReferred(string label, bytes32 indexed labelHash, uint256 cost, uint256 duration, bytes32 referrer)",
);
const formerTextChanged = eventOf("TextChanged(bytes32 indexed node, string indexed indexedKey, string key)");
const orderFulfilled = eventOf(
  "OrderFulfilled(bytes32 orderHash, address indexed offerer, address indexed zone, address recipient, (uint8 itemType, address token, uint256 identifier, uint256 amount)[] offer, (uint8 itemType, address token, uint256 identifier, uint256 amount, address recipient)[] consideration)",
);
const textAbi = parseAbi(["function text(bytes32 node, string key) view returns (string)"]);

const baseCost = 3n * 10n ** 15n;
const premium = 10n ** 14n;
const referrer: Hex = `0x${"0".repeat(24)}${accountOf(7).slice(2)}`;

/**
 * A history of the root chain in the proportions of mainnet's: each third of it registers through another controller, the
 * second one through the wrapper; some names are sold, among orders of other tokens.
 */
export function rootHistory(count: number): History {
  const random = createRandom(1);
  const calls: History["calls"] = new Map();
  const names = createDeployment(
    random,
    { registry, registrar, wrapper, resolver: addressOf("rrRoot", "DefaultPublicResolver4") },
    { managedName: "eth", managedNode: namehash("eth"), prefix: "name" },
  );

  function register(done: number): Transaction {
    const controller = Math.min(2, Math.floor(done * 3));
    const name = names.newName(controller, controller === 1);
    const kind = random.below(4);
    const cost = [[baseCost], [baseCost, premium], [baseCost, premium]][controller] ?? [];
    const logs = [
      ...names.registration(name, kind > 0),
      log(registeredBy, name, [name.owner, ...cost, name.expires]),
      ...(kind === 1 ? names.primaryName(namehash("addr.reverse"), name) : []),
    ];
    if (kind === 1 && controller === 2) {
      logs.push(
        emits.nameForAddr(addressOf("rrRoot", "DefaultReverseRegistrar"), name.owner, `${name.label}.eth`),
      );
    }
    return { from: name.owner, logs };
  }

  function renew(): Transaction {
    const name = names.someName();
    const renewal = [...names.renewal(name), log(renewedBy, name, [baseCost, name.expires])];
    const isReferred = name.controller === 1 && random.below(4) === 0;
    return {
      from: name.owner,
      logs: isReferred
        ? [
            ...renewal,
            referred(
              at("UniversalRegistrarRenewalWithReferrer"),
              name.label,
              name.labelhash,
              baseCost,
              year,
              referrer,
            ),
          ]
        : renewal,
    };
  }

  // Only the third controller tells a referrer.
  function log(events: typeof renewedBy, name: Name, values: readonly unknown[]): GeneratedLog {
    const last = name.controller === 2 ? [referrer] : [];
    const make = events[name.controller];
    const address = controllers[name.controller];
    if (make === undefined || address === undefined) throw new Error(`No controller ${name.controller}.`);
    return make(address, name.label, name.labelhash, ...values, ...last);
  }

  function sell(): Transaction {
    const name = names.someName();
    const { owner: seller, isWrapped, node } = name;
    const buyer = names.someAccount();
    const item = isWrapped ? [3, wrapper, BigInt(node)] : [2, registrar, names.tokenId(name)];
    return { from: buyer, logs: [...names.transfer(name, buyer), order(seller, buyer, item)] };
  }

  function order(seller: Hex, buyer: Hex, [itemType, token, identifier]: readonly unknown[]): GeneratedLog {
    const payment = (amount: bigint, recipient: Hex) => {
      return { itemType: 0, token: zero, identifier: 0n, amount, recipient };
    };
    const orderHash = hashOf(`order ${random.fraction()}`);
    return orderFulfilled(
      seaport,
      orderHash,
      seller,
      zero,
      buyer,
      [{ itemType, token, identifier, amount: 1n }],
      [payment(10n ** 17n, seller), payment(10n ** 15n, accountOf(3))],
    );
  }

  // Resolvers of the first years tell that a text changed, and not to what.
  function formerText(): Transaction {
    const { node, owner } = names.someName();
    const key = random.pick(textKeys);
    const data = encodeFunctionData({ abi: textAbi, functionName: "text", args: [node, key] });
    const result = encodeFunctionResult({ abi: textAbi, functionName: "text", result: `former ${key}` });
    calls.set(`${formerResolver} ${data}`, result);
    return { from: owner, logs: [formerTextChanged(formerResolver, node, key, key)] };
  }

  const first = {
    from: accountOf(0),
    logs: [
      ...names.topLevel(["eth"]),
      emits.newOwner(registry, rootNode, hashOf("reverse"), zero),
      emits.newOwner(registry, namehash("reverse"), hashOf("addr"), zero),
    ],
  };
  const transactions = historyOf(count, [first], (done) => {
    const kind = names.count() < 100 ? 0 : random.below(100);
    if (kind < 40) return register(done);
    if (kind < 60) return renew();
    if (kind < 62) return sell();
    if (kind < 65) {
      const tokenId = BigInt(random.below(10_000));
      const [seller, buyer] = [names.someAccount(), names.someAccount()];
      return { from: buyer, logs: [order(seller, buyer, [2, otherTokens, tokenId])] };
    }
    if (kind < 66) return formerText();
    return names.change(random.below(100), names.someName());
  });
  return { transactions, labels: [...names.labels, "reverse", "addr"], calls };
}
