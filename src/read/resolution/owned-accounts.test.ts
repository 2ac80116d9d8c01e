import { createClient, custom, encodeAbiParameters, type Hex, keccak256 } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { buildProofKey, hashConsent } from "../../ens/owned-accounts.ts";
import { UnavailableError } from "./chain-reader.ts";
import { type AccountSources, readOwnedAccounts } from "./owned-accounts.ts";

const now = 1_800_000_000n;
const node = `0x${"ab".repeat(32)}` as const;
const recordsChainId = 1;
const signers = Array.from({ length: 6 }, () => privateKeyToAccount(generatePrivateKey()));
const addresses = signers.map(({ address }) => address.toLowerCase() as Hex);
const contracts = {
  accepts: `0x${"c1".repeat(20)}`,
  refuses: `0x${"c2".repeat(20)}`,
  reverts: `0x${"c3".repeat(20)}`,
} as const;

const list = (accounts: readonly Hex[]): Hex =>
  `0x${accounts.map((one) => one.slice(2).padStart(64, "0")).join("")}`;
const proof = (expiresAt: bigint, signature: Hex) =>
  encodeAbiParameters([{ type: "uint256" }, { type: "bytes" }], [expiresAt, signature]);

async function sign(at: number, { chainId = 1, expiresAt = now + 1_000n, ofNode = node as Hex } = {}) {
  const account = addresses[at] as Hex;
  const hash = hashConsent({ node: ofNode, chainId, account, expiresAt, recordsChainId });
  return proof(expiresAt, (await signers[at]?.sign({ hash })) as Hex);
}

// A node that knows the code of the contracts above; chain 5 fails, and nobody serves chain 7.
const client = createClient({
  transport: custom({
    request: async ({ params }) => (Object.values(contracts).includes(params[0]) ? "0x60" : "0x"),
  }),
});
const failing = createClient({
  transport: custom({ request: async () => Promise.reject(new Error("503")) }, { retryCount: 0 }),
});
const reader: AccountSources["reader"] = {
  read: async (chainId, to) => {
    if (chainId === 5) throw new UnavailableError("Chain 5 could not be asked.");
    return { [contracts.accepts]: "0x1626ba7e", [contracts.refuses]: "0xffffffff" }[to as string];
  },
};

const hashesOf = (records: Readonly<Record<string, Hex>>) =>
  Object.fromEntries(Object.entries(records).map(([key, value]) => [key, keccak256(value)]));

const sourcesOf = (records: Readonly<Record<string, Hex>>): Omit<AccountSources, "hashes"> => ({
  ...{ node, recordsChainId, now, reader },
  readData: async (keys) => Object.fromEntries(keys.map((key) => [key, records[key] ?? null])),
  clientOf: (chainId) => ({ 1: client, 10: client, 5: failing })[chainId],
});

async function check(
  records: Readonly<Record<string, Hex>>,
  hashes: AccountSources["hashes"] = hashesOf(records),
) {
  const found = await readOwnedAccounts({ ...sourcesOf(records), hashes });
  return found.map(({ chainId, account, status }) => `${chainId} ${account} ${status}`);
}

test("each account is checked by itself: by its signature, or by its contract", async () => {
  const [own, late, never, stranger, other, away] = addresses as [Hex, Hex, Hex, Hex, Hex, Hex];
  const key = (chainId: number, account: Hex) => buildProofKey(chainId, account);
  const signed = proof(now + 1_000n, "0x1234");
  const found = await check({
    "accounts[1]": list([own, late, never, stranger, ...Object.values(contracts)]),
    "accounts[10]": list([own]),
    "accounts[5]": list([away]),
    "accounts[7]": list([other]),
    [key(1, own)]: await sign(0),
    [key(1, late)]: await sign(1, { expiresAt: now }),
    // Signed by somebody else.
    [key(1, stranger)]: await sign(0),
    // A consent for another chain.
    [key(10, own)]: await sign(0),
    [key(5, away)]: await sign(5, { chainId: 5 }),
    [key(7, other)]: await sign(4, { chainId: 7 }),
    ...Object.fromEntries(Object.values(contracts).map((one) => [key(1, one), signed])),
  });
  expect(found).toEqual([
    ...[`1 ${own} verified`, `1 ${late} expired`, `1 ${never} unproven`, `1 ${stranger} invalid`],
    ...[
      `1 ${contracts.accepts} verified`,
      `1 ${contracts.refuses} invalid`,
      `1 ${contracts.reverts} invalid`,
    ],
    ...[`5 ${away} unreachable`, `7 ${other} unreachable`, `10 ${own} invalid`],
  ]);
});

test("a consent to another name, and bytes that are no proof, are invalid", async () => {
  const [own = "0x", next = "0x"] = addresses;
  const found = await check({
    "accounts[1]": list([own, next]),
    [buildProofKey(1, own)]: await sign(0, { ofNode: `0x${"cd".repeat(32)}` }),
    [buildProofKey(1, next)]: "0xdeadbeef",
  });
  expect(found).toEqual([`1 ${own} invalid`, `1 ${next} invalid`]);
});

test("a value that is not what its event announced proves nothing", async () => {
  const [own = "0x", next = "0x"] = addresses;
  const [listing, ownKey, nextKey] = ["accounts[1]", buildProofKey(1, own), buildProofKey(1, next)];
  const records = { [listing]: list([own, next]), [ownKey]: await sign(0), [nextKey]: await sign(1) };
  const announced = hashesOf(records);
  const other = keccak256("0x01");
  expect(await check(records, { ...announced, [nextKey]: other })).toEqual([
    `1 ${own} verified`,
    `1 ${next} unreachable`,
  ]);
  // The list is not known, so all that is are the keys of proofs.
  expect(await check(records, { [listing]: other, [ownKey]: other })).toEqual([`1 ${own} unreachable`]);
  expect(await check({}, announced)).toEqual([`1 ${own} unreachable`, `1 ${next} unreachable`]);
});

test("where keys are not indexed, the name says of which chains it lists accounts", async () => {
  const [own = "0x"] = addresses;
  const proved = { "accounts[10]": list([own]), [buildProofKey(10, own)]: await sign(0, { chainId: 10 }) };
  const chains = { "accounts-chains": list(["0x0a", "0x07"]) };
  const hashes = { hashes: undefined };
  const found = await readOwnedAccounts({ ...sourcesOf({ ...proved, ...chains }), ...hashes });
  expect(found).toMatchObject([{ chainId: 10, account: own, status: "verified" }]);
  expect(await readOwnedAccounts({ ...sourcesOf(proved), ...hashes })).toEqual([]);
});

test("a name has 32 accounts at most, each once", async () => {
  const many = Array.from({ length: 40 }, (_, at) => `0x${(at + 1).toString(16).padStart(40, "0")}` as const);
  const [one = "0x"] = many;
  expect(await check({ "accounts[1]": list(many.slice(0, 20)), "accounts[10]": list(many) })).toHaveLength(
    32,
  );
  expect(await check({ "accounts[1]": list([one, one]) })).toEqual([`1 ${one} unproven`]);
  expect(await check({ url: "0x01" })).toEqual([]);
});
