import type { Hex } from "viem";

// The words for a role: its constant in the contract as `/api/permissions` writes it, and the power in the words of
// `/v1`, if that has one.
type Words = Readonly<Record<number, readonly [constant: string, power?: string]>>;

const ofBoth: Words = { 30: ["CAN_NAME", "can_name"], 31: ["CAN_UPGRADE", "upgrade"] };

// Index among the 32 roles, of four bits each. A role's admin is 128 bits further.
const registryRoles: Words = {
  0: ["CAN_REGISTER", "registrar"],
  1: ["CAN_REGISTER_RESERVED", "register_reserved"],
  2: ["CAN_SET_PARENT", "set_parent"],
  3: ["CAN_UNREGISTER", "unregister"],
  4: ["CAN_RENEW", "renew"],
  5: ["CAN_SET_SUBREGISTRY", "set_subregistry"],
  6: ["CAN_SET_RESOLVER", "set_resolver"],
  7: ["CAN_TRANSFER"],
  8: ["WAS_RESERVED"],
  9: ["CAN_SET_URI", "set_uri"],
  ...ofBoth,
};

const resolverRoles: Words = {
  0: ["CAN_SET_ADDR", "set_addr"],
  1: ["CAN_SET_TEXT", "set_text"],
  2: ["CAN_SET_CONTENTHASH", "set_contenthash"],
  3: ["CAN_SET_PUBKEY", "set_pubkey"],
  4: ["CAN_SET_ABI", "set_abi"],
  5: ["CAN_SET_INTERFACE", "set_interface"],
  6: ["CAN_SET_NAME", "set_name"],
  7: ["CAN_SET_ALIAS"],
  8: ["CAN_CLEAR", "clear_records"],
  9: ["CAN_SET_DATA", "set_data"],
  ...ofBoth,
};

// Roles of resolvers with record ids, deployed since September 2026.
const recordResolverRoles: Words = {
  0: ["CAN_SET_ADDR", "set_addr"],
  1: ["CAN_SET_TEXT", "set_text"],
  2: ["CAN_SET_CONTENTHASH", "set_contenthash"],
  3: ["CAN_SET_ABI", "set_abi"],
  4: ["CAN_SET_INTERFACE", "set_interface"],
  5: ["CAN_SET_NAME", "set_name"],
  6: ["CAN_SET_DATA", "set_data"],
  7: ["CAN_LINK", "link"],
  ...ofBoth,
};

const rolesOf = { registry: registryRoles, resolver: resolverRoles, recordResolver: recordResolverRoles };

/** Kinds of ENSv2 contracts with roles. Resolvers with record ids have other roles than those keyed by nodes. */
export type RoleHolder = keyof typeof rolesOf;

// Powers by index among all 64 roles. Two of registries exist on one side only: the mark as a role, transfers as an
// admin.
const indexPowers = (roles: Words, more: Readonly<Record<number, string>> = {}) =>
  new Map(
    Array.from({ length: 64 }, (_, index) => index).flatMap((index) => {
      const power = roles[index % 32]?.[1];
      const word = more[index] ?? (power && index >= 32 ? `admin_${power}` : power);
      return word === undefined ? [] : [[index, word] as const];
    }),
  );

const powers: Readonly<Record<RoleHolder, ReadonlyMap<number, string>>> = {
  registry: indexPowers(registryRoles, { 8: "was_reserved", 39: "can_transfer_admin" }),
  resolver: indexPowers(resolverRoles),
  recordResolver: indexPowers(recordResolverRoles),
};

/** The powers that a kind of contract can give, lowest role first. */
export const powerWords = (holder: RoleHolder): string[] => [...powers[holder].values()];

/** SQL of whether a bitmap of roles, given as SQL, has a power. */
export function hasPowerSql(bitmap: string, holder: RoleHolder): string {
  const mask = [...powers[holder].keys()].reduce((bits, index) => bits | (1n << (4n * BigInt(index))), 0n);
  return `('x' || substr(${bitmap}, 3))::bit(256) & X'${mask.toString(16).padStart(64, "0")}' <> 0::bit(256)`;
}

/**
 * The powers in a bitmap of roles, lowest first, in the words of `/v1`. Roles without a word are left out.
 * @example listPowers("0x01000000", "registry") // ["set_resolver"]
 */
export function listPowers(bitmap: Hex, holder: RoleHolder): string[] {
  const bits = BigInt(bitmap);
  return [...powers[holder]].flatMap(([index, power]) => ((bits >> (4n * BigInt(index))) & 1n ? power : []));
}

/**
 * Names of the roles in a bitmap, lowest first. The admin of a role may grant it. An unknown role is `ROLE_` and its
 * index.
 * @example roleNames("0x01000000", "registry") // ["CAN_SET_RESOLVER"]
 * @example roleNames(`0x1${"0".repeat(39)}`, "registry") // ["CAN_TRANSFER_ADMIN"]
 */
export function roleNames(bitmap: Hex, holder: RoleHolder): string[] {
  const names = rolesOf[holder];
  const digits = bitmap.slice(2).padStart(64, "0");
  return Array.from({ length: 64 }, (_, index) => index)
    .filter((index) => digits[63 - index] !== "0")
    .map((index) => `${names[index % 32]?.[0] ?? `ROLE_${index % 32}`}${index < 32 ? "" : "_ADMIN"}`);
}
