import type { Hex } from "viem";
import { expect, test } from "vitest";
import { listPowers, type RoleHolder, roleNames } from "./roles.ts";

const recordRoles = [
  "CAN_SET_ADDR",
  "CAN_SET_TEXT",
  "CAN_SET_CONTENTHASH",
  "CAN_SET_ABI",
  "CAN_SET_INTERFACE",
  "CAN_SET_NAME",
  "CAN_SET_DATA",
  "CAN_LINK",
];

// RegistryRolesLib and PermissionedResolver of contracts-v2: a role is the lowest bit of a nybble, its admin 128 bits
// higher.
test.each<[Hex, RoleHolder, string[]]>([
  ["0x0", "registry", []],
  ["0x1", "registry", ["CAN_REGISTER"]],
  ["0x1000000", "registry", ["CAN_SET_RESOLVER"]],
  [`0x1${"0".repeat(39)}`, "registry", ["CAN_TRANSFER_ADMIN"]],
  // A name registered through the .eth registrar.
  [
    "0x1110000000000000000000000000000001100000",
    "registry",
    [
      "CAN_SET_SUBREGISTRY",
      "CAN_SET_RESOLVER",
      "CAN_SET_SUBREGISTRY_ADMIN",
      "CAN_SET_RESOLVER_ADMIN",
      "CAN_TRANSFER_ADMIN",
    ],
  ],
  ["0x11", "resolver", ["CAN_SET_ADDR", "CAN_SET_TEXT"]],
  [`0x1${"0".repeat(31)}`, "resolver", ["CAN_UPGRADE"]],
  ["0x10000000000", "resolver", ["ROLE_10"]],
  // The resolver with record ids, as deployed in October 2026.
  ["0x11111111", "recordResolver", recordRoles],
])("%s of a %s", (bitmap, holder, names) => {
  expect(roleNames(bitmap, holder)).toEqual(names);
});

// The words of ENS's own API, docs/api-v1.md "Permission powers vocabulary": bits that it does not name are left out.
test.each<[Hex, RoleHolder, string[]]>([
  ["0x0", "registry", []],
  [
    "0x1110000000000000000000000000000101100000",
    "registry",
    [
      ...["set_subregistry", "set_resolver", "was_reserved"],
      ...["admin_set_subregistry", "admin_set_resolver", "can_transfer_admin"],
    ],
  ],
  // Neither a transfer role without its admin nor the admin of the mark.
  [`0x1${"0".repeat(32)}10000000`, "registry", []],
  // Bits 28 and 156 of the node-keyed generation have no word.
  [`0x1${"0".repeat(31)}10000001`, "resolver", ["set_addr"]],
  [`0x1${"0".repeat(31)}10001000`, "recordResolver", ["set_abi", "link", "admin_link"]],
  ["0x100001000", "resolver", ["set_pubkey", "clear_records"]],
])("powers in %s of a %s", (bitmap, holder, powers) => {
  expect(listPowers(bitmap, holder)).toEqual(powers);
});
