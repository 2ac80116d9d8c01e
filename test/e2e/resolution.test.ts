import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { encodeAbiParameters, type Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namehash } from "../../src/ens/names.ts";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import { createNameChain } from "../support/name-chain.ts";
import { startWorld, type World } from "../support/world.ts";

// A name service on a real EVM: each query is sent twice, to the index and to the contracts.

const chainId = 15658733;
const oldRegistry: Hex = "0x0dcd1bf9a1b36ce34237eeafef220932846bcd82";
const registry: Hex = "0x9a676e781a523b5d0c0e43731313a708cb607508";
const publicResolver4: Hex = "0x367761085bf3c12e5da2df99ac6e1a824612b8fb";
const publicResolver5: Hex = "0x4c2f7092c2ae51d986befee378e50bd4db99c901";
const reverseRegistrar: Hex = "0x8f86403a4de0bb5791fa46b8e795c547942fe4cf";
const reverseResolver: Hex = "0x5eb3bc0a489c5a8288765d2336659ebca68fcd00";
const gatewayResolver: Hex = `0x${"6a".repeat(20)}`;
const zero: Hex = `0x${"0".repeat(40)}`;
const alice: Hex = `0x${"a1".repeat(20)}`;
const bob: Hex = `0x${"b0".repeat(20)}`;
const extended = { functionName: "supportsInterface", args: ["0x9061b923"] } as const;

const base = 2147492101n;
const defaultType = 2147483648n;

let anvil: Anvil;
let world: World;
let gateway: Server;
let gatewayCalls = 0;

const text = (name: string, key: string) => ({ functionName: "text", args: [namehash(name), key] });
const addr = (name: string, coinType: bigint) => ({
  functionName: "addr",
  args: [namehash(name), coinType],
});
const named = (name: string) => ({ functionName: "name", args: [namehash(name)] });

beforeAll(async () => {
  // Each transaction is mined into its own block, a second after the one before: a chain of the last minutes.
  anvil = await startAnvil(chainId, ["--timestamp", String(Math.floor(Date.now() / 1000) - 300)]);
  gateway = createServer((_, response) => {
    gatewayCalls += 1;
    response.end(JSON.stringify({ data: encodeAbiParameters([{ type: "string" }], ["from afar"]) }));
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  const block = await buildChain();
  world = await startWorld({ rpcUrl: anvil.url });
  const datasources = join(world.folder, "datasources.json");
  const contracts = { UniversalResolver: { address: null } };
  writeFileSync(datasources, JSON.stringify({ "ens-test-env": { ensroot: { [chainId]: { contracts } } } }));
  world.start({
    PLUGINS: "subgraph,protocol-acceleration",
    SUBGRAPH_COMPAT: "false",
    DATASOURCES_FILE: datasources,
    CCIP_ALLOW_PRIVATE_HOSTS: "true",
  });
  await world.waitForIndex({ block });
  // On a slow machine the index passes that block long after it was mined, and accelerates once it has caught up.
  await world.waitFor("a fresh index", async () => {
    const { status } = await fetch(`${world.url}/amirealtime?maxWorstCaseDistance=30`);
    return status === 200 ? { done: undefined } : { state: `/amirealtime responds ${status}` };
  });
});

afterAll(async () => {
  await world?.close();
  await anvil?.close();
  gateway?.close();
});

async function buildChain(): Promise<number> {
  const chain = createNameChain(anvil);
  const node = namehash;
  for (const resolver of [publicResolver4, publicResolver5]) {
    await chain.answers(resolver, [[extended, false]]);
  }

  // alice.eth: a resolver that falls back to the default address.
  await chain.newOwner(registry, "alice.eth", alice);
  await chain.setResolver(registry, "alice.eth", publicResolver5);
  await chain.record(publicResolver5, "AddressChanged", {
    node: node("alice.eth"),
    coinType: defaultType,
    newAddress: alice,
  });
  await chain.record(publicResolver5, "AddressChanged", {
    node: node("alice.eth"),
    coinType: 0n,
    newAddress: "0x76a988ac",
  });
  await chain.record(publicResolver5, "TextChanged", {
    node: node("alice.eth"),
    indexedKey: "avatar",
    key: "avatar",
    value: "ipfs://x",
  });
  await chain.record(publicResolver5, "ContenthashChanged", { node: node("alice.eth"), hash: "0xe301" });
  await chain.answers(publicResolver5, [
    [addr("alice.eth", 60n), alice],
    [addr("alice.eth", base), alice],
    [addr("alice.eth", 2147483658n), alice],
    [addr("alice.eth", defaultType), alice],
    [addr("alice.eth", 0n), "0x76a988ac"],
    [text("alice.eth", "avatar"), "ipfs://x"],
    [{ functionName: "contenthash", args: [node("alice.eth")] }, "0xe301"],
    [{ functionName: "recordVersions", args: [node("alice.eth")] }, 0n],
  ]);

  // bob.eth: records cleared at once, then one set again.
  await chain.newOwner(registry, "bob.eth", bob);
  await chain.setResolver(registry, "bob.eth", publicResolver4);
  await chain.record(publicResolver4, "AddrChanged", { node: node("bob.eth"), a: bob });
  await chain.record(publicResolver4, "TextChanged", {
    node: node("bob.eth"),
    indexedKey: "url",
    key: "url",
    value: "old",
  });
  await chain.record(publicResolver4, "VersionChanged", { node: node("bob.eth"), newVersion: 1n });
  await chain.record(publicResolver4, "TextChanged", {
    node: node("bob.eth"),
    indexedKey: "url",
    key: "url",
    value: "new",
  });
  await chain.answers(publicResolver4, [
    [addr("bob.eth", 60n), "0x"],
    [text("bob.eth", "url"), "new"],
  ]);

  // former.eth: only the older registry knows it; moved.eth: the newer one took it over, without a resolver.
  for (const name of ["former.eth", "moved.eth"]) {
    await chain.setResolver(oldRegistry, name, publicResolver4);
    await chain.fallsBack(registry, name, publicResolver4);
    await chain.record(publicResolver4, "TextChanged", {
      node: node(name),
      indexedKey: "url",
      key: "url",
      value: name,
    });
    await chain.answers(publicResolver4, [[text(name, "url"), name]]);
  }
  await chain.newOwner(registry, "moved.eth", bob);
  await chain.fallsBack(registry, "moved.eth", zero);

  // afar.eth and all below: a gateway serves the records.
  await chain.newOwner(registry, "afar.eth", bob);
  await chain.setResolver(registry, "afar.eth", gatewayResolver);
  await chain.answers(gatewayResolver, [[extended, true]]);
  const response = encodeAbiParameters([{ type: "string" }], ["from afar"]);
  const { port } = gateway.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/{sender}/{data}.json`;
  for (const name of ["afar.eth", "deep.afar.eth"]) {
    await chain.asksGateway(gatewayResolver, { name, read: text(name, "url"), url, response });
  }

  // Primary names: alice has a default one; bob's points at a name that is not his.
  await chain.setResolver(registry, "reverse", reverseResolver);
  await chain.answers(reverseResolver, [[extended, true]]);
  for (const [account, name] of [
    [alice, "alice.eth"],
    [bob, "alice.eth"],
  ] as const) {
    await chain.nameFor(reverseRegistrar, account, name);
    for (const parent of ["addr", "default", base.toString(16), "8000000a"]) {
      const reverse = `${account.slice(2)}.${parent}.reverse`;
      await chain.answersExtended(reverseResolver, reverse, named(reverse), name);
    }
  }
  // From here on it is a live chain.
  await anvil.client.setNextBlockTimestamp({ timestamp: BigInt(Math.floor(Date.now() / 1000)) });
  await anvil.client.mine({ blocks: 1 });
  await anvil.client.setIntervalMining({ interval: 1 });
  return anvil.head();
}

type Answer = { accelerationAttempted: boolean; accelerationRequested: boolean; records?: unknown };

async function ask(path: string, accelerate: boolean) {
  const url = new URL(`${world.url}/api/resolve/${path}`);
  url.searchParams.set("accelerate", String(accelerate));
  const response = await fetch(url);
  return { status: response.status, body: (await response.json()) as Answer };
}

describe("the index returns what the contracts return", () => {
  test.each<[string, object]>([
    [
      "records/alice.eth?addresses=60,0,2147492101,2147483648,118&texts=avatar,none&contenthash=true&version=true",
      {
        records: {
          addresses: {
            "60": alice,
            "0": "0x76a988ac",
            "2147492101": alice,
            "2147483648": alice,
            "118": null,
          },
          texts: { avatar: "ipfs://x", none: null },
          contenthash: "0xe301",
          version: "0",
        },
      },
    ],
    [
      "records/bob.eth?addresses=60&texts=url",
      { records: { addresses: { "60": null }, texts: { url: "new" } } },
    ],
    ["records/sub.alice.eth?texts=avatar", { records: { texts: { avatar: null } } }],
    ["records/former.eth?texts=url", { records: { texts: { url: "former.eth" } } }],
    ["records/moved.eth?texts=url", { records: { texts: { url: null } } }],
    ["records/nobody.eth?name=true&addresses=60", { records: { name: null, addresses: { "60": null } } }],
    ["records/afar.eth?texts=url,none", { records: { texts: { url: "from afar", none: null } } }],
    ["records/deep.afar.eth?texts=url", { records: { texts: { url: "from afar" } } }],
    [`primary-name/${alice}/0`, { name: "alice.eth" }],
    [`primary-name/${alice}/8453`, { name: "alice.eth" }],
    [`primary-name/${alice}/1`, { name: "alice.eth" }],
    [`primary-name/${bob}/0`, { name: null }],
    [`primary-names/${alice}?chainIds=8453,10`, { names: { "8453": "alice.eth", "10": "alice.eth" } }],
  ])("%s", async (path, expected) => {
    const [live, accelerated] = [await ask(path, false), await ask(path, true)];
    expect(live).toMatchObject({ status: 200, body: { ...expected, accelerationAttempted: false } });
    expect(accelerated).toMatchObject({ status: 200, body: { ...expected, accelerationAttempted: true } });
  });

  test("the gateway was asked for what only it knows", () => {
    expect(gatewayCalls).toBeGreaterThan(0);
  });
});

test("without the chain, the index still returns what it knows, and 503 for the rest", async () => {
  await anvil.close();
  expect((await ask("records/alice.eth?texts=avatar", true)).body.records).toEqual({
    texts: { avatar: "ipfs://x" },
  });
  const unavailable = await ask("records/alice.eth?texts=avatar", false);
  expect(unavailable).toEqual({ status: 503, body: { message: `Chain ${chainId} could not be asked.` } });
});
