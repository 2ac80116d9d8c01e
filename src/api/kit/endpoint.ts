import { createHash } from "node:crypto";
import type { Context, Hono, HonoRequest } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod/v4";
import { jsonText } from "../../ens/parameters.ts";
import { HttpError } from "../../http/error.ts";
import { hasTag } from "../../http/etag.ts";
import type { Operation } from "../../http/openapi.ts";
import { yieldToEventLoop } from "../../http/turn.ts";
import type { Log } from "../../log/json-log.ts";
import { isReorganized } from "../../ponder/checkpoints.ts";
import { unkeyed } from "../../read/names/cache-keys.ts";
import type { ReadPast } from "../../read/past.ts";
import { atMoment } from "../../read/sql/moment.ts";
import type { StatusSource } from "../../status/status.ts";
import { type CurrentStatus, isBackfilled, missingBlocks, type WantedBlock } from "../../status/types.ts";
import { ofPast, untilNextBlock } from "./caching.ts";
import {
  callError,
  createPositionRefusal,
  createRefusal,
  type Envelope,
  errorResponse,
  type GateRefusal,
  plainEnvelope,
} from "./errors.ts";
import { createSender, sendAsItComes } from "./send.ts";

// An endpoint as data: its path, schemas and handler. This folder has what all REST endpoints share, from parsing to
// documents; the endpoints themselves are in v1 and ensnode, and their SQL is in src/read.

/** A response; `type` is its media type if that is not JSON, and `schema` then that of the text. */
type Answer = { description: string; schema: z.ZodType; type?: string };

type Answers = { [S in ContentfulStatusCode]?: Answer };

// `isCached`: whether caches may have the response; true by default where the endpoint's are.
type Sent<S> = { status: S; headers?: Record<string, string>; isCached?: boolean };

/**
 * The reply of a handler: a `body` for the declared schema, the serialized `text`, perhaps in parts, or texts that come
 * over time.
 */
type Reply<S, Body> = Sent<S> &
  ({ body: Body } | { text: string | readonly string[] } | { stream: AsyncIterable<string> });
type ReplyOf<A extends Answers> = {
  [S in keyof A & ContentfulStatusCode]: A[S] extends Answer ? Reply<S, z.output<A[S]["schema"]>> : never;
}[keyof A & ContentfulStatusCode];

type AnyReply = Reply<ContentfulStatusCode, unknown>;

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A request, parsed by the endpoint's schemas. `current` is the index's status if the endpoint needs one. */
type Call<P, Q, B, I> = {
  params: Parsed<P>;
  query: Parsed<Q>;
  body: Parsed<B>;
  current: I extends string ? CurrentStatus : undefined;
  /** The raw request; `raw.signal` is aborted when the client goes away. */
  request: Pick<HonoRequest, "url" | "raw">;
  /** The client as the queue of statements sees it, an address or network; empty if no middleware has set it. */
  client: string;
  /** Asks again whether the client may go on, while a stream lasts. */
  renew: () => boolean;
  /** The keys by which caches may drop the response; handlers add them. */
  keys: Set<string>;
};

/** The headers by which caches drop a response by its keys: Fastly's and Varnish's, and Cloudflare's. */
const buildKeyHeaders = (keys: ReadonlySet<string>): Record<string, string> =>
  keys.has(unkeyed) || keys.size === 0
    ? {}
    : { "surrogate-key": [...keys].join(" "), "cache-tag": [...keys].join(",") };

type ObjectSchema = z.ZodObject | undefined;
type BodySchema = z.ZodType | undefined;
type Index = "known" | "complete" | undefined;

type EndpointParts<P, Q, B, A, Handle> = Pick<Operation, "path" | "tag" | "summary" | "description"> & {
  method?: Operation["method"];
  /** The form of refusals; plain by default. */
  envelope?: Envelope;
  /** Whether caches may have its replies; true by default where they come from a complete index by GET. */
  isCached?: boolean;
  params?: P;
  query?: Q;
  body?: B;
  answers: A;
  handle: Handle;
};

/** A REST endpoint, as the app, the OpenAPI document and `/docs` read it. `C`: the context of its handler. */
export type Endpoint<C> = EndpointParts<
  ObjectSchema,
  ObjectSchema,
  BodySchema,
  Answers,
  (call: never, context: C) => AnyReply | Promise<AnyReply>
> & { method: Operation["method"]; envelope: Envelope; isCached: boolean; needs: Needs<C, Index> };

/** The schemas of an endpoint, by which its callers in this process are typed. */
type Schemas<P, Q, A> = { params: P; query: Q; answers: A };

/** The context of an endpoint's handler, or of the handlers of several endpoints together. */
export type ContextOf<E> = (E extends Endpoint<infer C> ? (context: C) => void : never) extends (
  context: infer All,
) => void
  ? All
  : never;

/** Defines an endpoint. Adds the 400 for input that its schemas refuse and the 503 of the gate to its responses. */
export function endpoint<
  C,
  const A extends Answers,
  P extends ObjectSchema = undefined,
  Q extends ObjectSchema = undefined,
  B extends BodySchema = undefined,
  I extends Index = undefined,
>(
  parts: EndpointParts<
    P,
    Q,
    B,
    A,
    (call: Call<P, Q, B, I>, context: C) => ReplyOf<A> | Promise<ReplyOf<A>>
  > & {
    needs?: Needs<C, I>;
  },
): Endpoint<C> & Schemas<P, Q, A> {
  const { method = "get", envelope = plainEnvelope, needs = {} } = parts;
  const { isCached = method === "get" && needs.index === "complete" } = parts;
  const invalid = { description: "Invalid parameters", schema: envelope.invalid.schema };
  const refusals: Answers = {
    ...(parts.params || parts.query || parts.body ? { 400: invalid } : {}),
    ...(parts.query && "at" in parts.query.shape ? { 409: { ...noPosition, schema: envelope.schema } } : {}),
    ...(parts.needs ? { 503: { description: describeNeeds(needs), schema: envelope.schema } } : {}),
  };
  const answers = { ...refusals, ...parts.answers };
  const { params, query } = parts as Schemas<P, Q, A>;
  return { ...parts, params, query, method, envelope, needs, isCached, answers };
}

const noPosition = { description: "A position that the index does not have" };

function describeNeeds({ plugins, index }: Needs<never, Index>): string {
  const reasons = [
    ...(plugins === undefined ? [] : ["a required plugin is not active"]),
    ...(index === "complete" ? ["the index is not complete yet"] : []),
    ...(index === "known" ? ["the indexing status is not available"] : []),
  ].join(", or ");
  return reasons.charAt(0).toUpperCase() + reasons.slice(1);
}

// Time limit for reading again when the head moved. While an index catches up its head may move each time, and rows be
// of a later block than `as_of`. They are never of an earlier one: after a reorganization it reads again in any case.
const readAgainMs = 500;

const maxBodyBytes = 1_000_000;

/** The maximum size of a request body of a REST endpoint, and the 413 with which the server refuses a longer one. */
export const bodyOfRest = {
  bytes: maxBodyBytes,
  refusal: { message: `The body has more than ${maxBodyBytes} bytes` },
};

type PositionQuery = { at?: unknown; min_block?: WantedBlock[] };

/** What an endpoint is asked. `readText` reads the text of the body, for an endpoint that has one. */
type Asked = Pick<Call<undefined, undefined, undefined, Index>, "request" | "client" | "renew" | "keys"> & {
  params: object;
  query: object;
  readText: () => Promise<string>;
};

/** A reply with the status that it was read by, and the time that it is of if that is the past. */
type Answered = { reply: AnyReply; current: CurrentStatus | undefined; past?: number | undefined };

const jsonBody = jsonText("The body must be JSON");

// Checks the gate, parses the request by the endpoint's schemas and reads at the position that it asks for.
async function answer<C>(
  endpoint: Endpoint<C>,
  context: C & GateContext,
  { params, query, readText, ...asked }: Asked,
): Promise<Answered> {
  const { needs, envelope } = endpoint;
  // The schemas of the endpoint parse the call, so it has their types.
  const handle = endpoint.handle as (call: object, context: C) => AnyReply | Promise<AnyReply>;
  const known = needs.index === undefined ? undefined : context.status.current();
  const refused = findRefusal(needs, context, known);
  if (refused !== undefined) throw refused;
  // The path is parsed before the query; each reports all of its issues.
  const input = {
    params: endpoint.params && parse(endpoint.params, params, envelope),
    query: endpoint.query && parse(endpoint.query, query, envelope),
  };
  // Requests that read the index may arrive in bursts.
  if (needs.index === "complete") await yieldToEventLoop();
  const body = endpoint.body && parse(endpoint.body, parse(jsonBody, await readText(), envelope), envelope);
  const { signal } = asked.request.raw;
  const { at, min_block: min = [] } = (input.query ?? {}) as PositionQuery;
  const reached = (status: CurrentStatus) =>
    waitForStatus(min, { ...context, known: status, envelope }, signal);
  const current = known && (await reached(known));
  const call = { ...input, ...asked, body, current };
  if (typeof at === "string" && current !== undefined) {
    const read = async (one: object & { at: string }) =>
      handle({ ...call, ...one, query: { ...(input.query as object), at: one.at } }, context);
    return pinReply(read, { at, current, signal }, context);
  }
  const ask = needs.index === "complete" ? context.status.confirm : undefined;
  // A reorganization may revert what a request asks for.
  const confirm = ask && (async (status: CurrentStatus) => reached(await ask(status)));
  return confirmReply(async (one) => handle(one, context), call, confirm);
}

/** Adds an endpoint to the app: sends its replies and errors. */
export function mount<C>(app: Hono, endpoint: Endpoint<C>, context: C & GateContext, log: Log): void {
  const { envelope, answers } = endpoint;

  const respond = async (c: Context): Promise<Response> => {
    const keys = new Set<string>();
    const response = await send(c, keys);
    const ofKeys = [200, 304, 404].includes(response.status) ? Object.entries(buildKeyHeaders(keys)) : [];
    for (const [name, value] of ofKeys) response.headers.set(name, value);
    // Caches keep also that a name is unknown.
    const caching = response.status === 404 && ofKeys.length > 0 && cachingOf(context.status.current());
    if (caching) response.headers.set("cache-control", caching);
    return response;
  };
  const now = context.clock ?? Date.now;
  const cachingOf = (current: CurrentStatus | undefined, at?: number): string | undefined => {
    if (!endpoint.isCached || current === undefined || current.stale) return undefined;
    const { chains, omnichainIndexingCursor: newest } = current.snapshot.omnichainSnapshot;
    const past = at === undefined ? undefined : ofPast(at, now());
    return past ?? untilNextBlock({ newest, chainIds: Object.keys(chains) }, now());
  };
  const send = async (c: Context, keys: Set<string>): Promise<Response> => {
    try {
      const { reply, current, past } = await answer(endpoint, context, {
        params: c.req.param(),
        query: readQuery(c),
        readText: () => c.req.text(),
        request: c.req,
        client: String(c.get("client") ?? ""),
        renew: c.get("renew") ?? (() => true),
        keys,
      });
      return toResponse(c, reply, answers, cachingOf(current, past));
    } catch (error) {
      return errorResponse(error, c, log, envelope);
    }
  };

  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1");
  app.on(endpoint.method.toUpperCase(), path, respond);
}

type InputOf<S> = S extends z.ZodType ? z.input<S> : Readonly<Record<string, never>>;

/** The body of an endpoint's reply with status 200. */
export type BodyOf<E extends Endpoint<never>> = E["answers"] extends { 200: { schema: infer S } }
  ? z.output<S>
  : never;

/** A request to an endpoint, for `callEndpoint` and as a link. `body`: that of an endpoint that has one. */
export type EndpointRequest<E extends Endpoint<never>> = {
  endpoint: E;
  params: object;
  query: object;
  body?: unknown;
};

/** Describes a request to an endpoint by texts, as its schemas take them from a URL. */
export const requestTo = <E extends Endpoint<never>>(
  endpoint: E,
  params: InputOf<E["params"]>,
  query: InputOf<E["query"]>,
): EndpointRequest<E> => ({ endpoint, params, query });

/** The path of a request over HTTP, with its query. A list repeats its parameter. */
export function buildLink({ endpoint, params, query }: EndpointRequest<Endpoint<never>>): string {
  // Commas and colons mean nothing in a path or query.
  const textOf = (value: unknown) =>
    encodeURIComponent(String(value).toWellFormed()).replaceAll("%2C", ",").replaceAll("%3A", ":");
  const values = new Map(Object.entries(params));
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => textOf(values.get(name)));
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}=${textOf(one)}`),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/**
 * Calls an endpoint for the client of the request `c`, or for the service itself. Throws an HttpError for another
 * status than 200.
 */
export type Ask<C> = <E extends Endpoint<C>>(request: EndpointRequest<E>, c?: Context) => Promise<BodyOf<E>>;

/**
 * Calls an endpoint without HTTP. Returns the body of its reply. Throws an HttpError for another status than 200, with
 * that of the response over HTTP; failures are logged and have no details.
 */
export async function callEndpoint<C, E extends Endpoint<C>>(
  asked: EndpointRequest<E>,
  context: C & GateContext,
  { signal, client, renew, log }: Pick<Asked, "client" | "renew"> & { signal: AbortSignal | null; log: Log },
): Promise<BodyOf<E>> {
  const { endpoint, params, query, body } = asked;
  const raw = new Request(`http://localhost${buildLink(asked)}`, { method: endpoint.method, signal });
  const request = { url: raw.url, raw };
  const readText = async () => JSON.stringify(body);
  try {
    const call = { params, query, readText, request, client, renew, keys: new Set<string>() };
    const { reply } = await answer(endpoint, context, call);
    if (reply.status !== 200) throw new HttpError(reply.status, "The request is refused.");
    if ("stream" in reply) throw new Error("The reply is a stream.");
    return "text" in reply ? JSON.parse([reply.text].flat().join("")) : (reply.body as BodyOf<E>);
  } catch (error) {
    throw callError(error, raw, log);
  }
}

// Blocks that come while a handler reads: it reads again, so that all it sends is of the blocks of its status.
async function confirmReply<Call extends { current: CurrentStatus | undefined }>(
  handle: (call: Call) => Promise<AnyReply>,
  call: Call,
  confirm: StatusSource["confirm"] | undefined,
): Promise<Answered> {
  let spent = 0;
  for (let { current } = call; ; ) {
    const begun = performance.now();
    const reply = await handle({ ...call, current });
    spent += performance.now() - begun;
    if (confirm === undefined || current === undefined || "stream" in reply) return { reply, current };
    const confirmed = await confirm(current);
    const isSame = confirmed.heads === current.heads;
    if (isSame || (spent > readAgainMs && !isReorganized(current.heads, confirmed.heads)))
      return { reply, current };
    current = confirmed;
  }
}

// What was the present may be the past by the end of the handler, and a former block may be of another branch: it reads
// again.
async function pinReply(
  handle: (call: { current: CurrentStatus; at: string }) => Promise<AnyReply>,
  { at, current, signal }: { at: string; current: CurrentStatus; signal: AbortSignal },
  { past, status }: Pick<GateContext, "past" | "status">,
): Promise<Answered> {
  for (let known = current; ; ) {
    const found = await past?.(at, known, signal);
    if (found === undefined || "refusal" in found) throw createPositionRefusal(found?.refusal);
    const { moment, ...position } = found;
    const reply = await atMoment(moment, async () => handle(position));
    const confirmed = (await status.confirm?.(known)) ?? known;
    const isSame = confirmed.heads === known.heads;
    if (isSame || "stream" in reply || (moment && !isReorganized(known.heads, confirmed.heads)))
      return { reply, current: known, past: moment && Number(found.at) };
    known = confirmed;
  }
}

// A repeated parameter becomes a list.
function readQuery(c: Context): Record<string, string | string[] | undefined> {
  return Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length > 1 ? values : values[0]]),
  );
}

function parse(schema: z.ZodType, input: unknown, envelope: Envelope): unknown {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  throw envelope.invalid.error(error);
}

// The status once it has the blocks that a request asks for. Ends the request if the index lacks them.
async function waitForStatus(
  blocks: readonly WantedBlock[],
  { status, known, envelope }: Pick<GateContext, "status"> & { known: CurrentStatus; envelope: Envelope },
  signal: AbortSignal,
): Promise<CurrentStatus> {
  const { chains } = known.snapshot.omnichainSnapshot;
  const unknown = blocks.find(({ chainId }) => !Object.hasOwn(chains, chainId));
  if (unknown !== undefined) {
    const message = `min_block names chain ${unknown.chainId}, which is not indexed`;
    throw envelope.invalid.error(
      new z.ZodError([{ code: "custom", path: ["min_block"], message, input: undefined }]),
    );
  }
  const current = (blocks.length > 0 && (await status.reach?.(blocks, signal))) || known;
  const missing = blocks.find((block) => missingBlocks(block, current) > 0);
  if (missing === undefined) return current;
  const message = "The index has not reached the block yet.";
  const details = `Block ${missing.number} of chain ${missing.chainId} is not indexed here yet. Try again in a moment, or ask another reader.`;
  throw createRefusal(503, "status", { message, details }, { "retry-after": "1" });
}

// Shared by all REST endpoints.
const timeoutMs = 30_000;
const sendParts = createSender({ timeoutMs, heldBytes: 134_217_728 });
// From this length on, responses leave in slices, as fast as their clients read them.
const longFrom = 262_144;

// `caching`: the `Cache-Control` of what caches may have.
function toResponse(c: Context, reply: AnyReply, answers: Answers, caching: string | undefined): Response {
  const type = answers[reply.status]?.type ?? "application/json";
  const headers: Record<string, string> = { "content-type": type, ...reply.headers };
  if ("stream" in reply) return sendAsItComes(c, reply.stream, { headers, isPacked: false, timeoutMs });
  const parts = "text" in reply ? [reply.text].flat() : [JSON.stringify(reply.body)];
  if (caching && reply.status === 200 && reply.isCached !== false) {
    const found = { etag: computeTag(parts), "cache-control": caching };
    if (hasTag(c.req.header("if-none-match"), found.etag)) return c.body(null, 304, found);
    Object.assign(headers, found);
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  if (reply.status !== 200 || length < longFrom) return c.body(parts.join(""), reply.status, headers);
  return sendParts(c, parts, { headers, isPacked: false });
}

function computeTag(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return `W/"${hash.digest("base64url").slice(0, 22)}"`;
}

/** A plugin, or several of which one is enough. */
type PluginNeed = string | readonly string[];

/** What an endpoint requires. */
export type Needs<C, I> = {
  plugins?: readonly PluginNeed[] | ((context: C) => readonly PluginNeed[]);
  /** `known`: an indexing status exists; `complete`: the backfill is also complete. */
  index?: I;
};

/** What the gate decides from. `past`: where the index can be read as it was. `clock`: milliseconds. */
export type GateContext = {
  clock?: (() => number) | undefined;
  plugins: readonly string[];
  status: Pick<StatusSource, "current"> & Partial<Pick<StatusSource, "confirm" | "reach">>;
  past?: ReadPast | undefined;
};

/** Why the endpoint cannot respond under the current status; undefined if it can. */
function findRefusal<C>(
  { plugins = [], index }: Needs<C, Index>,
  context: C & GateContext,
  current: CurrentStatus | undefined,
): GateRefusal | undefined {
  const needed = (typeof plugins === "function" ? plugins(context) : plugins).map((need) => [need].flat());
  const missing = needed.filter(
    (some) => some.length > 0 && !some.some((plugin) => context.plugins.includes(plugin)),
  );
  const list = (needs: readonly (readonly string[])[]) =>
    needs.flatMap((need) => need.join(" or ") || []).join(", ");
  if (missing.length > 0)
    return createRefusal(503, "plugin", {
      message: "A plugin that this endpoint needs is not active.",
      details: `Needed plugins: ${list(needed)}. Not active: ${list(missing)}.`,
    });
  if (index === undefined) return undefined;
  if (current === undefined)
    return createRefusal(503, "status", {
      message: "The indexing status is not available.",
      details: "This endpoint responds once the indexing status is known.",
    });
  if (index !== "complete" || isBackfilled(current.snapshot)) return undefined;
  return createRefusal(503, "backfill", {
    message: "The index is not complete yet.",
    details: `The omnichain status must be omnichain-following or omnichain-completed; it is ${current.snapshot.omnichainSnapshot.omnichainStatus}.`,
  });
}
