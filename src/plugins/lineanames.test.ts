import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createChainsHarness } from "../../test/support/handlers.ts";
import { rootNode } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { wrappedDomain } from "../schema/subgraph.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const linea = namehash("linea.eth");
const alice = namehash("alice.linea.eth");
const pay = namehash("pay.alice.linea.eth");
const id = BigInt(labelhash("alice"));
// alice.linea.eth and pay.alice.linea.eth in DNS wire format.
const aliceWire: Hex = "0x05616c696365056c696e65610365746800";
const payWire: Hex = "0x0370617905616c696365056c696e65610365746800";

async function withAlice() {
  const harness = createChainsHarness({ labels: ["eth", "linea", "alice", "pay"] });
  const newOwner = (node: Hex, label: string) =>
    harness.play("lineanames/Registry:NewOwner", { node, label: labelhash(label), owner });
  await newOwner(rootNode, "eth");
  await newOwner(namehash("eth"), "linea");
  await newOwner(linea, "alice");
  await harness.play("lineanames/BaseRegistrar:NameRegistered", { id, owner, expires: 1_800_000_000n });
  return { ...harness, newOwner };
}

test("unwrapping keeps the expiry of names under linea.eth, and clears that of deeper ones", async () => {
  const { play, rows, newOwner, domainOf } = await withAlice();
  await newOwner(alice, "pay");
  const parentCannotControl = 0x10000;
  const wrap = (node: Hex, name: Hex) =>
    play("lineanames/NameWrapper:NameWrapped", {
      node,
      name,
      owner,
      fuses: parentCannotControl,
      expiry: 2_000_000_000n,
    });
  await wrap(alice, aliceWire);
  await wrap(pay, payWire);
  expect(rows(wrappedDomain)).toMatchObject([
    { id: alice, name: "alice.linea.eth", expiryDate: 2_000_000_000n },
    { id: pay, name: "pay.alice.linea.eth" },
  ]);
  expect(domainOf(pay)).toMatchObject({ expiryDate: 2_000_000_000n, wrappedOwnerId: owner });
  await play("lineanames/NameWrapper:NameUnwrapped", { node: alice, owner });
  await play("lineanames/NameWrapper:NameUnwrapped", { node: pay, owner });
  expect(rows(wrappedDomain)).toEqual([]);
  expect(domainOf(alice)).toMatchObject({ expiryDate: 2_000_000_000n, wrappedOwnerId: null });
  expect(domainOf(pay)).toMatchObject({ expiryDate: null, wrappedOwnerId: null });
});
