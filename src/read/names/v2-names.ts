import type { Hex } from "viem";
import { type CurrencyOf, currencies } from "../../deployments/currencies.ts";
import type { Namespace } from "../../deployments/deployment.ts";
import { ensv2Datasources, ethName } from "../../deployments/ensv2.ts";
import {
  isResolverCode,
  isUserRegistryCode,
  tokenIssuers,
  v2Subregistries,
} from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { interpretedLabel } from "../../ens/normalization.ts";
import type { Database } from "../sql/client.ts";
import { planOnce } from "../sql/prepared.ts";
import { walkedNames } from "./stored-name.ts";
import type { NamePath, WalkContracts } from "./v2-walk.ts";

/** The ENSv2 contracts: those of the walk, and others that read or write names. */
export type V2Contracts = WalkContracts & {
  /** CAIP-10 ids of the .eth registries, former deployments included. */
  ethRegistryIds: readonly string[];
  currencyOf: CurrencyOf;
  /** Implementations of the resolvers that the factory deploys. */
  resolvers: readonly Hex[];
  publicResolver: Hex;
  /** Sells names under .eth. */
  registrar: Hex;
  lockedMigrator: Hex;
};

/** The ENSv2 contracts in use in a namespace; undefined if it has none. */
export function findV2Contracts(namespace: Namespace): V2Contracts | undefined {
  const set = namespace[ensv2Datasources[0]];
  if (set === undefined) return undefined;
  const named = (name: string) =>
    (set.contracts[name]?.address?.toLowerCase() as Hex | undefined) ?? zeroAddress;
  const [root, ethRegistry] = [named("RootRegistry"), named("ETHRegistry")];
  return {
    chainId: set.chainId,
    root,
    ethRegistry,
    ethRegistryIds: [...v2Subregistries(namespace).values()].map(({ subregistryId }) => subregistryId),
    currencyOf: currencies(namespace),
    registries: [root, ethRegistry],
    registrar: named("ETHRegistrar"),
    graveyard: named("Graveyard"),
    resolvers: Object.keys(set.contracts).filter(isResolverCode).map(named),
    wrapperRegistries: [named("WrapperRegistryImpl")],
    userRegistries: Object.keys(set.contracts).filter(isUserRegistryCode).map(named),
    v1Resolver: named("ENSV1Resolver"),
    publicResolver: named("PublicResolverV2"),
    lockedMigrator: named("LockedMigrationController"),
    wrappers: tokenIssuers(namespace).flatMap(({ isNameWrapper, address }) => (isNameWrapper ? address : [])),
    isInForce: named("UniversalResolverV2") !== zeroAddress,
  };
}

/** The generation whose data are in force for a .eth name (docs/data-model.md). Null: the index cannot tell. */
type Authority = "v2" | "reserved" | "v1" | "none" | null;

/** Stored facts of a resolver contract. */
export type ResolverFacts = {
  implementation: Hex | null;
  hasRecordIds: boolean | null;
  isUpgraded: boolean | null;
};

/** A name in the registries at a time. A zero owner, resolver or registry means none. */
export type V2Name = ResolverFacts & {
  /** Registry that would hold the name; null if an ancestor has no subregistry. */
  registry: Hex | null;
  /** Registries from the root to `registry`; null likewise. */
  registryPath: Hex[] | null;
  /** Null if there never was an entry. */
  entry: {
    status: "available" | "reserved" | "registered";
    expiry: string;
    tokenId: Hex;
    /** Token holder, expired or not. Zero: nobody. Null: only the chain knows. */
    holder: Hex | null;
    /** Current resource of the roles: an expired entry has the next one. */
    resource: Hex;
    label: Hex;
    createdAt: string;
    migratedAt: string | null;
  } | null;
  /** Null if only the chain knows: in a registry that the factory did not deploy. */
  owner: Hex | null;
  subregistry: Hex;
  /** Nearest resolver from the name upwards, and the number of labels of the name that has it. */
  resolver: Hex;
  resolverLevel: number;
  /** Whether each registry of the path claims the name under which it was found. */
  isCanonical: boolean;
  /**
   * Whether the code of each registry of the path is known, so that events tell all. If not, the chain may return
   * another resolver.
   */
  isProven: boolean;
  authority: Authority;
  /** Generation whose data count for the name. Null: neither, or the index cannot tell. */
  version: "v1" | "v2" | null;
  /**
   * Of the generation in force. `owner` holds the token, or owns the name if there is none. Unix seconds. Null: none,
   * or unknown.
   */
  effective: { owner: Hex | null; resolver: Hex | null; expiry: string | null; graceEnds: string | null };
};

/** The interpreted label of a stored text: labelhash and label, both in hex. */
export function storedLabel(stored: string): string {
  const [labelhash, label] = [stored.slice(0, 66) as Hex, stored.slice(68)];
  return interpretedLabel(labelhash, Buffer.from(label, "hex").toString("utf8"));
}

/** The name of a stored text: the text itself, or after a leading space the stored label of a .eth name. */
export function nameOfStored(stored: string): string {
  return stored.startsWith(" ") ? `${storedLabel(stored.slice(1))}.${ethName.name}` : stored;
}

const askedSql = `
  SELECT n.index, n.value->'ids' AS ids, n.value->'labels' AS labels, n.value->'nodes' AS nodes,
    jsonb_array_length(n.value->'ids') AS depth
  FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY n(value, index)`;

const buildStatement = (contracts: V2Contracts, hasV1: boolean) =>
  planOnce(`
SELECT json_agg(json_build_object('registry', entry.registry, 'registryPath', entry.registry_path,
  'entry', CASE WHEN entry.storage_id IS NOT NULL THEN json_build_object('status', entry.status, 'expiry', entry.expiry::text,
    'tokenId', entry.token_id, 'holder', entry.holder, 'resource', entry.resource, 'label', entry.label,
    'createdAt', entry.created_at::text, 'migratedAt', entry.migrated_at::text) END,
  'owner', entry.owner, 'subregistry', coalesce(entry.subregistry, '${zeroAddress}'), 'resolver', entry.resolver, 'resolverLevel', entry.resolver_level,
  'isCanonical', entry.is_canonical, 'isProven', entry.is_proven, 'implementation', entry.implementation,
  'hasRecordIds', entry.has_record_ids, 'isUpgraded', entry.is_upgraded, 'authority', entry.authority, 'version', entry.version,
  'effective', json_build_object('owner', in_force.owner, 'resolver', in_force.resolver, 'expiry', in_force.expires::text,
    'graceEnds', in_force.grace_ends::text)
) ORDER BY entry.index)::text
FROM ${walkedNames(askedSql, contracts, { time: "$2::numeric", hasV1 })}`);

/** Reads names at a time (Unix seconds) in one statement that walks from the root. `hasV1`: ENSv1 names are indexed. */
export async function readV2Names(
  database: Database,
  contracts: V2Contracts,
  { paths, time, hasV1 }: { paths: readonly NamePath[]; time: number; hasV1: boolean },
  signal: AbortSignal,
): Promise<V2Name[]> {
  const values = [JSON.stringify(paths), String(time)];
  const [text] = await database.row(buildStatement(contracts, hasV1), values, signal);
  const found = JSON.parse(text ?? "[]") as V2Name[];
  return found.map(({ entry, ...rest }) => ({
    ...rest,
    entry: entry && { ...entry, resource: computeResource(entry) },
  }));
}

const nodesOfToken = planOnce(`
SELECT coalesce(json_agg(v.id ORDER BY v.path), '[]')::text FROM v2_entries e
JOIN v2_domains v ON v.registry = e.registry AND v.labelhash = e.labelhash
WHERE e.chain_id = $1::int AND e.registry = $2 AND e.storage_id = $3 AND e.token_id = $4`);

/**
 * Nodes of the names that a registry's token, present or last, stands for: one for each path of the registry.
 * `tokenId`: 32 bytes.
 */
export async function readNodesOfToken(
  database: Database,
  [chainId, registry, tokenId]: readonly [chainId: number, registry: Hex, tokenId: Hex],
  signal: AbortSignal,
): Promise<Hex[]> {
  const storageId = `${tokenId.slice(0, -8)}00000000`;
  const [nodes] = await database.row(nodesOfToken, [String(chainId), registry, storageId, tokenId], signal);
  return JSON.parse(nodes ?? "[]") as Hex[];
}

function computeResource({ status, resource }: NonNullable<V2Name["entry"]>): Hex {
  if (status !== "available") return resource;
  return `0x${(BigInt(resource) + 1n).toString(16).padStart(64, "0")}`;
}

/** How events determine what a resolver returns; "unknown" unless its code is known. */
export function kindOfResolver(
  resolver: Hex,
  { implementation, hasRecordIds, isUpgraded }: ResolverFacts,
  { v1Resolver, publicResolver, resolvers }: Pick<V2Contracts, "v1Resolver" | "publicResolver" | "resolvers">,
): "none" | "v1" | "public" | "nodes" | "records" | "unknown" {
  if (resolver === zeroAddress) return "none";
  if (resolver === v1Resolver) return "v1";
  if (resolver === publicResolver) return "public";
  if (implementation === null || isUpgraded || !resolvers.includes(implementation)) return "unknown";
  return hasRecordIds ? "records" : "nodes";
}
