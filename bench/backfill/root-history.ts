import { encodeFunctionData, encodeFunctionResult, type Hex, namehash, parseAbi } from "viem";
import { seaportAbi } from "../../abis/names.ts";
import {
  legacyControllerAbi,
  referralRenewalsAbi,
  unwrappedControllerAbi,
  wrappedControllerAbi,
} from "../../abis/registrars.ts";
import { textRecordAbi } from "../../abis/resolver.ts";
import { type EmittedLog, emits, logsOf } from "../../devnet/events.ts";
import { createRandom, type Random } from "../../devnet/random.ts";
import {
  change,
  type Deployment,
  type Name,
  newName,
  primaryName,
  registration,
  renewal,
  someAccount,
  someName,
  textKeys,
  tokenId,
  topLevel,
  transfer,
} from "./deployment.ts";
import {
  accountOf,
  addressOf,
  type History,
  hashOf,
  rootNode,
  type Transaction,
  year,
  zero,
} from "./made-up.ts";

const at = (contract: string) => addressOf("ensroot", contract);
const legacy = at("LegacyEthRegistrarController");
const wrapped = at("WrappedEthRegistrarController");
const unwrapped = at("UnwrappedEthRegistrarController");
const renewalsWithReferrer = at("UniversalRegistrarRenewalWithReferrer");
const contracts = {
  registry: at("ENSv1Registry"),
  registrar: at("BaseRegistrar"),
  wrapper: at("NameWrapper"),
  resolver: addressOf("rrRoot", "DefaultPublicResolver4"),
};
const seaport = addressOf("seaport", "Seaport1_5");
const formerResolver = addressOf("rrRoot", "DefaultPublicResolver2");
const otherTokens: Hex = "0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d";

const registeredByLegacy = logsOf(legacyControllerAbi, "NameRegistered");
const registeredByWrapped = logsOf(wrappedControllerAbi, "NameRegistered");
const registeredByUnwrapped = logsOf(unwrappedControllerAbi, "NameRegistered");
const renewedByLegacy = logsOf(legacyControllerAbi, "NameRenewed");
const renewedByWrapped = logsOf(wrappedControllerAbi, "NameRenewed");
const renewedByUnwrapped = logsOf(unwrappedControllerAbi, "NameRenewed");
const referred = logsOf(referralRenewalsAbi, "RenewalReferred");
const formerTextChanged = logsOf(
  parseAbi(["event TextChanged(bytes32 indexed node, string indexed indexedKey, string key)"]),
  "TextChanged",
);
const orderFulfilled = logsOf(seaportAbi, "OrderFulfilled");

const baseCost = 3n * 10n ** 15n;
const premium = 10n ** 14n;
const referrer: Hex = `0x${"0".repeat(24)}${accountOf(7).slice(2)}`;

type Root = Deployment & { random: Random; calls: History["calls"] };

/**
 * A history of the root chain in the proportions of mainnet's: each third registers through a different controller, the
 * second third through the wrapper; some names are sold, mixed with orders for other tokens.
 */
export function rootHistory(count: number): History {
  const { transactions, labels, calls } = rootTransactions(count);
  return { transactions: [...transactions], labels, calls };
}

/**
 * The transactions of such a history one after the other, so that memory holds its names only; labels and calls are complete when all
 * are taken. `special` gives some names another label or owner.
 */
export function rootTransactions(count: number, special: Pick<Deployment, "labelOf" | "ownerOf"> = {}) {
  const root: Root = {
    random: createRandom(1),
    contracts,
    managedName: "eth",
    managedNode: namehash("eth"),
    prefix: "name",
    names: [],
    labels: ["reverse", "addr"],
    calls: new Map(),
    ...special,
  };
  return { transactions: steps(root, count), labels: root.labels, calls: root.calls };
}

function* steps(root: Root, count: number): Generator<Transaction> {
  const first = [
    ...topLevel(root, ["eth"]),
    emits.newOwner(contracts.registry, rootNode, hashOf("reverse"), zero),
    emits.newOwner(contracts.registry, namehash("reverse"), hashOf("addr"), zero),
  ];
  yield { from: accountOf(0), logs: first };
  for (let logs = first.length; logs < count; ) {
    const transaction = step(root, logs / count);
    yield transaction;
    logs += transaction.logs.length;
  }
}

function step(root: Root, done: number): Transaction {
  const { random } = root;
  const kind = root.names.length < 100 ? 0 : random.below(100);
  if (kind < 40) return register(root, done);
  if (kind < 60) return renew(root);
  if (kind < 62) return sell(root);
  if (kind < 65) return sellOther(root);
  if (kind < 66) return formerText(root);
  return change(root, random.below(100), someName(root));
}

function register(root: Root, done: number): Transaction {
  const controller = Math.min(2, Math.floor(done * 3));
  const name = newName(root, controller, controller === 1);
  const kind = root.random.below(4);
  const logs = [
    ...registration(root, name, kind > 0),
    registeredLog(name),
    ...(kind === 1 ? primaryName(root, namehash("addr.reverse"), name) : []),
  ];
  if (kind === 1 && controller === 2) {
    const reverse = addressOf("rrRoot", "DefaultReverseRegistrar");
    logs.push(emits.nameForAddr(reverse, name.owner, `${name.label}.eth`));
  }
  return { from: name.owner, logs };
}

function registeredLog({ controller, label, labelhash, owner, expires }: Name): EmittedLog {
  if (controller === 0) return registeredByLegacy(legacy, label, labelhash, owner, baseCost, expires);
  if (controller === 1)
    return registeredByWrapped(wrapped, label, labelhash, owner, baseCost, premium, expires);
  return registeredByUnwrapped(unwrapped, label, labelhash, owner, baseCost, premium, expires, referrer);
}

function renew(root: Root): Transaction {
  const name = someName(root);
  const { owner, label, labelhash, controller } = name;
  const logs = renewal(root, name);
  logs.push(renewedLog(name));
  if (controller === 1 && root.random.below(4) === 0)
    logs.push(referred(renewalsWithReferrer, label, labelhash, baseCost, year, referrer));
  return { from: owner, logs };
}

// Only the third controller records a referrer.
function renewedLog({ controller, label, labelhash, expires }: Name): EmittedLog {
  if (controller === 0) return renewedByLegacy(legacy, label, labelhash, baseCost, expires);
  if (controller === 1) return renewedByWrapped(wrapped, label, labelhash, baseCost, expires);
  return renewedByUnwrapped(unwrapped, label, labelhash, baseCost, expires, referrer);
}

type Item = { itemType: number; token: Hex; identifier: bigint };

function sell(root: Root): Transaction {
  const name = someName(root);
  const { owner: seller, isWrapped, node } = name;
  const buyer = someAccount(root);
  const item = isWrapped
    ? { itemType: 3, token: contracts.wrapper, identifier: BigInt(node) }
    : { itemType: 2, token: contracts.registrar, identifier: tokenId(name) };
  return { from: buyer, logs: [...transfer(root, name, buyer), order(root, seller, buyer, item)] };
}

function sellOther(root: Root): Transaction {
  const identifier = BigInt(root.random.below(10_000));
  const [seller, buyer] = [someAccount(root), someAccount(root)];
  return { from: buyer, logs: [order(root, seller, buyer, { itemType: 2, token: otherTokens, identifier })] };
}

function order({ random }: Root, seller: Hex, buyer: Hex, item: Item): EmittedLog {
  const payment = (amount: bigint, recipient: Hex) => {
    return { itemType: 0, token: zero, identifier: 0n, amount, recipient };
  };
  const orderHash = hashOf(`order ${random.fraction()}`);
  const payments = [payment(10n ** 17n, seller), payment(10n ** 15n, accountOf(3))];
  return orderFulfilled(seaport, orderHash, seller, zero, buyer, [{ ...item, amount: 1n }], payments);
}

// Early resolvers emit that a text changed, but not its new value.
function formerText(root: Root): Transaction {
  const { node, owner } = someName(root);
  const key = root.random.pick(textKeys);
  const data = encodeFunctionData({ abi: textRecordAbi, functionName: "text", args: [node, key] });
  const result = encodeFunctionResult({ abi: textRecordAbi, functionName: "text", result: `former ${key}` });
  root.calls.set(`${formerResolver} ${data}`, result);
  return { from: owner, logs: [formerTextChanged(formerResolver, node, key, key)] };
}
