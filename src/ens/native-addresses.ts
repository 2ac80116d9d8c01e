import { createRequire } from "node:module";
import { bytesToHex, type Hex, hexToBytes } from "viem";
import { keccak256 } from "./keccak.ts";
import { type DecodedRecord, malformed, unsupported } from "./record-schemas.ts";
import { isEvmCoinType } from "./reverse-names.ts";

// Address records of other chains than Ethereum, in the form that their wallets write (ENSIP-9, ENSIP-11). The library
// checks little: each coin's own rules stand before it.

type Encoder = typeof import("@ensdomains/address-encoder");
type Coder = ReturnType<Encoder["getCoderByCoinType"]>;

const load = createRequire(import.meta.url);

// 240 modules take a tenth of a second. The first record that needs them loads them.
const loadEncoder = (): Encoder => load("@ensdomains/address-encoder");

/** What a coin without EVM is called, by its coin type (SLIP-44); undefined for coins that the library lacks. */
export function findCoinTitle(coinType: string): string | undefined {
  const names: Readonly<Record<string, readonly [string, string]>> = loadEncoder().nonEvmCoinTypeToNameMap;
  return Object.hasOwn(names, coinType) ? names[coinType]?.[1] : undefined;
}

const findCoder = (coinType: string): Coder | undefined =>
  findCoinTitle(coinType) === undefined
    ? undefined
    : loadEncoder().getCoderByCoinType(Number(coinType) as never);

const ofBytes = (...lengths: number[]) => lengths.map((length) => `.{${2 * length}}`).join("|");
// Scripts of Bitcoin: P2PKH, P2SH, and programs of BIP-141, which have 20 or 32 bytes in version 0.
const script = "76a914.{40}88ac|a914.{40}87";
const witness = "00(?:14.{40}|20.{64})|(?:5[1-9a-f]|60)(?:0[2-9a-f]|1.|2[0-8]).*";
// Cardano's addresses of Byron, and Shelley's of the main network (CIP-19). Those of stakes begin otherwise.
const cardano = "83581c.{56}a[0-2].*0[0-2]|[0-3]1.{112}|[45]1.{62,116}|[67]1.{56}";

// The forms of bytes that the library encodes in any length or with any prefix: the coins' own rules.
const forms = new Map(
  [
    [`${script}|${witness}`, "btc ltc dgb mona sys btg lcc ccxx bcd"],
    [witness, "btm"],
    // Sapling addresses have 43 bytes.
    [`${script}|${ofBytes(43)}`, "zec flux"],
    [cardano, "ada"],
    [ofBytes(8), "lsk flow"],
    [ofBytes(20), "rbtc bnb avax bsv one iotx zil rune nim ont hns vet"],
    // Accounts, and those of modules and contracts (ADR-028 of the Cosmos SDK).
    [ofBytes(20, 32), "atom kava iris luna"],
    [ofBytes(21), "nmc mrx"],
    [ofBytes(22), "nas zen"],
    ["01.{42}", "ckb"],
    [ofBytes(23), "nuls"],
    [ofBytes(25), "ela vlx vlxLegacy xem"],
    [ofBytes(26), "dcr waves vsys"],
    [ofBytes(32), "dot ksm xlm nano ar iost srm egld xch grin nostr iota sc"],
    [ofBytes(33), "hnt"],
    ["3078.{64}", "ae"],
    ["41.{40}", "trx"],
    ["17.{40}", "ark neo"],
    ["(?:3a|32).{40}", "qtum"],
    // A classic address, and an X-address of the main network (XLS-5).
    ["00.{40}|0544.{58}", "xrp"],
    // Standard and subaddresses, and integrated ones with a payment id, with checksums.
    ["(?:12|2a).{136}|13.{152}", "xmr"],
    [ofBytes(64), "etn"],
    [ofBytes(70), "bdx"],
    [ofBytes(71), "xhv"],
    [ofBytes(96), "sero"],
  ].flatMap(([form, coins = ""]) =>
    coins.split(" ").map((coin) => [coin, new RegExp(`^(?:${form})$`)] as const),
  ),
);

const nativeText = /^[\w.: -]{1,200}$/;

// The library's decoder of Aion fails every other time: all its calls share the position of one expression.
function readAddress({ decode }: Coder, text: string): Uint8Array {
  try {
    return decode(text);
  } catch {
    return decode(text);
  }
}

// Addresses of CryptoNote end with four bytes of their hash, which the library takes as they are.
const cryptoNote = ["xmr", "bdx", "xhv"];

// The address that the coin reads as the same bytes; undefined for bytes that are no address of it.
function encodeAddress(coder: Coder, hex: Hex): string | undefined {
  if (forms.get(coder.name)?.test(hex.slice(2)) === false) return undefined;
  try {
    const bytes = hexToBytes(hex);
    const sum = cryptoNote.includes(coder.name) ? keccak256(bytes.subarray(0, -4)).slice(2, 10) : "";
    if (!hex.endsWith(sum)) return undefined;
    const text = coder.encode(bytes);
    // The library writes what is not of Byron as an address of Shelley.
    const isMixed = coder.name === "ada" && hex.startsWith("0x83") === text.startsWith("addr1");
    const isSame = bytesToHex(readAddress(coder, text)) === hex;
    return nativeText.test(text) && isSame && !isMixed ? text : undefined;
  } catch {
    return undefined;
  }
}

// EIP-55, in a tenth of the time that libraries take: responses have thousands.
function addChecksum(address: Hex): string {
  const hash = keccak256(address.slice(2));
  return address.replaceAll(/[a-f]/g, (digit, at: number) =>
    hash.charAt(at) < "8" ? digit : digit.toUpperCase(),
  );
}

/**
 * The native address of a coin type in the bytes of an address record (ENSIP-9, ENSIP-11).
 * @example decodeAddress("0", "0x0014751e76e8199196d454941c45d1b3a323f1433bd6") // { address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" }
 */
export function decodeAddress(coinType: string, value: string): DecodedRecord {
  const hex = value.toLowerCase() as Hex;
  if (/^0x0*$/.test(hex)) return { reason: "empty" };
  if (!/^\d{1,78}$/.test(coinType)) return unsupported;
  const coin = BigInt(coinType);
  if (isEvmCoinType(coin)) return /^0x[0-9a-f]{40}$/.test(hex) ? { address: addChecksum(hex) } : malformed;
  if (!/^0x(?:[0-9a-f]{2}){1,128}$/.test(hex)) return malformed;
  const coder = findCoder(String(coin));
  if (coder === undefined) return unsupported;
  const address = encodeAddress(coder, hex);
  return address === undefined ? malformed : { address };
}

const bech32Text = /^[a-z]{1,10}1[02-9ac-hj-np-z]+$/;

/**
 * The bytes of a native address of a coin type in hex, as records have them, or the reason why it is none.
 * @example parseNativeAddress("0", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4") // "0x0014751e76e8199196d454941c45d1b3a323f1433bd6"
 */
export function parseNativeAddress(coinType: string, text: string): Hex | { reason: string } {
  const coder = findCoder(coinType);
  if (coder === undefined) return { reason: "unsupported" };
  if (!nativeText.test(text)) return { reason: "malformed" };
  try {
    const hex = bytesToHex(readAddress(coder, text));
    const address = encodeAddress(coder, hex);
    // The library takes checksums of bech32 and of bech32m for each other (BIP-350). Neither is of mixed case.
    const lower = text.toLowerCase();
    const isBech32 = [lower, text.toUpperCase()].includes(text) && bech32Text.test(lower);
    const isOther = isBech32 && lower !== address;
    return address === undefined || isOther ? { reason: "malformed" } : hex;
  } catch {
    return { reason: "malformed" };
  }
}
