import { concat, type Hex, numberToHex } from "viem";
import type { Config } from "../../src/config/environment.ts";
import { deployedContracts, findManagedName } from "../../src/deployments/namespaces.ts";
import { zeroAddress } from "../../src/ens/ids.ts";
import { keccak256 } from "../../src/ens/keccak.ts";
import type { Question } from "./questions.ts";

// Where contracts keep the values of the index: from `storageLayout`, an output of the Solidity compiler, for the
// sources that the comments name, and compared with the contracts' functions on an EVM.

/**
 * Where a value is, and its text. The contract has this layout if `sign`, a word that none in use lacks, is as it
 * should be.
 */
type Place = {
  slot: bigint;
  text: (word: bigint) => string;
  sign?: { slot: bigint; isThere: (word: bigint) => boolean };
};

const encodeWord = (value: bigint) => numberToHex(value, { size: 32 });
const hashParts = (...parts: Hex[]) => BigInt(keccak256(Buffer.from(concat(parts).slice(2), "hex")));
const computeMappingSlot = (slot: bigint, key: bigint) => hashParts(encodeWord(key), encodeWord(slot));
const sliceBits = (word: bigint, from: number, count: number) => BigInt.asUintN(count, word >> BigInt(from));
const decodeNumberAt = (from: number, count: number) => (word: bigint) =>
  String(sliceBits(word, from, count));
const decodeAddressAt = (from: number) => (word: bigint) =>
  numberToHex(sliceBits(word, from, 160), { size: 20 });
const isSet = (word: bigint) => word !== 0n;

// Of mainnet, from 2017 to 2020.
const firstRegistry = "0x314159265dd8dbb310642f98f50c066173c1259b";

/**
 * ENSRegistry and ENSRegistryWithFallback (ens, ens-contracts, Linea), Registry (basenames): mapping `records` at 0; a
 * record is owner, then resolver and ttl in one word. ENS.lll (ens 0.2.2), the first registry, has resolver, owner and
 * ttl at the node, and 32 and 64 slots on.
 */
function locateRecord(registry: Hex, node: bigint, field: string): Place {
  const isFirst = registry === firstRegistry;
  const record = isFirst ? node : computeMappingSlot(0n, node);
  const second = record + (isFirst ? 0n : 1n);
  if (field === "resolver") return { slot: second, text: decodeAddressAt(0) };
  if (field === "ttl")
    return isFirst ? { slot: record + 64n, text: String } : { slot: second, text: decodeNumberAt(160, 64) };
  // The registry stores its own address for "no owner".
  const text = (word: bigint) => decodeAddressAt(0)(word === BigInt(registry) ? BigInt(zeroAddress) : word);
  return { slot: isFirst ? record + 32n : record, text };
}

/**
 * BaseRegistrarImplementation of ens-contracts with OpenZeppelin 4 (Sepolia, Holesky, Linea), and of ethregistrar with
 * 2.1.3 (mainnet).
 */
const registrars = [
  { owners: 2n, expiries: 7n, baseNode: 9n },
  { owners: 5n, expiries: 9n, baseNode: 3n },
];

const locateLease = (managed: bigint, id: bigint, field: string): Place[] =>
  registrars.map(({ owners, expiries, baseNode }) => ({
    slot: computeMappingSlot(field === "ownerOf" ? owners : expiries, id),
    text: field === "ownerOf" ? decodeAddressAt(0) : String,
    sign: { slot: baseNode, isThere: (word) => word === managed },
  }));

/**
 * BaseRegistrar (basenames): mapping `nameExpires` at 0; owners as Solady's ERC721 has them, by its seed
 * 0x7d8825530a5a2e7a.
 */
function locateBasename(id: bigint, field: string): Place {
  if (field !== "ownerOf") return { slot: computeMappingSlot(0n, id), text: String };
  const seeded = hashParts(encodeWord(id).slice(0, 58) as Hex, "0x7d882553");
  return { slot: BigInt.asUintN(256, seeded + 2n * id), text: decodeAddressAt(0) };
}

/**
 * NameWrapper (ens-contracts, Linea): mapping `_tokens` at 1; a token is owner, fuses and expiry. The constructor sets
 * the root's.
 */
const locateWrapped = (id: bigint): Place => ({
  slot: computeMappingSlot(1n, id),
  text: (word) => [decodeAddressAt(0)(word), sliceBits(word, 160, 32), sliceBits(word, 192, 64)].join(", "),
  sign: { slot: computeMappingSlot(1n, 0n), isThere: isSet },
});

/**
 * PermissionedRegistry (contracts-v2, f8cbc238): mappings `_owners` at 0 and `_entries` at 264; an entry is versions of
 * resource and token and the subregistry, then expiry and resolver. An expiry is never unset.
 */
function locateEntry(id: bigint, token: bigint, field: string): Place {
  const entry = computeMappingSlot(264n, id);
  const places: Record<string, Place> = {
    owner: { slot: computeMappingSlot(0n, token), text: decodeAddressAt(0) },
    tokenId: { slot: entry, text: (word) => encodeWord(id | sliceBits(word, 32, 32)) },
    subregistry: { slot: entry, text: decodeAddressAt(64) },
    expiry: { slot: entry + 1n, text: decodeNumberAt(0, 64) },
    resolver: { slot: entry + 1n, text: decodeAddressAt(64) },
  };
  return { ...(places[field] as Place), sign: { slot: entry + 1n, isThere: isSet } };
}

const provable = ["registry", "baseRegistrar", "nameWrapper", "v2Registry"] as const;

/**
 * The slots that prove a value, undefined for a contract without a known layout; `read` returns it from their words,
 * undefined if no layout fits.
 */
export function planReading({ chainId, to, field, args }: Question, { datasources }: Config) {
  const deployed = deployedContracts(datasources, provable).find(
    (one) => one.chainId === chainId && one.address === to,
  );
  if (deployed === undefined) return undefined;
  const { group, datasourceId, contract, name } = deployed;
  const [key = 0n, token = 0n] = args.map((arg) => BigInt(arg as Hex | bigint));
  const managed = () => BigInt(findManagedName(datasources, datasourceId).node);
  const signed = () => ({ slot: locateRecord(to, managed(), "owner").slot, isThere: isSet });
  const isBasenames = "plugin" in group && group.plugin === "basenames";
  const placesOf: Record<(typeof provable)[number], () => Place[]> = {
    registry: () => [{ ...locateRecord(to, key, field), sign: signed() }],
    baseRegistrar: () => (isBasenames ? [locateBasename(key, field)] : locateLease(managed(), key, field)),
    nameWrapper: () => [locateWrapped(key)],
    v2Registry: () => [locateEntry(key, token, field)],
  };
  const places = placesOf[contract.role]();
  const slots = places.flatMap(({ slot, sign }) => (sign ? [slot, sign.slot] : [slot]));
  const read = (words: ReadonlyMap<bigint, bigint>): string | undefined => {
    const at = (slot: bigint) => words.get(slot) ?? 0n;
    const place = places.find(({ sign }) => sign === undefined || sign.isThere(at(sign.slot)));
    return place?.text(at(place.slot));
  };
  return { contract: name, slots, read };
}
