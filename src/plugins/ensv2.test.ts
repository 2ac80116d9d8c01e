import { hexToString, type Log, parseAbi, parseEventLogs } from "viem";
import { expect, test } from "vitest";
import { v2Addresses } from "../../devnet/recorded-chains.ts";
import { entryDifferences } from "../../test/support/ensv2/differences.ts";
import { readTruth } from "../../test/support/ensv2/recording.ts";
import { createV2Index } from "../../test/support/recorded-index.ts";
import { v2Lease } from "../schema/ensv2.ts";

// The recorded chain against what calls said of each registry that could be reached from the root, at twenty blocks.

test("entries, tokens, resources and roles are what the registries say, at each block", async () => {
  const index = createV2Index();
  for (const snapshot of readTruth()) {
    await index.playTo(snapshot.block);
    expect(entryDifferences(index, snapshot)).toEqual([]);
  }
});

test("leases are the registrations and renewals that the two selling contracts announced", async () => {
  const index = createV2Index();
  await index.playTo(879);
  const abi = parseAbi([
    "event NameRegistered(uint256 indexed tokenId, string label, address owner, address subregistry, address resolver, uint64 duration, address paymentToken, bytes32 indexed referrer, uint256 base, uint256 premium)",
    "event NameRenewed(uint256 indexed tokenId, string label, uint64 duration, uint64 newExpiry, address paymentToken, bytes32 indexed referrer, uint256 amount)",
  ]);
  const sellers = [v2Addresses["ETHRegistrar"], v2Addresses["ETHRenewerV1"]];
  const expected = parseEventLogs({
    abi,
    logs: index.logs.filter(({ address }) => sellers.includes(address)) as unknown as Log[],
  }).map(({ eventName, args, address }) => [
    address,
    eventName === "NameRegistered" ? "registration" : "renewal",
    args.label,
    args.duration,
    args.paymentToken.toLowerCase(),
    args.referrer,
    "base" in args ? args.base : args.amount,
  ]);
  const found = (index.store.rows(v2Lease) as (typeof v2Lease.$inferSelect)[]).map((row) => [
    row.registrar,
    row.type,
    hexToString(row.label),
    row.duration,
    row.paymentToken,
    row.referrer,
    row.base,
  ]);
  expect(found.length).toBeGreaterThan(300);
  expect(found).toEqual(expected);
});
