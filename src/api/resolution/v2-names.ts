import type { Hex } from "viem";
import type { Namespace } from "../../deployments/deployment.ts";
import { ensv2Datasources } from "../../deployments/ensv2.ts";
import { rootNode, subnode, zeroAddress } from "../../ens/nodes.ts";
import type { Database } from "../database/client.ts";

/** The contracts by which names of the second generation are read: one set, all on the root chain. Addresses in lower case. */
export type V2Contracts = {
  chainId: number;
  root: Hex;
  /** Registries besides those that the factory deployed, whose tokens are followed too. */
  registries: readonly Hex[];
  ethRegistry: Hex;
  /** Where tokens of migrated names lie. */
  graveyard: Hex;
  /** Implementations of the resolvers that the factory deploys. */
  resolvers: readonly Hex[];
  /** Resolves what the first generation knows. */
  v1Resolver: Hex;
  publicResolver: Hex;
  /** Whether the Universal Resolver of the chain answers from these registries. */
  isInForce: boolean;
};

/** The contracts of the namespace's set in use; undefined where it has none. */
export function v2ContractsOf(namespace: Namespace): V2Contracts | undefined {
  const set = namespace[ensv2Datasources[0]];
  if (set === undefined) return undefined;
  const named = (name: string) =>
    (set.contracts[name]?.address?.toLowerCase() as Hex | undefined) ?? zeroAddress;
  const [root, ethRegistry] = [named("RootRegistry"), named("ETHRegistry")];
  return {
    chainId: set.chainId,
    root,
    ethRegistry,
    registries: [root, ethRegistry],
    graveyard: named("Graveyard"),
    resolvers: Object.keys(set.contracts).filter(isResolverCode).map(named),
    v1Resolver: named("ENSV1Resolver"),
    publicResolver: named("PublicResolverV2"),
    isInForce: named("UniversalResolverV2") !== zeroAddress,
  };
}

const isResolverCode = (name: string) => name.endsWith("ResolverImpl");

/** Which generation's data are in force for a name under .eth: see docs/data-model.md. Null: the index cannot tell. */
type Authority = "v2" | "reserved" | "v1" | "none" | null;

/** A name as the registries have it at a time. Zero owner, resolver or registry: none. */
export type V2Name = {
  /** Registry that would hold the name; null where a name above it has none. */
  registry: Hex | null;
  /** Null where no entry was ever made. */
  entry: {
    status: "available" | "reserved" | "registered";
    expiry: string;
    tokenId: Hex;
    /** Of the roles, now: an expired entry has the next one. */
    resource: Hex;
    label: Hex;
    createdAt: string;
    migratedAt: string | null;
  } | null;
  /** Null where only the chain knows: in a registry that the factory did not deploy. */
  owner: Hex | null;
  subregistry: Hex;
  /** Nearest resolver from the name upwards, and its name's number of labels. */
  resolver: Hex;
  resolverLevel: number;
  resolverKind: "none" | "v1" | "public" | "nodes" | "records" | "unknown";
  /** Whether each registry on the way claims the place at which it was found. */
  isCanonical: boolean;
  authority: Authority;
};

/** A name as its labels, the top one first: their hashes and the nodes of the names that they end. */
export type NamePath = { labelhashes: readonly Hex[]; nodes: readonly Hex[] };

/** The path of a name of these labelhashes, the name's own first. */
export function pathOf(labelhashes: readonly Hex[]): NamePath {
  const fromTop = labelhashes.toReversed();
  let node = rootNode;
  const nodes = fromTop.map((labelhash) => {
    node = subnode(node, labelhash);
    return node;
  });
  return { labelhashes: fromTop, nodes };
}

const graceOfV1 = 90 * 86_400;
const parentCannotControl = 1 << 16;
const isDotEth = 1 << 17;

// One row per label on the way down. A path is as long as its name, so cycles of registries end.
const walkSql = `
WITH RECURSIVE asked AS (
  SELECT n.place, n.value->'ids' AS ids, n.value->'nodes' AS nodes, jsonb_array_length(n.value->'ids') AS depth
  FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY n(value, place)
), walk AS (
  SELECT place, 0 AS level, NULL::text COLLATE "C" AS holder, $3::text COLLATE "C" AS registry, NULL::text COLLATE "C" AS storage_id, false AS is_live,
    '${zeroAddress}'::text COLLATE "C" AS resolver, 0 AS resolver_level, NULL::boolean AS is_canonical, true AS is_claimed,
    NULL::text COLLATE "C" AS eth_status
  FROM asked
  UNION ALL
  SELECT w.place, w.level + 1, w.registry,
    CASE WHEN e.expiry > $4::numeric AND e.subregistry <> '${zeroAddress}' THEN e.subregistry END,
    e.storage_id, coalesce(e.expiry > $4::numeric, false),
    CASE WHEN e.expiry > $4::numeric AND e.resolver <> '${zeroAddress}' THEN e.resolver WHEN wrapped.id IS NOT NULL THEN $6
      ELSE w.resolver END,
    CASE WHEN (e.expiry > $4::numeric AND e.resolver <> '${zeroAddress}') OR wrapped.id IS NOT NULL THEN w.level + 1
      ELSE w.resolver_level END,
    w.is_claimed, w.is_claimed AND coalesce(c.parent = w.registry AND c.parent_label = e.label, false),
    CASE WHEN w.registry <> $5 OR w.level <> 1 THEN w.eth_status WHEN coalesce(e.expiry, 0) <= $4::numeric THEN 'available'
      WHEN e.owner = '${zeroAddress}' THEN 'reserved' ELSE 'v2' END
  FROM walk w JOIN asked a USING (place)
  LEFT JOIN v2_entries e
    ON e.chain_id = $2::int AND e.registry = w.registry AND e.storage_id = a.ids->>w.level
  LEFT JOIN v2_contracts c ON c.chain_id = $2::int AND c.address = e.subregistry
  LEFT JOIN v2_contracts h ON h.chain_id = $2::int AND h.address = w.registry AND h.node = a.nodes->>(w.level - 1)
  LEFT JOIN (wrapped_domain wrapped JOIN domain d ON d.id = wrapped.id AND d.owner_id <> '${zeroAddress}')
    ON e.storage_id IS NULL AND h.node IS NOT NULL AND wrapped.id = a.nodes->>w.level
    AND wrapped.fuses & ${parentCannotControl | isDotEth} = ${parentCannotControl} AND wrapped.expiry_date >= $4::numeric
  WHERE w.registry IS NOT NULL AND w.level < a.depth
), found AS (
  SELECT DISTINCT ON (place) * FROM walk ORDER BY place, level DESC
)
SELECT json_agg(json_build_object(
  'registry', CASE WHEN f.level = a.depth THEN f.holder END,
  'entry', CASE WHEN f.level = a.depth AND e.storage_id IS NOT NULL THEN json_build_object(
    'status', CASE WHEN NOT f.is_live THEN 'available' WHEN e.owner = '${zeroAddress}' THEN 'reserved' ELSE 'registered' END,
    'expiry', e.expiry::text, 'tokenId', e.token_id, 'resource', e.resource, 'label', e.label,
    'createdAt', e.created_at::text, 'migratedAt', e.migrated_at::text) END,
  'owner', CASE WHEN f.level < a.depth OR NOT f.is_live THEN '${zeroAddress}'
    WHEN f.holder = ANY ($7::text[]) OR h.implementation IS NOT NULL THEN e.owner END,
  'subregistry', CASE WHEN f.level = a.depth THEN f.registry END,
  'resolver', f.resolver, 'resolverLevel', f.resolver_level, 'isCanonical', f.level = a.depth AND f.is_canonical,
  'implementation', r.implementation, 'hasRecordIds', r.has_record_ids, 'ethStatus', f.eth_status,
  'v1', CASE WHEN $9::text = 'true' AND a.nodes->>0 = $8 AND a.depth > 1 THEN
    CASE WHEN v1.expiry_date + ${graceOfV1} < $4::numeric OR v1.id IS NULL THEN 'none'
      WHEN v1.registrant_id = $10 AND v1.expiry_date >= $4::numeric THEN 'none' ELSE 'v1' END END
) ORDER BY f.place)::text
FROM found f JOIN asked a USING (place)
LEFT JOIN v2_entries e ON e.chain_id = $2::int AND e.registry = f.holder AND e.storage_id = f.storage_id
LEFT JOIN v2_contracts h ON h.chain_id = $2::int AND h.address = f.holder
LEFT JOIN v2_contracts r ON r.chain_id = $2::int AND r.address = f.resolver
LEFT JOIN registration v1 ON v1.id = a.nodes->>1`;

type Row = Omit<V2Name, "resolverKind" | "authority" | "subregistry"> & {
  subregistry: Hex | null;
  implementation: Hex | null;
  hasRecordIds: boolean | null;
  ethStatus: "available" | "reserved" | "v2" | null;
  v1: "v1" | "none" | null;
};

const ethNode = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";

/**
 * Names at a time (Unix seconds), read by walking from the root in one statement. `hasV1`: whether the index has the names of
 * the first generation.
 */
export async function readV2Names(
  database: Database,
  contracts: V2Contracts,
  { paths, time, hasV1 }: { paths: readonly NamePath[]; time: number; hasV1: boolean },
  signal: AbortSignal,
): Promise<V2Name[]> {
  const asked = paths.map(({ labelhashes, nodes }) => ({
    ids: labelhashes.map((hash) => `${hash.slice(0, -8)}00000000`),
    nodes,
  }));
  const { chainId, root, ethRegistry, v1Resolver, registries, graveyard } = contracts;
  const [text] = await database.row(
    walkSql,
    [
      JSON.stringify(asked),
      String(chainId),
      root,
      String(time),
      ethRegistry,
      v1Resolver,
      `{${registries.join(",")}}`,
      ethNode,
      String(hasV1),
      graveyard,
    ],
    signal,
  );
  return (JSON.parse(text ?? "[]") as Row[]).map((row) => nameOf(row, contracts));
}

function nameOf(
  { implementation, hasRecordIds, ethStatus, v1, ...row }: Row,
  contracts: V2Contracts,
): V2Name {
  return {
    ...row,
    entry: row.entry && { ...row.entry, resource: resourceOf(row.entry) },
    subregistry: row.subregistry ?? zeroAddress,
    resolverKind: kindOf(row.resolver, { implementation, hasRecordIds }, contracts),
    authority: ethStatus === "v2" || ethStatus === "reserved" ? ethStatus : v1,
  };
}

function resourceOf({ status, resource }: NonNullable<V2Name["entry"]>): Hex {
  if (status !== "available") return resource;
  return `0x${(BigInt(resource) + 1n).toString(16).padStart(64, "0")}`;
}

// What events tell of a resolver's responses: only those of known code are sure.
function kindOf(
  resolver: Hex,
  { implementation, hasRecordIds }: Pick<Row, "implementation" | "hasRecordIds">,
  { v1Resolver, publicResolver, resolvers }: V2Contracts,
): V2Name["resolverKind"] {
  if (resolver === zeroAddress) return "none";
  if (resolver === v1Resolver) return "v1";
  if (resolver === publicResolver) return "public";
  if (implementation === null || !resolvers.includes(implementation)) return "unknown";
  return hasRecordIds ? "records" : "nodes";
}
