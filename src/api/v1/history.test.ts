import { beforeAll, describe, expect, test } from "vitest";
import type { Entry } from "../../../test/support/lookups/lookups.ts";
import {
  addressOf,
  alice,
  bob,
  createStoredNames,
  dave,
  grace,
  past,
  publicResolver,
  zero,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";

// Events of all names, and histories of names and addresses.
const { insert, claim, get, all } = await createStoredNames();

const transaction = `0x${"7".repeat(64)}`;
const gone = namehash("gone.eth");

/** Adds what happened to gone.eth: a registration in block 100, writes of its resolver in block 101. */
async function playRegistration() {
  const registered = { block_number: 100, timestamp: 1_700_000_000, transaction_id: transaction };
  await insert("domain_event", {
    ...{ id: "1-100-3", type: "NewOwner", log_index: 3, domain_id: gone, owner_id: alice },
    ...registered,
  });
  await insert("registration_event", {
    ...{ id: "1-100-10", type: "NameRegistered", log_index: 10 },
    ...{ registration_id: gone, registrant_id: alice, expiry_date: past },
    ...registered,
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
    transaction_hash: transaction,
    event_ids: [],
  });
  const resolver = `1-${publicResolver}-${gone}`;
  await insert("resolver", { id: resolver, domain_id: gone, address: publicResolver, change_block: 1 });
  const writes = [
    { type: "AddrChanged", addr_id: bob },
    { type: "MulticoinAddrChanged", coin_type: 60, addr: bob },
    { type: "TextChanged", key: "url", value: "x" },
  ];
  for (const [log_index, write] of writes.entries())
    await insert("resolver_event", {
      id: `1-101-${log_index}`,
      log_index,
      ...write,
      block_number: 100,
      timestamp: 1_700_000_100,
      transaction_id: transaction,
      resolver_id: resolver,
    });
}
await playRegistration();

test("the history of a name, its release included, in pages", async () => {
  const path = "/v1/names/gone.eth/history";
  const { data: entries } = await get<Entry[]>(`${path}?include=data`);
  const written = { resolver: { chain_id: 1, address: publicResolver }, node: gone };
  expect(entries.map(({ type, timestamp, data }) => [type, Number(timestamp), data])).toEqual([
    ["release", past + grace + 1, { action: "registration_released", expires_at: String(past) }],
    ["record", 1_700_000_100, { action: "record_changed", key: "text:url", value: "x", ...written }],
    // One write that two events announce.
    [
      "record",
      1_700_000_100,
      { action: "record_changed", key: "addr:60", value: bob, coin_type: 60, ...written },
    ],
    [
      "registration",
      1_700_000_000,
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
    ],
    ["authority", 1_700_000_000, { action: "authority_changed", owner: alice }],
  ]);
  const ids = entries.map(({ id }) => id);
  const paged = await all<Entry>(`${path}?order=asc`, 2);
  expect(paged.map(({ id }) => id)).toEqual(ids.toReversed());
  // An event is the same entry wherever it is listed.
  const ofAlice = await get<Entry[]>(`/v1/addresses/${alice}/history`);
  expect(ofAlice.data.map(({ id }) => id)).toEqual(ids.slice(-2));
  const ofAll = await get<Entry[]>("/v1/events");
  expect(ofAll.data.map(({ id }) => id)).toEqual(ids.slice(1));
});

test.each([
  ["type=record,release", ["release", "record", "record"]],
  ["exclude_type=record&to_timestamp=1700000000", ["registration", "authority"]],
  ["scope=both&namespace=ens&finality=latest", ["release", "record", "record", "registration", "authority"]],
  ["scope=name", ["record", "record", "authority"]],
  ["scope=registration", ["release", "registration", "authority"]],
  // The words of ENS's own API.
  ["kind=RegistrationGranted,RecordChanged", ["record", "record", "registration"]],
  ["kind=AuthorityTransferred,TextChanged", ["record", "authority"]],
  ["type=token,contract", []],
  ["record_key=dns:a", []],
])("the history of a name by %s", async (query, expected) => {
  const { data } = await get<Entry[]>(`/v1/names/gone.eth/history?${query}`);
  expect(data.map(({ type }) => type)).toEqual(expected);
});

test("what a history leaves out is said", async () => {
  const said = (unsupported_reason: string) => ({
    ...{ completeness: "partial", unsupported_fields: ["data"], unsupported_reason },
  });
  const ofResolver = await get<Entry[]>(`/v1/events?resolver=1:${publicResolver}`);
  expect(ofResolver.meta).toMatchObject(said("resolver_pointer_events_not_listed"));
});

test.each([
  `contract_address=${publicResolver.replace("4", "5")}&type=expiry,registration`,
  `contract_address=${publicResolver.replace("4", "5")}&kind=RootPermissionChanged&from_timestamp=1`,
  `resolver=1:${publicResolver}&address=${alice}&type=registration`,
  `address=${alice}&type=token&include=total_count`,
  "kind=RootPermissionChanged&to_timestamp=1&include=total_count",
])("nothing happened where no such event can be: %s", async (query) => {
  const { status, data } = await get<Entry[]>(`/v1/events?${query}`);
  expect([status, data]).toEqual([200, []]);
});

test("an entry says whether it is of the name or of a subname", async () => {
  const path = "/v1/names/gone.eth/history?include=child_registrations";
  const { data } = await get<(Entry & { subject?: string })[]>(path);
  expect(data.map(({ subject }) => subject)).toEqual(Array(5).fill("name"));
});

describe("what happened to all names", () => {
  test("newest first, in pages without gaps", async () => {
    const { data: entries } = await get<Entry[]>("/v1/events?include=raw,data");
    expect(entries.map(({ kind }) => kind)).toEqual([
      ...["TextChanged", "MulticoinAddrChanged", "NameRegistered", "NewOwner"],
    ]);
    expect(entries[0]).toMatchObject({
      ...{ namespace: "ens", chain_id: 1, registration_id: null, contract_address: publicResolver },
    });
    expect(entries[2]?.registration_id).toBe(`1-${gone}-1700000000`);
    const ids = entries.map(({ id }) => id);
    const paged = async (order: string) =>
      (await all<Entry>(`/v1/events?order=${order}`, 1)).map(({ id }) => id);
    expect(await paged("desc")).toEqual(ids);
    expect(await paged("asc")).toEqual(ids.toReversed());
  });

  const [text, coin, registered, owned] = [
    "TextChanged",
    "MulticoinAddrChanged",
    "NameRegistered",
    "NewOwner",
  ];
  test.each([
    ["type=record", [text, coin]],
    ["exclude_type=record,authority", [registered]],
    ["kind=NewOwner,TextChanged", [text, owned]],
    ["record_key=addr:60", [coin]],
    ["record_key=text:url", [text]],
    ["record_key=text:avatar", []],
    ["from_timestamp=2023-11-14T22:15:00Z", [text, coin]],
    ["to_timestamp=1700000099", [registered, owned]],
    ["name=gone.eth&type=release,registration", ["Release", registered]],
    ["name=plain.eth", []],
    [`address=${alice}`, [registered, owned]],
    [`address=${alice}&name=gone.eth&type=authority`, [owned]],
    [`address=${bob}&name=gone.eth`, []],
    [`resolver=1:${publicResolver}`, [text, coin]],
    [`resolver=1:${publicResolver}&name=gone.eth`, [text, coin]],
    [`resolver=8453:${publicResolver}`, []],
    [`contract_address=${publicResolver}`, [text, coin]],
    [`contract_address=${publicResolver}&name=gone.eth&record_key=text:url`, [text]],
    // The registrar of .eth, the name wrapper, and the registrar of Basenames.
    ["contract_address=0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", [registered]],
    ["contract_address=0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401", []],
    ["contract_address=0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a", []],
    [`resolver=1:${alice}`, []],
    [`registration_id=1-${gone}-1700000000&exclude_type=record`, ["Release", registered, owned]],
    [`registration_id=1-${gone}-1700000001&type=registration`, []],
    [`registration_id=8453-${gone}-1700000000`, []],
    [`registration_id=1-${gone}-wrapper`, []],
    ["namespace=ens&from_block=100&to_block=100&type=authority", [owned]],
    ["namespace=ens&from_block=101&type=authority", []],
    ["namespace=basenames", []],
  ])("%s", async (query, expected) => {
    const { data } = await get<Entry[]>(`/v1/events?${query}&include=raw`);
    expect(data.map(({ kind }) => kind)).toEqual(expected);
  });

  // Entries of a name or a registration are counted, others on request.
  test.each([
    ["", null],
    ["include=total_count&page_size=1", 4],
    ["name=gone.eth&page_size=1", 5],
  ])("?%s has the total %s", async (query, total) => {
    expect((await get(`/v1/events?${query}`)).page.total_count).toBe(total);
  });
});

describe("what changed the primary name of an account, and which registry emitted", () => {
  const reverse = `${dave.slice(2)}.addr.reverse`;
  const frank = addressOf("66");
  const time = 1_600_000_000;
  // Mainnet's: the two registries, the reverse registrars of the default and of layer-two chains.
  const registry = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
  const oldRegistry = "0x314159265dd8dbb310642f98f50c066173c1259b";
  const defaults = "0x283f227c4bd38ece252c4ae7ece650b0e913f1f9";
  const others = "0x0000000000d8e504002cc26e3ec46d81971c1664";

  beforeAll(async () => {
    await claim(dave, "plain.eth");
    const at = (chainId: number, block: number, log: number) => ({
      ...{ id: `${chainId}-${block}-${log}`, block_number: block, timestamp: time + block, log_index: log },
    });
    const named = { type: "NameChanged", transaction_id: transaction };
    const ofReverse = {
      ...named,
      resolver_id: `1-${publicResolver}-${namehash(reverse)}`,
      primary_name_of: dave,
    };
    await insert("resolver_event", { ...at(1, 10, 1), ...ofReverse, name: "plain.eth" });
    await insert("resolver_event", { ...at(1, 14, 1), ...ofReverse, name: "" });
    // The record of a name that is nobody's reverse name.
    const other = `1-${publicResolver}-${namehash("records.eth")}`;
    await insert("resolver_event", { ...at(1, 15, 1), ...named, resolver_id: other, name: "x.eth" });
    const onReverse = { address: dave, transaction_hash: transaction };
    await insert(
      "reverse_name_events",
      { ...at(1, 11, 2), ...onReverse, coin_type: 2_147_483_648, name: "pl.eth" },
      { ...at(8453, 12, 2), ...onReverse, coin_type: 2_147_492_101, name: "dave.base.eth" },
      { ...at(10, 13, 2), ...onReverse, coin_type: 2_147_483_658, name: null },
    );
    const newOwner = { type: "NewOwner", domain_id: namehash("old.eth"), transaction_id: transaction };
    await insert(
      "domain_event",
      { ...at(1, 16, 0), ...newOwner, owner_id: frank, from_old_registry: true },
      { ...at(1, 17, 0), ...newOwner, owner_id: frank },
    );
  });

  const entries = async (path: string) => (await get<Entry[]>(`${path}&include=data,raw`)).data;

  test("the history of an address has each, by coin type, with its reverse name", async () => {
    const found = await entries(`/v1/addresses/${dave}/history?order=asc`);
    const set = (coin: number, name: string) => ({ coin_type: coin, name, name_status: "set" });
    const cleared = (coin: number) => ({ coin_type: coin, name_status: "cleared" });
    const expected: [kind: string, string, number, string, string, object][] = [
      ["ReverseNameChanged", "addr", 1, "ens", publicResolver, set(60, "plain.eth")],
      ["NameForAddrChanged", "default", 1, "ens", defaults, set(2_147_483_648, "pl.eth")],
      // ENSIP-11 and ENSIP-19: the coin type of a chain is its id with the highest of 32 bits set.
      ["NameForAddrChanged", "80002105", 8453, "basenames", others, set(2_147_492_101, "dave.base.eth")],
      ["NameForAddrChanged", "8000000a", 10, "ens", others, cleared(2_147_483_658)],
      ["ReverseNameChanged", "addr", 1, "ens", publicResolver, cleared(60)],
    ];
    expect(found).toMatchObject(
      expected.map(([kind, parent, chain_id, namespace, contract_address]) => {
        const name = `${dave.slice(2)}.${parent}.reverse`;
        return {
          type: "primary_name",
          kind,
          name,
          namehash: namehash(name),
          chain_id,
          namespace,
          contract_address,
        };
      }),
    );
    const common = { action: "primary_name_recorded", address: dave };
    expect(found.map(({ data }) => data)).toEqual(
      expected.map(([, , , , , data]) => ({ ...common, ...data })),
    );
    // An event is one entry, the same in every list.
    const ofName = await entries(`/v1/names/${reverse}/history?order=asc`);
    expect(ofName.map(({ type, id }) => [type, id])).toEqual([
      ["primary_name", found[0]?.id],
      ["primary_name", found[4]?.id],
    ]);
    expect(await entries("/v1/events?type=primary_name&order=asc")).toEqual(found);
  });

  test.each<[string, number[]]>([
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
    [`contract_address=${defaults}`, [11]],
    [`contract_address=${others}`, [12, 13]],
    [`contract_address=${publicResolver}`, [10, 14, 15]],
    [`contract_address=${oldRegistry}`, [16]],
    [`contract_address=${registry}`, [17]],
    [`contract_address=${registry}&name=old.eth`, [17]],
    ["type=authority", [16, 17]],
  ])("%s", async (query, expected) => {
    const found = await entries(`/v1/events?to_timestamp=${time + 100}&order=asc&${query}`);
    expect(found.map(({ block_number }) => block_number)).toEqual(expected);
  });

  test("an entry names the registry that emitted it", async () => {
    const found = await entries("/v1/names/old.eth/history?order=asc");
    expect(found.map(({ contract_address }) => contract_address)).toEqual([oldRegistry, registry]);
  });
});

describe("what happened to the names that an address holds or held", () => {
  const [carol, erin] = [addressOf("33"), addressOf("55")];
  const reverse = `${erin.slice(2)}.addr.reverse`;
  const time = 1_650_000_000;

  beforeAll(async () => {
    const at = (block: number) => ({
      ...{ id: `1-${block}-0`, log_index: 0, block_number: block, timestamp: time + block },
      transaction_id: transaction,
    });
    const named = { resolver_id: `1-${publicResolver}-${namehash(reverse)}`, name: "plain.eth" };
    await insert("resolver", {
      ...{ id: named.resolver_id, domain_id: namehash(reverse), address: publicResolver, change_block: 1 },
    });
    await insert(
      "domain_event",
      // The lease stays with its holder.
      { ...at(201), type: "Transfer", domain_id: gone, owner_id: carol },
      { ...at(202), type: "NewOwner", domain_id: namehash(reverse), owner_id: erin },
      { ...at(204), type: "NewOwner", domain_id: namehash("sub.gone.eth"), owner_id: erin },
    );
    await insert("resolver_event", { ...at(203), type: "NameChanged", ...named, primary_name_of: erin });
    await insert("reverse_name_events", {
      ...{ id: "1-205-0", log_index: 0, block_number: 205, timestamp: time + 205 },
      ...{ address: erin, transaction_hash: transaction, coin_type: 2_147_483_648, name: "erin.eth" },
    });
  });

  const ofGone = ["release", "record", "record", "registration", "authority", "authority"];
  const ofErin = ["primary_name", "authority", "primary_name", "authority"];
  test.each<[string, string, string[]]>([
    [alice, "relation=owner", ofGone],
    [alice, "relation=manager&scope=registration", ["release", "registration", "authority", "authority"]],
    [alice, "relation=role_holder", []],
    [alice, "relation=any&type=registration&namespace=ens", ["registration"]],
    [alice, "relation=any&namespace=basenames", []],
    [carol, "relation=owner", []],
    [carol, "relation=manager", ofGone],
    [carol, "relation=role_holder,any", ofGone],
    // Each entry once, though the reverse name is erin's and the primary name too.
    [erin, "relation=owner", ofErin],
    [erin, "relation=any", ofErin],
    [bob, "relation=any", []],
  ])("of %s by %s", async (address, query, expected) => {
    const path = `/v1/addresses/${address}/history?${query}`;
    const { data, page, meta } = await get<Entry[]>(path);
    expect(data.map(({ type }) => type)).toEqual(expected);
    expect(page.total_count).toBe(expected.length);
    expect(meta).not.toHaveProperty("completeness");
    const paged = await all<Entry>(`${path}&order=asc`, 2);
    expect(paged.map(({ id }) => id)).toEqual(data.map(({ id }) => id).toReversed());
  });

  test("of an address with more than a thousand, those of the newest, which is said", async () => {
    const frank = addressOf("67");
    const events = Array.from({ length: 1_001 }, (_, at) => ({
      ...{ id: `1-${1_000 + at}-0`, log_index: 0, block_number: 1_000 + at, timestamp: time + at },
      ...{ type: "NewOwner", transaction_id: transaction, owner_id: frank },
      domain_id: namehash(`${at}.gone.eth`),
    }));
    await insert("domain_event", ...events);
    const { data, page, meta } = await get<Entry[]>(
      `/v1/addresses/${frank}/history?relation=owner&order=asc`,
    );
    expect([page.total_count, data[0]?.block_number]).toEqual([1_000, 1_001]);
    expect(meta).toMatchObject({ completeness: "partial", unsupported_reason: "too_many_names" });
  });
});

describe("/v1/blocks", () => {
  const read = (path: string) => get<Entry[]>(`/v1/blocks/${path}`);

  test("has what happened in a block, the newest first, and of a transaction in it", async () => {
    const { data, page } = await read("1:100");
    expect(data.map(({ type, log_index }) => [type, log_index])).toEqual([
      ["registration", 10],
      ["authority", 3],
    ]);
    expect(page.total_count).toBe(2);
    expect((await read(`1:100?transaction_hash=${transaction}`)).data).toEqual(data);
    expect((await read(`1:100?transaction_hash=0x${"6".repeat(64)}`)).data).toEqual([]);
  });

  test("tells blocks and chains apart whose numbers begin alike", async () => {
    for (const path of ["1:1", "8453:100", "10:100"])
      expect([path, (await read(path)).data]).toEqual([path, []]);
  });

  test.each([
    ["1", 400, "block must be <chain id>:<number>"],
    ["1:-1", 400, "block must be <chain id>:<number>"],
    ["1:1';--", 400, "block must be <chain id>:<number>"],
    ["1:100?transaction_hash=0x12", 400, "transaction_hash must be 0x and 64 hex digits"],
    ["5:100", 404, "Chain 5 is not indexed"],
  ])("%s is refused", async (path, code, message) => {
    const { status, error } = await read(path);
    expect([status, error.message]).toEqual([code, message]);
  });
});
