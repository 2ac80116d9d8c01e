import type { Hex } from "viem";
import { keccak256 } from "../../ens/keccak.ts";
import type { Database } from "../database/client.ts";

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

/** The nearest resolver above a name, its place among the nodes asked for (0: the name itself), and its records. */
export type IndexedResolver = { resolver: Hex; place: number; records: IndexedRecords };

const statement = `
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
 * The resolver that a registry holds for the first of `nodes` (a name's own first, then those above it) that has one, with
 * the asked records of the first node there. Undefined if none has a resolver.
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
  const [text] = await database.row(statement, values, signal);
  if (typeof text !== "string") return undefined;
  // The statement above is what gives the shape.
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
