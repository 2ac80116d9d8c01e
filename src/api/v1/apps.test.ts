import { getAddress, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { v2Addresses, v2ChainId, v2Environment } from "../../../devnet/recorded-chains.ts";
import { nameOf, readTruth, type Snapshot } from "../../../test/support/ensv2/recording.ts";
import { openLastIndex } from "../../../test/support/ensv2/stored-index.ts";
import { type Entry, namesOf, openLookups } from "../../../test/support/lookups/lookups.ts";
import { labelhashIn, namehash } from "../../ens/names.ts";
import type { NameRow } from "../../read/names/rows.ts";

// The requests that ENS's own applications send (manager, portal, worker), screen by screen, and the members that they
// read. Values are what calls to the contracts returned at the last block of the recorded chain.

const day = 86_400;
const [graceOfV1, graceOfV2] = [90 * day, 28 * day];
const plus = (seconds: string | null, more: number) => String(Number(seconds) + more);
const eth = v2Addresses["ETHRegistry"] as `0x${string}`;

const truth = readTruth().at(-1) as Snapshot;
const now = truth.timestamp;
const { index, ...stored } = await openLastIndex();
const { get, post } = openLookups({
  database: stored.database,
  datasources: index.config.datasources,
  plugins: v2Environment.PLUGINS.split(","),
  time: now,
  block: truth.block,
});

// Clients write lists with commas or `%2C`, and may name the latest state: both are the same request.
async function read<Data = NameRow[]>(path: string) {
  const answer = await get<Data>(`/v1/${path}`);
  const other = `${path.replaceAll(",", "%2C")}${path.includes("?") ? "&" : "?"}finality=latest`;
  expect([path, answer.status]).toEqual([path, 200]);
  expect(await get<Data>(`/v1/${other}`)).toEqual(answer);
  return answer;
}
const detailOf = async (name: string) => (await read<NameRow>(`names/${name}`)).data;

const underEth = <T extends { raw: `0x${string}` }>(found: readonly T[] = []) =>
  new Map(found.map((one) => [nameOf([one.raw, "0x657468"]), one]));
const entries = underEth(truth.registries[eth]?.entries);
const leases = underEth(truth.authority);
const entryOf = (name: string) => entries.get(name) ?? expect.unreachable(name);
const leaseOf = (name: string) => leases.get(name)?.v1 ?? expect.unreachable(name);
const namesWhere = (is: (one: Snapshot["authority"][number], name: string) => boolean) =>
  [...leases].flatMap(([name, one]) => (is(one, name) ? name : [])).sort();

// An account with names of both generations, some of which it migrated.
const holder = "0xd2bfacae4dcf4f0349e54e19a4adbe2693b3b1d5";
const inV2 = namesWhere(({ authority }, name) => authority === "v2" && entryOf(name).owner === holder);
const inV1 = namesWhere(({ authority, v1 }) => authority === "reserved" && v1?.holder === holder);
const migrated = inV2.filter((name) => leases.get(name)?.v1);
const isUnderEth = ({ name }: NameRow) => /^[^.]+\.eth$/.test(name);
const names = `addresses/${holder}/names`;

// A migrated name with subnames, records and a history in both generations.
const busy = "jadesaffron.eth";
const children = truth.registries[entryOf(busy).subregistry ?? "0x"]?.entries ?? [];
const living = children
  .filter(({ status }) => status === 2)
  .map((one) => ({ ...one, name: `${nameOf([one.raw])}.${busy}` }));

// Names for which calls returned the account as their address.
const resolving = truth.names
  .filter(({ answers }) => answers.addr === holder)
  .map(({ labels }) => nameOf(labels))
  .sort();
const textOf = (of: string) => {
  const { answers } = truth.names.find(({ name }) => name === of) ?? {};
  return Buffer.from(answers?.description?.slice(2) ?? "", "hex").toString();
};

test("the account has names of both generations", () => {
  expect([inV2.length, inV1, migrated.length]).toEqual([8, ["kelp768.eth", "poppy308.eth"], 2]);
  expect(living.length).toBe(3);
});

describe("manager", () => {
  test("my names", async () => {
    const { data, page, meta } = await read(
      `${names}?namespace=ens&relation=any&sort=name&include=role_summary&page_size=200`,
    );
    const shown = data.filter(isUnderEth);
    expect(namesOf(shown)).toEqual([...inV2, ...inV1].sort());
    expect(namesOf(data)).toEqual(namesOf(data).sort());
    for (const { name, namehash: node, ...row } of shown) {
      const isOfV2 = inV2.includes(name);
      const { expiry, roles } = entryOf(name);
      const of = isOfV2
        ? { authority: "ens_v2", relations: ["owner", "manager", "role_holder"], expires_at: expiry }
        : { authority: "ens_v1", relations: ["owner", "manager"], expires_at: leaseOf(name).expires };
      const always = { status: "active", created_at: expect.any(String), is_primary: expect.any(Boolean) };
      expect(row, name).toMatchObject({ ...of, ...always });
      expect([node, row.ens_v1?.expires_at]).toEqual([namehash(name), isOfV2 ? undefined : of.expires_at]);
      // Other accounts may have roles on the name's resolver alone.
      const kind = isOfV2 ? "registry" : "registration";
      const controlling = row.role_summary?.flatMap(({ address, grants }) =>
        grants.flatMap(({ grant_scope, powers }) => (grant_scope.kind === kind ? [[address, powers]] : [])),
      );
      const accounts = isOfV2 ? Object.keys(roles).sort() : [holder];
      expect(controlling?.map(([address]) => address)).toEqual(accounts);
      const power = isOfV2 ? "set_resolver" : "registration_control";
      expect(new Map(controlling as [string, string[]][]).get(holder)).toContain(power);
    }
    expect(page.next_cursor).toBeNull();
    expect(meta.completeness).toBe("partial");
  });

  test("my names in their grace period", async () => {
    const inGrace = [...entries].filter(
      // Where ENSv1 has a lease, that counts again.
      ([name, { status, latestOwner, expiry }]) =>
        status === 0 &&
        leases.get(name)?.authority !== "v1" &&
        BigInt(latestOwner ?? 0) > 0n &&
        Number(expiry) <= now &&
        now < Number(expiry) + graceOfV2,
    );
    const holders = [...Map.groupBy(inGrace, ([, { latestOwner }]) => latestOwner)];
    expect(holders.length).toBeGreaterThan(5);
    for (const [account, held] of holders.slice(0, 5)) {
      const { data } = await read(
        `addresses/${account}/names?relation=former_owner&parent=eth&sort=expires_at&order=asc&expires_after=${now - graceOfV2}&expires_before=${now + 1}&page_size=200&namespace=ens`,
      );
      const shown = data.filter(({ authority, status }) => authority === "ens_v2" && status === "expired");
      const found = shown.map(({ name, expires_at, grace_ends_at, relations, lapsed_registration }) => ({
        ...{ name, expires_at, grace_ends_at, relations },
        ...{ owner: lapsed_registration?.owner, kind: lapsed_registration?.release_kind },
      }));
      const meant = held.map(([name, { expiry }]) => ({
        ...{ name, expires_at: expiry, grace_ends_at: plus(expiry, graceOfV2) },
        ...{ relations: ["former_owner"], owner: account, kind: "expired" },
      }));
      expect(found).toEqual(meant.sort((a, b) => Number(a.expires_at) - Number(b.expires_at)));
    }
  });

  test("how many names are owned", async () => {
    const { page } = await read(
      `${names}?namespace=ens&relation=owner&parent=eth&dedupe=registration&page_size=1`,
    );
    expect(page.total_count).toBe(inV2.length + inV1.length);
    const landing = await read(`${names}?relation=owner&page_size=50`);
    expect(landing.page.total_count).toBe(landing.data.length);
    const exact = await read(`${names}?relation=owner&include=total_count&page_size=1`);
    expect(exact.page.total_count).toBe(landing.data.length);
  });

  test("the dialog for a primary name", async () => {
    const { data } = await read(`${names}?relation=owner&authority=ens_v2&sort=name&page_size=100`);
    expect(namesOf(data.filter(isUnderEth))).toEqual(inV2);
    expect(data.every(({ authority }) => authority === "ens_v2")).toBe(true);
  });

  test("migration", async () => {
    const { data } = await read(
      `${names}?relation=any&authority=ens_v1,ens_v0&sort=name&include=role_summary`,
    );
    expect(namesOf(data.filter(isUnderEth))).toEqual(inV1);
    const { page } = await read(`${names}?relation=owner&is_migrated=true&dedupe=name&page_size=1`);
    expect(page.total_count).toBe(migrated.length);

    const asked = [...inV1, "cobaltatlas.eth", "notpremigrated.eth", busy, "never-seen-name.eth"];
    const inputs = [...asked, "eth"].map((name) => ({ name }));
    const { data: found } = await post({ inputs, profile: "detail", namespace: "ens" });
    expect(found.map(({ status }) => status)).toEqual(
      asked.map((name) => (leases.has(name) ? "ok" : "not_found")).concat("ok"),
    );
    const rows = new Map(found.flatMap(({ input, record }) => (record ? [[input.name, record]] : [])));
    for (const name of inV1) {
      const { v1 } = leases.get(name) ?? {};
      const row = rows.get(name);
      expect(row).toMatchObject({
        ...{ owner: v1?.holder, manager: v1?.owner, authority: "ens_v1" },
        ...{ status: "active", read_status: "ok" },
        ...{ ens_v1: { expires_at: v1?.expires }, resolver: { address: v1?.resolver } },
        records: { seen_addresses: ["60"], addresses: { 60: holder }, seen_texts: ["description"] },
      });
      // Without the list of ABIs the application asks the chain for them, and copies none that is missing here.
      expect(row?.records).toMatchObject({ seen_abis: [], seen_singletons: [], contenthash: null });
      expect(row).not.toHaveProperty("unresolvable_reason");
    }
    // CANNOT_UNWRAP, PARENT_CANNOT_CONTROL and IS_DOT_ETH of the name wrapper.
    const locked = rows.get("cobaltatlas.eth")?.ens_v1;
    expect(locked).toMatchObject({ wrapper_state: "locked", wrapper_fuses: { fuses: 1 | 65_536 | 131_072 } });
    expect(locked?.wrapper_expires_at).toBe(plus(leaseOf("cobaltatlas.eth").expires, graceOfV1));
  });

  test("a name that cannot come over", async () => {
    // Nothing was reserved for it in ENSv2, whose registrar would give it to anybody.
    const { expires, resolver, owner } = leaseOf("notpremigrated.eth");
    const { ens_v1, ...unresolvable } = await detailOf("notpremigrated.eth");
    expect(ens_v1).toEqual({ expires_at: expires, resolver: { chain_id: v2ChainId, address: resolver } });
    expect(unresolvable).toMatchObject({ status: "expired", unresolvable_reason: "no_live_ens_v2_entry" });
    for (const member of ["resolver", "records", "primary_address"])
      expect(unresolvable).not.toHaveProperty(member);
    const { data: none } = await read<{ records: object }>("names/notpremigrated.eth/records?keys=addr:60");
    expect(none).toMatchObject({ resolver: null, records: { "addr:60": { status: "not_found" } } });
    const forward = await read(`addresses/${owner}/names?relation=resolves_to&page_size=200`);
    expect(namesOf(forward.data)).not.toContain("notpremigrated.eth");
  });

  test("a name and its details", async () => {
    const { owner, expiry, resolver, subregistry } = entryOf(busy);
    expect(await detailOf(busy)).toMatchObject({
      ...{ authority: "ens_v2", status: "active", owner, manager: owner },
      ...{ registered_at: expect.any(String), expires_at: expiry, grace_ends_at: plus(expiry, graceOfV2) },
      registration_id: expect.any(String),
      resolver: { chain_id: v2ChainId, address: resolver },
      subregistry: { chain_id: v2ChainId, address: subregistry },
      records: { addresses: { 60: owner }, texts: { description: textOf(busy) } },
    });
  });

  test("renewal", async () => {
    for (const name of inV1) {
      const { expires: expires_at } = leaseOf(name);
      const dates = { expires_at, grace_ends_at: plus(expires_at, graceOfV1), ens_v1: { expires_at } };
      expect(await detailOf(name)).toMatchObject({ ...dates, authority: "ens_v1", status: "active" });
    }
    // In its grace period the last holder renews it.
    const { expiry, latestOwner } = entryOf("edge.eth");
    expect(await detailOf("edge.eth")).toMatchObject({
      ...{ status: "expired", expires_at: expiry, grace_ends_at: plus(expiry, graceOfV2) },
      lapsed_registration: { owner: latestOwner, release_kind: "expired" },
    });
  });

  test("whether a name can be registered", async () => {
    const { expiry, latestOwner } = entryOf("atend.eth");
    expect(await detailOf("atend.eth")).toMatchObject({
      ...{ status: "released", expires_at: expiry, lapsed_registration: { owner: latestOwner } },
    });
    const ens_v1 = { expires_at: leaseOf("onyxpond.eth").expires };
    expect(await detailOf("onyxpond.eth")).toMatchObject({ status: "released", authority: "ens_v1", ens_v1 });
    for (const [name, status, code] of [
      ["never-seen-name.eth", 404, "not_found"],
      ["a b.eth", 400, "invalid_input"],
      ["a..eth", 400, "invalid_input"],
    ] as const) {
      const answer = await get(`/v1/names/${encodeURIComponent(name)}`);
      expect([name, answer.status, answer.error.code]).toEqual([name, status, code]);
    }
  });

  test("records of a profile", async () => {
    type Answer = { records: object; inventory: Record<"known_keys" | "unsupported_keys", string[]> };
    for (const query of ["namespace=ens&include=inventory", "include=inventory"]) {
      const { data } = await read<Answer>(`names/${busy}/records?${query}`);
      expect(data.inventory).toMatchObject({
        known_keys: ["addr:60", "text:description"],
        unsupported_keys: [],
      });
      const owner = entryOf(busy).owner as Hex;
      expect(data.records).toEqual({
        "addr:60": { status: "ok", value: owner, decoded: { address: getAddress(owner) } },
        "text:description": { status: "ok", value: textOf(busy) },
      });
    }
  });

  test("the profile of an address", async () => {
    const { data } = await read(`${names}?relation=any&sort=registered_at&order=desc`);
    const times = data.map(({ registered_at }) => Number(registered_at ?? Number.MAX_SAFE_INTEGER));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(data.every(({ relations }) => relations?.length)).toBe(true);
    expect(namesOf(data.filter(isUnderEth)).sort()).toEqual([...inV2, ...inV1].sort());
  });

  test("search", async () => {
    const { data } = await read("search?q=jade");
    const meant = [...entries.keys()].filter((name) => name.startsWith("jade")).sort();
    expect(namesOf(data)).toEqual(meant);
    for (const { display_name, status } of data)
      expect([typeof display_name, typeof status]).toEqual(["string", "string"]);
    const { status, error } = await get("/v1/search?q=a%20b");
    expect([status, error.code]).toEqual([400, "invalid_input"]);
  });
});

const events = ["type", "namespace", "contract_address", "transaction_hash", "timestamp"];
const expectEntry = (entry: Entry) => {
  for (const member of events) expect(typeof entry[member as "type"], member).toBe("string");
  expect([typeof entry.block_number, typeof entry.log_index]).toEqual(["number", "number"]);
  expect(typeof entry.data["action"]).toBe("string");
};
const positions = (entries: readonly Entry[]) =>
  entries.map(({ block_number, log_index }) => block_number * 100_000 + log_index);

describe("portal", () => {
  test("the page of an address", async () => {
    const { data } = await read(
      `${names}?relation=any&namespace=ens&include=counts,role_summary&sort=expires_at&order=asc&page_size=200`,
    );
    const dates = data.map(({ expires_at }) => Number(expires_at ?? Number.MAX_SAFE_INTEGER));
    expect(dates).toEqual(dates.toSorted((a, b) => a - b));
    const { data: found } = await post({ inputs: data.map(({ name }) => ({ name })), profile: "detail" });
    for (const [at, row] of data.entries()) {
      const { records } = found[at]?.record ?? {};
      expect([row.name, typeof row.subname_count]).toEqual([row.name, "number"]);
      const { seen_addresses = [], seen_texts = [], seen_singletons = [] } = records ?? {};
      const count = [...seen_addresses, ...seen_texts, ...seen_singletons].length;
      expect(row.record_count).toBe(records && count);
      expect(Array.isArray(row.role_summary)).toBe(true);
      if (row.authority === "ens_v2") expect(row.restrictions?.kind).toBe("ens_v2_registry");
    }
    const counts = new Map(data.map(({ name, subname_count }) => [name, subname_count]));
    for (const name of inV2.filter((one) => !migrated.includes(one)))
      expect(counts.get(name)).toBe(truth.registries[entryOf(name).subregistry ?? "0x"]?.entries.length ?? 0);

    const forward = await read(`${names}?relation=resolves_to&coin_type=60&include=counts&page_size=200`);
    expect(namesOf(forward.data)).toEqual(resolving);
    const number = expect.any(Number);
    for (const row of forward.data)
      expect(row).toMatchObject({
        subname_count: number,
        resolution: { coin_type: 60, record_key: "addr:60" },
      });
  });

  test("names that resolve to an address", async () => {
    const { data } = await read(
      `${names}?namespace=ens&relation=resolves_to&coin_type=evm&sort=name&order=asc&page_size=100`,
    );
    expect(namesOf(data)).toEqual(resolving);
    for (const { resolutions } of data)
      expect(resolutions).toContainEqual({ coin_type: 60, record_key: "addr:60" });
    const { data: found } = await post({ inputs: data.map(({ name }) => ({ name })), profile: "detail" });
    expect(found.map(({ record }) => record.primary_address)).toEqual(resolving.map(() => holder));
  });

  test("subnames", async () => {
    const path = `names/${busy}/subnames?include_expired=false`;
    const { data } = await read(`${path}&sort=name&order=asc&page_size=100`);
    expect(data.map(({ name, owner, labelhash }) => ({ name, owner, labelhash }))).toEqual(
      living
        .map(({ name, owner }) => ({ name, owner, labelhash: labelhashIn(name.split(".")[0] ?? "") }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    );
    expect((await read(`${path}&page_size=1`)).page.total_count).toBe(living.length);
    const { data: below } = await read("names/wraplocked.eth/subnames?include_expired=false&sort=name");
    const registry = truth.names.find(({ name }) => name === "vault.wraplocked.eth")?.subregistry;
    expect(below).toMatchObject([{ name: "vault.wraplocked.eth", subregistry: { address: registry } }]);
  });

  test("the history of a name", async () => {
    const path = `names/${busy}/history`;
    const history = `${path}?include=data,raw,child_registrations&order=desc&page_size=100`;
    const { data } = await read<(Entry & { subject: string })[]>(history);
    for (const entry of data) expectEntry(entry);
    expect(positions(data)).toEqual(positions(data).toSorted((a, b) => b - a));
    const born = data.filter(({ subject }) => subject === "child");
    expect(namesOf(born)).toEqual(expect.arrayContaining(namesOf(living)));
    for (const { type, contract_address } of born)
      expect([type, contract_address]).toEqual(["registration", entryOf(busy).subregistry]);
    expect(namesOf(data.filter(({ subject }) => subject === "name"))).toContain(busy);

    const [middle] = data.filter(({ type }) => type === "subregistry");
    const time = `from_timestamp=${middle?.timestamp}&to_timestamp=${middle?.timestamp}`;
    const within = await read<Entry[]>(`${history}&type=subregistry,resolver&${time}`);
    expect(within.data).toEqual([middle]);
    const pointers = await read<Entry[]>(`${path}?type=subregistry&page_size=50&include=data`);
    expect(pointers.data[0]?.data["subregistry"]).toEqual({
      ...{ chain_id: v2ChainId, address: entryOf(busy).subregistry },
    });

    const [first] = (await read<Entry[]>(`${path}?order=asc&page_size=1`)).data;
    expect(first?.timestamp).toBe((await detailOf(busy)).created_at);
    const start = await read<Entry[]>(`${path}?order=asc&page_size=20&include=data,raw`);
    expect([start.data.length, start.data[0]?.id]).toEqual([20, first?.id]);
    const own = data.filter(({ subject }) => subject === "name");
    expect(start.page.total_count).toBe(own.length);

    const timeline = await read<Entry[]>(
      `${path}?type=record&record_key=text:description&include=data,raw&order=desc&page_size=200`,
    );
    expect(timeline.data.length).toBeGreaterThan(1);
    expect(timeline.data[0]?.data).toMatchObject({ key: "text:description", value: textOf(busy) });
  });

  test("the history of an address", async () => {
    const path = `addresses/${holder}/history?relation=any&include=data,raw&order=desc`;
    const { data, page } = await read<Entry[]>(`${path}&page_size=200`);
    const five = await read<Entry[]>(`${path}&page_size=5`);
    expect(five.data).toEqual(data.slice(0, 5));
    expect(page.total_count).toBeGreaterThanOrEqual(data.length);
    for (const entry of data) expectEntry(entry);
    expect(namesOf(data)).toEqual(expect.arrayContaining([...inV1, ...migrated]));
  });

  test("activity", async () => {
    const { data, page } = await read<Entry[]>("events?order=desc&page_size=15&include=data,raw");
    expect([data.length, page.has_more]).toEqual([15, true]);
    for (const entry of data) expectEntry(entry);
    expect(positions(data)).toEqual(positions(data).toSorted((a, b) => b - a));
    const next = await read<Entry[]>(
      `events?order=desc&page_size=15&include=data,raw&cursor=${page.next_cursor}`,
    );
    expect(Math.max(...positions(next.data))).toBeLessThan(Math.min(...positions(data)));
    const feed = await read<Entry[]>(`events?contract_address=${eth}&include=data,raw,total_count`);
    expect(feed.page.total_count).toBeGreaterThan(feed.data.length);
    expect(new Set(feed.data.map(({ contract_address }) => contract_address))).toEqual(new Set([eth]));
  });

  test("roles of a name", async () => {
    // Its roles were changed, and one account got some.
    const name = "changerole.eth";
    const { registration_id, owner } = await detailOf(name);
    const roles = Object.entries(entryOf(name).roles);
    expect(roles.length).toBeGreaterThan(1);
    const { data } = await read<Entry[]>(
      `events?registration_id=${registration_id}&type=permission&include=data,raw&order=asc&page_size=200`,
    );
    for (const entry of data) {
      expectEntry(entry);
      expect([entry.contract_address, entry.data["grant_scope"]]).toEqual([
        eth,
        { kind: "registry", detail: {} },
      ]);
      for (const member of ["powers", "added_powers", "removed_powers"])
        expect(Array.isArray(entry.data[member]), member).toBe(true);
    }
    for (const [account, bitmap] of roles) {
      const latest = data.findLast((entry) => entry.data["address"] === account)?.data;
      expect(latest?.["new_role_bitmap"]).toBe(String(BigInt(bitmap)));
      type Grant = { address: string; grant_scope: { kind: string }; powers: string[] };
      const { data: grants } = await read<Grant[]>(`permissions?name=${name}&address=${account}`);
      expect(grants.find(({ grant_scope }) => grant_scope.kind === "registry")).toMatchObject({
        ...{ address: account, powers: latest?.["powers"] },
      });
    }
    const held = await get(`/v1/permissions?name=${name}&address=${owner}`);
    const { restrictions } = held as unknown as Pick<NameRow, "restrictions">;
    expect(restrictions).toMatchObject({ kind: "ens_v2_registry", registration_id });
  });
});

describe("portal, contracts", () => {
  const contract = (address: string) => `${v2ChainId}/${address}`;
  const held = (roles: Record<string, string> = {}) =>
    Object.keys(roles).filter((account) => BigInt(roles[account] ?? 0) !== 0n);

  test("roles on a whole registry, and their history", async () => {
    const path = `permissions?registry=${v2ChainId}:${eth}`;
    type Grant = Record<"address", string> & { grant_scope: object; powers: string[] };
    const { data, meta } = await read<Grant[]>(`${path}&page_size=200`);
    const scope = { kind: "root", detail: { registry: { chain_id: v2ChainId, address: eth } } };
    expect(data.map(({ address }) => address)).toEqual(held(truth.registries[eth]?.rootRoles).sort());
    for (const { grant_scope } of data) expect(grant_scope).toEqual(scope);
    expect(meta).toMatchObject({
      completeness: "partial",
      unlisted_permission_surfaces: ["ens_v2_registry_operators"],
    });
    const [first] = data;
    expect((await read<Grant[]>(`${path}&page_size=1`)).data).toEqual([first]);
    const history = `events?contract_address=${eth}&address=${first?.address}&kind=RootPermissionChanged`;
    const { data: changes } = await read<Entry[]>(`${history}&include=data,raw&order=desc`);
    expect(changes[0]).toMatchObject({
      ...{ type: "permission", kind: "RootPermissionChanged", contract_address: eth },
      data: { address: first?.address, grant_scope: scope, powers: first?.powers },
    });
  });

  // Resolvers with record ids, by the factory's ProxyDeployed and the code that it names.
  const proxies = index.logs
    .filter(
      ({ topics }) => topics[0] === "0x0a2c575ff341b41da136c9ccae74ec230a927a024d18f0dccf46d123f28f5f54",
    )
    .filter(({ data }) => data.endsWith(v2Addresses["RecordResolverImpl"]?.slice(2) ?? "none"))
    .map(({ topics }) => `0x${topics[2]?.slice(26)}`);
  const namesAt = (address: string) =>
    truth.names.filter(({ resolver }) => resolver?.address === address && resolver?.offset === 0);

  test.each(proxies.filter((address) => namesAt(address).length > 1))("resolver %s", async (address) => {
    type Overview = { bound_names: { data: NameRow[]; page: { next_cursor: string | null } } };
    const { data } = await read<Overview>(`resolvers/${contract(address)}?page_size=200`);
    const bound = namesOf(data.bound_names.data);
    expect(bound).toEqual(expect.arrayContaining(namesAt(address).map(({ labels }) => nameOf(labels))));
    expect(data.bound_names.page.next_cursor).toBeNull();
    const event = { block_number: expect.any(Number), timestamp: expect.any(String) };
    const links = await read<(NameRow & { record_id: string })[]>(`resolvers/${contract(address)}/links`);
    expect(links.data.length).toBeGreaterThan(0);
    for (const { name, namehash: node, record_id, ...row } of links.data) {
      expect([Number(record_id) > 0, name && namehash(name)]).toEqual([true, name && node]);
      expect(row).toMatchObject({ default: expect.any(Boolean), link_event: event });
    }
    type Role = { address: string; eac_resource: string; grant_event: object; powers: string[] };
    const { data: roles, page } = await read<Role[]>(`resolvers/${contract(address)}/roles`);
    expect([roles.length, roles.length > 0]).toEqual([page.total_count, true]);
    for (const { powers, ...row } of roles) {
      expect(powers.length).toBeGreaterThan(0);
      expect(row).toMatchObject({
        address: expect.any(String),
        eac_resource: expect.stringMatching(/^\d+$/),
        grant_event: event,
      });
    }
    const events = `events?resolver=${v2ChainId}:${address}&include=data,raw&order=desc&page_size=200`;
    for (const { contract_address } of (await read<Entry[]>(events)).data)
      expect(contract_address).toBe(address);
  });

  test("a registry", async () => {
    const registry = entryOf(busy).subregistry ?? "";
    type Overview = { name: NameRow; parent_registry: object; counts: object; created_basis: string };
    const { data } = await read<Overview>(`registries/${contract(registry)}?include=counts`);
    const known = children.filter(
      ({ latestOwner, expiry }) => BigInt(latestOwner ?? 0) || Number(expiry) > now,
    );
    const roles = living.reduce((sum, one) => sum + held(one.roles).length, 0);
    // Three names lead to it, of which the earliest counts.
    const leading = [...entries].flatMap(([name, one]) => (one.subregistry === registry ? name : []));
    expect([leading.length, leading.includes(data.name.name), leading.includes(busy)]).toEqual([
      3,
      true,
      true,
    ]);
    expect(data).toMatchObject({
      parent_registry: { chain_id: v2ChainId, address: eth },
      created_basis: "registry_created",
      counts: {
        labels: known.length,
        roles: roles + held(truth.registries[registry as `0x${string}`]?.rootRoles).length,
      },
    });
    const labels = `registries/${contract(registry)}/labels`;
    const { data: rows, page } = await read(`${labels}?include=counts&page_size=100`);
    expect(page.total_count).toBe(known.length);
    for (const one of living)
      expect(rows.find(({ name }) => name === `${nameOf([one.raw])}.${data.name.name}`)).toMatchObject({
        ...{ owner: one.owner, role_holder_count: held(one.roles).length, subname_count: 0 },
      });
    const owner = living[0]?.owner ?? "";
    const others = known.filter(({ latestOwner }) => latestOwner !== owner);
    const rest = await read(`${labels}?page_size=1&exclude_owner=${owner}`);
    expect(rest.page.total_count).toBe(others.length);
    const { status, error } = await get(`/v1/registries/${contract(holder)}`);
    expect([status, error.code]).toEqual([404, "not_found"]);
  });
});

describe("worker, and what all of them send", () => {
  test("how far the chain is indexed", async () => {
    const { data } = await get<{ chains: Record<string, { indexed_block: number }> }>("/v1/status");
    expect(data.chains[v2ChainId]?.indexed_block).toBe(truth.block);
  });

  test("the faucet's names of ENSv1", async () => {
    const path = `${names}?relation=any&authority=ens_v1,ens_v0&sort=expires_at&page_size=200`;
    const { data } = await read(`${path}&order=asc`);
    const meant = inV1.map((name) => ({ name, expires_at: leaseOf(name).expires, authority: "ens_v1" }));
    expect(data.filter(isUnderEth)).toMatchObject(
      meant.sort((a, b) => Number(a.expires_at) - Number(b.expires_at)),
    );
    expect(namesOf((await read(`${path}&order=desc`)).data)).toEqual(namesOf(data).reverse());
  });

  test("the sweep of expiries", async () => {
    const [from, middle, to] = [now - 40 * day, now, now + 40 * day];
    const windows = `expires_window=${from}..${middle}&expires_window=${middle}..${to}`;
    const path = "names?namespace=ens&parent=eth";
    const ends = ([, { expiry, status }]: [string, { expiry: string | null; status: number | null }]) =>
      status !== 1 && Number(expiry) >= from && Number(expiry) < to;
    const meant = [...entries].filter((one) => ends(one) && leases.get(one[0])?.authority !== "v1");
    const byDate = meant.sort((a, b) => Number(a[1].expiry) - Number(b[1].expiry));
    const { data, meta } = await read(`${path}&authority=ens_v2&${windows}&page_size=200`);
    expect(meta.as_of?.[v2ChainId]).toMatchObject({ block_number: truth.block, timestamp: String(now) });
    expect(data.map(({ expires_at }) => expires_at)).toEqual(byDate.map(([, { expiry }]) => expiry));
    expect(namesOf(data).sort()).toEqual(meant.map(([name]) => name).sort());
    for (const { name, expires_at, ...row } of data) {
      const { latestOwner, owner } = entryOf(name);
      const isOver = Number(expires_at) <= now;
      const of = isOver ? [0, undefined] : [1, owner];
      expect([name, row.expires_window_index, row.owner]).toEqual([name, ...of]);
      expect(row.grace_ends_at).toBe(plus(expires_at ?? null, graceOfV2));
      if (isOver) expect(row.lapsed_registration?.owner).toBe(latestOwner);
    }
    const range = `expires_after=${from}&expires_before=${to}`;
    const whole = await read(`${path}&authority=ens_v2&${range}&page_size=200`);
    expect(namesOf(whole.data)).toEqual(namesOf(data));
    const one = await read(`${path}&authority=ens_v2&${range}&page_size=1`);
    const next = await read(`${path}&authority=ens_v2&${range}&page_size=1&cursor=${one.page.next_cursor}`);
    expect(namesOf([...one.data, ...next.data])).toEqual(namesOf(data).slice(0, 2));
    const leased = await read(`${path}&authority=ens_v1,ens_v0&${range}&page_size=200`);
    expect(namesOf(leased.data)).toEqual(
      namesWhere(
        ({ v1, authority }) => authority !== "v2" && Number(v1?.expires) >= from && Number(v1?.expires) < to,
      ),
    );
  });

  test("what a request may not have is told in words that clients read", async () => {
    for (const path of ["names/eth", "search?q=a", `${names}?relation=any`, "events?order=desc"]) {
      const { status, error } = await get(`/v1/${path}${path.includes("?") ? "&" : "?"}unheard_of=1`);
      expect([path, status, error.code, error.message]).toEqual([
        ...[path, 400, "invalid_input", "unknown query parameter: unheard_of"],
      ]);
    }
    const { status, error } = await get(`/v1/${names}?finality=safe`);
    expect([status, error.code]).toEqual([400, "invalid_input"]);
  });
});
