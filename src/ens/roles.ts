import type { Hex } from "viem";

type Names = Readonly<Record<number, string>>;

// Index among the 32 roles, of four bits each. A role's admin is 128 bits further.
const registryRoles: Names = {
  0: "CAN_REGISTER",
  1: "CAN_REGISTER_RESERVED",
  2: "CAN_SET_PARENT",
  3: "CAN_UNREGISTER",
  4: "CAN_RENEW",
  5: "CAN_SET_SUBREGISTRY",
  6: "CAN_SET_RESOLVER",
  7: "CAN_TRANSFER",
  8: "WAS_RESERVED",
  9: "CAN_SET_URI",
  30: "CAN_NAME",
  31: "CAN_UPGRADE",
};

const resolverRoles: Names = {
  0: "CAN_SET_ADDR",
  1: "CAN_SET_TEXT",
  2: "CAN_SET_CONTENTHASH",
  3: "CAN_SET_PUBKEY",
  4: "CAN_SET_ABI",
  5: "CAN_SET_INTERFACE",
  6: "CAN_SET_NAME",
  7: "CAN_SET_ALIAS",
  8: "CAN_CLEAR",
  9: "CAN_SET_DATA",
  30: "CAN_NAME",
  31: "CAN_UPGRADE",
};

// Roles of resolvers with record ids, deployed since September 2026.
const recordResolverRoles: Names = {
  0: "CAN_SET_ADDR",
  1: "CAN_SET_TEXT",
  2: "CAN_SET_CONTENTHASH",
  3: "CAN_SET_ABI",
  4: "CAN_SET_INTERFACE",
  5: "CAN_SET_NAME",
  6: "CAN_SET_DATA",
  7: "CAN_LINK",
  30: "CAN_NAME",
  31: "CAN_UPGRADE",
};

const rolesOf = { registry: registryRoles, resolver: resolverRoles, recordResolver: recordResolverRoles };

/** Kinds of ENSv2 contracts with roles. Resolvers with record ids have other roles than those keyed by nodes. */
export type RoleHolder = keyof typeof rolesOf;

/**
 * Names of the roles in a bitmap, lowest first. The admin of a role may grant it. An unknown role is `ROLE_` and its index.
 * @example roleNames("0x01000000", "registry") // ["CAN_SET_RESOLVER"]
 * @example roleNames(`0x1${"0".repeat(39)}`, "registry") // ["CAN_TRANSFER_ADMIN"]
 */
export function roleNames(bitmap: Hex, holder: RoleHolder): string[] {
  const names = rolesOf[holder];
  const digits = bitmap.slice(2).padStart(64, "0");
  return Array.from({ length: 64 }, (_, index) => index)
    .filter((index) => digits[63 - index] !== "0")
    .map((index) => `${names[index % 32] ?? `ROLE_${index % 32}`}${index < 32 ? "" : "_ADMIN"}`);
}
