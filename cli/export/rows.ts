import { namesJoins } from "../../src/api/database/names.ts";
import { entriesOfKindSql, entryOf, eventKinds, type StoredEntry } from "../../src/api/names/history.ts";
import {
  allNames,
  nameText,
  objectText,
  partsOfNames,
  resolverOf,
  type StoredName,
} from "../../src/api/names/names.ts";
import { type Place, placeOfRow } from "../../src/api/names/places.ts";
import { listRow, registrationId, tokenId } from "../../src/api/names/rows.ts";

/** What can be exported. */
export const subjects = ["names", "registrations", "events"] as const;
export type Subject = (typeof subjects)[number];

/** A value of a file's row; numbers of seconds are bigint. */
type Value = string | number | bigint | boolean | null;
export type FileRow = Readonly<Record<string, Value>>;

type ColumnType = "STRING" | "INT32" | "INT64" | "BOOLEAN";

/** The columns of a file, by their names, with their types in Parquet. */
export type Columns = Readonly<Record<string, ColumnType>>;

const nameColumns = {
  namehash: "STRING",
  name: "STRING",
  display_name: "STRING",
  label: "STRING",
  labelhash: "STRING",
  namespace: "STRING",
  chain_id: "INT32",
  network: "STRING",
  status: "STRING",
  in_grace: "BOOLEAN",
  owner: "STRING",
  manager: "STRING",
  resolver: "STRING",
  registered_at: "INT64",
  created_at: "INT64",
  expires_at: "INT64",
  grace_ends_at: "INT64",
  expires_at_reason: "STRING",
  authority: "STRING",
  wrapper_state: "STRING",
  registration_id: "STRING",
  token_id: "STRING",
} as const satisfies Columns;

const registrationColumns = {
  registration_id: "STRING",
  name: "STRING",
  label: "STRING",
  labelhash: "STRING",
  namehash: "STRING",
  namespace: "STRING",
  chain_id: "INT32",
  status: "STRING",
  owner: "STRING",
  registered_at: "INT64",
  expires_at: "INT64",
  grace_ends_at: "INT64",
  token_id: "STRING",
  cost: "STRING",
} as const satisfies Columns;

const eventColumns = {
  id: "STRING",
  type: "STRING",
  kind: "STRING",
  name: "STRING",
  namehash: "STRING",
  namespace: "STRING",
  chain_id: "INT32",
  registration_id: "STRING",
  block_number: "INT32",
  timestamp: "INT64",
  transaction_hash: "STRING",
  log_index: "INT32",
  contract_address: "STRING",
  data: "STRING",
} as const satisfies Columns;

// The largest number of seconds that 64 bits hold.
const longest = 2n ** 63n - 1n;
const seconds = (text: string | null | undefined) => {
  if (text === null || text === undefined) return null;
  const value = BigInt(text);
  return value > longest ? longest : value;
};

type Stored = { row: StoredName; label?: string; cost?: string };

const stored = (from: string, cost: string, places: readonly Place[]) =>
  `SELECT ${objectText(nameText, { label: "to_json(d.label_name)", cost })}::json AS found FROM ${from}${namesJoins(places)} WHERE d.name <> ''`;

function nameOf({ row, label }: Stored, places: readonly Place[]) {
  const place = placeOfRow(places, row);
  const shown = listRow(places, row);
  return {
    namehash: row.node,
    name: row.name,
    display_name: shown.display_name,
    label: label ?? null,
    labelhash: row.labelhash ?? null,
    namespace: place.namespace,
    chain_id: place.chainId,
    network: place.network,
    status: row.status,
    in_grace: shown.in_grace ?? false,
    owner: row.owner ?? null,
    manager: row.manager ?? null,
    resolver: resolverOf(row, place)?.address ?? null,
    registered_at: seconds(shown.registered_at),
    created_at: seconds(shown.created_at),
    expires_at: seconds(shown.expires_at),
    grace_ends_at: seconds(shown.grace_ends_at),
    expires_at_reason: shown.expires_at_reason ?? null,
    authority: shown.authority ?? null,
    wrapper_state: (shown.ens_v1 ?? shown.wrapper)?.wrapper_state ?? null,
    registration_id: registrationId(row, place) ?? null,
    token_id: tokenId(row) ?? null,
  } satisfies Record<keyof typeof nameColumns, Value>;
}

function registrationOf(found: Stored, places: readonly Place[]) {
  const { network: _, display_name: __, ...name } = nameOf(found, places);
  const all: FileRow = { ...name, cost: found.cost ?? null };
  return Object.fromEntries(Object.keys(registrationColumns).map((column) => [column, all[column] ?? null]));
}

function eventOf(entry: StoredEntry, places: readonly Place[]) {
  const shown = entryOf(entry, places, { hasData: true, hasKind: true });
  return {
    id: shown.id,
    type: shown.type,
    kind: entry.type,
    name: shown.name ?? null,
    namehash: shown.namehash,
    namespace: shown.namespace,
    chain_id: shown.chain_id,
    registration_id: shown.registration_id,
    block_number: shown.block_number,
    timestamp: seconds(shown.timestamp),
    transaction_hash: shown.transaction_hash,
    log_index: shown.log_index,
    contract_address: shown.contract_address ?? null,
    data: JSON.stringify(shown.data),
  } satisfies Record<keyof typeof eventColumns, Value>;
}

/** How a subject is read: its columns, its statements, one after the other, and the file's row of each of theirs. `$1`: times of the places. */
export type Source = {
  columns: Columns;
  statements: readonly string[];
  rowOf: (found: never, places: readonly Place[]) => FileRow;
};

/** How a subject is read at these places. */
export function sourceOf(what: Subject, places: readonly Place[]): Source {
  if (what === "names")
    return {
      columns: nameColumns,
      statements: [`${stored(allNames(places), "NULL", places)} ORDER BY d.id`],
      rowOf: nameOf,
    };
  if (what === "registrations")
    return {
      columns: registrationColumns,
      statements: [
        `${stored(`registration o JOIN ${partsOfNames(places)[0]} ON d.id = o.domain_id`, "to_json(o.cost::text)", places)} ORDER BY o.expiry_date, o.id`,
      ],
      rowOf: registrationOf,
    };
  return {
    columns: eventColumns,
    statements: eventKinds
      .filter((kind) => kind !== "Release")
      .flatMap((kind) => entriesOfKindSql(kind, places)),
    rowOf: eventOf,
  };
}
