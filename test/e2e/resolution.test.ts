import {
  encodeAbiParameters,
  encodeErrorResult,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  toHex,
} from "viem";
import { packetToBytes } from "viem/ens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { registryReadAbi, resolverReadAbi, resolverRecordsAbi } from "../../abis/resolver.ts";
import { createLogEncoder, type EmittedLog, emits } from "../../devnet/events.ts";
import { type DevNode, startNode } from "../../devnet/node.ts";
import { listen } from "../../devnet/rpc/server.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { namehash, parentName } from "../../src/ens/names.ts";
import { startRpcProxy } from "../hostile/support/rpc-proxy.ts";
import { recordingOf } from "../support/recordings.ts";
import { startWorld, type World } from "../support/world.ts";

// Contracts whose events and results the test writes: each query is sent twice, to the index and to the contracts.

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
const base = 2147492101n;
const defaultType = 2147483648n;

let node: DevNode;
let proxy: Awaited<ReturnType<typeof startRpcProxy>>;
let world: World;
let gateway: Awaited<ReturnType<typeof listen>>;
let gatewayCalls = 0;

// What contracts return, by address and call; anything else reverts.
const results = new Map<string, object>();
const keyOf = (to: Hex, data: Hex) => `${to} ${data}`;
const returns = (to: Hex, data: Hex, result: Hex) => results.set(keyOf(to, data), { result });

type Read = { functionName: string; args: readonly unknown[] };
const text = (name: string, key: string) => ({ functionName: "text", args: [namehash(name), key] });
const addr = (name: string, coinType: bigint) => ({
  functionName: "addr",
  args: [namehash(name), coinType],
});
const extended = { functionName: "supportsInterface", args: ["0x9061b923"] };
const callOf = (read: Read) => encodeFunctionData({ abi: resolverReadAbi, ...read } as never);
// `addr` has two forms with different results.
const resultOf = ({ functionName, args }: Read, result: unknown): Hex => {
  const isMeant = (item: (typeof resolverReadAbi)[number]) =>
    item.name === functionName && item.inputs.length === args.length;
  return encodeFunctionResult({ abi: resolverReadAbi.filter(isMeant), functionName, result } as never);
};
/** A resolver returns this for a read. */
const reads = (resolver: Hex, read: Read, result: unknown) =>
  returns(resolver, callOf(read), resultOf(read, result));
/** The registry returns a resolver, whatever it emitted. */
const finds = (name: string, resolver: Hex) =>
  returns(
    registry,
    encodeFunctionData({ abi: registryReadAbi, args: [namehash(name)] }),
    encodeFunctionResult({ abi: registryReadAbi, result: resolver }),
  );
const resolveCall = (name: string, inner: Hex) =>
  callOf({ functionName: "resolve", args: [toHex(packetToBytes(name)), inner] });

const gatewayAbi = parseAbi([
  "error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData)",
  "function resolveCallback(bytes response, bytes extraData) view returns (bytes)",
]);
const response = encodeAbiParameters([{ type: "string" }], ["from afar"]);

/** A resolver refers the read of a name to a gateway, and trusts it (ENSIP-10, EIP-3668). */
function asksGateway(resolver: Hex, name: string, inner: Hex) {
  const call = resolveCall(name, inner);
  const callback = encodeFunctionData({
    ...{ abi: gatewayAbi, functionName: "resolveCallback" },
    args: [response, call],
  });
  const urls = [`${gateway.url}/{sender}/{data}.json`];
  const args = [resolver, urls, inner, callback.slice(0, 10) as Hex, call] as const;
  const data = encodeErrorResult({ abi: gatewayAbi, errorName: "OffchainLookup", args });
  results.set(keyOf(resolver, call), { error: { code: 3, message: "execution reverted", data } });
  returns(resolver, callback, encodeAbiParameters([{ type: "bytes" }], [response]));
}

beforeAll(async () => {
  gateway = await listen((_, answer) => {
    gatewayCalls += 1;
    answer.end(JSON.stringify({ data: response }));
  });
  node = await startNode({ recording: recordingOf("root") });
  proxy = await startRpcProxy(node.url, ({ id, method, params }, answer) => {
    if (method !== "eth_call") return false;
    const [{ to, data }] = params as [{ to: Hex; data: Hex }];
    const found = results.get(keyOf(to.toLowerCase() as Hex, data));
    const reverted = { error: { code: 3, message: "execution reverted" } };
    answer.end(JSON.stringify({ jsonrpc: "2.0", id, ...(found ?? reverted) }));
    return true;
  });
  const block = buildChain();
  const contracts = { UniversalResolver: { address: null } };
  world = await startWorld({
    chain: node,
    rpcUrl: proxy.url,
    datasources: JSON.stringify({ "ens-test-env": { ensroot: { [chainId]: { contracts } } } }),
    environment: {
      PLUGINS: "subgraph,protocol-acceleration",
      SUBGRAPH_COMPAT: "false",
      CCIP_ALLOW_PRIVATE_HOSTS: "true",
    },
  });
  world.start();
  await world.waitForIndex({ block });
  // On a slow machine the index passes that block long after it was mined, and accelerates once it has caught up.
  await world.waitFor("a fresh index", async () => {
    const { status } = await fetch(`${world.url}/amirealtime?maxWorstCaseDistance=30`);
    return status === 200 ? { done: undefined } : { state: `/amirealtime responds ${status}` };
  });
});

afterAll(async () => {
  await world?.close();
  await proxy?.close();
  await node?.close();
  await gateway?.close();
});

/** Mines the chain of the last minutes, an event in each block, and goes on mining; returns the last block's number. */
function buildChain(): number {
  const { newOwner, newResolver, addressChanged, addrChanged, textChanged, contenthashChanged } = emits;
  const versionChanged = createLogEncoder(resolverRecordsAbi, "VersionChanged");
  node.chain.setHead(0);
  let timestamp = Math.floor(Date.now() / 1000) - 300;
  const mine = (...logs: EmittedLog[]) =>
    node.mineBlock({ timestamp: timestamp++, transactions: [{ from: alice, to: alice, value: 0n, logs }] });
  const create = (name: string, owner: Hex) =>
    mine(newOwner(registry, namehash(parentName(name)), labelhash(name.split(".")[0] ?? ""), owner));
  function setResolver(name: string, resolver: Hex, at = registry) {
    mine(newResolver(at, namehash(name), resolver));
    finds(name, resolver);
  }
  for (const resolver of [publicResolver4, publicResolver5]) reads(resolver, extended, false);

  // alice.eth: a resolver that falls back to the default address.
  create("alice.eth", alice);
  setResolver("alice.eth", publicResolver5);
  const ofAlice = namehash("alice.eth");
  mine(addressChanged(publicResolver5, ofAlice, defaultType, alice));
  mine(addressChanged(publicResolver5, ofAlice, 0n, "0x76a988ac"));
  mine(textChanged(publicResolver5, ofAlice, "avatar", "avatar", "ipfs://x"));
  mine(contenthashChanged(publicResolver5, ofAlice, "0xe301"));
  for (const coinType of [60n, base, 2147483658n, defaultType])
    reads(publicResolver5, addr("alice.eth", coinType), alice);
  reads(publicResolver5, addr("alice.eth", 0n), "0x76a988ac");
  reads(publicResolver5, text("alice.eth", "avatar"), "ipfs://x");
  reads(publicResolver5, { functionName: "contenthash", args: [ofAlice] }, "0xe301");
  reads(publicResolver5, { functionName: "recordVersions", args: [ofAlice] }, 0n);

  // bob.eth: records cleared at once, then one set again.
  create("bob.eth", bob);
  setResolver("bob.eth", publicResolver4);
  const ofBob = namehash("bob.eth");
  mine(addrChanged(publicResolver4, ofBob, bob));
  mine(textChanged(publicResolver4, ofBob, "url", "url", "old"));
  mine(versionChanged(publicResolver4, ofBob, 1n));
  mine(textChanged(publicResolver4, ofBob, "url", "url", "new"));
  reads(publicResolver4, addr("bob.eth", 60n), "0x");
  reads(publicResolver4, text("bob.eth", "url"), "new");

  // former.eth: only the older registry knows it; moved.eth: the newer one took it over, without a resolver.
  for (const name of ["former.eth", "moved.eth"]) {
    setResolver(name, publicResolver4, oldRegistry);
    mine(textChanged(publicResolver4, namehash(name), "url", "url", name));
    reads(publicResolver4, text(name, "url"), name);
  }
  create("moved.eth", bob);
  finds("moved.eth", zero);

  // afar.eth and all below: a gateway serves the records.
  create("afar.eth", bob);
  setResolver("afar.eth", gatewayResolver);
  reads(gatewayResolver, extended, true);
  for (const name of ["afar.eth", "deep.afar.eth"])
    asksGateway(gatewayResolver, name, callOf(text(name, "url")));

  // Primary names: alice has a default one; bob's points at a name that is not his.
  setResolver("reverse", reverseResolver);
  reads(reverseResolver, extended, true);
  for (const account of [alice, bob]) {
    mine(emits.nameForAddr(reverseRegistrar, account, "alice.eth"));
    for (const parent of ["addr", "default", base.toString(16), "8000000a"]) {
      const reverse = `${account.slice(2)}.${parent}.reverse`;
      const named = { functionName: "name", args: [namehash(reverse)] };
      const result = encodeAbiParameters([{ type: "bytes" }], [resultOf(named, "alice.eth")]);
      returns(reverseResolver, resolveCall(reverse, callOf(named)), result);
    }
  }
  // From here on it is a live chain.
  node.mineBlock({ transactions: [] });
  node.startMining(1);
  return node.chain.head();
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
  await proxy.close();
  expect((await ask("records/alice.eth?texts=avatar", true)).body.records).toEqual({
    texts: { avatar: "ipfs://x" },
    // It is no content identifier.
    decoded: { texts: { avatar: { reason: "unsupported" } } },
  });
  const unavailable = await ask("records/alice.eth?texts=avatar", false);
  expect(unavailable).toEqual({ status: 503, body: { message: `Chain ${chainId} could not be asked.` } });
});
