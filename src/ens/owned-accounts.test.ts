import { domainSeparator, type Hex, keccak256, toHex } from "viem";
import { describe, expect, test } from "vitest";
import {
  buildProofKey,
  checkDates,
  decodeChains,
  decodeListing,
  decodeProof,
  hashConsent,
  parseAccountKey,
} from "./owned-accounts.ts";

// ENSIP-28 and its example.
const account = "0xd8da6bf26964af9d7eed9e03e53415d37aa96045";
const word = (hex: string) => hex.padStart(64, "0");

test.each([
  ["accounts[1]", { chainId: 1 }],
  [`accounts[8453][${account}]`, { chainId: 8453, account }],
  ["accounts[01]", undefined],
  ["accounts[0]", undefined],
  [`accounts[1][${account.toUpperCase()}]`, undefined],
  [`accounts[1][${account}`, undefined],
  ["accounts-chains", undefined],
  ["accounts[1] ", undefined],
])("the key %s", (key, expected) => expect(parseAccountKey(key)).toEqual(expected));

test("the key of a proof has the account in lower case", () => {
  expect(buildProofKey(1, "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")).toBe(`accounts[1][${account}]`);
});

test.each<[string, string, string[]]>([
  [
    "two accounts",
    word(account.slice(2)) + word("b8c2c29ee19d8307cb7255e1cd9cbde883a267d5"),
    [account, "0xb8c2c29ee19d8307cb7255e1cd9cbde883a267d5"],
  ],
  ["nothing", "", []],
  ["a word that is no address, and a cut one", `${"01".repeat(32)}${word(account.slice(2))}0000`, [account]],
])("a listing of %s", (_, hex, expected) => expect(decodeListing(`0x${hex}`)).toEqual(expected));

test("a listing has 32 accounts at most", () => {
  const all = Array.from({ length: 40 }, (_, at) => word((at + 1).toString(16)));
  expect(decodeListing(`0x${all.join("")}`)).toHaveLength(32);
});

test("a list of chains has their ids, without those that are beyond safe numbers", () => {
  expect(decodeChains(`0x${word("1")}${"ff".repeat(32)}${word("2105")}`)).toEqual([1, 8453]);
});

describe("a proof", () => {
  const [now, day] = [1_700_000_000n, 86_400n];
  test.each<[string, bigint, Hex, string | undefined]>([
    ["holds", now + day, "0x01", undefined],
    ["holds for two years", now + 731n * day, "0x01", undefined],
    ["ends now", now, "0x01", "expired"],
    ["never ends", 0n, "0x01", "invalid"],
    ["ends in three years", now + 1_096n * day, "0x01", "invalid"],
    ["is not signed", now + day, "0x", "invalid"],
  ])("that %s", (_, expiresAt, signature, expected) =>
    expect(checkDates({ expiresAt, signature }, now)).toBe(expected),
  );

  test.each(["0x", "0x01", `0x${"ff".repeat(200)}`] as const)("%s is none", (value) =>
    expect(decodeProof(value)).toBeUndefined(),
  );
});

test("the consent has the standard's types and domains", () => {
  const type = "Consent(bytes32 node,uint256 accountChainId,address account,uint256 expiresAt)";
  const typeHash = keccak256(toHex(type));
  expect(typeHash).toBe("0x8dff32c14409d396587044aa7663b77f60b1d374ec13710f3f0acdc3a810a94d");
  const domain = { name: "ENS Name Owned Accounts", version: "1" };
  for (const [chainId, separator] of [
    [1, "0xefbd5fd6831eeaf1b039217878898cb25c5afb12a1789321e1e4b870d56bdab0"],
    [11155111, "0x0e8de794261382cbb6e04b05bebc36d7e32e3461ee7f992d81fb7236a1419cd6"],
  ] as const) {
    expect(domainSeparator({ domain: { ...domain, chainId } })).toBe(separator);
    const consent = { node: `0x${"ab".repeat(32)}`, account, expiresAt: 1_798_761_600n } as const;
    const words = [
      consent.node.slice(2),
      word("a"),
      word(account.slice(2)),
      word((1_798_761_600).toString(16)),
    ];
    const struct = keccak256(`0x${typeHash.slice(2)}${words.join("")}`);
    expect(hashConsent({ ...consent, chainId: 10, recordsChainId: chainId })).toBe(
      keccak256(`0x1901${separator.slice(2)}${struct.slice(2)}`),
    );
  }
});
