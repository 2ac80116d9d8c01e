import { type Hex, toRlp } from "viem";
import { keccak256 } from "../ens/keccak.ts";
import { computeBloom, type Header, type RpcLog } from "./log-answers.ts";

// A block proves itself: its hash covers its header, which contains the root of its receipts.

const splitWords = (text: string) => text.split(" ");
// Ethereum yellow paper, 4.4, then the fields of later forks, in their order.
const firstFields = splitWords(
  "parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom difficulty number gasLimit gasUsed timestamp extraData mixHash nonce",
);
const laterFields = splitWords(
  "baseFeePerGas withdrawalsRoot blobGasUsed excessBlobGas parentBeaconBlockRoot requestsHash",
);

/** The header fields that a block's hash covers, in order. */
export const headerFields: readonly string[] = [...firstFields, ...laterFields];

/** The header fields that are numbers. */
export const headerQuantities: ReadonlySet<string> = new Set(
  splitWords("difficulty number gasLimit gasUsed timestamp baseFeePerGas blobGasUsed excessBlobGas"),
);

/** Recomputes a block's hash from the header that a node returned; undefined if the header lacks a field. */
export const headerHash = (header: Record<string, unknown>): string | undefined => encodeHeader(header)?.hash;

/** The RLP form of a header; undefined unless it hashes to the hash that the header names. */
export function headerRlp(header: Record<string, unknown>): Buffer | undefined {
  const form = encodeHeader(header);
  return form?.hash === header["hash"] ? form?.rlp : undefined;
}

// Forks append fields: if the header names another hash, one or two unknown fields are tried at the end.
function encodeHeader(header: Record<string, unknown>): { rlp: Buffer; hash: string } | undefined {
  if (firstFields.some((field) => typeof header[field] !== "string")) return undefined;
  const items = headerFields.flatMap((field) => {
    const value = header[field] as Hex | undefined;
    if (typeof value !== "string") return [];
    return headerQuantities.has(field) ? encodeQuantity(value) : value;
  });
  const formWith = (ending: readonly Hex[]) => {
    const rlp = decodeHex(toRlp([...items, ...ending]));
    return { rlp, hash: keccak256(rlp) };
  };
  const own = formWith([]);
  if (own.hash === header["hash"]) return own;
  const unknown = listUnknownFields(header);
  const endings = unknown.flatMap((one) => unknown.map((next) => [...new Set([one, next])]));
  return endings.map(formWith).find(({ hash }) => hash === header["hash"]) ?? own;
}

// Fields that are hashed above or never hashed.
const knownFields = new Set([
  ...headerFields,
  ...["hash", "size", "totalDifficulty", "l1BlockNumber", "sendCount", "sendRoot"],
]);
const maxUnknown = 4;

function listUnknownFields(header: Record<string, unknown>): Hex[] {
  return Object.entries(header)
    .flatMap(([field, value]) =>
      typeof value === "string" && /^0x[0-9a-f]*$/.test(value) && !knownFields.has(field)
        ? [value.length >= 42 ? (value as Hex) : encodeQuantity(value)]
        : [],
    )
    .slice(0, maxUnknown);
}

/** The RLP form of a number: no leading zeros; zero is empty. */
function encodeQuantity(text: string): Hex {
  const digits = text.slice(2).replace(/^0+/, "");
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}

const decodeHex = (hex: string) => Buffer.from(hex.slice(2), "hex");

// --- Receipts root (yellow paper, 4.4.1 and appendix D; typed receipts: EIP-2718) ---

/**
 * The receipt fields that the root covers. `root` exists before Byzantium; OP Stack deposits have two more numbers
 * since Canyon.
 */
type Receipt = {
  type?: string;
  status?: string;
  root?: string;
  cumulativeGasUsed?: string;
  logs: readonly Pick<RpcLog, "address" | "topics" | "data">[];
  depositNonce?: string | undefined;
  depositReceiptVersion?: string | undefined;
};

/** The `receiptsRoot` of the block that has exactly these receipts, in order. */
export function receiptsRoot(receipts: readonly Receipt[]): Hex {
  const leaves = receipts.map((receipt, index) => ({
    path: toRlp(encodeQuantity(`0x${index.toString(16)}`)).slice(2),
    value: encodeReceipt(receipt),
  }));
  return keccak256(decodeHex(toRlp(buildTrieNode(leaves))));
}

// Arbitrum's pre-Nitro transactions; their receipts are encoded like Ethereum's legacy receipts.
const arbitrumLegacy = 0x78;

function encodeReceipt(receipt: Receipt): Hex {
  const { type, status, root, cumulativeGasUsed, logs, depositNonce, depositReceiptVersion } = receipt;
  const outcome = status ?? root ?? "0x";
  const statusOrRoot = outcome.length === 66 ? (outcome as Hex) : encodeQuantity(outcome);
  const items = logs.map(({ address, topics, data }) => [address, topics, data] as [Hex, Hex[], Hex]);
  const deposit = depositReceiptVersion === undefined ? [] : [depositNonce ?? "0x0", depositReceiptVersion];
  const gas = encodeQuantity(cumulativeGasUsed ?? "0x");
  const body = toRlp([statusOrRoot, gas, computeBloom(logs) as Hex, items, ...deposit.map(encodeQuantity)]);
  const kind = Number(type ?? "0x0");
  if (kind === 0 || kind === arbitrumLegacy) return body;
  return `0x${kind.toString(16).padStart(2, "0")}${body.slice(2)}`;
}

/** The receipts root of a block without transactions. */
export const emptyRoot = receiptsRoot([]);

/**
 * The logs of a block from its receipts; undefined unless the header's receipts root is the root of exactly these
 * receipts. The root covers neither the positions of logs nor transaction hashes, so these must agree with the header.
 */
export function provenLogs(answer: unknown, header: Header): RpcLog[] | undefined {
  if (!Array.isArray(answer)) return undefined;
  try {
    const receipts = answer as (Omit<Receipt, "logs"> & { transactionHash: string; logs: RpcLog[] })[];
    if (receiptsRoot(receipts) !== header.receiptsRoot) return undefined;
    const placed = receipts.flatMap((receipt, index) => receipt.logs.map((log) => ({ log, receipt, index })));
    const isInPlace =
      header.transactions.every((hash, index) => hash === receipts[index]?.transactionHash) &&
      placed.every(
        ({ log, receipt, index }, logIndex) =>
          log.blockHash === header.hash &&
          Number(log.blockNumber) === Number(header.number) &&
          Number(log.logIndex) === logIndex &&
          Number(log.transactionIndex) === index &&
          log.transactionHash === receipt.transactionHash,
      );
    return isInPlace ? placed.map(({ log }) => log) : undefined;
  } catch {
    // A malformed response proves nothing.
    return undefined;
  }
}

// EIP-609: from this block of Ethereum on, receipts have a status in place of a state root.
const byzantium = 4_370_000;

/**
 * Whether receipts have all fields that a root covers, so that another root contradicts them. Not every node returns
 * the state roots of receipts before Byzantium, or the versions of deposits.
 */
export const areComplete = (
  receipts: readonly Record<string, unknown>[],
  { chainId, block }: { chainId: number; block: number },
): boolean =>
  receipts.every(({ type, status, root, cumulativeGasUsed, logs, depositReceiptVersion: version }) => {
    const outcome = chainId === 1 && block < byzantium ? root : (status ?? root);
    const hasVersion = type !== "0x7e" || version !== undefined;
    return (
      typeof outcome === "string" &&
      typeof cumulativeGasUsed === "string" &&
      hasVersion &&
      Array.isArray(logs)
    );
  });

type Leaf = { path: string; value: Hex };
type TrieNode = Hex | readonly TrieNode[];

/** The root node of a Merkle Patricia trie over leaves with distinct paths. */
function buildTrieNode(leaves: readonly Leaf[]): TrieNode {
  const [first] = leaves;
  if (first === undefined) return "0x";
  if (leaves.length === 1) return [compact(first.path, { isLeaf: true }), first.value];
  let shared = 0;
  while (leaves.every(({ path }) => path[shared] !== undefined && path[shared] === first.path[shared]))
    shared += 1;
  const below = (prefix: string) =>
    encodeLink(
      buildTrieNode(
        leaves.flatMap(({ path, value }) =>
          path.startsWith(prefix) ? { path: path.slice(prefix.length), value } : [],
        ),
      ),
    );
  const prefix = first.path.slice(0, shared);
  if (shared > 0) return [compact(prefix, { isLeaf: false }), below(prefix)];
  return [...[..."0123456789abcdef"].map(below), leaves.find(({ path }) => path === "")?.value ?? "0x"];
}

// A node below 32 bytes is embedded; a larger one is referenced by its hash.
function encodeLink(node: TrieNode): TrieNode {
  const encoded = toRlp(node);
  return encoded.length < 2 + 64 ? node : keccak256(decodeHex(encoded));
}

function compact(path: string, { isLeaf }: { isLeaf: boolean }): Hex {
  const isOdd = path.length % 2 === 1;
  return `0x${(isLeaf ? 2 : 0) + (isOdd ? 1 : 0)}${isOdd ? "" : "0"}${path}`;
}
