import { type Hex, keccak256, namehash, stringToHex, zeroAddress as zero } from "viem";
import { labelStoreAbi, leaseAbi, proxyFactoryAbi, registryV2Abi, resolverV2Abi } from "../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../abis/names.ts";
import { type EmittedLog, logsOf } from "../../devnet/events.ts";
import { createRandom } from "../../devnet/random.ts";
import { contractsOfV2 } from "../../devnet/recorded-chains.ts";
import { accountOf, subnodeOf, type Transaction } from "./history.ts";

// Contracts of a set of ENSv2 on the chain of the generated history.
const contract = (index: number): Hex => `0x${"e2".repeat(18)}${String(index).padStart(4, "0")}`;
const contracts = Object.fromEntries(contractsOfV2.map((name, index) => [name, contract(index)])) as Record<
  "ETHRegistry" | "ETHRegistrar" | "LabelStore" | "VerifiableFactory" | "PermissionedResolverImpl",
  Hex
>;

/** A datasources file that puts the set on Holesky. */
export function ensv2Datasources(startBlock: number): string {
  const sources = Object.entries(contracts).map(([name, address]) => [name, { address, startBlock }]);
  return JSON.stringify({ holesky: { ensv2: { 17000: { contracts: Object.fromEntries(sources) } } } });
}

const emits = {
  label: logsOf(labelStoreAbi, "Label"),
  registered: logsOf(registryV2Abi, "LabelRegistered"),
  resource: logsOf(registryV2Abi, "TokenResource"),
  roles: logsOf(registryV2Abi, "EACRolesChanged"),
  subregistry: logsOf(registryV2Abi, "SubregistryUpdated"),
  resolver: logsOf(registryV2Abi, "ResolverUpdated"),
  expiry: logsOf(registryV2Abi, "ExpiryUpdated"),
  parent: logsOf(registryV2Abi, "ParentUpdated"),
  transfer: logsOf(erc1155TransferAbi, "TransferSingle"),
  deployed: logsOf(proxyFactoryAbi, "ProxyDeployed"),
  lease: logsOf(leaseAbi, "NameRegistered"),
  renewal: logsOf(leaseAbi, "NameRenewed"),
  upgraded: logsOf(resolverV2Abi, "Upgraded"),
  created: logsOf(resolverV2Abi, "ResolverCreated"),
  linked: logsOf(resolverV2Abi, "Linked"),
  address: logsOf(resolverV2Abi, "AddressUpdated"),
  text: logsOf(resolverV2Abi, "TextUpdated"),
};

const expires = 1_900_000_000n;
const year = 31_536_000n;
const owned = (1n << 20n) | (1n << 24n) | (1n << 156n);
const noReferrer: Hex = `0x${"0".repeat(64)}`;
const eth = namehash("eth");

type Name = {
  registry: Hex;
  tokenId: bigint;
  label: string;
  owner: Hex;
  node: Hex;
  resolver: Hex;
  record: bigint;
};

type Place = { address: Hex; node: Hex };

type State = {
  random: ReturnType<typeof createRandom>;
  all: Name[];
  registries: Place[];
  resolvers: Hex[];
  records: Map<Hex, bigint>;
  transactions: Transaction[];
  total: number;
  proxies: number;
};

/**
 * A history of names of the second generation, of at least `count` logs: paid registrations under .eth with their seven logs,
 * names in registries of users, renewals, transfers, changed roles, pointers and records. One name in twenty has its owner's
 * resolver deployed, one in fifty a registry. Always the same.
 */
export function ensv2History(count: number): { transactions: Transaction[]; labels: string[] } {
  const random = createRandom(2);
  const state: State = {
    random,
    all: [],
    registries: [],
    resolvers: [],
    records: new Map(),
    transactions: [],
    total: 0,
    proxies: 0,
  };
  const { all, registries } = state;
  while (state.total < count) {
    if (all.length % 20 === 0) deployResolver(state, accountOf(all.length));
    const last = all.at(-1);
    if (last && all.length % 50 === 0) attachRegistry(state, last);
    const inTree = registries.length > 0 && random.below(10) < 4;
    register(state, inTree ? random.pick(registries) : { address: contracts.ETHRegistry, node: eth });
    change(state, random.pick(all));
  }
  return { transactions: state.transactions, labels: ["eth"] };
}

function add(state: State, from: Hex, logs: EmittedLog[]) {
  state.transactions.push({ from, logs });
  state.total += logs.length;
}

const proxyOf = (state: State): Hex => `0x${keccak256(stringToHex(`proxy ${state.proxies++}`)).slice(26)}`;

const someAccount = ({ random, all }: State) => accountOf(random.below(all.length + 50) >> 2);

function deployResolver(state: State, owner: Hex) {
  const address = proxyOf(state);
  state.resolvers.push(address);
  const code = contracts.PermissionedResolverImpl;
  add(state, owner, [
    emits.upgraded(address, code),
    emits.created(address),
    emits.roles(address, 0n, owner, 0n, owned),
    emits.deployed(contracts.VerifiableFactory, owner, address, 1n, code),
  ]);
}

function attachRegistry(state: State, { registry, tokenId, label, owner, node }: Name) {
  const address = proxyOf(state);
  const code = contract(99);
  state.registries.push({ address, node });
  add(state, owner, [
    emits.upgraded(address, code),
    emits.roles(address, 0n, owner, 0n, owned),
    emits.deployed(contracts.VerifiableFactory, owner, address, 1n, code),
  ]);
  add(state, owner, [
    emits.subregistry(registry, tokenId, address, owner),
    emits.parent(address, registry, label, owner),
  ]);
}

function register(state: State, { address: registry, node }: Place) {
  const { random, all, resolvers } = state;
  const label = `name${all.length}`;
  const hash = keccak256(stringToHex(label));
  const tokenId = BigInt(hash) & ~0xffff_ffffn;
  const owner = someAccount(state);
  const resolver = random.pick(resolvers);
  const isPaid = registry === contracts.ETHRegistry;
  const sender = isPaid ? contracts.ETHRegistrar : owner;
  const registrar = contracts.ETHRegistrar;
  add(state, owner, [
    emits.label(contracts.LabelStore, hash, label),
    emits.registered(registry, tokenId, hash, label, owner, expires, sender),
    emits.transfer(registry, sender, zero, owner, tokenId, 1n),
    emits.resource(registry, tokenId, tokenId),
    emits.roles(registry, tokenId, owner, 0n, owned),
    emits.resolver(registry, tokenId, resolver, sender),
    ...(isPaid
      ? [emits.lease(registrar, tokenId, label, owner, zero, resolver, year, zero, noReferrer, 5n, 0n)]
      : []),
  ]);
  all.push({ registry, tokenId, label, owner, node: subnodeOf(node, hash), resolver, record: 0n });
}

function setRecord(state: State, name: Name) {
  const { random, records } = state;
  const { resolver, node, owner, label } = name;
  const logs: EmittedLog[] = [];
  if (name.record === 0n) {
    name.record = (records.get(resolver) ?? 0n) + 1n;
    records.set(resolver, name.record);
    logs.push(emits.linked(resolver, name.record, node, stringToHex(label)));
  }
  const key = random.pick(["avatar", "url", "description"]);
  if (random.below(2) === 0) logs.push(emits.address(resolver, name.record, 60n, owner));
  else logs.push(emits.text(resolver, name.record, key, key, `${label} ${state.total}`));
  add(state, owner, logs);
}

function change(state: State, name: Name) {
  const { random, resolvers } = state;
  const { registry, tokenId, label, owner } = name;
  const kind = random.below(10);
  if (kind < 4) return setRecord(state, name);
  if (kind < 6) {
    const until = expires + BigInt(random.below(1_000_000));
    const paid = emits.renewal(contracts.ETHRegistrar, tokenId, label, year, until, zero, noReferrer, 5n);
    const isPaid = registry === contracts.ETHRegistry;
    return add(state, owner, [emits.expiry(registry, tokenId, until, owner), ...(isPaid ? [paid] : [])]);
  }
  if (kind < 8) {
    const to = someAccount(state);
    if (to === owner) return;
    name.owner = to;
    return add(state, owner, [
      emits.transfer(registry, owner, owner, to, tokenId, 1n),
      emits.roles(registry, tokenId, owner, owned, 0n),
      emits.roles(registry, tokenId, to, 0n, owned),
    ]);
  }
  if (kind < 9) return add(state, owner, [emits.resolver(registry, tokenId, random.pick(resolvers), owner)]);
  return add(state, owner, [emits.roles(registry, tokenId, accountOf(random.below(1000)), 0n, 1n << 24n)]);
}
