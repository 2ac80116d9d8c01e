import {
  encodeAbiParameters,
  type Hex,
  keccak256,
  numberToHex,
  padHex,
  stringToHex,
  toEventSelector,
} from "viem";
import { expect, test } from "vitest";
import {
  labelStoreAbi,
  leaseAbi,
  proxyFactoryAbi,
  registryV2Abi,
  resolverV2Abi,
} from "../../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../../abis/names.ts";
import { createRandom, type Random } from "../../../devnet/random.ts";
import { v2Addresses } from "../../../devnet/recorded-chains.ts";
import { entryDifferences } from "../../../test/support/ensv2/differences.ts";
import { readTruth } from "../../../test/support/ensv2/recording.ts";
import type { PlayedLog } from "../../../test/support/recorded-index.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { seeds } from "../../../test/support/rounds.ts";
import { createScopes } from "../../../test/support/scope.ts";
import { at } from "../../deployments/deployment.ts";
import { v2KnownContracts } from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import {
  v2Alias,
  v2Contract,
  v2Entry,
  v2Event,
  v2Label,
  v2Record,
  v2RecordLink,
  v2Role,
} from "../../schema/ensv2.ts";
import {
  applyLabelRegistered,
  applyLabelReserved,
  applyProxyDeployed,
  applyTokenRegenerated,
  applyTokens,
  applyUpgraded,
} from "./entries.ts";
import { applyRolesChanged } from "./events.ts";
import { applyLabel } from "./records.ts";

const events = [...registryV2Abi, ...resolverV2Abi, ...erc1155TransferAbi].map((item) =>
  toEventSelector(item),
);
const strangers = Array.from(
  { length: 20 },
  (_, index): Hex => `0x${String(index).padStart(2, "0").repeat(20)}`,
);

// Words as contracts emit them, and what none would: dirty upper bytes, offsets and lengths beyond the data, cut data.
function wordOf(random: Random, ids: readonly Hex[]): string {
  return random.pick([
    () => random.pick(ids).slice(2),
    () => random.hexDigits(32),
    () => "0".repeat(64),
    () => "f".repeat(64),
    () => `8${"0".repeat(63)}`,
    () => random.pick(strangers).slice(2).padStart(64, "0"),
    () => random.below(0x200).toString(16).padStart(64, "0"),
    () => (32 * random.below(12)).toString(16).padStart(64, "0"),
  ])();
}

function fuzzedLog(random: Random, ids: readonly Hex[], emitters: readonly Hex[]): PlayedLog {
  const words = (count: number) => Array.from({ length: count }, () => wordOf(random, ids));
  const data = words(random.below(12)).join("");
  const cut = random.below(5) === 0 ? random.below(data.length + 1) : data.length;
  return {
    address: random.pick(emitters),
    topics: [random.pick(events), ...words(random.below(4)).map((word): Hex => `0x${word}`)],
    data: `0x${data.slice(0, cut)}`,
    blockNumber: "0x36f",
    transactionHash: `0x${"7a".repeat(32)}`,
    logIndex: "0x1",
  };
}

const last = readTruth().at(-1);
const inTheTree = Object.entries(last?.registries ?? {}).flatMap(([address, { hostile, contract }]) =>
  hostile || !contract ? [address as Hex] : [],
);

// What names are read from: rows of contracts of which events tell all.
function rowsOf(index: ReturnType<typeof createV2Index>, except: readonly Hex[]) {
  const isKnown = (row: Record<string, unknown>) =>
    !except.includes((row["registry"] ?? row["address"] ?? row["resolver"]) as Hex);
  return [v2Entry, v2Role, v2Contract, v2RecordLink, v2Record, v2Alias, v2Label].map((table) =>
    index.store
      .rows(table)
      .filter(isKnown)
      .map((row) => Object.values(row).join(" ")),
  );
}

test.each(seeds)(
  "20,000 fuzzed logs of strangers and of hostile registries in the tree change no row of another contract, seed %i",
  async (seed) => {
    expect(inTheTree).toHaveLength(4);
    const index = createV2Index();
    await index.playTo(879);
    const hostile = [...strangers, ...inTheTree];
    const before = rowsOf(index, hostile);
    const ids = index.store.rows(v2Entry).flatMap((row) => [row["tokenId"] as Hex, row["labelhash"] as Hex]);
    const random = createRandom(seed);
    for (let i = 0; i < 20_000; i++) await index.play(fuzzedLog(random, ids, hostile));
    expect(rowsOf(index, hostile)).toEqual(before);
    expect(last && entryDifferences(index, last)).toEqual([]);
    expect(index.anomalies.filter((one) => one === "malformed-log").length).toBeGreaterThan(2_000);
  },
);

test("floods of tokens, records and announcements by others than the factory's contracts reach no handler", async () => {
  const index = createV2Index();
  const filtered = [
    ...erc1155TransferAbi,
    ...resolverV2Abi,
    ...proxyFactoryAbi,
    ...labelStoreAbi,
    ...leaseAbi,
  ].map((item) => toEventSelector(item));
  const random = createRandom(17);
  for (const topic of filtered) {
    for (const emitter of [...strangers, ...inTheTree]) {
      const log = fuzzedLog(random, [labelHash], [emitter]);
      expect(await index.play({ ...log, topics: [topic, ...log.topics.slice(1)] }), topic).toBe(0);
    }
  }
});

test("a registry that goes mad stops nothing", async () => {
  const index = createV2Index();
  await index.playTo(200);
  const emitters = ["RootRegistry", "ETHRegistry", "LabelStore", "ETHRegistrar"].map(
    (name) => v2Addresses[name] ?? "0x",
  );
  const ids = index.store.rows(v2Entry).flatMap((row) => [row["tokenId"] as Hex, row["resource"] as Hex]);
  const random = createRandom(16);
  for (let i = 0; i < 10_000; i++)
    await index.play({ ...fuzzedLog(random, ids, emitters), logIndex: numberToHex(1_000 + i) });
  await index.playTo(879);
  expect(index.anomalies).toContain("contradictory-entry");
});

const label = stringToHex("moonlamp");
const labelHash = keccak256(label);
const tokenId = BigInt(labelHash) & ~0xffff_ffffn;
const owner: Hex = `0x${"a1".repeat(20)}`;
async function reserved() {
  const scopes = createScopes();
  await applyLabelReserved(scopes.next(), { tokenId, labelHash, label, expiry: 2n ** 64n - 1n });
  return scopes;
}

test.each<[string, { tokenId: bigint; labelHash: Hex; label: Hex }]>([
  ["a labelhash of another label", { tokenId, labelHash, label: stringToHex("moonlamq") }],
  ["a token of another label", { tokenId: tokenId + (1n << 32n), labelHash, label }],
  ["an empty label", { tokenId: BigInt(keccak256("0x")), labelHash: keccak256("0x"), label: "0x" }],
  [
    "a label of 256 bytes",
    ((bytes: Hex) => ({ tokenId: BigInt(keccak256(bytes)), labelHash: keccak256(bytes), label: bytes }))(
      padHex("0x61", { size: 256 }),
    ),
  ],
])("%s makes no entry", async (_, given) => {
  const { next, store, anomalies } = createScopes();
  await applyLabelReserved(next(), { ...given, expiry: 5n });
  expect([store.rows(v2Entry), anomalies]).toEqual([[], ["malformed-label"]]);
});

test.each<[string, { ids: bigint[]; values: bigint[]; from: Hex }, string[]]>([
  ["an amount of seven", { ids: [tokenId], values: [7n], from: zeroAddress }, ["odd-token-amount"]],
  ["lists of different lengths", { ids: [tokenId], values: [], from: zeroAddress }, ["odd-token-batch"]],
  [
    "a thousand tokens that do not exist",
    {
      ids: Array.from({ length: 1000 }, (_, index) => BigInt(index) << 32n),
      values: Array(1000).fill(1n),
      from: zeroAddress,
    },
    ["unknown-entry"],
  ],
  ["an unknown token", { ids: [5n], values: [1n], from: zeroAddress }, ["unknown-entry"]],
  [
    "another version of the token",
    { ids: [tokenId + 1n], values: [1n], from: zeroAddress },
    ["contradictory-entry"],
  ],
  ["the token of somebody else", { ids: [tokenId], values: [1n], from: owner }, ["contradictory-entry"]],
  ["no amount", { ids: [tokenId], values: [0n], from: zeroAddress }, []],
])("a transfer of %s moves nothing", async (_, transfer, reported) => {
  const { next, store, anomalies } = await reserved();
  await applyTokens(next(), { ...transfer, operator: owner, to: owner });
  expect([store.rows(v2Entry)[0]?.["owner"], anomalies]).toEqual([zeroAddress, reported]);
});

test.each<[string, { tokenId: bigint; newTokenId: bigint }, string[]]>([
  ["its next version", { tokenId, newTokenId: tokenId + 1n }, []],
  ["a token of another label", { tokenId, newTokenId: tokenId + (1n << 32n) }, ["contradictory-entry"]],
  [
    "anything, from another version",
    { tokenId: tokenId + 7n, newTokenId: tokenId + 8n },
    ["contradictory-entry"],
  ],
])("a token becomes only its own next version: %s", async (_, given, reported) => {
  const { next, store, anomalies } = await reserved();
  await applyTokenRegenerated(next(), given);
  const stored = BigInt(String(store.rows(v2Entry)[0]?.["tokenId"]));
  expect([stored, anomalies]).toEqual([reported.length === 0 ? given.newTokenId : tokenId, reported]);
});

test("a batch of any length moves each of its tokens, and those of amount zero not", async () => {
  const { next, store, anomalies } = createScopes();
  const other: Hex = `0x${"c3".repeat(20)}`;
  const bytes = Array.from({ length: 601 }, (_, index) => stringToHex(`moon${index}`));
  const ids = bytes.map((one) => BigInt(keccak256(one)) & ~0xffff_ffffn);
  for (const [index, id] of ids.entries()) {
    const one = bytes[index] ?? "0x";
    const entry = { tokenId: id, labelHash: keccak256(one), label: one, owner, expiry: 2n ** 64n - 1n };
    await applyLabelRegistered(next(), { ...entry, sender: other });
  }
  const values = ids.map((_, index) => (index === 300 ? 0n : 1n));
  await applyTokens(next(), { ids, values, operator: owner, from: owner, to: other });
  const owners = store.rows(v2Entry).map((row) => row["owner"]);
  expect([owners.filter((one) => one === other).length, owners[300], anomalies]).toEqual([600, owner, []]);
});

test.each<[string, { account: Hex; newRoleBitmap: bigint }]>([
  ["the zero address", { account: zeroAddress, newRoleBitmap: 1n }],
  ["all 256 bits", { account: owner, newRoleBitmap: 2n ** 256n - 1n }],
])("roles of %s are refused", async (_, given) => {
  const { next, store, anomalies } = createScopes();
  await applyRolesChanged(next(), { resource: 0n, oldRoleBitmap: 0n, ...given });
  expect([store.rows(v2Role), anomalies]).toEqual([[], ["odd-roles"]]);
});

const [registryCode, resolverCode, strangeCode, proxy] = strangers as [Hex, Hex, Hex, Hex];
const contracts = { UserRegistryImpl: at(registryCode, 0), PermissionedResolverImpl: at(resolverCode, 0) };
const v2 = v2KnownContracts({ ensv2: { chainId: 1, contracts } });
test.each<[string, { upgrades: Hex[]; resource: bigint }, string[]]>([
  ["a registry", { upgrades: [registryCode], resource: 0n }, Array(2).fill("RootPermissionChanged")],
  ["a resolver", { upgrades: [resolverCode], resource: 5n }, Array(2).fill("ResolverPermissionChanged")],
  ["a resolver with other code since", { upgrades: [resolverCode, strangeCode], resource: 0n }, []],
  ["other code of the factory", { upgrades: [strangeCode], resource: 0n }, []],
  ["a contract that nobody deployed by the factory", { upgrades: [], resource: 0n }, []],
])(
  "changes of roles of %s are kept only if its code is known, also before the factory names it",
  async (_, given, types) => {
    const { next, store } = createScopes({ emitter: proxy, v2 });
    const { upgrades, resource } = given;
    const change = { resource, account: owner, oldRoleBitmap: 0n, newRoleBitmap: 1n };
    for (const implementation of upgrades) await applyUpgraded(next(), { implementation });
    await applyRolesChanged(next(), change);
    const [implementation] = upgrades;
    if (implementation)
      await applyProxyDeployed(next(), { sender: owner, proxyAddress: proxy, implementation });
    await applyRolesChanged(next(), change);
    expect(store.rows(v2Event).map(({ type }) => type)).toEqual(types);
    expect(store.rows(v2Role)).toHaveLength(1);
  },
);

test("the store's label must hash to its labelhash", async () => {
  const { next, anomalies } = createScopes();
  await applyLabel(next(), { labelHash, label: encodeAbiParameters([{ type: "uint256" }], [1n]) });
  expect(anomalies).toEqual(["malformed-label"]);
});
