import { fromRlp, type Hex, numberToHex } from "viem";
import { keccak256 } from "../../src/ens/keccak.ts";
import { emptyRoot } from "../../src/rpc/block-proofs.ts";

// Proofs of storage by a block's state root (EIP-1186; tries: Ethereum yellow paper, 4.1 and appendix D): hashes lead
// to it from the root.

type TrieNode = Hex | readonly TrieNode[];

const hashHex = (hex: Hex) => keccak256(Buffer.from(hex.slice(2), "hex"));

/**
 * The value of a key in the trie with a root, undefined if the nodes prove that it has none. Throws if they prove
 * neither.
 */
export function proveValue(root: Hex, key: Hex, nodes: readonly Hex[]): Hex | undefined {
  const byHash = new Map(nodes.map((node) => [hashHex(node), node]));
  let path = hashHex(key).slice(2);
  let link: TrieNode = root === emptyRoot ? "0x" : root;
  while (link !== "0x") {
    // A node below 32 bytes stands in place of its hash.
    const node: TrieNode = typeof link === "string" ? fromRlp(byHash.get(link) as Hex, "hex") : link;
    let shared = path.charAt(0);
    let next = node[Number.parseInt(shared, 16)] as TrieNode;
    if (node.length === 2) {
      const [compact, below] = node as [Hex, TrieNode];
      const flags = Number(compact.charAt(2));
      shared = compact.slice(flags % 2 === 1 ? 3 : 4);
      if (flags >= 2) return path === shared ? (below as Hex) : undefined;
      next = path.startsWith(shared) ? below : "0x";
    }
    path = path.slice(shared.length);
    link = next;
  }
  return undefined;
}

type Proof = { accountProof: Hex[]; storageProof: { key: Hex; proof: Hex[] }[] };

/**
 * The words of a contract's storage as a response to `eth_getProof` proves them, 0 for absent ones. Throws if it does
 * not prove each.
 */
export function proveWords(
  { stateRoot, address, slots }: { stateRoot: Hex; address: Hex; slots: readonly bigint[] },
  answer: unknown,
): Map<bigint, bigint> {
  try {
    const { accountProof, storageProof } = answer as Proof;
    const account = proveValue(stateRoot, address, accountProof);
    // An account is nonce, balance, storage root and hash of the code.
    const storageRoot = account === undefined ? emptyRoot : (fromRlp(account, "hex")[2] as Hex);
    const proofs = new Map(storageProof.map(({ key, proof }) => [BigInt(key), proof]));
    const words = slots.map((slot): [bigint, bigint] => {
      const value = proveValue(storageRoot, numberToHex(slot, { size: 32 }), proofs.get(slot) ?? []);
      const word = value === undefined ? "0x" : (fromRlp(value, "hex") as Hex);
      return [slot, word === "0x" ? 0n : BigInt(word)];
    });
    return new Map(words);
  } catch {
    throw new Error("its proof does not match the header");
  }
}
