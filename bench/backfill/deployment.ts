import { concat, type Hex, numberToHex, size, stringToHex } from "viem";
import type { createRandom } from "../../devnet/random.ts";
import type { GeneratedLog } from "./chain.ts";
import { eventOf } from "./event.ts";
import { accountOf, hashOf, rootNode, subnodeOf, type Transaction, year, zero } from "./made-up.ts";

/** A name of a made-up history, as the chain knows it at the moment. */
export type Name = {
  label: string;
  labelhash: Hex;
  node: Hex;
  owner: Hex;
  expires: bigint;
  isWrapped: boolean;
  /** Place of its controller among those of the deployment. */
  controller: number;
};

type Random = ReturnType<typeof createRandom>;
type Contracts = { registry: Hex; registrar: Hex; wrapper?: Hex; resolver: Hex };

export const emits = {
  newOwner: eventOf("NewOwner(bytes32 indexed node, bytes32 indexed label, address owner)"),
  newResolver: eventOf("NewResolver(bytes32 indexed node, address resolver)"),
  registryTransfer: eventOf("Transfer(bytes32 indexed node, address owner)"),
  registered: eventOf("NameRegistered(uint256 indexed id, address indexed owner, uint256 expires)"),
  renewed: eventOf("NameRenewed(uint256 indexed id, uint256 expires)"),
  tokenTransfer: eventOf("Transfer(address indexed from, address indexed to, uint256 indexed tokenId)"),
  tokensTransfer: eventOf(
    "TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  ),
  wrapped: eventOf(
    "NameWrapped(bytes32 indexed node, bytes name, address owner, uint32 fuses, uint64 expiry)",
  ),
  unwrapped: eventOf("NameUnwrapped(bytes32 indexed node, address owner)"),
  expiryExtended: eventOf("ExpiryExtended(bytes32 indexed node, uint64 expiry)"),
  addrChanged: eventOf("AddrChanged(bytes32 indexed node, address a)"),
  addressChanged: eventOf("AddressChanged(bytes32 indexed node, uint256 coinType, bytes newAddress)"),
  nameChanged: eventOf("NameChanged(bytes32 indexed node, string name)"),
  textChanged: eventOf(
    "TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
  ),
  contenthashChanged: eventOf("ContenthashChanged(bytes32 indexed node, bytes hash)"),
  nameForAddr: eventOf("NameForAddrChanged(address indexed addr, string name)"),
};

export const textKeys = ["avatar", "url", "com.twitter", "description"];

// The parent cannot control the name any more, as for every second-level name.
const fuses = 0x1_0000;
const grace = 7_776_000n;

/** What happens to names of a registry with a registrar and maybe a wrapper, and the names that were made so far. */
export function createDeployment(
  random: Random,
  { registry, registrar, wrapper, resolver }: Contracts,
  { managedName, managedNode, prefix }: { managedName: string; managedNode: Hex; prefix: string },
) {
  const names: Name[] = [];
  const labels: string[] = [];
  const tokenId = ({ labelhash }: Name) => BigInt(labelhash);
  const someAccount = () => accountOf(random.below(names.length + 50) >> 2);
  const wrapperAddress = wrapper ?? zero;

  /** Names of the registry above the registrar's: each `parent.label`. */
  function topLevel(path: readonly string[]): GeneratedLog[] {
    let parent = rootNode;
    return path.map((label, place) => {
      const owner = place === path.length - 1 ? registrar : zero;
      const log = emits.newOwner(registry, parent, hashOf(label), owner);
      parent = subnodeOf(parent, hashOf(label));
      labels.push(label);
      return log;
    });
  }

  function newName(controller: number, isWrapped: boolean): Name {
    const label = `${prefix}${names.length}`;
    const labelhash = hashOf(label);
    const name = {
      label,
      labelhash,
      node: subnodeOf(managedNode, labelhash),
      owner: someAccount(),
      expires: 1_900_000_000n + BigInt(random.below(1_000_000)),
      isWrapped,
      controller,
    };
    names.push(name);
    labels.push(label);
    return name;
  }

  const addressLogs = (node: Hex, owner: Hex) => [
    emits.addressChanged(resolver, node, 60n, owner),
    emits.addrChanged(resolver, node, owner),
  ];

  /** Mint, registry entry and registration, then resolver and records where the name gets some. */
  function registration(name: Name, hasRecords: boolean): GeneratedLog[] {
    const holder = name.isWrapped ? wrapperAddress : name.owner;
    return [
      emits.tokenTransfer(registrar, zero, holder, tokenId(name)),
      emits.newOwner(registry, managedNode, name.labelhash, holder),
      emits.registered(registrar, tokenId(name), holder, name.expires),
      ...(hasRecords ? [emits.newResolver(registry, name.node, resolver)] : []),
      ...(name.isWrapped ? wrapping(name) : []),
      ...(hasRecords ? addressLogs(name.node, name.owner) : []),
    ];
  }

  const wrapping = (name: Name) => [
    emits.tokensTransfer(wrapperAddress, name.owner, zero, name.owner, BigInt(name.node), 1n),
    emits.wrapped(
      wrapperAddress,
      name.node,
      dnsName(`${name.label}.${managedName}`),
      name.owner,
      fuses,
      name.expires + grace,
    ),
  ];

  /** The registrar's and the wrapper's part of a renewal by one year. */
  function renewal(name: Name): GeneratedLog[] {
    name.expires += year;
    return [
      emits.renewed(registrar, tokenId(name), name.expires),
      ...(name.isWrapped ? [emits.expiryExtended(wrapperAddress, name.node, name.expires + grace)] : []),
    ];
  }

  function transfer(name: Name, to: Hex): GeneratedLog[] {
    const from = name.owner;
    name.owner = to;
    if (name.isWrapped) return [emits.tokensTransfer(wrapperAddress, from, from, to, BigInt(name.node), 1n)];
    return [
      emits.tokenTransfer(registrar, from, to, tokenId(name)),
      emits.registryTransfer(registry, name.node, to),
    ];
  }

  function unwrap(name: Name): GeneratedLog[] {
    name.isWrapped = false;
    return [
      emits.tokensTransfer(wrapperAddress, name.owner, name.owner, zero, BigInt(name.node), 1n),
      emits.unwrapped(wrapperAddress, name.node, name.owner),
      emits.registryTransfer(registry, name.node, name.owner),
      emits.tokenTransfer(registrar, wrapperAddress, name.owner, tokenId(name)),
    ];
  }

  function text({ node }: Name): GeneratedLog[] {
    const key = random.pick(textKeys);
    return [emits.textChanged(resolver, node, key, key, `value ${random.below(1000)}`)];
  }

  function subname({ node, owner }: Name): GeneratedLog[] {
    const labelhash = hashOf(`sub${random.below(5)}`);
    const subnode = subnodeOf(node, labelhash);
    return [
      emits.newOwner(registry, node, labelhash, owner),
      emits.newResolver(registry, subnode, resolver),
      ...addressLogs(subnode, owner),
    ];
  }

  /** A change that is the same in every deployment; `kind` is a percentage below 100. */
  function change(kind: number, name: Name): Transaction {
    const from = name.owner;
    if (kind < 25) {
      if (name.isWrapped && kind < 3) return { from, logs: unwrap(name) };
      return { from, logs: transfer(name, someAccount()) };
    }
    if (kind < 50) return { from, logs: text(name) };
    if (kind < 72) return { from, logs: addressLogs(name.node, from) };
    if (kind < 77) {
      const hash = stringToHex(`content ${random.below(1000)}`, { size: 32 });
      return { from, logs: [emits.contenthashChanged(resolver, name.node, hash)] };
    }
    return { from, logs: subname(name) };
  }

  return {
    labels,
    count: () => names.length,
    topLevel,
    newName,
    someName: () => random.pick(names),
    someAccount,
    tokenId,
    registration,
    renewal,
    transfer,
    change,

    /** The primary name that an account takes in the reverse registrar of `parent`, a node of this registry. */
    primaryName(parent: Hex, { label, owner }: Name): GeneratedLog[] {
      const labelhash = hashOf(owner.slice(2));
      const node = subnodeOf(parent, labelhash);
      return [
        emits.newOwner(registry, parent, labelhash, owner),
        emits.newResolver(registry, node, resolver),
        emits.nameChanged(resolver, node, `${label}.${managedName}`),
      ];
    },
  };
}

/** A name in DNS wire format. */
export function dnsName(name: string): Hex {
  const labels = name.split(".").map((label) => {
    const bytes = stringToHex(label);
    return concat([numberToHex(size(bytes), { size: 1 }), bytes]);
  });
  return concat([...labels, "0x00"]);
}
