import {
  type Held,
  indexTime,
  type NamespaceRules,
  nameOfNode,
  secondGeneration,
} from "../names/stored-name.ts";
import { reachedJoin, type WalkContracts } from "../names/v2-walk.ts";
import { isEntryOfRole, isOnPresent, rolesOfAccount, rolesOfEntry } from "./stored-roles.ts";

// Roles of accounts on entries of ENSv2. Anyone can have the factory deploy a contract and grant an account any number
// of roles on it.

/** Up to how many roles of an account are read. */
const maxRoles = 10_000;

const bitmap = (digits: string) => `'0x${digits.padStart(64, "0")}'`;
// Nothing, and the mark that a reserved name was registered, which allows nothing.
const noRoles = `(${bitmap("0")}, ${bitmap("100000000")})`;

/**
 * SQL condition that an account has a role on the registration in force of a row of `names`. Nobody knows the owner
 * under unknown code.
 */
export const hasRole = (
  { chainId }: WalkContracts,
  account: string,
): string => `(names.is_v2 AND names.owner IS NOT NULL
  AND EXISTS (SELECT FROM ${rolesOfEntry(chainId, "names.registry", "names.labelhash")} AND p.account = ${account} AND p.roles NOT IN ${noRoles}))`;

/**
 * Names by the roles of an account on their registrations in force, sorted by `sorted` and `id`; undefined if ENSv2 is
 * not indexed. Only registries of known code have names.
 */
export function namesByRole(
  namespaces: readonly NamespaceRules[],
  account: string,
  isDescending: boolean,
): (Pick<Held, "from" | "where" | "name" | "id"> & { sorted: string }) | undefined {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return undefined;
  const direction = isDescending ? " DESC" : "";
  const from = `(SELECT e.id, e.name, left(e.name, 256) AS sorted
  FROM (SELECT p.* FROM ${rolesOfAccount(account, v2.chainId)} ORDER BY p.address, p.resource LIMIT ${maxRoles}) p
  JOIN v2_entries o ON ${isEntryOfRole("o", v2.chainId)} AND ${isOnPresent("o")}
  JOIN v2_domains e ON e.chain_id = o.chain_id AND e.registry = o.registry AND e.labelhash = o.labelhash
  ${reachedJoin("e", "at_e", v2, indexTime)}
  WHERE at_e.is_reached AND p.roles NOT IN ${noRoles} ORDER BY sorted${direction}, e.id${direction} OFFSET 0) e ${nameOfNode(namespaces, "e.id")}`;
  return { from, where: "true", name: "e.name", id: "e.id", sorted: "e.sorted" };
}

/** SQL of whether an account has more roles than are read. */
export const hasMoreRoles = ({ chainId }: WalkContracts, account: string): string =>
  `EXISTS (SELECT FROM ${rolesOfAccount(account, chainId)} OFFSET ${maxRoles})`;
