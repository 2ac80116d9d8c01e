import { type Hex, keccak256, numberToHex, toRlp } from "viem";

// Tries of state and storage (Ethereum yellow paper, 4.1 and appendix D), built from all of their values.

type TrieNode = Hex | readonly TrieNode[];
type Leaf = { path: string; value: Hex };

/** The trie of values by the hashes of their keys: its root and all of its nodes, which are a proof of any key. */
export function trieOf(values: Iterable<readonly [Hex, Hex]>): { root: Hex; nodes: Hex[] } {
  const nodes: Hex[] = [];
  const leaves = [...values].map(([key, value]) => ({ path: keccak256(key).slice(2), value }));
  const encoded = toRlp(nodeOf(leaves, nodes));
  return { root: keccak256(encoded), nodes: [...nodes, encoded] };
}

function nodeOf(leaves: readonly Leaf[], nodes: Hex[]): TrieNode {
  const [first] = leaves;
  if (first === undefined) return "0x";
  if (leaves.length === 1) return [compact(first.path, 2), first.value];
  let shared = 0;
  while (leaves.every(({ path }) => path[shared] === first.path[shared])) shared += 1;
  const below = (prefix: string) => {
    const within = leaves.filter(({ path }) => path.startsWith(prefix));
    const node = nodeOf(
      within.map(({ path, value }) => ({ path: path.slice(prefix.length), value })),
      nodes,
    );
    const encoded = toRlp(node);
    if (encoded.length < 2 + 64) return node;
    nodes.push(encoded);
    return keccak256(encoded);
  };
  const prefix = first.path.slice(0, shared);
  if (shared > 0) return [compact(prefix, 0), below(prefix)];
  return [...[..."0123456789abcdef"].map(below), "0x"];
}

const compact = (path: string, flag: number): Hex =>
  path.length % 2 === 1 ? `0x${flag + 1}${path}` : `0x${flag}0${path}`;

// --- A node that serves the state of one block ---

/** Words of storage by slot, by contract in lower case. */
export type State = ReadonlyMap<Hex, ReadonlyMap<bigint, bigint>>;

const rlpNumber = (value: bigint): Hex => (value === 0n ? "0x" : numberToHex(value));
const wordOf = (value: bigint) => numberToHex(value, { size: 32 });

/** A header after another; quantities as in JSON-RPC. */
export function headerOf(number: number, stateRoot: Hex, parentHash: Hex = wordOf(0n)) {
  const quantities = {
    difficulty: 0n,
    number: BigInt(number),
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: 9n,
  };
  const fields: [string, Hex | bigint][] = [
    ["parentHash", parentHash],
    ["sha3Uncles", keccak256("0xc0")],
    ["miner", numberToHex(1, { size: 20 })],
    ["stateRoot", stateRoot],
    ["transactionsRoot", keccak256("0x80")],
    ["receiptsRoot", keccak256("0x80")],
    ["logsBloom", numberToHex(0, { size: 256 })],
    ...Object.entries(quantities),
    ["extraData", "0x"],
    ["mixHash", wordOf(0n)],
    ["nonce", numberToHex(0, { size: 8 })],
  ];
  const hash = keccak256(
    toRlp(fields.map(([, value]) => (typeof value === "bigint" ? rlpNumber(value) : value))),
  );
  const shown = fields.map(([name, value]) => [name, typeof value === "bigint" ? numberToHex(value) : value]);
  return { hash, ...(Object.fromEntries(shown) as Record<"number" | "parentHash" | "stateRoot", Hex>) };
}

/** The root of a state, and `eth_getProof` for it. Accounts have no balance, and code that nobody has seen. */
export function stateOf(contracts: State) {
  const storages = new Map(
    [...contracts].map(([address, words]) => [
      address,
      trieOf([...words].map(([slot, word]) => [wordOf(slot), toRlp(rlpNumber(word))])),
    ]),
  );
  const accounts = [...storages].map(
    ([address, { root }]) => [address, toRlp([rlpNumber(1n), "0x", root, keccak256("0x01")])] as const,
  );
  const { root, nodes } = trieOf(accounts);
  const getProof = (address: Hex, slots: readonly Hex[]) => ({
    accountProof: nodes,
    storageProof: slots.map((key) => ({
      key,
      value: numberToHex(contracts.get(address)?.get(BigInt(key)) ?? 0n),
      proof: storages.get(address)?.nodes ?? [],
    })),
  });
  return { stateRoot: root, getProof };
}
