import { type Hex, hexToBytes } from "viem";
import { z } from "zod/v4";
import { rootNode, subnode, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { bytesValue, textValue } from "../../ens/record-values.ts";
import { isEvmCoinType } from "../../ens/reverse-names.ts";
import { type Database, planOnce } from "../database/client.ts";
import { mostAliases, suffixHashes, withSuffix } from "../resolution/indexed-records.ts";
import type { KnownContracts } from "../resolution/known-contracts.ts";
import { kindOf, type ResolverFacts, type V2Contracts } from "../resolution/v2-names.ts";
import { omitUndefined } from "./contract.ts";
import { resolverOf, type StoredName } from "./names.ts";
import { type Place, placeOfRow } from "./places.ts";

// Records of names as the index has them: which keys were ever seen, and their values. Those of ENSv2 are under record ids, or in
// resolvers keyed by nodes, where aliases lead to other names.

/** The records that a name's resolver has for it; `set` where values are indexed. */
export type StoredRecords = {
  seenCoins: string[] | null;
  seenTexts: string[] | null;
  addr: string | null;
  /** Content hash as its event had it: `0x` of a cleared one. */
  hash: Hex | null;
  set?: {
    contenthash: string | null;
    name: string | null;
    addresses: Record<string, string> | null;
    texts: Record<string, string> | null;
  } | null;
};

/** A name with its records, where they were asked for: null where only the chain knows them. */
export type FoundName = { row: StoredName; records: StoredRecords | null };

/** SQL of `StoredRecords` as JSON, of the row `s2` of `resolver`. */
export const recordsJson = ({
  chain,
  node,
  hasRecords,
}: {
  chain: string;
  node: string;
  hasRecords: boolean;
}) =>
  `json_build_object('seenCoins', s2.coin_types::text[], 'seenTexts', s2.texts, 'addr', s2.addr_id, 'hash', s2.content_hash${
    hasRecords
      ? `, 'set', (SELECT json_build_object('contenthash', v.contenthash, 'name', v.name,
  'addresses', (SELECT json_object_agg(a.coin_type::text, a.value) FROM resolver_address_records a
    WHERE a.chain_id = v.chain_id AND a.address = v.address AND a.node = v.node),
  'texts', (SELECT json_object_agg(t.key, t.value) FROM resolver_text_records t
    WHERE t.chain_id = v.chain_id AND t.address = v.address AND t.node = v.node))
  FROM resolver_records v WHERE v.id = 'eip155:' || ${chain} || ':' || s2.address || '/' || ${node})`
      : ""
  })`;

/** How a name in ENSv2 is resolved, as the walk found it. `labels`: those that registries have, as bytes, the top one first. */
export type V2Resolver = ResolverFacts & {
  resolver: Hex | null;
  isProven: boolean;
  /** Whether it is the name's own, not one from above. */
  isOwn: boolean;
  labels: (Hex | null)[];
};

/** `records`: those of the name's resolver in the first generation. */
type Asked = { one: { row: { name: string }; records: StoredRecords | null }; inV2: V2Resolver };

/** Labels of a name, its own first: bytes, and the hash where nobody knows them. */
type Label = { hash: Hex; bytes: Buffer | undefined };

type Reading = { at: number; kind: "nodes" | "records"; resolver: Hex; labels: readonly Label[] };

const noRecords: StoredRecords = {
  seenCoins: null,
  seenTexts: null,
  addr: null,
  hash: null,
  set: { contenthash: null, name: null, addresses: null, texts: null },
};

/** Records of names in ENSv2, in order, of all in one statement, or two; null where only the chain knows them. */
export async function readV2Records(
  database: Database,
  { contracts, hasRecords, asked }: { contracts: V2Contracts; hasRecords: boolean; asked: readonly Asked[] },
  signal: AbortSignal,
): Promise<(StoredRecords | null)[]> {
  const result: (StoredRecords | null)[] = asked.map(() => null);
  const readings: Reading[] = [];
  for (const [at, one] of asked.entries()) {
    const { resolver, isProven, isOwn, ...facts } = one.inV2;
    const kind = resolver === null ? "none" : kindOf(resolver, facts, contracts);
    if (!isProven || kind === "unknown") continue;
    if (kind === "v1") result[at] = one.one.records ?? noRecords;
    else if (resolver === null || kind === "none" || (kind === "public" && !isOwn)) result[at] = noRecords;
    else readings.push({ at, resolver, kind: kind === "records" ? kind : "nodes", labels: labelsOf(one) });
  }
  const { chainId } = contracts;
  const read = await withoutAliases(database, { chainId, readings }, signal);
  const found = read.length === 0 ? [] : await readStored(database, { chainId, hasRecords, read }, signal);
  for (const [place, { at }] of read.entries()) result[at] = found[place] ?? noRecords;
  return result;
}

// Registries tell the bytes of labels that names cannot show.
function labelsOf({ one, inV2: { labels } }: Asked): Label[] {
  const { name } = one.row;
  const parts = name === "" ? [] : name.split(".");
  return parts.map((part, place) => {
    const stored = labels[parts.length - 1 - place];
    const bytes = stored ? Buffer.from(hexToBytes(stored)) : Buffer.from(part);
    const encoded = /^\[([0-9a-f]{64})\]$/.exec(part);
    if (encoded !== null && !stored) return { hash: `0x${encoded[1]}`, bytes: undefined };
    return { hash: keccak256(bytes), bytes };
  });
}

const nodeOf = (labels: readonly Label[]) =>
  labels.reduceRight<Hex>((parent, { hash }) => subnode(parent, hash), rootNode);

const aliasesSql = planOnce(`SELECT json_agg(json_build_array(f.at, f.place, f.target))::text FROM (
  SELECT DISTINCT ON (s.at) s.at, s.place, a.target
  FROM unnest($2::int[], $3::int[], $4::text[], $5::text[]) s (at, place, resolver, hash)
  JOIN v2_aliases a ON a.chain_id = $1::int AND a.resolver = s.resolver AND a.name_hash = s.hash AND a.target <> '0x'
  ORDER BY s.at, s.place) f`);
const anyAliasSql = planOnce(`SELECT json_agg(r.resolver)::text FROM unnest($2::text[]) r (resolver)
  WHERE EXISTS (SELECT FROM v2_aliases a WHERE a.chain_id = $1::int AND a.resolver = r.resolver AND a.target <> '0x')`);

const list = (values: readonly (string | number)[]) => `{${values.join(",")}}`;

// The readings by the names that resolvers read; those that fail, or of which nobody can tell, are left out.
async function withoutAliases(
  database: Database,
  { chainId, readings }: { chainId: number; readings: readonly Reading[] },
  signal: AbortSignal,
): Promise<Reading[]> {
  const isKnown = ({ labels }: Reading) => labels.every(({ bytes }) => bytes !== undefined);
  const plain = readings.filter(({ kind }) => kind === "records");
  const unsure = readings.filter((one) => one.kind === "nodes" && !isKnown(one));
  let pending = readings
    .filter((one) => one.kind === "nodes" && isKnown(one))
    .map((reading) => ({ reading, last: "" }));
  const done = plain;
  if (unsure.length > 0) {
    const [text] = await database.row(
      anyAliasSql,
      [String(chainId), list(unsure.map(({ resolver }) => resolver))],
      signal,
    );
    const withAliases = new Set(JSON.parse(text ?? "[]") as Hex[]);
    done.push(...unsure.filter(({ resolver }) => !withAliases.has(resolver)));
  }
  for (let round = 0; round < mostAliases && pending.length > 0; round++) {
    const suffixes = pending.flatMap(({ reading }, at) =>
      suffixHashes(bytesOf(reading)).map((hash, place) => ({
        at,
        place: place + 1,
        hash,
        of: reading.resolver,
      })),
    );
    const columns = [
      suffixes.map(({ at }) => at),
      suffixes.map(({ place }) => place),
      suffixes.map(({ of }) => of),
      suffixes.map(({ hash }) => hash),
    ];
    const [text] = await database.row(aliasesSql, [String(chainId), ...columns.map(list)], signal);
    const found = new Map(
      (JSON.parse(text ?? "[]") as [number, number, Hex][]).map(([at, place, target]) => [
        at,
        { place, target },
      ]),
    );
    pending = pending.flatMap(({ reading, last }, at) => {
      const alias = found.get(at);
      if (alias === undefined || alias.target === last) {
        done.push(reading);
        return [];
      }
      const replaced = withSuffix(bytesOf(reading), alias.place, alias.target);
      if (replaced === undefined) return [];
      const labels = replaced.map((bytes) => ({ hash: keccak256(bytes), bytes }));
      return [{ reading: { ...reading, labels }, last: alias.target }];
    });
  }
  return done;
}

const bytesOf = ({ labels }: Reading) => labels.flatMap(({ bytes }) => bytes ?? []);

// $1: chain, $2 and $3: resolvers and nodes; $4: which of them have record ids.
const storedSql = (
  hasRecords: boolean,
) => `SELECT json_agg(CASE WHEN q.by_id THEN r.found ELSE n.found END ORDER BY q.at)::text
FROM unnest($2::text[], $3::text[], $4::boolean[]) WITH ORDINALITY q (resolver, node, by_id, at)
LEFT JOIN LATERAL (SELECT ${recordsJson({ chain: "$1", node: "q.node", hasRecords })} AS found FROM resolver s2
  WHERE NOT q.by_id AND s2.id = $1 || '-' || q.resolver || '-' || q.node) n ON true
LEFT JOIN LATERAL (SELECT json_agg(json_build_array(r.kind, r.key, CASE WHEN r.generation = coalesce((
    SELECT g.generation FROM v2_record_generations g WHERE g.chain_id = $1::int AND g.resolver = q.resolver AND g.record_id = r.record_id), 0)
  THEN r.value END)) AS found
  FROM v2_records r WHERE q.by_id AND r.chain_id = $1::int AND r.resolver = q.resolver AND r.record_id = coalesce(
    (SELECT nullif(l.record_id, 0) FROM v2_record_links l WHERE l.chain_id = $1::int AND l.resolver = q.resolver AND l.node = q.node),
    (SELECT nullif(l.record_id, 0) FROM v2_record_links l WHERE l.chain_id = $1::int AND l.resolver = q.resolver AND l.node = '${rootNode}'))) r ON true`;
const storedStatements = { values: planOnce(storedSql(true)), keys: planOnce(storedSql(false)) };

async function readStored(
  database: Database,
  { chainId, hasRecords, read }: { chainId: number; hasRecords: boolean; read: readonly Reading[] },
  signal: AbortSignal,
): Promise<(StoredRecords | null)[]> {
  const values = [
    String(chainId),
    list(read.map(({ resolver }) => resolver)),
    list(read.map(({ labels }) => nodeOf(labels))),
    list(read.map(({ kind }) => String(kind === "records"))),
  ];
  const [text] = await database.row(storedStatements[hasRecords ? "values" : "keys"], values, signal);
  const found = JSON.parse(text ?? "[]") as (StoredRecords | StoredRecord[] | null)[];
  return found.map((one) => (Array.isArray(one) ? recordsOfId(one) : one));
}

/** Kind, key and value of a record; without value one that was cleared, or that only the chain knows. */
type StoredRecord = [string, string, Hex | null];

const textOf = (hex: string) => Buffer.from(hex.slice(2), "hex").toString("utf8");

function recordsOfId(records: readonly StoredRecord[]): StoredRecords {
  const ofKind = (wanted: string) => records.filter(([kind]) => kind === wanted);
  const bytes = (value: Hex | null | undefined) => (value === "0x" ? null : (value ?? null));
  const text = (value: Hex | null | undefined) => (value ? textValue(textOf(value)) : null);
  const keep = (entries: readonly (readonly [string, string | null])[]) =>
    Object.fromEntries(entries.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
  const [coins, texts] = [ofKind("address"), ofKind("text")];
  const hash = ofKind("contenthash")[0]?.[2] ?? null;
  return {
    seenCoins: coins.map(([, coin]) => coin),
    seenTexts: texts.map(([, key]) => textOf(key)),
    addr: null,
    hash,
    set: {
      contenthash: bytes(hash),
      name: text(ofKind("name")[0]?.[2]),
      addresses: keep(coins.map(([, coin, value]) => [coin, bytes(value)])),
      texts: keep(texts.map(([, key, value]) => [textOf(key), text(value)])),
    },
  };
}

// What a name's resolver returns, as far as its events tell.

/** The schema of a name's records. */
export const recordsSchema = z.strictObject({
  seen_addresses: z.array(z.string()),
  addresses: z.record(z.string(), z.string().nullable()),
  seen_texts: z.array(z.string()),
  texts: z.record(z.string(), z.string().nullable()),
  seen_abis: z.array(z.string()),
  abis: z.record(z.string(), z.string()),
  seen_singletons: z.array(z.enum(["contenthash", "name"])),
  contenthash: z.string().nullable().optional(),
  name: z.string().nullable().optional(),
});

/** A name's records as rows have them. */
type GroupedRecords = z.output<typeof recordsSchema>;

/** The schema of what is known of one record. */
export const recordSchema = z.strictObject({
  status: z.enum(["ok", "not_found", "unsupported", "failed"]),
  value: z.string().optional(),
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

/** The key of the address record that others fall back to (ENSIP-19). */
export const defaultCoin = "2147483648";

/** The address that a name's resolver returns for EVM coin types without a record of their own (ENSIP-19), if it does. */
export function defaultAddressOf(
  places: readonly Place[],
  { row, records }: FoundName,
  known: KnownContracts,
) {
  const resolver = resolverOf(row, placeOfRow(places, row));
  // All resolvers of ENSv2 fall back to it.
  const hasDefault =
    row.v2?.isInForce ||
    (resolver && known.staticResolverOf(resolver.chain_id, resolver.address)?.hasDefaultAddress);
  return hasDefault ? ownValue(records?.set?.addresses, defaultCoin) : undefined;
}

/** The address of an EVM coin type that a name's resolver returns: its own record, else the default one, which one of zero bytes hides. */
export function addressRecordOf({ records }: FoundName, coin: string, fallback: string | undefined) {
  const own = ownValue(records?.set?.addresses, coin) ?? (coin === "60" ? records?.addr : undefined);
  return own ?? fallback;
}

// Keys are anybody's: `constructor` too.
const ownValue = (values: Readonly<Record<string, string>> | null | undefined, key: string) =>
  values && Object.hasOwn(values, key) ? values[key] : undefined;

const byNumber = (a: string, b: string) => a.length - b.length || (a < b ? -1 : 1);

/** A name's records as rows have them. A key that was seen and has no value was cleared; where values are not indexed, it is left out of the map. */
export function groupedRecords(records: StoredRecords | null): GroupedRecords {
  const { seenCoins, seenTexts, addr, hash, set } = records ?? {};
  const isKnown = records !== null && set !== undefined;
  const addresses: Record<string, string> = isKnown ? { ...set?.addresses } : addr ? { 60: addr } : {};
  const texts: Record<string, string> = isKnown ? { ...set?.texts } : {};
  const coins = [...new Set([...(seenCoins ?? []), ...Object.keys(addresses)])].sort(byNumber);
  const keys = [...new Set([...(seenTexts ?? []), ...Object.keys(texts)])].sort();
  const valued = (all: string[], values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      (isKnown ? all : Object.keys(values)).map((key) => [key, heldValue(ownValue(values, key))]),
    );
  const contenthash = set ? set.contenthash : ((hash && bytesValue(hash)) ?? null);
  // Where values are not indexed, nobody knows it.
  const name = isKnown || records === null ? (set?.name ?? null) : undefined;
  const singletons = [
    // The event of a cleared one leaves empty bytes.
    ...(contenthash === null && !hash ? [] : ["contenthash" as const]),
    ...(name ? ["name" as const] : []),
  ];
  return {
    seen_addresses: coins,
    addresses: valued(coins, addresses),
    seen_texts: keys,
    texts: valued(keys, texts),
    seen_abis: [],
    abis: {},
    seen_singletons: singletons,
    contenthash,
    ...omitUndefined({ name }),
  };
}

// Twenty zero bytes count as cleared.
const heldValue = (value: string | undefined) =>
  value === undefined || value === zeroAddress ? null : value;

/** Whether a key is of an address record. */
export const isAddressKey = (key: string) => key.startsWith("addr:");
/** Whether a key is of a text record: `avatar` is one too. */
export const isTextKey = (key: string) => key === "avatar" || key.startsWith("text:");
/** The key of a text record by that of its answer. */
export const textKeyOf = (key: string) => key.replace(/^text:/, "");

/** Whether what a name's resolver returns follows from its events. A name without one may have that of a name above (ENSIP-10). */
export function isReadFromEvents(
  { places, known }: { places: readonly Place[]; known: KnownContracts },
  { row, records }: FoundName,
): boolean {
  if (row.v2?.isInForce) return records !== null;
  const resolver = resolverOf(row, placeOfRow(places, row));
  return resolver !== undefined && known.staticResolverOf(resolver.chain_id, resolver.address) !== undefined;
}

/** What is known of a record by its key (`addr:60`, `text:url`, `avatar`, `contenthash`, `name`), from a name's row. */
export function recordOf(
  { records, status }: { records?: GroupedRecords | undefined; status?: string | undefined },
  key: string,
  { found, fallback }: { found: FoundName; fallback: string | undefined },
): RecordAnswer {
  // Of a name that nobody holds, or of a resolver in ENSv2 that only the chain knows.
  if (records === undefined)
    return {
      status: "unsupported",
      unsupported_reason:
        status === "released" ? "inventory_not_available" : "indexed_record_inventory_not_authoritative",
    };
  if (key === "name" && records.name === undefined)
    return { status: "unsupported", unsupported_reason: "record_family_not_supported" };
  const isAddress = isAddressKey(key);
  const name = isAddress ? key.slice(5) : textKeyOf(key);
  const [values, seen]: [Readonly<Record<string, string | null | undefined>>, readonly string[]] = isAddress
    ? [records.addresses, records.seen_addresses]
    : isTextKey(key)
      ? [records.texts, records.seen_texts]
      : [{ contenthash: records.contenthash, name: records.name }, []];
  const value = new Map(Object.entries(values)).get(name);
  if (value) return { status: "ok", value };
  if (value === undefined && seen.includes(name))
    return { status: "unsupported", unsupported_reason: "value_not_retained" };
  const derived =
    isAddress && isEvmCoinType(BigInt(name)) ? addressRecordOf(found, name, fallback) : undefined;
  if (fallback === undefined || fallback === zeroAddress || derived !== fallback)
    return { status: "not_found" };
  const meta = {
    basis: "derived",
    rule: "ensip19_default_address",
    source_record_key: `addr:${defaultCoin}`,
  } as const;
  return { status: "ok", value: fallback, meta };
}
