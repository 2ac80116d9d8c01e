import { decodeFunctionData, encodeFunctionResult, getAddress } from "viem";
import { describe, expect, test } from "vitest";
import { resolverReadAbi, universalResolverAbi } from "../../../abis/resolver.ts";
import { chainOf } from "../../../test/support/endpoints.ts";
import { namesOf } from "../../../test/support/lookups/lookups.ts";
import {
  addressOf,
  alice,
  bob,
  createStoredNames,
  dave,
  home,
  lineaWrapper,
  now,
  past,
  publicResolver,
  wrapper,
  zero,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import type { NameRow } from "../../read/names/rows.ts";

// Names of an address, and the name that it claims.
const { insert, store, setRecords, setAddresses, open, get, post, all } = await createStoredNames();

type Claims = { answers: object[]; verification?: object };

const defaultCoin = 2_147_483_648;
// ENSIP-11: the coin type of a chain is its id with the highest of 32 bits set.
const [base, linea] = [2_147_492_101, 2_147_542_792];
const claim = (address: string, coin_type: number, value: string) =>
  insert("reverse_name_records", { address, coin_type, value });

const ownedByAlice = ["grace.eth", "me.base.eth", "plain.eth", "wrapped.eth", "wrappedgrace.eth"];
test.each<[string, string, string[]]>([
  [alice, "relation=owner", ownedByAlice],
  [alice, "relation=%20owner%20&q=%20&cursor=", ownedByAlice],
  [alice, "relation=manager", ["grace.eth", "wrapped.eth"]],
  [alice, "relation=former_owner", ["gone.eth", "wrappedgone.eth", "me.box"]],
  [alice, `relation=former_owner&expires_after=${past + 1}`, ["me.box"]],
  // The end is not in the window.
  [
    alice,
    `relation=former_owner&expires_after=${past}&expires_before=${now}`,
    ["gone.eth", "wrappedgone.eth"],
  ],
  [alice, "relation=former_owner&parent=eth&order=desc&sort=expires_at", ["wrappedgone.eth", "gone.eth"]],
  [alice, "relation=resolves_to&coin_type=60", []],
  // Names of other chains have no authority.
  [alice, "relation=owner&authority=ens_v1", ownedByAlice.filter((name) => name !== "me.base.eth")],
  [alice, "relation=owner&authority=ens_v2", []],
  [bob, "relation=owner&authority=ens_v0", ["old.eth"]],
  [
    bob,
    "relation=owner&authority=ens_v2,ens_v1%2Cens_v0",
    ["anew.eth", "locked.wrapped.eth", "old.eth", "records.eth", "sub.wrapped.eth"],
  ],
  [alice, "relation=owner&is_migrated=true", []],
  [alice, "relation=owner&is_migrated=false&dedupe=registration", ownedByAlice],
  [bob, "namespace=basenames", ["me.base.eth"]],
  [bob, "order=desc&page_size=2", ["sub.wrapped.eth", "records.eth"]],
])("names of %s by %s", async (address, query, expected) => {
  const { status, data } = await get(`/v1/addresses/${address}/names?${query}`);
  expect([status, namesOf(data)]).toEqual([200, expected]);
});

test("relations in any order, repeatedly; a row has those that were asked for", async () => {
  const of = async (relation: string) =>
    (await get(`/v1/addresses/${alice}/names?q=grace&relation=${relation}`)).data.map(
      ({ relations }) => relations,
    );
  for (const both of ["owner,manager", "manager,owner", "manager,owner,manager", "any,owner", " any "])
    expect(await of(both)).toEqual([["owner", "manager"]]);
  expect(await of("manager")).toEqual([["manager"]]);
  const inputs = ["manager", "owner,manager"].map((relation) => ({ address: alice, relation }));
  const { data } = await post({ inputs });
  const ofGrace = data.map(({ records }) => records.find(({ name }) => name === "grace.eth")?.relations);
  expect(ofGrace).toEqual([["manager"], ["owner", "manager"]]);
});

test("addresses of any case, whatever their checksum", async () => {
  const mixed = "0x70997970C51812dc3A010c7d01b50e0d17DC79c8";
  await store("mixed.eth", { owner: mixed.toLowerCase() });
  for (const address of [mixed, mixed.toUpperCase(), mixed.toLowerCase()]) {
    expect(namesOf((await get(`/v1/addresses/${address}/names`)).data)).toEqual(["mixed.eth"]);
    for (const path of [
      `addresses/${address}/history`,
      `addresses/${address}/primary-name?source=indexed`,
      ...["address=", "contract_address=", "resolver=1:"].map((given) => `events?${given}${address}`),
    ])
      expect((await get(`/v1/${path}`)).status).toBe(200);
    expect((await open().fetch(`/v1/addresses/${address}/calendar.ics`)).status).toBe(200);
    const [found] = (await post({ inputs: [{ address }] })).data;
    expect(namesOf(found?.records)).toEqual(["mixed.eth"]);
  }
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

test("pages join without gaps, in each order", async () => {
  for (const sort of ["name", "expires_at", "registered_at", "created_at"]) {
    for (const order of ["asc", "desc"]) {
      const path = `/v1/addresses/${bob}/names?sort=${sort}&order=${order}`;
      const { data, page } = await get(path);
      expect(page).toMatchObject({ has_more: false, next_cursor: null, total_count: data.length });
      expect(namesOf(await all(path, 2))).toEqual(namesOf(data));
    }
  }
});

test("a total above 1,000 on request", async () => {
  const { page } = await get(`/v1/addresses/${bob}/names?include=total_count`);
  expect(page.total_count).toBe(7);
  const { page: none } = await get(`/v1/addresses/${bob}/names?include=total_count&relation=resolves_to`);
  expect(none.total_count).toBeNull();
});

test("the index does not tell whether a claimed name of another chain resolves back: a gateway answers for it", async () => {
  const claimer = addressOf("7a");
  await store("far.base.eth", { owner: claimer, home: home.base });
  await claim(claimer, defaultCoin, "far.base.eth");
  await insert("domain_resolver_relations", {
    chain_id: 8453,
    address: "0xb94704422c2a1e396835a571837aa5ae53285a95",
    domain_id: namehash("far.base.eth"),
    resolver: "0xc6d566a56a1aff6508b41f6c90ff131615583bcd",
  });
  const { data } = await get<NameRow[]>(`/v1/addresses/${claimer}/names`);
  expect(data).toMatchObject([{ name: "far.base.eth", is_primary: true }]);
  expect(data[0]).not.toHaveProperty("is_primary_verified");
});

describe("the default address (ENSIP-19)", async () => {
  const general = addressOf("7b");
  const holder = addressOf("7f");
  await store("general.eth", { owner: holder, resolver: publicResolver });
  await setRecords("general.eth", { addresses: { 60: holder, [defaultCoin]: general } });

  test("stands for EVM coin types without a record of their own", async () => {
    const { data } = await get("/v1/names/general.eth/records?keys=addr:60,addr:2147492101,addr:2");
    expect(data.records).toEqual({
      "addr:2": { status: "not_found" },
      "addr:2147492101": {
        status: "ok",
        value: general,
        decoded: { address: getAddress(general) },
        meta: {
          basis: "derived",
          rule: "ensip19_default_address",
          source_record_key: "addr:2147483648",
        },
      },
      "addr:60": { status: "ok", value: holder, decoded: { address: getAddress(holder) } },
    });
  });

  test.each<[string, number, string[]]>([
    [general, base, ["general.eth"]],
    [general, defaultCoin, ["general.eth"]],
    // Its own record hides the default one.
    [general, 60, []],
    [general, 2, []],
    [zero, 60, []],
  ])("%s by coin type %i", async (address, coin, expected) => {
    const { data } = await get(`/v1/addresses/${address}/names?relation=resolves_to&coin_type=${coin}`);
    expect(namesOf(data)).toEqual(expected);
  });
});

describe("primary names by chain, and names that resolve to an address on any", async () => {
  const holder = addressOf("7c");
  await claim(holder, base, "me.base.eth");
  await claim(holder, defaultCoin, "records.eth");
  await setAddresses("records.eth", { [base]: holder, [linea]: holder });
  const named = (name: string) => [{ status: "ok", name }];

  test.each<[string, number, object]>([
    ["source=indexed", 60, { namespace: "ens", answers: named("records.eth") }],
    ["source=indexed&namespace=basenames", base, { namespace: "basenames", answers: named("me.base.eth") }],
    [`source=indexed&coin_type=${base}`, base, { answers: named("me.base.eth") }],
    // Without a name of its own the chain has the default one (ENSIP-19).
    ["source=indexed&namespace=lineanames", linea, { answers: named("records.eth") }],
    [`source=indexed&coin_type=${defaultCoin}`, defaultCoin, { answers: named("records.eth") }],
    ["source=indexed&coin_type=0", 0, { answers: [{ status: "unsupported" }] }],
    // The chain is asked for the coin type.
    ["source=verified&coin_type=0", 0, { answers: [{ source: "verified", status: "unsupported" }] }],
    ["source=verified&namespace=basenames", base, { answers: [{ source: "verified", status: "failed" }] }],
  ])("primary name by %s", async (query, coin, expected) => {
    const { data } = await get(`/v1/addresses/${holder}/primary-name?${query}`);
    expect(data).toMatchObject({ coin_type: coin, ...expected });
  });

  test("what a name resolves by", async () => {
    const of = async (coin: string | number) =>
      (await get(`/v1/addresses/${holder}/names?relation=resolves_to&coin_type=${coin}`)).data;
    const name = "records.eth";
    const key = (coin: number) => ({ coin_type: coin, record_key: `addr:${coin}` });
    expect(await of(60)).toEqual([]);
    // The claim for that chain is another name; that for Linea is the default one.
    expect(await of(base)).toMatchObject([
      { name, relations: ["resolves_to"], resolution: key(base), is_primary: false },
    ]);
    expect((await of(linea))[0]).toMatchObject({ is_primary: true });
    const evm = await of("evm");
    expect(evm).toMatchObject([{ name, is_primary: false, resolutions: [key(base), key(linea)] }]);
    expect(evm[0]).not.toHaveProperty("resolution");
    await setAddresses(name, { [defaultCoin]: holder });
    expect((await of(defaultCoin + 1))[0]).toMatchObject({
      resolution: { coin_type: defaultCoin + 1, record_key: `addr:${defaultCoin}` },
    });
    // The record of the default coin type is one of them, and so is the claim for it.
    expect((await of("evm"))[0]).toMatchObject({ is_primary: true });
    const coins = Array.from({ length: 101 }, (_, at): [number, string] => [defaultCoin + 1 + at, holder]);
    await setAddresses(name, Object.fromEntries(coins));
    const many = await get(`/v1/addresses/${holder}/names?relation=resolves_to&coin_type=evm`);
    expect([many.status, many.error.code]).toEqual([422, "unsupported"]);
  });
});

describe("what the chain says of a primary name", () => {
  const abi = [...resolverReadAbi, ...universalResolverAbi];
  /** A chain with one resolver, at which the account claims a name that has an address. */
  const chainWith = (name: string, owner: string) =>
    chainOf(({ data }) => {
      const { functionName, args } = decodeFunctionData({ abi, data });
      const results: Record<string, unknown> = {
        findResolver: [publicResolver, namehash(""), 0n],
        supportsInterface: false,
        ...{ name, addr: owner },
      };
      const isMeant = (item: (typeof abi)[number]) =>
        item.name === functionName && item.inputs.length === args.length;
      return encodeFunctionResult({
        ...{ abi: abi.filter(isMeant), functionName, result: results[functionName] },
      } as never);
    });

  test.each<[string, string, object]>([
    ["plain.eth", alice, { status: "ok", name: "plain.eth" }],
    ["plain.eth", bob, { status: "mismatch", name: "plain.eth", reason: "other_address" }],
    ["plain.eth", "0x", { status: "not_found", reason: "no_forward_record" }],
    ["Plain.eth", alice, { status: "not_found", reason: "not_normalized" }],
    ["", alice, { status: "not_found", reason: "no_reverse_record" }],
  ])("the claim %j of a name with the address %s", async (name, owner, expected) => {
    const { get } = open({ chain: chainWith(name, owner) });
    const path = `/v1/addresses/${alice}/primary-name`;
    const verified = { source: "verified", ...expected };
    const { answers, verification } = (await get<Claims>(`${path}?source=verified`)).data;
    expect({ answers, verification }).toEqual({ answers: [verified], verification: expected });
    const both = await get(path);
    expect(both.data).toMatchObject({ answers: [{ source: "indexed" }, verified], verification: expected });
    expect((await get(`${path}?source=indexed`)).data).not.toHaveProperty("verification");
  });
});

test("an index that cannot ask the chain says so", async () => {
  const { data } = await get<Claims>(`/v1/addresses/${alice}/primary-name?source=verified`);
  expect(data.answers).toMatchObject([{ status: "failed", reason: "resolver_unreachable" }]);
});

describe("why the index has no primary name of an address", async () => {
  const reason = async (address: string) =>
    (await get<Claims>(`/v1/addresses/${address}/primary-name?source=indexed`)).data.answers;
  const unset = addressOf("91");
  const [empty, elsewhere, own, onBase] = ["92", "93", "94", "95"].map(addressOf) as [
    string,
    string,
    string,
    string,
  ];
  const owned = { owner: dave, resolver: publicResolver };
  for (const [name, holder, address] of [
    ["empty.eth", empty, undefined],
    ["elsewhere.eth", elsewhere, bob],
    ["own.eth", own, own],
  ] as const) {
    await store(name, owned);
    await setRecords(name, { addresses: address === undefined ? {} : { 60: address } });
    await claim(holder, defaultCoin, name);
  }
  await store("gateway.base.eth", { owner: dave, home: home.base });
  await claim(onBase, defaultCoin, "gateway.base.eth");
  const odd = addressOf("96");
  await claim(odd, defaultCoin, "Odd.eth");
  const ok = { source: "indexed", status: "ok" };

  test.each([
    [unset, { source: "indexed", status: "not_found", reason: "no_reverse_record" }],
    [
      odd,
      {
        ...{ source: "indexed", status: "invalid_name", raw_claim_name: "Odd.eth" },
        reason: "not_normalized",
      },
    ],
    [empty, { ...ok, name: "empty.eth", reason: "no_forward_record" }],
    [elsewhere, { ...ok, name: "elsewhere.eth", reason: "other_address" }],
    [own, { ...ok, name: "own.eth" }],
    // A gateway answers for it.
    [onBase, { ...ok, name: "gateway.base.eth" }],
  ])("%s: %j", async (address, answer) => {
    expect(await reason(address)).toEqual([answer]);
  });
});

describe("names that resolve to a native address", async () => {
  // ENSIP-9.
  const bitcoin = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
  await store("paid.eth", { owner: dave, resolver: publicResolver });
  await setRecords("paid.eth", { addresses: { 0: "0x0014751e76e8199196d454941c45d1b3a323f1433bd6" } });
  const ask = (address: string, query: string) =>
    get(`/v1/addresses/${encodeURIComponent(address)}/names?${query}`);

  test("are found by it, as people and records write it", async () => {
    for (const address of [bitcoin, bitcoin.toUpperCase(), ` ${bitcoin} `]) {
      const { status, data } = await ask(address, "relation=resolves_to&coin_type=0");
      expect([status, data]).toMatchObject([
        200,
        [{ name: "paid.eth", resolution: { coin_type: 0, record_key: "addr:0" } }],
      ]);
    }
    expect(
      (await ask("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "relation=resolves_to&coin_type=0")).data,
    ).toEqual([]);
  });

  const noHex = "address must be a 0x-prefixed 20-byte hex string";
  test.each([
    [bitcoin, "relation=resolves_to&coin_type=2", "address must be one of coin type 2, but is malformed"],
    [
      bitcoin.replace("q", "p"),
      "relation=resolves_to&coin_type=0",
      "address must be one of coin type 0, but is malformed",
    ],
    [
      bitcoin,
      "relation=resolves_to&coin_type=99998",
      "address must be one of coin type 99998, but is unsupported",
    ],
    [bitcoin, "relation=resolves_to", noHex],
    [bitcoin, "relation=resolves_to&coin_type=evm", noHex],
    [bitcoin, `relation=resolves_to&coin_type=${base}`, noHex],
    [bitcoin, "relation=owner", noHex],
    ["a".repeat(201), "relation=resolves_to&coin_type=0", "address has more than 200 characters"],
  ])("%.50s with %s is refused", async (address, query, message) => {
    const { status, error } = await ask(address, query);
    expect([status, error]).toEqual([400, { code: "invalid_input", message, details: { field: "address" } }]);
  });
});

test("a resolver that begins anew claims nothing, as the subgraph's tables tell", async () => {
  const claimer = addressOf("7d");
  await store("two.eth", { owner: claimer });
  const reverse = `${claimer.slice(2)}.addr.reverse`;
  await store(reverse, { owner: claimer, resolver: publicResolver });
  const resolver = `1-${publicResolver}-${namehash(reverse)}`;
  await insert("resolver", {
    id: resolver,
    domain_id: namehash(reverse),
    address: publicResolver,
    change_block: 1,
  });
  const emit = (block: number, name: string | null, type = "NameChanged") =>
    insert("resolver_event", {
      id: `1-${block}-0`,
      type,
      log_index: 0,
      block_number: block,
      timestamp: 1_700_000_000,
      transaction_id: `0x${"8".repeat(64)}`,
      resolver_id: resolver,
      name,
    });
  const { get } = open({ hasRecords: false });
  const claimed = async () => {
    const { data } = await get<NameRow[]>(`/v1/addresses/${claimer}/names`);
    return namesOf(data.filter(({ is_primary }) => is_primary));
  };
  await emit(901, "two.eth");
  expect(await claimed()).toEqual(["two.eth"]);
  await emit(902, null, "VersionChanged");
  expect(await claimed()).toEqual([]);
  // Records lack the name that is not normalized, of which events tell.
  await emit(903, "Two.eth");
  const path = `/v1/addresses/${claimer}/primary-name?source=indexed`;
  expect((await open().get<Claims>(path)).data.answers).toEqual([
    { source: "indexed", status: "not_found", reason: "not_normalized" },
  ]);
});
