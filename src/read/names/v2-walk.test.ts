import { type Hex, keccak256, stringToHex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase } from "../../../test/support/database.ts";
import { labelhash } from "../../ens/labels.ts";
import { createDatabase } from "../sql/client.ts";
import { readV2Names, type V2Contracts } from "./v2-names.ts";
import { buildNamePath } from "./v2-walk.ts";

const address = (index: number): Hex => `0x${index.toString(16).padStart(40, "0")}`;
const [root, eth, registry] = [address(1), address(2), address(3)];
const [userCode, strangeCode, owner] = [address(4), address(5), address(6)];
const contracts: V2Contracts = {
  chainId: 1,
  root,
  ethRegistry: eth,
  ethRegistryIds: [],
  registries: [root, eth],
  graveyard: address(7),
  resolvers: [],
  wrapperRegistries: [address(8)],
  userRegistries: [userCode],
  v1Resolver: address(9),
  publicResolver: address(10),
  registrar: address(12),
  lockedMigrator: address(11),
  wrappers: [],
  currencyOf: () => undefined,
  isInForce: true,
};

const client = await createTestDatabase("tables");
beforeAll(async () => {
  for (const [holder, label, subregistry] of [
    [root, "eth", eth],
    [eth, "alice", registry],
    [registry, "sub", address(0)],
  ] as const) {
    const hash = keccak256(stringToHex(label));
    await client.query(
      `INSERT INTO v2_entries (chain_id, registry, storage_id, labelhash, label, token_id, resource, owner, expiry, resolver, subregistry, created_at)
       VALUES (1, $1, $2, $3, $4, $2, $2, $5, 2000, $6, $7, 1)`,
      [holder, `${hash.slice(0, -8)}00000000`, hash, stringToHex(label), owner, address(0), subregistry],
    );
  }
});
afterAll(() => client.close());

async function read(implementation: Hex, userRegistries: Hex[]) {
  await client.exec("DELETE FROM v2_contracts");
  await client.query(
    "INSERT INTO v2_contracts (chain_id, address, implementation, is_upgraded, has_record_ids) VALUES (1, $1, $2, false, false)",
    [registry, implementation],
  );
  const paths = [buildNamePath(["sub", "alice", "eth"].map(labelhash))];
  const [name] = await readV2Names(
    createDatabase(client),
    { ...contracts, userRegistries },
    { paths, time: 1000, hasV1: false },
    new AbortController().signal,
  );
  return { isProven: name?.isProven, owner: name?.owner };
}

test("a registry whose code is known proves who owns its names", async () => {
  expect(await read(userCode, [userCode])).toEqual({ isProven: true, owner });
});

// Whoever has the factory deploy a proxy of code of their own can emit any owner.
test("one that the factory deployed with unknown code proves nothing", async () => {
  expect(await read(strangeCode, [userCode])).toEqual({ isProven: false, owner: null });
});

test.each([
  ["has lapsed", null, { owner: null, resolver: null, expiry: "500", graceEnds: null }],
  ["was renewed through the wrapper", 1_500, { owner, resolver: null, expiry: "1500", graceEnds: null }],
])(
  "of a subname left to the first generation counts the wrapper's entry, which %s",
  async (_, renewed, effective) => {
    const [wrapper, v1Resolver] = [address(12), address(9)];
    const labels = ["sub", "bob", "eth"].map(labelhash);
    const [ethNode, bob, sub] = buildNamePath(labels).nodes as [Hex, Hex, Hex];
    await client.exec(`DELETE FROM v2_entries WHERE labelhash = '${labelhash("bob")}'; DELETE FROM domain; DELETE FROM registration; DELETE FROM wrapped_domain;
    INSERT INTO domain (id, parent_id, subdomain_count, is_migrated, created_at, owner_id, registrant_id, wrapped_owner_id, change_block) VALUES
      ('${bob}', '${ethNode}', 0, true, 1, '${owner}', '${owner}', NULL, 1), ('${sub}', '${bob}', 0, true, 1, '${wrapper}', NULL, '${owner}', 1);
    INSERT INTO registration (id, domain_id, registration_date, expiry_date, registrant_id, change_block) VALUES ('${bob}', '${bob}', 1, 2000, '${owner}', 1);
    INSERT INTO wrapped_domain (id, domain_id, expiry_date, renewed_expiry_date, fuses, owner_id, change_block) VALUES
      ('${sub}', '${sub}', 500, ${renewed}, 65536, '${owner}', 1)`);
    const [name] = await readV2Names(
      createDatabase(client),
      { ...contracts, v1Resolver, wrappers: [wrapper] },
      { paths: [buildNamePath(labels)], time: 1000, hasV1: true },
      new AbortController().signal,
    );
    expect(name).toMatchObject({ version: "v1", effective });
  },
);

test("where no code is listed, all registries of the factory count", async () => {
  expect(await read(strangeCode, [])).toEqual({ isProven: true, owner });
});
