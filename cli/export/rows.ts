import {
  allNames,
  namesJoins,
  nameText,
  objectText,
  partsOfNames,
  type StoredName,
} from "../../src/api/database/names.ts";
import { entriesOfKindSql, entryOf, eventKinds, type StoredEntry } from "../../src/api/names/history.ts";
import { homeOfRow, type IndexedNamespace } from "../../src/api/names/indexed-namespaces.ts";
import { resolverOf } from "../../src/api/names/records.ts";
import { listRow, registrationId, tokenId } from "../../src/api/names/rows.ts";

/** What can be exported. */
export const subjects = ["names", "registrations", "events"] as const;
export type Subject = (typeof subjects)[number];

/** A value of a file's row; numbers of seconds are bigint. Absent ones are null in the file. */
type Value = string | number | bigint | boolean | null | undefined;
export type FileRow = Readonly<Record<string, Value>>;

/** A column of a file: its type in Parquet, and its value for what is read. */
type Column<Found> = readonly ["STRING" | "INT32" | "INT64" | "BOOLEAN", (found: Found) => Value];
type Columns<Found> = Readonly<Record<string, Column<Found>>>;

// The largest number of seconds that 64 bits hold.
const longest = 2n ** 63n - 1n;
const seconds = (text: string | null | undefined) => {
  const value = text === null || text === undefined ? null : BigInt(text);
  return value !== null && value > longest ? longest : value;
};

type StoredLease = { row: StoredName; label?: string; cost?: string };
const named = (stored: StoredLease, namespaces: readonly IndexedNamespace[]) => ({
  ...stored,
  home: homeOfRow(namespaces, stored.row),
  shown: listRow(namespaces, stored.row),
});

const ofLeases = {
  namehash: ["STRING", ({ row }) => row.node],
  name: ["STRING", ({ row }) => row.name],
  display_name: ["STRING", ({ shown }) => shown.display_name],
  label: ["STRING", ({ label }) => label],
  labelhash: ["STRING", ({ row }) => row.labelhash],
  namespace: ["STRING", ({ home }) => home.namespace],
  chain_id: ["INT32", ({ home }) => home.chainId],
  network: ["STRING", ({ home }) => home.network],
  status: ["STRING", ({ row }) => row.status],
  in_grace: ["BOOLEAN", ({ shown }) => shown.in_grace ?? false],
  owner: ["STRING", ({ row }) => row.owner],
  manager: ["STRING", ({ row }) => row.manager],
  resolver: ["STRING", ({ row, home }) => resolverOf(row, home)?.address],
  registered_at: ["INT64", ({ shown }) => seconds(shown.registered_at)],
  created_at: ["INT64", ({ shown }) => seconds(shown.created_at)],
  expires_at: ["INT64", ({ shown }) => seconds(shown.expires_at)],
  grace_ends_at: ["INT64", ({ shown }) => seconds(shown.grace_ends_at)],
  expires_at_reason: ["STRING", ({ shown }) => shown.expires_at_reason],
  authority: ["STRING", ({ shown }) => shown.authority],
  wrapper_state: ["STRING", ({ shown }) => (shown.ens_v1 ?? shown.wrapper)?.wrapper_state],
  registration_id: ["STRING", ({ row, home }) => registrationId(row, home)],
  token_id: ["STRING", ({ row }) => tokenId(row)],
  cost: ["STRING", ({ cost }) => cost],
} satisfies Columns<ReturnType<typeof named>>;

const { cost: _, ...ofNames } = ofLeases;

const { registration_id, name, label, labelhash, namehash, namespace, chain_id, status, owner } = ofLeases;
const { registered_at, expires_at, grace_ends_at, token_id, cost } = ofLeases;
const ofRegistrations = {
  ...{ registration_id, name, label, labelhash, namehash, namespace, chain_id, status, owner },
  ...{ registered_at, expires_at, grace_ends_at, token_id, cost },
};

const event = (entry: StoredEntry, namespaces: readonly IndexedNamespace[]) => ({
  entry,
  shown: entryOf(entry, namespaces, { hasData: true, hasKind: true }),
});

const ofEvents: Columns<ReturnType<typeof event>> = {
  id: ["STRING", ({ shown }) => shown.id],
  type: ["STRING", ({ shown }) => shown.type],
  kind: ["STRING", ({ entry }) => entry.type],
  name: ["STRING", ({ shown }) => shown.name],
  namehash: ["STRING", ({ shown }) => shown.namehash],
  namespace: ["STRING", ({ shown }) => shown.namespace],
  chain_id: ["INT32", ({ shown }) => shown.chain_id],
  registration_id: ["STRING", ({ shown }) => shown.registration_id],
  block_number: ["INT32", ({ shown }) => shown.block_number],
  timestamp: ["INT64", ({ shown }) => seconds(shown.timestamp)],
  transaction_hash: ["STRING", ({ shown }) => shown.transaction_hash],
  log_index: ["INT32", ({ shown }) => shown.log_index],
  contract_address: ["STRING", ({ shown }) => shown.contract_address],
  data: ["STRING", ({ shown }) => JSON.stringify(shown.data)],
};

/** How a subject is read: its columns, its statements, one after the other, and the file's row of each of theirs. `$1`: times of the namespaces. */
export type Source = {
  columns: Columns<never>;
  statements: readonly string[];
  rowOf(found: unknown): FileRow;
};

/** How a subject is read at these namespaces. */
export function sourceOf(what: Subject, namespaces: readonly IndexedNamespace[]): Source {
  const source = <Stored, Found>(
    columns: Columns<Found>,
    read: (stored: Stored, namespaces: readonly IndexedNamespace[]) => Found,
    statements: readonly string[],
  ): Source => ({
    columns,
    statements,
    rowOf(stored) {
      const found = read(stored as Stored, namespaces);
      return Object.fromEntries(Object.entries(columns).map(([name, [, of]]) => [name, of(found) ?? null]));
    },
  });
  const stored = (from: string, cost: string, order: string) => [
    `SELECT ${objectText(nameText, { label: "to_json(d.label_name)", cost })}::json AS found FROM ${from}${namesJoins(namespaces)} WHERE d.name <> '' ORDER BY ${order}`,
  ];
  if (what === "names") return source(ofNames, named, stored(allNames(namespaces), "NULL", "d.id"));
  const leases = `registration o JOIN ${partsOfNames(namespaces)[0]} ON d.id = o.domain_id`;
  if (what === "registrations")
    return source(ofRegistrations, named, stored(leases, "to_json(o.cost::text)", "o.expiry_date, o.id"));
  const kinds = eventKinds.filter((kind) => kind !== "Release");
  return source(
    ofEvents,
    event,
    kinds.flatMap((kind) => entriesOfKindSql(kind, namespaces)),
  );
}
