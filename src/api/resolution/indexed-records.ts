import type { Hex } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import { addressValue, nameValue } from "../../ens/record-values.ts";
import { defaultEvmCoinType, isEvmCoinType } from "../../ens/reverse-names.ts";
import { type Database, planOnce } from "../database/client.ts";
import { type Records, recordsBy, type Selection } from "./selection.ts";

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

/** The single records of a resolver without any. */
export const noRecords = { name: null, contenthash: null, pubkeyX: null, pubkeyY: null, dnszonehash: null };

// Hex and digits only, so that nothing needs to be quoted.
function arrayOf(items: readonly (string | bigint)[]): string {
  return `{${items.join(",")}}`;
}

/** The part of a selection that only the chain knows: ABIs, interfaces, and the version before its first change. */
export const liveSelection = ({ version, abi, interfaces }: Selection): Selection => ({
  version,
  abi,
  interfaces,
});

/** The rest of the selection, from the index. `hasDefaultAddress`: see StaticResolver. */
export function indexedRecords(
  records: IndexedRecords,
  selection: Selection,
  { hasDefaultAddress }: { hasDefaultAddress: boolean },
): Records {
  const { name, pubkeyX: x, pubkeyY: y } = records;
  const addressOf = (coinType: bigint): string | null => {
    const own = records.addresses.get(String(coinType));
    const isFallback = own === undefined && hasDefaultAddress && isEvmCoinType(coinType);
    const raw = isFallback ? records.addresses.get(String(defaultEvmCoinType)) : own;
    return raw === undefined ? null : addressValue(raw);
  };
  const indexed = { ...selection, version: undefined, abi: undefined, interfaces: undefined };
  return recordsBy(indexed, (family, key) => {
    if (family === "addresses") return addressOf(key as bigint);
    if (family === "texts") return records.texts.get(String(key)) ?? null;
    if (family === "name") return name === null ? null : nameValue(name);
    if (family === "pubkey") return x === null || y === null ? null : { x, y };
    return family === "contenthash" ? records.contenthash : records.dnszonehash;
  });
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
