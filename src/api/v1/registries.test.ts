import { type Hex, keccak256, namehash, stringToHex } from "viem";
import { describe, expect, test } from "vitest";
import { v2Addresses, v2Environment } from "../../../devnet/recorded-chains.ts";
import { checkpointOf } from "../../../test/support/checkpoints.ts";
import { createStoredIndex } from "../../../test/support/ensv2/stored-index.ts";
import { namesOf, openLookups } from "../../../test/support/lookups/lookups.ts";
import { createV2Index } from "../../../test/support/recorded-index.ts";
import { createScopes } from "../../../test/support/scope.ts";
import { bodyText } from "../../../test/support/subgraph/endpoint.ts";
import { v2KnownContracts } from "../../deployments/namespaces.ts";
import {
  applyExpiryUpdated,
  applyLabelRegistered,
  applyParentUpdated,
  applyProxyDeployed,
  applySubregistryUpdated,
  applyTokens,
} from "../../indexing/ensv2/entries.ts";
import { createChainBlocks } from "../../read/chain-blocks.ts";
import type { NameRow } from "../../read/names/rows.ts";
import { findV2Contracts } from "../../read/names/v2-names.ts";
import { v2Domain, v2NamingJob } from "../../schema/ensv2.ts";
import { createSubgraph } from "../subgraph/routes.ts";

// Which names /v1 has of registries that strangers put under their own names, as many as they like.
const { datasources } = createV2Index().config;
const v2 = v2KnownContracts(datasources);
const plugins = v2Environment.PLUGINS.split(",");
const { RootRegistry: root, ETHRegistry: eth } = v2Addresses as Record<"RootRegistry" | "ETHRegistry", Hex>;
const [code = "0x"] = v2.userImplementations;
const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
const [victim, owner, stranger] = [address("d1"), address("c0"), address("99")];
const forever = 2n ** 63n;
const tokenOf = (label: string) => BigInt(keccak256(stringToHex(label))) & ~0xffff_ffffn;
const numbered = (index: number): Hex => `0x${(0xa0000 + index).toString(16).padStart(40, "0")}`;
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

const stored = await createStoredIndex();

const chainId = findV2Contracts(datasources)?.chainId ?? 0;

/** What happens to registries, each in a block of its own. */
async function createWorld() {
  const { next, store, anomalies } = createScopes({ chainId, v2 });
  const time = 1_700_000_000;
  let block = 1_000;
  const at = (emitter: Hex) => {
    block += 1;
    const timestamp = BigInt(time + block);
    return next({ emitter, db: store.db, blockNumber: block, timestamp });
  };
  const world = {
    store,
    anomalies,
    at,
    block: () => block,
    deploy: (proxyAddress: Hex) =>
      applyProxyDeployed(at(address("fa")), { sender: owner, proxyAddress, implementation: code }),
    register(registry: Hex, text: string, { holder = owner, expiry = forever } = {}) {
      const label = stringToHex(text);
      const entry = { label, labelHash: keccak256(label), tokenId: tokenOf(text), owner: holder, expiry };
      return applyLabelRegistered(at(registry), { ...entry, sender: holder });
    },
    put: (registry: Hex, label: string, subregistry: Hex) =>
      applySubregistryUpdated(at(registry), { tokenId: tokenOf(label), subregistry, sender: owner }),
    claim: (registry: Hex, parent: Hex, label: string) =>
      applyParentUpdated(at(registry), { parent, label: stringToHex(label) }),
    renew: (registry: Hex, label: string, newExpiry: bigint) =>
      applyExpiryUpdated(at(registry), { tokenId: tokenOf(label), newExpiry }),
    /** A registry of a stranger, with so many names that lead to the victim's. */
    async fill(count: number, name = "attacker", given: { expiry?: bigint } = {}) {
      const registry: Hex = `0x${keccak256(stringToHex(name)).slice(2, 42)}`;
      await world.deploy(registry);
      await world.register(eth, name, { holder: stranger, ...given });
      await world.put(eth, name, registry);
      for (const i of times(count)) {
        await world.register(registry, `f${i}`, { holder: stranger });
        await world.put(registry, `f${i}`, victim);
      }
      return registry;
    },
    /** What /v1 says of the names at the present block. */
    async open() {
      await stored.store({ store });
      const now = time + block;
      const { ask, all } = openLookups({ database: stored.database, datasources, plugins, time: now });
      const names = async (path: string) => namesOf(await all(path)).sort();
      return {
        ask,
        owned: (of: Hex = owner) => names(`/v1/addresses/${of}/names?relation=owner`),
        below: (name: string) => names(`/v1/names/${name}/subnames`),
        found: (text: string) => names(`/v1/search?q=${text}&match=contains`),
      };
    },
  };
  await world.register(root, "eth");
  await world.put(root, "eth", eth);
  return world;
}

type World = Awaited<ReturnType<typeof createWorld>>;

async function attach({ register, put }: World, name: string) {
  await register(eth, name);
  await put(eth, name, victim);
}

/** The victim's registry, in use under home.eth, which it claims. */
async function settle(world: World) {
  await world.deploy(victim);
  await attach(world, "home");
  await world.claim(victim, eth, "home");
  await world.register(victim, "pay");
}

async function putEach(world: World, registry: Hex, subregistry: Hex) {
  for (const i of times(300)) await world.put(registry, `f${i}`, subregistry);
}

describe("a registry that strangers put under 300 names keeps the name that it claims", () => {
  test.each<[string, (world: World) => Promise<unknown>]>([
    [
      "before it is deployed",
      async (world) => {
        await world.fill(300);
        await world.deploy(victim);
        await attach(world, "home");
        await world.claim(victim, eth, "home");
        await world.register(victim, "pay");
      },
    ],
    [
      "before it is put under its own",
      async (world) => {
        await world.deploy(victim);
        await world.claim(victim, eth, "home");
        await world.register(victim, "pay");
        await world.fill(300);
        await attach(world, "home");
      },
    ],
    [
      "after that",
      async (world) => {
        await settle(world);
        await world.fill(300);
      },
    ],
    [
      "and take back, and put again, while it is detached",
      async (world) => {
        await settle(world);
        const attacker = await world.fill(300);
        await putEach(world, attacker, address("00"));
        await world.put(eth, "home", address("00"));
        await world.fill(300, "again");
        await putEach(world, attacker, victim);
        await world.put(eth, "home", victim);
      },
    ],
  ])("%s", async (_, play) => {
    const world = await createWorld();
    await play(world);
    const { ask, owned, below, found } = await world.open();
    expect(await owned()).toContain("pay.home.eth");
    expect(await below("home.eth")).toEqual(["pay.home.eth"]);
    expect(await found("pay.home")).toEqual(["pay.home.eth"]);
    expect(await ask("/v1/names/pay.home.eth")).toMatchObject({ status: 200, body: { data: { owner } } });
  });
});

test("a registry in use moves from one name to another, though strangers put it under 300 longer ones", async () => {
  const world = await createWorld();
  await world.deploy(victim);
  await attach(world, "old");
  await world.register(victim, "pay");
  await world.fill(300);
  await attach(world, "new");
  expect((await (await world.open()).owned()).filter((name) => name.startsWith("pay."))).toEqual(
    expect.arrayContaining(["pay.new.eth", "pay.old.eth"]),
  );
  await world.put(eth, "old", address("00"));
  const { owned } = await world.open();
  expect(await owned()).toContain("pay.new.eth");
  expect(await owned()).not.toContain("pay.old.eth");
});

test("what strangers take back makes room, also for names that were too many before", async () => {
  const world = await createWorld();
  await world.deploy(victim);
  await attach(world, "home");
  await world.register(victim, "pay");
  const attacker = await world.fill(300);
  // As long as the stranger's names, and newer.
  await world.deploy(address("d2"));
  await world.register(eth, "other");
  await world.put(eth, "other", address("d2"));
  await world.register(address("d2"), "deep");
  await world.put(address("d2"), "deep", victim);
  expect(await (await world.open()).owned()).not.toContain("pay.deep.other.eth");
  await putEach(world, attacker, address("00"));
  await world.put(address("d2"), "deep", victim);
  expect(await (await world.open()).owned()).toContain("pay.deep.other.eth");
});

describe("200 entries of a registry that strangers put under 8 names first stay in lists", () => {
  const expiry = 1_700_000_000n + 5_000n;
  const takeBack = async (world: World, attacker: Hex) => {
    for (const i of times(8)) await world.put(attacker, `f${i}`, address("00"));
  };
  test.each<[string, Partial<{ expiry: bigint }>, (world: World, attacker: Hex) => Promise<unknown>]>([
    ["which they take back", {}, takeBack],
    [
      "which they let others register",
      {},
      async (world, attacker) => {
        for (const i of times(8)) await world.register(attacker, `f${i}`, { holder: stranger });
      },
    ],
    [
      "of a name that expires",
      { expiry },
      async (world) => {
        while (world.block() < 5_001) world.at(eth);
      },
    ],
    [
      "of a name from which they detach all, at the next event of the registry",
      {},
      async (world) => {
        await world.put(eth, "attacker", address("00"));
        await world.renew(victim, "t7", forever);
      },
    ],
  ])("%s", async (_, given, play) => {
    const world = await createWorld();
    await world.deploy(victim);
    const attacker = await world.fill(8, "attacker", given);
    // Longer names than those of the strangers.
    const [middle, deep] = [address("d6"), address("d7")];
    for (const registry of [middle, deep]) await world.deploy(registry);
    await world.register(eth, "home");
    await world.put(eth, "home", middle);
    await world.register(middle, "deep");
    await world.put(middle, "deep", deep);
    await world.register(deep, "team");
    await world.put(deep, "team", victim);
    for (const i of times(200)) await world.register(victim, `t${i}`);
    await play(world, attacker);
    const names = times(200)
      .map((i) => `t${i}.team.deep.home.eth`)
      .sort();
    const { owned, below } = await world.open();
    expect((await owned()).filter((name) => name.endsWith(".team.deep.home.eth"))).toEqual(names);
    expect(await below("team.deep.home.eth")).toEqual(names);
    expect(world.anomalies).toContain("names-left-out");
  });
});

test("a name that is too many for lists is found by its text, with what holds of it", async () => {
  const world = await createWorld();
  await world.deploy(victim);
  await world.register(victim, "pay");
  const attacker = await world.fill(300);
  const { ask, owned } = await world.open();
  const listed = (await owned()).filter((name) => name.endsWith(".attacker.eth"));
  expect(listed.length).toBe(64);
  const [last] = times(300)
    .map((i) => `pay.f${i}.attacker.eth`)
    .filter((name) => !listed.includes(name));
  const metaOf = async (path: string) => ((await ask(path)).body as { meta: object }).meta;
  const parent = last?.replace("pay.", "");
  const paths = [`/v1/addresses/${owner}/names`, `/v1/names/${parent}/subnames`, "/v1/search?q=pay"];
  const partial = { completeness: "partial", unsupported_reason: "names_above_limit" };
  for (const path of paths) expect([path, await metaOf(path)]).toMatchObject([path, partial]);
  const whole = [`/v1/addresses/${address("77")}/names`, "/v1/names/eth/subnames"];
  for (const path of whole) expect([path, await metaOf(path)]).not.toMatchObject([path, partial]);
  const one = await ask(`/v1/names/${last}`);
  const registry_path = [root, eth, attacker, victim];
  const data = { name: last, owner, status: "active", authority: "ens_v2", registry_path };
  expect(one).toMatchObject({ status: 200, body: { data } });
  const membersOf = ({ body }: { body: unknown }) => Object.keys((body as { data: NameRow }).data).sort();
  expect(membersOf(one)).toEqual(membersOf(await ask(`/v1/names/${listed[0]}`)));
  const inputs = [{ name: last }, { name: "never.f1.attacker.eth" }];
  const many = await ask("/v1/lookup", { method: "POST", body: JSON.stringify({ inputs }) });
  expect(many.body).toMatchObject({
    data: [{ status: "ok", record: { name: last } }, { status: "not_found" }],
  });
  expect((await ask("/v1/names/never.f1.attacker.eth")).status).toBe(404);
  // The subgraph too, with the fields of a name that has a row.
  const domains = await openSubgraph(world);
  const [[unlisted], [row]] = [
    await domains(`"${last}", "never.f1.attacker.eth"`),
    await domains(`"${listed[0]}"`),
  ];
  expect(unlisted).toEqual({ ...row, id: namehash(last ?? ""), name: last, parent: { name: parent } });
  expect(await domains(`"${last}", "${listed[0]}", "attacker.eth"`)).toHaveLength(3);
});

/** The domains that the subgraph has by their names, at the present block. */
async function openSubgraph(world: World) {
  const checkpoint = checkpointOf(
    { number: world.block(), timestamp: 1_700_000_000 + world.block() },
    chainId,
  );
  await stored.client.query("INSERT INTO _ponder_checkpoint VALUES ('v2', $1, $2, $2, $2)", [
    chainId,
    checkpoint,
  ]);
  const blocks = createChainBlocks(async () => undefined, { log: () => undefined });
  const given = { chainId, deployment: "test", blocks, database: stored.database };
  const subgraph = createSubgraph({ ...given, v2: findV2Contracts(datasources) });
  return async (names: string) => {
    const query = `{ domains(where: { name_in: [${names}] }) { id name labelName labelhash createdAt subdomainCount expiryDate isMigrated
      parent { name } owner { id } registrant { id } resolver { id } registration { id } } }`;
    const request = {
      query,
      variables: {},
      operationName: undefined,
      extensions: { counts: false, truncated: false },
    };
    const { body } = await subgraph.answer(request, AbortSignal.timeout(60_000));
    const { data, errors } = JSON.parse(bodyText(body)) as { data: { domains: NameRow[] }; errors?: unknown };
    expect(errors).toBeUndefined();
    return data.domains;
  };
}

// birchatlas.eth has dao, whose registry has pay, whose registry has dao and so on; a registry is under every name on
// the way.
test("a registry with 47 names has what it holds under each of them", async () => {
  const world = await createWorld();
  const chain = times(47).map(numbered);
  await world.deploy(victim);
  for (const registry of chain) await world.deploy(registry);
  await world.register(eth, "birchatlas");
  await world.put(eth, "birchatlas", chain[0] ?? eth);
  const expected: string[] = [];
  let above = "birchatlas.eth";
  for (const [i, registry] of chain.entries()) {
    await world.register(registry, "mail");
    await world.put(registry, "mail", victim);
    expected.push(`inbox.mail.${above}`);
    const label = i % 2 === 0 ? "pay" : "dao";
    await world.register(registry, label);
    await world.put(registry, label, chain[i + 1] ?? address("00"));
    above = `${label}.${above}`;
  }
  await world.register(victim, "inbox");
  const { owned, below } = await world.open();
  expect((await owned()).filter((name) => name.startsWith("inbox."))).toEqual(expected.sort());
  expect(await below("mail.dao.pay.dao.pay.birchatlas.eth")).toEqual([
    "inbox.mail.dao.pay.dao.pay.birchatlas.eth",
  ]);
});

const changedAt = ({ store }: World, block: number) =>
  store.rows(v2Domain).filter((row) => row["changeBlock"] === block).length;

test("a batch of 78 tokens under 129 names touches a bounded number of rows", async () => {
  const world = await createWorld();
  await world.deploy(victim);
  await attach(world, "home");
  await world.fill(128);
  for (const i of times(78)) await world.register(victim, `t${i}`);
  const ids = times(78).map((i) => tokenOf(`t${i}`));
  const batch = { ids, values: ids.map(() => 1n), operator: owner, from: owner, to: stranger };
  await applyTokens(world.at(victim), batch);
  // 9,984 without a bound on the product of names and entries.
  expect(changedAt(world, world.block())).toBeLessThanOrEqual(3_000);
  const { owned } = await world.open();
  expect((await owned(stranger)).filter((name) => name.endsWith(".home.eth")).length).toBe(78);
});

test("2,000 entries that lead to a registry with too many names cost a log no more than others", async () => {
  const world = await createWorld();
  const wide = address("d5");
  await world.deploy(victim);
  await world.fill(128);
  await world.deploy(wide);
  for (const i of times(2_000)) {
    await world.register(wide, `w${i}`);
    await world.put(wide, `w${i}`, victim);
  }
  await world.register(eth, "wide");
  await world.put(eth, "wide", wide);
  expect(changedAt(world, world.block())).toBeLessThanOrEqual(512);
  expect(world.store.rows(v2NamingJob)).toHaveLength(1);
}, 120_000);

test("what a registry held when it was put somewhere is named in the course of later logs, each a share of it", async () => {
  const world = await createWorld();
  await world.deploy(victim);
  for (const i of times(3_000)) await world.register(victim, `e${i}`);
  await attach(world, "home");
  expect(changedAt(world, world.block())).toBeLessThanOrEqual(512);
  for (const i of times(50)) await world.register(eth, `later${i}`, { holder: stranger });
  expect(world.store.rows(v2NamingJob)).toEqual([]);
  await world.open();
  const named = "SELECT count(*) FROM v2_domains WHERE name LIKE '%.home.eth'";
  const { rows } = await stored.client.query<{ count: string }>(named);
  expect(String(rows[0]?.count)).toBe("3000");
}, 120_000);

test("what was left out while a name above had expired is there again with it", async () => {
  const world = await createWorld();
  const middle = address("d6");
  await world.deploy(victim);
  await world.deploy(middle);
  await world.register(eth, "home", { expiry: 1_700_000_000n + 1_100n });
  await world.put(eth, "home", middle);
  await world.register(middle, "deep");
  await world.put(middle, "deep", victim);
  await world.register(victim, "pay");
  await world.fill(128);
  expect(await (await world.open()).owned()).not.toContain("pay.deep.home.eth");
  await world.renew(eth, "home", forever);
  expect(await (await world.open()).owned()).toContain("deep.home.eth");
  const { ask } = await world.open();
  expect((await ask("/v1/names/pay.deep.home.eth")).status).toBe(200);
});
