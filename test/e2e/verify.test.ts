import { namehash, numberToHex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { deployEns, type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { query } from "../support/postgres.ts";
import { startWorld, type World } from "../support/world.ts";

// ENS' own contracts on a real EVM, and rows that were changed by hand.
describe.runIf(hasAnvil())("npm run verify", () => {
  let anvil: EmittingChain;
  const real: World[] = [];
  beforeAll(async () => {
    anvil = await startEmittingChain(Number(chainIds.root), []);
  });
  afterAll(async () => {
    for (const one of real) await one.close();
    await anvil?.close();
  });

  /** An index of ENS' own contracts, apart, which is stopped; and `npm run verify` for it. */
  async function indexOf(addresses: Addresses) {
    const world = await startWorld({ rpcUrl: anvil.url, datasources: datasourcesOf(addresses) });
    real.push(world);
    world.start();
    await world.waitForIndex({ block: await anvil.head() });
    await world.stop();
    return { world, verify: (...args: string[]) => world.run("verify", args) };
  }

  /** The fields that differ, in order of their names. */
  const fieldsOf = (output: string) =>
    [...output.matchAll(/^(?:domain|registration|wrapped|resolver) .+?: (\w+)(?: \w+)? is/gm)]
      .map(([, field]) => field)
      .sort();

  test("confirms an index of real contracts, and finds rows that were changed", async () => {
    const ens = await deployEns(anvil);
    const names = Array.from({ length: 12 }, (_, position) => `real${position}`);
    for (const [position, name] of names.entries())
      await ens.register(name, numberToHex(position + 1, { size: 20 }));
    const { world, verify } = await indexOf(ens.addresses);
    // In the registry resolver and TTL of the root, and owners too of eth and 12 names; 12 registrations and 12
    // resolvers with two values each.
    const sound = await verify("--samples", "100", "--seed", "1");
    expect(sound.output).toMatch(/0 of 89 wrong: at most 3\.31 % of them are wrong, at 95 % confidence\./);
    expect(sound.output).toMatch(/looked up \d\d+ events of the RPC cache/);
    expect(sound.code).toBe(0);

    // Proofs have no resolvers.
    const proven = await verify("--samples", "100", "--seed", "1", "--proofs");
    const { registry, registrar, resolver } = ens.addresses;
    expect(proven.output).toMatch(/block \d+ is 0x[0-9a-f]{64}, on the word of one URL/);
    expect(proven.output).toContain(`0 of 41 values differ: ENSv1Registry ${registry}`);
    expect(proven.output).toContain(`0 of 24 values differ: BaseRegistrar ${registrar}`);
    expect(proven.output).toContain(`24 values not provable (unknown storage layout): contract ${resolver}`);
    expect(proven.output).toContain("0 of 65 wrong");
    expect(proven.code).toBe(0);
    await change(world, faults);
    const found = await verify("--samples", "100", "--seed", "1");
    expect(found.code).toBe(1);
    expect(found.output).toContain("10 of 89 values differ.");
    expect(fieldsOf(found.output)).toEqual([
      "addr",
      "addr",
      "contenthash",
      "nameExpires",
      "nameExpires",
      "owner",
      "owner",
      "ownerOf",
      "resolver",
      "ttl",
    ]);
    const disproven = await verify("--samples", "100", "--seed", "1", "--proofs");
    expect(disproven.code).toBe(1);
    expect(disproven.output).toContain("7 of 65 values differ.");
    expect(fieldsOf(disproven.output)).toEqual(
      fieldsOf(found.output).filter((field) => field !== "addr" && field !== "contenthash"),
    );
    // A sample finds those in it; a name that is given is always compared.
    expect((await verify("--samples", "0", "--name", "real1.eth")).output).toContain(
      "owner is 0x000000000000000000000000000000000000dead in the index",
    );
    expect((await verify("--samples", "0", "--name", "never.eth")).output).toContain("0 of 3 wrong");
    // What is not there is found by its event.
    await change(world, [`DELETE FROM domain WHERE id IN (${node("real0")}, ${node("real1")})`]);
    expect((await verify("--samples", "100", "--seed", "1")).output).toMatch(
      /^domain: no row of NewOwner in block \d+/m,
    );
    // The cache of a test network becomes an archive; where it has nothing, nothing is said to be exported.
    const exported = await world.run("archive", ["export", "--folder", "exported"]);
    expect(exported).toMatchObject({ code: 0, output: expect.stringMatching(/blocks 0 to \d+; \d+ logs/) });
    const at = ["--chain", chainIds.root, "--rpc", anvil.url];
    const compared = await world.run("archive", ["check", "--folder", "exported", ...at]);
    expect(compared.output).toContain("No block differs from the node's.");
    expect(compared.code).toBe(0);
    await change(world, ["DELETE FROM ponder_sync.intervals"]);
    const empty = await world.run("archive", ["export", "--folder", "empty"]);
    expect(empty.output).toContain("the RPC cache has nothing to export");
    expect(empty.code).toBe(1);
  });
});

const none = { address: null };

type Addresses = Awaited<ReturnType<typeof deployEns>>["addresses"];

const datasourcesOf = ({ registry, registrar, resolver }: Addresses) => {
  const contracts = {
    ENSv1RegistryOld: none,
    ENSv1Registry: { address: registry },
    BaseRegistrar: { address: registrar },
    LegacyEthRegistrarController: none,
    WrappedEthRegistrarController: none,
    UnwrappedEthRegistrarController: none,
    NameWrapper: none,
  };
  const reverse = {
    ...Object.fromEntries([0, 1, 2, 4, 5].map((index) => [`DefaultPublicResolver${index}`, none])),
    DefaultPublicResolver3: { address: resolver },
  };
  const of = (names: object) => ({ [Number(chainIds.root)]: { contracts: names } });
  return JSON.stringify({ "ens-test-env": { ensroot: of(contracts), rrRoot: of(reverse) } });
};

const dead = "0x000000000000000000000000000000000000dead";
const node = (label: string) => `'${namehash(`${label}.eth`)}'`;

/** Ten rows of the index as a missing event would leave them. */
const faults = [
  `UPDATE domain SET owner_id = '${dead}' WHERE id = ${node("real1")}`,
  `UPDATE domain SET owner_id = '${dead}' WHERE id = ${node("real2")}`,
  `UPDATE domain SET resolver_id = NULL WHERE id = ${node("real3")}`,
  `UPDATE domain SET ttl = 1 WHERE id = ${node("real4")}`,
  `UPDATE registration SET expiry_date = expiry_date - 1 WHERE domain_id = ${node("real5")}`,
  `UPDATE registration SET expiry_date = 1 WHERE domain_id = ${node("real6")}`,
  `UPDATE registration SET registrant_id = '${dead}' WHERE domain_id = ${node("real7")}`,
  `UPDATE resolver SET addr_id = NULL WHERE domain_id = ${node("real8")}`,
  `UPDATE resolver SET addr_id = '${dead}' WHERE domain_id = ${node("real9")}`,
  `UPDATE resolver SET content_hash = NULL WHERE domain_id = ${node("real10")}`,
];

async function change(world: World, statements: readonly string[]) {
  // ponder: its triggers write into tables of its own connections.
  await query(world.databaseUrl, ["SET session_replication_role = replica", ...statements].join(";"));
}
