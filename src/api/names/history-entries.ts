import { createHash } from "node:crypto";
import { z } from "zod/v4";
import { namehash } from "../../ens/names.ts";
import { reverseName } from "../../ens/reverse-names.ts";
import { addressSchema, hashSchema } from "../rest/values.ts";
import { dataOf, dataSchema, type StoredEntry } from "./history-data.ts";
import {
  entryType,
  eventKinds,
  historyTypes,
  isEntryEvent,
  registrarEvents,
  registryEvents,
  reverseRegistrarEvent,
  wrapperEvents,
} from "./history-kinds.ts";
import { isSubregistry, type Place } from "./places.ts";

// Entries of histories as responses have them.

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
  data: dataSchema.optional(),
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
          data: dataOf(type, { ...entry, node }, place),
        }
      : {}),
  };
}

// Names of reverse registrars follow from the account.
function subjectOf({ node, name, holder, coin }: StoredEntry) {
  if (node !== null || holder === null || coin === null) return { node, name };
  const reverse = reverseName({ address: holder, coinType: BigInt(coin) });
  return { node: namehash(reverse), name: reverse };
}

// An id begins with its chain, except in subgraph mode, which has the root chain alone.
function placeOfEntry(entry: StoredEntry, places: readonly Place[]) {
  const { id, type, block } = entry;
  const parts = id.replace("release-", "").split("-");
  const isPrefixed = block === null ? parts.length > 2 : parts[1] === String(block);
  const chainId = isPrefixed ? Number(parts[0]) : (places[0]?.chainId ?? 0);
  const onChain = places.filter((place) => place.chainId === chainId);
  if (type === reverseRegistrarEvent) {
    const namespace = onChain.find(isSubregistry)?.namespace ?? "ens";
    return { chainId, namespace, contract: places[0]?.reverseRegistrars.get(chainId) };
  }
  const found = onChain.find(({ namespace }) => namespace === entry.namespace) ?? onChain[0];
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
  if (isEntryEvent(type)) return key ?? undefined;
  if (wrapperEvents.includes(type)) return nameWrapper;
  if (registrarEvents.includes(type)) return registrar;
  if (registryEvents.includes(type)) return old ? oldRegistry : registry;
  return resolver ?? undefined;
}
