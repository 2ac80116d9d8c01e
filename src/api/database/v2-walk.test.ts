import { type Hex, keccak256, stringToHex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEmbedded } from "../../../test/support/embedded/database.ts";
import { labelhashOf } from "../../ens/labels.ts";
import { pathOf, readV2Names, type V2Contracts } from "../resolution/v2-names.ts";
import { createDatabase } from "./client.ts";

const address = (place: number): Hex => `0x${place.toString(16).padStart(40, "0")}`;
const [root, eth, registry, userCode, strangeCode, owner] = [1, 2, 3, 4, 5, 6].map(address) as [
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
];
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
  lockedMigrator: address(11),
  wrappers: [],
  currencyOf: () => undefined,
  isInForce: true,
};

const client = await createEmbedded("tables");
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
  const paths = [pathOf(["sub", "alice", "eth"].map(labelhashOf))];
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

test("where no code is listed, all registries of the factory count", async () => {
  expect(await read(strangeCode, [])).toEqual({ isProven: true, owner });
});
