import { type Hex, hexToBytes } from "viem";
import { rootNode, subnode } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { dnsLabels, labelhashIn } from "../../ens/names.ts";
import { isEncodedLabel } from "../../ens/normalization.ts";
import { textOfHex, textValue } from "../../ens/record-values.ts";
import type { Database } from "../sql/client.ts";
import { planOnce } from "../sql/prepared.ts";
import { formatArray, type IndexedRecords, indexedRecordsJson, unset } from "./indexed-records.ts";
import { kindOfResolver, type ResolverFacts, type V2Contracts } from "./v2-names.ts";

// ENSv2 stores records under record ids, or in resolvers keyed by node, where aliases lead to other names.

/** Indexed records of a name in its resolver: the keys ever seen, and in `set` the values if they are indexed. */
export type StoredRecords = {
  seenCoins: string[] | null;
  seenTexts: string[] | null;
  addr: string | null;
  /** Content hash as in its event: `0x` if cleared. */
  hash: Hex | null;
  set?: IndexedRecords | null;
};

/** SQL of `StoredRecords` as JSON, from row `s2` of the table `resolver`. */
export function recordsJson({ hasRecords, resolver = "s2.address", ...of }: RecordSql): string {
  const set = hasRecords ? `, 'set', ${indexedRecordsJson({ ...of, resolver })}` : "";
  return `json_build_object('seenCoins', s2.coin_types::text[], 'seenTexts', s2.texts, 'addr', s2.addr_id, 'hash', s2.content_hash${set})`;
}

type RecordSql = { chain: string; node: string; resolver?: string; hasRecords: boolean };

/**
 * An ENSv2 name's resolver as the walk found it. `labels`: bytes of the labels as registries have them, top label
 * first.
 */
export type V2Resolver = ResolverFacts & {
  resolver: Hex | null;
  isProven: boolean;
  /** Whether the name itself has the resolver, not an ancestor. */
  isOwn: boolean;
  labels: (Hex | null)[];
};

/** `records`: those in the name's ENSv1 resolver. */
type RecordsRequest = { row: { name: string }; records: StoredRecords | null; inV2: V2Resolver };

// A label's hash, and its bytes if they are known.
type LabelOfPath = { hash: Hex; bytes: Buffer | undefined };

// Records to read from a resolver, under the name's node or under record ids.
type ResolverReading = {
  at: number;
  kind: "nodes" | "records";
  resolver: Hex;
  labels: readonly LabelOfPath[];
};

const noRecords: StoredRecords = { seenCoins: null, seenTexts: null, addr: null, hash: null, set: unset };

type Contracts = Pick<V2Contracts, "chainId" | "v1Resolver" | "publicResolver" | "resolvers">;

/** Reads the records of ENSv2 names, in order; null where only the chain knows them. */
export async function readV2Records(
  database: Database,
  {
    contracts,
    hasRecords,
    asked,
  }: { contracts: Contracts; hasRecords: boolean; asked: readonly RecordsRequest[] },
  signal: AbortSignal,
): Promise<(StoredRecords | null)[]> {
  const result: (StoredRecords | null)[] = asked.map(() => null);
  const readings: ResolverReading[] = [];
  for (const [at, one] of asked.entries()) {
    const { resolver, isProven, isOwn, ...facts } = one.inV2;
    const kind = resolver === null ? "none" : kindOfResolver(resolver, facts, contracts);
    if (!isProven || kind === "unknown") continue;
    if (kind === "v1") result[at] = one.records ?? noRecords;
    else if (resolver === null || kind === "none" || (kind === "public" && !isOwn)) result[at] = noRecords;
    else readings.push({ at, resolver, kind: kind === "records" ? kind : "nodes", labels: listLabels(one) });
  }
  const { chainId } = contracts;
  const read = await withoutAliases(database, { chainId, readings }, signal);
  const found = await readStored(database, { chainId, hasRecords, read }, signal);
  for (const [index, { at }] of read.entries()) result[at] = found[index] ?? null;
  return result;
}

// Registries have the bytes of labels that names cannot show.
function listLabels({ row: { name }, inV2: { labels } }: RecordsRequest): LabelOfPath[] {
  const parts = name === "" ? [] : name.split(".");
  return parts.map((part, index) => {
    const stored = labels[parts.length - 1 - index];
    if (stored) return hashLabel(Buffer.from(hexToBytes(stored)));
    return { hash: labelhashIn(part), bytes: isEncodedLabel(part) ? undefined : Buffer.from(part) };
  });
}

const hashLabel = (bytes: Buffer): LabelOfPath => ({ hash: keccak256(bytes), bytes });

const hashPath = (labels: readonly LabelOfPath[]) =>
  labels.reduceRight<Hex>((parent, { hash }) => subnode(parent, hash), rootNode);

const maxAliases = 20;

const aliasesSql = planOnce(`SELECT json_agg(json_build_array(f.at, f.index, f.target))::text FROM (
  SELECT DISTINCT ON (s.at) s.at, s.index, a.target
  FROM unnest($2::int[], $3::int[], $4::text[], $5::text[]) s (at, index, resolver, hash)
  JOIN v2_aliases a ON a.chain_id = $1::int AND a.resolver = s.resolver AND a.name_hash = s.hash AND a.target <> '0x'
  ORDER BY s.at, s.index) f`);
const anyAliasSql = planOnce(`SELECT json_agg(r.resolver)::text FROM unnest($2::text[]) r (resolver)
  WHERE EXISTS (SELECT FROM v2_aliases a WHERE a.chain_id = $1::int AND a.resolver = r.resolver AND a.target <> '0x')`);

// Follows aliases: replaces the longest suffix that has one, until none has one or the target repeats. Leaves out
// readings that may fail in the resolver (endless aliases, malformed targets), and those whose aliases depend on
// unknown labels.
async function withoutAliases(
  database: Database,
  { chainId, readings }: { chainId: number; readings: readonly ResolverReading[] },
  signal: AbortSignal,
): Promise<ResolverReading[]> {
  const read = async <T>(sql: string, columns: readonly (readonly (string | number)[])[]): Promise<T[]> => {
    if (columns[0]?.length === 0) return [];
    const [text] = await database.row(sql, [String(chainId), ...columns.map(formatArray)], signal);
    return JSON.parse(text ?? "[]");
  };
  const isKnown = ({ labels }: ResolverReading) => labels.every(({ bytes }) => bytes !== undefined);
  const done = readings.filter(({ kind }) => kind === "records");
  const byNode = readings.filter(({ kind }) => kind === "nodes");
  const unsure = byNode.filter((one) => !isKnown(one));
  const withAliases = new Set(await read<Hex>(anyAliasSql, [unsure.map(({ resolver }) => resolver)]));
  done.push(...unsure.filter(({ resolver }) => !withAliases.has(resolver)));
  let pending = byNode.filter(isKnown).map((reading) => ({ reading, last: "" }));
  for (let round = 0; round < maxAliases && pending.length > 0; round++) {
    const suffixes = pending.flatMap(({ reading }, at) =>
      hashSuffixes(listLabelBytes(reading)).map(
        (hash, index) => [at, index + 1, reading.resolver, hash] as const,
      ),
    );
    const columns = ([0, 1, 2, 3] as const).map((column) => suffixes.map((one) => one[column]));
    const found = await read<[number, number, Hex]>(aliasesSql, columns);
    const aliases = new Map(found.map(([at, index, target]) => [at, { index, target }]));
    pending = pending.flatMap(({ reading, last }, at) => {
      const { index, target } = aliases.get(at) ?? {};
      if (index === undefined || target === undefined || target === last) {
        done.push(reading);
        return [];
      }
      const labels = withSuffix(listLabelBytes(reading), index, target)?.map(hashLabel);
      return labels === undefined ? [] : [{ reading: { ...reading, labels }, last: target }];
    });
  }
  return done;
}

const listLabelBytes = ({ labels }: ResolverReading) => labels.flatMap(({ bytes }) => bytes ?? []);

// Keys of aliases: hashes of a name and its ancestors, the root included.
const hashSuffixes = (labels: readonly Buffer[]): Hex[] =>
  [...labels.keys(), labels.length].map((index) => keccak256(encodeWire(labels.slice(index))));

// Replaces the suffix from an index on (1: all) by a name in wire form; undefined if that is malformed.
function withSuffix(labels: readonly Buffer[], index: number, target: Hex): Buffer[] | undefined {
  const replaced = dnsLabels(target);
  if (replaced === undefined || encodeWire(replaced).length !== target.length / 2 - 1) return undefined;
  return [...labels.slice(0, index - 1), ...replaced];
}

const encodeWire = (labels: readonly Buffer[]): Buffer =>
  Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), label]), Buffer.from([0])]);

/** SQL condition that a row of `v2_records` under an alias was not cleared with all others. */
export const isCurrentRecord = (alias: string): string =>
  `${alias}.generation = coalesce((SELECT g.generation FROM v2_record_generations g
    WHERE g.chain_id = ${alias}.chain_id AND g.resolver = ${alias}.resolver AND g.record_id = ${alias}.record_id), 0)`;

// $1: chain, $2 and $3: resolvers and nodes; $4: which of them have record ids.
const storedSql = (
  hasRecords: boolean,
) => `SELECT json_agg(CASE WHEN q.by_id THEN r.found ELSE ${recordsJson({ chain: "$1", node: "q.node", resolver: "q.resolver", hasRecords })} END ORDER BY q.at)::text
FROM unnest($2::text[], $3::text[], $4::boolean[]) WITH ORDINALITY q (resolver, node, by_id, at)
LEFT JOIN resolver s2 ON NOT q.by_id AND s2.id IN ($1 || '-' || q.resolver || '-' || q.node, q.resolver || '-' || q.node)
LEFT JOIN LATERAL (SELECT json_agg(json_build_array(r.kind, r.key, CASE WHEN ${isCurrentRecord("r")}
  THEN CASE r.kind WHEN 'abi' THEN '0x' ELSE r.value END END)) AS found
  FROM v2_records r WHERE q.by_id AND r.chain_id = $1::int AND r.resolver = q.resolver AND r.record_id = coalesce(
    (SELECT nullif(l.record_id, 0) FROM v2_record_links l WHERE l.chain_id = $1::int AND l.resolver = q.resolver AND l.node = q.node),
    (SELECT nullif(l.record_id, 0) FROM v2_record_links l WHERE l.chain_id = $1::int AND l.resolver = q.resolver AND l.node = '${rootNode}'))) r ON true`;
const storedStatements = { values: planOnce(storedSql(true)), keys: planOnce(storedSql(false)) };

async function readStored(
  database: Database,
  { chainId, hasRecords, read }: { chainId: number; hasRecords: boolean; read: readonly ResolverReading[] },
  signal: AbortSignal,
): Promise<StoredRecords[]> {
  if (read.length === 0) return [];
  const values = [
    String(chainId),
    formatArray(read.map(({ resolver }) => resolver)),
    formatArray(read.map(({ labels }) => hashPath(labels))),
    formatArray(read.map(({ kind }) => String(kind === "records"))),
  ];
  const [text] = await database.row(storedStatements[hasRecords ? "values" : "keys"], values, signal);
  const found = JSON.parse(text ?? "[]") as (StoredRecords | StoredRecord[] | null)[];
  return read.map((_, index) => {
    const one = found[index] ?? noRecords;
    return Array.isArray(one) ? collectRecords(one) : one;
  });
}

// Kind, key and value of a record. Null: cleared, or only the chain knows it. That of an ABI is only on the chain: it
// is empty or null.
type StoredRecord = [string, string, Hex | null];

function collectRecords(records: readonly StoredRecord[]): StoredRecords {
  const ofKind = (wanted: string) => records.filter(([kind]) => kind === wanted);
  const bytes = (value: Hex | null | undefined) => (value === "0x" ? null : (value ?? null));
  const hashOf = (value: Hex | null) => (bytes(value) === null ? null : keccak256(hexToBytes(value as Hex)));
  const text = (value: Hex | null | undefined) => (value ? textValue(textOfHex(value)) : null);
  const keep = (entries: readonly (readonly [string, string | null])[]) =>
    Object.fromEntries(entries.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
  const [coins, texts] = [ofKind("address"), ofKind("text")];
  const hash = ofKind("contenthash")[0]?.[2] ?? null;
  return {
    seenCoins: coins.map(([, coin]) => coin),
    seenTexts: texts.map(([, key]) => textOfHex(key)),
    addr: null,
    hash,
    set: {
      contenthash: bytes(hash),
      name: text(ofKind("name")[0]?.[2]),
      addresses: keep(coins.map(([, coin, value]) => [coin, bytes(value)])),
      texts: keep(texts.map(([, key, value]) => [textOfHex(key), text(value)])),
      abis: ofKind("abi").flatMap(([, type, value]) => (value === null ? [] : [type])),
      dataHashes: keep(ofKind("data").map(([, key, value]) => [textOfHex(key), hashOf(value)])),
    },
  };
}
