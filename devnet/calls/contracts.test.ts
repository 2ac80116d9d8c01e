import { decodeFunctionResult, encodeFunctionData, type Hex, namehash, toHex, zeroAddress } from "viem";
import { packetToBytes } from "viem/ens";
import { expect, test } from "vitest";
import { registryReadAbi, resolverReadAbi, universalResolverAbi } from "../../abis/resolver.ts";
import { recordedBlocks } from "../chain/block.ts";
import { createChain } from "../chain/chain.ts";
import { ownCalls } from "../demo/calls.ts";
import { type Entity, readEntityDump } from "../entities.ts";
import { recordingFolder } from "../recorded-chains.ts";
import { readAddresses, readRecording } from "../recording.ts";
import { registryCall, universalResolverCall } from "./contracts.ts";

// Expected values are what the original mapping made of the recorded chain.
const recording = readRecording(recordingFolder("root"));
const addresses = readAddresses(recordingFolder("root"));
const chain = createChain({ chainId: recording.chainId, blocks: recordedBlocks(recording) });
const calls = ownCalls({ recording, addresses }, chain);
const {
  Domain = [],
  Resolver = [],
  TextChanged = [],
  VersionChanged = [],
  NewOwner = [],
  NewResolver = [],
} = readEntityDump(new URL("../../test/fixtures/chain-a-entities.json.gz", import.meta.url).pathname);
const byBlock = (a: Entity, b: Entity) => Number(a["blockNumber"]) - Number(b["blockNumber"]);
const head = chain.head();
const registry = { chain, address: addresses["ENSv1Registry"]!, older: addresses["ENSv1RegistryOld"]! };

function ask(to: Hex, functionName: string, args: readonly unknown[], block = head): unknown {
  const data = encodeFunctionData({ abi: resolverReadAbi, functionName, args } as never);
  const result = calls.get(to)?.(data, block);
  if (result === undefined) return undefined;
  const abi = resolverReadAbi.filter(
    (item) => item.name === functionName && item.inputs.length === args.length,
  );
  return decodeFunctionResult({ abi, functionName, data: result } as never);
}

const known = Resolver.filter(({ address }) => calls.has(address as string));
const byId = new Map(known.map((entity) => [entity.id, entity]));

test("a registry returns the resolvers that its events set, the older one's for names that it does not have", () => {
  const call = registryCall(registry);
  // The mapping has one registry: it keeps the older one's resolver of a name that the newer one created, and knows no fallback
  // of names without an owner.
  const newest = (entities: Entity[]) =>
    new Map(entities.map((event) => [event["domain"], Number(event["blockNumber"])]));
  const [created, set] = [newest(NewOwner.toSorted(byBlock)), newest(NewResolver.toSorted(byBlock))];
  const owned = Domain.filter(
    ({ id, owner }) => owner !== zeroAddress && (set.get(id) ?? Infinity) >= (created.get(id) ?? 0),
  );
  const different = owned
    .filter((_, index) => index % 5 === 0)
    .filter(({ id, resolver }) => {
      const data = encodeFunctionData({ abi: registryReadAbi, args: [id as Hex] });
      const result = decodeFunctionResult({ abi: registryReadAbi, data: call(data, head)! });
      return result.toLowerCase() !== (typeof resolver === "string" ? resolver.slice(0, 42) : zeroAddress);
    });
  expect(different.map(({ name }) => name)).toEqual([]);
});

test("resolvers return the addresses that their events set", () => {
  const different = known.filter(({ address, domain, addr }) => {
    const returned = String(ask(address as Hex, "addr", [domain])).toLowerCase();
    return returned !== (addr ?? zeroAddress);
  });
  expect(different).toEqual([]);
  expect(known.length).toBeGreaterThan(500);
});

test("texts are those of the newest event, those without a value as the chain returned them", () => {
  // The mapping removes NUL. Calls are answered as of the end of a block: one with a single change of the name's records.
  const changes = [...TextChanged, ...VersionChanged].map(
    ({ resolver, blockNumber }) => `${resolver} ${blockNumber}`,
  );
  const ofKnown = TextChanged.filter(
    ({ resolver, key, value, blockNumber }) =>
      byId.has(resolver as string) &&
      value !== null &&
      !/^nul/.test(`${key}`) &&
      changes.filter((change) => change === `${resolver} ${blockNumber}`).length === 1,
  ).slice(-40);
  for (const { resolver, key, value, blockNumber } of ofKnown) {
    const { address, domain } = byId.get(resolver as string)!;
    const returned = String(ask(address as Hex, "text", [domain, key], blockNumber as number));
    expect(returned.replaceAll("\0", "")).toBe(value);
  }
  expect(ofKnown.length).toBe(40);
  const { to, data, block, result } = recording.calls.findLast((call) => call.result !== undefined)!;
  expect(calls.get(to)?.(data, Number(block))).toBe(result);
});

test("before the first event of a node nothing is set", () => {
  const { address, domain } = known.find(({ addr }) => addr !== null)!;
  expect(ask(address as Hex, "addr", [domain], 0)).toBe(zeroAddress);
  expect(ask(address as Hex, "text", [domain, "avatar"], 0)).toBe("");
  expect(ask(address as Hex, "contenthash", [domain], 0)).toBe("0x");
});

test("the universal resolver finds the resolver of the nearest name above, and where that begins", () => {
  const kagam = Domain.find(({ name }) => name === "kagam.eth")!;
  const name = toHex(packetToBytes("a.kagam.eth"));
  const result = universalResolverCall(registry)(
    encodeFunctionData({ abi: universalResolverAbi, args: [name] }),
    head,
  );
  const [resolver, node, offset] = decodeFunctionResult({ abi: universalResolverAbi, data: result! });
  expect(resolver.toLowerCase()).toBe((kagam["resolver"] as string).slice(0, 42));
  expect([node, offset]).toEqual([namehash("kagam.eth"), 2n]);
});

test("a call that a contract does not have reverts", () => {
  expect(calls.get(registry.address)?.("0x12345678", head)).toBeUndefined();
  expect(calls.get(addresses["PublicResolverV5"]!)?.("0x12345678", head)).toBeUndefined();
  expect(ask(addresses["PublicResolverV5"]!, "ABI", [namehash("eth"), 1n])).toBeUndefined();
});
