import { Hono } from "hono";
import type { Hex } from "viem";
import { z } from "zod/v4";
import { nodeOfName, parentName } from "../../ens/names.ts";
import { tokenIdToHex, zeroAddress } from "../../ens/nodes.ts";
import type { Database } from "../database/client.ts";
import type { EndpointDocs } from "../rest/endpoint.ts";
import { parseQuery } from "../rest/errors.ts";
import { nameParameter } from "../rest/name-parameter.ts";
import {
  accountSchema,
  hashSchema,
  invalidInputSchema,
  secondsSchema,
  tokenSchema,
} from "../rest/outputs.ts";
import { bytes32Parameter } from "../rest/parameters.ts";
import type { StatusSource } from "../status/status-source.ts";
import { type NameTokens, nameTokens, type TokenRow } from "./name-tokens-query.ts";

/** What the endpoint must know of the index besides its tables. */
export type NameTokensContext = {
  database: Database;
  status: Pick<StatusSource, "current">;
  plugins: readonly string[];
  /** Names whose direct subnames the indexed base registrars hand out. */
  managedNames: readonly string[];
  /** The one of them on the root chain: only tokens of its subnames are the last word on their names. */
  rootManagedName: string;
  nameWrappers: readonly { chainId: number; address: Hex }[];
};

const needed = ["registrars", "tokenscope"];

const query = z
  .object({ domainId: bytes32Parameter("domainId").optional(), name: nameParameter("name").optional() })
  .refine(({ domainId, name }) => (domainId === undefined) !== (name === undefined), {
    error: "Give exactly one of domainId and name",
    when: ({ issues }) => issues.length === 0,
  });

/** GET /: every token that ever stood for a name, with its owner (see `nameTokensDocs`). */
export function nameTokensRoutes(context: NameTokensContext): Hono {
  return new Hono().get("/", async (c) => {
    const unready = unreadiness(context);
    if (unready !== undefined) return c.json(unready, 503);
    const { domainId, name } = parseQuery(c, query);
    const accurateAsOf = context.status.current()?.snapshot.omnichainSnapshot.omnichainIndexingCursor;
    const outside = name === undefined ? undefined : outsideScope(name, context.managedNames);
    if (outside !== undefined) return c.json(notIndexed(outside), 404);

    const node = domainId ?? nodeOfName(name ?? "");
    const found = await nameTokens(context.database, node, c.req.raw.signal);
    if (found === undefined) {
      return c.json(notIndexed(`No token of ${name ?? node} was seen on the indexed chains.`), 404);
    }
    return c.json({
      responseCode: "ok",
      registeredNameTokens: {
        domainId: node,
        name: found.name,
        tokens: tokensOf(found, context),
        expiresAt: found.expiresAt,
        accurateAsOf,
      },
    });
  });
}

/** Tokens as the endpoint shows them, each with what its owner means. */
export function tokensOf({ name, tokens }: NameTokens, context: NameTokensContext) {
  const isWrapper = ({ chainId, owner }: TokenRow) =>
    context.nameWrappers.some((wrapper) => wrapper.chainId === chainId && wrapper.address === owner);
  const isLastWord = parentName(name) === context.rootManagedName;
  // A registration that came after a wrapped one's end leaves the wrapper's token behind, which then means nothing.
  const registrarToken = tokens.find(({ assetNamespace }) => assetNamespace === "erc721");
  const isLeftBehind = (token: TokenRow) =>
    token.assetNamespace === "erc1155" && registrarToken !== undefined && !isWrapper(registrarToken);

  const ownershipOf = (token: TokenRow) => {
    if (isWrapper(token)) return "namewrapper";
    if (token.owner === zeroAddress) return "burned";
    return isLastWord && !isLeftBehind(token) ? "fully-onchain" : "unknown";
  };
  return tokens.map((token) => ({
    token: {
      assetNamespace: token.assetNamespace,
      contract: { chainId: token.chainId, address: token.contract },
      tokenId: tokenIdToHex(BigInt(token.tokenId)),
    },
    ownership: {
      ownershipType: ownershipOf(token),
      owner: { chainId: token.chainId, address: token.owner },
    },
    mintStatus: token.mintStatus,
  }));
}

function unreadiness({ plugins, status }: NameTokensContext) {
  const missing = needed.filter((plugin) => !plugins.includes(plugin));
  if (missing.length > 0) {
    return errorBody("unsupported-nsindexer-config", {
      message: "Name tokens are not indexed by this instance",
      details: `The plugins ${needed.join(" and ")} must be active; missing: ${missing.join(", ")}.`,
    });
  }
  const omnichainStatus = status.current()?.snapshot.omnichainSnapshot.omnichainStatus;
  if (omnichainStatus === "omnichain-following" || omnichainStatus === "omnichain-completed")
    return undefined;
  return errorBody("unsupported-indexing-status", {
    message: "The index is not complete yet",
    details: `The status must be omnichain-following or omnichain-completed; it is ${omnichainStatus ?? "not known yet"}.`,
  });
}

function outsideScope(name: string, managedNames: readonly string[]): string | undefined {
  if (name === "") return "The root has no tokens.";
  const parent = parentName(name);
  if (managedNames.includes(parent)) return undefined;
  const indexed = managedNames.map((managed) => `"${managed}"`).join(", ");
  return `Tokens of direct subnames of "${parent}" are not indexed by this instance; those of ${indexed} are.`;
}

function notIndexed(details: string) {
  return errorBody("name-tokens-not-indexed", { message: "No indexed tokens for this name", details });
}

function errorBody(errorCode: ErrorCode, error: { message: string; details: string }) {
  return { responseCode: "error", errorCode, error };
}

const errorCodes = [
  "name-tokens-not-indexed",
  "unsupported-nsindexer-config",
  "unsupported-indexing-status",
] as const;
type ErrorCode = (typeof errorCodes)[number];

const errorSchema = z.strictObject({
  responseCode: z.literal("error"),
  errorCode: z.enum(errorCodes),
  error: z.strictObject({ message: z.string(), details: z.string() }),
});

const answerSchema = z.strictObject({
  responseCode: z.literal("ok"),
  registeredNameTokens: z.strictObject({
    domainId: hashSchema,
    name: z.string(),
    tokens: z
      .array(
        z.strictObject({
          token: tokenSchema,
          ownership: z.strictObject({
            ownershipType: z.enum(["namewrapper", "fully-onchain", "burned", "unknown"]),
            owner: accountSchema,
          }),
          mintStatus: z.enum(["minted", "burned"]),
        }),
      )
      .min(1),
    expiresAt: secondsSchema,
    accurateAsOf: secondsSchema,
  }),
});

export const nameTokensDocs: EndpointDocs = {
  path: "/api/name-tokens",
  tag: "Explore",
  summary: "Tokens of a name",
  description:
    "Every token that ever stood for a registered name, burned ones too, oldest first. Give exactly one of `domainId` and `name`. " +
    "The entry `fully-onchain` tells who controls the name now; `unknown` tells an owner whom a gateway or a newer registration may contradict.",
  query,
  answers: {
    200: { description: "At least one token", schema: answerSchema },
    400: { description: "Bad parameters", schema: invalidInputSchema },
    404: {
      description: "A name outside the index, or one that was never registered",
      schema: errorSchema,
    },
    503: { description: "A plugin is not active, or the index is not complete yet", schema: errorSchema },
  },
};
