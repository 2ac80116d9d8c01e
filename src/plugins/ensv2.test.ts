import { type Hex, hexToString, type Log, parseAbi, parseEventLogs } from "viem";
import { expect, test } from "vitest";
import { createV2Index } from "../../test/support/ensv2/played-index.ts";
import { readTruth, type Snapshot, type TrueEntry, v2Addresses } from "../../test/support/ensv2/recording.ts";
import { zeroAddress } from "../ens/nodes.ts";
import { v2Entry, v2Lease, v2Role } from "../schema/ensv2.ts";

// The recorded chain against what calls said of each registry that could be reached from the root, at twenty blocks.

type Index = ReturnType<typeof createV2Index>;
type Entry = typeof v2Entry.$inferSelect;

const noRoles: Hex = `0x${"0".repeat(64)}`;
const nextVersion = (id: Hex): Hex => `0x${(BigInt(id) + 1n).toString(16).padStart(64, "0")}`;

function rolesOf(index: Index) {
  const roles = new Map<string, Record<Hex, Hex>>();
  for (const row of index.store.rows(v2Role) as (typeof v2Role.$inferSelect)[]) {
    if (row.roles === noRoles) continue;
    const key = `${row.address} ${row.resource}`;
    roles.set(key, { ...roles.get(key), [row.account]: `0x${BigInt(row.roles).toString(16)}` });
  }
  return (address: string, resource: string) => roles.get(`${address} ${resource}`) ?? {};
}

// What the views of the contract return, of the stored entry.
function viewOf(entry: Entry, timestamp: bigint, roles: ReturnType<typeof rolesOf>): TrueEntry {
  const isLive = timestamp < entry.expiry;
  const resource = isLive ? entry.resource : nextVersion(entry.resource);
  return {
    raw: entry.label,
    status: isLive ? (entry.owner === zeroAddress ? 1 : 2) : 0,
    expiry: String(entry.expiry),
    latestOwner: entry.owner,
    tokenId: entry.tokenId,
    resource,
    owner: isLive ? entry.owner : zeroAddress,
    resolver: isLive ? entry.resolver : zeroAddress,
    subregistry: isLive ? entry.subregistry : zeroAddress,
    roles: roles(entry.registry, resource),
  };
}

function differences(index: Index, { block, timestamp, registries }: Snapshot): string[] {
  const roles = rolesOf(index);
  const found = Map.groupBy(index.store.rows(v2Entry) as Entry[], ({ registry }) => registry);
  return Object.entries(registries).flatMap(([address, registry]) => {
    if (registry.hostile) return [];
    const expected = registry.entries.filter(({ expiry }) => expiry !== "0");
    const byLabel = new Map((found.get(address as Hex) ?? []).map((entry) => [entry.label, entry]));
    const wrong = expected.flatMap(({ raw, ...rest }) => {
      const entry = byLabel.get(raw);
      const view = entry && viewOf(entry, BigInt(timestamp), roles);
      const { label: _, ...given } = { label: "", ...rest, raw };
      return JSON.stringify(sorted(view)) === JSON.stringify(sorted(given))
        ? []
        : [`${block} ${address} ${raw} ${JSON.stringify(view)} ${JSON.stringify(given)}`];
    });
    const rootRoles = roles(address, noRoles);
    return [
      ...wrong,
      ...(byLabel.size === expected.length ? [] : [`${block} ${address} has ${byLabel.size} entries`]),
      ...(JSON.stringify(sorted(rootRoles)) === JSON.stringify(sorted(registry.rootRoles))
        ? []
        : [
            `${block} ${address} root roles ${JSON.stringify(rootRoles)} ${JSON.stringify(registry.rootRoles)}`,
          ]),
    ];
  });
}

function sorted(value: object | undefined): unknown {
  return Object.entries(value ?? {})
    .map(([key, item]): [string, unknown] => [key, item && typeof item === "object" ? sorted(item) : item])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

test("entries, tokens, resources and roles are what the registries say, at each block", async () => {
  const index = createV2Index();
  for (const snapshot of readTruth()) {
    await index.playTo(snapshot.block);
    expect(differences(index, snapshot)).toEqual([]);
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
