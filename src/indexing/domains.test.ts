import { type Hex, namehash } from "viem";
import { describe, expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { domain } from "../schema/subgraph.ts";
import {
  bareDomain,
  discountIfEmpty,
  expectDomain,
  findDomain,
  insertDomain,
  saveDomain,
  updateDomainIfStored,
  updateExpectedDomain,
} from "./domains.ts";
import { subgraphNaming } from "./naming.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const eth = namehash("eth");
const alice = namehash("alice.eth");

function createDomains() {
  const { next, store, anomalies } = createScopes();
  const scope = () => next({ naming: subgraphNaming });
  const domainOf = (node: Hex) => store.rows(domain).find(({ id }) => id === node);
  return { scope, domainOf, rows: () => store.rows(domain), anomalies };
}

describe("a missing domain", () => {
  test("the root is migrated from the start, and stored only with its first change", async () => {
    const { scope, rows, domainOf } = createDomains();
    const root = await findDomain(scope(), rootNode);
    expect(root).toMatchObject({ ownerId: zeroAddress, isMigrated: true, createdAt: 0n, name: null });
    expect(rows()).toEqual([]);
    if (root) await saveDomain(scope(), root, { subdomainCount: 1 });
    expect(domainOf(rootNode)).toMatchObject({ subdomainCount: 1, createdAt: 0n });
  });

  test("any other is reported, and a bare one takes its place", async () => {
    const { scope, rows, anomalies } = createDomains();
    expect(await findDomain(scope(), eth)).toBeUndefined();
    const row = await expectDomain(scope(), eth, false);
    expect(row).toMatchObject({ ownerId: zeroAddress, isMigrated: false, parentId: null, name: null });
    expect(anomalies).toEqual(["unknown-node"]);
    expect(rows()).toEqual([]);
  });

  test("is left alone, or created with the changes if it was expected", async () => {
    const { scope, domainOf } = createDomains();
    expect(await updateDomainIfStored(scope(), eth, { ownerId: owner })).toBeUndefined();
    expect(domainOf(eth)).toBeUndefined();
    await updateExpectedDomain(scope(), eth, { isMigrated: true, changes: { ownerId: owner } });
    expect(domainOf(eth)).toMatchObject({ ownerId: owner, isMigrated: true });
  });
});

describe("an empty domain", () => {
  test("lowers its parent's count at each save, and so on upwards", async () => {
    const { scope, domainOf } = createDomains();
    await insertDomain(scope(), {
      ...bareDomain(scope(), rootNode, true),
      ownerId: owner,
      subdomainCount: 1,
    });
    await insertDomain(scope(), { ...bareDomain(scope(), eth, true), parentId: rootNode, subdomainCount: 1 });
    await insertDomain(scope(), { ...bareDomain(scope(), alice, true), parentId: eth });
    await discountIfEmpty(scope(), alice);
    expect(domainOf(eth)?.["subdomainCount"]).toBe(0);
    expect(domainOf(rootNode)?.["subdomainCount"]).toBe(0);
    await discountIfEmpty(scope(), alice);
    expect(domainOf(eth)?.["subdomainCount"]).toBe(-1);
    expect(domainOf(rootNode)?.["subdomainCount"]).toBe(0);
  });

  test.each([
    ["an owner", { ownerId: owner }],
    ["a subdomain", { subdomainCount: 1 }],
    ["a resolver", { resolverId: `${owner}-${alice}` }],
  ])("is not one with %s", async (_, changes) => {
    const { scope, domainOf } = createDomains();
    await insertDomain(scope(), { ...bareDomain(scope(), eth, true), subdomainCount: 1 });
    await insertDomain(scope(), { ...bareDomain(scope(), alice, true), parentId: eth, ...changes });
    await discountIfEmpty(scope(), alice);
    expect(domainOf(eth)?.["subdomainCount"]).toBe(1);
  });

  test("may have a resolver link to the zero address", async () => {
    const { scope, domainOf } = createDomains();
    await insertDomain(scope(), { ...bareDomain(scope(), eth, true), ownerId: owner, subdomainCount: 1 });
    const resolverId = `${zeroAddress}-${alice}`;
    await insertDomain(scope(), { ...bareDomain(scope(), alice, true), parentId: eth, resolverId });
    await discountIfEmpty(scope(), alice);
    expect(domainOf(eth)?.["subdomainCount"]).toBe(0);
  });
});
