import { decode, encode } from "@ensdomains/content-hash";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeContentHash } from "./content-hash.ts";

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
  expect(decodeContentHash(`0x${hash}`)).toBe(uri);
  expect(decodeContentHash(`0x${hash.toUpperCase()}`)).toBe(uri);
  expect(decode(`0x${hash}`)).toBe(uri.replace(/^.*:\/\//, ""));
  // What is cut or goes on is nothing.
  expect(decodeContentHash(`0x${hash.slice(0, -2)}`)).toBeUndefined();
  expect(decodeContentHash(`0x${hash}00`)).toBeUndefined();
});

test("CIDs of version 0 and keys in records of IPFS are read as the library reads them", () => {
  const digest = "29f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f";
  for (const hash of [`0xe3011220${digest}`, `0xe30101721220${digest}`, `0x${encode("ipfs", key)}`])
    expect(decodeContentHash(hash)).toBe(`ipfs://${decode(hash)}`);
});

test.each([
  "",
  "0x",
  "0x1234",
  "0xe3",
  "0xe301",
  "e30101701220",
  "0xzz",
  "0xe3010",
  // Texts of anybody: `<script>`, and what is no name of DNS.
  "0xbc033c7363726970743e",
  "0xe501017000083c7363726970743e",
  "0xe501017000056c6f63616c",
  `0x${"00".repeat(40)}`,
  `0xe301017000${"ff".repeat(1_000_000)}`,
])("%.40s is no content hash", (hash) => {
  expect(decodeContentHash(hash)).toBeUndefined();
});

test("no bytes throw", () => {
  const starts = [
    "e301",
    "e401",
    "e501",
    "bc03",
    "bd03",
    "90b2c605",
    "90b2ca05",
    "90b2da05",
    "e3010170",
    "e501017200",
    "",
  ];
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 300 }), (start, bytes) => {
      decodeContentHash(`0x${start}${Buffer.from(bytes).toString("hex")}`);
    }),
  );
});
