import type { Hex } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import { addressValue, nameRecord } from "../../ens/record-values.ts";
import { defaultEvmCoinType, isEvmCoinType } from "../../ens/reverse-names.ts";
import type { Database } from "../sql/client.ts";
import { planOnce } from "../sql/prepared.ts";
import type { Registry } from "./known-contracts.ts";
import { type Records, recordsBy, type Selection } from "./selection.ts";

/** Raw records of a node in a resolver; absent ones are unset. */
export type IndexedRecords = {
  name: string | null;
  contenthash: Hex | null;
  pubkeyX?: Hex | null;
  pubkeyY?: Hex | null;
  dnszonehash?: Hex | null;
  /** By coin type. */
  addresses: Record<string, string> | null;
  texts: Record<string, string> | null;
  /** Content types of ABIs, whose text is only on the chain. */
  abis?: string[] | null;
  /** keccak-256 of the values of data records by key; the values are on the chain. */
  dataHashes?: Record<string, string> | null;
};

/** A name's resolver, the index of the node that has it (0: the name's own), and the name's records there. */
export type IndexedResolver = { resolver: Hex; index: number; records: IndexedRecords | null };

type ResolverSql = Record<"chain" | "resolver" | "node", string>;

/**
 * SQL of `IndexedRecords` as JSON, null for a node that never had records. `only`: SQL of the coin types and text key
 * hashes to read.
 */
export function indexedRecordsJson(
  { chain, resolver, node }: ResolverSql,
  only?: Record<"coinTypes" | "keyHashes", string>,
): string {
  const coins = only ? `AND a.coin_type = ANY (${only.coinTypes}::numeric[])` : "";
  const keys = only ? `AND t.key_hash = ANY (${only.keyHashes}::text[])` : "";
  return `(SELECT json_build_object('contenthash', v.contenthash, 'name', v.name,
  'pubkeyX', v.pubkey_x, 'pubkeyY', v.pubkey_y, 'dnszonehash', v.dnszonehash, 'abis', v.abi_content_types::text[],
  'addresses', (SELECT json_object_agg(a.coin_type::text, a.value) FROM resolver_address_records a
    WHERE a.chain_id = v.chain_id AND a.address = v.address AND a.node = v.node ${coins}),
  'texts', (SELECT json_object_agg(t.key, t.value) FROM resolver_text_records t
    WHERE t.chain_id = v.chain_id AND t.address = v.address AND t.node = v.node ${keys}),
  'dataHashes', CASE WHEN v.data_keys IS NOT NULL THEN (SELECT json_object_agg(d.key, d.value_hash) FROM resolver_data_records d
    WHERE d.chain_id = v.chain_id AND d.address = v.address AND d.node = v.node) END)
  FROM resolver_records v WHERE v.id = 'eip155:' || ${chain} || ':' || ${resolver} || '/' || ${node})`;
}

/** Records of a node that has none. */
export const unset: IndexedRecords = { contenthash: null, name: null, addresses: null, texts: null };

// $1: chain, $2: node, $3: registry, $4: nodes, $5: coin types, $6: hashes of text keys.
const resolverSql = planOnce(`
SELECT json_build_object('resolver', active.resolver, 'index', active.index, 'records', ${indexedRecordsJson(
  { chain: "$1", resolver: "active.resolver", node: "$2" },
  { coinTypes: "$5", keyHashes: "$6" },
)})::text
FROM (
  SELECT d.resolver, n.index - 1 AS index
  FROM unnest($4::text[]) WITH ORDINALITY n(node, index)
  JOIN domain_resolver_relations d ON d.chain_id = $1::int AND d.address = $3 AND d.domain_id = n.node
  ORDER BY n.index LIMIT 1
) active`);

/**
 * The resolver of the first of `nodes` (the name's own, then its ancestors') that has one, with the name's selected
 * records there.
 */
export async function indexedResolver(
  database: Database,
  { registry, nodes, selection }: { registry: Registry; nodes: readonly Hex[]; selection: Selection },
  signal: AbortSignal,
): Promise<IndexedResolver | undefined> {
  const { addresses = [], texts = [] } = selection;
  const [node] = nodes;
  if (node === undefined) return undefined;
  const values = [
    ...[String(registry.chainId), node, registry.address, formatArray(nodes)],
    // Some resolvers fall back to the default address (ENSIP-19).
    formatArray([...addresses, defaultEvmCoinType]),
    formatArray(texts.map((key) => keccak256(key))),
  ];
  const [text] = await database.row(resolverSql, values, signal);
  return typeof text === "string" ? JSON.parse(text) : undefined;
}

/** Text of a Postgres array of words that need no quotes, such as hex and digits. */
export const formatArray = (items: readonly (string | number | bigint)[]): string => `{${items.join(",")}}`;

/** The selected records, which must be of indexed families. `hasDefaultAddress`: see StaticResolver. */
export function indexedRecords(
  records: IndexedRecords | null,
  selection: Selection,
  { hasDefaultAddress }: { hasDefaultAddress: boolean },
): Records {
  const { name, contenthash, pubkeyX: x, pubkeyY: y, dnszonehash, ...lists } = records ?? unset;
  // Maps, because anybody can set a key such as `constructor`.
  const [addresses, texts] = [lists.addresses, lists.texts].map((one) => new Map(Object.entries(one ?? {})));
  const addressOf = (coinType: bigint): string | null => {
    const own = addresses?.get(String(coinType));
    const isFallback = own === undefined && hasDefaultAddress && isEvmCoinType(coinType);
    const raw = isFallback ? addresses?.get(String(defaultEvmCoinType)) : own;
    return raw === undefined ? null : addressValue(raw);
  };
  return recordsBy(selection, (family, key) => {
    if (family === "addresses") return addressOf(key as bigint);
    if (family === "texts") return texts?.get(String(key)) ?? null;
    if (family === "name") return name === null ? null : nameRecord(name, key);
    if (family === "pubkey") return x && y ? { x, y } : null;
    return (family === "contenthash" ? contenthash : dnszonehash) ?? null;
  });
}

const reverseNameSql = planOnce(`
SELECT value FROM reverse_name_records WHERE address = $1 AND coin_type = ANY ($2::numeric[])
ORDER BY coin_type = $3::numeric DESC LIMIT 1`);

/** An account's reverse name for a coin type, else its default one (ENSIP-19); raw and unchecked. */
export async function indexedReverseName(
  database: Database,
  { address, coinType }: { address: Hex; coinType: bigint },
  signal: AbortSignal,
): Promise<string | undefined> {
  const values = [address, formatArray([coinType, defaultEvmCoinType]), String(coinType)];
  const [value] = await database.row(reverseNameSql, values, signal);
  return value ?? undefined;
}
