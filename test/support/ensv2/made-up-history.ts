import { concat, type Hex, keccak256, stringToHex } from "viem";
import { createRandom } from "../../../devnet/random.ts";
import { v2ChainId } from "../../../devnet/recorded-chains.ts";
import { zeroAddress } from "../../../src/ens/ids.ts";
import { createFirstGeneration, fuse } from "./first-generation-model.ts";
import { createPlayedChain, nodeOf, wireName } from "./played-chain.ts";
import type { Snapshot } from "./recording.ts";
import { canTransfer, createRegistry, type RegistryModel } from "./registry-model.ts";
import {
  coinTypes,
  createNodeResolver,
  createRecordResolver,
  type NodeResolverModel,
  noAnswers,
  type RecordResolverModel,
  textKeys,
} from "./resolver-models.ts";

// Histories that nobody recorded: random calls of models of the contracts, in every order that these allow, among logs of
// hostile contracts. What the models' views return at some blocks is the truth of a history, in the form of a recording's.

const addressOf = (kind: string, number: number): Hex =>
  `0x${stringToHex(kind.padEnd(8).slice(0, 8)).slice(2)}${String(number).padStart(24, "0")}`;
const contract = (name: string) => addressOf(name, 7);

/** Contracts of the histories, by the names of the deployments. */
export const madeUpContracts: Readonly<Record<string, Hex>> = {
  ENSRegistry: contract("ensreg"),
  BaseRegistrar: contract("basereg"),
  WrappedETHRegistrarController: contract("ctrl-a"),
  ETHRegistrarController: contract("ctrl-b"),
  NameWrapper: contract("wrapper"),
  UpgradableUniversalResolverProxy: contract("univers"),
  DefaultReverseRegistrar: contract("reverse"),
  PublicResolver: contract("public1"),
  RootRegistry: contract("root"),
  ETHRegistry: contract("eth"),
  ETHRegistrar: contract("registr"),
  ETHRenewerV1: contract("renewer"),
  VerifiableFactory: contract("factory"),
  LabelStore: contract("labels"),
  PermissionedResolverImpl: contract("impl-pr"),
  RecordResolverImpl: contract("impl-rr"),
  WrapperRegistryImpl: contract("impl-wr"),
  PublicResolverV2: contract("public2"),
  UniversalResolverV2: contract("univ-v2"),
  ENSV1Resolver: contract("v1res"),
  UnlockedMigrationController: contract("unlocked"),
  LockedMigrationController: contract("locked"),
  Graveyard: contract("grave"),
};
const at = (name: string) => madeUpContracts[name] ?? zeroAddress;
const [userRegistryCode, unknownCode] = [contract("impl-ur"), contract("impl-xx")];

// The last ones can't be asked for as text.
const labels: readonly Hex[] = [
  ...["alder", "birch", "cedar", "dogwood", "elm"].map((text) => stringToHex(text)),
  stringToHex("ümlaut"),
  "0x610062",
  "0x612e62",
  "0xff61fe",
];
const eth: Hex = "0x657468";
const accounts = Array.from({ length: 5 }, (_, number) => addressOf("account", number + 1));
const day = 86_400;
const forever = 2n ** 64n - 1n;

const mostNames = 600;

type Wrapper = { node: Hex; isAdopted: boolean };

/** A history of `steps` calls, and its truth at `snapshots` of its blocks. */
export function madeUpHistory({
  seed,
  steps,
  snapshots,
}: {
  seed: number;
  steps: number;
  snapshots: number;
}) {
  const world = createWorld(seed);
  const taken: Snapshot[] = [];
  for (let step = 1; step <= steps; step++) {
    world.step();
    if (step % Math.floor(steps / snapshots) === 0) {
      // The truth is read at the block's end.
      taken.push(world.snapshot());
      world.chain.mine(0);
    }
  }
  return { ...world.chain.recording(), snapshots: taken };
}

function createWorld(seed: number) {
  const random = createRandom(seed);
  const chain = createPlayedChain({ chainId: v2ChainId, start: 1_790_000_000 });
  const announced = new Set<Hex>();
  const announceLabel = (label: Hex) => {
    if (announced.has(label)) return;
    announced.add(label);
    chain.emit(at("LabelStore"), "Label", keccak256(label), label);
  };
  const registryAt = (address: Hex) => createRegistry(chain, { address, announceLabel });
  const registries = new Map<Hex, RegistryModel>();
  const add = (address: Hex) => {
    const model = registryAt(address);
    registries.set(address, model);
    return model;
  };
  const root = add(at("RootRegistry"));
  const ofEth = add(at("ETHRegistry"));
  const wrappers = new Map<Hex, Wrapper>();
  // In the tree, and of a code that nobody knows: they emit what they like.
  const hostile = [addressOf("hostile", 1), addressOf("hostile", 2)];
  const strangers = [addressOf("strange", 1), addressOf("strange", 2)];
  const withoutCode = addressOf("nocode", 1);

  const v1 = createFirstGeneration(chain, {
    registry: at("ENSRegistry"),
    registrar: at("BaseRegistrar"),
    wrapper: at("NameWrapper"),
    graveyard: at("Graveyard"),
  });
  const nodeResolver = (address: Hex, isExtended: boolean) =>
    createNodeResolver(chain, { address, isExtended });
  const [publicV1, publicV2] = [
    nodeResolver(at("PublicResolver"), false),
    nodeResolver(at("PublicResolverV2"), false),
  ];
  const byNode = new Map<Hex, NodeResolverModel>([[publicV2.address, publicV2]]);
  const byRecord = new Map<Hex, RecordResolverModel>();
  const upgraded = new Set<Hex>();
  const unknownResolver = addressOf("evilres", 1);
  let deployed = 0;

  const flip = (share: number) => random.below(1000) < share * 1000;
  const account = () => random.pick(accounts);
  const label = () => random.pick(labels);
  const someRegistry = () => random.pick([...registries.values()]);
  const usual = () => (flip(0.4) ? ofEth : someRegistry());
  const expiry = () => {
    if (flip(0.1)) return forever;
    // Reached exactly by a block in some days.
    return chain.time() + BigInt((1 + random.below(flip(0.5) ? 60 : 400)) * day);
  };
  const someResolver = (): Hex =>
    random.pick([
      zeroAddress,
      publicV2.address,
      unknownResolver,
      at("ENSV1Resolver"),
      ...byNode.keys(),
      ...byRecord.keys(),
    ]);
  const someSubregistry = (): Hex =>
    random.pick([zeroAddress, withoutCode, ...hostile, ...registries.keys(), ...registries.keys()]);
  const bitmap = () => {
    let bits = 0n;
    for (let role = 0; role < 5; role++) bits |= 1n << BigInt(4 * random.below(60));
    return flip(0.7) ? bits | canTransfer : bits;
  };
  const name = (): Hex[] => {
    const path = Array.from({ length: flip(0.6) ? 1 : 1 + random.below(3) }, label);
    return flip(0.95) ? [...path, eth] : path;
  };

  function deploy(
    kind: string,
    code: Hex,
    deployer: Hex,
    created: (address: Hex) => void = () => undefined,
  ): Hex {
    deployed += 1;
    const address = addressOf(kind, deployed);
    chain.emit(address, "Upgraded", code);
    created(address);
    chain.emit(address, "Initialized", 1n);
    chain.emit(at("VerifiableFactory"), "ProxyDeployed", deployer, address, 5n, code);
    return address;
  }
  const deployRegistry = () =>
    deploy("userreg", flip(0.9) ? userRegistryCode : unknownCode, account(), (address) => {
      chain.emit(address, "RegistryCreated");
      add(address).changeRoles(undefined, account(), { grant: bitmap() });
    });
  function deployWrapper(registry: RegistryModel, wrapped: readonly Hex[], deployer: Hex): Hex {
    const address = deploy("wrapreg", at("WrapperRegistryImpl"), deployer, (created) => {
      chain.emit(created, "RegistryCreated");
      const model = add(created);
      model.changeRoles(undefined, account(), { grant: bitmap() });
      model.madeUnder(registry.address, wrapped[0] ?? "0x");
    });
    wrappers.set(address, { node: nodeOf(wrapped), isAdopted: deployer !== accounts[0] });
    return address;
  }

  function premigrate() {
    const found = v1.labels().filter((one) => v1.isInForce(one));
    if (found.length === 0) return;
    const sender = account();
    ofEth.register(random.pick(found), {
      owner: zeroAddress,
      resolver: at("ENSV1Resolver"),
      expiry: expiry(),
      sender,
    });
  }

  // Migration of a name under .eth that is reserved and lives in the first generation.
  function migrate() {
    const found = v1.labels().filter((one) => ofEth.statusOf(one) === 1 && v1.isInForce(one));
    if (found.length === 0) return;
    const migrated = random.pick(found);
    const owner = account();
    v1.setResolver([migrated, eth], zeroAddress);
    if (flip(0.4)) {
      v1.bury(migrated);
      const sender = at("UnlockedMigrationController");
      ofEth.register(migrated, {
        owner,
        resolver: someResolver(),
        subregistry: someSubregistry(),
        roleBitmap: bitmap(),
        expiry: 0n,
        sender,
      });
      return;
    }
    const sender = at("LockedMigrationController");
    const subregistry = deployWrapper(ofEth, [migrated, eth], sender);
    ofEth.register(migrated, {
      owner,
      resolver: someResolver(),
      subregistry,
      roleBitmap: bitmap(),
      expiry: 0n,
      sender,
    });
  }

  // A subname that its parent could not control, into the registry of its parent.
  function migrateChild() {
    for (const [address, { node, isAdopted }] of wrappers) {
      const registry = registries.get(address);
      const wrapped = registry?.parent()?.label;
      if (registry === undefined || wrapped === undefined || !isAdopted || nodeOf([wrapped, eth]) !== node)
        continue;
      const child = labels.find((one) => !registry.hasEntry(one) && v1.isLeft(node, one));
      if (child === undefined || flip(0.6)) continue;
      const path = [child, wrapped, eth];
      const until = v1.expiryOf(path);
      const isLocked = (v1.fusesOf(path) & fuse.locked) !== 0;
      if (!isLocked) v1.unwrap(path, at("Graveyard"));
      const subregistry = isLocked ? deployWrapper(registry, path, address) : someSubregistry();
      registry.register(child, {
        owner: account(),
        subregistry,
        resolver: someResolver(),
        roleBitmap: bitmap(),
        expiry: until,
        sender: address,
      });
      return;
    }
  }

  const node = () => nodeOf(name());
  const bytes = (): Hex =>
    random.pick(["0x", random.hexDigits(10) as Hex, "0x68656c6c6f", "0xe4bda0"].map(hexOf));
  const address20 = (): Hex => random.pick(["0x", zeroAddress, account(), account()]);
  const coin = () => random.pick(coinTypes);

  function write() {
    const model = random.pick([publicV1, ...byNode.values(), ...byRecord.values()]);
    // Mostly of a name that reads it.
    const wanted = model === publicV1 ? at("ENSV1Resolver") : model.address;
    const readers = ofEth.entries().filter(({ resolver }) => resolver === wanted);
    const to = readers.length > 0 && flip(0.8) ? [random.pick(readers).label, eth] : name();
    if ("link" in model) {
      random.pick([
        () => model.setAddress(to, coin(), address20()),
        () => model.setText(to, random.pick(textKeys), bytes()),
        () => model.setContenthash(to, bytes()),
        () => model.link(flip(0.3) ? [] : to, BigInt(random.below(Number(model.newest()) + 1))),
        () => model.clear(BigInt(1 + random.below(Number(model.newest()) + 1))),
      ])();
      return;
    }
    random.pick([
      () => model.setAddress(nodeOf(to), coin(), address20()),
      () => model.setAddress(nodeOf(to), coin(), address20()),
      () => model.setText(nodeOf(to), random.pick(textKeys), bytes()),
      () => model.setContenthash(nodeOf(to), bytes()),
      () => model.clear(node()),
      () => {
        if (!model.isExtended) return;
        const target = random.pick<Hex>([
          "0x",
          "0x00",
          wireName(name()),
          wireName(name()),
          concat([wireName(to), "0x00"]),
        ]);
        model.setAlias(flip(0.1) ? [] : name(), target);
      },
    ])();
  }

  function firstGeneration() {
    const one = label();
    const locked = [...wrappers.keys()].flatMap((address) => registries.get(address)?.parent()?.label ?? []);
    const parents = [...v1.labels(), ...locked, ...locked].map((parent) => [parent, eth]);
    const child = [label(), ...(parents.length > 0 ? random.pick(parents) : [label(), eth])];
    const fuses = random.pick([0, fuse.emancipated, fuse.emancipated, fuse.emancipated | fuse.locked]);
    random.pick([
      () => v1.register(one, account(), expiry() % 2n ** 40n),
      () => v1.register(one, account(), chain.time() + 200n * BigInt(day)),
      () => v1.renew(one, chain.time() + 300n * BigInt(day)),
      () => v1.bury(one),
      () => v1.setResolver([one, eth], random.pick([zeroAddress, publicV1.address])),
      () => v1.setResolver(child, publicV1.address),
      () => v1.wrap(child, account(), { fuses, expiry: expiry() }),
      () => v1.wrap(child, account(), { fuses: fuse.emancipated, expiry: expiry() }),
      () => v1.unwrap(child, account()),
      () => v1.burnFuses(child, fuse.emancipated),
      () => v1.extend(child, expiry()),
      () => v1.abandon(child),
    ])();
  }

  // Of a contract whose code is known, nothing of this can come.
  function noise() {
    const emitter = random.pick([...hostile, ...strangers, withoutCode]);
    const claimed = label();
    const id = BigInt(keccak256(claimed));
    const word = () => random.hexDigits(32);
    random.pick([
      () =>
        registryAt(emitter).register(claimed, {
          owner: account(),
          subregistry: someSubregistry(),
          resolver: someResolver(),
          expiry: forever,
          sender: at("LockedMigrationController"),
        }),
      () => chain.emit(emitter, "LabelReserved", id, keccak256(label()), claimed, forever, account()),
      () => chain.emit(emitter, "SubregistryUpdated", id, random.pick([...registries.keys()]), account()),
      () =>
        chain.emit(emitter, "ResolverUpdated(uint256 indexed, address, address)", id, account(), account()),
      () => chain.emit(emitter, "ExpiryUpdated(uint256 indexed, uint64, address)", id, 1n, account()),
      () => chain.emit(emitter, "TransferSingle", account(), account(), account(), id, 7n),
      () => chain.emit(emitter, "ProxyDeployed", account(), emitter, 1n, at("PermissionedResolverImpl")),
      () => chain.emit(emitter, "Upgraded", at("RecordResolverImpl")),
      () => chain.emit(emitter, "Label", keccak256(claimed), label()),
      () => chain.emit(emitter, "ParentUpdated", ofEth.address, claimed, account()),
      () => chain.emit(emitter, "EACRolesChanged", 0n, account(), 0n, 2n ** 256n - 1n),
      () => chain.emit(emitter, "Linked", 1n, hexOf(word()), "0x00"),
    ])();
  }

  function registration() {
    const owner = flip(0.25) ? zeroAddress : account();
    const [registry, one] = [usual(), label()];
    const wrapper = wrappers.get(registry.address);
    // It must be migrated first.
    if (wrapper && registry.getExpiry(one) === 0n && v1.isLeft(wrapper.node, one)) return;
    registry.register(one, {
      owner,
      subregistry: flip(0.5) ? someSubregistry() : zeroAddress,
      resolver: flip(0.2) ? at("ENSV1Resolver") : someResolver(),
      roleBitmap: owner === zeroAddress ? 0n : random.pick([0n, bitmap(), bitmap()]),
      expiry: owner !== zeroAddress && flip(0.1) ? 0n : expiry(),
      sender: account(),
    });
  }

  function attach() {
    const registry = usual();
    const target = someSubregistry();
    const one = random.pick([label(), ...registry.entries().map((entry) => entry.label)]);
    if (one === eth) return;
    registry.setSubregistry(one, target, account());
    // Mostly the attached registry says so itself.
    if (flip(0.5) && !wrappers.has(target))
      registries.get(target)?.setParent(registry.address, flip(0.9) ? one : label(), account());
  }

  function upgrade() {
    const resolvers = [...byNode.keys(), ...byRecord.keys()].filter((one) => one !== publicV2.address);
    const target = random.pick(
      [...registries.keys()]
        .filter((one) => one !== root.address && one !== ofEth.address)
        .concat(resolvers, hostile),
    );
    const code = random.pick([unknownCode, at("RecordResolverImpl")]);
    chain.emit(target, "Upgraded", code);
    const isSame = byRecord.has(target) && code === at("RecordResolverImpl");
    if (resolvers.includes(target) && !isSame) upgraded.add(target);
  }

  const acts: [number, () => unknown][] = [
    [14, registration],
    [8, attach],
    [6, () => usual().setResolver(label(), someResolver(), account())],
    [5, () => usual().renew(label(), expiry(), account())],
    [3, () => usual().unregister(label(), account())],
    [
      5,
      () => usual().changeRoles(label(), account(), random.pick([{ grant: bitmap() }, { revoke: bitmap() }])),
    ],
    [
      2,
      () =>
        someRegistry().changeRoles(
          undefined,
          account(),
          random.pick([{ grant: bitmap() }, { revoke: bitmap() }]),
        ),
    ],
    [5, () => usual().transfer([label()], account())],
    [
      3,
      () => usual().transfer(Array.from(new Set([label(), label(), label(), label()])), account(), [label()]),
    ],
    [3, () => deployRegistry()],
    [
      1,
      () =>
        byNode.size < 5 &&
        byNode.set(...resolverAt(deploy("noderes", at("PermissionedResolverImpl"), account()))),
    ],
    [1, () => byRecord.size < 3 && deployRecords()],
    [1, () => deploy("unknown", unknownCode, account())],
    [1, () => deployRogue()],
    [1, () => flip(0.3) && upgrade()],
    [24, write],
    [12, firstGeneration],
    [5, premigrate],
    [6, migrate],
    [3, migrateChild],
    [8, noise],
  ];
  const resolverAt = (address: Hex): [Hex, NodeResolverModel] => [address, nodeResolver(address, true)];
  function deployRecords() {
    const address = deploy("recres", at("RecordResolverImpl"), account(), (created) => {
      chain.emit(created, "ResolverCreated");
      const model = createRecordResolver(chain, { address: created });
      byRecord.set(created, model);
      model.setText(name(), random.pick(textKeys), bytes());
    });
    return address;
  }
  // Anybody can deploy a registry of a locked name, for any name.
  function deployRogue() {
    const address = deployWrapper(ofEth, [label(), eth], accounts[0] ?? zeroAddress);
    usual().setSubregistry(label(), address, account());
  }
  const total = acts.reduce((sum, [weight]) => sum + weight, 0);

  const views = createViews();
  function createViews() {
    const isRegistry = (address: Hex) => registries.has(address);
    const getResolver = (address: Hex, one: Hex): Hex => {
      const wrapper = wrappers.get(address);
      const registry = registries.get(address);
      if (wrapper && registry?.getExpiry(one) === 0n && v1.isLeft(wrapper.node, one))
        return at("ENSV1Resolver");
      return registry?.getResolver(one) ?? zeroAddress;
    };

    /** Registry, resolver and its place; undefined where the call fails or only a hostile contract could say. */
    function find(path: readonly Hex[]) {
      let [registry, resolver, place, holder]: [Hex, Hex, number, Hex] = [
        root.address,
        zeroAddress,
        path.length,
        zeroAddress,
      ];
      for (let depth = path.length - 1; depth >= 0; depth--) {
        const one = path[depth] ?? "0x";
        holder = registry;
        if (registry === zeroAddress) continue;
        if (!isRegistry(registry)) return undefined;
        const own = getResolver(registry, one);
        if (own !== zeroAddress) [resolver, place] = [own, depth];
        registry = registries.get(registry)?.getSubregistry(one) ?? zeroAddress;
      }
      return { holder, resolver, place, subregistry: registry };
    }

    // Whether the path leads through a contract, or to a subname, of which events do not tell.
    function isUnsure(path: readonly Hex[]): boolean {
      let registry = root.address;
      for (const one of path.toReversed()) {
        if (registry === zeroAddress) return false;
        if (!isRegistry(registry)) return true;
        const isRogue = wrappers.get(registry)?.isAdopted === false;
        if (isRogue && !registries.get(registry)?.hasEntry(one)) return true;
        registry = registries.get(registry)?.getSubregistry(one) ?? zeroAddress;
      }
      return false;
    }

    function canonicalName(address: Hex): Hex | null {
      const path: Hex[] = [];
      for (let at = address; path.length < 20; ) {
        if (at === root.address) return wireName(path);
        if (wrappers.get(at)?.isAdopted === false) return null;
        const parent = registries.get(at)?.parent();
        if (parent === undefined || parent.registry === zeroAddress) return null;
        if (registries.get(parent.registry)?.getSubregistry(parent.label) !== at) return null;
        path.push(parent.label);
        at = parent.registry;
      }
      return null;
    }

    function answers(path: readonly Hex[], { resolver, place }: { resolver: Hex; place: number }) {
      if (resolver === at("ENSV1Resolver")) {
        const found = v1.findResolver(path);
        return found?.place === 0 ? publicV1.answers(path) : noAnswers;
      }
      const model = byNode.get(resolver) ?? byRecord.get(resolver);
      if (model === undefined || upgraded.has(resolver) || (place > 0 && !model.isExtended)) return noAnswers;
      return model.answers(path);
    }
    return { find, isUnsure, canonicalName, answers };
  }

  // Every path on which no registry comes twice, and some names beside them.
  function* paths(): Generator<Hex[]> {
    const pending: { path: Hex[]; registry: Hex; seen: Hex[] }[] = [
      { path: [], registry: root.address, seen: [] },
    ];
    for (let next = pending.shift(); next; next = pending.shift()) {
      const { path, registry, seen } = next;
      if (seen.includes(registry) || seen.length > 5) continue;
      for (const { label: one } of registries.get(registry)?.entries() ?? []) {
        const below = [one, ...path];
        yield below;
        const subregistry = registries.get(registry)?.getSubregistry(one) ?? zeroAddress;
        pending.push({ path: below, registry: subregistry, seen: [...seen, registry] });
      }
      if (registry !== root.address && registry !== zeroAddress)
        for (const one of labels) yield [one, ...path];
    }
  }

  return {
    chain,
    step() {
      chain.mine(flip(0.2) ? day * (1 + random.below(4)) : 0);
      if (chain.block() === 1) {
        v1.start();
        root.register(eth, {
          owner: account(),
          subregistry: ofEth.address,
          expiry: forever,
          sender: account(),
        });
        ofEth.setParent(root.address, eth, account());
        return;
      }
      let chosen = random.below(total);
      for (const [weight, act] of acts) {
        chosen -= weight;
        if (chosen < 0) {
          act();
          return;
        }
      }
    },

    snapshot(): Snapshot {
      const names = new Map<Hex, Snapshot["names"][number]>();
      for (const path of paths()) {
        const id = nodeOf(path);
        const found = views.find(path);
        if (names.size >= mostNames) break;
        if (names.has(id)) continue;
        const holder = found && registries.get(found.holder);
        names.set(id, {
          name: path.map((one) => Buffer.from(one.slice(2), "hex").toString("utf8")).join("."),
          labels: path,
          node: id,
          registry: holder?.address ?? null,
          exists: holder?.statusOf(path[0] ?? "0x") ?? 0,
          owner: holder?.findOwner(path[0] ?? "0x") ?? zeroAddress,
          resolver: found
            ? { address: found.resolver, offset: wireName(path.slice(0, found.place)).length / 2 - 2 }
            : null,
          subregistry: found?.subregistry ?? null,
          ...(views.isUnsure(path) ? { isUnsure: true as const } : {}),
          answers: found ? views.answers(path, found) : noAnswers,
        });
      }
      const reached = [...registries.values()].map((registry): [Hex, Snapshot["registries"][Hex]] => [
        registry.address,
        {
          contract: true,
          parentClaim: null,
          canonicalName: views.canonicalName(registry.address),
          rootRoles: registry.rootRoles(),
          entries: registry.truth(),
        },
      ]);
      const foreign = [...hostile, withoutCode].map((address): [Hex, Snapshot["registries"][Hex]] => [
        address,
        {
          hostile: true,
          contract: false,
          parentClaim: null,
          canonicalName: null,
          rootRoles: {},
          entries: [],
        },
      ]);
      return {
        block: chain.block(),
        timestamp: Number(chain.time()),
        registries: Object.fromEntries([...reached, ...foreign]),
        names: [...names.values()],
        authority: labels.map((raw) => {
          const status = ofEth.statusOf(raw);
          const inForce = v1.isInForce(raw) ? "v1" : "none";
          return {
            label: raw,
            raw,
            status,
            authority: status === 2 ? "v2" : status === 1 ? "reserved" : inForce,
            v1: null,
          };
        }),
      };
    },
  };
}

const hexOf = (digits: string): Hex => (digits.startsWith("0x") ? (digits as Hex) : `0x${digits}`);
