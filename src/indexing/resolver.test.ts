import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createSubgraphHarness } from "../../test/support/handlers.ts";
import { createScopes } from "../../test/support/scope.ts";
import { addrReverseNode, rootNode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { account, domain, resolverEvent } from "../schema/subgraph.ts";
import { applyNewOwner, applyNewResolver } from "./registry.ts";
import { applyNameChanged } from "./resolver.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const linkedResolver: Hex = `0x${"c3".repeat(20)}`;
const formerResolver: Hex = `0x${"d4".repeat(20)}`;
const node = namehash("eth");

/** "eth" of `owner`, linked to a resolver in block 2. */
async function withLinkedDomain() {
  const harness = createSubgraphHarness();
  await harness.play({
    contract: "ENSv1Registry",
    event: "NewOwner",
    args: { node: rootNode, label: labelhash("eth"), owner },
  });
  await harness.play({
    contract: "ENSv1Registry",
    event: "NewResolver",
    args: { node, resolver: linkedResolver },
    block: 2,
  });
  const addrChanged = (address: Hex, a: Hex, block: number) =>
    harness.play({ contract: "Resolver", event: "AddrChanged", args: { node, a }, address, block });
  const domainRow = () => harness.store.rows(domain).find(({ id }) => id === node);
  const accounts = () => harness.store.rows(account).map(({ id }) => id);
  return { addrChanged, domainRow, accounts };
}

test("the address of the linked resolver is that of the domain, from the event's block on; another's is not", async () => {
  const { addrChanged, domainRow } = await withLinkedDomain();
  await addrChanged(formerResolver, other, 3);
  expect(domainRow()).toMatchObject({ resolvedAddressId: null, changeBlock: 2 });
  await addrChanged(linkedResolver, other, 4);
  expect(domainRow()).toMatchObject({ resolvedAddressId: other, changeBlock: 4 });
});

test("an address creates its account, be it the owner's, another's or zero", async () => {
  const { addrChanged, accounts } = await withLinkedDomain();
  expect(accounts()).toEqual([owner]);
  await addrChanged(linkedResolver, owner, 3);
  await addrChanged(linkedResolver, other, 4);
  await addrChanged(linkedResolver, zeroAddress, 5);
  expect(accounts()).toEqual([owner, other, zeroAddress]);
});

test("NameChanged of the resolver that an account's reverse name has sets its primary name; no other does", async () => {
  const { next, store } = createScopes({ emitter: linkedResolver });
  const digits = owner.slice(2);
  const isOldRegistry = false;
  const own = (parentNode: Hex, label: string) =>
    applyNewOwner(next({ sender: owner }), {
      parentNode,
      labelhash: labelhash(label),
      owner,
      isOldRegistry,
    });
  await own(rootNode, "reverse");
  await own(namehash("reverse"), "addr");
  await own(addrReverseNode, digits);
  const reverse = namehash(`${digits}.addr.reverse`);
  const name = "alice.eth";
  await applyNameChanged(next(), { node: reverse, name });
  await applyNewResolver(next(), { node: reverse, resolver: linkedResolver, isOldRegistry });
  await applyNameChanged(next(), { node: reverse, name });
  await applyNameChanged(next({ emitter: formerResolver }), { node: reverse, name });
  await applyNameChanged(next({ chainId: 8453 }), { node: reverse, name });
  await applyNameChanged(next(), { node: namehash("addr.reverse"), name });
  await applyNameChanged(next(), { node: reverse, name: "" });
  const found = store.rows(resolverEvent).map(({ primaryNameOf }) => primaryNameOf ?? null);
  expect(found).toEqual([null, owner, null, null, null, owner]);
});
