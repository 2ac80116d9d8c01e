import type { Hex } from "viem";
import { z } from "zod/v4";
import type { Deployment, Namespace } from "../../deployments/deployment.ts";
import { deployments } from "../../deployments/deployments.ts";
import { rootDatasource } from "../../deployments/ens.ts";
import { ethName } from "../../deployments/ensv2.ts";
import { tokenIssuers } from "../../deployments/namespaces.ts";
import { tokenIdToHex, zeroAddress } from "../../ens/ids.ts";
import { namehash, parentName } from "../../ens/names.ts";
import { bytes32Parameter, nameParameter } from "../../ens/parameters.ts";
import { gracePeriod } from "../../ens/registrations.ts";
import {
  addressSchema,
  amountSchema,
  chainIdSchema,
  countSchema,
  hashSchema,
  secondsSchema,
} from "../../ens/schemas.ts";
import { readV2Names, type V2Contracts, type V2Name } from "../../read/names/v2-names.ts";
import { parseNamePath } from "../../read/names/v2-walk.ts";
import type { Database } from "../../read/sql/client.ts";
import { combineFields, field } from "../../read/sql/fields.ts";
import { planOnce } from "../../read/sql/prepared.ts";
import { hexOf } from "../../schema/sql.ts";
import { findSlowest } from "../../status/snapshot.ts";
import { endpoint } from "../kit/endpoint.ts";
import { envelope } from "../kit/errors.ts";
import { describePage, pageContextSchema, pagedQuery, pagedRefusal, readPaging } from "../kit/paging.ts";
import { atParameter, minBlockParameter } from "../kit/position.ts";

/** Fields of a token, from a table under an alias. */
function buildTokenFields(table: string) {
  return {
    assetNamespace: field(`${table}.asset_namespace`, z.enum(["erc721", "erc1155"])),
    contract: {
      chainId: field(`${table}.chain_id`, chainIdSchema),
      address: field(`${table}.contract_address`, addressSchema),
    },
    tokenId: field(`${table}.token_id::text`, hashSchema, (decimal) => tokenIdToHex(BigInt(decimal))),
  };
}

const token = combineFields({
  token: buildTokenFields("t"),
  owner: { chainId: field("t.chain_id", chainIdSchema), address: field("t.owner", addressSchema) },
  mintStatus: field("t.mint_status", z.enum(["minted", "burned"])),
});
type ListedToken = z.output<typeof token.schema>;

/** The context of the endpoint. `ensv2` is undefined if the namespace has no contracts of ENSv2. */
export type NameTokensContext = {
  database: Database;
  plugins: readonly string[];
  ensv2: V2Contracts | undefined;
  /** The indexed base registrars, each with the plugin that indexes its names. */
  subregistries: readonly { namesPlugin: string }[];
  names: ReturnType<typeof namesContext>;
};

/**
 * Names whose direct subnames the base registrars issue: the indexed ones, and the inactive ones with their plugin.
 * `rootManagedName` is the one on the root chain, whose tokens alone are authoritative. Also the name wrappers.
 */
export function namesContext(namespace: Namespace, plugins: readonly string[]) {
  const all = deployments.flatMap(({ plugin, datasources }: Deployment) =>
    datasources.flatMap((id) => {
      const managedName = namespace[id]?.managedName;
      return managedName === undefined ? [] : [{ managedName, plugin: String(plugin) }];
    }),
  );
  return {
    managedNames: plugins.flatMap((active) =>
      all.flatMap(({ managedName, plugin }) => (plugin === active ? managedName : [])),
    ),
    inactiveNames: all.filter(({ plugin }) => !plugins.includes(plugin)),
    rootManagedName: namespace[rootDatasource]?.managedName ?? "eth",
    nameWrappers: tokenIssuers(namespace).flatMap(({ isNameWrapper, chainId, address }) =>
      isNameWrapper ? { chainId, address } : [],
    ),
  };
}

const query = z
  .object({
    domainId: bytes32Parameter("domainId").optional().describe("Node (namehash) of the name"),
    name: nameParameter("name")
      .optional()
      .meta({ description: "The normalized name", example: "moonlamp.eth" }),
    at: atParameter,
    min_block: minBlockParameter,
  })
  .refine(({ domainId, name }) => (domainId === undefined) !== (name === undefined), {
    error: "Give exactly one of domainId and name",
    when: ({ issues }) => issues.length === 0,
  });

const errorCode = z.enum([
  "name-tokens-not-indexed",
  "unsupported-nsindexer-config",
  "unsupported-indexing-status",
]);
const errorSchema = z.strictObject({
  responseCode: z.literal("error"),
  errorCode,
  error: z.strictObject({ message: z.string(), details: z.string() }),
});

const { owner, mintStatus } = token.schema.shape;
const ownershipType = z.enum(["namewrapper", "fully-onchain", "burned", "unknown"]);

const schema = z.strictObject({
  responseCode: z.literal("ok"),
  registeredNameTokens: z.strictObject({
    domainId: hashSchema,
    name: z.string(),
    tokens: z
      .array(
        z.strictObject({
          token: token.schema.shape.token,
          ownership: z.strictObject({ ownershipType, owner }),
          mintStatus,
        }),
      )
      .min(1),
    expiresAt: secondsSchema,
    version: z
      .enum(["v1", "v2"])
      .optional()
      .describe("Generation of ENS in force; absent if neither is, or if ENSv2 is not indexed"),
    reserved: z.boolean().optional().describe("Whether ENSv2 holds the name for its owner in ENSv1"),
    isExpired: z.boolean().optional().describe("Where ENSv2 is indexed"),
    accurateAsOf: secondsSchema,
  }),
});

/** GET /api/name-tokens. */
export const nameTokens = endpoint({
  path: "/api/name-tokens",
  tag: "Explore",
  summary: "Tokens of a name",
  description:
    "Every token that ever represented a registered name, including burned ones, oldest first, those of ENSv2 last. Give exactly one of `domainId` and `name`. " +
    "The owner in the `fully-onchain` entry controls the name now; a gateway or a newer registration may contradict an owner marked `unknown`.",
  query,
  needs: {
    // The plugin that indexes the names of a registrar also names its tokens.
    plugins: ({ subregistries }: NameTokensContext) => [
      "registrars",
      "tokenscope",
      [...new Set(subregistries.map(({ namesPlugin }) => namesPlugin))],
    ],
    index: "complete",
  },
  envelope: envelope(errorSchema, ({ code, message, details }) => ({
    responseCode: "error" as const,
    errorCode:
      errorCode.enum[code === "plugin" ? "unsupported-nsindexer-config" : "unsupported-indexing-status"],
    error: { message, details },
  })),
  answers: {
    200: { description: "At least one token", schema },
    404: {
      description: "A name outside the index, or one that was never registered",
      schema: errorSchema,
    },
  },
  handle: async (
    { query: { domainId, name }, current, request },
    { database, names, plugins, ensv2 }: NameTokensContext,
  ) => {
    const time = current.snapshot.omnichainSnapshot.omnichainIndexingCursor;
    const v2 = plugins.includes("ensv2") ? ensv2 : undefined;
    const outside = name === undefined ? undefined : explainScope(name, names);
    const node = domainId ?? namehash(name ?? "");
    const asked = { node, name, isOutside: outside !== undefined, time, v2 };
    const found = await readTokens(database, asked, request.raw.signal);
    if (!found) {
      const details = [
        ...(outside && v2 ? [`No registry of ENSv2 that is known to be one has a token of ${name}.`] : []),
        outside ?? `No token of ${name ?? node} was seen on the indexed chains.`,
        // A node alone does not tell its parent.
        ...(name === undefined ? names.inactiveNames.map(describeInactive) : []),
      ];
      const error = { message: "No indexed tokens for this name", details: details.join(" ") };
      const errorCode = "name-tokens-not-indexed" as const;
      return { status: 404, body: { responseCode: "error" as const, errorCode, error } };
    }
    const { expiresAt, version, reserved } = found;
    const registeredNameTokens = {
      domainId: node,
      name: found.name,
      tokens: withOwnership(found, names, v2?.graveyard),
      expiresAt,
      version,
      reserved,
      isExpired: v2 && expiresAt <= time,
      accurateAsOf: findSlowest(current.snapshot).time,
    };
    return { status: 200, body: { responseCode: "ok" as const, registeredNameTokens } };
  },
});

function describeInactive({ managedName, plugin }: { managedName: string; plugin: string }): string {
  return `Names below "${managedName}" are not indexed: plugin ${plugin} is not active.`;
}

function explainScope(
  name: string,
  { managedNames, inactiveNames }: NameTokensContext["names"],
): string | undefined {
  if (name === "") return "The root has no tokens.";
  const parent = parentName(name);
  if (managedNames.includes(parent)) return undefined;
  const inactive = inactiveNames.find(({ managedName }) => managedName === parent);
  if (inactive !== undefined) return describeInactive(inactive);
  const indexed = managedNames.map((managed) => `"${managed}"`).join(", ");
  return `Tokens of direct subnames of "${parent}" are not indexed by this instance; those of ${indexed} are.`;
}

function withOwnership(
  { name, tokens, version, isEntry, ofV2 }: FoundTokens,
  { nameWrappers, rootManagedName }: NameTokensContext["names"],
  graveyard: Hex | undefined,
) {
  const isWrapper = ({ owner }: ListedToken) =>
    nameWrappers.some(({ chainId, address }) => chainId === owner.chainId && address === owner.address);
  // A token of a name that ENSv2 has taken over, or that the Graveyard holds, controls nothing any more.
  const isHistory = ({ owner }: ListedToken) => isEntry || owner.address === graveyard;
  const isLastWord = parentName(name) === rootManagedName;
  // A new registration leaves the token of an expired wrapper entry behind, without meaning.
  const registrarToken = tokens.find(({ token }) => token.assetNamespace === "erc721");
  const isLeftBehind = ({ token }: ListedToken) =>
    token.assetNamespace === "erc1155" && registrarToken !== undefined && !isWrapper(registrarToken);

  const ownershipOf = (token: ListedToken): z.output<typeof ownershipType> => {
    if (isWrapper(token)) return "namewrapper";
    if (token.owner.address === zeroAddress) return "burned";
    return isLastWord && !isLeftBehind(token) && !isHistory(token) ? "fully-onchain" : "unknown";
  };
  const ownershipInV2 = ({ mintStatus }: ListedToken): z.output<typeof ownershipType> =>
    mintStatus === "burned" ? "burned" : version === "v2" ? "fully-onchain" : "unknown";
  const described = (of: typeof ownershipOf) => (found: ListedToken) => {
    const { token, owner, mintStatus } = found;
    return { token, ownership: { ownershipType: of(found), owner }, mintStatus };
  };
  return [...tokens.map(described(ownershipOf)), ...ofV2.map(described(ownershipInV2))];
}

// The tables of ENSv2 are empty if it is not indexed.
const statement = planOnce(`
SELECT coalesce((SELECT max(v.name) FROM v2_domains v WHERE v.chain_id = $2::int AND v.id = q.node), domain.name),
  CASE WHEN domain.name IS NOT NULL THEN l.expires_at END::text, (l.expires_at + ${gracePeriod} >= $3::numeric)::text, (
  SELECT json_agg(${token.sql} ORDER BY t.first_seen, t.id) FROM name_tokens t WHERE t.domain_id = q.node
)::text
FROM (SELECT $1::text COLLATE "C" AS node) q
LEFT JOIN registration_lifecycles l ON l.node = q.node
LEFT JOIN domain ON domain.id = q.node`);

/** The tokens of a name: those of the first generation by their first events, then those of ENSv2. */
type FoundTokens = {
  name: string;
  expiresAt: number;
  tokens: ListedToken[];
  ofV2: ListedToken[];
  /** Whether the expiry is that of an ENSv2 entry. */
  isEntry: boolean;
  /** If ENSv2 is indexed: the generation in force, and whether ENSv2 reserves the name for its owner in the first. */
  version?: "v1" | "v2" | undefined;
  reserved?: boolean;
};

/** `isOutside`: no indexed base registrar issues the name. `v2`: set if ENSv2 is indexed. `time`: Unix seconds. */
type TokensRequest = {
  node: Hex;
  name: string | undefined;
  isOutside: boolean;
  time: number;
  v2: V2Contracts | undefined;
};

/**
 * Reads a registered name; undefined unless a base registrar or an ENSv2 registry registered it and a token of it was
 * seen.
 */
async function readTokens(
  database: Database,
  { node, name: given, isOutside, time, v2 }: TokensRequest,
  signal: AbortSignal,
): Promise<FoundTokens | undefined> {
  const values = [node, String(v2?.chainId ?? 0), String(time)];
  const [stored, lease, isLeased, rows] = await database.row(statement, values, signal);
  const name = given ?? stored;
  if (!name) return undefined;
  const leased = isOutside ? undefined : (lease ?? undefined);
  const isEth = parentName(name) === ethName.name;
  const isWalked = v2 && (isEth || (!leased && (isOutside || given === undefined)));
  const asked = { paths: [parseNamePath(name)], time, hasV1: true };
  const [walked] = isWalked ? await readV2Names(database, v2, asked, signal) : [];
  const entry = walked?.entry;
  const ofV2 = v2 && walked ? listTokensOfEntry(v2.chainId, walked) : [];
  const tokens = leased || (isEth && entry) ? token.rows(rows) : [];
  if (tokens.length + ofV2.length === 0) return undefined;
  // If neither generation is in force, the entry's expiry counts once it was registered.
  const wasRegistered = entry && (entry.holder !== zeroAddress || !entry.tokenId.endsWith("00000000"));
  const authority = walked?.authority;
  const isEntry = !leased || authority === "v2" || (authority === "none" && Boolean(wasRegistered));
  // An expiry may be beyond any date; JSON numbers hold no more digits exactly.
  const expiresAt = Math.min(Number((isEntry ? entry?.expiry : leased) ?? "0"), Number.MAX_SAFE_INTEGER);
  const found = { name, expiresAt, tokens, ofV2, isEntry };
  if (!v2) return found;
  const ofLease = isLeased === "true" ? ("v1" as const) : undefined;
  const ofEntry = entry?.status === "registered" ? ("v2" as const) : undefined;
  const version = isEth ? (walked?.version ?? undefined) : leased ? ofLease : ofEntry;
  return { ...found, version, reserved: entry?.status === "reserved" };
}

const maxFormerTokens = 100;
const versions = 0xffff_ffffn;

// Tokens of an ENSv2 entry, oldest first. A token id ends in its version, which each burn raises: lower versions were
// burned. The latest hundred of them are listed. A holder that only the chain knows has no tokens here.
function listTokensOfEntry(chainId: number, { registry, entry }: V2Name): ListedToken[] {
  if (registry === null || !entry?.holder) return [];
  const tokenOf = (tokenId: Hex, holder: Hex): ListedToken => ({
    token: { assetNamespace: "erc1155", contract: { chainId, address: registry }, tokenId },
    owner: { chainId, address: holder },
    mintStatus: holder === zeroAddress ? "burned" : "minted",
  });
  const id = BigInt(entry.tokenId);
  const version = Number(id & versions);
  const first = Math.max(0, version - maxFormerTokens);
  const former = Array.from({ length: version - first }, (_, index) =>
    tokenOf(tokenIdToHex((id & ~versions) | BigInt(first + index)), zeroAddress),
  );
  return entry.holder === zeroAddress ? former : [...former, tokenOf(entry.tokenId, entry.holder)];
}

const salesQuery = pagedQuery({
  at: atParameter,
  min_block: minBlockParameter,
  domainId: bytes32Parameter("domainId").optional().describe("Node (namehash) of the name"),
  name: nameParameter("name").optional().describe("The normalized name"),
}).refine(({ domainId, name }) => domainId === undefined || name === undefined, {
  error: "Give domainId or name, not both",
  when: ({ issues }) => issues.length === 0,
});

const sale = combineFields({
  id: field("s.id", z.string()),
  domainId: field("s.domain_id", hashSchema),
  name: field(
    "coalesce(domain.name, v.name)",
    z.string().optional().describe("Absent if the index does not know the node's name"),
  ),
  token: buildTokenFields("s"),
  seller: field("s.seller", addressSchema),
  buyer: field("s.buyer", addressSchema),
  price: {
    currency: field("s.currency", z.enum(["ETH", "WETH", "USDC", "DAI"])),
    amount: field("s.amount::text", amountSchema.describe("In the currency's smallest unit")),
  },
  block: { timestamp: field("s.timestamp", secondsSchema), number: field("s.block_number", countSchema) },
  transactionHash: field(hexOf("s.transaction_hash"), hashSchema),
  orderHash: field(hexOf("s.order_hash"), hashSchema),
});

const newestFirst = "s.timestamp DESC, s.chain_id, s.block_number DESC, s.log_index DESC";

const salesSql = (filter: string) => `
SELECT (SELECT count(*) FROM name_sales s WHERE ${filter})::text, (
  SELECT coalesce(json_agg(${sale.sql} ORDER BY ${newestFirst}), '[]')
  FROM (
    SELECT * FROM name_sales s WHERE ${filter} ORDER BY ${newestFirst} LIMIT $1::int OFFSET $2::bigint
  ) s LEFT JOIN domain ON domain.id = s.domain_id
  LEFT JOIN LATERAL (SELECT o.* FROM v2_domains o
    WHERE o.chain_id = s.chain_id AND o.id = s.domain_id AND o.registry = s.contract_address LIMIT 1) v ON true
)::text`;

const ofAll = salesSql("true");
const ofOne = planOnce(salesSql("s.domain_id = $3"));

/** GET /api/name-sales. */
export const nameSales = endpoint({
  path: "/api/name-sales",
  tag: "Explore",
  summary: "Sales of names",
  description:
    "Filled Seaport orders in which one name was sold for payments in one currency, newest first. Give `domainId` or `name` for the sales of one name.",
  query: salesQuery,
  needs: { plugins: ["tokenscope"], index: "complete" },
  answers: {
    200: {
      description: "A page of sales, possibly empty",
      schema: z.strictObject({
        responseCode: z.literal("ok"),
        nameSales: z.array(sale.schema),
        pageContext: pageContextSchema,
        accurateAsOf: secondsSchema,
      }),
    },
    400: pagedRefusal,
  },
  handle: async ({ query, current, request }, { database }: { database: Database }) => {
    const paging = readPaging(query);
    const node = query.name === undefined ? query.domainId : namehash(query.name);
    const { page, recordsPerPage } = paging;
    const values = [recordsPerPage, (page - 1) * recordsPerPage].map(String);
    const [total, rows] = await database.row(
      node === undefined ? ofAll : ofOne,
      node === undefined ? values : [...values, node],
      request.raw.signal,
    );
    const { pageContext, headers } = describePage(request.url, paging, Number(total));
    const accurateAsOf = findSlowest(current.snapshot).time;
    const body = { responseCode: "ok" as const, nameSales: sale.rows(rows), pageContext, accurateAsOf };
    return { status: 200, headers, body };
  },
});
