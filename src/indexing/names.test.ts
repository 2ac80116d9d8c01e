import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain, domainEvent, wrappedDomain } from "../schema/subgraph.ts";
import { expectDomain, saveDomain } from "./domains.ts";
import { applyNameWrapped, applyWrappedTransfer, applyWrapperRenewal } from "./name-wrapper.ts";
import { applyNameRegistered, applyProvenLabel } from "./registrar.ts";
import { applyNewOwner, applyNewResolver, applyRegistryTransfer } from "./registry.ts";
import { multichainNaming, subgraphNaming } from "./scope.ts";

// What the scenarios of the original subgraph do not show of registry, registrar and wrapper.

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const resolver: Hex = `0x${"d1".repeat(20)}`;
const eth = namehash("eth");
const managed = { node: eth, name: "eth" };
const alice = namehash("alice.eth");
const hash = labelhash("alice");
// alice.eth in DNS wire format, and the fuse by which its expiry holds.
const wrapping = { node: alice, name: "0x05616c6963650365746800", owner, fuses: 0x10000 } as const;

/** "eth" of the owner, of the old registry if so given, and "alice.eth", whose label nobody knows. */
async function createNames({ isOldRegistry = false } = {}) {
  const { next, store } = createScopes();
  const scope = ({ naming = subgraphNaming } = {}) =>
    next({ naming, heal: (one) => (one === labelhash("eth") ? "eth" : undefined) });
  const own = (parentNode: Hex, label: string, of = { isOldRegistry: false }) =>
    applyNewOwner(scope(), { parentNode, labelhash: labelhash(label), owner, ...of });
  await own(rootNode, "eth", { isOldRegistry });
  if (!isOldRegistry) await own(eth, "alice");
  const register = (expires: bigint, { to = owner, naming = subgraphNaming } = {}) =>
    applyNameRegistered(scope({ naming }), { managed, labelhash: hash, owner: to, expires });
  const move = (from: Hex, to: Hex) =>
    applyWrappedTransfer(scope(), { node: alice, operator: owner, from, to, index: 0 });
  const wrap = () => applyNameWrapped(scope(), { ...wrapping, expiry: 50n });
  const domainOf = (node: Hex) => store.rows(domain).find(({ id }) => id === node);
  return { scope, own, register, move, wrap, domainOf, rows: store.rows };
}

test("the old registry counts until the new one names the node", async () => {
  const { scope, own, domainOf, rows } = await createNames({ isOldRegistry: true });
  await applyRegistryTransfer(scope(), { node: eth, owner: other, isOldRegistry: true });
  expect(domainOf(eth)).toMatchObject({ ownerId: other, isMigrated: false });
  await own(rootNode, "eth");
  expect(domainOf(eth)).toMatchObject({ ownerId: owner, isMigrated: true });
  // Each event tells which of the two emitted it.
  expect(rows(domainEvent).map(({ type, fromOldRegistry }) => [type, fromOldRegistry ?? null])).toEqual([
    ["NewOwner", true],
    ["Transfer", true],
    ["NewOwner", null],
  ]);
});

test("the old registry sets the root's resolver, but not its owner", async () => {
  const { scope, domainOf } = await createNames();
  await applyRegistryTransfer(scope(), { node: rootNode, owner, isOldRegistry: true });
  await applyNewResolver(scope(), { node: rootNode, resolver, isOldRegistry: true });
  const resolverId = `${resolver}-${rootNode}`;
  expect(domainOf(rootNode)).toMatchObject({ ownerId: zeroAddress, resolverId });
});

// The original does so since June 2026.
test.each([
  ["subgraph", subgraphNaming, null, []],
  ["multichain", multichainNaming, owner, [{ id: alice, ownerId: owner }]],
])(
  "a name that lapsed while it was wrapped, and is registered anew, has no wrapped domain in subgraph mode alone: %s",
  async (_, naming, wrappedOwnerId, wrapped) => {
    const { register, move, domainOf, rows } = await createNames();
    await register(1_700_000_100n);
    await move(zeroAddress, owner);
    await register(1_800_000_000n, { to: other, naming });
    expect(domainOf(alice)?.wrappedOwnerId).toBe(wrappedOwnerId);
    expect(rows(wrappedDomain)).toMatchObject(wrapped);
  },
);

test.each([
  ["alice", { labelName: "alice", name: "alice.eth" }],
  ["alicf", { labelName: null }],
])("a label proven elsewhere names a domain that had no name, if it is its own: %s", async (label, named) => {
  const { scope, register, domainOf } = await createNames();
  await register(1_800_000_000n);
  await applyProvenLabel(scope({ naming: multichainNaming }), managed, { label, labelhash: hash });
  expect(domainOf(alice)).toMatchObject(named);
});

test("a renewal through the wrapper moves the entry of a name that the wrapper holds, beside what events told", async () => {
  const { scope, wrap, rows } = await createNames();
  await wrap();
  const renew = () => applyWrapperRenewal(scope(), { node: alice, wrapper: other, expires: 100n });
  await renew();
  expect(rows(wrappedDomain)).toMatchObject([{ expiryDate: 50n, renewedExpiryDate: null }]);
  const held = { ownerId: other, registrantId: other };
  await saveDomain(scope(), await expectDomain(scope(), alice, true), held);
  await renew();
  // The grace period of 90 days is part of it.
  expect(rows(wrappedDomain)).toMatchObject([{ expiryDate: 50n, renewedExpiryDate: 7_776_100n }]);
  await wrap();
  expect(rows(wrappedDomain)).toMatchObject([{ renewedExpiryDate: null }]);
});

test("a wrapper's transfer creates a placeholder before NameWrapped, and moves the owner afterwards", async () => {
  const { move, wrap, domainOf, rows } = await createNames();
  await move(zeroAddress, owner);
  const placeholder = { id: alice, expiryDate: 0n, fuses: 0, ownerId: owner, name: null };
  expect(rows(wrappedDomain)).toMatchObject([placeholder]);
  await wrap();
  await move(owner, other);
  expect(rows(wrappedDomain)).toMatchObject([{ expiryDate: 50n, ownerId: other, name: "alice.eth" }]);
  expect(domainOf(alice)?.["wrappedOwnerId"]).toBe(other);
  const types = rows(domainEvent).map(({ type }) => type);
  expect(types.slice(-3)).toEqual(["WrappedTransfer", "NameWrapped", "WrappedTransfer"]);
});
