import {
  allNames,
  namesJoins,
  nameText,
  objectText,
  partsOfNames,
  type StoredName,
} from "../../src/api/database/names.ts";
import { entriesOfKindSql, entryOf, eventKinds, type StoredEntry } from "../../src/api/names/history.ts";
import type { IndexedNamespace } from "../../src/api/names/indexed-namespaces.ts";
import { profileRow } from "../../src/api/names/rows.ts";
import type { Columns, FileRow } from "./parquet.ts";

// Columns of each file, in order: members of the rows under /v1.
const headers = {
  names:
    "namehash name display_name label labelhash namespace chain_id network status in_grace owner manager resolver registered_at created_at expires_at grace_ends_at expires_at_reason authority wrapper_state registration_id token_id",
  registrations:
    "registration_id name label labelhash namehash namespace chain_id status owner registered_at expires_at grace_ends_at token_id cost",
  events:
    "id type kind name namehash namespace chain_id registration_id block_number timestamp transaction_hash log_index contract_address data",
};

/** A subject of an export. */
export type Subject = keyof typeof headers;
export const subjects = Object.keys(headers) as Subject[];

// Other columns are strings.
const types: Columns = {
  in_grace: "BOOLEAN",
  ...{ chain_id: "INT32", block_number: "INT32", log_index: "INT32" },
  ...{ registered_at: "INT64", created_at: "INT64", expires_at: "INT64", grace_ends_at: "INT64" },
  timestamp: "INT64",
};

type StoredLease = { row: StoredName; label?: string; cost?: string };

function leaseRow({ row, label, cost }: StoredLease, namespaces: readonly IndexedNamespace[]) {
  const { resolver, ens_v1, wrapper, in_grace = false, ...members } = profileRow(namespaces, row);
  const { wrapper_state } = ens_v1 ?? wrapper ?? {};
  return {
    ...members,
    ...{ label, labelhash: row.labelhash, in_grace, resolver: resolver?.address, wrapper_state, cost },
  };
}

function eventRow(entry: StoredEntry, namespaces: readonly IndexedNamespace[]) {
  const { data, ...members } = entryOf(entry, namespaces, { hasData: true, hasKind: true });
  return { ...members, data: JSON.stringify(data) };
}

/** How to read a subject: its columns, its statements (`$1`: the namespaces' times), and the file row of each of their rows. */
type Source = {
  columns: Columns;
  statements: readonly string[];
  rowOf(found: unknown): FileRow;
};

/** Source of a subject's rows in these namespaces. */
export function sourceOf(what: Subject, namespaces: readonly IndexedNamespace[]): Source {
  const columns: Columns = Object.fromEntries(
    headers[what].split(" ").map((name) => [name, types[name] ?? "STRING"]),
  );
  const fileRow = (members: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(columns).map(([name, type]) => {
        const value = (members[name] ?? null) as string | number | null;
        return [name, type === "INT64" && value !== null ? BigInt(value) : value];
      }),
    );
  if (what === "events") {
    const kinds = eventKinds.filter((kind) => kind !== "Release");
    const statements = kinds.flatMap((kind) => entriesOfKindSql(kind, namespaces));
    return { columns, statements, rowOf: (found) => fileRow(eventRow(found as StoredEntry, namespaces)) };
  }
  const leases = `registration o JOIN ${partsOfNames(namespaces)[0]} ON domain.id = o.domain_id`;
  const { from, cost, order } =
    what === "names"
      ? { from: allNames(namespaces), cost: "NULL", order: "domain.id" }
      : { from: leases, cost: "to_json(o.cost::text)", order: "o.expiry_date, o.id" };
  const row = objectText(nameText, { label: "to_json(domain.label_name)", cost });
  const statement = `SELECT ${row}::json AS found FROM ${from}${namesJoins(namespaces)} WHERE domain.name <> '' ORDER BY ${order}`;
  const rowOf = (found: unknown) => fileRow(leaseRow(found as StoredLease, namespaces));
  return { columns, statements: [statement], rowOf };
}
