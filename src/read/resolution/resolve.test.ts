import type { Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { namehash } from "../../ens/names.ts";
import { knownContracts } from "../names/known-contracts.ts";
import type { Selection } from "../names/selection.ts";
import { createDatabase } from "../sql/client.ts";
import { type ChainReader, UnavailableError } from "./chain-reader.ts";
import { primaryName, type Resolution, resolveRecords } from "./resolve.ts";
import { traced } from "./trace.ts";

// Names of mainnet and Base, resolved from the index alone.

const known = knownContracts(namespaces.mainnet);
const registry = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
const baseRegistry = "0xb94704422c2a1e396835a571837aa5ae53285a95";
const resolver4 = "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63";
const resolver5 = "0xf29100983e058b709f3d539b0c765937b804ac15";
const l2Resolver1 = "0xc6d566a56a1aff6508b41f6c90ff131615583bcd";
const l2Resolver2 = "0x426fa03fb86e510d0dd9f70335cf102a98b10875";
const basenamesResolver = "0xde9049636f4a1dfe0a64d1bfe3155c0a14c54f31";
const reverseResolver = "0xa7d635c8de9a58a228aa69353a1699c7cc240dcf";
const baseReverseResolver = "0xc800dbc8ff9796e58efba2d7b35028ddd1997e5e";
const alice: Hex = `0x${"a1".repeat(20)}`;
const bob: Hex = `0x${"b0".repeat(20)}`;
const carol: Hex = `0x${"ca".repeat(20)}`;
const zero: Hex = `0x${"0".repeat(40)}`;

let client: TestDatabase;
const asked: string[] = [];

const reader: ChainReader = {
  read: async (chainId, to) => {
    asked.push(`${chainId} ${to}`);
    throw new UnavailableError("There is no chain here.");
  },
  findResolver: async () => {
    throw new UnavailableError("There is no chain here.");
  },
};

const resolution = (): Resolution => ({
  known,
  reader,
  database: createDatabase(client),
  signal: new AbortController().signal,
});

const resolve = (name: string, selection: Selection) => resolveRecords(resolution(), { name, selection });

const insert = async (table: string, ...rows: unknown[][]) => {
  for (const row of rows)
    await client.query(`INSERT INTO ${table} VALUES (${row.map((_, at) => `$${at + 1}`).join(", ")})`, row);
};

beforeAll(async () => {
  client = await createTestDatabase("indexes");
  await insert(
    "domain_resolver_relations",
    ...[
      ["alice.eth", resolver5],
      ["bob.eth", resolver4],
      ["base.eth", basenamesResolver],
      ["unknown.eth", zero.replace(/0$/, "1")],
      ["default.reverse", reverseResolver],
      ["80002105.reverse", baseReverseResolver],
    ].map(([name, resolver]) => [1, registry, namehash(name!), resolver]),
    [8453, baseRegistry, namehash("carol.base.eth"), l2Resolver1],
    [8453, baseRegistry, namehash("dave.base.eth"), l2Resolver2],
  );
  const ofAlice = [1, resolver5, namehash("alice.eth")];
  const ofSub = [1, resolver5, namehash("sub.alice.eth")];
  const ofBob = [1, resolver4, namehash("bob.eth")];
  const ofCarol = [8453, l2Resolver1, namehash("carol.base.eth")];
  const ofDeep = [8453, l2Resolver1, namehash("deep.carol.base.eth")];
  const ofDave = [8453, l2Resolver2, namehash("dave.base.eth")];
  const records = ([chainId, resolver, node]: unknown[], ...values: string[]) => [
    `eip155:${chainId}:${resolver}/${node}`,
    ...[chainId, resolver, node],
    ...Array.from({ length: 5 }, (_, at) => values[at] ?? null),
  ];
  await insert(
    "resolver_records (id, chain_id, address, node, name, pubkey_x, pubkey_y, contenthash, dnszonehash)",
    records(ofAlice, "alice.eth", "0x01", "0x02", "0xe301", "0xe302"),
    records(ofBob, "Bob.eth", "0x01"),
    ...[ofSub, ofCarol, ofDeep, ofDave].map((place) => records(place)),
  );
  await insert(
    "resolver_address_records",
    [...ofAlice, "2147483648", alice],
    [...ofAlice, "2147483658", zero],
    [...ofAlice, "0", "0x76a9"],
    [...ofBob, "2147483648", bob],
    [...ofCarol, "60", alice],
    [...ofDave, "2147483648", bob],
  );
  const text = (place: unknown[], key: string, value: string) => [...place, keccak256(key), key, value];
  await insert(
    "resolver_text_records",
    text(ofAlice, "o'clock {},\"", "12"),
    text(ofSub, "avatar", "unreachable"),
    text(ofDeep, "url", "deep"),
  );
  await insert(
    "reverse_name_records",
    [alice, "2147483648", "alice.eth"],
    [bob, "2147483648", "bob.eth"],
    [bob, "2147492101", "Bob.eth"],
    [carol, "2147483648", "alice.eth"],
  );
});

afterAll(() => client.close());

test("a resolver with a default address returns it for every EVM chain, unless another one was set", async () => {
  const addresses = [60n, 0x80002105n, 0x8000000an, 0n, 118n];
  expect(await resolve("alice.eth", { addresses })).toEqual({
    addresses: { "60": alice, "2147492101": alice, "2147483658": null, "0": "0x76a9", "118": null },
  });
  expect(await resolve("bob.eth", { addresses: [60n, 0x80000000n] })).toEqual({
    addresses: { "60": null, "2147483648": bob },
  });
});

test("returns every record in the index, under keys of any text, and null for the others", async () => {
  const selection = {
    ...{ name: true, contenthash: true, pubkey: true, dnszonehash: true },
    texts: ["o'clock {},\"", "x", "constructor"],
  };
  expect(await resolve("alice.eth", selection)).toEqual({
    name: "alice.eth",
    contenthash: "0xe301",
    pubkey: { x: "0x01", y: "0x02" },
    dnszonehash: "0xe302",
    texts: { "o'clock {},\"": "12", x: null, constructor: null },
  });
  // Neither a name that is not normalised (ENSIP-15) nor half of a key is a record.
  expect(await resolve("bob.eth", selection)).toEqual({
    ...{ name: null, contenthash: null, pubkey: null, dnszonehash: null },
    texts: { "o'clock {},\"": null, x: null, constructor: null },
  });
});

test("a resolver that is not extended does not resolve names below its own", async () => {
  expect(await resolve("sub.alice.eth", { texts: ["avatar"] })).toEqual({ texts: { avatar: null } });
});

test("names of Base are resolved in Base's registry instead of over the gateway", async () => {
  expect(await resolve("carol.base.eth", { addresses: [60n, 0x80002105n] })).toEqual({
    addresses: { "60": alice, "2147492101": null },
  });
  expect(await resolve("dave.base.eth", { addresses: [60n] })).toEqual({ addresses: { "60": bob } });
  expect(await resolve("deep.carol.base.eth", { texts: ["url"] })).toEqual({ texts: { url: "deep" } });
  expect(await resolve("nobody.base.eth", { texts: ["url"] })).toEqual({ texts: { url: null } });
  expect(asked).toEqual([]);
});

test("other resolvers, and records that only the chain knows, are read from the chain", async () => {
  await expect(resolve("unknown.eth", { texts: ["url"] })).rejects.toThrow(UnavailableError);
  await expect(resolve("alice.eth", { abi: 1n })).rejects.toThrow(UnavailableError);
  expect(asked).toEqual([`1 ${zero.replace(/0$/, "1")}`, `1 ${resolver5}`]);
});

describe("primary names", () => {
  const primary = (address: Hex, chainId: number) =>
    traced(Date.now, () => primaryName(resolution(), { address, chainId }));

  test.each<[string, Hex, number, string | null]>([
    ["the default name", alice, 0, "alice.eth"],
    ["the default name, on a chain without another", alice, 8453, "alice.eth"],
    ["none, where a name that is not normalised hides the default one", bob, 8453, null],
    ["none, where the reverse name has no resolver", alice, 10, null],
    ["none, where the name has another address", carol, 0, null],
    ["none for a stranger", `0x${"cc".repeat(20)}`, 0, null],
  ])("%s", async (_, address, chainId, expected) => {
    expect((await primary(address, chainId))[0]).toBe(expected);
  });

  test("the trace contains every step", async () => {
    const [, spans] = await primary(alice, 0);
    const [root] = spans;
    expect(spans).toHaveLength(1);
    expect([root?.name, ...(root?.children ?? []).map(({ name }) => name)]).toEqual([
      "reverse-resolution:reverse-resolution",
      "reverse-resolution:resolve-reverse-name",
      "reverse-resolution:name-record-exists-check",
      "reverse-resolution:forward-resolve-address-record",
      "reverse-resolution:verify-resolved-address-matches-address",
    ]);
    expect(root?.children[2]?.children[0]?.children.map(({ name }) => name)).toEqual([
      "forward-resolution:find-resolver",
      "forward-resolution:active-resolver-exists",
      "forward-resolution:accelerate-known-onchain-static-resolver",
    ]);
    expect(root?.children[0]?.parentSpanContext).toEqual({ traceId: root?.traceId, spanId: root?.id });
  });
});
