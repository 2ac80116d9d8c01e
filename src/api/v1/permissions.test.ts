import { describe, expect, test } from "vitest";
import { v2Addresses, v2ChainId, v2Environment } from "../../../devnet/recorded-chains.ts";
import { readTruth } from "../../../test/support/ensv2/recording.ts";
import { openLastIndex } from "../../../test/support/ensv2/stored-index.ts";
import { namesOf, openLookups } from "../../../test/support/lookups/lookups.ts";
import {
  addressOf,
  alice,
  bob,
  carol,
  createStoredNames,
  publicResolver,
} from "../../../test/support/lookups/stored-names.ts";
import { namehash } from "../../ens/names.ts";
import type { NameRow } from "../../read/names/rows.ts";

// Powers over names: of ENSv2 as the registries' own views give the roles at the last block of the recorded chain.

type Permission = {
  address: string;
  grant_scope: { kind: string; detail: object };
  powers: string[];
  registration_id: string;
  authority_context: string;
  name?: string;
};
type Answer = { status: number; data: Permission[]; page: { next_cursor: string | null } } & Record<
  "meta" | "restrictions" | "error",
  Record<string, unknown>
>;

const snapshots = readTruth();
const last = snapshots[snapshots.length - 1];
const { index, ...stored } = await openLastIndex();
const { get, all } = openLookups({
  database: stored.database,
  datasources: index.config.datasources,
  plugins: v2Environment.PLUGINS.split(","),
  time: last?.timestamp ?? 0,
});
const ask = async (query: string) => (await get(`/v1/permissions?${query}`)) as unknown as Answer;
const list = (query: string, size = 200) => all<Permission>(`/v1/permissions?${query}`, size);

const eth = v2Addresses["ETHRegistry"] as `0x${string}`;
const owner = "0x141f5c134df39820b309b9f839dff8591437ebbd";
const registries = Object.entries(last?.registries ?? {});
const given = (roles: object) => Object.values(roles).filter((one) => BigInt(one) !== 0n).length;
const rootOf = (registry: string) => `registry=${v2ChainId}:${registry}`;
const testRegistration = `${v2ChainId}-${namehash("test.eth")}-1778304145`;
const ofV2 = ["ens_v2_registry_operators", "resolver_approvals"];
const partly = (surfaces: string[]) => ({
  completeness: "partial",
  unsupported_reason: "permissions_partially_listed",
  unlisted_permission_surfaces: surfaces,
});
const unknown = { completeness: "partial", unsupported_reason: "permission_support_unknown" };

test("a name has the roles of its entry and those of its whole registry", async () => {
  const { data, meta, restrictions } = await ask("name=test.eth");
  const [ofEntry, ...others] = data;
  expect(ofEntry).toEqual({
    address: owner,
    grant_scope: { kind: "registry", detail: {} },
    powers: [
      ...["set_subregistry", "set_resolver", "admin_set_subregistry", "admin_set_resolver"],
      "can_transfer_admin",
    ],
    registration_id: testRegistration,
    name: "test.eth",
    authority_context: "current_for_name",
  });
  expect(others.map(({ address }) => address)).toEqual(
    Object.keys(last?.registries[eth]?.rootRoles ?? {}).sort(),
  );
  for (const { grant_scope, registration_id } of others) {
    expect(grant_scope).toEqual({
      kind: "root",
      detail: { registry: { chain_id: v2ChainId, address: eth } },
    });
    expect(registration_id).toBe(`${v2ChainId}-${eth}-root`);
  }
  expect(meta).toMatchObject(partly(ofV2));
  // The registry has an admin of renewals, and the name those of its resolver and subregistry.
  const locked_roles = ["unregister"];
  expect(restrictions).toEqual({ kind: "ens_v2_registry", registration_id: testRegistration, locked_roles });
  const held = await ask(`name=test.eth&address=${owner}&include=lineage`);
  expect(held.data).toEqual([{ ...ofEntry, lineage: { grant: { kind: "event" } } }]);
  const audit = await ask(`registration_id=${testRegistration}&address=${owner}`);
  expect(audit.data).toEqual([{ ...ofEntry, authority_context: "resource_audit" }]);
  const ofRegistry = await ask(`name=test.eth&${rootOf(eth)}`);
  expect(ofRegistry.data).toEqual(others);
  expect(await list(`name=test.eth&${rootOf(eth)}`, 1)).toEqual(others);
});

test("a registry has the accounts with roles on all of it, unless it is of unknown code", async () => {
  for (const [address, { hostile, rootRoles }] of registries) {
    const found = await list(rootOf(address));
    expect([address, found.length]).toEqual([address, hostile ? 0 : given(rootRoles)]);
    expect(found.every(({ grant_scope }) => grant_scope.kind === "root")).toBe(true);
  }
  const { data, meta } = await ask(rootOf(eth));
  expect(meta).toMatchObject(partly(["ens_v2_registry_operators"]));
  expect((await ask(`registration_id=${v2ChainId}-${eth}-root`)).data).toEqual(data);
  expect((await ask(rootOf(addressOf("ab")))).data).toEqual([]);
});

test("an account has its roles on registries, each with the name of its entry", async () => {
  const accounts = new Map<string, number>();
  for (const [, { hostile, rootRoles, entries }] of registries)
    for (const roles of hostile ? [] : [rootRoles, ...entries.map((one) => one.roles)])
      for (const [account, bitmap] of Object.entries(roles))
        if (BigInt(bitmap) !== 0n) accounts.set(account, (accounts.get(account) ?? 0) + 1);
  expect(accounts.size).toBeGreaterThan(20);
  for (const [account, count] of accounts) {
    const found = await list(`address=${account}`);
    const ofRegistries = found.filter(({ grant_scope: { kind }, registration_id }) => {
      const [, subject = ""] = registration_id.split("-");
      // Of one registry that no name leads to, calls were not asked.
      const isKnown = subject.length === 66 || last?.registries[subject as "0x"] !== undefined;
      return (kind === "root" || kind === "registry") && isKnown;
    });
    expect([account, ofRegistries.length]).toEqual([account, count]);
  }
  const mine = await list(`address=${owner}`);
  expect(mine.find(({ name }) => name === "test.eth")).toMatchObject({
    registration_id: testRegistration,
    authority_context: "resource_audit",
  });
  const { meta } = await ask(`address=${owner}`);
  expect(meta["unlisted_permission_surfaces"]).toEqual([
    ...["ens_v2_registry_operators", "registrar_approvals", "registry_operators"],
    ...["resolver_approvals", "wrapper_approvals", "wrapper_parent_control"],
  ]);
});

test("roles on a resolver that are limited to a name, or to one of its records", async () => {
  const ofResolver = async (name: string) =>
    (await list(`name=${name}`)).filter(({ grant_scope }) => grant_scope.kind === "resolver");
  const hash = "0x5a35bd1cc1a5076da6f7ae249b8fc0446f8a4fcd58963ba1cde3d9abbe60f419";
  const [granted] = await ofResolver("cedar730.eth");
  expect(granted).toMatchObject({
    powers: ["set_text"],
    name: "cedar730.eth",
    eac_resource: String(BigInt(hash)),
    record_resource: { kind: "text", hash, key: "avatar" },
  });
  expect((await list(`address=${granted?.address}`)).filter((one) => one.name === "cedar730.eth")).toEqual([
    { ...granted, authority_context: "resource_audit" },
  ]);
  // All records of the name.
  expect((await ofResolver("jadecotton.eth"))[0]).not.toHaveProperty("record_resource");
  // With record ids an argument counts for every name of the resolver, which is the resource of none.
  const argument = "0xd1f86c93d831119ad98fe983e643a7431e4ac992e3ead6e3007f4dd1adf66343";
  expect(await ofResolver("recordlinked.eth")).toEqual([]);
  const { rows } = await stored.client.query<{ account: string; address: string }>(
    "SELECT account, address FROM v2_roles WHERE resource = $1",
    [argument],
  );
  const [role] = rows;
  const found = await list(`registration_id=${v2ChainId}-${role?.address}-${argument}`);
  expect(found).toMatchObject([
    { address: role?.account, record_resource: { kind: "text", hash: argument, key: "avatar" } },
  ]);
});

test("pages join without gaps", async () => {
  for (const query of ["name=cedar730.eth", `address=${owner}`, rootOf(eth)])
    expect(await list(query, 7)).toEqual(await list(query));
});

test.each<[string, object]>([
  ["name=never.seen.eth", unknown],
  // A reservation has no owner, and its lease in the first generation gives the powers.
  ["name=lapsed.eth", unknown],
  [`registration_id=${testRegistration.replace("1778304145", "1")}`, unknown],
  [`name=test.eth&registration_id=${v2ChainId}-${eth}-root`, unknown],
  ["name=test.eth&namespace=ens&address=0x1111111111111111111111111111111111111111", partly(ofV2)],
])("nothing for %s", async (query, expected) => {
  const { status, data, meta } = await ask(query);
  expect([status, data]).toEqual([200, []]);
  expect(meta).toMatchObject(expected);
});

test.each([
  ["", "name, registration_id, address or registry is required"],
  ["namespace=ens", "name, registration_id, address or registry is required"],
  ["address=0x1", "address must be a 0x-prefixed 20-byte hex string"],
  ["registry=0x1", "registry must be <chain id>:<address>"],
  ["registration_id=1", "registration_id must be one that a row gave"],
  ["name=a..eth", "The name is invalid: it has an empty label"],
  ["name=a.eth&include=counts", "include must contain only lineage"],
])("400 for %s", async (query, message) => {
  const { status, error } = await ask(query);
  expect([status, error]).toMatchObject([400, { code: "invalid_input", message }]);
});

// A proxy of code that nobody knows says of an account what it likes, as often as it likes; so may the owner of a
// registry.
describe("with thousands of roles by strangers", async () => {
  const { client } = stored;
  const [liar, stranger] = [`0x00${"1a".repeat(19)}`, addressOf("5a")];
  const registrar = `0x${"1".padStart(64, "0")}`;
  const { rows } = await client.query<{ resource: string }>(
    "SELECT resource FROM v2_entries WHERE node = $1",
    [namehash("test.eth")],
  );
  const resource = rows[0]?.resource;
  const grant = (account: string, roles = registrar, on = resource, at: string = eth) =>
    client.query("INSERT INTO v2_roles VALUES ($1, $2, $3, $4, $5)", [v2ChainId, at, on, account, roles]);
  const within = async (use: () => Promise<void>) => {
    await client.exec(
      "CREATE TABLE kept AS SELECT * FROM v2_roles; CREATE TABLE entries AS SELECT * FROM v2_entries",
    );
    await use().finally(() =>
      client.exec(`DELETE FROM v2_roles; INSERT INTO v2_roles SELECT * FROM kept; DELETE FROM v2_entries; INSERT INTO v2_entries SELECT * FROM entries;
      DROP TABLE kept; DROP TABLE entries; DELETE FROM v2_contracts WHERE address = '${liar}'`),
    );
  };
  const lie = (account: string, count: number) =>
    client.exec(`
    INSERT INTO v2_contracts (chain_id, address, implementation, deployer, is_upgraded, has_record_ids)
      VALUES (${v2ChainId}, '${liar}', '0x${"66".repeat(20)}', '0x${"67".repeat(20)}', false, false);
    INSERT INTO v2_roles SELECT ${v2ChainId}, '${liar}', '0x' || lpad(to_hex(i) || '00000000', 64, '0'), '${account}', '${registrar}'
      FROM generate_series(1, ${count}) i`);

  test("an account still has its own", () =>
    within(async () => {
      const before = await list(`address=${owner}`);
      await lie(owner, 12_345);
      expect(await list(`address=${owner}`)).toEqual(before);
      const { data, meta } = await get(`/v1/addresses/${owner}/names?relation=role_holder`);
      expect(data).toEqual([]);
      expect(meta).toMatchObject({ completeness: "partial", unsupported_fields: ["relations"] });
    }));

  test("a name with more than 1,000 has no summary", () =>
    within(async () => {
      await client.exec(`INSERT INTO v2_roles SELECT ${v2ChainId}, '${eth}', '${resource}', '0x' || lpad(to_hex(i), 40, '0'), '${registrar}'
        FROM generate_series(1, 1001) i`);
      const { status, error } = await get(`/v1/addresses/${owner}/names?q=test&include=role_summary`);
      expect([status, error.code]).toEqual([422, "unsupported"]);
      const { meta, restrictions } = await ask("name=test.eth");
      expect(meta["unsupported_fields"]).toEqual(["restrictions"]);
      expect(restrictions).toBeUndefined();
      expect((await list("name=test.eth")).length).toBeGreaterThan(1_001);
    }));

  test("an address has the names on whose registrations it has a role", () =>
    within(async () => {
      const of = async (relation: string) =>
        (await get<NameRow[]>(`/v1/addresses/${stranger}/names?relation=${relation}`)).data;
      // The mark of a reserved name allows nothing, and roles on the whole registry are of no name.
      await grant(stranger, `0x${"100000000".padStart(64, "0")}`);
      await grant(stranger, registrar, `0x${"0".repeat(64)}`);
      expect(await of("any")).toEqual([]);
      await client.query("UPDATE v2_roles SET roles = $1 WHERE account = $2", [registrar, stranger]);
      for (const relation of ["any", "role_holder", "owner,role_holder"])
        expect(await of(relation)).toMatchObject([{ name: "test.eth", relations: ["role_holder"] }]);
      expect(await of("owner,manager")).toEqual([]);
      for (const sort of ["sort=expires_at", "order=desc", "q=te", "q=st&match=contains"])
        expect(namesOf(await of(`any&${sort}`))).toEqual(["test.eth"]);
      // A later registration has another resource.
      await client.query("UPDATE v2_entries SET resource = $1 WHERE node = $2", [
        registrar,
        namehash("test.eth"),
      ]);
      expect(await of("any")).toEqual([]);
    }));
});

test("an owner with roles has all three relations, and pages of its names join", async () => {
  const path = `/v1/addresses/${owner}/names`;
  const { data, page } = await get(path);
  expect(data.find(({ name }) => name === "test.eth")?.relations).toEqual([
    "owner",
    "manager",
    "role_holder",
  ]);
  expect(page.total_count).toBe(data.length);
  for (const query of ["", "?order=desc", "?relation=role_holder", "?sort=registered_at"])
    expect(namesOf(await all(`${path}${query}`, 50))).toEqual(namesOf(await all(`${path}${query}`)));
});

test("names of an address with who has which powers over them", async () => {
  const { data, meta } = await get<NameRow[]>(`/v1/addresses/${owner}/names?q=test.eth&include=role_summary`);
  const { data: listed, restrictions } = await ask("name=test.eth");
  const { grant_scope, powers } = listed[0] as Permission;
  const row = data.find(({ name }) => name === "test.eth");
  expect(row?.role_summary).toEqual([{ address: owner, grants: [{ grant_scope, powers }] }]);
  expect(row?.restrictions).toEqual(restrictions);
  expect(meta).toMatchObject({ ...partly(ofV2), unsupported_fields: ["role_summary"] });
});

describe("names of the first generation", async () => {
  const { get, store, all } = await createStoredNames();
  const of = async (name: string) =>
    (await get<Permission[]>(`/v1/permissions?name=${name}`)) as unknown as Answer;
  const emancipated = [
    ...["registration_control", "set_resolver", "set_ttl", "create_subnames", "transfer", "unwrap"],
    ...["burn_fuses", "approve", "extend_subname_expiry"],
  ];
  const without = (...words: string[]) => emancipated.filter((one) => !words.includes(one));
  const resolver = { kind: "resolver", detail: { resolver: { chain_id: 1, address: publicResolver } } };
  const registration = { kind: "registration", detail: {} };

  // The lists of powers are those of NameWrapper's checks (canModifyName, setFuses, approve, extendExpiry).
  test.each<[string, [address: string, scope: object, powers: string[]][]]>([
    [
      "records.eth",
      [
        [bob, registration, ["registration_control"]],
        [bob, resolver, ["resolver_control"]],
      ],
    ],
    // The registry's owner is another one than the registrar's.
    ["plain.eth", [[alice, registration, ["registration_control"]]]],
    ["child.plain.eth", [[carol, registration, ["registration_control"]]]],
    ["wrapped.eth", [[alice, registration, emancipated]]],
    ["sub.wrapped.eth", [[bob, registration, without("burn_fuses")]]],
    ["locked.wrapped.eth", [[bob, registration, without("registration_control", "unwrap")]]],
    ["wrappedgrace.eth", [[alice, registration, ["approve"]]]],
    ["lapsed.wrapped.eth", []],
    ["gone.eth", []],
  ])("%s", async (name, expected) => {
    const { data } = await of(name);
    expect(data.map((one) => [one.address, one.grant_scope, one.powers])).toEqual(expected);
  });

  test("fuses take powers, and one gives one", async () => {
    const fuses = 65_536 | 1 | 2 | 4 | 8 | 16 | 32 | 64 | 262_144;
    const wrapped = { owner: carol, fuses, expires: 4_000_000_000 };
    await store("burnt.wrapped.eth", {
      owner: "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401",
      wrapped,
      resolver: publicResolver,
    });
    const { data, restrictions, meta } = await of("burnt.wrapped.eth");
    expect(data).toMatchObject([
      {
        powers: ["extend_subname_expiry", "extend_expiry"],
        wrapper_state: "locked",
        wrapper_fuses: { fuses },
      },
    ]);
    expect(restrictions).toMatchObject({ kind: "ens_v1_wrapper", wrapper_fuses: { fuses } });
    expect(meta).toMatchObject(partly(["resolver_approvals", "wrapper_approvals", "wrapper_parent_control"]));
  });

  test("an account's, in the order of names; ids lead back to them", async () => {
    const rows = await all<Permission>(`/v1/permissions?address=${bob}&namespace=ens`);
    expect(rows.filter(({ name }) => name === "records.eth").map(({ powers }) => powers)).toEqual([
      ["registration_control"],
      ["resolver_control"],
    ]);
    expect(await all(`/v1/permissions?address=${bob}&namespace=ens`, 1)).toEqual(rows);
    for (const { registration_id, address } of rows) {
      const { data } = await get<Permission[]>(
        `/v1/permissions?registration_id=${registration_id}&address=${address}`,
      );
      expect(data).toEqual(rows.filter((one) => one.registration_id === registration_id));
    }
    const { data } = await get<NameRow[]>(`/v1/addresses/${carol}/names?q=child.plain&include=role_summary`);
    const id = `1-${namehash("child.plain.eth")}-registry`;
    expect(data).toMatchObject([
      {
        permission_resource_id: id,
        role_summary: [
          { address: carol, grants: [{ grant_scope: registration, powers: ["registration_control"] }] },
        ],
      },
    ]);
    expect((await get(`/v1/events?registration_id=${id}`)).status).toBe(200);
  });
});
