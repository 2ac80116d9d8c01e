import type { Hex } from "viem";
import { z } from "zod/v4";
import type { Deployment, Namespace } from "../../deployments/deployment.ts";
import { deployments } from "../../deployments/deployments.ts";
import { rootDatasource } from "../../deployments/ens.ts";
import { tokenIssuers } from "../../deployments/namespaces.ts";
import { nodeOfName, parentName } from "../../ens/names.ts";
import { tokenIdToHex, zeroAddress } from "../../ens/nodes.ts";
import type { Database } from "../database/client.ts";
import { endpoint } from "../rest/endpoint.ts";
import { envelope } from "../rest/envelope.ts";
import {
  addressSchema,
  bytes32Parameter,
  chainIdSchema,
  field,
  hashSchema,
  nameParameter,
  readingOf,
  secondsSchema,
} from "../rest/values.ts";

/** What the endpoint responds from, besides the gate's part. */
export type NameTokensContext = {
  database: Database;
  /** The base registrars that are indexed, each with the plugin that indexes its names. */
  subregistries: readonly { namesPlugin: string }[];
  names: {
    /** Names whose direct subnames the indexed base registrars issue. */
    managedNames: readonly string[];
    /** The others of the namespace, each with the plugin that would index its names. */
    inactiveNames: readonly { managedName: string; plugin: string }[];
    /** The one of them on the root chain: only tokens of its subnames are authoritative for their names. */
    rootManagedName: string;
    nameWrappers: readonly { chainId: number; address: Hex }[];
  };
};

/** What the plugins and the namespace determine about names and their tokens. */
export function namesContext(namespace: Namespace, plugins: readonly string[]): NameTokensContext["names"] {
  const all = deployments.flatMap(({ plugin, datasources }: Deployment) =>
    datasources.flatMap((id) => {
      const managedName = namespace[id]?.managedName;
      return managedName === undefined ? [] : [{ managedName, plugin }];
    }),
  );
  const managedNames = plugins.flatMap((plugin) =>
    all.filter((one) => one.plugin === plugin).map(({ managedName }) => managedName),
  );
  const inactiveNames = all.filter(({ plugin }) => !plugins.includes(plugin));
  const nameWrappers = tokenIssuers(namespace).filter(({ isNameWrapper }) => isNameWrapper);
  const rootManagedName = namespace[rootDatasource]?.managedName ?? "eth";
  return { managedNames, inactiveNames, rootManagedName, nameWrappers };
}

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

const token = readingOf({
  token: tokenFields("t"),
  owner: { chainId: field("t.chain_id", chainIdSchema), address: field("t.owner", addressSchema) },
  mintStatus: field("t.mint_status", z.enum(["minted", "burned"])),
});
type Token = z.output<typeof token.schema>;

const statement = `
SELECT d.name, l.expires_at::text, (
  SELECT json_agg(${token.sql} ORDER BY t.first_seen, t.id) FROM name_tokens t WHERE t.domain_id = l.node
)::text
FROM registration_lifecycles l JOIN domain d ON d.id = l.node
WHERE l.node = $1 AND d.name IS NOT NULL`;

/**
 * A registered name with its expiry (Unix seconds) and its tokens in the order of their first events; undefined unless
 * a base registrar registered the name and a token of it was seen.
 */
export async function readTokens(database: Database, node: Hex, signal: AbortSignal) {
  const [name, expiresAt, tokens] = await database.row(statement, [node], signal);
  if (typeof name !== "string" || typeof tokens !== "string") return undefined;
  const rows = JSON.parse(tokens) as unknown[];
  return { name, expiresAt: Number(expiresAt), tokens: rows.map(token.read) };
}

const query = z
  .object({
    domainId: bytes32Parameter("domainId").optional().meta({ description: "Node (namehash) of the name" }),
    name: nameParameter("name")
      .optional()
      .meta({ description: "The normalized name", example: "moonlamp.eth" }),
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
    accurateAsOf: secondsSchema,
  }),
});

/** GET /api/name-tokens. */
export const nameTokens = endpoint({
  path: "/api/name-tokens",
  tag: "Explore",
  summary: "Tokens of a name",
  description:
    "Every token that ever stood for a registered name, burned ones too, oldest first. Give exactly one of `domainId` and `name`. " +
    "The owner in the `fully-onchain` entry controls the name now; a gateway or a newer registration may contradict an owner marked `unknown`.",
  query,
  needs: {
    // The name of a token comes from the plugin that indexes the names of its registrar.
    plugins: ({ subregistries }: NameTokensContext) => [
      "registrars",
      "tokenscope",
      [...new Set(subregistries.map(({ namesPlugin }) => namesPlugin))],
    ],
    index: "complete",
  },
  envelope: envelope(errorSchema, ({ reason, message, details }) => ({
    responseCode: "error" as const,
    errorCode:
      errorCode.enum[reason === "plugin" ? "unsupported-nsindexer-config" : "unsupported-indexing-status"],
    error: { message, details },
  })),
  answers: {
    200: { description: "At least one token", schema },
    404: {
      description: "A name outside the index, or one that was never registered",
      schema: errorSchema,
    },
  },
  handle:
    ({ database, names }: NameTokensContext) =>
    async ({ query: { domainId, name }, current, request }) => {
      const outside = name === undefined ? undefined : outsideScope(name, names);
      if (outside !== undefined) return { status: 404, body: notIndexed(outside) };

      const node = domainId ?? nodeOfName(name ?? "");
      const found = await readTokens(database, node, request.raw.signal);
      if (found === undefined) {
        const details = [
          `No token of ${name ?? node} was seen on the indexed chains.`,
          // The node does not say what it is below.
          ...(name === undefined ? names.inactiveNames.map(notActive) : []),
        ];
        return { status: 404, body: notIndexed(details.join(" ")) };
      }
      const registeredNameTokens = {
        domainId: node,
        name: found.name,
        tokens: withOwnership(found.name, found.tokens, names),
        expiresAt: found.expiresAt,
        accurateAsOf: current.snapshot.omnichainSnapshot.omnichainIndexingCursor,
      };
      return { status: 200, body: { responseCode: "ok" as const, registeredNameTokens } };
    },
});

function notActive({ managedName, plugin }: { managedName: string; plugin: string }): string {
  return `Names below "${managedName}" are not indexed: plugin ${plugin} is not active.`;
}

function outsideScope(
  name: string,
  { managedNames, inactiveNames }: Pick<NameTokensContext["names"], "managedNames" | "inactiveNames">,
): string | undefined {
  if (name === "") return "The root has no tokens.";
  const parent = parentName(name);
  if (managedNames.includes(parent)) return undefined;
  const inactive = inactiveNames.find(({ managedName }) => managedName === parent);
  if (inactive !== undefined) return notActive(inactive);
  const indexed = managedNames.map((managed) => `"${managed}"`).join(", ");
  return `Tokens of direct subnames of "${parent}" are not indexed by this instance; those of ${indexed} are.`;
}

function notIndexed(details: string): z.output<typeof errorSchema> {
  const error = { message: "No indexed tokens for this name", details };
  return { responseCode: "error", errorCode: "name-tokens-not-indexed", error };
}

function withOwnership(name: string, tokens: readonly Token[], names: NameTokensContext["names"]) {
  const isWrapper = ({ owner }: Token) =>
    names.nameWrappers.some(({ chainId, address }) => chainId === owner.chainId && address === owner.address);
  const isLastWord = parentName(name) === names.rootManagedName;
  // A new registration after a wrapped one has expired leaves the wrapper's token behind, which is then meaningless.
  const registrarToken = tokens.find(({ token }) => token.assetNamespace === "erc721");
  const isLeftBehind = ({ token }: Token) =>
    token.assetNamespace === "erc1155" && registrarToken !== undefined && !isWrapper(registrarToken);

  const ownershipOf = (token: Token): z.output<typeof ownershipType> => {
    if (isWrapper(token)) return "namewrapper";
    if (token.owner.address === zeroAddress) return "burned";
    return isLastWord && !isLeftBehind(token) ? "fully-onchain" : "unknown";
  };
  return tokens.map((entry) => ({
    token: entry.token,
    ownership: { ownershipType: ownershipOf(entry), owner: entry.owner },
    mintStatus: entry.mintStatus,
  }));
}
