import { createRequire } from "node:module";
import { varint } from "multiformats";
import { base32 } from "multiformats/bases/base32";
import { base36 } from "multiformats/bases/base36";
import { base64url } from "multiformats/bases/base64";
import { CID } from "multiformats/cid";
import { bytesToHex, type Hex, hexToBytes } from "viem";
import { z } from "zod/v4";
import { keccak256 } from "./keccak.ts";
import { isEvmCoinType } from "./reverse-names.ts";

// What records stand for: native addresses, URIs and pages. Records are texts and bytes of anybody, so each rule has a
// form that the value must have, and nothing here throws.

const optional = (description: string) => z.string().optional().describe(description);
const reason = optional("Why the value is not decoded, in one word");
const url = optional("The page, the image or the contact; of a content hash at a public gateway");
const text = optional("The text of a data record; a text in the form that its key requires");

const members = {
  addresses: {
    address: optional("The native address (ENSIP-9, ENSIP-11), with checksum where it has one"),
    reason,
  },
  texts: {
    handle: optional("Of an account at a service, without `@`"),
    url,
    kind: optional("Of an image (ENSIP-12): `https`, `ipfs`, `data`, `nft`"),
    text,
    words: z.array(z.string()).optional().describe("Keywords"),
    colors: z.array(z.string()).optional().describe("Of a theme: background, text, accent, its text, border"),
    reason,
  },
  data: { text, reason },
  contenthash: {
    protocol: optional("Such as `ipfs` (ENSIP-7)"),
    uri: optional("With the protocol's scheme"),
    url,
    reason,
  },
};

/** The schema of a decoded record of any kind. */
export const decodedRecordSchema = z.strictObject({
  ...{ ...members.addresses, ...members.contenthash, ...members.texts },
});

/** What a record stands for, or the reason why nobody knows: `unsupported`, `malformed` and others. */
export type DecodedRecord = z.output<typeof decodedRecordSchema>;

const byKey = <T extends z.core.$ZodLooseShape>(shape: T) =>
  z.record(z.string(), z.strictObject(shape)).optional();

/** The schema of decoded records by kind and key; records that no rule covers are absent. */
export const decodedRecordsSchema = z.strictObject({
  addresses: byKey(members.addresses),
  texts: byKey(members.texts),
  data: byKey(members.data),
  contenthash: z.strictObject(members.contenthash).optional(),
});

type ValuesByKey = Readonly<Record<string, string | null>>;
type RecordValues = {
  addresses?: ValuesByKey | undefined;
  texts?: ValuesByKey | undefined;
  data?: ValuesByKey | undefined;
  contenthash?: string | null | undefined;
};

// Anybody may store an address for each of 2^31 chains.
const maxAddresses = 200;

/** The member `decoded` of an object with records of a name; nothing if no rule covers any. */
export function describeRecords(name: string, { addresses, texts, data, contenthash }: RecordValues) {
  const decodeAll = (prefix: string, values: ValuesByKey = {}, max = Number.POSITIVE_INFINITY) => {
    const entries = Object.entries(values).slice(0, max);
    const decoded = entries.flatMap(([key, value]) => {
      const found = value === null ? undefined : decodeRecord(name, `${prefix}${key}`, value);
      return found === undefined ? [] : [[key, found] as const];
    });
    return decoded.length === 0 ? undefined : Object.fromEntries(decoded);
  };
  const decoded = {
    addresses: decodeAll("addr:", addresses, maxAddresses),
    texts: decodeAll("text:", texts),
    data: decodeAll("data:", data),
    contenthash: contenthash ? decodeContentHash(contenthash) : undefined,
  };
  return Object.values(decoded).some((kind) => kind !== undefined) ? { decoded } : {};
}

/** A record of a name by its key (`addr:60`, `text:url`, `avatar`, `data:abc`, `contenthash`), if a rule covers it. */
export function decodeRecord(name: string, key: string, value: string): DecodedRecord | undefined {
  if (key.startsWith("addr:")) return decodeAddress(key.slice("addr:".length), value);
  if (key.startsWith("data:")) return decodeData(value);
  if (key === "contenthash") return decodeContentHash(value);
  return key === "name" ? undefined : decodeText(name, key.replace(/^text:/, ""), value);
}

const unsupported: DecodedRecord = { reason: "unsupported" };
const malformed: DecodedRecord = { reason: "malformed" };

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

const keyCodec = 0x72;
const identity = 0;

function formatCid(bytes: Uint8Array): string {
  const { code, multihash } = CID.decode(bytes);
  return CID.createV1(code, multihash).toString(code === keyCodec ? base36 : base32);
}

const dnsName = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/i;
const decodeLatin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

// A key, or in old records a name of DNS in place of one, which is shorter than a key.
function formatIpnsName(bytes: Uint8Array): string | undefined {
  const { code, multihash } = CID.decode(bytes);
  const text = multihash.code === identity ? decodeLatin1(multihash.digest) : "";
  if (dnsName.test(text)) return text;
  const isKey = multihash.code !== identity || multihash.size >= 36;
  return isKey ? CID.createV1(code, multihash).toString(base36) : undefined;
}

const matchForm = (form: RegExp) => (bytes: Uint8Array) =>
  form.test(decodeLatin1(bytes)) ? decodeLatin1(bytes) : undefined;
const matchLength = (length: number, encode: (bytes: Uint8Array) => string) => (bytes: Uint8Array) =>
  bytes.length === length ? encode(bytes) : undefined;
const hex = matchLength(32, (bytes) => Buffer.from(bytes).toString("hex"));
const encodeBase64 = (bytes: Uint8Array) => base64url.encode(bytes).slice(1);

const ipfsGateway = "https://ipfs.io";

type Protocol = {
  protocol: string;
  scheme: string;
  decode: (bytes: Uint8Array) => string | undefined;
  /** Where browsers find the content. */
  gateway?: string;
};

// By multicodec, with the names of `@ensdomains/content-hash`.
const protocols = new Map<number, Protocol>([
  [0xe3, { protocol: "ipfs", scheme: "ipfs", decode: formatCid, gateway: `${ipfsGateway}/ipfs/` }],
  [
    0xe4,
    {
      ...{ protocol: "swarm", scheme: "bzz", gateway: "https://gateway.ethswarm.org/bzz/" },
      decode: (bytes) => hex(CID.decode(bytes).multihash.digest),
    },
  ],
  [0xe5, { protocol: "ipns", scheme: "ipns", decode: formatIpnsName, gateway: `${ipfsGateway}/ipns/` }],
  [0x1bc, { protocol: "onion", scheme: "onion", decode: matchForm(/^[a-z2-7]{16}$/) }],
  [0x1bd, { protocol: "onion3", scheme: "onion3", decode: matchForm(/^[a-z2-7]{56}$/) }],
  [0xb19910, { protocol: "skynet", scheme: "sia", decode: matchLength(34, encodeBase64) }],
  [
    0xb29910,
    {
      ...{ protocol: "arweave", scheme: "ar", gateway: "https://arweave.net/" },
      decode: matchLength(32, encodeBase64),
    },
  ],
  [0xb69910, { protocol: "adnl", scheme: "adnl", decode: hex }],
]);

// Encoding takes time by the square of the length. Hashes are shorter.
const contentForm = /^0x(?:[0-9a-f]{2}){1,256}$/i;

/**
 * Protocol, URI and page at a public gateway of a content hash (ENSIP-7).
 * @example decodeContentHash("0xe30101701220d3…") // { protocol: "ipfs", uri: "ipfs://bafybei…", url: "https://ipfs.io/ipfs/bafybei…" }
 */
export function decodeContentHash(hash: string): DecodedRecord {
  if (!contentForm.test(hash)) return malformed;
  try {
    const bytes = Buffer.from(hash.slice(2), "hex");
    const [code, length] = varint.decode(bytes);
    const found = protocols.get(code);
    if (found === undefined) return unsupported;
    const { protocol, scheme, decode, gateway } = found;
    const content = decode(bytes.subarray(length));
    if (content === undefined) return malformed;
    return { protocol, uri: `${scheme}://${content}`, ...(gateway && { url: `${gateway}${content}` }) };
  } catch {
    // Malformed numbers and hashes.
    return malformed;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

// ENSIP-24 leaves the meaning of bytes to the key: what reads as a text is one.
function decodeData(value: string): DecodedRecord {
  if (!/^0x(?:[0-9a-f]{2}){1,4096}$/i.test(value)) return malformed;
  try {
    const text = utf8.decode(Buffer.from(value.slice(2), "hex"));
    return /[\p{Cc}\p{Cs}]/u.test(text.replaceAll(/[\t\n\r]/g, "")) ? { reason: "binary" } : { text };
  } catch {
    return { reason: "binary" };
  }
}

/** `page`: how the URL of an account begins; `places`: how URLs do that people store instead of a handle. */
type AccountService = { page?: string; handle: RegExp; places: readonly string[] };

const github: AccountService = {
  page: "https://github.com/",
  // An account, or a repository of it.
  handle: /^[a-z\d](?:[a-z\d-]{0,38})(?:\/(?!\.{1,2}$)[\w.-]{1,100})?$/i,
  places: ["github.com"],
};
const twitter: AccountService = {
  page: "https://x.com/",
  handle: /^\w{1,15}$/,
  places: ["x.com", "twitter.com"],
};
const peepeth: AccountService = {
  page: "https://peepeth.com/",
  handle: /^\w{1,32}$/,
  places: ["peepeth.com"],
};
const farcaster: AccountService = {
  page: "https://farcaster.xyz/",
  handle: /^[a-z\d][a-z\d-]{0,15}(?:\.eth)?$/i,
  places: ["farcaster.xyz", "warpcast.com"],
};
const twitch: AccountService = {
  page: "https://www.twitch.tv/",
  handle: /^\w{4,25}$/,
  places: ["twitch.tv"],
};

// By service key (ENSIP-5, its former keys, ENSIP-18, and what applications write), with the services' own rules.
const services = new Map<string, AccountService>([
  ...(["com.github", "vnd.github"] as const).map((key) => [key, github] as const),
  ...(["com.x", "com.twitter", "vnd.twitter"] as const).map((key) => [key, twitter] as const),
  ...(["com.peepeth", "vnd.peepeth"] as const).map((key) => [key, peepeth] as const),
  ...(["xyz.farcaster", "com.warpcast"] as const).map((key) => [key, farcaster] as const),
  ...(["com.twitch", "tv.twitch"] as const).map((key) => [key, twitch] as const),
  ["org.telegram", { page: "https://t.me/", handle: /^\w{5,32}$/, places: ["t.me", "telegram.me"] }],
  // Accounts have pages by number only.
  ["com.discord", { handle: /^(?:[\w.]{2,32}|[^\s\p{C}@#:/]{2,32}#\d{4})$/u, places: [] }],
  [
    "com.reddit",
    {
      ...{ page: "https://www.reddit.com/user/", handle: /^[\w-]{3,20}$/ },
      places: ["reddit.com/user", "reddit.com/u"],
    },
  ],
  [
    "com.linkedin",
    { page: "https://www.linkedin.com/in/", handle: /^[\w-]{3,100}$/, places: ["linkedin.com/in"] },
  ],
  ["io.keybase", { page: "https://keybase.io/", handle: /^\w{2,16}$/, places: ["keybase.io"] }],
  [
    "com.instagram",
    { page: "https://www.instagram.com/", handle: /^[\w.]{1,30}$/, places: ["instagram.com"] },
  ],
  ["com.youtube", { page: "https://www.youtube.com/@", handle: /^[\w.-]{3,30}$/, places: ["youtube.com"] }],
  ["com.tiktok", { page: "https://www.tiktok.com/@", handle: /^[\w.]{2,24}$/, places: ["tiktok.com"] }],
  ["social.bsky", { page: "https://bsky.app/profile/", handle: dnsName, places: ["bsky.app/profile"] }],
]);

const maxHandle = 300;

// ENSIP-18: a handle without `@` or `/u/`, which readers drop. Of a URL the rest of the path.
function decodeHandle({ page, handle: form, places }: AccountService, text: string): DecodedRecord {
  if (text.length > maxHandle) return malformed;
  const isUrl = /^https?:\/\//i.test(text);
  const path = text
    .replace(/^https?:\/\//i, "")
    .replace(/^(?:www|mobile|m)\./i, "")
    .replace(/\/*(?:[?#].*)?$/s, "");
  const place = places.find((one) => path.toLowerCase().startsWith(`${one}/`));
  if (place === undefined && isUrl) return { reason: "host" };
  const rest = place === undefined ? text : path.slice(place.length + 1);
  const handle = rest.replace(/^(?:@|\/?u\/)/, "");
  if (!form.test(handle) || handle === "." || handle === "..") return malformed;
  return { handle, ...(page && { url: `${page}${handle}` }) };
}

function decodeUrl(text: string): DecodedRecord {
  const isUrl = /^https?:\/\/[^\s\p{C}]+$/iu.test(text) && URL.canParse(text);
  return isUrl ? { url: new URL(text).href } : malformed;
}

const cidPath = /^ipfs:\/\/(?:ipfs\/)?([a-z\d]{46,100}(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))[\w.~%()-]+)*)\/?$/i;

// ENSIP-12. Its pictures of tokens need the owner, so that they have no URL here.
function decodeImage(text: string): DecodedRecord {
  if (/^data:image\//i.test(text)) return { kind: "data" };
  if (/^eip155:\d{1,19}\/erc(?:721|1155):0x[\da-f]{40}\/\d{1,78}$/i.test(text)) return { kind: "nft" };
  const path = cidPath.exec(text)?.[1];
  if (path !== undefined) return { kind: "ipfs", url: `${ipfsGateway}/ipfs/${path}` };
  if (!/^https:/i.test(text)) return unsupported;
  const { url } = decodeUrl(text);
  return url === undefined ? malformed : { kind: "https", url };
}

// The relative luminance of a color, and the contrast of two (WCAG 2).
function measureLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
const measureContrast = (...colors: [string, string]) => {
  const [dark = 0, light = 0] = colors.map(measureLuminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

// ENSIP-18: up to five colors, some left out. A text that nobody can read on its background is not to be used; the
// example of the standard has an accent of less contrast.
function decodeTheme(text: string): DecodedRecord {
  if (!/^(?:[\da-f]{3}|[\da-f]{6}|)(?:,(?:[\da-f]{3}|[\da-f]{6}|)){0,4}$/i.test(text)) return malformed;
  const colors = text.split(",").map((color) => {
    const digits = color.length === 3 ? color.replaceAll(/./g, "$&$&") : color;
    return digits && `#${digits.toLowerCase()}`;
  });
  const [background, letters] = colors;
  if (background && letters && measureContrast(background, letters) < 4.5) return { reason: "contrast" };
  return { colors };
}

const maxWords = 50;
const isOf = (form: RegExp) => (text: string) => (form.test(text) ? { text } : malformed);

// By key of ENSIP-5 and ENSIP-18. Other keys of theirs are free texts.
const profile = new Map<string, (text: string, name: string) => DecodedRecord>([
  ["url", decodeUrl],
  ["avatar", decodeImage],
  ["header", decodeImage],
  [
    "email",
    (text) => {
      const [user = "", host = "", ...more] = text.split("@");
      const isMail = /^[\w.+-]{1,64}$/.test(user) && dnsName.test(host) && more.length === 0;
      return isMail ? { url: `mailto:${text}` } : malformed;
    },
  ],
  // E.164, as people group its digits.
  [
    "phone",
    (text) => {
      const digits = text.replaceAll(/[ ().-]/g, "");
      return /^\+[1-9]\d{1,14}$/.test(digits) ? { url: `tel:${digits}` } : malformed;
    },
  ],
  ["theme", decodeTheme],
  [
    "keywords",
    (text) => ({
      words: [...new Set(text.split(",").flatMap((word) => word.trim() || []))].slice(0, maxWords),
    }),
  ],
  // The form of names in the tz database, whose list changes.
  ["timezone", isOf(/^[A-Za-z][\w+-]{1,31}(?:\/[A-Za-z][\w+-]{1,31}){0,2}$/)],
  ["language", isOf(/^[a-z]{2}$/)],
  ["primary-contact", (text) => (text === "email" || services.has(text) ? { text } : unsupported)],
  // Clients ignore one that is another name when its case is folded.
  ["display", (text, name) => (text.toLowerCase() === name ? { text } : { reason: "mismatch" })],
]);

const maxText = 2_000;

/** A text record of a name, if a rule of ENSIP-5, ENSIP-12, ENSIP-18 or of a service covers its key. */
function decodeText(name: string, key: string, value: string): DecodedRecord | undefined {
  const service = services.get(key);
  const ofProfile = profile.get(key);
  if (service === undefined && ofProfile === undefined) return undefined;
  // A picture may be in the record itself.
  const text = value.slice(0, maxText + 1).trim();
  if (text.length > maxText && !/^data:/i.test(text)) return malformed;
  return service ? decodeHandle(service, text) : ofProfile?.(text, name);
}
