import { decodeFunctionResult, encodeFunctionData, type Hex, namehash, zeroAddress } from "viem";
import { expect, test } from "vitest";
import { registryReadAbi, resolverReadAbi } from "../abis/resolver.ts";
import { ownCalls } from "./calls.ts";
import { recordedBlocks } from "./chain/block.ts";
import { createChain } from "./chain/chain.ts";
import { type Entity, readEntityDump } from "./entities.ts";
import { recordingFolder } from "./recorded-chains.ts";
import { readAddresses, readRecording } from "./recording.ts";

// Expected values are what the original mapping made of the recorded chain.
const recording = readRecording(recordingFolder("root"));
const addresses = readAddresses(recordingFolder("root"));
const chain = createChain({ chainId: recording.chainId, blocks: recordedBlocks(recording) });
const { calls } = ownCalls(chain, recording, addresses);
const {
  Domain = [],
  Resolver = [],
  TextChanged = [],
  VersionChanged = [],
  NewOwner = [],
  NewResolver = [],
} = readEntityDump(new URL("../test/fixtures/chain-a-entities.json.gz", import.meta.url).pathname);
const byBlock = (a: Entity, b: Entity) => Number(a["blockNumber"]) - Number(b["blockNumber"]);
const registry = addresses["ENSv1Registry"]!;

function ask(to: unknown, functionName: string, ...args: readonly unknown[]): unknown {
  const data = encodeFunctionData({ abi: resolverReadAbi, functionName, args } as never);
  const result = calls.get(to as Hex)?.(data);
  if (result === undefined) return undefined;
  const abi = resolverReadAbi.filter(
    (item) => item.name === functionName && item.inputs.length === args.length,
  );
  return decodeFunctionResult({ abi, functionName, data: result } as never);
}

const known = Resolver.filter(({ address }) => calls.has(address as string));
const byId = new Map(known.map((entity) => [entity.id, entity]));

test("a registry returns the resolvers that its events set, the older one's for names that it does not have", () => {
  const call = calls.get(registry)!;
  // The mapping has one registry: it keeps the older one's resolver of a name that the newer one created, and knows no
  // fallback of names without an owner.
  const newest = (entities: Entity[]) =>
    new Map(entities.map((event) => [event["domain"], Number(event["blockNumber"])]));
  const [created, set] = [newest(NewOwner.toSorted(byBlock)), newest(NewResolver.toSorted(byBlock))];
  const owned = Domain.filter(
    ({ id, owner }) => owner !== zeroAddress && (set.get(id) ?? Infinity) >= (created.get(id) ?? 0),
  );
  const different = owned.filter(({ id, resolver }) => {
    const data = encodeFunctionData({ abi: registryReadAbi, args: [id as Hex] });
    const result = decodeFunctionResult({ abi: registryReadAbi, data: call(data)! });
    return result.toLowerCase() !== (typeof resolver === "string" ? resolver.slice(0, 42) : zeroAddress);
  });
  expect(different.map(({ name }) => name)).toEqual([]);
});

test("resolvers return the addresses that their events set", () => {
  const different = known.filter(
    ({ address, domain, addr }) =>
      String(ask(address, "addr", domain)).toLowerCase() !== (addr ?? zeroAddress),
  );
  expect(different).toEqual([]);
  expect(known.length).toBeGreaterThan(500);
});

test("texts are those of the newest event, those without a value as the chain returned them", () => {
  const ended = new Set(VersionChanged.map(({ resolver }) => resolver));
  const newest = new Map(
    TextChanged.toSorted(byBlock).map((event) => [`${event["resolver"]} ${event["key"]}`, event]),
  );
  // The mapping removes NUL.
  const ofKnown = [...newest.values()].filter(
    ({ resolver, key, value }) =>
      byId.has(resolver as string) && !ended.has(resolver) && value !== null && !/^nul/.test(`${key}`),
  );
  for (const { resolver, key, value } of ofKnown) {
    const { address, domain } = byId.get(resolver as string)!;
    expect(String(ask(address, "text", domain, key)).replaceAll("\0", "")).toBe(value);
  }
  expect(ofKnown.length).toBeGreaterThan(40);
});

test("before the first event of a node nothing is set", () => {
  const { PublicResolverV5 } = addresses;
  const node = namehash("never.eth");
  expect(ask(PublicResolverV5, "addr", node)).toBe(zeroAddress);
  expect(ask(PublicResolverV5, "text", node, "avatar")).toBe("");
  expect(ask(PublicResolverV5, "contenthash", node)).toBe("0x");
});

test("a call that a contract does not have reverts", () => {
  expect(calls.get(registry)?.("0x12345678")).toBeUndefined();
  expect(calls.get(addresses["PublicResolverV5"]!)?.("0x12345678")).toBeUndefined();
  expect(ask(addresses["PublicResolverV5"], "ABI", namehash("eth"), 1n)).toBeUndefined();
});
