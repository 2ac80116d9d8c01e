import { ens_beautify } from "@adraffy/ens-normalize";
import { rootNode, zeroAddress } from "../../ens/ids.ts";
import { cannotUnwrap, isDotEth, parentCannotControl } from "../../ens/registrations.ts";
import type { Place } from "./places.ts";
import type { StoredName } from "./stored-name.ts";

// Members of rows of names, by the rules of docs/names.md.

/** The date of what never ends: the greatest that contracts store. */
export const noExpiry = "18446744073709551615";

/**
 * SQL of a condition on what is derived: the planner takes it for rare, and would read and sort all rows where the first ones of an
 * index are enough.
 */
export const hideFromPlanner = (filter: string) => `CASE WHEN ${filter} THEN true ELSE false END`;

/** The members of a row that are known; the others are left out. */
export function omitUndefined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const known: Partial<T> = {};
  for (const name in members) if (members[name] !== undefined) known[name] = members[name];
  return known as never;
}

/** What every row of a name begins with. */
export function identity(row: StoredName, { namespace }: Place) {
  return { name: row.name, display_name: displayName(row.name), namespace, namehash: row.node };
}

/** Deadlines: expiry and end of grace in Unix seconds, at most 2^63 - 1, or null with the reason. Nothing for a name without dates. */
export function deadlines({ expires, graceEnds, status }: StoredName) {
  if (expires === null)
    return status === "released"
      ? { expires_at: null, grace_ends_at: null, expires_at_reason: "released" as const }
      : {};
  const reason = noDates[expires];
  if (reason !== undefined) return { expires_at: null, grace_ends_at: null, expires_at_reason: reason };
  return { expires_at: upToMost(expires), grace_ends_at: upToMost(graceEnds) };
}

// The format has dates of 63 bits.
const mostSeconds = 9_223_372_036_854_775_807n;
const upToMost = <T extends string | null>(date: T) =>
  date !== null && BigInt(date) > mostSeconds ? String(mostSeconds) : date;

const fuseNames = [
  "cannot_unwrap",
  "cannot_burn_fuses",
  "cannot_transfer",
  "cannot_set_resolver",
  "cannot_set_ttl",
  "cannot_create_subdomain",
  "cannot_approve",
] as const;

const noDates: Readonly<Record<string, "not_set" | "no_expiry">> = {
  "0": "not_set",
  [noExpiry]: "no_expiry",
};

function wrapperDates(expires: string) {
  const reason = noDates[expires];
  return reason === undefined
    ? { wrapper_expires_at: expires }
    : { wrapper_expires_at: null, wrapper_expires_at_reason: reason };
}

function wrapperFacts(row: StoredName) {
  if (!row.isWrapped || row.fuses === null || row.wrapperExpires === null)
    return row.wasWrapped ? { wrapper_state: "unwrapped" as const } : {};
  const isOver = BigInt(row.wrapperExpires) < BigInt(row.now);
  const fuses = isOver ? 0 : row.fuses >>> 0;
  const has = (bit: number) => (fuses & bit) !== 0;
  const dates = wrapperDates(row.wrapperExpires);
  if (row.isLapsed) return { wrapper_state: "lapsed" as const, ...dates };
  const state = has(parentCannotControl) ? (has(cannotUnwrap) ? "locked" : "emancipated") : "wrapped";
  return {
    wrapper_state: state as "locked" | "emancipated" | "wrapped",
    wrapper_fuses: {
      fuses,
      ...(Object.fromEntries(fuseNames.map((name, bit) => [name, has(1 << bit)])) as Record<
        (typeof fuseNames)[number],
        boolean
      >),
      parent_cannot_control: has(parentCannotControl),
      is_dot_eth: has(isDotEth),
      can_extend_expiry: has(1 << 18),
    },
    ...dates,
  };
}

/** Generation of the registry and what the wrapper holds: under `ens_v1` on the root chain, under `wrapper` on others that have one. */
export function authority(row: StoredName, place: Place) {
  if (!place.isRoot) return place.nameWrapper === undefined ? {} : omitUndefined({ wrapper: wrapperOf(row) });
  if (row.v2?.isInForce) return { authority: "ens_v2" as const };
  if (!row.isOwned && row.status === "unregistered") return {};
  const { expires_at = null } = deadlines(row);
  const ens_v1 = { expires_at, resolver: resolverOf(row, place) ?? null, ...wrapperFacts(row) };
  return { authority: row.isMigrated ? ("ens_v1" as const) : ("ens_v0" as const), ens_v1 };
}

function wrapperOf(row: StoredName) {
  const found = wrapperFacts(row);
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The resolver of a name, by its chain and address; undefined if it has none. */
export function resolverOf({ resolver }: StoredName, { chainId }: Place) {
  return resolver === null || resolver === zeroAddress ? undefined : { chain_id: chainId, address: resolver };
}

/** The end of a lease that was not renewed: who held it, through what, and since when anybody can register the name. */
export function lapsedRegistration(row: StoredName) {
  if (row.v2?.isInForce) return lapsedEntry(row, row.v2);
  if (row.status !== "released" || row.graceEnds === null) return {};
  const isOfWrapper = row.isLease ? row.isHeldThroughWrapper : row.isWrapped;
  // A lease without a grace period ends at its expiry; grace periods and entries of the wrapper hold in their last second.
  const isOverAtEnd = row.isLease && row.graceEnds === row.expires;
  return {
    lapsed_registration: omitUndefined({
      owner: row.holder ?? undefined,
      held_through: isOfWrapper ? ("wrapper" as const) : ("registrar" as const),
      released_at: String(BigInt(row.graceEnds) + (isOverAtEnd ? 0n : 1n)),
      release_kind: "expired" as const,
    }),
  };
}

// An entry of ENSv2 has no owner from its expiry on, and is free from the end of its grace period on.
function lapsedEntry({ status, graceEnds }: StoredName, { holder }: NonNullable<StoredName["v2"]>) {
  const isReleased = status === "released";
  if (holder === null || !(isReleased || status === "expired")) return {};
  return {
    lapsed_registration: omitUndefined({
      owner: holder,
      held_through: "registry" as const,
      released_at: isReleased ? (graceEnds ?? undefined) : undefined,
      release_kind: "expired" as const,
    }),
  };
}

/** What only ENSv2 tells of a name: the generation in force, a reservation, when the name was brought over. */
export const generation = ({ v2 }: StoredName) =>
  v2
    ? omitUndefined({
        version: v2.version ?? undefined,
        reserved: v2.isReserved || undefined,
        migrated_at: v2.migrated ?? undefined,
      })
    : {};

/** Handle of the registration: chain, node, and when it began. Undefined for names that only a registry holds. */
export function registrationId(
  { node, since, isLease, isWrapped }: StoredName,
  { chainId }: Place,
): string | undefined {
  if (isLease) return `${chainId}-${node}-${since}`;
  return isWrapped ? `${chainId}-${node}-wrapper` : undefined;
}

/** The id of the token that the registrar issued; undefined for names without one. */
export function tokenId({ isLease, isManaged, labelhash, node, v2 }: StoredName): string | undefined {
  if (v2?.isInForce) return v2.token === null ? undefined : BigInt(v2.token).toString();
  if (!isLease) return undefined;
  return BigInt((isManaged ? labelhash : node) ?? rootNode).toString();
}

const isPlain = /^[a-z0-9.[\]-]*$/;

/** The name as it is shown to people: with the presentation forms of its emoji. */
function displayName(name: string): string {
  if (isPlain.test(name)) return name;
  try {
    return ens_beautify(name);
  } catch {
    return name; // A label is unknown.
  }
}
