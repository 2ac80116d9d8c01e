import { nonEvmCoinNameToTypeMap } from "@ensdomains/address-encoder";
import { decode, encode } from "@ensdomains/content-hash";
import fc from "fast-check";
import { expect, test } from "vitest";
import vectors from "../../test/fixtures/native-addresses.json" with { type: "json" };
import { decodeContentHash } from "./content-hashes.ts";
import { decodeRecord, describeRecords } from "./decoded-records.ts";
import { decodeAddress, findCoinTitle, parseNativeAddress } from "./native-addresses.ts";
import { decodedRecordsSchema } from "./record-schemas.ts";

const malformed = { reason: "malformed" };
const onion3 = "p53lf57qovyuvwsc6xnrppyply3vtqm7l6pcobkmyqsiofyeznfu5uqd";
const key = "k51qzi5uqu5dihst24f3rp2ej4co9berxohfkxaenbq1wjty7nrd5e9xp4afx1";

// Examples of ENSIP-7, and vectors of `@ensdomains/content-hash`.
test.each([
  [
    "e3010170122029f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f",
    "ipfs://bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4",
  ],
  [
    "e40101fa011b20d1de9994b4d039f6548d191eb26786769f580809256b4685ef316805265ea162",
    "bzz://d1de9994b4d039f6548d191eb26786769f580809256b4685ef316805265ea162",
  ],
  ["e50101720024080112205cbd1cc86ac20d6640795809c2a185bb2504538a2de8076da5a6971b8acb4715", `ipns://${key}`],
  [
    "e5010172122029f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f",
    "ipns://k2k4r8kgnix5x0snul9112xdpqgiwc5xmvi8ja0szfhntep2d7qv8zz3",
  ],
  ["e5010170000f6170702e756e69737761702e6f7267", "ipns://app.uniswap.org"],
  ["bc037a716b746c776934666563766f367269", "onion://zqktlwi4fecvo6ri"],
  [`bd03${Buffer.from(onion3).toString("hex")}`, `onion3://${onion3}`],
  [
    "90b2c60508004007fd43b74149b31aacbbf2784e874d09b086bed15fd54cacff7120cce95372",
    "sia://CABAB_1Dt0FJsxqsu_J4TodNCbCGvtFf1Uys_3EgzOlTcg",
  ],
  [
    "90b2ca05cacdf63edf2e0bb4eb5711dd38b0723aca5f3c4ab62ceeb7c1110740833d4894",
    "ar://ys32Pt8uC7TrVxHdOLByOspfPEq2LO63wREHQIM9SJQ",
  ],
  [
    "90b2da0561bd855da6c07e8d1c807e880c2a9a6272011cfc2b34b2e9de32cd37ff6f4ae5",
    "adnl://61bd855da6c07e8d1c807e880c2a9a6272011cfc2b34b2e9de32cd37ff6f4ae5",
  ],
])("0x%s is %s, as the library has it", (hash, uri) => {
  expect(decodeContentHash(`0x${hash}`)).toMatchObject({ uri });
  expect(decodeContentHash(`0x${hash.toUpperCase()}`)).toMatchObject({ uri });
  expect(decode(`0x${hash}`)).toBe(uri.replace(/^.*:\/\//, ""));
  // What is cut or goes on is nothing.
  expect(decodeContentHash(`0x${hash.slice(0, -2)}`)).toEqual(malformed);
  expect(decodeContentHash(`0x${hash}00`)).toEqual(malformed);
});

test("CIDs of version 0 and keys in records of IPFS are read as the library reads them", () => {
  const digest = "29f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f";
  for (const hash of [`0xe3011220${digest}`, `0xe30101721220${digest}`, `0x${encode("ipfs", key)}`])
    expect(decodeContentHash(hash)).toMatchObject({ uri: `ipfs://${decode(hash)}` });
});

test.each([
  ["", "malformed"],
  ["0x", "malformed"],
  ["0x1234", "unsupported"],
  ["0xe3", "malformed"],
  ["0xe301", "malformed"],
  ["e30101701220", "malformed"],
  ["0xzz", "malformed"],
  ["0xe3010", "malformed"],
  // Texts of anybody: `<script>`, and what is no name of DNS.
  ["0xbc033c7363726970743e", "malformed"],
  ["0xe501017000083c7363726970743e", "malformed"],
  ["0xe501017000056c6f63616c", "malformed"],
  [`0x${"00".repeat(40)}`, "unsupported"],
  [`0xe301017000${"ff".repeat(1_000_000)}`, "malformed"],
])("%.40s is no content hash: %s", (hash, reason) => {
  expect(decodeContentHash(hash)).toEqual({ reason });
});

// The paths of ENSNode's table.
test.each([
  [
    "e3010170122029f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f",
    "ipfs",
    "https://ipfs.io/ipfs/bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4",
  ],
  ["e5010170000f6170702e756e69737761702e6f7267", "ipns", "https://ipfs.io/ipns/app.uniswap.org"],
  [
    "e40101fa011b20d1de9994b4d039f6548d191eb26786769f580809256b4685ef316805265ea162",
    "swarm",
    "https://gateway.ethswarm.org/bzz/d1de9994b4d039f6548d191eb26786769f580809256b4685ef316805265ea162",
  ],
  [
    "90b2ca05cacdf63edf2e0bb4eb5711dd38b0723aca5f3c4ab62ceeb7c1110740833d4894",
    "arweave",
    "https://arweave.net/ys32Pt8uC7TrVxHdOLByOspfPEq2LO63wREHQIM9SJQ",
  ],
  ["bc037a716b746c776934666563766f367269", "onion", undefined],
])("0x%s is of %s at %s", (hash, protocol, url) => {
  const { uri, ...rest } = decodeContentHash(`0x${hash}`);
  expect(rest).toEqual(url === undefined ? { protocol } : { protocol, url });
});

// One vector of each coin, from the tests of `@ensdomains/address-encoder`.
test.each(vectors)("coin type %s: 0x%s is %s", (coinType = "", hex = "", address = "") => {
  for (const _ of [1, 2]) expect(decodeAddress(coinType, `0x${hex}`)).toEqual({ address });
  expect(parseNativeAddress(coinType, address)).toBe(`0x${hex}`);
  for (const other of [hex.slice(0, -2), `${hex}00`, `${hex}${"ab".repeat(100)}`]) {
    // Names of NEAR and numbers of accounts of Filecoin may be shorter.
    if (!["397", "461"].includes(coinType)) expect(decodeAddress(coinType, `0x${other}`)).toEqual(malformed);
  }
});

test("every coin of the library has a vector, but for those that no bytes of its tests are of", () => {
  const tested = new Set(vectors.map(([coinType]) => coinType));
  const untested = Object.entries(nonEvmCoinNameToTypeMap).filter(([, type]) => !tested.has(String(type)));
  expect(untested.map(([name]) => name)).toEqual(["eth", "rbtc"]);
});

// Vectors of ENSIP-9, of ENSIP-11 and of BIP-350.
test.each([
  ["0", "a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1887", "3Ai1JZ8pdJb2ksieUV8FsxSNVJCpoPi8W6"],
  ["0", "0014751e76e8199196d454941c45d1b3a323f1433bd6", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"],
  [
    "0",
    "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
  ],
  ["2", "0014687c150c26af5493befeed7036043812115ca36c", "ltc1qdp7p2rpx4a2f80h7a4crvppczgg4egmv5c78w8"],
  ["60", "314159265dd8dbb310642f98f50c066173c1259b", "0x314159265dD8dbb310642f98f50C066173C1259b"],
  ["2147492101", "314159265dd8dbb310642f98f50c066173c1259b", "0x314159265dD8dbb310642f98f50C066173C1259b"],
  ["137", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5aaEB6053f3e94c9b9a09f33669435E7ef1bEAeD"],
  ["144", "004b4e9c06f24296074f7bc48f92a97916c6dc5ea9", "rf1BiGeXwwQoi8Z2ueFYTEXSwuJYfV2Jpn"],
  [
    "144",
    "05444b4e9c06f24296074f7bc48f92a97916c6dc5ea9000000000000000000",
    "X7qvLs7gSnNoKvZzNWUT2e8st17QPY64PPe7zriLNuJszeg",
  ],
  [
    "501",
    "8a11e71b96cabbe3216e3153b09694f39fc85022cbc076f79846a3ab4d8c1991",
    "AHy6YZA8BsHgQfVkk7MbwpAN94iyN7Nf1zN4nPqUN32Q",
  ],
  ["714", "40c2979694bbc961023d1d27be6fc4d21a9febe6", "bnb1grpf0955h0ykzq3ar5nmum7y6gdfl6lxfn46h2"],
])("an address of coin type %s: 0x%s is %s", (coinType, hex, address) => {
  expect(decodeAddress(coinType, `0x${hex}`)).toEqual({ address });
});

test.each([
  ["60", "0x", "empty"],
  ["0", `0x${"00".repeat(20)}`, "empty"],
  ["60", `0x${"11".repeat(32)}`, "malformed"],
  ["2147492101", "0x11", "malformed"],
  ["137", `0x${"11".repeat(32)}`, "malformed"],
  // Lengths and prefixes that the library does not check.
  ["144", `0x${"11".repeat(21)}`, "malformed"],
  ["195", `0x42${"11".repeat(20)}`, "malformed"],
  ["118", `0x${"11".repeat(21)}`, "malformed"],
  ["354", `0x${"11".repeat(31)}`, "malformed"],
  // Monero's addresses end with a checksum.
  ["128", `0x12${"11".repeat(68)}`, "malformed"],
  // BIP-141: programs of version 0 have 20 or 32 bytes.
  ["0", `0x0010${"11".repeat(16)}`, "malformed"],
  // CIP-19: an address of a test network, and a stake's.
  ["1815", `0x60${"11".repeat(28)}`, "malformed"],
  ["1815", `0xe1${"11".repeat(28)}`, "malformed"],
  // Not of Byron, though it begins so.
  ["1815", `0x83581c${"11".repeat(30)}`, "malformed"],
  ["0", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "malformed"],
  ["99998", "0x11", "unsupported"],
  ["4294967296", `0x${"11".repeat(20)}`, "unsupported"],
  ["9".repeat(100), `0x${"11".repeat(20)}`, "unsupported"],
  ["__proto__", "0x11", "unsupported"],
])("of coin type %.20s, %.60s is no address: %s", (coinType, value, reason) => {
  expect(decodeAddress(coinType, value)).toEqual({ reason });
});

test.each([
  ["0", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", "0x0014751e76e8199196d454941c45d1b3a323f1433bd6"],
  // The former form of an address of Bitcoin Cash.
  ["145", "1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu", "0x76a91476a04053bda0a88bda5177b86a15c3b29f55987388ac"],
  // In lower case it reads as bech32.
  ["195", "TJCnKsPa1k4swRLmw5RRTYLaFYV3FYgjhW", "0x415a523b44986e854c8fc460ab602df9f31fe4293f"],
  // BIP-350: a checksum of bech32m in version 0, and of bech32 in version 1.
  ["0", "bc1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47", malformed],
  ["0", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", malformed],
  ["0", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", malformed],
  ["0", "ltc1qdp7p2rpx4a2f80h7a4crvppczgg4egmv5c78w8", malformed],
  ["0", "", malformed],
  ["0", "\0".repeat(1_000), malformed],
  ["99998", "0x314159265dD8dbb310642f98f50C066173C1259b", { reason: "unsupported" }],
])("of coin type %s, %.60s is %s", (coinType, text, expected) => {
  expect(parseNativeAddress(coinType, text)).toEqual(expected);
});

test("what is shown as an address leads back to the bytes", () => {
  const mutated = fc.tuple(fc.constantFrom(...vectors), fc.nat(), fc.nat({ max: 255 }));
  fc.assert(
    fc.property(mutated, ([[coinType = "", hex = ""], at, byte]) => {
      const bytes = Buffer.from(hex, "hex");
      bytes[at % bytes.length] = byte;
      const value = `0x${bytes.toString("hex")}`;
      const { address } = decodeAddress(coinType, value);
      if (address !== undefined) expect(parseNativeAddress(coinType, address)).toBe(value);
    }),
    { numRuns: 2_000 },
  );
});

test("coins have titles, by coin types of SLIP-44", () => {
  expect(["0", "1815", "61", "60000", "2147492101", "toString"].map(findCoinTitle)).toEqual([
    ...["Bitcoin", "Cardano", "[LEGACY] Ethereum Classic"],
    ...[undefined, undefined, undefined],
  ]);
});

const host = { reason: "host" };
const accounts = (handle: string, url: string) => ({ handle, url });
test.each([
  // ENSIP-18: without `@` and `/u/`, which readers drop.
  ["com.twitter", "ensdomains", accounts("ensdomains", "https://x.com/ensdomains")],
  ["com.twitter", " @ensdomains ", accounts("ensdomains", "https://x.com/ensdomains")],
  ["com.x", "https://twitter.com/ensdomains/?s=21#a", accounts("ensdomains", "https://x.com/ensdomains")],
  ["vnd.twitter", "HTTPS://WWW.X.COM/a", accounts("a", "https://x.com/a")],
  ["com.twitter", "sixteencharacter", malformed],
  ["com.twitter", "@@a", malformed],
  ["com.twitter", "https://github.com/ensdomains", host],
  ["com.twitter", "https://x.com.example/a", host],
  ["com.twitter", "https://x.com@example.com/a", host],
  ["com.twitter", "javascript:alert(1)", malformed],
  ["com.github", "ensdomains", accounts("ensdomains", "https://github.com/ensdomains")],
  [
    "com.github",
    "github.com/ensdomains/docs",
    accounts("ensdomains/docs", "https://github.com/ensdomains/docs"),
  ],
  ["com.github", "ensdomains/..", malformed],
  ["com.github", "..", malformed],
  ["com.github", `a${"b".repeat(39)}`, malformed],
  ["com.github", "https://twitter.com/x", host],
  ["org.telegram", "t.me/ensdomains", accounts("ensdomains", "https://t.me/ensdomains")],
  ["org.telegram", "abcd", malformed],
  [
    "com.linkedin",
    "https://www.linkedin.com/in/a-b-c/",
    accounts("a-b-c", "https://www.linkedin.com/in/a-b-c"),
  ],
  ["io.keybase", "ens", accounts("ens", "https://keybase.io/ens")],
  [
    "xyz.farcaster",
    "https://warpcast.com/alice.eth",
    accounts("alice.eth", "https://farcaster.xyz/alice.eth"),
  ],
  ["com.reddit", "/u/alice", accounts("alice", "https://www.reddit.com/user/alice")],
  ["com.reddit", "https://old.reddit.com/user/alice", host],
  ["com.reddit", "https://reddit.com/u/alice/", accounts("alice", "https://www.reddit.com/user/alice")],
  [
    "com.youtube",
    "https://youtube.com/@ens.domains",
    accounts("ens.domains", "https://www.youtube.com/@ens.domains"),
  ],
  ["com.instagram", "..", malformed],
  [
    "social.bsky",
    "@ens.bsky.social",
    accounts("ens.bsky.social", "https://bsky.app/profile/ens.bsky.social"),
  ],
  ["com.discord", "alice#1234", { handle: "alice#1234" }],
  ["com.discord", "https://discord.gg/ens", host],
  ["com.x", `https://x.com${"/".repeat(1_900)}a`, malformed],
  ["url", "https://ens.domains", { url: "https://ens.domains/" }],
  ["url", "ens.domains", malformed],
  ["url", "javascript:alert(1)", malformed],
  ["email", "test@example.com", { url: "mailto:test@example.com" }],
  ["email", "test@example.com?bcc=a@b.com", malformed],
  ["phone", "+1 (202) 555-0100", { url: "tel:+12025550100" }],
  ["phone", "0202 5550100", malformed],
  ["avatar", "https://example.com/a.png", { kind: "https", url: "https://example.com/a.png" }],
  [
    "header",
    "ipfs://bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4/1.png",
    {
      kind: "ipfs",
      url: "https://ipfs.io/ipfs/bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4/1.png",
    },
  ],
  [
    "avatar",
    "ipfs://bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4/../a",
    { reason: "unsupported" },
  ],
  [
    "avatar",
    "ipfs://bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4/%2e%2E",
    { reason: "unsupported" },
  ],
  ["avatar", "eip155:1/erc721:0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d/1", { kind: "nft" }],
  ["avatar", `data:image/png;base64,${"A".repeat(10_000)}`, { kind: "data" }],
  ["avatar", "ftp://example.com/a.png", { reason: "unsupported" }],
  // The example of ENSIP-18.
  [
    "theme",
    "3889FF,000,F6F6F6,FFFFFF,FFF700",
    { colors: ["#3889ff", "#000000", "#f6f6f6", "#ffffff", "#fff700"] },
  ],
  ["theme", "000000,,F6F6F6,FFFFFF,FFF700", { colors: ["#000000", "", "#f6f6f6", "#ffffff", "#fff700"] }],
  // #767676 on white has a contrast of 4.54, #777777 one of 4.48.
  ["theme", "fff,767676", { colors: ["#ffffff", "#767676"] }],
  ["theme", "fff,777", { reason: "contrast" }],
  ["theme", "red", malformed],
  ["keywords", "ens, names,,ens", { words: ["ens", "names"] }],
  ["timezone", "Australia/Melbourne", { text: "Australia/Melbourne" }],
  ["timezone", "../etc", malformed],
  ["language", "en", { text: "en" }],
  ["language", "English", malformed],
  ["primary-contact", "com.github", { text: "com.github" }],
  ["primary-contact", "fax", { reason: "unsupported" }],
  // ENSIP-5: ignored unless it is the name when its case is folded.
  ["display", "RicMoo.eth", { text: "RicMoo.eth" }],
  ["display", "vitalik.eth", { reason: "mismatch" }],
  ["url", `https://example.com/${"a".repeat(1_000_000)}`, malformed],
  ["description", "Human readable names for Ethereum.", undefined],
  ["constructor", "a", undefined],
])("text %s: %.60s", (key, value, expected) => {
  expect(decodeRecord("ricmoo.eth", `text:${key}`, value)).toEqual(expected);
});

test.each([
  ["0x68690a", { text: "hi\n" }],
  ["0xff", { reason: "binary" }],
  ["0x00", { reason: "binary" }],
  ["0xzz", malformed],
])("data %s (ENSIP-24)", (value, expected) => {
  expect(decodeRecord("a.eth", "data:agent-context", value)).toEqual(expected);
});

test("records are decoded by kind; those without a rule are left out", () => {
  const addresses = { 0: "0x0014751e76e8199196d454941c45d1b3a323f1433bd6", 60: null };
  const texts = { "com.x": "a", description: "b", url: null };
  expect(describeRecords("a.eth", { addresses, texts, contenthash: "0x1234" })).toEqual({
    decoded: {
      addresses: { 0: { address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" } },
      texts: { "com.x": accounts("a", "https://x.com/a") },
      contenthash: { reason: "unsupported" },
    },
  });
  expect(describeRecords("a.eth", { addresses: {}, texts: { a: "b" }, contenthash: null })).toEqual({});
});

test("no bytes throw", () => {
  const starts = ["e301", "e401", "e501", "bc03", "bd03", "90b2c605", "90b2ca05", "90b2da05", "e3010170", ""];
  const bytes = fc.tuple(
    fc.constantFrom(...starts, "76a914", "0014", "83581c", "41", "3078"),
    fc.uint8Array({ maxLength: 130 }),
  );
  const coins = Object.values(nonEvmCoinNameToTypeMap).map(String);
  const key = fc.constantFrom(...coins, "2147492101", "2147483648", "4294967296", "12345678");
  fc.assert(
    fc.property(bytes, key, fc.string({ unit: "binary" }), ([start, rest], coin, text) => {
      const value = `0x${start}${Buffer.from(rest).toString("hex")}`;
      const values = { [coin]: value };
      const described = describeRecords(text, {
        addresses: values,
        data: values,
        contenthash: value,
        texts: { url: text, theme: text, avatar: text, email: text, "com.discord": text, display: text },
      });
      decodedRecordsSchema.parse(described.decoded ?? {});
      const { address } = decodeAddress(coin, value);
      // What is shown as an address leads back to the bytes.
      const isEvm = Number(coin) >= 2 ** 31 || coin === "60";
      if (address !== undefined && !isEvm) expect(parseNativeAddress(coin, address)).toBe(value);
      parseNativeAddress(coin, text);
      decodeContentHash(value);
    }),
    { numRuns: 1_000 },
  );
});
