import { type Hex, toEventSelector } from "viem";
import { expect, test } from "vitest";
import { v2Addresses, v2ChainId } from "../../../devnet/recorded-chains.ts";
import { currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { readTruth } from "../../../test/support/ensv2/recording.ts";
import { openLastIndex } from "../../../test/support/ensv2/stored-index.ts";
import { openLookups } from "../../../test/support/lookups/lookups.ts";
import { allPages } from "../../../test/support/recordings.ts";
import { dnsLabels } from "../../ens/names.ts";
import { findV2Contracts } from "../../read/names/v2-names.ts";
import { encodeCursor } from "../kit/paging.ts";
import { permissions } from "./permissions.ts";

// Roles at the last block of the recorded chain, as the registries' own views give them.

type Permission = { resource: Hex; account: Hex; roles: string[]; bitmap: Hex; label?: string; kind: string };

const zero = `0x${"0".repeat(40)}`;
const rolesChanged = toEventSelector("EACRolesChanged(uint256,address,uint256,uint256)");
const snapshots = readTruth();
const last = snapshots[snapshots.length - 1];
const { index, ...stored } = await openLastIndex();

function open(ensv2 = findV2Contracts(index.config.datasources), plugins = ["subgraph", "ensv2"]) {
  const status = { current: () => currentStatus("omnichain-following", last?.timestamp) };
  return openEndpoints([permissions], { database: stored.database, plugins, status, ensv2 }).ask;
}

const everyPermission = (query: string) =>
  allPages<Permission>(open(), `/api/permissions?${query}`, "permissions");

test("a name has the roles of its entry and of its registry", async () => {
  const { body } = await open()("/api/permissions?name=test.eth&recordsPerPage=100");
  const owner = "0x141f5c134df39820b309b9f839dff8591437ebbd";
  expect(body.name).toMatchObject({ name: "test.eth", status: "registered", isCanonical: true, owner });
  const ofEntry = (body.permissions as Permission[]).filter(({ label }) => label === "test");
  expect(ofEntry.map(({ account, roles }) => [account, roles])).toEqual([
    [
      owner,
      [
        "CAN_SET_SUBREGISTRY",
        "CAN_SET_RESOLVER",
        "CAN_SET_SUBREGISTRY_ADMIN",
        "CAN_SET_RESOLVER_ADMIN",
        "CAN_TRANSFER_ADMIN",
      ],
    ],
  ]);
});

test.each([
  [
    "migrateme.eth",
    {
      version: "v2",
      reserved: false,
      migratedAt: expect.any(Number),
      status: "registered",
      isProven: true,
    },
  ],
  ["notpremigrated.eth", { version: "v1", reserved: false, status: "available" }],
  ["lapsed.eth", { version: null, status: "available" }],
  ["reserved.eth", { version: "v1", reserved: true, status: "reserved" }],
  // Linked from another registry, under which its registry does not say it is.
  ["wallet.linked.parent.eth", { version: "v2", isCanonical: false }],
  // A registry of code that nobody knows.
  ["x.trap.eth", { owner: null, isProven: false }],
  ["wallet.sub1.parent.eth", { isProven: true }],
  ["absent.absent.eth", { registry: null, status: "available" }],
])("%s", async (name, expected) => {
  const { body } = await open()(`/api/permissions?name=${name}`);
  expect(body.name).toMatchObject(expected);
});

type OfResolver = Permission & { name?: string; record?: object; contract: { address: Hex } };

// Who may set what on a resolver, by the last EACRolesChanged of each resource.
function announcedOf(resolver: Hex, resource: Hex) {
  const changed = index.logs.filter(
    ({ address, topics }) => address === resolver && topics[0] === rolesChanged && topics[1] === resource,
  );
  const latest = new Map(
    changed.map(({ topics, data }) => [`0x${topics[2]?.slice(26)}`, `0x${data.slice(66)}`]),
  );
  return [...latest].filter(([, bitmap]) => BigInt(bitmap) !== 0n);
}

test.each<[string, Hex, object]>([
  [
    "jadecotton.eth",
    "0xd38597ad34992252221009d8deb48382902d4603edd4b3af358df924db057249",
    { name: "jadecotton.eth" },
  ],
  [
    "cedar730.eth",
    "0x5a35bd1cc1a5076da6f7ae249b8fc0446f8a4fcd58963ba1cde3d9abbe60f419",
    { name: "cedar730.eth", record: { kind: "text", key: "avatar" } },
  ],
  // With record ids, a setter's argument counts for every name of the resolver.
  [
    "recordlinked.eth",
    "0xd1f86c93d831119ad98fe983e643a7431e4ac992e3ead6e3007f4dd1adf66343",
    { record: { kind: "argument", key: "0x617661746172" } },
  ],
])("%s has the roles on its resolver that were limited to it", async (name, resource, meaning) => {
  const { body } = await open()(`/api/permissions?name=${name}`);
  const found = await everyPermission(`name=${name}`);
  const ofResolver = (found as OfResolver[]).filter(({ kind }) => kind === "resolver");
  const granted = announcedOf(body.name.resolver, resource);
  expect(granted.length).toBeGreaterThan(0);
  expect(ofResolver.filter((one) => one.resource === resource)).toEqual(
    granted.map(([account, bitmap]) => ({
      contract: { chainId: v2ChainId, address: body.name.resolver },
      kind: "resolver",
      resource,
      ...meaning,
      account,
      isProven: true,
      roles: ["CAN_SET_TEXT"],
      bitmap,
    })),
  );
  const others = ofResolver.filter((one) => one.resource !== resource && BigInt(one.resource) !== 0n);
  expect(others.filter((one) => one.name !== name)).toEqual([]);
  expect(ofResolver.some((one) => BigInt(one.resource) === 0n)).toBe(true);
});

test("registries have each role that they grant, and are named by their path in the tree", async () => {
  const bitmap = (roles: string) => `0x${roles.slice(2).padStart(64, "0")}`;
  let named = 0;
  for (const [address, { hostile, canonicalName, entries, rootRoles }] of Object.entries(
    last?.registries ?? {},
  )) {
    const found = await everyPermission(`registry=${address}`);
    const granted = [{ resource: bitmap("0x0"), roles: rootRoles }, ...entries].flatMap(
      ({ resource, roles }) =>
        Object.entries(roles).map(([account, one]) => `${resource} ${account} ${bitmap(one)}`),
    );
    const listed = found.map((one) => `${one.resource} ${one.account} ${one.bitmap}`);
    expect(listed.sort(), address).toEqual(hostile ? [] : granted.sort());
    const names = new Set(
      (found as OfResolver[]).filter(({ resource }) => BigInt(resource) === 0n).map(({ name }) => name),
    );
    if (hostile || names.size === 0) continue;
    const labels = canonicalName === null ? undefined : dnsLabels(canonicalName);
    expect([...names], address).toEqual([labels?.map(String).join(".")]);
    named += labels === undefined ? 0 : 1;
  }
  expect(named).toBeGreaterThan(5);
});

test("a name has the path of its registries, and what is in force for it", async () => {
  const ask = open();
  const ofName = async (name: string) => (await ask(`/api/permissions?name=${name}`)).body.name;
  const { registryPath, registry } = await ofName("wallet.linked.parent.eth");
  expect(registryPath.slice(0, 2)).toEqual([v2Addresses["RootRegistry"], v2Addresses["ETHRegistry"]]);
  expect([registryPath.length, registryPath.at(-1)]).toEqual([4, registry]);
  expect((await ofName("renewedwhilereserved.eth")).effective).toEqual({
    owner: "0x23fba34cae93c3a3c15952953ed5bb35b7b55c3c",
    resolver: "0xf78bd7acc5d3829b63d4a749e65175330bced316",
    expiry: "1810438385",
    graceEnds: String(1_810_438_385 + 90 * 86_400),
  });
});

test("a registry of forty levels has its path", async () => {
  const { client } = stored;
  const [root, eth] = [v2Addresses["RootRegistry"], v2Addresses["ETHRegistry"]];
  const code = findV2Contracts(index.config.datasources)?.userRegistries[0];
  const registryOf = (level: number) => `0x5f${String(level).padStart(38, "0")}`;
  const sqlOf = (level: string) => `'0x5f' || lpad((${level})::text, 38, '0')`;
  const parent = `CASE i WHEN 0 THEN '${eth}' ELSE ${sqlOf("i - 1")} END`;
  const id = "'0x' || lpad((5000 + i)::text, 64, '0')";
  await client.exec(`
    INSERT INTO v2_contracts (chain_id, address, implementation, deployer, is_upgraded, has_record_ids, parent, parent_label)
      SELECT ${v2ChainId}, ${sqlOf("i")}, '${code}', '${code}', false, false, ${parent}, '0x' || 6100 + i FROM generate_series(0, 39) i;
    INSERT INTO v2_entries (chain_id, registry, storage_id, labelhash, label, token_id, resource, owner, expiry, resolver, subregistry, created_at)
      SELECT ${v2ChainId}, ${parent}, ${id}, ${id}, '0x' || 6100 + i, ${id}, ${id}, '${zero}', 99999999999, '${zero}', ${sqlOf("i")}, 1
      FROM generate_series(0, 39) i;
    INSERT INTO v2_roles VALUES (${v2ChainId}, '${registryOf(39)}', '0x${"0".repeat(64)}', '${zero}', '0x${"1".padStart(64, "0")}')`);
  const [found] = (await everyPermission(`registry=${registryOf(39)}`)) as { registryPath?: string[] }[];
  await client.exec(`DELETE FROM v2_roles WHERE address LIKE '0x5f000%'; DELETE FROM v2_contracts WHERE address LIKE '0x5f000%';
    DELETE FROM v2_entries WHERE subregistry LIKE '0x5f000%'`);
  const levels = Array.from({ length: 40 }, (_, level) => registryOf(level));
  expect(found?.registryPath).toEqual([root, eth, ...levels]);
});

test.each([
  ["", "Give exactly one of name, registry and account"],
  [
    "?name=a.eth&account=0x141f5c134df39820b309b9f839dff8591437ebbd",
    "Give exactly one of name, registry and account",
  ],
])("400 with the reason: %s", async (query, message) => {
  const { status, body } = await open()(`/api/permissions${query}`);
  expect([status, body]).toEqual([400, { message: "Invalid Input", details: { errors: [message] } }]);
});

test.each(["isProven=yes", "cursor=x"])("400 for %s", async (query) => {
  const path = `/api/permissions?account=0x141f5c134df39820b309b9f839dff8591437ebbd&${query}`;
  expect((await open()(path)).status).toBe(400);
});

test("503 without the plugin", async () => {
  const { status, body } = await open(undefined, ["subgraph"])("/api/permissions?name=a.eth");
  expect([status, body.details]).toEqual([503, "Needed plugins: ensv2. Not active: ensv2."]);
});

// A proxy of code that nobody knows says of an account what it likes, as often as it likes.
test("roles by contracts of unknown code are in a list of their own, which cursors reach all of", async () => {
  const account = "0x141f5c134df39820b309b9f839dff8591437ebbd";
  const before = await everyPermission(`account=${account}`);
  const liar = `0x00${"1a".repeat(19)}`;
  const count = 12_345;
  const { client } = stored;
  await client.exec(`
    INSERT INTO v2_contracts (chain_id, address, implementation, deployer, is_upgraded, has_record_ids)
      VALUES (${v2ChainId}, '${liar}', '0x${"66".repeat(20)}', '0x${"67".repeat(20)}', false, false);
    INSERT INTO v2_roles SELECT ${v2ChainId}, '${liar}', '0x' || lpad(to_hex(i) || '00000000', 64, '0'), '${account}', '0x${"1".padStart(64, "0")}'
      FROM generate_series(1, ${count}) i`);
  try {
    expect(await everyPermission(`account=${account}`)).toEqual(before);
    expect(before.every((one) => (one as unknown as { isProven: boolean }).isProven)).toBe(true);
    const ask = open();
    const path = `/api/permissions?account=${account}&isProven=false&recordsPerPage=100`;
    const { body } = await ask(path);
    expect(body.pageContext).toMatchObject({ totalRecords: 10_000, hasNext: true });
    const found = new Set<string>();
    const idOf = (i: number) => `0x${`${i.toString(16)}00000000`.padStart(64, "0")}`;
    const list = ["permissions", null, null, account, "false"];
    const start = encodeCursor(list, [liar, idOf(count - 345), account]);
    const elsewhere = await ask(`/api/permissions?registry=${liar}&cursor=${start}`);
    expect([elsewhere.status, elsewhere.body.message]).toEqual([
      400,
      "cursor belongs to another list: other filters or another order",
    ]);
    for (let next = `&cursor=${start}`; ; ) {
      const { status, body } = await ask(`${path}${next}`);
      expect(status).toBe(200);
      for (const one of body.permissions) {
        expect(one).toMatchObject({ isProven: false, contract: { address: liar } });
        found.add(one.resource);
      }
      if (body.pageContext.nextCursor === undefined) break;
      next = `&cursor=${body.pageContext.nextCursor}`;
    }
    expect([found.size, found.has(idOf(count))]).toEqual([345, true]);
    const of = await ask(`/api/permissions?registry=${liar}`);
    expect(of.body.permissions[0]).toMatchObject({ isProven: false });
  } finally {
    await client.exec(
      `DELETE FROM v2_roles WHERE address = '${liar}'; DELETE FROM v2_contracts WHERE address = '${liar}'`,
    );
  }
});

test("roles by a resolver that was upgraded do not count, and are in the list of unknown code", async () => {
  const { client } = stored;
  const { body } = await open()("/api/permissions?name=jadecotton.eth");
  const resolver: Hex = body.name.resolver;
  const [role] = await everyPermission(`registry=${resolver}`);
  const ofAccount = async (isProven: boolean) => {
    const found = await everyPermission(`account=${role?.account}&isProven=${isProven}`);
    return (found as OfResolver[]).filter(({ contract }) => contract.address === resolver).length;
  };
  const { get } = openLookups({
    database: stored.database,
    datasources: index.config.datasources,
    plugins: ["subgraph", "ensv2"],
    time: last?.timestamp ?? 0,
  });
  const countPowers = async () =>
    (await get(`/v1/permissions?registration_id=${v2ChainId}-${resolver}-root`)).data.length;
  expect([(await ofAccount(true)) > 0, await ofAccount(false), (await countPowers()) > 0]).toEqual([
    true,
    0,
    true,
  ]);
  const mark = (isUpgraded: boolean) =>
    client.query("UPDATE v2_contracts SET is_upgraded = $1 WHERE address = $2", [isUpgraded, resolver]);
  await mark(true);
  try {
    expect([await ofAccount(true), (await ofAccount(false)) > 0, await countPowers()]).toEqual([0, true, 0]);
  } finally {
    await mark(false);
  }
});
