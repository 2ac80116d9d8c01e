import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import type { KnownContracts } from "../resolution/known-contracts.ts";
import { addressSchema, hashSchema } from "../rest/values.ts";
import { addressRecordOf, defaultAddressOf, groupedRecords, recordsSchema } from "./name-records.ts";
import {
  authority,
  deadlines,
  generation,
  identity,
  lapsedRegistration,
  omitUndefined,
  registrationId,
  resolverOf,
  tokenId,
} from "./name-rows.ts";
import type { FoundName, Listed } from "./names-query.ts";
import { type Place, placeOfRow } from "./places.ts";
import type { StoredName } from "./stored-name.ts";

const seconds = z.string().regex(/^\d+$/);
const fuse = z.boolean();
const located = z.strictObject({ chain_id: z.int(), address: addressSchema });

const wrapperShape = {
  wrapper_state: z.enum(["wrapped", "emancipated", "locked", "lapsed", "unwrapped"]).optional(),
  wrapper_fuses: z
    .strictObject({
      fuses: z.int(),
      cannot_unwrap: fuse,
      cannot_burn_fuses: fuse,
      cannot_transfer: fuse,
      cannot_set_resolver: fuse,
      cannot_set_ttl: fuse,
      cannot_create_subdomain: fuse,
      cannot_approve: fuse,
      parent_cannot_control: fuse,
      is_dot_eth: fuse,
      can_extend_expiry: fuse,
    })
    .optional(),
  wrapper_expires_at: seconds.nullable().optional(),
  wrapper_expires_at_reason: z.enum(["no_expiry", "not_set"]).optional(),
};

const resolutionSchema = z.strictObject({ coin_type: z.int(), record_key: z.string() });

/** A row of any kind: which members each kind has, docs/lookup.md lists. */
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
  labelhash: hashSchema.optional(),
  chain_id: z.int().optional(),
  network: z.string().optional(),
  subname_count: z.int().optional(),
  record_count: z.int().optional(),
  is_primary: z.boolean().optional(),
  is_primary_verified: z.boolean().optional(),
  relations: z.array(z.enum(["owner", "manager", "resolves_to", "former_owner"])).optional(),
  resolution: resolutionSchema.optional(),
  resolutions: z.array(resolutionSchema).optional(),
  expires_window_index: z.int().optional(),
  grace_ends_window_index: z.int().optional(),
});

/** A row as responses have it. */
export type Row = z.output<typeof rowSchema>;

type Places = readonly Place[];

const lifecycle = (row: StoredName) => ({
  status: row.status,
  ...(row.status === "expired" ? { in_grace: true } : {}),
  ...deadlines(row),
});

const holders = (row: StoredName) =>
  omitUndefined({
    owner: row.owner ?? undefined,
    manager: row.manager ?? undefined,
    registered_at: row.since ?? undefined,
    created_at: row.created,
  });

/** The row of a list: search, deadlines. */
export function listRow(places: Places, row: StoredName): Row {
  const place = placeOfRow(places, row);
  return {
    ...identity(row, place),
    ...holders(row),
    ...lifecycle(row),
    ...authority(row, place),
    ...generation(row),
    ...lapsedRegistration(row),
  };
}

/** The row of a search: without the registration that has ended. */
export function searchRow(places: Places, row: StoredName): Row {
  const { lapsed_registration: _, ...rest } = listRow(places, row);
  return rest;
}

/** The row of a subname. */
export function subnameRow(places: Places, row: StoredName): Row {
  return { ...searchRow(places, row), ...omitUndefined({ labelhash: row.labelhash ?? undefined }) };
}

/** The row of one of an address's names. */
export function addressRow(places: Places, listed: Omit<Listed, "after">, known: KnownContracts): Row {
  const { row, relations } = listed;
  const handle = registrationId(row, placeOfRow(places, row));
  const more = omitUndefined({ permission_resource_id: handle, relations });
  return { ...listRow(places, row), ...more, ...primaryFacts(places, listed, known) };
}

/** Whether an address claims a name, and where the index knows all that the name's resolver returns, whether the name resolves to it. */
export function primaryFacts(
  places: Places,
  { row, isPrimary, forward }: Omit<Listed, "after">,
  known: KnownContracts,
): Pick<Row, "is_primary" | "is_primary_verified"> {
  if (!isPrimary || row.v2?.isInForce) return omitUndefined({ is_primary: isPrimary });
  const place = placeOfRow(places, row);
  const resolver = resolverOf(row, place);
  const fixed = resolver && known.staticResolverOf(resolver.chain_id, resolver.address);
  // Names of other chains resolve through a gateway.
  if (!fixed || !place.isRoot || !forward) return { is_primary: true };
  const [own = null, general = null] = forward;
  return { is_primary: true, is_primary_verified: own ?? (fixed.hasDefaultAddress && general === true) };
}

/** The short row of a lookup: what a list of accounts shows. */
export function feedRow(places: Places, row: StoredName): Row {
  const place = placeOfRow(places, row);
  const { ens_v1, wrapper } = authority(row, place) as Pick<Row, "ens_v1" | "wrapper">;
  return {
    ...identity(row, place),
    read_status: "ok",
    ...lifecycle(row),
    ...lapsedRegistration(row),
    ...omitUndefined({ ens_v1, wrapper }),
    ...generation(row),
    chain_id: place.chainId,
    network: place.network,
  };
}

// Nobody holds it: what is still stored is the former holder's.
const isReleased = ({ status }: StoredName) => status === "released";

/** What is known of a name, but for its records. */
export function profileRow(places: Places, row: StoredName): Row {
  const place = placeOfRow(places, row);
  return {
    ...listRow(places, row),
    read_status: "ok",
    ...omitUndefined({
      registration_id: registrationId(row, place),
      token_id: tokenId(row),
      resolver: isReleased(row) ? undefined : resolverOf(row, place),
      registry_path: row.v2?.path ?? undefined,
      subregistry: row.v2?.subregistry ? { chain_id: place.chainId, address: row.v2.subregistry } : undefined,
    }),
    chain_id: place.chainId,
    network: place.network,
  };
}

/** All that is known of a name. */
export function detailRow(places: Places, found: FoundName, known: KnownContracts): Row {
  const { row, records } = found;
  const place = placeOfRow(places, row);
  const primary = addressRecordOf(found, "60", defaultAddressOf(places, found, known));
  // Of a name in ENSv2 whose resolver only the chain knows they are left out, and of one whose link to a resolver is not indexed.
  const isUnknown = row.v2?.isInForce ? records === null : !place.isRoot && place.linker === undefined;
  const profile = profileRow(places, row);
  if (isReleased(row)) return profile;
  return {
    ...profile,
    ...(isUnknown ? {} : { records: groupedRecords(records) }),
    ...(primary !== undefined && /^0x[0-9a-f]{40}$/.test(primary) && primary !== zeroAddress
      ? { primary_address: primary as Row["primary_address"] & string }
      : {}),
  };
}
