import { getAddress } from "viem";
import { describe, expect, test } from "vitest";
import { namesOf } from "../../../test/support/lookups/lookups.ts";
import {
  addressOf,
  alice,
  bob,
  carol,
  createStoredNames,
  dave,
  home,
  later,
  now,
  publicResolver,
  wrapper,
  zero,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import type { NameRow } from "../../read/names/rows.ts";

// Rows of names, subnames and search. The rules are those of docs/names.md, which v1-contracts.test.ts proves for the
// root chain.
const { client, insert, store, setRecords, setAddresses, claim, open, get, post, all } =
  await createStoredNames();

const managedBy = (address: string) => ({ owner: address, manager: address });

test.each<[string, Record<string, unknown>]>([
  [
    "me.base.eth",
    {
      ...{ status: "expired", owner: alice, manager: bob },
      ...{ namespace: "basenames", chain_id: 8453, authority: undefined },
    },
  ],
  ["me.linea.eth", { status: "active", ...managedBy(carol), namespace: "lineanames", network: "linea" }],
  [
    "me.box",
    {
      ...{ status: "released", owner: undefined },
      ...{ namespace: "threedns", chain_id: 10, grace_ends_at: String(now) },
    },
  ],
])("what holds of %s on another chain", async (name, expected) => {
  const { status, data } = await get(`/v1/names/${name}`);
  expect(status).toBe(200);
  expect(Object.fromEntries(Object.keys(expected).map((key) => [key, data[key as keyof NameRow]]))).toEqual(
    expected,
  );
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

// ENSIP-7 and the resolver's profiles: the setters take empty bytes and empty text, and the getters return them where
// nothing was set.
describe("a record of empty bytes, of empty text or of the zero address is none", async () => {
  await store("cleared.eth", { owner: dave, resolver: publicResolver });
  await setRecords("cleared.eth", { seen: { coins: [60, 0], texts: ["url"] } });
  const node = namehash("cleared.eth");
  await client.query("UPDATE resolver SET addr_id = $1, content_hash = '0x' WHERE domain_id = $2", [
    zero,
    node,
  ]);
  const unset = { status: "not_found" };
  test.each([
    {
      mode: "where values are indexed",
      hasRecords: true,
      values: { addresses: { 0: null, 60: null }, texts: { url: null }, name: null, seen_abis: [] },
      byKey: { "addr:0": unset, "addr:60": unset, contenthash: unset, "text:url": unset },
    },
    {
      mode: "where the subgraph's tables are all",
      hasRecords: false,
      values: {
        ...{ addresses: { 60: null }, texts: {} },
        abi_unsupported_reason: "abi_observations_not_supported",
      },
      byKey: { "addr:60": unset, contenthash: unset },
    },
  ])("$mode", async ({ hasRecords, values, byKey }) => {
    const { get, post } = open({ hasRecords });
    const records = {
      ...{ seen_addresses: ["0", "60"], seen_texts: ["url"], seen_singletons: ["contenthash"] },
      ...{ abis: {}, contenthash: null },
      ...values,
    };
    const { data } = await get("/v1/names/cleared.eth");
    expect([data.records, data.primary_address]).toEqual([records, undefined]);
    const lookedUp = await post({ inputs: [{ name: "cleared.eth" }] });
    expect(lookedUp.data[0]?.record.records).toEqual(records);
    const listed = await get("/v1/names/cleared.eth/records");
    expect(listed.data.records).toMatchObject(byKey);
  });
});

test("a name of another chain resolves by what its own registry has", async () => {
  const resolver = "0xc6d566a56a1aff6508b41f6c90ff131615583bcd";
  const holder = addressOf("7a");
  await store("far.base.eth", { owner: holder, lease: { holder, expires: later }, home: home.base });
  const relation = {
    chain_id: 8453,
    address: "0xb94704422c2a1e396835a571837aa5ae53285a95",
    domain_id: namehash("far.base.eth"),
  };
  await insert("domain_resolver_relations", { ...relation, resolver });
  const records = { addresses: { 60: holder }, seen: { coins: [60], texts: ["toString"] } };
  await setRecords("far.base.eth", { chainId: 8453, resolver, ...records });
  const located = { chain_id: 8453, address: resolver };
  const { data } = await get("/v1/names/far.base.eth");
  expect(data).toMatchObject({
    namespace: "basenames",
    resolver: located,
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
  expect(looked.data[0]?.record).toMatchObject({ resolver: located, primary_address: holder });
  expect(looked.data[1]?.records).toMatchObject([
    { name: "far.base.eth", resolver: located, network: "base" },
  ]);
  const path = `/v1/addresses/${holder}/names?relation=resolves_to`;
  expect(namesOf((await get(path)).data)).toEqual(["far.base.eth"]);
  await client.query("UPDATE domain_resolver_relations SET resolver = $1 WHERE chain_id = 8453", [bob]);
  expect((await get(path)).data).toEqual([]);
});

test("dates of more than 63 bits are cut", async () => {
  const holder = addressOf("7b");
  await store("distant.eth", { owner: holder, lease: { holder, expires: "18446744073701775615" } });
  expect((await get("/v1/names/distant.eth")).data).toMatchObject({
    expires_at: "9223372036854775807",
    grace_ends_at: "9223372036854775807",
    status: "active",
  });
});

test("a wrapper entry without a date says why", async () => {
  const patient = addressOf("7e");
  const wrapped = { owner: patient, fuses: 0 };
  await store("forever.plain.eth", {
    owner: wrapper,
    wrapped: { ...wrapped, expires: "18446744073709551615" },
  });
  await store("dated.plain.eth", { owner: wrapper, wrapped: { ...wrapped, expires: later } });
  const none = async (name: string) => {
    const { ens_v1 } = (await get(`/v1/names/${name}`)).data;
    return [ens_v1?.wrapper_expires_at, ens_v1?.wrapper_expires_at_reason];
  };
  expect(await none("sub.wrapped.eth")).toEqual([null, "not_set"]);
  expect(await none("forever.plain.eth")).toEqual([null, "no_expiry"]);
  expect(await none("dated.plain.eth")).toEqual([String(later), undefined]);
  // What has no date is the greatest, in either order, as bigname has it.
  const path = `/v1/addresses/${patient}/names?sort=expires_at`;
  const sorted = ["dated.plain.eth", "forever.plain.eth"];
  expect(namesOf((await get(`${path}&order=asc`)).data)).toEqual(sorted);
  expect(namesOf((await get(`${path}&order=desc`)).data)).toEqual(sorted.toReversed());
});

test("nothing resolves to what a released name has in the registry", async () => {
  const other = addressOf("55");
  const resolver = `1-${publicResolver}-${namehash("gone.eth")}`;
  await client.query("UPDATE domain SET resolver_id = $1, resolved_address_id = $2 WHERE name = 'gone.eth'", [
    resolver,
    other,
  ]);
  const { data } = await get("/v1/names/gone.eth?include=counts");
  expect(data).toMatchObject({
    status: "released",
    ens_v1: { resolver: { chain_id: 1, address: publicResolver } },
  });
  for (const member of ["resolver", "records", "record_count"]) expect(data).not.toHaveProperty(member);
  expect((await get(`/v1/addresses/${other}/names?relation=resolves_to`)).data).toEqual([]);
});

describe("names that were registered without being normalised, where the index keeps them as they are", async () => {
  const strange = ["NaN.eth", "a b.eth"];
  for (const name of strange) await store(name, { owner: dave });

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

  test("the normalised name comes first, and names that nobody registered are still faulty", async () => {
    await store("nan.eth", { owner: alice });
    expect((await get("/v1/names/NaN.eth")).data).toMatchObject({ name: "nan.eth", owner: alice });
    expect((await get("/v1/names/a%20c.eth")).status).toBe(400);
    expect((await get("/v1/names/Missing.eth")).status).toBe(404);
  });
});

test.each<[string, string[]]>([
  [
    "names/wrapped.eth/subnames?include_expired=false",
    ["locked.wrapped.eth", "moved.wrapped.eth", "sub.wrapped.eth"],
  ],
  ["search?q=wrapped", ["wrapped.eth", "wrappedgone.eth", "wrappedgrace.eth"]],
  ["search?q=wrapped.", ["wrapped.eth"]],
  ["search?q=.linea&match=contains", ["me.linea.eth"]],
  ["search?q=%20wrapped.%20", ["wrapped.eth"]],
])("/v1/%s", async (path, expected) => {
  const { data, page } = await get(`/v1/${path}`);
  expect(namesOf(data)).toEqual(expected);
  if (path.startsWith("names")) expect(page.total_count).toBe(expected.length);
});

test("subnames whose date has passed are left out, and those that nobody owns", async () => {
  const wrapped = { owner: bob, fuses: 0 };
  await store("old.child.plain.eth", { owner: wrapper, wrapped: { ...wrapped, expires: now - 1 } });
  await store("none.child.plain.eth", { owner: wrapper, wrapped: { ...wrapped, expires: 0 } });
  await store("new.child.plain.eth", { owner: wrapper, wrapped: { ...wrapped, expires: later } });
  await store("void.child.plain.eth", { owner: zero });
  const path = "/v1/names/child.plain.eth/subnames";
  const { data, page } = await get(`${path}?include_expired=false`);
  expect(namesOf(data)).toEqual(["new.child.plain.eth", "none.child.plain.eth"]);
  expect(page.total_count).toBe(2);
  expect(namesOf((await get(path)).data)).toContain("old.child.plain.eth");
  expect((await get(`${path}?namespace=ens`)).status).toBe(200);
  const { status, error } = await get(`${path}?namespace=basenames`);
  expect([status, error.code]).toEqual([404, "not_found"]);
});

describe("numbers of subnames and records", () => {
  const countsOf = ({ data, ...rest }: { data: NameRow[] | NameRow }) => ({
    ...rest,
    counts: Object.fromEntries(
      [data].flat().map(({ name, subname_count, record_count }) => [name, [subname_count, record_count]]),
    ),
  });

  test("of a name, of subnames and of an address's names", async () => {
    const { counts } = countsOf(await get("/v1/names/wrapped.eth?include=counts"));
    expect(counts).toEqual({ "wrapped.eth": [4, 0] });
    const below = countsOf(await get("/v1/names/eth/subnames?include=counts&page_size=200")).counts;
    expect(below).toMatchObject({ "wrapped.eth": [4, undefined], "old.eth": [0, undefined] });
    const owned = countsOf(await get(`/v1/addresses/${bob}/names?include=counts,total_count`)).counts;
    // Two coin types, two texts and a contenthash.
    expect(owned).toMatchObject({ "records.eth": [0, 5], "old.eth": [0, 0] });
    const other = addressOf("7c");
    await setAddresses("records.eth", { 2: other });
    const path = `/v1/addresses/${other}/names?relation=resolves_to&coin_type=2&include=counts`;
    expect(countsOf(await get(path)).counts).toEqual({ "records.eth": [0, 6] });
    expect((await get(`/v1/addresses/${wrapper}/names?include=counts`)).data).toEqual([]);
  });

  test("more than 10,000 subnames are not counted, and the response says so", async () => {
    const holder = addressOf("7d");
    await store("crowd.eth", { owner: holder });
    await client.query(
      `INSERT INTO domain SELECT (json_populate_record(d, json_build_object('id', '0x' || lpad(to_hex(n), 64, '0'),
         'name', n || '.crowd.eth', 'parent_id', d.id))).* FROM domain d, generate_series(1, 10000) n WHERE d.name = 'crowd.eth'`,
    );
    const paths = [
      "/v1/names/crowd.eth?include=counts",
      `/v1/addresses/${holder}/names?include=counts&parent=eth`,
    ];
    for (const path of paths) expect(countsOf(await get(path)).counts["crowd.eth"]).toEqual([10_000, 0]);
    expect((await get("/v1/names/crowd.eth/subnames")).page.total_count).toBe(10_000);
    await store("another.crowd.eth", { owner: bob });
    const partial = {
      completeness: "partial",
      ...{ unsupported_fields: ["subname_count"], unsupported_reason: "count_above_limit" },
    };
    for (const path of paths) {
      const { counts, meta } = countsOf(await get(path)) as never as { counts: object; meta: object };
      expect([counts, meta]).toMatchObject([{ "crowd.eth": [undefined, 0] }, partial]);
    }
    expect((await get("/v1/names/crowd.eth/subnames")).page.total_count).toBeNull();
    await client.query("DELETE FROM domain WHERE name LIKE '%crowd.eth'");
  });
});

describe("names as a person looks for them", async () => {
  // Two short names of nobody else.
  for (const name of ["rec.eth", "pl.eth"]) await store(name, { owner: dave });
  await claim(dave, "plain.eth");
  const wrappedOnes = ["wrapped.eth", "wrappedgone.eth", "wrappedgrace.eth"];

  test.each<[string, string[]]>([
    ["q=wrapped", wrappedOnes],
    ["q=WRAPPED", wrappedOnes],
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
  ])("%s", async (query, expected) => {
    expect(namesOf((await get(`/v1/search?sort=relevance&${query}`)).data)).toEqual(expected);
  });

  test("in pages without gaps", async () => {
    const path = "/v1/search?sort=relevance&q=wrapped";
    expect(namesOf(await all(path, 1))).toEqual(wrappedOnes);
    const { page } = await get(`${path}&page_size=1`);
    const other = await get(`/v1/search?sort=relevance&q=me&cursor=${page.next_cursor}`);
    expect(other.error.message).toMatch(/^cursor belongs to another list/);
  });
});

const recordsOf = async (query: string) => {
  const { data, ...rest } = await get<{ records: Record<string, { status: string }> }>(
    `/v1/names/records.eth/records?keys=${query}`,
  );
  return { ...rest, records: data?.records };
};

test("records by key", async () => {
  const { records } = await recordsOf("addr:60,text:url,avatar,contenthash,addr:1");
  expect(records).toEqual({
    "addr:1": { status: "not_found" },
    "addr:60": { status: "ok", value: alice, decoded: { address: getAddress(alice) } },
    avatar: { status: "not_found" },
    contenthash: { status: "ok", value: "0xe301", decoded: { reason: "malformed" } },
    "text:url": {
      ...{ status: "ok", value: "https://ens.domains" },
      decoded: { url: "https://ens.domains/" },
    },
  });
});

test("records are decoded beside their values", async () => {
  // Examples of ENSIP-7 and ENSIP-9.
  const contenthash = "0xe3010170122029f2d17be6139079dc48696d1f582a8530eb9805b561eda517e22a892c7e3f1f";
  const cid = "bafybeibj6lixxzqtsb45ysdjnupvqkufgdvzqbnvmhw2kf7cfkesy7r7d4";
  const site = { protocol: "ipfs", uri: `ipfs://${cid}`, url: `https://ipfs.io/ipfs/${cid}` };
  const bitcoin = "0x0014751e76e8199196d454941c45d1b3a323f1433bd6";
  const native = { address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" };
  const account = { handle: "ensdomains", url: "https://x.com/ensdomains" };
  await store("site.eth", { owner: dave, resolver: publicResolver });
  const texts = { "com.twitter": "@ensdomains", description: "d", email: "nobody" };
  await setRecords("site.eth", { contenthash, addresses: { 0: bitcoin, 2: "0x11" }, texts });
  const { data } = await get<{ records: Record<string, unknown> }>("/v1/names/site.eth");
  const malformed = { reason: "malformed" };
  expect(data.records).toMatchObject({ contenthash, addresses: { 0: bitcoin }, texts });
  expect(data.records?.["decoded"]).toEqual({
    ...{ contenthash: site, addresses: { 0: native, 2: malformed } },
    texts: { "com.twitter": account, email: malformed },
  });
  const byKey = await get<{ records: Record<string, unknown> }>("/v1/names/site.eth/records");
  const ok = (value: string, decoded?: object) => ({ status: "ok", value, ...(decoded && { decoded }) });
  expect(byKey.data.records).toEqual({
    "addr:0": ok(bitcoin, native),
    "addr:2": ok("0x11", malformed),
    contenthash: ok(contenthash, site),
    "text:com.twitter": ok("@ensdomains", account),
    "text:description": ok("d"),
    "text:email": ok("nobody", malformed),
  });
});

describe("the inventory of a name's records", async () => {
  await store("stocked.eth", { owner: dave, resolver: publicResolver });
  await setRecords("stocked.eth", {
    addresses: { 60: dave },
    texts: { "a b": "1", url: "https://ens.domains" },
    seen: { coins: [60], texts: ["url", "a b", "avatar"] },
    contenthash: "0xe301",
    abis: [4, 256, 1],
    data: { context: "0x01" },
  });
  type Answer = { namespace: string; inventory: Record<string, unknown> };
  const known = ["addr:60", "contenthash", "data:context", "text:a b", "text:avatar", "text:url"];

  test("keys, those that cannot be asked for, and ABIs, whose text is on the chain", async () => {
    const { data, meta } = await get<Answer>("/v1/names/stocked.eth/records?namespace=ens&include=inventory");
    expect(data.inventory).toEqual({
      known_keys: ["abi:1", "abi:256", "abi:4", ...known],
      unset_keys: [],
      unsupported_keys: ["abi:1", "abi:256", "abi:4", "data:context", "text:a b"],
      abi_content_types: ["1", "4", "256"],
    });
    expect(meta).not.toHaveProperty("completeness");
    expect((await get("/v1/names/stocked.eth/records")).data).not.toHaveProperty("inventory");
    const { records } = (await get("/v1/names/stocked.eth")).data;
    expect(records).toMatchObject({ seen_abis: ["1", "4", "256"], abis: {}, seen_data: ["context"] });
    const asked = await get<{ records: object }>("/v1/names/stocked.eth/records?keys=data:context,data:none");
    expect(asked.data.records).toEqual({
      "data:context": { status: "unsupported", unsupported_reason: "value_not_retained" },
      "data:none": { status: "not_found" },
    });
  });

  test("without the values of records their keys alone are known", async () => {
    const path = "/v1/names/stocked.eth/records?include=inventory";
    const { data } = await open({ hasRecords: false }).get<Answer>(path);
    const { known_keys, abi_content_types, abi_unsupported_reason } = data.inventory;
    expect(known_keys).toEqual(["addr:60", "text:a b", "text:avatar", "text:url"]);
    expect([abi_content_types, abi_unsupported_reason]).toEqual([null, "abi_observations_not_supported"]);
  });

  test("that of a released name is not known", async () => {
    const { data, meta } = await get<Answer>("/v1/names/gone.eth/records?include=inventory");
    const reason = "inventory_not_available";
    expect(data.inventory).toEqual({
      ...{ known_keys: [], unset_keys: [], unsupported_keys: [] },
      ...{ abi_content_types: null, abi_unsupported_reason: reason },
    });
    expect(meta).toMatchObject({
      ...{ completeness: "unsupported", unsupported_fields: ["inventory"], unsupported_reason: reason },
    });
  });

  test("a namespace that the name is not in has no records of it", async () => {
    const { status, error } = await get("/v1/names/stocked.eth/records?namespace=basenames");
    expect([status, error.code]).toEqual([404, "not_found"]);
  });
});

describe("records from the chain", () => {
  test("a chain that cannot be asked fails each key, and leaves what is indexed", async () => {
    const verified = await recordsOf("addr:60,text:url&source=verified");
    expect(verified.meta.source).toBe("verified");
    expect(Object.values(verified.records).map(({ status }) => status)).toEqual(["failed", "failed"]);
    const auto = await recordsOf("addr:60,text:url&source=auto");
    expect(auto.meta.source).toBe("indexed");
    expect(auto.records["addr:60"]).toMatchObject({ status: "ok", value: alice });
  });

  test("more than 50 of a kind are refused", async () => {
    const keys = Array.from({ length: 51 }, (_, coin) => `addr:${coin}`).join(",");
    expect((await recordsOf(`${keys}&source=verified`)).error.code).toBe("unsupported");
  });
});
