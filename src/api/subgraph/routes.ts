import { createHash } from "node:crypto";
import { type Context, Hono } from "hono";
import { defaultSubgraphLimits, type SubgraphLimits } from "../../config/limits.ts";
import type { Surround } from "../../http/assets.ts";
import { HttpError } from "../../http/error.ts";
import { hasTag } from "../../http/etag.ts";
import { currentClient, yieldToEventLoop } from "../../http/turn.ts";
import { type Head, headSql, headTimeSql } from "../../ponder/checkpoints.ts";
import type { ChainBlocks } from "../../read/chain-blocks.ts";
import { bothGenerations } from "../../read/names/v2-domains.ts";
import type { WalkContracts } from "../../read/names/v2-walk.ts";
import { BusyError, type Database } from "../../read/sql/client.ts";
import { ofPast, untilNextBlock } from "../kit/caching.ts";
import { acceptsGzip, compress, createSender, type Send } from "../kit/send.ts";
import { compileRequest, type QueryRequest } from "./compile/compile.ts";
import { graphiqlPage, graphiqlPolicy } from "./graphiql.ts";
import type { PastSource } from "./request/block.ts";
import { createDocumentReader } from "./request/document.ts";
import { createIntrospection } from "./request/introspection.ts";
import { createPersistedQueries, PersistedQueryError } from "./request/persisted.ts";
import { executeRequest, joinEqual, type SubgraphAnswer } from "./run/execute.ts";
import { QueryError } from "./schema/errors.ts";
import { isObject } from "./schema/inputs.ts";

// The GraphQL API of the ENS subgraph. A request passes through request, compile and run, over the entities of schema.
// REST endpoints are in the folders beside it.

/** Sources and settings of a subgraph. */
export type SubgraphOptions = {
  database: Database;
  /** The root chain, whose indexed block `_meta` shows. */
  chainId: number;
  /** Shown as `_meta.deployment`. */
  deployment: string;
  /** End of that chain's block range, if it has one. */
  endBlock?: () => Head | undefined;
  blocks: Pick<ChainBlocks, "findHashes" | "peekHashes">;
  /** Where former blocks are read, if they can be. */
  past?: () => PastSource | undefined;
  /** Waits shortly for a block of the root chain; resolves with whether it is indexed. */
  reach?: ((block: number, signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Shown as `_meta.hasIndexingErrors`; false unless given. */
  hasErrors?: () => boolean;
  /** Ids of all indexed chains; the root chain's alone unless given. */
  chainIds?: readonly number[];
  /** Milliseconds. */
  clock?: () => number;
  /** Part of ETags, which changes once rows have changed within a block; undefined while they do. */
  edition?: () => string | undefined;
  limits?: Partial<SubgraphLimits>;
  /** The ENSv2 contracts, if ENSv2 is indexed. */
  v2?: WalkContracts | undefined;
};

/** Runs GraphQL requests. */
export type Subgraph = ReturnType<typeof createSubgraph>;

/** Creates the subgraph: The Graph's query dialect over the tables of src/schema/subgraph.ts. */
export function createSubgraph({ database, chainId, blocks, v2, ...given }: SubgraphOptions) {
  const { deployment, endBlock = () => undefined, hasErrors = () => false, edition = () => "" } = given;
  const { past = () => undefined, chainIds = [chainId], clock = Date.now } = given;
  const limits = { ...defaultSubgraphLimits, ...given.limits };
  const readDocument = createDocumentReader(limits);
  const introspect = createIntrospection({ hasV2: v2 !== undefined });
  const options = {
    row: database.row,
    limits,
    deployment,
    headSql: headSql(chainId),
    endBlock,
    past,
    hashes: (head: Head) => blocks.findHashes(chainId, head),
    hasErrors,
    reach: given.reach,
  };

  async function answer(request: QueryRequest, signal: AbortSignal): Promise<SubgraphAnswer> {
    const generations = v2 && bothGenerations(v2, timeSql(chainId, endBlock()?.timestamp));
    try {
      const compiled = await compileRequest(request, { limits, readDocument, introspect, v2: generations });
      return await executeRequest(compiled, options, signal);
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      return { body: JSON.stringify({ errors: [error.entry] }), head: undefined };
    }
  }

  // While rows change within a block, or none may be right, nothing is cached.
  const isSteady = () => edition() !== undefined && !hasErrors();
  const persisted = createPersistedQueries();

  return {
    limits,
    edition,
    persisted,
    /** `Cache-Control` of a response; undefined if no cache may have it. */
    caching: ({ head, holds }: Pick<SubgraphAnswer, "head" | "holds">): string | undefined => {
      const newest = head?.timestamp;
      if (newest === undefined || holds === undefined || !isSteady()) return undefined;
      const past = holds === "as past" ? ofPast(newest, clock()) : undefined;
      return past ?? untilNextBlock({ newest, chainIds }, clock());
    },
    /** Runs a request. Throws BusyError if too many wait; errors of the query are part of the response. */
    answer,
    /** The latest indexed block; undefined before the first. */
    head: async (signal: AbortSignal) =>
      (await answer(readMembers({ query: "{ __typename }" }, { persisted }), signal)).head,
    /** Hash of an indexed block, if it is known. */
    hashOf: (head: Head) => head.hash ?? blocks.peekHashes(chainId, head)?.hash,
  };
}

// Time of the last indexed block, at which names count as expired or not.
function timeSql(chainId: number, end: number | undefined): string {
  return end === undefined ? headTimeSql(chainId) : `least(${headTimeSql(chainId)}, ${end})`;
}

const compressFrom = 4_096;
const plain: Surround = { head: "", top: "", assets: "" };

/** The endpoint of the subgraph at `path`: POST and GET run queries, browsers get GraphiQL, with what surrounds it. */
export function subgraphRoutes(subgraph: Subgraph, path = "/", surround = plain) {
  const send = createSender();
  const respond = createResponder(subgraph, send);
  return new Hono()
    .use(async (c, next) => {
      await next();
      c.res.headers.set("Access-Control-Allow-Origin", "*");
      c.res.headers.set("X-Content-Type-Options", "nosniff");
    })
    .options("/", (c) => {
      const headers =
        c.req.header("Access-Control-Request-Headers") ?? "Content-Type, User-Agent, Authorization";
      return c.body(null, 200, {
        "Access-Control-Allow-Methods": "GET, OPTIONS, POST",
        "Access-Control-Allow-Headers": headers,
        "Access-Control-Max-Age": "86400",
      });
    })
    .post("/", async (c) => {
      if (c.req.header("Content-Type") === undefined)
        throw new HttpError(400, "Content-Type header is required");
      // The server refuses bodies that are too long (src/service/requests.ts).
      const text = await c.req.text();
      return respond(c, text, () => readBody(text, subgraph));
    })
    .get("/", async (c) => {
      const url = new URL(c.req.url);
      const accept = c.req.header("Accept") ?? "*/*";
      const isRun = url.searchParams.has("query") || url.searchParams.has("extensions");
      if (accept.includes("text/html") || (!isRun && accept.includes("*/*"))) {
        // Caches that pass over Vary would send the page to programs.
        const caching = { "Cache-Control": "private, max-age=3600", Vary: "Accept" };
        return c.html(graphiqlPage(surround, path, isRun), 200, {
          "Content-Security-Policy": graphiqlPolicy,
          ...caching,
        });
      }
      if (url.search.length > subgraph.limits.bodyBytes)
        throw new HttpError(400, "The query string is too long");
      const read = () => readParameters(url.searchParams, subgraph);
      return respond(c, url.search, read, createTagger(subgraph, url.search));
    })
    .onError((error, c) => {
      if (error instanceof HttpError) {
        return c.json({ error: `GraphQL server error (client error): ${error.message}` }, error.status);
      }
      if (error instanceof PersistedQueryError)
        return c.json({ errors: [error.entry] }, 200, { "Cache-Control": "no-store" });
      if (error instanceof BusyError) {
        return c.json({ errors: [{ message: error.message }] }, 503, {
          "Retry-After": `${error.retryAfter}`,
        });
      }
      throw error;
    });
}

// The ETag of GET responses contains the block: it changes with the next one, also with one of the same number and
// time.
function createTagger(subgraph: Subgraph, search: string) {
  const asked = createHash("sha256").update(search).digest("base64url").slice(0, 22);
  return (head: Head | undefined) => {
    return (
      head &&
      `W/"${[head.number, head.timestamp, head.hash?.slice(2, 18), asked].join("-")}${subgraph.edition()}"`
    );
  };
}

// Responds to requests. Runs equal ones of the same moment once: a client's own before they wait for its turn, those of
// all after it.
function createResponder(subgraph: Subgraph, send: Send) {
  const [join, joinOwn] = [
    joinEqual<SubgraphAnswer>(),
    joinEqual<SubgraphAnswer & { request: QueryRequest }>(),
  ];
  return async (
    c: Context,
    text: string,
    read: () => QueryRequest,
    tagOf?: ReturnType<typeof createTagger>,
  ): Promise<Response> => {
    const { signal } = c.req.raw;
    const known = tagOf && c.req.header("If-None-Match");
    if (known) {
      await yieldToEventLoop();
      // A malformed request is refused, although `*` has any tag.
      if (known.trim() === "*") read();
      const head = await subgraph.head(signal);
      const [tag, caching] = [tagOf(head), subgraph.caching({ head, holds: "for the block" })];
      if (tag && caching && hasTag(known, tag))
        return c.body(null, 304, { ETag: tag, "Cache-Control": caching, Vary: "Accept" });
    }
    const run = async (stop: AbortSignal) => {
      await yieldToEventLoop();
      const request = read();
      return { ...(await join(text, stop, (each) => subgraph.answer(request, each))), request };
    };
    const answer = await joinOwn(`${currentClient()} ${text}`, signal, run).catch((error) => {
      // The client has gone: nobody reads the response.
      if (signal.aborted) return undefined;
      throw error;
    });
    if (answer === undefined) return c.body(null, 408);
    const { body, head, holds, request } = answer;
    if (request.hash !== undefined && holds !== undefined)
      subgraph.persisted.keep(request.hash, request.query);
    // Also for clients that prefer application/graphql-response+json: some accept no other status than 200.
    const headers: Record<string, string> = {
      "Content-Type": "application/json",
      "graph-attestable": "false",
    };
    if (head !== undefined) {
      const { number, timestamp = null } = head;
      const hash = subgraph.hashOf(head) ?? null;
      headers["graph-indexed"] = JSON.stringify({ hash, number, timestamp });
    }
    const caching = tagOf && subgraph.caching(answer);
    if (caching) Object.assign(headers, { ETag: tagOf(head), "Cache-Control": caching });
    // Browsers get GraphiQL from the same address.
    if (tagOf) headers["Vary"] = "Accept";
    if (typeof body === "string" && body.length < compressFrom) return c.body(body, 200, headers);
    headers["Vary"] = tagOf ? "Accept, Accept-Encoding" : "Accept-Encoding";
    const isPacked = acceptsGzip(c);
    if (isPacked) headers["Content-Encoding"] = "gzip";
    if (typeof body !== "string") return send(c, body, { headers, isPacked });
    return c.body(isPacked ? await compress(body) : body, 200, headers);
  };
}

type Persisted = Pick<Subgraph, "persisted">;

function readBody(text: string, subgraph: Persisted): QueryRequest {
  if (text === "") throw new HttpError(400, "Body is required");
  const body = parseJson(text, "the body");
  if (!isObject(body)) throw new HttpError(400, "The body is not a JSON object");
  return readMembers(body, subgraph);
}

function readParameters(search: URLSearchParams, subgraph: Persisted): QueryRequest {
  const json = (name: string) => {
    const text = search.get(name);
    return text ? parseJson(text, `the parameter ${name}`) : undefined;
  };
  const [query, operationName] = [search.get("query") ?? undefined, search.get("operationName")];
  const [variables, extensions] = [json("variables"), json("extensions")];
  const request = readMembers({ query, operationName, variables, extensions }, subgraph);
  if (/^\s*mutation\b/.test(request.query)) throw new HttpError(400, "Mutations are not supported");
  return request;
}

function readMembers(
  { query: given, variables, operationName, extensions }: Record<string, unknown>,
  { persisted }: Persisted,
): QueryRequest {
  const { query, hash, fault } = persisted.find(given, extensions);
  if (fault !== undefined) throw new HttpError(400, fault);
  if (query === undefined) throw new HttpError(400, 'The "query" field is missing in request data');
  if (typeof query !== "string") throw new HttpError(400, 'The "query" field is not a string');
  if (variables !== undefined && variables !== null && !isObject(variables)) {
    throw new HttpError(400, 'The "variables" field is not an object');
  }
  const asked = isObject(extensions) ? extensions : {};
  return {
    query,
    // Variables may have any JSON value: each use checks it against its column or argument.
    variables: variables ?? {},
    operationName: typeof operationName === "string" && operationName !== "" ? operationName : undefined,
    extensions: { counts: asked["counts"] === true, truncated: asked["truncated"] === true },
    hash,
  };
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpError(400, `${what} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
