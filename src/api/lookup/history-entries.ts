import { createHash } from "node:crypto";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { nodeOfName } from "../../ens/names.ts";
import { reverseName } from "../../ens/reverse-names.ts";
import { addressSchema, hashSchema } from "../rest/values.ts";
import {
  entryType,
  eventKinds,
  type HistoryType,
  historyTypes,
  isEntryEvent,
  registrarEvents,
  registryEvents,
  reverseRegistrarEvent,
  wrapperEvents,
} from "./history-kinds.ts";
import type { Place } from "./places.ts";

// Entries of histories as responses have them.

/**
 * An entry as the statement gives it. `since`: the start of the registration that it belongs to; `old`: whether the older of two registries
 * emitted it; without `node` one of a reverse registrar.
 */
export type StoredEntry = {
  id: string;
  type: string;
  timestamp: number | null;
  block: number | null;
  log: number | null;
  transaction: string | null;
  node: string | null;
  name: string | null;
  holder: string | null;
  resolver: string | null;
  key: string | null;
  value: string | null;
  fuses: number | null;
  expiry: string | null;
  coin: string | null;
  old: boolean | null;
  since: number | null;
  after: string[];
};

export const entrySchema = z.strictObject({
  id: z.string().length(64),
  type: z.enum(historyTypes),
  name: z.string().optional(),
  namehash: hashSchema,
  namespace: z.string(),
  chain_id: z.int(),
  registration_id: z.string().nullable(),
  block_number: z.int().nullable(),
  timestamp: z.string().nullable(),
  transaction_hash: z.string().nullable(),
  log_index: z.int().nullable(),
  kind: z.enum(eventKinds as [string, ...string[]]).optional(),
  contract_address: addressSchema.nullable().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
});

/** Which further members entries have. */
export type EntryMembers = { hasData: boolean; hasKind: boolean };

/** An entry of a history as responses have it. */
export function entryOf(
  entry: StoredEntry,
  places: readonly Place[],
  { hasData, hasKind }: EntryMembers,
): z.output<typeof entrySchema> {
  const type = entryType(entry.type);
  const place = placeOfEntry(entry, places);
  const { name, node } = subjectOf(entry);
  return {
    id: createHash("sha256").update(`${entry.type}:${entry.id}`).digest("hex"),
    type,
    ...(name ? { name } : {}),
    namehash: node as z.output<typeof hashSchema>,
    namespace: place.namespace,
    chain_id: place.chainId,
    registration_id: registrationOf(entry, place.chainId),
    block_number: entry.block,
    timestamp: entry.timestamp === null ? null : String(entry.timestamp),
    transaction_hash: entry.transaction,
    log_index: entry.log,
    ...(hasKind ? { kind: entry.type } : {}),
    ...(hasData
      ? {
          contract_address: (place.contract ?? null) as z.output<typeof addressSchema> | null,
          data: dataOf(type, entry),
        }
      : {}),
  };
}

// Names of reverse registrars follow from the account.
function subjectOf({ node, name, holder, coin }: StoredEntry) {
  if (node !== null || holder === null || coin === null) return { node, name };
  const reverse = reverseName({ address: holder as Hex, coinType: BigInt(coin) });
  return { node: nodeOfName(reverse), name: reverse };
}

// An id begins with its chain, except in subgraph mode, which has the root chain alone.
function placeOfEntry(entry: StoredEntry, places: readonly Place[]) {
  const { id, type, block, name } = entry;
  const parts = id.replace("release-", "").split("-");
  const isPrefixed = block === null ? parts.length > 2 : parts[1] === String(block);
  const chainId = isPrefixed ? Number(parts[0]) : (places[0]?.chainId ?? 0);
  const onChain = places.filter((place) => place.chainId === chainId);
  if (type === reverseRegistrarEvent) {
    const namespace = onChain.find(({ suffix }) => suffix !== undefined)?.namespace ?? "ens";
    return { chainId, namespace, contract: places[0]?.reverseRegistrars.get(chainId) };
  }
  const found =
    onChain.find(({ suffix }) => suffix !== undefined && name?.endsWith(suffix)) ??
    onChain.find(({ suffix }) => suffix === undefined) ??
    onChain[0];
  return { chainId, namespace: found?.namespace ?? "ens", contract: found && contractOf(entry, found) };
}

function registrationOf({ type, node, since }: StoredEntry, chainId: number): string | null {
  if (since !== null) return `${chainId}-${node}-${since}`;
  return wrapperEvents.includes(type) ? `${chainId}-${node}-wrapper` : null;
}

function contractOf(
  { type, resolver, key, old }: StoredEntry,
  { nameWrapper, registrar, registry, oldRegistry }: Place,
) {
  if (isEntryEvent(type)) return key;
  if (wrapperEvents.includes(type)) return nameWrapper;
  if (registrarEvents.includes(type)) return registrar;
  if (registryEvents.includes(type)) return old ? oldRegistry : registry;
  return resolver;
}

const given = (members: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

function dataOf(
  type: HistoryType,
  { type: event, holder, resolver, key, value, fuses, expiry, coin }: StoredEntry,
) {
  const kind = { event };
  const unsigned = fuses === null ? null : fuses >>> 0;
  if (isEntryEvent(event) && type === "permission") return given({ ...kind, address: holder, roles: value });
  switch (type) {
    case "registration":
    case "migration":
      return given({ ...kind, registrant: holder, expires_at: expiry });
    case "subregistry":
      return given({ ...kind, subregistry: value });
    case "renewal":
    case "reservation":
    case "release":
      return given({ ...kind, expires_at: expiry });
    case "expiry":
      return given({ ...kind, expires_at: expiry, fuses: unsigned });
    case "transfer":
      return given({ ...kind, to: holder });
    case "authority":
      return given({ ...kind, owner: holder, fuses: unsigned });
    case "permission":
      return given({ ...kind, fuses: unsigned });
    case "resolver":
      return given({ ...kind, resolver });
    case "primary_name":
      return given({
        ...kind,
        address: holder,
        coin_type: Number(coin ?? "60"),
        name: key || null,
        name_status: key ? "set" : "cleared",
        resolver,
      });
    case "record":
      return given({
        ...kind,
        key: recordKey(event, key, coin),
        value: event === "NameChanged" ? key : value,
        coin_type: coin === null ? null : Number(coin),
        resolver,
      });
  }
}

function recordKey(event: string, key: string | null, coin: string | null): string | undefined {
  if (event === "TextChanged") return `text:${key ?? ""}`;
  if (event === "ContenthashChanged") return "contenthash";
  if (event === "NameChanged") return "name";
  if (event === "AbiChanged") return `abi:${key}`;
  if (event === "AddrChanged" || event === "MulticoinAddrChanged") return `addr:${coin ?? "60"}`;
  return undefined;
}
