import type { Hex } from "viem";
import { z } from "zod/v4";
import { tokenIdToHex } from "../../ens/ids.ts";
import { labelhash } from "../../ens/labels.ts";
import { type Database, planOnce } from "../database/client.ts";
import { generationSql, versionSql } from "../database/v2-walk.ts";
import {
  nameOfStored,
  pathOf,
  readV2Names,
  tokensOfEntry,
  type V2Contracts,
} from "../resolution/v2-names.ts";
import { addressSchema, chainIdSchema, field, hashSchema, readingOf } from "../rest/values.ts";

/** The fields of a token, from a table that has them under the alias `table`. */
export function tokenFields(table: string) {
  return {
    assetNamespace: field(`${table}.asset_namespace`, z.enum(["erc721", "erc1155"])),
    contract: {
      chainId: field(`${table}.chain_id`, chainIdSchema),
      address: field(`${table}.contract_address`, addressSchema),
    },
    tokenId: field(`${table}.token_id::text`, hashSchema, (decimal) => tokenIdToHex(BigInt(decimal))),
  };
}

/** How a token is read. */
export const token = readingOf({
  token: tokenFields("t"),
  owner: { chainId: field("t.chain_id", chainIdSchema), address: field("t.owner", addressSchema) },
  mintStatus: field("t.mint_status", z.enum(["minted", "burned"])),
});
/** A token, as responses have it. */
export type Token = z.output<typeof token.schema>;

// Both generations: where ENSv2 is not indexed, there are no entries and its columns stay unread.
const statement = planOnce(`
SELECT coalesce(' ' || e.labelhash || e.label, d.name), CASE WHEN k.is_entry THEN e.expiry ELSE l.expires_at END::text, (
  SELECT json_agg(${token.sql} ORDER BY t.first_seen, t.id) FROM name_tokens t WHERE t.domain_id = q.node
)::text, ${versionSql}, g.generation, k.is_entry::text, e.token_id, e.owner
FROM (SELECT $1::text COLLATE "C" AS node) q
LEFT JOIN registration_lifecycles l ON l.node = q.node
LEFT JOIN domain d ON d.id = q.node
LEFT JOIN registration v1 ON v1.id = q.node
LEFT JOIN v2_entries e ON e.node = q.node AND e.chain_id = $2::int AND e.registry = $3
${generationSql({ time: "$4::numeric", graveyard: "$5" })}
WHERE (l.node IS NOT NULL AND d.name IS NOT NULL) OR e.storage_id IS NOT NULL`);

/** What names and tokens of ENSv2 are read with, and at which time (Unix seconds). */
type V2 = { contracts: V2Contracts; time: number };
type Version = "v1" | "v2";

/** The tokens of a name: those of the first generation in the order of their first events, then those of ENSv2. */
export type FoundTokens = {
  name: string;
  /** Unix seconds. */
  expiresAt: number;
  tokens: Token[];
  /** Where ENSv2 is indexed: the generation in force, whether it holds the name for its owner in the first, and its tokens. */
  v2?: { version: Version | undefined; reserved: boolean; isEntry: boolean; tokens: Token[] };
};

/**
 * A registered name with its expiry and its tokens; undefined unless a base registrar or the .eth registry of ENSv2 registered the
 * name and a token of it was seen.
 */
export async function readTokens(
  database: Database,
  node: Hex,
  signal: AbortSignal,
  v2?: V2,
): Promise<FoundTokens | undefined> {
  const { chainId, ethRegistry, graveyard } = v2?.contracts ?? { chainId: 0, ethRegistry: "", graveyard: "" };
  const values = [node, String(chainId), ethRegistry, String(v2?.time ?? 0), graveyard];
  const row = await database.row(statement, values, signal);
  const [name, expiry, stored, version, generation, isEntry, tokenId, holder] = row;
  if (typeof name !== "string" || expiry === null) return undefined;
  const tokens = (JSON.parse(stored ?? "[]") as unknown[]).map(token.read);
  const found = { name: nameOfStored(name), expiresAt: secondsOf(expiry ?? "0"), tokens };
  if (v2 === undefined) return tokens.length === 0 ? undefined : found;
  const entry = typeof tokenId === "string" ? { tokenId: tokenId as Hex, holder: holder as Hex } : undefined;
  const ofV2 = entry === undefined ? [] : tokensIn(v2.contracts, ethRegistry as Hex, entry);
  if (tokens.length + ofV2.length === 0) return undefined;
  return {
    ...found,
    v2: {
      version: (version as Version | null) ?? undefined,
      reserved: generation === "reserved",
      isEntry: isEntry === "true",
      tokens: ofV2,
    },
  };
}

/** A name of ENSv2: its text, and its labelhashes, its own first. */
type PathOfV2 = { name: string; labelhashes: readonly Hex[] };

/** The path of a name given as text. */
export function pathOfName(name: string): PathOfV2 {
  return { name, labelhashes: name.split(".").map(labelhash) };
}

const pathSql = `
WITH RECURSIVE up AS (
  SELECT name, labelhash, parent_id, 0 AS level FROM v2_domains WHERE chain_id = $1::int AND id = $2
  UNION
  SELECT up.name, d.labelhash, d.parent_id, up.level + 1 FROM up JOIN v2_domains d ON d.chain_id = $1::int AND d.id = up.parent_id
  WHERE up.level < 64
)
SELECT max(name), json_agg(labelhash ORDER BY level)::text FROM up`;

/** The path of a node that a registry ever had a name for; undefined for others. */
export async function pathOfNode(
  database: Database,
  node: Hex,
  { contracts }: V2,
  signal: AbortSignal,
): Promise<PathOfV2 | undefined> {
  const [name, labelhashes] = await database.row(pathSql, [String(contracts.chainId), node], signal);
  if (typeof name !== "string") return undefined;
  return { name, labelhashes: JSON.parse(labelhashes ?? "[]") as Hex[] };
}

/** The tokens of a name of any depth in ENSv2, from the registry that holds it. */
export async function readV2Tokens(
  database: Database,
  { name, labelhashes }: PathOfV2,
  { contracts, time }: V2,
  signal: AbortSignal,
): Promise<FoundTokens | undefined> {
  const paths = [pathOf(labelhashes)];
  const [found] = await readV2Names(database, contracts, { paths, time, hasV1: false }, signal);
  const { entry = null, registry = null } = found ?? {};
  if (entry === null || registry === null || entry.holder === null) return undefined;
  const tokens = tokensIn(contracts, registry, { tokenId: entry.tokenId, holder: entry.holder });
  if (tokens.length === 0) return undefined;
  const version = entry.status === "registered" ? ("v2" as const) : undefined;
  const v2 = { version, reserved: entry.status === "reserved", isEntry: true, tokens };
  return { name, expiresAt: secondsOf(entry.expiry), tokens: [], v2 };
}

function tokensIn({ chainId }: V2Contracts, address: Hex, entry: { tokenId: Hex; holder: Hex }): Token[] {
  return tokensOfEntry(entry).map(({ tokenId, owner, mintStatus }) => ({
    token: { assetNamespace: "erc1155", contract: { chainId, address }, tokenId },
    owner: { chainId, address: owner },
    mintStatus,
  }));
}

// An expiry may be beyond any date; more digits would not be exact in JSON.
function secondsOf(expiry: string): number {
  return Math.min(Number(expiry), Number.MAX_SAFE_INTEGER);
}
