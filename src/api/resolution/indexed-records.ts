import type { Hex } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import { addressValue, nameValue } from "../../ens/record-values.ts";
import { defaultEvmCoinType, isEvmCoinType } from "../../ens/reverse-names.ts";
import type { Database } from "../database/client.ts";
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

const resolverSql = `
SELECT json_build_object('resolver', active.resolver, 'place', active.place, 'records', (
  SELECT json_build_object('name', r.name, 'contenthash', r.contenthash, 'pubkeyX', r.pubkey_x,
    'pubkeyY', r.pubkey_y, 'dnszonehash', r.dnszonehash)
  FROM resolver_records r WHERE r.id = 'eip155:' || $1 || ':' || active.resolver || '/' || $4
), 'addresses', (
  SELECT json_agg(json_build_array(a.coin_type::text, a.value)) FROM resolver_address_records a
  WHERE a.chain_id = $1::int AND a.address = active.resolver AND a.node = $4
    AND a.coin_type = ANY ($5::numeric[])
), 'texts', (
  SELECT json_agg(json_build_array(t.key, t.value)) FROM resolver_text_records t
  WHERE t.chain_id = $1::int AND t.address = active.resolver AND t.node = $4
    AND t.key_hash = ANY ($6::text[])
))::text
FROM (
  SELECT d.resolver, n.place - 1 AS place
  FROM unnest($3::text[]) WITH ORDINALITY n(node, place)
  JOIN domain_resolver_relations d ON d.chain_id = $1::int AND d.address = $2 AND d.domain_id = n.node
  ORDER BY n.place LIMIT 1
) active`;

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
    String(registry.chainId),
    registry.address,
    arrayOf(nodes),
    nodes[0],
    arrayOf(coinTypes),
    arrayOf(textKeys.map(keccak256)),
  ];
  const [text] = await database.row(resolverSql, values, signal);
  if (typeof text !== "string") return undefined;
  // The statement above gives the shape.
  const row = JSON.parse(text) as {
    resolver: Hex;
    place: number;
    records: Omit<IndexedRecords, "addresses" | "texts"> | null;
    addresses: [string, string][] | null;
    texts: [string, string][] | null;
  };
  const unset = { name: null, contenthash: null, pubkeyX: null, pubkeyY: null, dnszonehash: null };
  return {
    resolver: row.resolver,
    place: row.place,
    records: {
      ...(row.records ?? unset),
      addresses: new Map(row.addresses ?? []),
      texts: new Map(row.texts ?? []),
    },
  };
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

const reverseNameSql = `
SELECT value FROM reverse_name_records WHERE address = $1 AND coin_type = ANY ($2::numeric[])
ORDER BY coin_type = $3::numeric DESC LIMIT 1`;

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
