import type { Hex } from "viem";
import { rootNode } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { dnsLabels } from "../../ens/names.ts";
import { addressValue, nameValue, textValue } from "../../ens/record-values.ts";
import { defaultEvmCoinType, isEvmCoinType } from "../../ens/reverse-names.ts";
import { type Database, planOnce } from "../database/client.ts";
import { emptySelection, type Records, type Selection } from "./selection.ts";

/** Raw values of a resolver's records; absent ones are unset. */
export type IndexedRecords = {
  name: string | null;
  contenthash: Hex | null;
  pubkeyX: Hex | null;
  pubkeyY: Hex | null;
  dnszonehash: Hex | null;
  addresses: Map<string, string>;
  texts: Map<string, string>;
};

/** The resolver of a name, its place among the given nodes (0: set for the name itself), and its records. */
export type IndexedResolver = { resolver: Hex; place: number; records: IndexedRecords };

// $1: chain, $2: node, $3: coin types, $4: hashes of text keys.
const recordsSql = `
'records', (
  SELECT json_build_object('name', r.name, 'contenthash', r.contenthash, 'pubkeyX', r.pubkey_x,
    'pubkeyY', r.pubkey_y, 'dnszonehash', r.dnszonehash)
  FROM resolver_records r WHERE r.id = 'eip155:' || $1 || ':' || active.resolver || '/' || $2
), 'addresses', (
  SELECT json_agg(json_build_array(a.coin_type::text, a.value)) FROM resolver_address_records a
  WHERE a.chain_id = $1::int AND a.address = active.resolver AND a.node = $2
    AND a.coin_type = ANY ($3::numeric[])
), 'texts', (
  SELECT json_agg(json_build_array(t.key, t.value)) FROM resolver_text_records t
  WHERE t.chain_id = $1::int AND t.address = active.resolver AND t.node = $2
    AND t.key_hash = ANY ($4::text[])
)`;

const resolverSql = planOnce(`
SELECT json_build_object('resolver', active.resolver, 'place', active.place, ${recordsSql})::text
FROM (
  SELECT d.resolver, n.place - 1 AS place
  FROM unnest($6::text[]) WITH ORDINALITY n(node, place)
  JOIN domain_resolver_relations d ON d.chain_id = $1::int AND d.address = $5 AND d.domain_id = n.node
  ORDER BY n.place LIMIT 1
) active`);

const nodeSql = planOnce(
  `SELECT json_build_object(${recordsSql})::text FROM (SELECT $5::text AS resolver) active`,
);

type StoredRecords = {
  records: Omit<IndexedRecords, "addresses" | "texts"> | null;
  addresses: [string, string][] | null;
  texts: [string, string][] | null;
};

/**
 * The resolver that a registry has for the first of `nodes` (a name's own first, then its ancestors') with one, and the
 * first node's selected records there. Undefined if no node has a resolver.
 */
export async function indexedResolver(
  database: Database,
  {
    registry,
    nodes,
    coinTypes,
    textKeys,
  }: {
    registry: { chainId: number; address: Hex };
    nodes: readonly [Hex, ...Hex[]];
    coinTypes: readonly bigint[];
    textKeys: readonly string[];
  },
  signal: AbortSignal,
): Promise<IndexedResolver | undefined> {
  const values = [
    ...selected({ chainId: registry.chainId, node: nodes[0], coinTypes, textKeys }),
    registry.address,
    arrayOf(nodes),
  ];
  const [text] = await database.row(resolverSql, values, signal);
  if (typeof text !== "string") return undefined;
  // The statement above gives the shape.
  const row = JSON.parse(text) as StoredRecords & { resolver: Hex; place: number };
  return { resolver: row.resolver, place: row.place, records: storedRecords(row) };
}

/** Which records of a node: coin types as decimal numbers, text keys as text. */
export type Selected = {
  chainId: number;
  node: Hex;
  coinTypes: readonly bigint[];
  textKeys: readonly string[];
};

/** The selected records that a resolver keyed by nodes holds for a node. */
export async function recordsOfNode(
  database: Database,
  { resolver, ...selection }: Selected & { resolver: Hex },
  signal: AbortSignal,
): Promise<IndexedRecords> {
  const [text] = await database.row(nodeSql, [...selected(selection), resolver], signal);
  return storedRecords(JSON.parse(text ?? "{}") as StoredRecords);
}

function selected({ chainId, node, coinTypes, textKeys }: Selected): string[] {
  return [String(chainId), node, arrayOf(coinTypes), arrayOf(textKeys.map(keccak256))];
}

function storedRecords({ records, addresses, texts }: StoredRecords): IndexedRecords {
  return {
    ...(records ?? noRecords),
    addresses: new Map(addresses ?? []),
    texts: new Map(texts ?? []),
  };
}

const noRecords = { name: null, contenthash: null, pubkeyX: null, pubkeyY: null, dnszonehash: null };

// The record that a node is linked to, else the one that the root node is.
const linkedSql = planOnce(`
SELECT json_agg(json_build_array(r.kind, r.key, r.value))::text
FROM v2_records r
WHERE r.chain_id = $1::int AND r.resolver = $2 AND r.record_id = coalesce(
    (SELECT nullif(l.record_id, 0) FROM v2_record_links l WHERE l.chain_id = $1::int AND l.resolver = $2 AND l.node = $3),
    (SELECT nullif(l.record_id, 0) FROM v2_record_links l
      WHERE l.chain_id = $1::int AND l.resolver = $2 AND l.node = '${rootNode}'))
  AND r.key_hash = ANY ($4::text[])
  AND r.generation = coalesce((SELECT g.generation FROM v2_record_generations g
    WHERE g.chain_id = $1::int AND g.resolver = $2 AND g.record_id = r.record_id), 0)`);

/** The selected records that a resolver with record ids holds for a node. */
export async function recordsOfLink(
  database: Database,
  { chainId, resolver, node, coinTypes, textKeys }: Selected & { resolver: Hex },
  signal: AbortSignal,
): Promise<IndexedRecords> {
  const hexKeys = new Map(
    textKeys.map((key): [Hex, string] => [`0x${Buffer.from(key).toString("hex")}`, key]),
  );
  const keys = [
    "contenthash:",
    "name:",
    ...coinTypes.map((type) => `address:${type}`),
    ...[...hexKeys.keys()].map((key) => `text:${key}`),
  ];
  const values = [String(chainId), resolver, node, arrayOf(keys.map(keccak256))];
  const [text] = await database.row(linkedSql, values, signal);
  const found = (JSON.parse(text ?? "[]") as [string, string, Hex | null][]).filter(
    ([, , value]) => value !== "0x",
  );
  const ofKind = (kind: string) => found.filter(([one]) => one === kind);
  const plain = (hex: Hex | null | undefined) =>
    hex ? Buffer.from(hex.slice(2), "hex").toString("utf8") : "";
  return {
    ...noRecords,
    contenthash: ofKind("contenthash")[0]?.[2] ?? null,
    name: textValue(plain(ofKind("name")[0]?.[2])),
    addresses: new Map(ofKind("address").map(([, coinType, value]) => [coinType, value ?? ""])),
    texts: new Map(
      ofKind("text").flatMap(([, key, value]) => {
        const read = textValue(plain(value));
        return read === null ? [] : [[hexKeys.get(key as Hex) ?? key, read] as const];
      }),
    ),
  };
}

const aliasSql = planOnce(`
SELECT s.place::text, a.target FROM unnest($3::text[]) WITH ORDINALITY s(hash, place)
JOIN v2_aliases a ON a.chain_id = $1::int AND a.resolver = $2 AND a.name_hash = s.hash AND a.target <> '0x'
ORDER BY s.place LIMIT 1`);

/** How many aliases of a name are followed. */
export const mostAliases = 20;

/**
 * The labels of the name that a resolver reads for a name: the longest suffix with an alias is replaced, again and again until
 * none has one or the same target comes back. Undefined where the resolver may fail: aliases without end, malformed targets.
 */
export async function aliasedLabels(
  database: Database,
  { chainId, resolver, labels }: { chainId: number; resolver: Hex; labels: readonly Buffer[] },
  signal: AbortSignal,
): Promise<readonly Buffer[] | undefined> {
  let current = labels;
  let last: string | undefined;
  for (let round = 0; round < mostAliases; round++) {
    const [place, target] = await database.row(
      aliasSql,
      [String(chainId), resolver, arrayOf(suffixHashes(current))],
      signal,
    );
    if (typeof target !== "string" || target === last) return current;
    const replaced = withSuffix(current, Number(place), target as Hex);
    if (replaced === undefined) return undefined;
    current = replaced;
    last = target;
  }
  return undefined;
}

/** By which aliases are stored: hashes of a name and the names above it, the root included. */
export function suffixHashes(labels: readonly Buffer[]): Hex[] {
  return [...labels.keys(), labels.length].map((place) => keccak256(wireForm(labels.slice(place))));
}

/** The labels whose suffix from a place on (1: all) is replaced by a name in wire form; undefined if that is malformed. */
export function withSuffix(
  labels: readonly Buffer[],
  place: number,
  target: Hex,
): readonly Buffer[] | undefined {
  const replaced = dnsLabels(target);
  if (replaced === undefined || wireForm(replaced).length !== target.length / 2 - 1) return undefined;
  return [...labels.slice(0, place - 1), ...replaced];
}

function wireForm(labels: readonly Buffer[]): Buffer {
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), label]),
    Buffer.from([0]),
  ]);
}

// Hex and digits only, so that nothing needs to be quoted.
function arrayOf(items: readonly (string | bigint)[]): string {
  return `{${items.join(",")}}`;
}

/** The part of a selection that only the chain knows: ABIs, interfaces, and the version before its first change. */
export function liveSelection({ version, abi, interfaces }: Selection): Selection {
  return { ...emptySelection(), version, abi, interfaces };
}

/** The rest of the selection, from the index. `hasDefaultAddress`: see StaticResolver. */
export function indexedRecords(
  records: IndexedRecords,
  selection: Selection,
  { hasDefaultAddress }: { hasDefaultAddress: boolean },
): Records {
  const address = (coinType: bigint): string | null => {
    const own = records.addresses.get(String(coinType));
    const isFallback = own === undefined && hasDefaultAddress && isEvmCoinType(coinType);
    const raw = isFallback ? records.addresses.get(String(defaultEvmCoinType)) : own;
    return raw === undefined ? null : addressValue(raw);
  };
  const { pubkeyX: x, pubkeyY: y } = records;
  return {
    ...(selection.name ? { name: records.name === null ? null : nameValue(records.name) } : {}),
    ...(selection.addresses.length > 0
      ? { addresses: Object.fromEntries(selection.addresses.map((type) => [String(type), address(type)])) }
      : {}),
    ...(selection.texts.length > 0
      ? { texts: Object.fromEntries(selection.texts.map((key) => [key, records.texts.get(key) ?? null])) }
      : {}),
    ...(selection.contenthash ? { contenthash: records.contenthash } : {}),
    ...(selection.pubkey ? { pubkey: x === null || y === null ? null : { x, y } } : {}),
    ...(selection.dnszonehash ? { dnszonehash: records.dnszonehash } : {}),
  };
}

const reverseNameSql = planOnce(`
SELECT value FROM reverse_name_records WHERE address = $1 AND coin_type = ANY ($2::numeric[])
ORDER BY coin_type = $3::numeric DESC LIMIT 1`);

/** The name that an account gave itself for a coin type, else its default one (ENSIP-19); raw and unchecked. */
export async function indexedReverseName(
  database: Database,
  { address, coinType }: { address: Hex; coinType: bigint },
  signal: AbortSignal,
): Promise<string | undefined> {
  const values = [address, `{${coinType},${defaultEvmCoinType}}`, String(coinType)];
  const [value] = await database.row(reverseNameSql, values, signal);
  return value ?? undefined;
}
