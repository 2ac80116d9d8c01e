import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { zeroAddress } from "../ens/ids.ts";
import { domain, domainEvent, wrappedDomain } from "../schema/subgraph.ts";
import { bareDomain, insertDomain, updateDomain } from "./domains.ts";
import { applyNameWrapped, applyWrappedTransfer, applyWrapperRenewal } from "./name-wrapper.ts";
import { subgraphNaming } from "./naming.ts";

// The rules of section B.7 in the reference of the original subgraph.

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const eth = namehash("eth");
const alice = namehash("alice.eth");
// alice.eth in DNS wire format.
const name: Hex = "0x05616c6963650365746800";
const parentCannotControl = 65_536;

async function createWrapper() {
  const { next, store } = createScopes();
  const scope = () => next({ naming: subgraphNaming });
  await insertDomain(scope(), { ...bareDomain(scope(), alice, true), parentId: eth });
  const wrap = () =>
    applyNameWrapped(scope(), { node: alice, name, owner, fuses: parentCannotControl, expiry: 50n });
  const domainOf = (node: Hex) => store.rows(domain).find(({ id }) => id === node);
  return { scope, wrap, domainOf, rows: store.rows };
}

test("a renewal through the wrapper moves the entry of a name that the wrapper holds, beside what events told", async () => {
  const { scope, wrap, rows } = await createWrapper();
  await wrap();
  const renew = () => applyWrapperRenewal(scope(), { node: alice, wrapper: other, expires: 100n });
  await renew();
  expect(rows(wrappedDomain)).toMatchObject([{ expiryDate: 50n, renewedExpiryDate: null }]);
  await updateDomain(scope(), alice, { ownerId: other, registrantId: other });
  await renew();
  // The grace period of 90 days is part of it.
  expect(rows(wrappedDomain)).toMatchObject([{ expiryDate: 50n, renewedExpiryDate: 7_776_100n }]);
  await wrap();
  expect(rows(wrappedDomain)).toMatchObject([{ renewedExpiryDate: null }]);
});

test("a transfer creates a placeholder before NameWrapped, and moves the owner afterwards", async () => {
  const { scope, wrap, domainOf, rows } = await createWrapper();
  await applyWrappedTransfer(scope(), {
    node: alice,
    operator: owner,
    from: zeroAddress,
    to: owner,
    index: 0,
  });
  expect(rows(wrappedDomain)).toMatchObject([
    { id: alice, expiryDate: 0n, fuses: 0, ownerId: owner, name: null },
  ]);
  await wrap();
  await applyWrappedTransfer(scope(), { node: alice, operator: owner, from: owner, to: other, index: 0 });
  expect(rows(wrappedDomain)).toMatchObject([{ expiryDate: 50n, ownerId: other, name: "alice.eth" }]);
  expect(domainOf(alice)?.["wrappedOwnerId"]).toBe(other);
  expect(rows(domainEvent).map(({ type }) => type)).toEqual([
    "WrappedTransfer",
    "NameWrapped",
    "WrappedTransfer",
  ]);
});
