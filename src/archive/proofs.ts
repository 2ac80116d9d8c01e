import { type Hex, toRlp } from "viem";
import { keccak256 } from "../ens/keccak.ts";
import { bloomOf, mayContain } from "../rpc/log-answers.ts";
import type { ArchivedBlock, ArchivedLog } from "./segment.ts";

/** How far a block is proven: what is recomputed from the archive alone, each level on top of the one before. */
export type Proof = "bloom" | "header" | "receipts";

/** What contradicts itself in a block, or how far the block is proven. */
export function proofOf(block: ArchivedBlock): { proof: Proof } | { problem: string } {
  const { header, logs, transactions, receipts } = block;
  const name = `block ${Number(header.number)}`;
  let last = -1;
  for (const [index, , address, topics] of logs) {
    if (index <= last) return { problem: `log ${index} of ${name} is repeated or out of order` };
    last = index;
    const isInBloom =
      mayContain(header.logsBloom, address) && topics.every((one) => mayContain(header.logsBloom, one));
    if (!isInBloom) return { problem: `log ${index} of ${name} is not in the block's bloom` };
  }
  const indexes = transactions.map(([index]) => index);
  if (indexes.some((index, i) => i > 0 && index <= (indexes[i - 1] ?? 0)))
    return { problem: `the transactions of ${name} are out of order` };
  const isHeaderProven = headerHash(header) === header.hash;
  if (receipts === undefined) return { proof: isHeaderProven ? "header" : "bloom" };
  if (receiptsRoot(block) !== header["receiptsRoot"])
    return {
      problem: `the receipts of ${name} do not have the root that its header names: a log is missing or changed`,
    };
  return { proof: isHeaderProven ? "receipts" : "bloom" };
}

// Ethereum yellow paper, 4.4.1, then what later forks added, in their order.
const firstFields = [
  "parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom".split(" "),
  "difficulty number gasLimit gasUsed timestamp".split(" "),
  "extraData mixHash nonce".split(" "),
] as const;
const laterFields = [
  ["baseFeePerGas", "quantity"],
  ["withdrawalsRoot", "bytes"],
  ["blobGasUsed", "quantity"],
  ["excessBlobGas", "quantity"],
  ["parentBeaconBlockRoot", "bytes"],
  ["requestsHash", "bytes"],
] as const;

// The hash of a block, from its header; undefined if the header lacks a field.
function headerHash(header: Record<string, unknown>): string | undefined {
  const [bytes, quantities, rest] = firstFields;
  const text = (field: string) => (typeof header[field] === "string" ? (header[field] as Hex) : undefined);
  const quantity = (field: string) => quantityOf(text(field));
  const later = laterFields.flatMap(([field, kind]) =>
    text(field) === undefined ? [] : [kind === "quantity" ? quantity(field) : text(field)],
  );
  const items = [...bytes.map(text), ...quantities.map(quantity), ...rest.map(text), ...later];
  return items.includes(undefined) ? undefined : keccak256(bytesOf(toRlp(items as Hex[])));
}

/** A number as RLP holds it: without leading zeros, zero as nothing. */
function quantityOf(text: Hex | undefined): Hex | undefined {
  if (text === undefined) return undefined;
  const digits = text.slice(2).replace(/^0+/, "");
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}

const bytesOf = (hex: string) => Buffer.from(hex.slice(2), "hex");

// --- Receipts root (yellow paper, 4.4.1 and appendix D; typed receipts: EIP-2718) ---

function receiptsRoot({ receipts = [], logs }: ArchivedBlock): string {
  let next = 0;
  const leaves = receipts.map(([type, statusOrRoot, cumulativeGasUsed, logCount], place) => {
    const own = logs.slice(next, next + logCount);
    next += logCount;
    return {
      path: nibblesOf(toRlp(quantityOf(`0x${place.toString(16)}`) ?? "0x")),
      value: receiptOf(type, statusOrRoot, cumulativeGasUsed, own),
    };
  });
  if (next !== logs.length) return "";
  const root = nodeOf(leaves);
  return keccak256(bytesOf(toRlp(root)));
}

function receiptOf(type: string, statusOrRoot: string, gas: string, logs: readonly ArchivedLog[]): Hex {
  const bloom = bloomOf(logs.map(([, , address, topics]) => ({ address, topics })));
  const status =
    statusOrRoot.length === 66 ? (statusOrRoot as Hex) : (quantityOf(statusOrRoot as Hex) ?? "0x");
  const items = logs.map(([, , address, topics, data]) => [address, topics, data] as [Hex, Hex[], Hex]);
  const body = toRlp([status, quantityOf(gas as Hex) ?? "0x", bloom as Hex, items]);
  const kind = Number(type);
  return kind === 0 ? body : `0x${kind.toString(16).padStart(2, "0")}${body.slice(2)}`;
}

type Leaf = { path: number[]; value: Hex };
type TrieNode = Hex | readonly TrieNode[];

const nibblesOf = (hex: string) => Array.from(hex.slice(2), (digit) => Number.parseInt(digit, 16));

/** The node of a Merkle Patricia trie over leaves of which no two have one path. */
function nodeOf(leaves: readonly Leaf[]): TrieNode {
  const [first] = leaves;
  if (first === undefined) return "0x";
  if (leaves.length === 1) return [compact(first.path, true), first.value];
  let shared = 0;
  while (leaves.every(({ path }) => path[shared] !== undefined && path[shared] === first.path[shared]))
    shared += 1;
  if (shared > 0) {
    const below = leaves.map(({ path, value }) => ({ path: path.slice(shared), value }));
    return [compact(first.path.slice(0, shared), false), linkTo(nodeOf(below))];
  }
  const branches = Array.from({ length: 16 }, (_, nibble) => {
    const below = leaves.filter(({ path }) => path[0] === nibble);
    return below.length === 0
      ? "0x"
      : linkTo(nodeOf(below.map(({ path, value }) => ({ path: path.slice(1), value }))));
  });
  return [...branches, leaves.find(({ path }) => path.length === 0)?.value ?? "0x"];
}

// A node of less than 32 bytes stands for itself, a larger one by its hash.
function linkTo(node: TrieNode): TrieNode {
  const encoded = toRlp(node);
  return encoded.length < 2 + 64 ? node : keccak256(bytesOf(encoded));
}

function compact(path: readonly number[], isLeaf: boolean): Hex {
  const flag = (isLeaf ? 2 : 0) + (path.length % 2);
  const nibbles = path.length % 2 === 0 ? [flag, 0, ...path] : [flag, ...path];
  return `0x${nibbles.map((nibble) => nibble.toString(16)).join("")}`;
}
