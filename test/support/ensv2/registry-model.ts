import { type Hex, keccak256 } from "viem";
import { zeroAddress } from "../../../src/ens/ids.ts";
import type { PlayedChain } from "./played-chain.ts";
import type { TrueEntry } from "./recording.ts";

// A model of the registries of the second generation, written from their source (PermissionedRegistry of the deployed
// generation): what a call stores and emits, and what the views return. A call that the contract would revert does nothing.

const versions = 0xffff_ffffn;
const wasReserved = 1n << 32n;
/** The admin role without which a token cannot be transferred. */
export const canTransfer = 1n << 156n;

type Entry = {
  label: Hex;
  /** Version of the resource. */
  access: bigint;
  /** Version of the token. */
  token: bigint;
  subregistry: Hex;
  resolver: Hex;
  expiry: bigint;
};

const idOf = (label: Hex) => BigInt(keccak256(label));
const withVersion = (id: bigint, version: bigint) => (id & ~versions) | version;
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;

/** A model of one registry. `announceLabel` is the store of labels. */
export function createRegistry(
  chain: PlayedChain,
  { address, announceLabel }: { address: Hex; announceLabel: (label: Hex) => void },
) {
  const entries = new Map<bigint, Entry>();
  const owners = new Map<bigint, Hex>();
  const roles = new Map<bigint, Map<Hex, bigint>>();
  let parent: { registry: Hex; label: Hex } | undefined;

  const emit = (event: string, ...values: readonly unknown[]) => chain.emit(address, event, ...values);
  const isExpired = ({ expiry }: Pick<Entry, "expiry">) => chain.time() >= expiry;
  const ownerOf = (tokenId: bigint) => owners.get(tokenId) ?? zeroAddress;
  const tokenOf = ({ label, token }: Entry) => withVersion(idOf(label), token);
  const resourceOf = (entry: Entry) =>
    withVersion(idOf(entry.label), isExpired(entry) ? entry.access + 1n : entry.access);
  const rolesOf = (resource: bigint, account: Hex) => roles.get(resource)?.get(account) ?? 0n;
  const find = (label: Hex) => entries.get(withVersion(idOf(label), 0n));

  function setRoles(resource: bigint, account: Hex, next: bigint): boolean {
    const before = rolesOf(resource, account);
    if (before === next) return false;
    const held = roles.get(resource) ?? new Map<Hex, bigint>();
    roles.set(resource, held.set(account, next));
    emit("EACRolesChanged", resource, account, before, next);
    return true;
  }

  function transferred(from: Hex, to: Hex, ids: readonly bigint[], values: readonly bigint[]) {
    for (const [place, id] of ids.entries()) if (values[place] === 1n) owners.set(id, to);
    const [id, value] = [ids[0], values[0]];
    if (ids.length === 1) {
      emit("TransferSingle", to, from, to, id, value);
    } else {
      emit("TransferBatch", from, from, to, ids, values);
    }
  }

  function regenerate(entry: Entry) {
    const before = tokenOf(entry);
    const owner = ownerOf(before);
    transferred(owner, zeroAddress, [before], [1n]);
    entry.token += 1n;
    emit("TokenRegenerated", before, tokenOf(entry));
    transferred(zeroAddress, owner, [tokenOf(entry)], [1n]);
  }

  function live(label: Hex): Entry | undefined {
    const entry = find(label);
    return entry === undefined || isExpired(entry) ? undefined : entry;
  }

  return {
    address,
    entries: () => [...entries.values()],

    /** Registers for an owner, or reserves if the owner is zero. */
    register(
      label: Hex,
      {
        owner,
        subregistry = zeroAddress,
        resolver = zeroAddress,
        roleBitmap = 0n,
        expiry,
        sender,
      }: { owner: Hex; subregistry?: Hex; resolver?: Hex; roleBitmap?: bigint; expiry: bigint; sender: Hex },
    ): boolean {
      const storageId = withVersion(idOf(label), 0n);
      const entry = entries.get(storageId) ?? {
        label,
        access: 0n,
        token: 0n,
        subregistry: zeroAddress,
        resolver: zeroAddress,
        expiry: 0n,
      };
      const former = ownerOf(tokenOf(entry));
      let [given, until] = [roleBitmap, expiry];
      if (isExpired(entry)) {
        if (owner === zeroAddress && given !== 0n) return false;
      } else {
        if (former !== zeroAddress || owner === zeroAddress) return false;
        if (until === 0n) until = entry.expiry;
        given |= wasReserved;
      }
      if (owner === zeroAddress ? until === 0n : chain.time() >= until) return false;
      announceLabel(label);
      entries.set(storageId, entry);
      if (former !== zeroAddress) {
        transferred(former, zeroAddress, [tokenOf(entry)], [1n]);
        entry.access += 1n;
        entry.token += 1n;
      }
      Object.assign(entry, { expiry: until, subregistry, resolver });
      const tokenId = tokenOf(entry);
      if (owner === zeroAddress) {
        emit("LabelReserved", tokenId, keccak256(label), label, until, sender);
      } else {
        emit("LabelRegistered", tokenId, keccak256(label), label, owner, until, sender);
        transferred(zeroAddress, owner, [tokenId], [1n]);
        const resource = withVersion(tokenId, entry.access);
        emit("TokenResource", tokenId, resource);
        if (given !== 0n) setRoles(resource, owner, rolesOf(resource, owner) | given);
      }
      if (subregistry !== zeroAddress) emit("SubregistryUpdated", tokenId, subregistry, sender);
      if (resolver !== zeroAddress) emit("ResolverUpdated", tokenId, resolver, sender);
      return true;
    },

    unregister(label: Hex, sender: Hex) {
      const entry = live(label);
      if (entry === undefined) return;
      const tokenId = tokenOf(entry);
      emit("LabelUnregistered", tokenId, sender);
      const owner = ownerOf(tokenId);
      if (owner !== zeroAddress) {
        transferred(owner, zeroAddress, [tokenId], [1n]);
        entry.access += 1n;
        entry.token += 1n;
      }
      entry.expiry = chain.time();
    },

    /** By a holder of the role on the whole registry, who can bring back what expired. */
    renew(label: Hex, expiry: bigint, sender: Hex) {
      const entry = find(label);
      if (entry === undefined || expiry < entry.expiry) return;
      entry.expiry = expiry;
      emit("ExpiryUpdated", tokenOf(entry), expiry, sender);
    },

    setResolver(label: Hex, resolver: Hex, sender: Hex) {
      const entry = live(label);
      if (entry === undefined) return;
      entry.resolver = resolver;
      emit("ResolverUpdated", tokenOf(entry), resolver, sender);
    },

    setSubregistry(label: Hex, subregistry: Hex, sender: Hex) {
      const entry = live(label);
      if (entry === undefined) return;
      entry.subregistry = subregistry;
      emit("SubregistryUpdated", tokenOf(entry), subregistry, sender);
    },

    setParent(registry: Hex, label: Hex, sender: Hex) {
      parent = { registry, label };
      emit("ParentUpdated", registry, label, sender);
    },

    /** The parent that a registry of a locked name is made with; no event tells it. */
    madeUnder(registry: Hex, label: Hex) {
      parent = { registry, label };
    },

    /** Grants, and takes away, roles on a token (or with no label on the whole registry). */
    changeRoles(label: Hex | undefined, account: Hex, { grant = 0n, revoke = 0n }) {
      if (label === undefined) {
        setRoles(0n, account, (rolesOf(0n, account) | grant) & ~revoke);
        return;
      }
      const entry = live(label);
      if (entry === undefined || ownerOf(tokenOf(entry)) === zeroAddress) return;
      const resource = resourceOf(entry);
      if (setRoles(resource, account, (rolesOf(resource, account) | grant) & ~revoke)) regenerate(entry);
    },

    /** A transfer of the tokens of labels by their owner; the tokens of `unmoved` are listed with the amount zero. */
    transfer(labels: readonly Hex[], to: Hex, unmoved: readonly Hex[] = []) {
      const found = labels.flatMap((label) => live(label) ?? []);
      const [first] = found;
      const from = first && ownerOf(tokenOf(first));
      if (from === undefined || from === zeroAddress) return;
      const moved = found.filter(
        (entry) =>
          ownerOf(tokenOf(entry)) === from &&
          ((rolesOf(0n, from) | rolesOf(resourceOf(entry), from)) & canTransfer) !== 0n,
      );
      const idle = unmoved.flatMap((label) => live(label) ?? []);
      if (moved.length === 0) return;
      transferred(from, to, [...moved, ...idle].map(tokenOf), [
        ...moved.map(() => 1n),
        ...idle.map(() => 0n),
      ]);
      for (const entry of moved) {
        const resource = resourceOf(entry);
        const held = rolesOf(resource, from);
        if (held === 0n) continue;
        setRoles(resource, from, 0n);
        setRoles(resource, to, rolesOf(resource, to) | held);
      }
    },

    parent: () => parent,
    hasEntry: (label: Hex) => find(label) !== undefined,
    findOwner: (label: Hex) => {
      const entry = live(label);
      return entry === undefined ? zeroAddress : ownerOf(tokenOf(entry));
    },
    getResolver: (label: Hex) => live(label)?.resolver ?? zeroAddress,
    getSubregistry: (label: Hex) => live(label)?.subregistry ?? zeroAddress,
    getExpiry: (label: Hex) => find(label)?.expiry ?? 0n,
    statusOf: (label: Hex) => {
      const entry = live(label);
      if (entry === undefined) return 0;
      return ownerOf(tokenOf(entry)) === zeroAddress ? 1 : 2;
    },

    /** What the views return of each entry. */
    truth(): TrueEntry[] {
      return [...entries.values()].map((entry) => {
        const isLive = !isExpired(entry);
        const owner = ownerOf(tokenOf(entry));
        const held = [...(roles.get(resourceOf(entry)) ?? [])].filter(([, bitmap]) => bitmap !== 0n);
        return {
          raw: entry.label,
          status: isLive ? (owner === zeroAddress ? 1 : 2) : 0,
          expiry: String(entry.expiry),
          latestOwner: owner,
          tokenId: word(tokenOf(entry)),
          resource: word(resourceOf(entry)),
          owner: isLive ? owner : zeroAddress,
          resolver: isLive ? entry.resolver : zeroAddress,
          subregistry: isLive ? entry.subregistry : zeroAddress,
          roles: Object.fromEntries(held.map(([account, bitmap]) => [account, `0x${bitmap.toString(16)}`])),
        };
      });
    },

    rootRoles: (): Record<Hex, Hex> =>
      Object.fromEntries(
        [...(roles.get(0n) ?? [])]
          .filter(([, bitmap]) => bitmap !== 0n)
          .map(([account, bitmap]) => [account, `0x${bitmap.toString(16)}`]),
      ),
  };
}

/** A model of one registry. */
export type RegistryModel = ReturnType<typeof createRegistry>;
