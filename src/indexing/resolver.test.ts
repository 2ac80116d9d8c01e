import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createRulesHarness } from "../../test/support/rules-harness.ts";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { labelhashOf } from "../ens/labels.ts";
import { account, domain } from "../schema/subgraph.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const linkedResolver: Hex = `0x${"c3".repeat(20)}`;
const formerResolver: Hex = `0x${"d4".repeat(20)}`;
const node = namehash("eth");

/** "eth" of `owner`, linked to a resolver in block 2. */
async function withLinkedDomain() {
  const harness = createRulesHarness();
  await harness.play({
    contract: "ENSv1Registry",
    event: "NewOwner",
    args: { node: rootNode, label: labelhashOf("eth"), owner },
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

test("the address of the linked resolver is that of the domain, from the event's block on", async () => {
  const { addrChanged, domainRow } = await withLinkedDomain();
  await addrChanged(linkedResolver, other, 3);
  expect(domainRow()).toMatchObject({ resolvedAddressId: other, changeBlock: 3 });
});

test("another resolver's address does not change the domain or its last block", async () => {
  const { addrChanged, domainRow } = await withLinkedDomain();
  await addrChanged(formerResolver, other, 3);
  expect(domainRow()).toMatchObject({ resolvedAddressId: null, changeBlock: 2 });
});

test("an address creates its account, be it the owner's, another's or zero", async () => {
  const { addrChanged, accounts } = await withLinkedDomain();
  expect(accounts()).toEqual([owner]);
  await addrChanged(linkedResolver, owner, 3);
  await addrChanged(linkedResolver, other, 4);
  await addrChanged(linkedResolver, zeroAddress, 5);
  expect(accounts()).toEqual([owner, other, zeroAddress]);
});
