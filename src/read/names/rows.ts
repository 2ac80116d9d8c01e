import { ens_beautify } from "@adraffy/ens-normalize";
import { z } from "zod/v4";
import { describeRecords } from "../../ens/decoded-records.ts";
import { rootNode, zeroAddress } from "../../ens/ids.ts";
import { decodedRecordSchema, decodedRecordsSchema } from "../../ens/record-schemas.ts";
import { bytesValue } from "../../ens/record-values.ts";
import { cannotUnwrap, isDotEth, parentCannotControl } from "../../ens/registrations.ts";
import { defaultEvmCoinType, isEvmCoinType } from "../../ens/reverse-names.ts";
import { addressSchema, hashSchema, located } from "../../ens/schemas.ts";
import { roleSummarySchema } from "./grants.ts";
import { homeOfRow, type IndexedNamespace } from "./indexed-namespaces.ts";
import type { KnownContracts } from "./known-contracts.ts";
import { type Listed, noExpiry, type StoredName } from "./stored-name.ts";
import type { StoredRecords } from "./v2-records.ts";

/** The chain and address of the resolver that the registry of a name's generation has; undefined without one. */
export function readStoredResolver({ resolver }: StoredName, { chainId }: IndexedNamespace) {
  return resolver === undefined || resolver === zeroAddress
    ? undefined
    : { chain_id: chainId, address: resolver };
}

// That of the resolver that answers for a name.
const findResolver = (row: StoredName, home: IndexedNamespace) =>
  row.isUnresolvable ? undefined : readStoredResolver(row, home);

// The resolver that answers for a name, if its code is known to return what events tell.
const findStaticResolver = (
  namespaces: readonly IndexedNamespace[],
  row: StoredName,
  known: KnownContracts,
) => {
  const resolver = findResolver(row, homeOfRow(namespaces, row));
  return resolver && known.staticResolverOf(resolver.chain_id, resolver.address);
};

/** A name with its records, if requested; null if only the chain knows them. */
export type FoundName = { row: StoredName; records: StoredRecords | null };

/** The schema of a name's records. */
const recordsSchema = z.strictObject({
  seen_addresses: z.array(z.string()),
  addresses: z.record(z.string(), z.string().nullable()),
  seen_texts: z.array(z.string()),
  texts: z.record(z.string(), z.string().nullable()),
  seen_abis: z.array(z.string()).optional().describe("Content types"),
  seen_data: z
    .array(z.string())
    .optional()
    .describe("Keys of data records (ENSIP-24), whose values are only on chain"),
  abi_unsupported_reason: z.string().optional(),
  abis: z.record(z.string(), z.string()),
  seen_singletons: z.array(z.enum(["contenthash", "name"])),
  contenthash: z.string().nullable().optional(),
  name: z.string().nullable().optional(),
  decoded: decodedRecordsSchema.optional(),
});

/** The schema of what is known of one record. */
export const recordSchema = z.strictObject({
  status: z.enum(["ok", "not_found", "unsupported", "failed"]),
  value: z.string().optional(),
  decoded: decodedRecordSchema.optional(),
  meta: z
    .strictObject({
      basis: z.literal("derived"),
      rule: z.literal("ensip19_default_address"),
      source_record_key: z.string(),
    })
    .optional(),
  unsupported_reason: z.string().optional(),
  failure_reason: z.string().optional(),
});

/** What is known of one record. */
export type RecordAnswer = z.output<typeof recordSchema>;

/** Coin type of the address record that other EVM chains fall back to (ENSIP-19). */
export const defaultCoin = String(defaultEvmCoinType);

/** The address that a name's resolver returns for EVM coin types without their own record (ENSIP-19), if it does. */
export function findDefaultAddress(
  namespaces: readonly IndexedNamespace[],
  { row, records }: FoundName,
  known: KnownContracts,
) {
  // All resolvers of ENSv2 fall back to it.
  const hasDefault = row.v2?.isInForce || findStaticResolver(namespaces, row, known)?.hasDefaultAddress;
  return hasDefault ? findOwnValue(records?.set?.addresses, defaultCoin) : undefined;
}

/**
 * The address that a name's resolver returns for an EVM coin type: its own record, even one of zero bytes, else the
 * default one.
 */
function findAddressRecord({ records }: FoundName, coin: string, fallback: string | undefined) {
  const own = findOwnValue(records?.set?.addresses, coin) ?? (coin === "60" ? records?.addr : undefined);
  return own ?? fallback;
}

// Keys are user input, such as `constructor`.
const findOwnValue = (values: Readonly<Record<string, string>> | null | undefined, key: string) =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;

const byNumber = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1);

/** The keys of a row's records that the index knows of. */
export function listRecordKeys({ records }: NameRow): string[] {
  if (records === undefined) return [];
  const { seen_addresses, seen_texts, seen_data = [], seen_singletons } = records;
  return [
    ...seen_addresses.map((coin) => `addr:${coin}`),
    ...seen_texts.map((key) => `text:${key}`),
    ...seen_data.map((key) => `data:${key}`),
    ...seen_singletons,
  ];
}

/**
 * A name's records, in the form of rows. A seen key without a value was cleared; if values are not indexed, the map
 * lacks the key.
 */
function groupRecords(text: string, records: StoredRecords | null): z.output<typeof recordsSchema> {
  const { seenCoins, seenTexts, addr, hash, set } = records ?? {};
  const isKnown = records !== null && set !== undefined;
  const addresses: Record<string, string> = isKnown ? { ...set?.addresses } : addr ? { 60: addr } : {};
  const texts: Record<string, string> = isKnown ? { ...set?.texts } : {};
  const coins = [...new Set([...(seenCoins ?? []), ...Object.keys(addresses)])].sort(byNumber);
  const keys = [...new Set([...(seenTexts ?? []), ...Object.keys(texts)])].sort();
  const dataKeys = Object.keys(set?.dataHashes ?? {}).sort();
  const valued = (all: string[], values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      (isKnown ? all : Object.keys(values)).map((key) => [key, toHeldValue(findOwnValue(values, key))]),
    );
  const contenthash = set ? set.contenthash : ((hash && bytesValue(hash)) ?? null);
  // If values are not indexed, the name is unknown.
  const name = isKnown || records === null ? (set?.name ?? null) : undefined;
  const singletons = [
    // Clearing a contenthash emits empty bytes.
    ...(contenthash === null && !hash ? [] : ["contenthash" as const]),
    ...(name ? ["name" as const] : []),
  ];
  const values = { addresses: valued(coins, addresses), texts: valued(keys, texts) };
  return {
    seen_addresses: coins,
    addresses: values.addresses,
    seen_texts: keys,
    texts: values.texts,
    // Clients copy what was seen, and ask the chain where nothing tells.
    ...(records !== null && set === undefined
      ? { abi_unsupported_reason: "abi_observations_not_supported" }
      : {
          seen_abis: [...(set?.abis ?? [])].sort(byNumber),
          ...(dataKeys.length > 0 ? { seen_data: dataKeys } : {}),
        }),
    abis: {},
    seen_singletons: singletons,
    contenthash,
    name,
    ...describeRecords(text, { ...values, contenthash }),
  };
}

// Twenty zero bytes count as cleared.
const toHeldValue = (value: string | undefined) =>
  value === undefined || value === zeroAddress ? null : value;

/** Whether a key is that of an address record. */
export const isAddressKey = (key: string) => key.startsWith("addr:");
/** Whether a key is that of a text record; `avatar` is one. */
export const isTextRecordKey = (key: string) => key === "avatar" || key.startsWith("text:");
/** The text record's own key, without `text:`. */
export const toTextKey = (key: string) => key.replace(/^text:/, "");
/** Whether a key is that of a data record. */
export const isDataKey = (key: string) => key.startsWith("data:");
/** The data record's own key, without `data:`. */
export const toDataKey = (key: string) => key.slice("data:".length);

/**
 * Whether a name's resolver returns only what its events tell. A name without one may use that of a name above
 * (ENSIP-10).
 */
export function isReadFromEvents(
  { namespaces, known }: { namespaces: readonly IndexedNamespace[]; known: KnownContracts },
  { row, records }: FoundName,
): boolean {
  if (row.v2?.isInForce) return records !== null;
  if (row.isUnresolvable) return true;
  return findStaticResolver(namespaces, row, known) !== undefined;
}

/**
 * What a name's row tells of a record, by its key (`addr:60`, `text:url`, `avatar`, `data:abc`, `contenthash`, `name`).
 */
export function findRecord(
  {
    records,
    status,
    unresolvable_reason,
  }: Pick<Partial<NameRow>, "records" | "status" | "unresolvable_reason">,
  key: string,
  { found, fallback }: { found: FoundName; fallback: string | undefined },
): RecordAnswer {
  if (unresolvable_reason !== undefined) return { status: "not_found" };
  // Nobody holds the name, or only the chain knows its resolver in ENSv2.
  if (records === undefined)
    return {
      status: "unsupported",
      unsupported_reason:
        status === "released" ? "inventory_not_available" : "indexed_record_inventory_not_authoritative",
    };
  if (key === "name" && records.name === undefined)
    return { status: "unsupported", unsupported_reason: "record_family_not_supported" };
  if (isDataKey(key))
    return records.seen_data?.includes(toDataKey(key))
      ? { status: "unsupported", unsupported_reason: "value_not_retained" }
      : { status: "not_found" };
  const isAddress = isAddressKey(key);
  const name = isAddress ? key.slice(5) : toTextKey(key);
  const [values, seen]: [Readonly<Record<string, string | null | undefined>>, readonly string[]] = isAddress
    ? [records.addresses, records.seen_addresses]
    : isTextRecordKey(key)
      ? [records.texts, records.seen_texts]
      : [{ contenthash: records.contenthash, name: records.name }, []];
  const value = new Map(Object.entries(values)).get(name);
  if (value) return { status: "ok", value };
  if (value === undefined && seen.includes(name))
    return { status: "unsupported", unsupported_reason: "value_not_retained" };
  const derived =
    isAddress && isEvmCoinType(BigInt(name)) ? findAddressRecord(found, name, fallback) : undefined;
  if (fallback === undefined || fallback === zeroAddress || derived !== fallback)
    return { status: "not_found" };
  const meta = {
    basis: "derived",
    rule: "ensip19_default_address",
    source_record_key: `addr:${defaultCoin}`,
  } as const;
  return { status: "ok", value: fallback, meta };
}

// Members of rows of names, by the rules of docs/names.md.

/** What identifies a name. */
export function identity({ name, node }: Pick<StoredName, "name" | "node">, { namespace }: IndexedNamespace) {
  return { name, display_name: displayName(name), namespace, namehash: node };
}

/**
 * Expiry and end of grace in Unix seconds, at most 2^63 - 1, or null with the reason. Nothing for a name without dates.
 */
function deriveDeadlines({ expires, graceEnds, status }: StoredName) {
  if (expires === undefined && status !== "released") return {};
  const reason = expires === undefined ? ("released" as const) : noDates[expires];
  if (reason !== undefined) return { expires_at: null, grace_ends_at: null, expires_at_reason: reason };
  return { expires_at: capDate(expires), grace_ends_at: capDate(graceEnds) };
}

// Dates in this format have 63 bits.
const maxSeconds = 9_223_372_036_854_775_807n;
const capDate = (date: string | undefined) =>
  date !== undefined && BigInt(date) > maxSeconds ? String(maxSeconds) : (date ?? null);

// Fuses of the name wrapper.
const fuseBits = {
  cannot_unwrap: cannotUnwrap,
  cannot_burn_fuses: 1 << 1,
  cannot_transfer: 1 << 2,
  cannot_set_resolver: 1 << 3,
  cannot_set_ttl: 1 << 4,
  cannot_create_subdomain: 1 << 5,
  cannot_approve: 1 << 6,
  parent_cannot_control: parentCannotControl,
  is_dot_eth: isDotEth,
  can_extend_expiry: 1 << 18,
} as const;
const mapFuses = <T>(value: (bit: number) => T) =>
  Object.fromEntries(Object.entries(fuseBits).map(([name, bit]) => [name, value(bit)])) as Record<
    keyof typeof fuseBits,
    T
  >;

/** Names of the fuses of the name wrapper that are burned in a bitmap, lowest first. */
export const fusesIn = (fuses: number): string[] =>
  Object.entries(fuseBits).flatMap(([name, bit]) => ((fuses & bit) !== 0 ? name : []));

const noDates: Readonly<Record<string, "not_set" | "no_expiry">> = {
  "0": "not_set",
  [noExpiry]: "no_expiry",
};

/** The name's state in the wrapper; `wrapper_fuses` only while the wrapper's entry is in force. */
export function wrapperFacts({
  isWrapped,
  wasWrapped,
  isLapsed,
  now,
  ...row
}: StoredName): NameRow["wrapper"] {
  if (!isWrapped || row.fuses === undefined || row.wrapperExpires === undefined)
    return wasWrapped ? { wrapper_state: "unwrapped" as const } : undefined;
  const reason = noDates[row.wrapperExpires];
  const dates = {
    wrapper_expires_at: reason === undefined ? row.wrapperExpires : null,
    wrapper_expires_at_reason: reason,
  };
  if (isLapsed) return { wrapper_state: "lapsed" as const, ...dates };
  const fuses = BigInt(row.wrapperExpires) < BigInt(now) ? 0 : row.fuses >>> 0;
  const has = (bit: number) => (fuses & bit) !== 0;
  const emancipated = has(cannotUnwrap) ? ("locked" as const) : ("emancipated" as const);
  return {
    wrapper_state: has(parentCannotControl) ? emancipated : ("wrapped" as const),
    wrapper_fuses: { fuses, ...mapFuses(has) },
    ...dates,
  };
}

/**
 * The registry's generation and the wrapper's state: under `ens_v1` on the root chain, under `wrapper` on other chains
 * with a wrapper.
 */
function deriveAuthority(
  row: StoredName,
  home: IndexedNamespace,
): Pick<NameRow, "authority" | "ens_v1" | "wrapper"> {
  if (!home.isRoot) return { wrapper: home.nameWrapper && wrapperFacts(row) };
  if (row.v2?.isInForce) return { authority: "ens_v2" };
  if (!row.isOwned && row.status === "unregistered") return {};
  const { expires_at = null } = deriveDeadlines(row);
  const ens_v1 = { expires_at, resolver: readStoredResolver(row, home) ?? null, ...wrapperFacts(row) };
  return { authority: row.isMigrated ? "ens_v1" : "ens_v0", ens_v1 };
}

/**
 * The registration that was not renewed: its last holder, through what, and since when anybody can register the name.
 */
function findLapsedRegistration(row: StoredName): NameRow["lapsed_registration"] {
  if (row.v2?.isInForce) return findLapsedEntry(row, row.v2);
  if (row.status !== "released" || row.graceEnds === undefined) return undefined;
  const isOfWrapper = row.isLease ? row.isHeldThroughWrapper : row.isWrapped;
  // A lease without a grace period ends at its expiry; grace periods and wrapper entries include their last second.
  const isOverAtEnd = row.isLease && row.graceEnds === row.expires;
  return {
    owner: row.holder,
    held_through: isOfWrapper ? "wrapper" : "registrar",
    released_at: String(BigInt(row.graceEnds) + (isOverAtEnd ? 0n : 1n)),
    release_kind: "expired",
  };
}

// An ENSv2 entry has no owner from its expiry on, and is free from the end of its grace period on.
function findLapsedEntry(
  { status, graceEnds }: StoredName,
  { holder }: NonNullable<StoredName["v2"]>,
): NameRow["lapsed_registration"] {
  const isReleased = status === "released";
  if (holder === null || !(isReleased || status === "expired")) return undefined;
  const released_at = isReleased ? graceEnds : undefined;
  return { owner: holder, held_through: "registry", released_at, release_kind: "expired" };
}

/** What only ENSv2 tells: the generation in force, a reservation, the time of the migration. */
const describeGeneration = ({ v2 }: StoredName) => ({
  version: v2?.version ?? undefined,
  reserved: v2?.isReserved || undefined,
  migrated_at: v2?.migrated ?? undefined,
});

/** Id of the registration: chain, node, and its start or what holds it. Undefined for names that nobody holds. */
export function registrationId(
  { node, since, isLease, isWrapped, status }: StoredName,
  { chainId }: IndexedNamespace,
): string | undefined {
  if (isLease) return `${chainId}-${node}-${since}`;
  if (isWrapped) return `${chainId}-${node}-wrapper`;
  return status === "unregistered" ? undefined : `${chainId}-${node}-registry`;
}

/** Id of the token that the registrar or the ENSv2 registry issued; undefined for names without one. */
function findTokenId({ isLease, isManaged, labelhash, node, v2 }: StoredName): string | undefined {
  if (v2?.isInForce) return v2.token === null ? undefined : BigInt(v2.token).toString();
  if (!isLease) return undefined;
  return BigInt((isManaged ? labelhash : node) ?? rootNode).toString();
}

const isPlain = /^[a-z0-9.[\]-]*$/;

function displayName(name: string): string {
  if (isPlain.test(name)) return name;
  try {
    return ens_beautify(name);
  } catch {
    return name; // A label is unknown.
  }
}

const seconds = z.string().regex(/^\d+$/);

/** Members of the wrapper's state of a name. */
export const wrapperShape = {
  wrapper_state: z.enum(["wrapped", "emancipated", "locked", "lapsed", "unwrapped"]).optional(),
  wrapper_fuses: z.strictObject({ fuses: z.int(), ...mapFuses(() => z.boolean()) }).optional(),
  wrapper_expires_at: seconds.nullable().optional(),
  wrapper_expires_at_reason: z.enum(["no_expiry", "not_set"]).optional(),
};

/**
 * What binds a registration whoever holds it: fuses of the wrapper, or roles of ENSv2 that nobody can give or take any
 * more.
 */
export const restrictionsSchema = z.union([
  z.strictObject({
    kind: z.literal("ens_v1_wrapper"),
    registration_id: z.string(),
    ...wrapperShape,
  }),
  z.strictObject({
    kind: z.literal("ens_v2_registry"),
    registration_id: z.string(),
    locked_roles: z.array(z.enum(["unregister", "renew", "set_subregistry", "set_resolver", "transfer"])),
  }),
]);

const resolutionSchema = z.strictObject({ coin_type: z.int(), record_key: z.string() });

/** A row of any kind; docs/lookup.md lists the members of each kind. */
export const rowSchema = z.strictObject({
  name: z.string(),
  display_name: z.string(),
  namespace: z.string(),
  namehash: hashSchema,
  read_status: z.enum(["ok"]).optional(),
  status: z.enum(["active", "expired", "released", "unregistered"]).optional(),
  in_grace: z.boolean().optional(),
  owner: addressSchema.optional(),
  manager: addressSchema.optional(),
  registered_at: seconds.optional(),
  created_at: seconds.optional(),
  expires_at: seconds.nullable().optional(),
  grace_ends_at: seconds.nullable().optional(),
  expires_at_reason: z.enum(["no_expiry", "not_set", "released"]).optional(),
  authority: z.enum(["ens_v0", "ens_v1", "ens_v2"]).optional(),
  ens_v1: z
    .strictObject({ expires_at: seconds.nullable(), resolver: located.nullable(), ...wrapperShape })
    .optional(),
  wrapper: z.strictObject(wrapperShape).optional(),
  version: z.enum(["v1", "v2"]).optional(),
  reserved: z.boolean().optional(),
  migrated_at: seconds.optional(),
  registry_path: z.array(addressSchema).optional(),
  subregistry: located.optional(),
  lapsed_registration: z
    .strictObject({
      owner: addressSchema.optional(),
      held_through: z.enum(["registrar", "wrapper", "registry"]).optional(),
      released_at: seconds.optional(),
      release_kind: z.enum(["expired", "unregistered"]).optional(),
    })
    .optional(),
  registration_id: z.string().optional(),
  permission_resource_id: z.string().optional(),
  token_id: z.string().optional(),
  resolver: located.optional(),
  records: recordsSchema.optional(),
  primary_address: addressSchema.optional(),
  unresolvable_reason: z.enum(["no_live_ens_v2_entry", "ens_v2_path_no_resolver"]).optional(),
  labelhash: hashSchema.optional(),
  chain_id: z.int().optional(),
  network: z.string().optional(),
  subname_count: z.int().optional(),
  record_count: z.int().optional(),
  role_holder_count: z.int().optional().describe("Of a label of a registry"),
  is_primary: z.boolean().optional(),
  is_primary_verified: z.boolean().optional(),
  relations: z
    .array(z.enum(["owner", "manager", "role_holder", "resolves_to", "former_owner", "owned_account"]))
    .optional(),
  resolution: resolutionSchema.optional(),
  resolutions: z.array(resolutionSchema).optional(),
  role_summary: roleSummarySchema.optional(),
  restrictions: restrictionsSchema.optional(),
  expires_window_index: z.int().optional(),
  grace_ends_window_index: z.int().optional(),
});

/** A row as responses have it. */
export type NameRow = z.output<typeof rowSchema>;

type IndexedNamespaces = readonly IndexedNamespace[];

const describeLifecycle = (row: StoredName) => ({
  status: row.status,
  in_grace: row.status === "expired" || undefined,
  ...deriveDeadlines(row),
});

/** The row of a list: deadlines, and what other rows begin with. */
export function listRow(namespaces: IndexedNamespaces, row: StoredName): NameRow {
  const home = homeOfRow(namespaces, row);
  return {
    ...identity(row, home),
    owner: row.owner,
    manager: row.manager,
    registered_at: row.registered,
    created_at: row.created,
    ...describeLifecycle(row),
    ...deriveAuthority(row, home),
    ...describeGeneration(row),
    lapsed_registration: findLapsedRegistration(row),
  };
}

/** The row of a search: without the registration that has ended. */
export const searchRow = (namespaces: IndexedNamespaces, row: StoredName): NameRow => ({
  ...listRow(namespaces, row),
  lapsed_registration: undefined,
});

/** The row of a label below a name or in a registry: that of a search, and where its own subnames are. */
export const labelRow = (namespaces: IndexedNamespaces, row: StoredName): NameRow => ({
  ...searchRow(namespaces, row),
  labelhash: row.labelhash,
  subregistry: findSubregistry(row, homeOfRow(namespaces, row)),
});

/** The row of one of an address's names. */
export const addressRow = (
  namespaces: IndexedNamespaces,
  listed: Omit<Listed, "after">,
  known: KnownContracts,
): NameRow => ({
  ...listRow(namespaces, listed.row),
  permission_resource_id: registrationId(listed.row, homeOfRow(namespaces, listed.row)),
  relations: listed.relations,
  ...primaryFacts(namespaces, listed, known),
});

/**
 * Whether an address claims a name, and, if the index knows all that the name's resolver returns, whether it resolves
 * to the address.
 */
export function primaryFacts(
  namespaces: IndexedNamespaces,
  { row, isPrimary, forward }: Omit<Listed, "after">,
  known: KnownContracts,
): Pick<NameRow, "is_primary" | "is_primary_verified"> {
  if (!isPrimary || row.v2?.isInForce) return { is_primary: isPrimary };
  const fixed = findStaticResolver(namespaces, row, known);
  // Names of other chains resolve through a gateway.
  if (!fixed || !homeOfRow(namespaces, row).isRoot || !forward) return { is_primary: true };
  const [own = null, general = null] = forward;
  return { is_primary: true, is_primary_verified: own ?? (fixed.hasDefaultAddress && general === true) };
}

// The registry that has the subnames of a name of ENSv2; undefined without one.
const findSubregistry = ({ v2 }: StoredName, { chainId }: IndexedNamespace): NameRow["subregistry"] =>
  v2?.subregistry ? { chain_id: chainId, address: v2.subregistry } : undefined;

/** The short row of a lookup, for lists of accounts. */
export function feedRow(namespaces: IndexedNamespaces, row: StoredName): NameRow {
  const home = homeOfRow(namespaces, row);
  const { ens_v1, wrapper } = deriveAuthority(row, home);
  return {
    ...identity(row, home),
    read_status: "ok",
    ...describeLifecycle(row),
    lapsed_registration: findLapsedRegistration(row),
    ...{ ens_v1, wrapper },
    subregistry: findSubregistry(row, home),
    ...describeGeneration(row),
    chain_id: home.chainId,
    network: home.network,
  };
}

// Why the Universal Resolver of ENSv2 answers nothing for a name of ENSv1: nothing reserves it there, or without a
// resolver.
const findUnresolvableReason = ({ isUnresolvable, v2 }: StoredName): NameRow["unresolvable_reason"] =>
  isUnresolvable && (v2?.isReserved ? "ens_v2_path_no_resolver" : "no_live_ens_v2_entry");

// Nobody holds the name: what is still stored is the former holder's.
const isReleased = ({ status }: StoredName) => status === "released";

/** All that is known of a name but its records. */
export function profileRow(namespaces: IndexedNamespaces, row: StoredName): NameRow {
  const home = homeOfRow(namespaces, row);
  return {
    ...listRow(namespaces, row),
    read_status: "ok",
    registration_id: registrationId(row, home),
    token_id: findTokenId(row),
    resolver: isReleased(row) ? undefined : findResolver(row, home),
    unresolvable_reason: findUnresolvableReason(row),
    registry_path: row.v2?.path ?? undefined,
    subregistry: findSubregistry(row, home),
    chain_id: home.chainId,
    network: home.network,
  };
}

/** All that is known of a name. */
export function detailRow(namespaces: IndexedNamespaces, found: FoundName, known: KnownContracts): NameRow {
  const { row, records } = found;
  const home = homeOfRow(namespaces, row);
  const profile = profileRow(namespaces, row);
  if (isReleased(row) || row.isUnresolvable) return profile;
  const primary = findAddressRecord(found, "60", findDefaultAddress(namespaces, found, known)) ?? "";
  const isAddress = /^0x[0-9a-f]{40}$/.test(primary) && primary !== zeroAddress;
  // Unknown if only the chain knows the resolver in ENSv2, or if links to resolvers are not indexed.
  const isUnknown = row.v2?.isInForce ? records === null : !home.isRoot && home.linker === undefined;
  return {
    ...profile,
    records: isUnknown ? undefined : groupRecords(row.name, records),
    primary_address: isAddress ? primary : undefined,
  };
}
