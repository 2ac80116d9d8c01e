import { concat, type Hex, keccak256 } from "viem";
import { zeroAddress } from "../../../src/ens/ids.ts";
import { nodeOf, type PlayedChain, wireName } from "./played-chain.ts";

// A model of what the second generation reads of the first: the registry, leases under .eth, and the name wrapper's fuses,
// which outlive an unwrapping. Written from the source of NameWrapper.

/** Fuses: the parent cannot control the name; the name is the registrar's; it cannot be unwrapped. */
export const fuse = { emancipated: 0x10000, dotEth: 0x20000, locked: 0x1 };
const grace = 90n * 86_400n;
const eth: Hex = "0x657468";

/** Contracts of the first generation. */
export type FirstContracts = { registry: Hex; registrar: Hex; wrapper: Hex; graveyard: Hex };

/** A model of the first generation. */
export function createFirstGeneration(chain: PlayedChain, contracts: FirstContracts) {
  const { registry, registrar, wrapper, graveyard } = contracts;
  const owners = new Map<Hex, Hex>();
  const resolvers = new Map<Hex, Hex>();
  const leases = new Map<Hex, { expires: bigint; holder: Hex }>();
  const wrapped = new Map<Hex, { owner: Hex; fuses: number; expiry: bigint }>();

  const below = (labels: readonly Hex[]) => nodeOf(labels.slice(1));
  const first = (labels: readonly Hex[]) => labels[0] ?? "0x";

  function setOwner(labels: readonly Hex[], owner: Hex) {
    owners.set(nodeOf(labels), owner);
    chain.emit(registry, "NewOwner", below(labels), keccak256(first(labels)), owner);
  }

  // As getData returns it.
  function dataOf(node: Hex) {
    const data = wrapped.get(node) ?? { owner: zeroAddress, fuses: 0, expiry: 0n };
    if (data.expiry >= chain.time()) return data;
    return { ...data, owner: (data.fuses & fuse.emancipated) === 0 ? data.owner : zeroAddress, fuses: 0 };
  }

  function mint(
    labels: readonly Hex[],
    { owner, fuses, expiry }: { owner: Hex; fuses: number; expiry: bigint },
  ) {
    const node = nodeOf(labels);
    const former = wrapped.get(node) ?? { fuses: 0, expiry: 0n };
    const kept = former.expiry >= chain.time() ? former.fuses & 0xffff0000 : 0;
    wrapped.set(node, {
      owner,
      fuses: fuses | kept,
      expiry: expiry > former.expiry ? expiry : former.expiry,
    });
    chain.emit(wrapper, "TransferSingle", owner, zeroAddress, owner, BigInt(node), 1n);
    chain.emit(wrapper, "NameWrapped", node, wireName(labels), owner, fuses, expiry);
  }

  return {
    start: () => setOwner([eth], registrar),

    /** Registers, renews or moves a name under .eth. */
    register(label: Hex, holder: Hex, expires: bigint) {
      const id = keccak256(label);
      if ((leases.get(label)?.expires ?? 0n) + grace >= chain.time()) return;
      leases.set(label, { expires, holder });
      chain.emit(registrar, "Transfer", zeroAddress, holder, id);
      setOwner([label, eth], holder);
      chain.emit(registrar, "NameRegistered", id, holder, expires);
    },
    renew(label: Hex, expires: bigint) {
      const lease = leases.get(label);
      if (lease === undefined || lease.expires + grace < chain.time()) return;
      lease.expires = expires;
      chain.emit(registrar, "NameRenewed", keccak256(label), expires);
    },
    bury(label: Hex) {
      const lease = leases.get(label);
      if (lease === undefined || lease.expires < chain.time()) return;
      chain.emit(registrar, "Transfer", lease.holder, graveyard, keccak256(label));
      lease.holder = graveyard;
    },

    setOwner,
    abandon(labels: readonly Hex[]) {
      if (!owners.has(nodeOf(labels))) return;
      owners.set(nodeOf(labels), zeroAddress);
      chain.emit(registry, "Transfer", nodeOf(labels), zeroAddress);
    },
    setResolver(labels: readonly Hex[], resolver: Hex) {
      if (!owners.has(nodeOf(labels))) return;
      resolvers.set(nodeOf(labels), resolver);
      chain.emit(registry, "NewResolver", nodeOf(labels), resolver);
    },

    /** Wraps a subname as its parent, with fuses; or as its owner who had unwrapped it, with none. */
    wrap(labels: readonly Hex[], owner: Hex, { fuses, expiry }: { fuses: number; expiry: bigint }) {
      const node = nodeOf(labels);
      if (dataOf(node).owner !== zeroAddress) return;
      const isBack = (dataOf(node).fuses & fuse.emancipated) !== 0;
      setOwner(labels, wrapper);
      mint(labels, { owner, ...(isBack ? { fuses: 0, expiry: 0n } : { fuses, expiry }) });
    },
    unwrap(labels: readonly Hex[], to: Hex) {
      const node = nodeOf(labels);
      const data = dataOf(node);
      if (data.owner === zeroAddress || (data.fuses & fuse.locked) !== 0) return;
      wrapped.set(node, { ...data, owner: zeroAddress });
      chain.emit(wrapper, "TransferSingle", data.owner, data.owner, zeroAddress, BigInt(node), 1n);
      owners.set(node, to);
      chain.emit(registry, "Transfer", node, to);
      chain.emit(wrapper, "NameUnwrapped", node, to);
    },
    burnFuses(labels: readonly Hex[], fuses: number) {
      const node = nodeOf(labels);
      const data = dataOf(node);
      if (data.owner === zeroAddress) return;
      wrapped.set(node, { ...data, fuses: data.fuses | fuses });
      chain.emit(wrapper, "FusesSet", node, data.fuses | fuses);
    },
    extend(labels: readonly Hex[], expiry: bigint) {
      const node = nodeOf(labels);
      const data = dataOf(node);
      if (data.owner === zeroAddress || expiry <= data.expiry) return;
      wrapped.set(node, { ...data, expiry });
      chain.emit(wrapper, "ExpiryExtended", node, expiry);
    },

    /** Whether the registry of a locked name leaves this subname to the first generation. */
    isLeft(node: Hex, label: Hex): boolean {
      const child = keccak256(concat([node, keccak256(label)]));
      const { fuses } = dataOf(child);
      const isEmancipated = (fuses & (fuse.emancipated | fuse.dotEth)) === fuse.emancipated;
      return isEmancipated && (owners.get(child) ?? zeroAddress) !== zeroAddress;
    },
    fusesOf: (labels: readonly Hex[]) => dataOf(nodeOf(labels)).fuses,
    expiryOf: (labels: readonly Hex[]) => dataOf(nodeOf(labels)).expiry,

    /** The resolver of a name or of the nearest name above it, and that name's place; undefined without one. */
    findResolver(labels: readonly Hex[]): { resolver: Hex; place: number } | undefined {
      for (const place of labels.keys()) {
        const resolver = resolvers.get(nodeOf(labels.slice(place))) ?? zeroAddress;
        if (resolver !== zeroAddress) return { resolver, place };
      }
      return undefined;
    },

    /** Whether a name under .eth lives in the first generation, and is not in the Graveyard. */
    isInForce(label: Hex): boolean {
      const lease = leases.get(label);
      if (lease === undefined || lease.expires + grace < chain.time()) return false;
      return !(lease.holder === graveyard && lease.expires >= chain.time());
    },
    labels: () => [...leases.keys()],
  };
}

/** A model of the first generation. */
