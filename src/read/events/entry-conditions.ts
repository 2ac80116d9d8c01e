import { type IndexedNamespace, isSubregistry } from "../names/indexed-namespaces.ts";
import type { Binder } from "../names/source.ts";
import { hideFromPlanner } from "../names/stored-name.ts";
import { begins, type EventKind, entryType, literal } from "./kinds.ts";
import { registrationEvents } from "./parts.ts";

// Conditions on entries, on the common columns of the parts of a history. The chain, the namespace and the parent of an
// entry are SQL too, since not every event tells them.

/** SQL of the node above the name of an entry under an alias. */
export const parentOfEntry = (of: string) =>
  `coalesce((SELECT d.parent_id FROM domain d WHERE d.id = ${of}.node), (SELECT d.parent_id FROM v2_domains d WHERE d.id = ${of}.node LIMIT 1))`;

/** SQL of the chain of an entry under an alias: the root chain in subgraph mode, where event ids have no chain. */
export const chainOfEntry = (namespaces: readonly IndexedNamespace[], of: string) =>
  `coalesce(${of}.chain, ${namespaces[0]?.chainId ?? 0})`;

/**
 * SQL of the namespace of an entry under an alias. Where two namespaces share a chain, the name's row decides, else the
 * first counts. A reverse registrar belongs to the namespace that leases on its chain, else to ENS.
 */
export function namespaceOfEntry(namespaces: readonly IndexedNamespace[], of: string): string {
  const text = ({ namespace }: IndexedNamespace) => `'${namespace}'`;
  const ofChain = (cases: string[]) =>
    cases.length === 0 ? "'ens'" : `CASE ${chainOfEntry(namespaces, of)} ${cases.join(" ")} ELSE 'ens' END`;
  const leasing = namespaces.filter(isSubregistry).map((home) => `WHEN ${home.chainId} THEN ${text(home)}`);
  const homes = [...Map.groupBy(namespaces, ({ chainId }) => chainId)].map(([chain, [first, ...next]]) => {
    const ofFirst = first ? text(first) : "'ens'";
    if (next.length === 0) return `WHEN ${chain} THEN ${ofFirst}`;
    const ofName = `SELECT n.namespace FROM domain n WHERE n.id = ${of}.node AND n.namespace IN (${next.map(text).join(", ")})`;
    return `WHEN ${chain} THEN coalesce((${ofName}), ${ofFirst})`;
  });
  return `CASE WHEN ${of}.type = 'NameForAddrChanged' THEN ${ofChain(leasing)} ELSE ${ofChain(homes)} END`;
}

/** SQL condition that an entry belongs to the registration of a name that began at a time, both bound. */
export function ofRegistrationSince(node: string, since: string): string {
  return `timestamp >= ${since}::bigint AND timestamp < coalesce(least((SELECT min(e.timestamp) FROM ${registrationEvents}
    WHERE r.domain_id = ${node} AND e.type = 'NameRegistered' AND e.timestamp > ${since}::bigint),
    (SELECT min(e.timestamp) FROM v2_entries o JOIN v2_events e ON e.registry = o.registry AND e.labelhash = o.labelhash
    WHERE o.node = ${node} AND e.type IN ${literal(begins)} AND e.timestamp > ${since}::bigint)), 2147483647)`;
}

/**
 * SQL condition that an entry writes a record, by its key such as `addr:60` or `text:url`; undefined for an unknown
 * family.
 */
export function ofRecord(key: string, bind: (value: string) => string): string | undefined {
  const [family = "", ...rest] = key.split(":");
  const name = rest.join(":");
  const isNumbered = /^\d{1,19}$/.test(name);
  if (family === "text" && rest.length > 0) return `type = 'TextChanged' AND key = ${bind(name)}`;
  if (key === "contenthash") return "type = 'ContenthashChanged'";
  if (key === "name") return "type IN ('NameChanged', 'ReverseNameChanged')";
  if (family === "abi" && isNumbered) return `type = 'AbiChanged' AND key = ${bind(name)}`;
  if (family !== "addr" || !isNumbered) return undefined;
  const former = name === "60" ? " OR type = 'AddrChanged'" : "";
  return `(type = 'MulticoinAddrChanged' AND coin = ${bind(name)}::numeric${former})`;
}

type EntryKey = { type: EventKind; key: string | null; coin: string | null };

/** The key of the record that an entry writes, such as `addr:60`; undefined if it writes none. */
export function recordKey({ type, key, coin }: EntryKey): string | undefined {
  if (type === "TextChanged") return `text:${key ?? ""}`;
  if (type === "ContenthashChanged") return "contenthash";
  if (type === "NameChanged") return "name";
  if (type === "AbiChanged") return `abi:${key}`;
  return type === "AddrChanged" || type === "MulticoinAddrChanged" ? `addr:${coin ?? "60"}` : undefined;
}

/** Whether an entry writes the record of a key, as `ofRecord` says it in SQL. */
export function writesRecord(entry: EntryKey, key: string): boolean {
  const written = recordKey(entry) ?? (entryType(entry.type) === "primary_name" ? "name" : undefined);
  return written === key && entry.type !== "NameForAddrChanged";
}

/** Conditions on a value, if given. */
export const given = <T>(value: T | undefined, sql: (value: T) => string | string[]) =>
  value === undefined ? [] : [sql(value)].flat();

/** SQL condition that entries are of a namespace. */
export const inNamespaceOf = (namespace: string, namespaces: readonly IndexedNamespace[]) =>
  hideFromPlanner(`${namespaceOfEntry(namespaces, "p")} = '${namespace}'`);

/** SQL condition that entries are of a chain. */
export const onChain = (chainId: number, namespaces: readonly IndexedNamespace[]) =>
  hideFromPlanner(`${chainOfEntry(namespaces, "p")} = ${chainId}`);

/** SQL of a bound text that compares byte by byte, as the columns do. */
export const inByteOrder = (bound: string) => `${bound}::text COLLATE "C"`;

type ValueQuery = { record_key?: string | undefined } & Partial<
  Record<"from_timestamp" | "to_timestamp", number | undefined>
>;

/** SQL conditions on the time of entries, in Unix seconds, and on the record that they write. */
export function buildValueConditions(
  { from_timestamp, to_timestamp, record_key }: ValueQuery,
  { bind }: Binder,
) {
  return [
    // Clearing all records writes each of them.
    ...given(record_key, (key) => {
      const record = ofRecord(key, bind);
      return record === undefined ? "false" : `(${record} OR type = 'VersionChanged')`;
    }),
    ...given(from_timestamp, (time) => `timestamp >= ${bind(Math.ceil(time))}::bigint`),
    ...given(to_timestamp, (time) => `timestamp <= ${bind(Math.floor(time))}::bigint`),
  ];
}
