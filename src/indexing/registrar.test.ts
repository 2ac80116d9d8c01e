import { type Hex, namehash } from "viem";
import { describe, expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain, wrappedDomain } from "../schema/subgraph.ts";
import { applyWrappedTransfer } from "./name-wrapper.ts";
import { multichainNaming, type Naming, subgraphNaming } from "./naming.ts";
import { applyNameRegistered, applyProvenLabel } from "./registrar.ts";
import { applyNewOwner } from "./registry.ts";

// The rules of section B.6 in the reference of the original subgraph.

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const managed = { node: namehash("eth"), name: "eth" };
const alice = namehash("alice.eth");
const hash = labelhash("alice");

async function createRegistrar(labels: string[] = ["eth"]) {
  const { next, store } = createScopes();
  const known = new Map(labels.map((label) => [labelhash(label), label]));
  const scope = ({ naming = subgraphNaming } = {}) => next({ naming, heal: (hash) => known.get(hash) });
  const own = (parentNode: Hex, label: string) =>
    applyNewOwner(scope(), { parentNode, labelhash: labelhash(label), owner, isOldRegistry: false });
  await own(rootNode, "eth");
  await own(managed.node, "alice");
  const register = (expires: bigint, to = owner) =>
    applyNameRegistered(scope(), { managed, labelhash: hash, owner: to, expires });
  const domainOf = (node: Hex) => store.rows(domain).find(({ id }) => id === node);
  return { scope, register, domainOf, rows: store.rows };
}

describe("NameRegistered of a name that lapsed while it was wrapped", () => {
  const wrapAndRegisterAnew = async (naming: Naming) => {
    const { scope, register, domainOf, rows } = await createRegistrar();
    await register(1_700_000_100n);
    await applyWrappedTransfer(scope(), {
      node: alice,
      operator: owner,
      from: zeroAddress,
      to: owner,
      index: 0,
    });
    await applyNameRegistered(scope({ naming }), {
      managed,
      labelhash: hash,
      owner: other,
      expires: 1_800_000_000n,
    });
    return { wrappedOwnerId: domainOf(alice)?.wrappedOwnerId, wrapped: rows(wrappedDomain) };
  };

  test("removes the wrapped domain, as the original does since June 2026", async () => {
    expect(await wrapAndRegisterAnew(subgraphNaming)).toEqual({ wrappedOwnerId: null, wrapped: [] });
  });

  test("leaves it stored for an index of several chains", async () => {
    const { wrappedOwnerId, wrapped } = await wrapAndRegisterAnew(multichainNaming);
    expect(wrappedOwnerId).toBe(owner);
    expect(wrapped).toMatchObject([{ id: alice, ownerId: owner }]);
  });
});

describe("a label proven elsewhere", () => {
  test("names a domain that had no name", async () => {
    const { scope, register, domainOf } = await createRegistrar();
    await register(1_800_000_000n);
    await applyProvenLabel(scope({ naming: multichainNaming }), managed, { label: "alice", labelhash: hash });
    expect(domainOf(alice)).toMatchObject({ labelName: "alice", name: "alice.eth" });
  });

  test("of another name changes nothing", async () => {
    const { scope, register, domainOf } = await createRegistrar();
    await register(1_800_000_000n);
    await applyProvenLabel(scope({ naming: multichainNaming }), managed, { label: "alicf", labelhash: hash });
    expect(domainOf(alice)?.["labelName"]).toBeNull();
  });
});
