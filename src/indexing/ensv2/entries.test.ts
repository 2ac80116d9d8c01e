import { type Hex, keccak256, namehash, stringToHex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../../test/support/scope.ts";
import { at } from "../../deployments/deployment.ts";
import { v2KnownContracts } from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { v2Contract, v2Entry, v2KeptFuses } from "../../schema/ensv2.ts";
import { domain } from "../../schema/subgraph.ts";
import { applyNameUnwrapped, applyNameWrapped } from "../name-wrapper.ts";
import { applyNewOwner } from "../registry.ts";
import {
  applyLabelRegistered,
  applyProxyDeployed,
  applyResolverCreated,
  applySubregistryUpdated,
  applyUpgraded,
} from "./entries.ts";
import { applyLabel } from "./records.ts";

// Rules of the contracts' source that the recorded chain does not show.

const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
const [ethRegistry, unlocked, locked, wrapperCode, user, userCode] = ["e0", "a0", "a1", "b0", "c0", "b7"].map(
  address,
) as [Hex, Hex, Hex, Hex, Hex, Hex];
const contracts = {
  ETHRegistry: at(ethRegistry, 0),
  UnlockedMigrationController: at(unlocked, 0),
  LockedMigrationController: at(locked, 0),
  WrapperRegistryImpl: at(wrapperCode, 0),
  UserRegistryImpl: at(userCode, 0),
};
const v2 = v2KnownContracts({ ensv2: { chainId: 1, contracts } });
const expiry = 2n ** 64n - 1n;

function entryOf(text: string) {
  const label = stringToHex(text);
  return { label, labelHash: keccak256(label), tokenId: BigInt(keccak256(label)) & ~0xffff_ffffn };
}

test.each<[string, { emitter: Hex; sender: Hex }, boolean]>([
  ["a controller under .eth", { emitter: ethRegistry, sender: unlocked }, true],
  ["another account under .eth", { emitter: ethRegistry, sender: user }, false],
  ["a registry that names a controller", { emitter: user, sender: unlocked }, false],
  ["a registry that names itself", { emitter: user, sender: user }, false],
])("%s registers: whether the name counts as migrated", async (_, { emitter, sender }, isMigrated) => {
  const { next, store } = createScopes({ v2, emitter });
  const scope = next();
  await applyLabelRegistered(scope, { ...entryOf("moon"), owner: user, expiry, sender });
  expect(store.rows(v2Entry)[0]?.["migratedAt"]).toBe(isMigrated ? scope.timestamp : null);
});

async function attach({ deployer, parent }: { deployer: Hex; parent: Hex }) {
  const { next, store } = createScopes({ v2, emitter: parent });
  const wrapper = address("d0");
  await applyProxyDeployed(next(), {
    sender: deployer,
    proxyAddress: wrapper,
    implementation: wrapperCode,
  });
  await applyLabelRegistered(next(), { ...entryOf("moon"), owner: user, expiry, sender: locked });
  await applySubregistryUpdated(next(), {
    tokenId: entryOf("moon").tokenId,
    subregistry: wrapper,
    sender: user,
  });
  return store.rows(v2Contract).find((row) => row["address"] === wrapper);
}

test("the registry of a locked name is under the registry for which the controller deployed it", async () => {
  const row = await attach({ deployer: locked, parent: ethRegistry });
  expect([row?.["parent"], row?.["node"]]).toEqual([ethRegistry, namehash("moon.eth")]);
});

test.each([
  ["deployed by a user", { deployer: user, parent: ethRegistry }],
  ["of the controller, under the registry of somebody else", { deployer: locked, parent: user }],
  ["deployed by the registry that it is under, which nobody migrated", { deployer: user, parent: user }],
])("nobody knows the name of a registry for locked names that was %s", async (_, given) => {
  const row = await attach(given);
  expect([row?.["parent"], row?.["node"]]).toEqual([null, null]);
});

test("a proxy counts as upgraded from its second code on, not at its deployment", async () => {
  const emitter = address("d1");
  const { next, store } = createScopes({ v2, emitter });
  const isUpgraded = () => store.rows(v2Contract).find((row) => row["address"] === emitter)?.["isUpgraded"];
  const [first, second] = [address("b1"), address("b2")];
  await applyUpgraded(next(), { implementation: first });
  await applyResolverCreated(next());
  await applyProxyDeployed(next(), { sender: user, proxyAddress: emitter, implementation: first });
  expect(isUpgraded()).toBe(false);
  await applyUpgraded(next(), { implementation: first });
  expect(isUpgraded()).toBe(false);
  await applyUpgraded(next(), { implementation: second });
  expect(isUpgraded()).toBe(true);
});

const node = namehash("vault.moon.eth");
const wire: Hex = "0x057661756c74046d6f6f6e0365746800";

test.each([
  ["a subname beyond its parent's reach", 0x10000, [{ node, fuses: 0x10000, expiryDate: 1_900_000_000n }]],
  ["a subname that its parent controls", 0, []],
  ["a name of the registrar", 0x30000, []],
])("fuses that the wrapper keeps of %s outlive its unwrapping", async (_, fuses, kept) => {
  const { next, store } = createScopes({ v2 });
  const parentNode = namehash("moon.eth");
  await applyNewOwner(next(), {
    parentNode,
    labelhash: keccak256(stringToHex("vault")),
    owner: user,
    isOldRegistry: false,
  });
  await applyNameWrapped(next(), { node, name: wire, owner: user, fuses, expiry: 1_900_000_000n });
  await applyNameUnwrapped(next(), { node, owner: user, managedNode: namehash("eth") });
  expect(store.rows(v2KeptFuses)).toEqual(kept);
});

test("a label of the store names a subname of the first generation that comes later", async () => {
  const { next, store } = createScopes({ v2 });
  const owned = { parentNode: namehash("eth"), owner: user, isOldRegistry: false };
  await applyLabel(next(), { label: stringToHex("moon"), labelHash: keccak256(stringToHex("moon")) });
  const invalid: Hex = "0xff61fe";
  await applyLabel(next(), { label: invalid, labelHash: keccak256(invalid) });
  for (const labelhash of [keccak256(stringToHex("moon")), keccak256(invalid)])
    await applyNewOwner(next({ isV2Indexed: true }), { ...owned, labelhash });
  await applyNewOwner(next(), { ...owned, labelhash: keccak256(stringToHex("moon")), owner: zeroAddress });
  const nameOf = (labelhash: Hex) =>
    store.rows(domain).find((row) => row["labelhash"] === labelhash)?.["labelName"];
  expect([nameOf(keccak256(stringToHex("moon"))), nameOf(keccak256(invalid))]).toEqual([
    "moon",
    `[${keccak256(invalid).slice(2)}]`,
  ]);
});
