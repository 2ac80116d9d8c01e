import { expect, test } from "vitest";
import { dataSchema, type StoredEntry, toEntryData } from "./entries.ts";

const [account, contract]: [`0x${string}`, `0x${string}`] = [`0x${"a".repeat(40)}`, `0x${"c".repeat(40)}`];
const node: `0x${string}` = `0x${"d".repeat(64)}`;
const nothing = ["name", "holder", "resolver", "key", "value", "fuses", "expiry", "coin", "old"];
const entry = {
  ...{
    id: "1-2-3",
    type: "NewOwner",
    timestamp: 1,
    block: 2,
    log: 3,
    transaction: node,
    node,
    chain: 8453,
    after: [],
  },
  ...Object.fromEntries([...nothing, "since", "facts", "payment"].map((member) => [member, null])),
} as unknown as StoredEntry;

const forever = "18446744073709551615";
const resolver = { chain_id: 8453, address: contract };

test.each<[string, Partial<StoredEntry>, object]>([
  [
    // RegistryRolesLib of ENSv2: bits 16 and 24 are renew and setResolver, 156 the admin of transfers; bit 28 has no
    // word.
    "roles",
    {
      type: "EACRolesChanged",
      holder: account,
      value: `0x${((1n << 156n) | (1n << 28n) | (1n << 24n)).toString(16)}`,
      facts: { formerRoles: "0x1010000", labelhash: `0x${"0".repeat(55)}1${"f".repeat(8)}` },
    },
    {
      action: "permission_changed",
      address: account,
      grant_scope: { kind: "registry", detail: {} },
      powers: ["set_resolver", "can_transfer_admin"],
      added_powers: ["can_transfer_admin"],
      removed_powers: ["renew"],
      old_role_bitmap: "16842752",
      new_role_bitmap: String(2n ** 156n + 2n ** 28n + 2n ** 24n),
      canonical_id: "4294967296",
    },
  ],
  [
    "roles on a whole registry",
    {
      ...{ type: "RootPermissionChanged", node: null, key: contract, holder: account, value: "0x11" },
      facts: { formerRoles: "0x1000001" },
    },
    {
      action: "permission_changed",
      address: account,
      grant_scope: { kind: "root", detail: { registry: { chain_id: 8453, address: contract } } },
      powers: ["registrar", "register_reserved"],
      added_powers: ["register_reserved"],
      removed_powers: ["set_resolver"],
      old_role_bitmap: "16777217",
      new_role_bitmap: "17",
    },
  ],
  ["fuses", { type: "FusesSet", fuses: -1 }, { action: "permission_changed", fuses: 4_294_967_295 }],
  [
    "a cleared resolver",
    { type: "NewResolver", resolver: `0x${"0".repeat(40)}` },
    { action: "resolver_changed" },
  ],
  [
    "a wrapping that never ends",
    { type: "NameWrapped", holder: account, fuses: 0, expiry: forever },
    { action: "name_wrapped", owner: account, node, fuses: 0, ...noDate("no_expiry") },
  ],
  [
    "a wrapper's expiry of 0",
    { type: "ExpiryExtended", expiry: "0" },
    { action: "expiry_changed", ...noDate("not_set") },
  ],
  [
    "a new version of records",
    { type: "VersionChanged", resolver: contract, expiry: "7" },
    { action: "record_version_changed", record_version: "7", resolver, node },
  ],
  [
    // Any uint256 is one on chain; JSON's numbers end before.
    "a coin type without bound",
    { type: "MulticoinAddrChanged", coin: forever, value: "0x01", resolver: contract },
    { action: "record_changed", key: `addr:${forever}`, value: "0x01", resolver, node },
  ],
  [
    "a price that one amount told",
    {
      ...{ type: "NameRegistered", holder: account, expiry: "9" },
      payment: { base: "5", premium: "0", total: "5", token: null, referrer: null },
    },
    {
      ...{ action: "registration_granted", registrant: account, expires_at: "9", cost: "5" },
      ...{ action_id: expect.any(String), action_role: "registered" },
    },
  ],
  [
    "what nobody knows of a transfer",
    { type: "NameTransferred", holder: account },
    { action: "token_transferred", to: account },
  ],
])("%s", (_, given, expected) => {
  const stored = { ...entry, ...given };
  const data = toEntryData(stored);
  expect(data).toEqual(expected);
  expect(dataSchema.parse(data)).toEqual(data);
});

function noDate(expires_at_reason: string) {
  return { expires_at: null, expires_at_reason };
}
