import type { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chainOf, currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { createTables } from "../../../test/support/subgraph/endpoint.ts";
import { namespaces } from "../../deployments/namespaces.ts";
import { labelhash } from "../../ens/labels.ts";
import { namehash } from "../../ens/names.ts";
import { createDatabase } from "../database/client.ts";
import { createNamesSource } from "../names/lookups.ts";
import { placesOf } from "../names/places.ts";
import type { Row } from "../names/rows.ts";
import { knownContracts } from "../resolution/known-contracts.ts";
import { addressNames } from "./v1-addresses.ts";
import { addressCalendar } from "./v1-calendar.ts";
import { deadlineNames } from "./v1-deadlines.ts";
import { events } from "./v1-events.ts";
import { addressHistory, nameHistory } from "./v1-history.ts";
import { lookup } from "./v1-lookup.ts";
import { nameDetail, search, subnames } from "./v1-names.ts";
import { addressPrimaryName, nameRecords } from "./v1-records.ts";
import { lookupNamespace, lookupStatus } from "./v1-status.ts";

// The rules are those of docs/names.md. Addresses of contracts are mainnet's.
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";
const lineaWrapper = namespaces.mainnet["lineanames"]?.contracts["NameWrapper"]?.address?.toLowerCase() ?? "";
const [alice, bob, carol] = [1, 2, 3].map((digit) => `0x${String(digit).repeat(40)}`) as [
  string,
  string,
  string,
];
const mixed = "0x70997970C51812dc3A010c7d01b50e0d17DC79c8";
const [dave, eve, frank] = [`0x${"4".repeat(40)}`, `0x${"5".repeat(40)}`, `0x${"6".repeat(40)}`];
const zero = `0x${"0".repeat(40)}`;
const publicResolver = "0xf29100983e058b709f3d539b0c765937b804ac15";
const now = 1_768_400_395;
const day = 86_400;
const grace = 90 * day;
const [cannotUnwrap, parentCannotControl, isDotEth] = [1, 65_536, 131_072];

let client: PGlite;

async function insert(table: string, row: Record<string, unknown>) {
  const places = Object.keys(row).map((_, place) => `$${place + 1}`);
  await client.query(
    `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${places.join(", ")})`,
    Object.values(row),
  );
}

type Given = {
  owner?: string;
  lease?: { holder: string; expires: number };
  wrapped?: { owner: string; fuses: number; expires: number };
  isMigrated?: boolean;
  resolver?: string;
  home?: readonly [namespace: string, chainId: number];
};

async function store(
  name: string,
  { owner = alice, lease, wrapped, isMigrated = true, resolver, home = ["ens", 1] }: Given,
) {
  const node = namehash(name);
  const [label = "", ...above] = name.split(".");
  await insert("domain", {
    id: node,
    name,
    label_name: label,
    labelhash: labelhash(label),
    parent_id: namehash(above.join(".")),
    subdomain_count: 0,
    is_migrated: isMigrated,
    namespace: home[0],
    chain_id: home[1],
    created_at: 1_600_000_000,
    owner_id: owner,
    registrant_id: lease?.holder ?? null,
    wrapped_owner_id: wrapped?.owner ?? null,
    resolver_id: resolver === undefined ? null : `1-${resolver}-${node}`,
    change_block: 1,
  });
  if (lease)
    await insert("registration", {
      id: node,
      domain_id: node,
      registration_date: 1_700_000_000,
      expiry_date: lease.expires,
      registrant_id: lease.holder,
      change_block: 1,
    });
  if (wrapped)
    await insert("wrapped_domain", {
      id: node,
      domain_id: node,
      expiry_date: wrapped.expires,
      fuses: wrapped.fuses,
      owner_id: wrapped.owner,
      name,
      change_block: 1,
    });
}

const onBase = ["basenames", 8453] as const;
const later = now + 10 * day;
const inGrace = now - day;
const past = now - grace - day;

beforeAll(async () => {
  client = await createTables();
  const ofWrapper = { owner: wrapper };
  await store("eth", { owner: carol });
  await store("plain.eth", { owner: bob, lease: { holder: alice, expires: later } });
  await store("grace.eth", { lease: { holder: alice, expires: inGrace } });
  await store("gone.eth", { lease: { holder: alice, expires: past } });
  await store("wrapped.eth", {
    ...ofWrapper,
    lease: { holder: wrapper, expires: later },
    wrapped: { owner: alice, fuses: parentCannotControl | isDotEth, expires: later + grace },
  });
  await store("wrappedgrace.eth", {
    ...ofWrapper,
    lease: { holder: wrapper, expires: inGrace },
    wrapped: { owner: alice, fuses: parentCannotControl | isDotEth, expires: inGrace + grace },
  });
  await store("wrappedgone.eth", {
    ...ofWrapper,
    lease: { holder: wrapper, expires: past },
    wrapped: { owner: alice, fuses: parentCannotControl | cannotUnwrap | isDotEth, expires: past + grace },
  });
  // Wrapped once, expired, and registered anew unwrapped: the wrapper's token stays behind.
  await store("anew.eth", {
    owner: bob,
    lease: { holder: bob, expires: later },
    wrapped: { owner: alice, fuses: parentCannotControl | isDotEth, expires: past },
  });
  await store("sub.wrapped.eth", { ...ofWrapper, wrapped: { owner: bob, fuses: 0, expires: 0 } });
  await store("locked.wrapped.eth", {
    ...ofWrapper,
    wrapped: { owner: bob, fuses: parentCannotControl | cannotUnwrap, expires: later },
  });
  await store("lapsed.wrapped.eth", {
    ...ofWrapper,
    wrapped: { owner: bob, fuses: parentCannotControl, expires: now - 1 },
  });
  // The parent gave the name to another owner in the registry.
  await store("moved.wrapped.eth", { owner: carol, wrapped: { owner: bob, fuses: 0, expires: later } });
  await store("child.plain.eth", { owner: carol });
  await store("ownerless.plain.eth", { owner: zero });
  await store("old.eth", { owner: bob, isMigrated: false });
  await store("me.base.eth", { owner: bob, lease: { holder: alice, expires: inGrace }, home: onBase });
  await store("me.linea.eth", {
    owner: lineaWrapper,
    lease: { holder: lineaWrapper, expires: later },
    wrapped: { owner: carol, fuses: parentCannotControl, expires: later + grace },
    home: ["lineanames", 59_144],
  });
  await store("box", { owner: carol });
  await store("me.box", { owner: alice, lease: { holder: alice, expires: now }, home: ["threedns", 10] });
  await store("records.eth", {
    owner: bob,
    lease: { holder: bob, expires: later },
    resolver: publicResolver,
  });
  const node = namehash("records.eth");
  await insert("resolver", {
    id: `1-${publicResolver}-${node}`,
    domain_id: node,
    address: publicResolver,
    texts: ["url", "avatar"],
    coin_types: [60, 0],
    change_block: 1,
  });
  await insert("resolver_records", {
    id: `eip155:1:${publicResolver}/${node}`,
    chain_id: 1,
    address: publicResolver,
    node,
    contenthash: "0xe301",
  });
  const at = { chain_id: 1, address: publicResolver, node };
  await insert("resolver_address_records", { ...at, coin_type: 60, value: alice });
  await insert("resolver_text_records", {
    ...at,
    key_hash: "0x01",
    key: "url",
    value: "https://ens.domains",
  });
  // As events of empty values leave it.
  await store("cleared.eth", { owner: frank, resolver: publicResolver });
  const cleared = namehash("cleared.eth");
  await insert("resolver", {
    id: `1-${publicResolver}-${cleared}`,
    domain_id: cleared,
    address: publicResolver,
    addr_id: zero,
    content_hash: "0x",
    texts: ["url"],
    coin_types: [60, 0],
    change_block: 1,
  });
  await insert("resolver_records", {
    id: `eip155:1:${publicResolver}/${cleared}`,
    chain_id: 1,
    address: publicResolver,
    node: cleared,
  });
  const past2 = { block_number: 100, timestamp: 1_700_000_000, transaction_id: `0x${"7".repeat(64)}` };
  const gone = namehash("gone.eth");
  await insert("domain_event", {
    id: "1-100-3",
    type: "NewOwner",
    log_index: 3,
    domain_id: gone,
    owner_id: alice,
    ...past2,
  });
  await insert("registration_event", {
    id: "1-100-10",
    type: "NameRegistered",
    log_index: 10,
    registration_id: gone,
    registrant_id: alice,
    expiry_date: past,
    ...past2,
  });
  await insert("registrar_actions", {
    // A checkpoint: time, chain, block, transaction, type of event, log.
    id: `1700000000${"1".padStart(16, "0")}${"100".padStart(16, "0")}${"0".repeat(16)}5${"10".padStart(16, "0")}`,
    type: "registration",
    subregistry_id: "eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
    node: gone,
    incremental_duration: past - 1_700_000_000,
    base_cost: "3000000000000000",
    premium: "18446744073709551616",
    total: "18449744073709551616",
    registrant: alice,
    encoded_referrer: `0x${"5".repeat(64)}`,
    decoded_referrer: zero,
    block_number: 100,
    timestamp: 1_700_000_000,
    transaction_hash: past2.transaction_id,
    event_ids: "{}",
  });
  const resolverOfGone = `1-${publicResolver}-${gone}`;
  await insert("resolver", { id: resolverOfGone, domain_id: gone, address: publicResolver, change_block: 1 });
  const write = { ...past2, timestamp: 1_700_000_100, resolver_id: resolverOfGone };
  await insert("resolver_event", {
    id: "1-101-0",
    type: "AddrChanged",
    log_index: 0,
    addr_id: bob,
    ...write,
  });
  await insert("resolver_event", {
    id: "1-101-1",
    type: "MulticoinAddrChanged",
    log_index: 1,
    coin_type: 60,
    addr: bob,
    ...write,
  });
  await insert("resolver_event", {
    id: "1-101-2",
    type: "TextChanged",
    log_index: 2,
    key: "url",
    value: "x",
    ...write,
  });
  // Two short names of nobody else, and a claim on the root chain.
  for (const name of ["rec.eth", "pl.eth"]) await store(name, { owner: dave });
  const reverse = namehash(`${dave.slice(2)}.addr.reverse`);
  await store(`${dave.slice(2)}.addr.reverse`, { owner: dave, resolver: publicResolver });
  await insert("domain_resolver_relations", {
    chain_id: 1,
    address: zero,
    domain_id: reverse,
    resolver: publicResolver,
  });
  await insert("resolver_records", {
    id: `eip155:1:${publicResolver}/${reverse}`,
    chain_id: 1,
    address: publicResolver,
    node: reverse,
    name: "plain.eth",
  });
  await insert("reverse_name_records", { address: bob, coin_type: 2_147_483_648, value: "records.eth" });
});
afterAll(() => client.close());

function open(chain = chainOf(), { hasRecords = true } = {}) {
  const plugins = ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration"];
  const context = {
    ...chain,
    plugins,
    status: { current: () => currentStatus("omnichain-following", now) },
    clock: () => (now + 5) * 1_000,
    lookup: {
      ...createNamesSource({
        database: createDatabase(client),
        places: placesOf(namespaces.mainnet, plugins),
        hasRecords,
      }),
      hashOf: () => undefined,
      known: knownContracts(namespaces.mainnet),
    },
  };
  return openEndpoints(
    [
      lookup,
      nameDetail,
      nameRecords,
      subnames,
      nameHistory,
      addressHistory,
      addressNames,
      addressPrimaryName,
      addressCalendar,
      deadlineNames,
      events,
      search,
      lookupStatus,
      lookupNamespace,
    ],
    context,
  );
}

type Page = { has_more: boolean; next_cursor: string | null; page_size: number; total_count: number | null };
type Body = {
  data: Row & Row[];
  page: Page;
  error: { code: string; message: string };
  meta: { source?: string };
};
type Result = { kind: string; status: string; record: Row; records: Row[]; page: Page };

const get = async (path: string) => {
  const { ask, logged } = open();
  const { status, body } = await ask(path);
  expect(logged).toEqual([]);
  return { status, ...(body as Body) };
};
const post = async (body: unknown) => {
  const { ask, logged } = open();
  const response = await ask("/v1/lookup", { method: "POST", body: JSON.stringify(body) });
  expect(logged).toEqual([]);
  return response.body as Omit<Body, "data"> & { data: Result[] };
};

const expiring = (expires: number) => ({
  expires_at: String(expires),
  grace_ends_at: String(expires + grace),
});

describe("what holds of a name, by authority", () => {
  const cases: [string, Record<string, unknown>][] = [
    ["plain.eth", { status: "active", owner: alice, manager: bob, authority: "ens_v1", ...expiring(later) }],
    ["grace.eth", { status: "expired", in_grace: true, owner: alice, manager: alice, ...expiring(inGrace) }],
    [
      "gone.eth",
      {
        status: "released",
        owner: undefined,
        manager: undefined,
        ...expiring(past),
        lapsed_registration: {
          owner: alice,
          held_through: "registrar",
          released_at: String(past + grace + 1),
          release_kind: "expired",
        },
      },
    ],
    ["wrapped.eth", { status: "active", owner: alice, manager: alice, ...expiring(later) }],
    ["wrappedgrace.eth", { status: "expired", owner: alice, manager: undefined }],
    ["wrappedgone.eth", { status: "released", owner: undefined, manager: undefined }],
    ["anew.eth", { status: "active", owner: bob, manager: bob, ...expiring(later) }],
    [
      "sub.wrapped.eth",
      { status: "active", owner: bob, manager: bob, expires_at: null, expires_at_reason: "not_set" },
    ],
    [
      "locked.wrapped.eth",
      { status: "active", owner: bob, manager: bob, expires_at: String(later), grace_ends_at: String(later) },
    ],
    ["lapsed.wrapped.eth", { status: "released", owner: undefined, manager: undefined }],
    ["moved.wrapped.eth", { status: "active", owner: carol, manager: carol, expires_at: undefined }],
    ["child.plain.eth", { status: "active", owner: carol, manager: carol, expires_at: undefined }],
    ["ownerless.plain.eth", { status: "unregistered", owner: undefined, authority: undefined }],
    ["old.eth", { status: "active", owner: bob, authority: "ens_v0" }],
    [
      "me.base.eth",
      {
        status: "expired",
        owner: alice,
        manager: bob,
        namespace: "basenames",
        chain_id: 8453,
        authority: undefined,
      },
    ],
    [
      "me.linea.eth",
      { status: "active", owner: carol, manager: carol, namespace: "lineanames", network: "linea" },
    ],
    [
      "me.box",
      {
        status: "released",
        owner: undefined,
        namespace: "threedns",
        chain_id: 10,
        grace_ends_at: String(now),
      },
    ],
  ];
  test.each(cases)("%s", async (name, expected) => {
    const { status, data } = await get(`/v1/names/${name}`);
    expect(status).toBe(200);
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, data[key as keyof Row]]))).toEqual(
      expected,
    );
  });

  const states: [string, string | undefined, number | undefined][] = [
    ["plain.eth", undefined, undefined],
    ["wrapped.eth", "emancipated", parentCannotControl | isDotEth],
    ["sub.wrapped.eth", "wrapped", 0],
    ["locked.wrapped.eth", "locked", parentCannotControl | cannotUnwrap],
    ["lapsed.wrapped.eth", "lapsed", undefined],
    ["wrappedgone.eth", "lapsed", undefined],
    ["moved.wrapped.eth", "unwrapped", undefined],
    ["anew.eth", "unwrapped", undefined],
  ];
  test.each(states)("wrapper state of %s: %s", async (name, state, fuses) => {
    const { data } = await get(`/v1/names/${name}`);
    expect([data.ens_v1?.wrapper_state, data.ens_v1?.wrapper_fuses?.fuses]).toEqual([state, fuses]);
  });
});

test("a name with its records", async () => {
  const { data, meta } = await get("/v1/names/records.eth");
  expect(data).toMatchObject({
    resolver: { chain_id: 1, address: publicResolver },
    records: {
      seen_addresses: ["0", "60"],
      addresses: { 0: null, 60: alice },
      seen_texts: ["avatar", "url"],
      texts: { avatar: null, url: "https://ens.domains" },
      seen_singletons: ["contenthash"],
      contenthash: "0xe301",
    },
    primary_address: alice,
    read_status: "ok",
  });
  expect(meta.source).toBe("indexed");
});

// ENSIP-7 and the resolver's profiles: the setters take empty bytes and empty text, and the getters return them where nothing was set.
describe("a record of empty bytes, of empty text or of the zero address is none", () => {
  const unset = { status: "not_found" };
  const cases: [string, boolean, Record<string, unknown>, Record<string, unknown>][] = [
    [
      "where values are indexed",
      true,
      { addresses: { 0: null, 60: null }, texts: { url: null } },
      { "addr:0": unset, "addr:60": unset, contenthash: unset, "text:url": unset },
    ],
    [
      "where the subgraph's tables are all",
      false,
      { addresses: { 60: null }, texts: {} },
      { "addr:60": unset, contenthash: unset },
    ],
  ];
  test.each(cases)("%s", async (_, hasRecords, values, byKey) => {
    const { ask } = open(chainOf(), { hasRecords });
    const records = {
      seen_addresses: ["0", "60"],
      seen_texts: ["url"],
      seen_abis: [],
      abis: {},
      seen_singletons: ["contenthash"],
      contenthash: null,
      ...(hasRecords ? { name: null } : {}),
      ...values,
    };
    const detail = (await ask("/v1/names/cleared.eth")).body as Body;
    expect(detail.data.records).toEqual(records);
    expect(detail.data.primary_address).toBeUndefined();
    const init = { method: "POST", body: JSON.stringify({ inputs: [{ name: "cleared.eth" }] }) };
    const lookedUp = (await ask("/v1/lookup", init)).body as { data: Result[] };
    expect(lookedUp.data[0]?.record.records).toEqual(records);
    const listed = (await ask("/v1/names/cleared.eth/records")).body as { data: { records: unknown } };
    expect(listed.data.records).toMatchObject(byKey);
  });
});

const namesOf = (rows: readonly { name: string }[] = []) => rows.map(({ name }) => name);

test("the names of an address by relation", async () => {
  const of = async (address: string, query = "") =>
    namesOf((await get(`/v1/addresses/${address}/names${query}`)).data);
  expect(await of(alice, "?relation=owner")).toEqual([
    "grace.eth",
    "me.base.eth",
    "plain.eth",
    "wrapped.eth",
    "wrappedgrace.eth",
  ]);
  expect(await of(alice, "?relation=manager")).toEqual(["grace.eth", "wrapped.eth"]);
  expect(await of(alice, "?relation=former_owner")).toEqual(["gone.eth", "me.box", "wrappedgone.eth"]);
  expect(await of(alice, "?relation=resolves_to&coin_type=60")).toEqual([]);
  expect(await of(bob, "?namespace=basenames")).toEqual(["me.base.eth"]);
  expect(await of(bob, "?order=desc&page_size=2")).toEqual(["sub.wrapped.eth", "records.eth"]);
  const { data } = await get(`/v1/addresses/${bob}/names?q=records`);
  // It resolves to somebody else.
  expect(data).toMatchObject([
    { is_primary: true, is_primary_verified: false, relations: ["owner", "manager"] },
  ]);
});

test("the index does not tell whether a claimed name of another chain resolves back: a gateway answers for it", async () => {
  const l2Resolver = "0xc6d566a56a1aff6508b41f6c90ff131615583bcd";
  const claimed = namehash("me.base.eth");
  await insert("reverse_name_records", { address: alice, coin_type: 2_147_483_648, value: "me.base.eth" });
  await insert("domain_resolver_relations", {
    chain_id: 8453,
    address: "0xb94704422c2a1e396835a571837aa5ae53285a95",
    domain_id: claimed,
    resolver: l2Resolver,
  });
  const { data } = await get(`/v1/addresses/${alice}/names?q=me.`);
  await client.query("DELETE FROM reverse_name_records WHERE address = $1", [alice]);
  await client.query("DELETE FROM domain_resolver_relations WHERE domain_id = $1", [claimed]);
  expect(data).toMatchObject([{ name: "me.base.eth", is_primary: true }]);
  expect(data[0]).not.toHaveProperty("is_primary_verified");
});

describe("names of other chains resolve by what their own registry has", () => {
  const registry = "0xb94704422c2a1e396835a571837aa5ae53285a95";
  const l2Resolver = "0xc6d566a56a1aff6508b41f6c90ff131615583bcd";
  const holder = `0x${"7a".repeat(20)}`;
  const node = namehash("far.base.eth");
  const at = { chain_id: 8453, address: l2Resolver, node };

  beforeAll(async () => {
    await store("far.base.eth", { owner: holder, lease: { holder, expires: later }, home: onBase });
    await insert("domain_resolver_relations", {
      chain_id: 8453,
      address: registry,
      domain_id: node,
      resolver: l2Resolver,
    });
    await insert("resolver", {
      id: `8453-${l2Resolver}-${node}`,
      domain_id: node,
      address: l2Resolver,
      coin_types: [60],
      texts: ["toString"],
      change_block: 1,
    });
    await insert("resolver_records", { id: `eip155:8453:${l2Resolver}/${node}`, ...at });
    await insert("resolver_address_records", { ...at, coin_type: 60, value: holder });
  });
  afterAll(async () => {
    for (const table of ["domain_resolver_relations", "resolver", "registration"])
      await client.query(`DELETE FROM ${table} WHERE domain_id = $1`, [node]);
    for (const table of ["resolver_records", "resolver_address_records"])
      await client.query(`DELETE FROM ${table} WHERE node = $1`, [node]);
    await client.query("DELETE FROM domain WHERE id = $1", [node]);
  });

  const resolver = { chain_id: 8453, address: l2Resolver };

  test("in rows", async () => {
    const { data } = await get("/v1/names/far.base.eth");
    expect(data).toMatchObject({
      namespace: "basenames",
      resolver,
      primary_address: holder,
      records: {
        seen_addresses: ["60"],
        addresses: { "60": holder },
        seen_texts: ["toString"],
        texts: { toString: null },
        // Nothing was ever set.
        seen_singletons: [],
        contenthash: null,
      },
    });
    const looked = await post({ inputs: [{ name: "far.base.eth" }, { address: holder }] });
    expect(looked.data[0]?.record).toMatchObject({ resolver, primary_address: holder });
    expect(looked.data[1]?.records).toMatchObject([{ name: "far.base.eth", resolver, network: "base" }]);
  });

  test("in the list of names that resolve to an address", async () => {
    const path = `/v1/addresses/${holder}/names?relation=resolves_to`;
    expect(namesOf((await get(path)).data)).toEqual(["far.base.eth"]);
    await client.query("UPDATE domain_resolver_relations SET resolver = $1 WHERE domain_id = $2", [
      bob,
      node,
    ]);
    const moved = await get(path);
    await client.query("UPDATE domain_resolver_relations SET resolver = $1 WHERE domain_id = $2", [
      l2Resolver,
      node,
    ]);
    expect(moved.data).toEqual([]);
  });
});

describe("the default address (ENSIP-19)", () => {
  const general = `0x${"7b".repeat(20)}`;
  const node = namehash("records.eth");
  const coin = 2_147_483_648;
  beforeAll(() =>
    insert("resolver_address_records", {
      chain_id: 1,
      address: publicResolver,
      node,
      coin_type: coin,
      value: general,
    }),
  );
  afterAll(() => client.query("DELETE FROM resolver_address_records WHERE coin_type = $1", [coin]));

  test("stands for EVM coin types without a record of their own", async () => {
    const { data } = await get("/v1/names/records.eth/records?keys=addr:60,addr:2147492101,addr:2");
    const { records } = data as unknown as { records: unknown };
    expect(records).toEqual({
      "addr:2": { status: "not_found" },
      "addr:2147492101": {
        status: "ok",
        value: general,
        meta: {
          basis: "derived",
          rule: "ensip19_default_address",
          source_record_key: "addr:2147483648",
        },
      },
      "addr:60": { status: "ok", value: alice },
    });
  });

  test("finds the names that resolve to it", async () => {
    const of = async (address: string, type: number) =>
      namesOf((await get(`/v1/addresses/${address}/names?relation=resolves_to&coin_type=${type}`)).data);
    expect(await of(general, 2_147_492_101)).toEqual(["records.eth"]);
    expect(await of(general, coin)).toEqual(["records.eth"]);
    // Its own record hides the default one.
    expect(await of(general, 60)).toEqual([]);
    expect(await of(general, 2)).toEqual([]);
    expect(await of(zero, 60)).toEqual([]);
  });
});

test("addresses that hold names for others own none", async () => {
  for (const address of [zero, wrapper, lineaWrapper]) {
    for (const relation of ["any", "owner", "former_owner"]) {
      const { data, page } = await get(`/v1/addresses/${address}/names?relation=${relation}`);
      expect(data).toEqual([]);
      expect(page).toMatchObject({ has_more: false, next_cursor: null });
    }
    const [found] = (await post({ inputs: [{ address }] })).data;
    expect(found).toMatchObject({ status: "ok", records: [], page: { total_count: 0, has_more: false } });
  }
});

test("a look-up in a namespace lists the names of addresses there", async () => {
  const of = async (namespace: string) =>
    (await post({ inputs: [{ address: alice, relation: "owner" }], namespace })).data[0];
  expect(namesOf((await of("basenames"))?.records)).toEqual(["me.base.eth"]);
  expect((await of("basenames"))?.page.total_count).toBe(1);
  expect(namesOf((await of("auto"))?.records)).toContain("me.base.eth");
  expect(namesOf((await of("ens"))?.records)).not.toContain("me.base.eth");
  const wrong = await post({ inputs: [{ address: alice }], namespace: "eth" });
  expect(wrong).toMatchObject({
    error: {
      code: "invalid_input",
      message: "namespace must be one of: auto, public, ens, basenames, lineanames, threedns",
    },
  });
  const echoed = await post({ inputs: [{ address: alice, relation: "manager,owner" }] });
  expect(echoed.data[0]).toMatchObject({ input: { relation: "owner,manager" } });
});

test("a window has two ends, and a look-up no query", async () => {
  const windows = await get("/v1/names?namespace=ens&expires_window=1..2..3");
  expect([windows.status, windows.error.code]).toEqual([400, "invalid_input"]);
  const { ask } = open();
  const init = { method: "POST", body: JSON.stringify({ inputs: [] }) };
  const { status, body } = await ask("/v1/lookup?profile=feed", init);
  expect([status, (body as Body).error.message]).toEqual([
    400,
    "query parameters are not supported on this route",
  ]);
});

test("deadlines below a parent that leases no names", async () => {
  const of = async (parent: string) =>
    namesOf(
      (await get(`/v1/names?namespace=ens&expires_after=0&expires_before=${later + 1}&parent=${parent}`))
        .data,
    );
  expect(await of("wrapped.eth")).toEqual(["lapsed.wrapped.eth", "locked.wrapped.eth"]);
  expect(await of("plain.eth")).toEqual([]);
  expect(await of("eth")).toContain("plain.eth");
});

test("dates of more than 63 bits are cut", async () => {
  const node = namehash("plain.eth");
  const set = (date: string | number) =>
    client.query("UPDATE registration SET expiry_date = $1 WHERE domain_id = $2", [date, node]);
  await set("18446744073701775615");
  const { data } = await get("/v1/names/plain.eth");
  await set(later);
  expect(data).toMatchObject({
    expires_at: "9223372036854775807",
    grace_ends_at: "9223372036854775807",
    status: "active",
  });
});

test("a cursor with text that no database takes is refused", async () => {
  const list = JSON.stringify(["subnames", namehash("eth"), null, "prefix", "name", "asc", "true"]);
  for (const text of ["a\0b", "\ud800"]) {
    const cursor = Buffer.from(JSON.stringify([1, list, [text, "0x"]])).toString("base64url");
    const { status, error } = await get(`/v1/names/eth/subnames?cursor=${cursor}`);
    expect([status, error.code, error.message]).toEqual([
      400,
      "invalid_input",
      "cursor must be a valid pagination cursor",
    ]);
  }
});

test("pages of an address's names join without gaps, in each order", async () => {
  for (const sort of ["name", "expires_at", "registered_at", "created_at"]) {
    for (const order of ["asc", "desc"]) {
      const path = `/v1/addresses/${bob}/names?sort=${sort}&order=${order}`;
      const whole = await get(path);
      expect(whole.page).toMatchObject({
        has_more: false,
        next_cursor: null,
        total_count: whole.data.length,
      });
      const found: string[] = [];
      let next = "";
      do {
        const { data, page } = await get(`${path}&page_size=2${next}`);
        found.push(...namesOf(data));
        next = page.has_more ? `&cursor=${page.next_cursor}` : "";
      } while (next !== "");
      expect(found).toEqual(namesOf(whole.data));
    }
  }
});

test("subnames, search and deadlines", async () => {
  const children = await get("/v1/names/wrapped.eth/subnames?include_expired=false");
  expect(namesOf(children.data)).toEqual(["locked.wrapped.eth", "moved.wrapped.eth", "sub.wrapped.eth"]);
  expect(children.page.total_count).toBe(3);
  expect(namesOf((await get("/v1/search?q=wrapped")).data)).toEqual([
    "wrapped.eth",
    "wrappedgone.eth",
    "wrappedgrace.eth",
  ]);
  expect(namesOf((await get("/v1/search?q=wrapped.")).data)).toEqual(["wrapped.eth"]);
  expect(namesOf((await get("/v1/search?q=.linea&match=contains")).data)).toEqual(["me.linea.eth"]);
  expect((await get("/v1/search?q=a_&match=contains")).error?.code).toBe("invalid_input");
  const window = await get(`/v1/names?namespace=ens&expires_after=${inGrace}&expires_before=${now}`);
  expect(namesOf(window.data).sort()).toEqual(["grace.eth", "lapsed.wrapped.eth", "wrappedgrace.eth"]);
  const ends = await get(
    `/v1/names?namespace=ens&grace_ends_after=${now - 1}&grace_ends_before=${now + 1}&parent=wrapped.eth`,
  );
  expect(namesOf(ends.data)).toEqual(["lapsed.wrapped.eth"]);
  const byGrace = await get(`/v1/names?namespace=ens&grace_ends_after=${past + grace}&page_size=2`);
  expect(namesOf(byGrace.data).sort()).toEqual(["gone.eth", "wrappedgone.eth"]);
  const more = await get(
    `/v1/names?namespace=ens&grace_ends_after=${past + grace}&page_size=200&cursor=${byGrace.page.next_cursor}`,
  );
  expect(namesOf(more.data)).toHaveLength(8);
});

describe("names as a person looks for them", () => {
  const of = async (query: string) => namesOf((await get(`/v1/search?sort=relevance&${query}`)).data);
  const cases: [string, string[]][] = [
    ["q=wrapped", ["wrapped.eth", "wrappedgone.eth", "wrappedgrace.eth"]],
    ["q=WRAPPED", ["wrapped.eth", "wrappedgone.eth", "wrappedgrace.eth"]],
    ["q=wrapped&status=active", ["wrapped.eth"]],
    ["q=wrapped.", ["wrapped.eth"]],
    ["q=locked.wr", ["locked.wrapped.eth"]],
    // The shortest of those whose label it is first, on all chains.
    ["q=me", ["me.box", "me.base.eth", "me.linea.eth"]],
    ["q=me&namespace=lineanames", ["me.linea.eth"]],
    // Names that somebody claims are before shorter ones, not before the exact one.
    ["q=r", ["records.eth", "rec.eth"]],
    ["q=rec", ["rec.eth", "records.eth"]],
    ["q=p", ["plain.eth", "pl.eth"]],
    // A letter left out, added, replaced, swapped.
    ["q=plan", ["plain.eth"]],
    ["q=plaiin", ["plain.eth"]],
    ["q=plein", ["plain.eth"]],
    ["q=palin", ["plain.eth"]],
    ["q=palin.et", ["plain.eth"]],
    ["q=palin.base", []],
    ["q=palni", []],
    ["q=nothing", []],
  ];
  test.each(cases)("%s", async (query, expected) => {
    expect(await of(query)).toEqual(expected);
  });

  test("in pages without gaps", async () => {
    const found: string[] = [];
    let next = "";
    do {
      const { data, page } = await get(`/v1/search?sort=relevance&q=wrapped&page_size=1${next}`);
      found.push(...namesOf(data));
      next = page.has_more ? `&cursor=${page.next_cursor}` : "";
    } while (next !== "");
    expect(found).toEqual(["wrapped.eth", "wrappedgone.eth", "wrappedgrace.eth"]);
    const { page } = await get("/v1/search?sort=relevance&q=wrapped&page_size=1");
    const other = await get(`/v1/search?sort=relevance&q=me&cursor=${page.next_cursor}`);
    expect(other.error.message).toMatch(/^cursor belongs to another list/);
  });

  const faults: [string, RegExp][] = [
    ["?q=a&sort=best", /^sort must be one of name, relevance/],
    ["?q=a&sort=relevance&match=prefix", /^match has no meaning/],
    ["?q=&sort=relevance", /^q is missing/],
    ["?q=a..b&sort=relevance", /^The name is invalid/],
    ["?q=a&srot=relevance", /^unknown query parameter: srot$/],
  ];
  test.each(faults)("%s is refused", async (query, message) => {
    const { status, error } = await get(`/v1/search${query}`);
    expect([status, error.message]).toEqual([400, expect.stringMatching(message)]);
  });
});

describe("deadlines", () => {
  const soon = iso(later);
  const of = async (query: string) => {
    const { data, page } = await get(`/v1/names?namespace=ens&${query}`);
    return { names: namesOf(data), data, page };
  };

  test("windows, each row with the number of its own, in the order of the deadline and then of names", async () => {
    const windows = `expires_window=${later}..${later + 1}&expires_window=${inGrace}..${inGrace + 1}`;
    const { data } = await of(windows);
    expect(data.map(({ name, expires_window_index }) => [name, expires_window_index])).toEqual([
      ["grace.eth", 1],
      ["wrappedgrace.eth", 1],
      ["anew.eth", 0],
      ["locked.wrapped.eth", 0],
      ["plain.eth", 0],
      ["records.eth", 0],
      ["wrapped.eth", 0],
    ]);
    // Equal deadlines stay in the order of names.
    expect((await of(`${windows}&order=desc`)).names).toEqual([
      "anew.eth",
      "locked.wrapped.eth",
      "plain.eth",
      "records.eth",
      "wrapped.eth",
      "grace.eth",
      "wrappedgrace.eth",
    ]);
    for (const order of ["asc", "desc"]) {
      const whole = await of(`${windows}&order=${order}`);
      const found: string[] = [];
      let next = "";
      do {
        const { names, page } = await of(`${windows}&order=${order}&page_size=2${next}`);
        found.push(...names);
        next = page.has_more ? `&cursor=${page.next_cursor}` : "";
      } while (next !== "");
      expect(found).toEqual(whole.names);
    }
    const ends = await of(`grace_ends_window=${later + grace}..${later + grace + 1}&sort=grace_ends_at`);
    expect(ends.names).toEqual(["anew.eth", "plain.eth", "records.eth", "wrapped.eth"]);
    expect(ends.data[0]?.grace_ends_window_index).toBe(0);
  });

  test("times of RFC 3339, parents and authorities", async () => {
    expect((await of(`expires_after=${soon}&parent=wrapped.eth`)).names).toEqual(["locked.wrapped.eth"]);
    expect((await of(`expires_after=${soon}&authority=ens_v1`)).names).toHaveLength(5);
    expect((await of(`expires_after=${soon}&authority=ens_v0`)).names).toEqual([]);
    const onBase = await get(`/v1/names?namespace=basenames&expires_before=${now}&authority=ens_v1`);
    expect(onBase.data).toEqual([]);
  });
});

function iso(seconds: number) {
  return new Date(seconds * 1_000).toISOString().replace(".000", "");
}

describe("the calendar of an address", () => {
  const read = async (address: string, query = "", headers: Record<string, string> = {}) => {
    const response = await open().fetch(`/v1/addresses/${address}/calendar.ics${query}`, { headers });
    return { response, text: await response.text() };
  };
  const compact = (seconds: number) => iso(seconds).replaceAll(/[-:]/g, "");
  // RFC 5545, 3.1: a line that begins with a blank goes on.
  const unfolded = (text: string) => text.replaceAll("\r\n ", "").split("\r\n");
  const summaries = (text: string) => unfolded(text).filter((line) => line.startsWith("SUMMARY:"));

  test("has expiry and end of grace of what it owns, with alarms", async () => {
    const { response, text } = await read(alice);
    expect(response.headers.get("content-type")).toBe("text/calendar; charset=utf-8");
    expect(summaries(text)).toEqual([
      "SUMMARY:Grace period of grace.eth ends",
      "SUMMARY:Grace period of me.base.eth ends",
      "SUMMARY:Grace period of wrappedgrace.eth ends",
      "SUMMARY:plain.eth expires",
      "SUMMARY:Grace period of plain.eth ends",
      "SUMMARY:wrapped.eth expires",
      "SUMMARY:Grace period of wrapped.eth ends",
    ]);
    const lines = unfolded(text);
    expect(lines.slice(0, 2)).toEqual(["BEGIN:VCALENDAR", "VERSION:2.0"]);
    const at = lines.indexOf("SUMMARY:plain.eth expires");
    const event = lines.slice(lines.lastIndexOf("BEGIN:VEVENT", at), lines.indexOf("END:VEVENT", at));
    expect(event).toContain(`DTSTART:${compact(later)}`);
    expect(event).toContain(`UID:1-${namehash("plain.eth")}-expires`);
    expect(event.filter((line) => line.startsWith("TRIGGER"))).toEqual([
      "TRIGGER:-P30D",
      "TRIGGER:-P7D",
      "TRIGGER:-P1D",
    ]);
    expect((text.match(/BEGIN:VALARM/g) ?? []).length).toBe(3 * 7);
    for (const line of text.split("\r\n")) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  });

  test("keeps leases when somebody gives the address names that end before, and says that it leaves some out", async () => {
    const eve = `0x${"e5".repeat(20)}`;
    await store("kept.eth", { lease: { holder: eve, expires: later }, owner: eve });
    expect((await read(eve)).text).not.toContain("DESCRIPTION:Shows");
    const node = (place: string) => `'0x5e' || lpad(${place}::text, 62, '0')`;
    await client.exec(`
      INSERT INTO domain (id, name, label_name, parent_id, subdomain_count, is_migrated, created_at, owner_id, wrapped_owner_id, change_block)
        SELECT ${node("n")}, 's' || n || '.spam.eth', 's' || n, '${namehash("spam.eth")}', 0, true, 1, '${wrapper}', '${eve}', 1 FROM generate_series(1, 500) n;
      INSERT INTO wrapped_domain (id, domain_id, expiry_date, fuses, owner_id, change_block)
        SELECT ${node("n")}, ${node("n")}, ${now + day}, 65536, '${eve}', 1 FROM generate_series(1, 500) n`);
    const { text } = await read(eve);
    const shown = summaries(text);
    expect(shown.slice(-2)).toEqual(["SUMMARY:kept.eth expires", "SUMMARY:Grace period of kept.eth ends"]);
    expect(shown).toHaveLength(2 + 499);
    expect(
      unfolded(text).find((line) => line.startsWith("DESCRIPTION") || line.startsWith("X-WR-CALDESC")),
    ).toMatch(/Shows 500 names\. Others are left out: \/v1\/addresses\/0xe5e5/);
    for (const table of ["domain", "wrapped_domain"])
      await client.exec(`DELETE FROM ${table} WHERE id LIKE '0x5e%'`);
    await client.exec(
      `DELETE FROM domain WHERE name = 'kept.eth'; DELETE FROM registration WHERE id = '${namehash("kept.eth")}'`,
    );
  });

  test("says what follows, for each kind of name", async () => {
    const events = unfolded((await read(bob)).text)
      .join("\n")
      .split("BEGIN:VEVENT");
    const about = (summary: string) =>
      events.find((event) => event.includes(`SUMMARY:${summary}\n`))?.match(/DESCRIPTION:(.*)/)?.[1];
    expect(about("anew.eth expires")).toBe(
      "It can still be renewed for 90 days\\, in which nobody else can register it. Network: ethereum.",
    );
    expect(about("Grace period of anew.eth ends")).toBe(
      "Afterwards anybody can register anew.eth. Network: ethereum.",
    );
    expect(about("locked.wrapped.eth expires")).toBe(
      "Afterwards locked.wrapped.eth has no owner\\, and the owner of its parent can give it to somebody else. Network: ethereum.",
    );
  });

  test("by role, namespace and days of alarms", async () => {
    expect(summaries((await read(bob)).text)).toEqual([
      "SUMMARY:anew.eth expires",
      "SUMMARY:Grace period of anew.eth ends",
      "SUMMARY:locked.wrapped.eth expires",
      "SUMMARY:records.eth expires",
      "SUMMARY:Grace period of records.eth ends",
    ]);
    expect(summaries((await read(bob, "?relation=manager&namespace=basenames")).text)).toEqual([
      "SUMMARY:Grace period of me.base.eth ends",
    ]);
    const { text } = await read(alice, "?namespace=basenames&alarms=2");
    expect(unfolded(text).filter((line) => line.startsWith("TRIGGER"))).toEqual(["TRIGGER:-P2D"]);
    expect((await read(dave)).text).toContain("END:VCALENDAR");
  });

  test("a name with line breaks, or a long one, adds no line of its own", async () => {
    const evil = "a\r\nEND:VEVENT\r\nBEGIN:VEVENT;,\\\u202e.eth";
    await store(evil, { owner: eve, lease: { holder: eve, expires: later } });
    await store(`${"é".repeat(3_000)}.eth`, { owner: eve, lease: { holder: eve, expires: later } });
    const { text } = await read(eve);
    expect(text.split("\r\n").filter((line) => line === "BEGIN:VEVENT")).toHaveLength(4);
    expect(text.split("\r\n").filter((line) => line === "END:VEVENT")).toHaveLength(4);
    expect(text).not.toContain("\u202e");
    expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    for (const line of text.split("\r\n")) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
    expect(summaries(text).join("")).toContain("SUMMARY:a\ufffd\ufffdEND:VEVENT");
  });
});

test("names, records, claims and calendars are sent again only if they have changed", async () => {
  const paths = [
    "/v1/names/plain.eth",
    "/v1/names/records.eth/records",
    `/v1/addresses/${alice}/calendar.ics`,
  ];
  for (const path of paths) {
    const ask = (headers: Record<string, string>) => open().fetch(path, { headers });
    const first = await ask({});
    const tag = first.headers.get("etag") ?? "";
    expect([first.status, first.headers.get("cache-control"), tag]).toEqual([
      200,
      "public, max-age=12, stale-while-revalidate=48",
      expect.stringMatching(/^W\/"[\w-]+"$/),
    ]);
    const again = await ask({ "if-none-match": `"other", ${tag}` });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag]);
    expect((await ask({ "if-none-match": '"other"' })).status).toBe(200);
  }
  expect((await open().fetch("/v1/search?q=plain")).headers.get("etag")).toBeNull();
});

test("a lookup answers each input in its place", async () => {
  const { data } = await post({
    inputs: [
      { id: "a", name: "Plain.ETH" },
      { address: bob, page_size: 2 },
      { name: "missing.eth" },
      { name: "not a name" },
      { address: alice, relation: "manager" },
    ],
    profile: "feed",
  });
  expect(data.map(({ kind, status }) => [kind, status])).toEqual([
    ["name", "ok"],
    ["address", "ok"],
    ["name", "not_found"],
    ["name", "invalid_name"],
    ["address", "ok"],
  ]);
  expect(data[0]).toMatchObject({
    input: { id: "a", name: "Plain.ETH" },
    normalization: { changed: true, input_name: "Plain.ETH", reason: "case_normalized" },
    record: { name: "plain.eth", chain_id: 1, network: "ethereum" },
  });
  // The primary name first, then what is owned, by name.
  expect(namesOf(data[1]?.records)).toEqual(["records.eth", "anew.eth"]);
  expect(data[1]?.records[0]?.is_primary).toBe(true);
  expect(data[1]?.page).toMatchObject({ has_more: true, page_size: 2, total_count: 7 });
  const next = await post({ inputs: [{ address: bob, page_size: 200, cursor: data[1]?.page.next_cursor }] });
  expect(namesOf(next.data[0]?.records)).toEqual([
    "locked.wrapped.eth",
    "old.eth",
    "sub.wrapped.eth",
    "me.base.eth",
    "plain.eth",
  ]);
  expect(namesOf(data[4]?.records)).toEqual(["grace.eth", "wrapped.eth"]);
});

test("bad input names the fault", async () => {
  const cases: [string, number, string][] = [
    ["/v1/names/a..eth", 400, "The name is invalid: it has an empty label"],
    ["/v1/names/missing.eth", 404, "The index never saw this name"],
    ["/v1/names/plain.eth?inclde=counts", 400, "unknown query parameter: inclde"],
    ["/v1/names/plain.eth?include=counts,roles", 400, "include must contain only counts"],
    ["/v1/names/plain.eth/history?include=x", 400, "include must contain only data, raw, or total_count"],
    [
      "/v1/names/plain.eth?namespace=ons",
      404,
      'The namespace "ons" is not indexed; indexed: ens, basenames, lineanames, threedns',
    ],
    [`/v1/addresses/${alice}/names?cursor=abc`, 400, "cursor must be a valid pagination cursor"],
    [`/v1/addresses/${alice}/names?page_size=0`, 400, "page_size must be an integer from 1 to 200"],
    ["/v1/addresses/0x12/names", 400, "address must be a 0x-prefixed 20-byte hex string"],
    [
      `/v1/addresses/${alice}/history?from_timestamp=2&to_timestamp=1`,
      400,
      "from_timestamp must be less than or equal to to_timestamp",
    ],
    [
      "/v1/events?namespace=ens&from_block=2&to_block=1",
      400,
      "from_block must be less than or equal to to_block",
    ],
    [
      "/v1/names?namespace=ens&expires_after=2&expires_before=1",
      400,
      "expires_after must be less than or equal to expires_before",
    ],
    ["/v1/names/plain.eth/records?keys=addr:60,addr:60", 400, "keys must not contain duplicate record keys"],
    ["/v1/names/plain.eth?source=indexed&source=indexed", 400, "source must be one of indexed"],
    [`/v1/addresses/${alice}/names?include=counts`, 400, "include must contain only total_count"],
    [
      `/v1/addresses/${alice}/names?relation=owner,resolves_to`,
      400,
      "relation must be any, owner, manager or both, or resolves_to or former_owner alone",
    ],
    [
      "/v1/names?namespace=ens",
      400,
      "Give expires_after or expires_before, or expires_window, or the same of grace_ends",
    ],
    [
      "/v1/names?namespace=ens&expires_window=1..2&grace_ends_after=1",
      400,
      "Give expires_after or expires_before, or expires_window, or the same of grace_ends",
    ],
    [
      "/v1/names?namespace=ens&expires_window=1..5&expires_window=4..9",
      400,
      "expires_window must be <from>..<to>, at most 32 times, none within another",
    ],
    [
      "/v1/names?namespace=ens&expires_window=5..1",
      400,
      "expires_window must be <from>..<to>, at most 32 times, none within another",
    ],
    [
      `/v1/names?namespace=ens${Array.from({ length: 33 }, (_, i) => `&expires_window=${2 * i}..${2 * i + 1}`).join("")}`,
      400,
      "expires_window must be <from>..<to>, at most 32 times, none within another",
    ],
    [
      "/v1/names?namespace=ens&expires_after=1&sort=grace_ends_at",
      400,
      "sort must be the deadline that the window is of",
    ],
    [
      "/v1/names?namespace=ens&expires_after=1e9",
      400,
      "expires_after must be Unix seconds or a time of RFC 3339, such as 2026-01-31T12:00:00Z",
    ],
    ["/v1/names?namespce=ens&expires_after=1", 400, "unknown query parameter: namespce"],
    [
      "/v1/names?namespace=ens&expires_after=1&authority=ens_v9",
      400,
      "authority must be some of ens_v0, ens_v1, ens_v2 with commas between",
    ],
    [`/v1/addresses/${alice}/calendar.ics?alarms=0`, 400, "alarms must be at most 5 numbers from 1 to 365"],
    [`/v1/addresses/${alice}/calendar.ics?alarm=1`, 400, "unknown query parameter: alarm"],
  ];
  for (const [path, status, message] of cases) {
    const found = await get(path);
    expect([path, found.status, found.error?.message]).toEqual([path, status, message]);
  }
  const { page } = await get(`/v1/addresses/${bob}/names?page_size=1`);
  expect((await get(`/v1/addresses/${alice}/names?cursor=${page.next_cursor}`)).error.message).toBe(
    "cursor belongs to another list: other filters or another order",
  );
  expect((await post({ inputs: new Array(1_001).fill({ name: "a.eth" }) })).error.message).toBe(
    "inputs must hold at most 1000",
  );
  expect((await post({ inputs: [{ address: "0x1" }] })).error).toMatchObject({
    code: "invalid_input",
    message: "address must be a 0x-prefixed 20-byte hex string",
  });
});

test("the history of a name, its release included, in pages", async () => {
  const path = "/v1/names/gone.eth/history";
  const { data } = await get(`${path}?include=data`);
  const entries = data as unknown as {
    id: string;
    type: string;
    timestamp: string;
    data: Record<string, unknown>;
  }[];
  expect(
    entries.map(({ type, timestamp, data }) => [type, Number(timestamp), data["key"] ?? data["expires_at"]]),
  ).toEqual([
    ["release", past + grace + 1, String(past)],
    ["record", 1_700_000_100, "text:url"],
    // One write that two events announce.
    ["record", 1_700_000_100, "addr:60"],
    ["registration", 1_700_000_000, String(past)],
    ["authority", 1_700_000_000, undefined],
  ]);
  const written = { resolver: { chain_id: 1, address: publicResolver }, node: namehash("gone.eth") };
  expect(entries.map(({ data }) => data)).toEqual([
    { action: "registration_released", expires_at: String(past) },
    { action: "record_changed", key: "text:url", value: "x", ...written },
    { action: "record_changed", key: "addr:60", value: bob, coin_type: 60, ...written },
    {
      action: "registration_granted",
      registrant: alice,
      expires_at: String(past),
      cost: "18449744073709551616",
      base_cost: "3000000000000000",
      premium: "18446744073709551616",
      referrer: `0x${"5".repeat(64)}`,
      action_id: expect.stringMatching(/^[0-9a-f]{64}$/),
      action_role: "registered",
    },
    { action: "authority_changed", owner: alice },
  ]);
  const found: string[] = [];
  let next = "";
  do {
    const { data, page } = await get(`${path}?order=asc&page_size=2${next}`);
    found.push(...(data as unknown as { id: string }[]).map(({ id }) => id));
    next = page.has_more ? `&cursor=${page.next_cursor}` : "";
  } while (next !== "");
  expect(found).toEqual(entries.map(({ id }) => id).reverse());
  const typesOf = async (query: string) =>
    ((await get(`${path}${query}`)).data as unknown as { type: string }[]).map(({ type }) => type);
  expect(await typesOf("?type=record,release")).toEqual(["release", "record", "record"]);
  expect(await typesOf("?exclude_type=record&to_timestamp=1700000000")).toEqual([
    "registration",
    "authority",
  ]);
  expect((await get(`${path}?type=sale`)).error.message).toMatch(
    /^type must be some of registration, renewal/,
  );
  const ofAlice = await get(`/v1/addresses/${alice}/history`);
  expect((ofAlice.data as unknown as { type: string }[]).map(({ type }) => type)).toEqual([
    "registration",
    "authority",
  ]);
  // An event is the same entry wherever it is listed.
  expect((ofAlice.data as unknown as { id: string }[]).map(({ id }) => id)).toEqual(
    entries.slice(-2).map(({ id }) => id),
  );
});

describe("what happened to all names", () => {
  type Entry = Record<"id" | "type" | "namespace" | "registration_id" | "kind", string> & {
    chain_id: number;
    data: Record<string, unknown>;
  };
  const ask = async (query: string) => {
    const { data, page } = await get(`/v1/events${query}`);
    return { entries: data as unknown as Entry[], page };
  };
  const kinds = async (query: string) => (await ask(`${query}&include=raw`)).entries.map(({ kind }) => kind);

  test("newest first, in pages without gaps, each entry the one that histories have", async () => {
    const { entries } = await ask("?include=raw,data");
    expect(entries.map(({ kind }) => kind)).toEqual([
      "TextChanged",
      "MulticoinAddrChanged",
      "NameRegistered",
      "NewOwner",
    ]);
    expect(entries[0]).toMatchObject({ namespace: "ens", chain_id: 1, registration_id: null });
    expect(entries[2]?.registration_id).toBe(`1-${namehash("gone.eth")}-1700000000`);
    expect(entries[0]).toMatchObject({ contract_address: publicResolver });
    for (const order of ["asc", "desc"]) {
      const found: string[] = [];
      let next = "";
      do {
        const { entries, page } = await ask(`?order=${order}&page_size=1${next}`);
        found.push(...entries.map(({ id }) => id));
        next = page.has_more ? `&cursor=${page.next_cursor}` : "";
      } while (next !== "");
      const all = entries.map(({ id }) => id);
      expect(found).toEqual(order === "desc" ? all : all.reverse());
    }
    const { data } = await get("/v1/names/gone.eth/history?exclude_type=release");
    expect((data as unknown as Entry[]).map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
  });

  const registration = `1-${namehash("gone.eth")}-1700000000`;
  const cases: [string, string[]][] = [
    ["?type=record", ["TextChanged", "MulticoinAddrChanged"]],
    ["?exclude_type=record,authority", ["NameRegistered"]],
    ["?kind=NewOwner,TextChanged", ["TextChanged", "NewOwner"]],
    ["?record_key=addr:60", ["MulticoinAddrChanged"]],
    ["?record_key=text:url", ["TextChanged"]],
    ["?record_key=text:avatar", []],
    ["?from_timestamp=2023-11-14T22:15:00Z", ["TextChanged", "MulticoinAddrChanged"]],
    ["?to_timestamp=1700000099", ["NameRegistered", "NewOwner"]],
    ["?name=gone.eth&type=release,registration", ["Release", "NameRegistered"]],
    ["?name=plain.eth", []],
    [`?address=${alice}`, ["NameRegistered", "NewOwner"]],
    [`?address=${alice}&name=gone.eth&type=authority`, ["NewOwner"]],
    [`?address=${bob}&name=gone.eth`, []],
    [`?resolver=1:${publicResolver}`, ["TextChanged", "MulticoinAddrChanged"]],
    [`?resolver=1:${publicResolver}&name=gone.eth`, ["TextChanged", "MulticoinAddrChanged"]],
    [`?resolver=8453:${publicResolver}`, []],
    [`?contract_address=${publicResolver}`, ["TextChanged", "MulticoinAddrChanged"]],
    [`?contract_address=${publicResolver}&name=gone.eth&record_key=text:url`, ["TextChanged"]],
    // The registrar of .eth, the name wrapper, and the registrar of Basenames.
    ["?contract_address=0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", ["NameRegistered"]],
    ["?contract_address=0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401", []],
    ["?contract_address=0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a", []],
    [`?resolver=1:${alice}`, []],
    [`?registration_id=${registration}&exclude_type=record`, ["Release", "NameRegistered", "NewOwner"]],
    [`?registration_id=1-${namehash("gone.eth")}-1700000001&type=registration`, []],
    [`?registration_id=8453-${namehash("gone.eth")}-1700000000`, []],
    [`?registration_id=1-${namehash("gone.eth")}-wrapper`, []],
    ["?namespace=ens&from_block=100&to_block=100&type=authority", ["NewOwner"]],
    ["?namespace=ens&from_block=101&type=authority", []],
    ["?namespace=basenames", []],
  ];
  test.each(cases)("%s", async (query, expected) => {
    expect(await kinds(query)).toEqual(expected);
  });

  test("entries of a name or a registration are counted, others on request", async () => {
    expect((await ask("")).page.total_count).toBeNull();
    expect((await ask("?include=total_count&page_size=1")).page.total_count).toBe(4);
    expect((await ask("?name=gone.eth&page_size=1")).page.total_count).toBe(5);
  });

  const faults: [string, number, RegExp][] = [
    ["?typ=record", 400, /^unknown query parameter: typ$/],
    ["?type=sale", 400, /^type must be some of registration/],
    ["?type=release", 400, /^type=release needs name/],
    ["?kind=Sale", 400, /^kind must be some of/],
    ["?record_key=dns:a", 400, /^record_key must be/],
    ["?from_timestamp=yesterday", 400, /^from_timestamp must be Unix seconds or/],
    ["?from_timestamp=2026-02-30T00:00:00Z", 400, /^from_timestamp must be/],
    ["?from_block=1", 400, /^from_block and to_block need a namespace/],
    ["?from_block=x&namespace=ens", 400, /^from_block must be/],
    ["?resolver=0x12", 400, /^resolver must be <chain id>:<address>/],
    ["?registration_id=7", 400, /^registration_id must be/],
    ["?address=0x12", 400, /^address must be/],
    ["?name=a..eth", 400, /^The name is invalid/],
    ["?namespace=ons", 404, /^The namespace "ons" is not indexed/],
    ["?include=all", 400, /^include must contain only data, raw, or total_count$/],
    ["?include=data&include=raw", 400, /^include must be given once/],
    [`?name=${"%00"}`, 400, /^name must not hold NUL/],
  ];
  test.each(faults)("%s is refused", async (query, status, message) => {
    const found = await get(`/v1/events${query}`);
    expect([found.status, found.error.message]).toEqual([status, expect.stringMatching(message)]);
  });
});

describe("what changed the primary name of an account, and which registry emitted", () => {
  const reverseNode = namehash(`${dave.slice(2)}.addr.reverse`);
  const time = 1_600_000_000;
  const linked = `1-${publicResolver}-${reverseNode}`;
  // Mainnet's: the resolver, the two registries, the reverse registrars of the default and of layer-two chains.
  const contractOf = {
    registry: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e",
    oldRegistry: "0x314159265dd8dbb310642f98f50c066173c1259b",
    defaults: "0x283f227c4bd38ece252c4ae7ece650b0e913f1f9",
    others: "0x0000000000d8e504002cc26e3ec46d81971c1664",
  };
  const at = (block: number, log: number) => ({
    block_number: block,
    timestamp: time + block,
    log_index: log,
  });
  const transaction = `0x${"8".repeat(64)}`;

  beforeAll(async () => {
    await insert("resolver", {
      id: linked,
      domain_id: reverseNode,
      address: publicResolver,
      change_block: 1,
    });
    const named = { type: "NameChanged", resolver_id: linked, transaction_id: transaction };
    await insert("resolver_event", {
      id: "1-10-1",
      ...named,
      ...at(10, 1),
      name: "plain.eth",
      primary_name_of: dave,
    });
    await insert("resolver_event", { id: "1-14-1", ...named, ...at(14, 1), name: "", primary_name_of: dave });
    // The record of a name that is nobody's reverse name.
    const other = `1-${publicResolver}-${namehash("records.eth")}`;
    await insert("resolver_event", {
      id: "1-15-1",
      ...named,
      ...at(15, 1),
      resolver_id: other,
      name: "x.eth",
    });
    const onReverse = (id: string, coin: number, block: number, name: string | null) =>
      insert("reverse_name_events", {
        id,
        address: dave,
        coin_type: coin,
        name,
        transaction_hash: transaction,
        ...at(block, 2),
      });
    await onReverse("1-11-2", 2_147_483_648, 11, "pl.eth");
    await onReverse("8453-12-2", 2_147_492_101, 12, "dave.base.eth");
    await onReverse("10-13-2", 2_147_483_658, 13, null);
    const owned = { type: "NewOwner", domain_id: namehash("old.eth"), transaction_id: transaction };
    await insert("domain_event", {
      id: "1-16-0",
      ...owned,
      ...at(16, 0),
      owner_id: frank,
      from_old_registry: true,
    });
    await insert("domain_event", { id: "1-17-0", ...owned, ...at(17, 0), owner_id: frank });
  });

  type Entry = Record<
    "type" | "kind" | "namespace" | "name" | "namehash" | "contract_address" | "id",
    string
  > & {
    chain_id: number;
    data: Record<string, unknown>;
  };
  const entries = async (path: string) =>
    (await get(`${path}${path.includes("?") ? "&" : "?"}include=data,raw`)).data as unknown as Entry[];
  const blocks = async (query: string) =>
    (await entries(`/v1/events?to_timestamp=${time + 100}&order=asc&${query}`)).map(
      (entry) => (entry as unknown as { block_number: number }).block_number,
    );

  test("the history of an address has each, by coin type, with its reverse name", async () => {
    const found = await entries(`/v1/addresses/${dave}/history?order=asc`);
    const digits = dave.slice(2);
    const set = (coin: number, name: string) => ({ coin_type: coin, name, name_status: "set" });
    const cleared = (coin: number) => ({ coin_type: coin, name_status: "cleared" });
    const expected: [string, number, string, string, object][] = [
      ["addr", 1, "ens", publicResolver, set(60, "plain.eth")],
      ["default", 1, "ens", contractOf.defaults, set(2_147_483_648, "pl.eth")],
      // ENSIP-11 and ENSIP-19: the coin type of a chain is its id with the highest of 32 bits set.
      ["80002105", 8453, "basenames", contractOf.others, set(2_147_492_101, "dave.base.eth")],
      ["8000000a", 10, "ens", contractOf.others, cleared(2_147_483_658)],
      ["addr", 1, "ens", publicResolver, cleared(60)],
    ];
    expect(
      found.map(({ type, name, namehash, chain_id, namespace, contract_address, data }) => {
        const { action, address, ...rest } = data;
        expect(action).toBe("primary_name_recorded");
        return [type, name, namehash, address, chain_id, namespace, contract_address, rest];
      }),
    ).toEqual(
      expected.map(([parent, chain, namespace, contract, data]) => {
        const name = `${digits}.${parent}.reverse`;
        return ["primary_name", name, namehash(name), dave, chain, namespace, contract, data];
      }),
    );
    expect(found.map(({ kind }) => kind)).toEqual([
      "ReverseNameChanged",
      "NameForAddrChanged",
      "NameForAddrChanged",
      "NameForAddrChanged",
      "ReverseNameChanged",
    ]);
    // An event is one entry, the same in every list.
    const ofName = await entries(`/v1/names/${digits}.addr.reverse/history`);
    expect(ofName.map(({ type, id }) => [type, id])).toEqual([
      ["primary_name", found[4]?.id],
      ["primary_name", found[0]?.id],
    ]);
    const all = await entries("/v1/events?type=primary_name&order=asc");
    expect(all).toEqual(found);
  });

  const cases: [string, number[]][] = [
    ["type=primary_name", [10, 11, 12, 13, 14]],
    ["type=record", [15]],
    ["record_key=name", [10, 14, 15]],
    ["kind=NameForAddrChanged", [11, 12, 13]],
    [`address=${dave}&kind=ReverseNameChanged`, [10, 14]],
    [`resolver=1:${publicResolver}&kind=NameChanged,ReverseNameChanged`, [10, 14, 15]],
    // Chains without names of their own count as ENS's.
    ["type=primary_name&namespace=ens", [10, 11, 13, 14]],
    ["type=primary_name&namespace=basenames", [12]],
    ["type=primary_name&namespace=threedns", []],
    ["type=primary_name&namespace=ens&from_block=11&to_block=14", [11, 14]],
    [`contract_address=${contractOf.defaults}`, [11]],
    [`contract_address=${contractOf.others}`, [12, 13]],
    [`contract_address=${publicResolver}`, [10, 14, 15]],
    [`contract_address=${contractOf.oldRegistry}`, [16]],
    [`contract_address=${contractOf.registry}`, [17]],
    [`contract_address=${contractOf.registry}&name=old.eth`, [17]],
    ["type=authority", [16, 17]],
  ];
  test.each(cases)("%s", async (query, expected) => {
    expect(await blocks(query)).toEqual(expected);
  });

  test("an entry names the registry that emitted it", async () => {
    const { oldRegistry, registry } = contractOf;
    const found = await entries("/v1/names/old.eth/history?order=asc");
    expect(found.map(({ contract_address }) => contract_address)).toEqual([oldRegistry, registry]);
  });
});

describe("the members of rows, by the tables of the format", () => {
  const identity = ["name", "display_name", "namespace", "namehash"];
  const dates = ["expires_at", "grace_ends_at", "expires_at_reason"];
  const life = ["owner", "manager", "registered_at", "created_at", ...dates, "authority", "ens_v1"];
  const located = ["chain_id", "network"];
  const detail = [
    ...["status", ...life, ...located, "lapsed_registration", "migrated_at", "registration_id", "token_id"],
    ...[
      "resolver",
      "subregistry",
      "records",
      "primary_address",
      "primary_name",
      "subname_count",
      "record_count",
    ],
    ...["unresolvable_reason", "resolution_unsupported_reason", "unsupported_reason", "failure_reason"],
    "unsupported_fields",
  ];
  const reverse = ["is_primary", "relations", "resolution", "resolutions"];
  // What this API adds, in any row.
  const ours = ["in_grace", "wrapper", "is_primary_verified"];
  const feed = ["status", ...dates, "ens_v1", "lapsed_registration", "subregistry", ...located, ...reverse];
  type Members = { required: string[]; optional: string[] };
  const ofDetail = { required: [...identity, "read_status"], optional: detail };
  const ofLookup = { required: ofDetail.required, optional: [...detail, ...reverse] };
  const ofFeed = { required: ofDetail.required, optional: feed };
  const ofSearch = { required: [...identity, "status"], optional: life };
  const ofList = {
    required: ofSearch.required,
    optional: [...life, "lapsed_registration", "expires_window_index"],
  };
  const ofSubname = {
    required: ofSearch.required,
    optional: [...life, "labelhash", "subname_count", "subregistry"],
  };
  const ofAddress = {
    required: [...ofSearch.required, "relations", "is_primary"],
    optional: [
      ...life,
      "lapsed_registration",
      "permission_resource_id",
      "record_count",
      "subname_count",
      "resolution",
    ],
  };
  const wrapperMembers = [
    "wrapper_state",
    "wrapper_fuses",
    "wrapper_expires_at",
    "wrapper_expires_at_reason",
  ];

  const all = [
    ...[
      "plain.eth",
      "grace.eth",
      "gone.eth",
      "wrapped.eth",
      "wrappedgrace.eth",
      "wrappedgone.eth",
      "anew.eth",
    ],
    ...[
      "sub.wrapped.eth",
      "locked.wrapped.eth",
      "lapsed.wrapped.eth",
      "moved.wrapped.eth",
      "child.plain.eth",
    ],
    ...["ownerless.plain.eth", "old.eth", "me.base.eth", "me.linea.eth", "me.box", "records.eth"],
  ];
  const rowsOf = async (path: string) => {
    const body = (await (await open().fetch(path)).json()) as Body;
    return [body.data].flat() as unknown as Record<string, unknown>[];
  };
  const lookedUp = async (profile: string) => {
    const inputs = [...all.map((name) => ({ name })), ...[alice, bob, carol].map((address) => ({ address }))];
    const init = { method: "POST", body: JSON.stringify({ inputs, profile }) };
    const { data } = (await (await open().fetch("/v1/lookup", init)).json()) as { data: Result[] };
    expect(data.every(({ status }) => status === "ok")).toBe(true);
    return data.flatMap(({ record, records }) =>
      [record, records].flat().filter(Boolean),
    ) as unknown as Record<string, unknown>[];
  };
  const kinds: [string, Members, () => Promise<Record<string, unknown>[]>][] = [
    [
      "a name",
      ofDetail,
      async () => (await Promise.all(all.map((name) => rowsOf(`/v1/names/${name}`)))).flat(),
    ],
    ["a lookup in detail", ofLookup, () => lookedUp("detail")],
    ["a lookup for a feed", ofFeed, () => lookedUp("feed")],
    ["a search", ofSearch, () => rowsOf("/v1/search?q=e&match=contains&page_size=200")],
    ["a search by relevance", ofSearch, () => rowsOf("/v1/search?q=wrapped&sort=relevance")],
    ["deadlines", ofList, () => rowsOf(`/v1/names?namespace=ens&expires_window=1..${later + 1}`)],
    ["subnames", ofSubname, () => rowsOf("/v1/names/wrapped.eth/subnames")],
    ["names of an address", ofAddress, () => rowsOf(`/v1/addresses/${alice}/names`)],
    ["lost names", ofAddress, () => rowsOf(`/v1/addresses/${alice}/names?relation=former_owner`)],
  ];

  const check = (row: Record<string, unknown>, { required, optional }: Members) => {
    expect(Object.keys(row)).toEqual(expect.arrayContaining(required));
    const known = [...required, ...optional, ...ours];
    expect(Object.keys(row).filter((key) => !known.includes(key))).toEqual([]);
    // A date that is null says why; a name of ENSv1 has what ENSv1 says of it.
    expect("expires_at_reason" in row).toBe(row["expires_at"] === null);
    const { ens_v1: first } = row as { ens_v1?: Record<string, unknown> };
    if (!first) return;
    expect(Object.keys(first)).toEqual(expect.arrayContaining(["expires_at", "resolver"]));
    const others = Object.keys(first).filter(
      (key) => !["expires_at", "resolver", ...wrapperMembers].includes(key),
    );
    expect(others).toEqual([]);
  };

  test.each(kinds)("%s", async (_, members, read) => {
    const rows = await read();
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) check(row, members);
  });
});

test("records by key", async () => {
  const { data } = await get("/v1/names/records.eth/records?keys=addr:60,text:url,avatar,contenthash,addr:1");
  expect((data as unknown as { records: unknown }).records).toEqual({
    "addr:1": { status: "not_found" },
    "addr:60": { status: "ok", value: alice },
    avatar: { status: "not_found" },
    contenthash: { status: "ok", value: "0xe301" },
    "text:url": { status: "ok", value: "https://ens.domains" },
  });
  expect((await get("/v1/names/records.eth/records?keys=dns:a")).error.code).toBe("invalid_input");
});

describe("records from the chain", () => {
  const ask = async (query: string, chain = chainOf()) => {
    const { body } = await open(chain).ask(`/v1/names/records.eth/records${query}`);
    return body as {
      data: { records: Record<string, { status: string }> };
      meta: { source: string };
      error: { code: string };
    };
  };

  test("a chain that cannot be asked fails each key, and leaves what is indexed", async () => {
    const verified = await ask("?keys=addr:60,text:url&source=verified");
    expect(verified.meta.source).toBe("verified");
    expect(Object.values(verified.data.records).map(({ status }) => status)).toEqual(["failed", "failed"]);
    const auto = await ask("?keys=addr:60,text:url&source=auto");
    expect(auto.meta.source).toBe("indexed");
    expect(auto.data.records["addr:60"]).toEqual({ status: "ok", value: alice });
  });

  test("more than 50 of a kind are refused", async () => {
    const keys = Array.from({ length: 51 }, (_, coin) => `addr:${coin}`).join(",");
    expect((await ask(`?keys=${keys}&source=verified`)).error.code).toBe("unsupported");
  });
});

test("status and namespaces", async () => {
  expect((await get("/v1/status")).data.status).toBe("ready");
  expect((await get("/v1/namespaces/threedns")).data).toMatchObject({
    networks: [
      { network: "optimism", chain_id: 10 },
      { network: "base", chain_id: 8453 },
    ],
  });
});

describe("what requests may look like", () => {
  test("addresses of any case, whatever their checksum", async () => {
    const node = namehash("plain.eth");
    await client.query("UPDATE domain SET owner_id = $1 WHERE id = $2", [mixed.toLowerCase(), node]);
    for (const address of [mixed, mixed.toUpperCase(), mixed.toLowerCase()]) {
      const { data } = await get(`/v1/addresses/${address}/names`);
      expect(namesOf(data)).toEqual(["plain.eth"]);
      for (const rest of ["history", "primary-name?source=indexed"])
        expect((await get(`/v1/addresses/${address}/${rest}`)).status).toBe(200);
      expect((await open().fetch(`/v1/addresses/${address}/calendar.ics`)).status).toBe(200);
      for (const parameter of ["address=", "contract_address=", "resolver=1:"])
        expect((await get(`/v1/events?${parameter}${address}`)).status).toBe(200);
      const [found] = (await post({ inputs: [{ address }] })).data;
      expect(namesOf(found?.records)).toEqual(["plain.eth"]);
    }
    await client.query("UPDATE domain SET owner_id = $1 WHERE id = $2", [bob, node]);
  });

  test("one bad name or address leaves the others of a look-up", async () => {
    const long = `${"a".repeat(2_001)}.eth`;
    const { data } = await post({
      inputs: [{ address: "0x12" }, { name: "plain.eth" }, { name: long }, { address: alice }, { name: "" }],
    });
    expect(data.map(({ status }) => status)).toEqual(["failed", "ok", "invalid_name", "ok", "invalid_name"]);
    expect(data[0]).toEqual({
      input: { address: "0x12", coin_type: 60 },
      kind: "address",
      status: "failed",
      failure_reason: "address must be a 0x-prefixed 20-byte hex string",
    });
    const empty = await post({ inputs: [{ id: " ", name: "plain.eth" }, { name: "plain.eth" }] });
    expect(empty).toMatchObject({
      error: { code: "invalid_input", message: "lookup input id must not be empty" },
    });
  });

  test("a look-up says what was asked", async () => {
    const { data } = await post({
      inputs: [
        { address: alice },
        { id: "a", address: alice, relation: "any", page_size: 3 },
        { address: alice, relation: "manager, owner,manager" },
        { name: "Plain.eth" },
      ],
    });
    const address = { address: alice, coin_type: 60 };
    expect(data.map((one) => (one as unknown as { input: unknown }).input)).toEqual([
      address,
      { id: "a", ...address, relation: "owner,manager", page_size: 3 },
      { ...address, relation: "owner,manager" },
      { name: "Plain.eth" },
    ]);
  });

  test("relations in any order, repeatedly; a row has those that were asked for", async () => {
    const of = async (relation: string) => {
      const { data, status } = await get(`/v1/addresses/${alice}/names?q=grace&relation=${relation}`);
      expect(status).toBe(200);
      return (data as Row[]).map(({ relations }) => relations);
    };
    for (const both of ["owner,manager", "manager,owner", "manager,owner,manager", "any,owner", " any "])
      expect(await of(both)).toEqual([["owner", "manager"]]);
    expect(await of("manager")).toEqual([["manager"]]);
    const inputs = ["manager", "owner,manager"].map((relation) => ({ address: alice, relation }));
    const [managed, any] = (await post({ inputs })).data;
    const graceOf = (result: Result | undefined) =>
      result?.records.find(({ name }) => name === "grace.eth")?.relations;
    expect([graceOf(managed), graceOf(any)]).toEqual([["manager"], ["owner", "manager"]]);
  });

  test("blanks around values, and empty ones", async () => {
    const { data, status } = await get(`/v1/addresses/${alice}/names?relation=%20owner%20&q=%20&cursor=`);
    expect([status, data.length]).toEqual([200, 5]);
    expect((await get("/v1/search?q=%20plain%20")).data).toHaveLength(1);
    expect((await get("/v1/search?q=%20")).error.message).toBe("q is missing");
  });

  test("what is near to an unknown parameter is a detail", async () => {
    const { error } = await get("/v1/names/plain.eth?inclde=counts");
    expect(error).toEqual({
      code: "invalid_input",
      message: "unknown query parameter: inclde",
      details: { hint: "did you mean include?" },
    });
  });

  test("reads of one thing have a token, lists have none", async () => {
    const hasToken = ({ meta }: { meta: object }) => "as_of_token" in meta;
    for (const path of [
      "/v1/names/plain.eth",
      "/v1/names/plain.eth/records",
      `/v1/addresses/${alice}/primary-name?source=indexed`,
    ])
      expect(hasToken(await get(path))).toBe(true);
    expect(hasToken(await post({ inputs: [{ name: "plain.eth" }] }))).toBe(true);
    expect(hasToken(await get(`/v1/addresses/${alice}/names`))).toBe(false);
  });

  test("a total above 1,000 on request", async () => {
    const { page } = await get(`/v1/addresses/${bob}/names?include=total_count`);
    expect(page.total_count).toBe(7);
    const refused = await get(`/v1/addresses/${bob}/names?include=total_count&relation=resolves_to`);
    expect([refused.status, refused.error.code]).toEqual([400, "invalid_input"]);
  });
});

describe("names that were registered without being normalised, where the index keeps them as they are", () => {
  const strange = ["NaN.eth", "a b.eth"];
  beforeAll(async () => {
    for (const name of strange) await store(name, { owner: frank });
  });
  afterAll(async () => {
    for (const name of strange) await client.query("DELETE FROM domain WHERE id = $1", [namehash(name)]);
  });

  test.each(strange)("%s is read by its node, and as it is written", async (name) => {
    for (const given of [namehash(name), name]) {
      for (const rest of ["", "/records", "/subnames", "/history"]) {
        const { status, data } = await get(`/v1/names/${encodeURIComponent(given)}${rest}`);
        expect([given, rest, status]).toEqual([given, rest, 200]);
        if (rest === "") expect(data).toMatchObject({ name, namehash: namehash(name) });
      }
      const [found] = (await post({ inputs: [{ name: given }] })).data;
      expect(found).toMatchObject({ status: "ok", record: { name } });
      expect(found).not.toHaveProperty("normalization");
    }
  });

  test("the normalised name comes first", async () => {
    await store("nan.eth", { owner: alice });
    const { data } = await get("/v1/names/NaN.eth");
    await client.query("DELETE FROM domain WHERE id = $1", [namehash("nan.eth")]);
    expect(data).toMatchObject({ name: "nan.eth", owner: alice });
  });

  test("names that nobody registered are still faulty", async () => {
    expect((await get("/v1/names/a%20c.eth")).status).toBe(400);
    expect((await get("/v1/names/Missing.eth")).status).toBe(404);
  });
});

describe("what a name that ended, or never ends, has", () => {
  test("released: no resolver and no records, which are the former holder's", async () => {
    const node = namehash("gone.eth");
    await client.query("UPDATE domain SET resolver_id = $1, resolved_address_id = $2 WHERE id = $3", [
      `1-${publicResolver}-${node}`,
      eve,
      node,
    ]);
    const { data } = await get("/v1/names/gone.eth?include=counts");
    expect(data).toMatchObject({
      status: "released",
      // The registry still has it.
      ens_v1: { resolver: { chain_id: 1, address: publicResolver } },
    });
    for (const member of ["resolver", "records", "primary_address", "record_count"])
      expect(data).not.toHaveProperty(member);
    const records = await get("/v1/names/gone.eth/records?keys=addr:60");
    expect(records.data).toMatchObject({
      resolver: null,
      records: { "addr:60": { status: "unsupported", unsupported_reason: "inventory_not_available" } },
    });
    expect((await get(`/v1/addresses/${eve}/names?relation=resolves_to`)).data).toEqual([]);
    await client.query("UPDATE domain SET resolver_id = NULL, resolved_address_id = NULL WHERE id = $1", [
      node,
    ]);
  });

  test("a wrapper entry without a date says why", async () => {
    const patient = `0x${"7e".repeat(20)}`;
    const noExpiry = "18446744073709551615";
    await store("forever.wrapped.eth", {
      owner: wrapper,
      wrapped: { owner: patient, fuses: 0, expires: 0 },
    });
    const node = namehash("forever.wrapped.eth");
    await client.query("UPDATE wrapped_domain SET expiry_date = $1 WHERE id = $2", [noExpiry, node]);
    await store("dated.wrapped.eth", {
      owner: wrapper,
      wrapped: { owner: patient, fuses: 0, expires: later },
    });
    const none = async (name: string) => {
      const { ens_v1 } = (await get(`/v1/names/${name}`)).data;
      return [ens_v1?.wrapper_expires_at, ens_v1?.wrapper_expires_at_reason];
    };
    expect(await none("sub.wrapped.eth")).toEqual([null, "not_set"]);
    expect(await none("forever.wrapped.eth")).toEqual([null, "no_expiry"]);
    expect(await none("dated.wrapped.eth")).toEqual([String(later), undefined]);
    // What has no date is the smallest, in either order.
    const sorted = async (order: string) =>
      namesOf((await get(`/v1/addresses/${patient}/names?sort=expires_at&order=${order}`)).data);
    expect(await sorted("desc")).toEqual(["dated.wrapped.eth", "forever.wrapped.eth"]);
    expect(await sorted("asc")).toEqual(["forever.wrapped.eth", "dated.wrapped.eth"]);
    for (const name of ["forever.wrapped.eth", "dated.wrapped.eth"])
      for (const table of ["domain", "wrapped_domain"])
        await client.query(`DELETE FROM ${table} WHERE id = $1`, [namehash(name)]);
  });
});

describe("primary names by chain, and names that resolve to an address on any", () => {
  const [base, linea, standard] = [2_147_492_101, 2_147_542_792, 2_147_483_648];
  const holder = `0x${"7c".repeat(20)}`;
  const node = namehash("records.eth");
  const at = { chain_id: 1, address: publicResolver, node };
  beforeAll(async () => {
    await insert("reverse_name_records", { address: holder, coin_type: base, value: "me.base.eth" });
    await insert("reverse_name_records", { address: holder, coin_type: standard, value: "records.eth" });
    for (const coin_type of [base, linea])
      await insert("resolver_address_records", { ...at, coin_type, value: holder });
  });
  afterAll(async () => {
    await client.query("DELETE FROM reverse_name_records WHERE address = $1", [holder]);
    await client.query("DELETE FROM resolver_address_records WHERE value = $1", [holder]);
  });

  const cases: [string, number, object][] = [
    ["", 60, { namespace: "ens", answers: [{ status: "ok", name: "records.eth" }] }],
    [
      "&namespace=basenames",
      base,
      { namespace: "basenames", answers: [{ status: "ok", name: "me.base.eth" }] },
    ],
    [`&coin_type=${base}`, base, { answers: [{ status: "ok", name: "me.base.eth" }] }],
    // Without a name of its own the chain has the default one (ENSIP-19).
    ["&namespace=lineanames", linea, { answers: [{ status: "ok", name: "records.eth" }] }],
    [`&coin_type=${standard}`, standard, { answers: [{ status: "ok", name: "records.eth" }] }],
    ["&coin_type=0", 0, { answers: [{ status: "unsupported" }] }],
  ];
  test.each(cases)("primary name ?source=indexed%s", async (query, coin, expected) => {
    const { data } = await get(`/v1/addresses/${holder}/primary-name?source=indexed${query}`);
    expect(data).toMatchObject({ coin_type: coin, ...expected });
  });

  test("the chain is asked for the coin type", async () => {
    const { data } = await get(`/v1/addresses/${holder}/primary-name?source=verified&coin_type=0`);
    expect(data).toMatchObject({ answers: [{ source: "verified", status: "unsupported" }] });
    const away = await get(`/v1/addresses/${holder}/primary-name?source=verified&namespace=basenames`);
    expect(away.data).toMatchObject({ answers: [{ source: "verified", status: "failed" }] });
    expect((await get(`/v1/addresses/${holder}/primary-name?namespace=ons`)).status).toBe(404);
  });

  test("what a name resolves by", async () => {
    const of = async (coin: string | number) =>
      (await get(`/v1/addresses/${holder}/names?relation=resolves_to&coin_type=${coin}`)).data;
    expect(await of(60)).toEqual([]);
    expect(await of(base)).toMatchObject([
      {
        name: "records.eth",
        relations: ["resolves_to"],
        resolution: { coin_type: base, record_key: `addr:${base}` },
      },
    ]);
    // The claim for that chain is another name; that for Linea is the default one.
    expect((await of(base))[0]).toMatchObject({ is_primary: false });
    expect((await of(linea))[0]).toMatchObject({ is_primary: true });
    const evm = await of("evm");
    expect(evm).toMatchObject([
      {
        name: "records.eth",
        is_primary: false,
        resolutions: [base, linea].map((coin) => ({ coin_type: coin, record_key: `addr:${coin}` })),
      },
    ]);
    expect(evm[0]).not.toHaveProperty("resolution");
    await insert("resolver_address_records", { ...at, coin_type: standard, value: holder });
    expect((await of(2_147_483_649))[0]).toMatchObject({
      resolution: { coin_type: 2_147_483_649, record_key: `addr:${standard}` },
    });
    // The record of the default coin type is one of them, and so is the claim for it.
    expect((await of("evm"))[0]).toMatchObject({ is_primary: true });
    const wrong = await get(`/v1/addresses/${holder}/names?relation=resolves_to&coin_type=EVM`);
    expect([wrong.status, wrong.error.message]).toEqual([400, "coin_type must be decimal digits, or evm"]);
  });

  test("more than 100 coin types of a name are refused", async () => {
    for (let coin = standard + 1; coin <= standard + 101; coin++)
      await insert("resolver_address_records", { ...at, coin_type: coin, value: holder });
    const { status, error } = await get(`/v1/addresses/${holder}/names?relation=resolves_to&coin_type=evm`);
    expect([status, error.code]).toEqual([422, "unsupported"]);
  });
});

test("the subgraph's tables tell which name an address claims", async () => {
  const claimer = `0x${"7d".repeat(20)}`;
  for (const owned of ["one.eth", "two.eth"]) await store(owned, { owner: claimer });
  await store(`${claimer.slice(2)}.addr.reverse`, { owner: claimer, resolver: publicResolver });
  const node = namehash(`${claimer.slice(2)}.addr.reverse`);
  const resolver = `1-${publicResolver}-${node}`;
  await insert("resolver", { id: resolver, domain_id: node, address: publicResolver, change_block: 1 });
  const name = (id: string, value: string | null, type = "NameChanged") =>
    insert("resolver_event", {
      id,
      type,
      log_index: 0,
      block_number: Number(id.split("-")[1]),
      timestamp: 1_700_000_000,
      transaction_id: `0x${"8".repeat(64)}`,
      resolver_id: resolver,
      name: value,
    });
  const { ask } = open(chainOf(), { hasRecords: false });
  const claimed = async () => {
    const { body } = await ask(`/v1/addresses/${claimer}/names`);
    const rows = (body as Body).data as Row[];
    const lookedUp = await ask("/v1/lookup", {
      method: "POST",
      body: JSON.stringify({ inputs: [{ address: claimer }] }),
    });
    const [{ records = [] } = {}] = (lookedUp.body as { data: Partial<Result>[] }).data;
    const primary = (some: Row[]) => some.filter(({ is_primary }) => is_primary).map((row) => row.name);
    expect(rows.every(({ is_primary }) => is_primary !== undefined)).toBe(true);
    expect(primary(records)).toEqual(primary(rows));
    const answer = await ask(`/v1/addresses/${claimer}/primary-name?source=indexed`);
    const [{ name = null } = {}] = (answer.body as { data: { answers: { name?: string }[] } }).data.answers;
    return [name, primary(rows)];
  };
  expect(await claimed()).toEqual([null, []]);
  await name("1-900-0", "one.eth");
  await name("1-901-0", "two.eth");
  expect(await claimed()).toEqual(["two.eth", ["two.eth"]]);
  await name("1-902-0", null, "VersionChanged");
  expect(await claimed()).toEqual([null, []]);
});
