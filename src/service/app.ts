import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { type Context, Hono } from "hono";
import { html } from "hono/html";
import { getPath } from "hono/utils/url";
import type { Admission, openApiKeys } from "../api/kit/api-keys.ts";
import { findClient } from "../api/kit/client-address.ts";
import { addAssets, buildDocument, docsRoutes } from "../api/kit/docs.ts";
import { type Ask, buildLink, callEndpoint, type GateContext, mount } from "../api/kit/endpoint.ts";
import { errorResponse, notFound } from "../api/kit/errors.ts";
import { mcpRoutes } from "../api/mcp/routes.ts";
import { type MetadataSources, metadataRoutes } from "../api/metadata/routes.ts";
import type { PageContext, PageSources } from "../api/pages/ask.ts";
import { crawlerRoutes } from "../api/pages/crawlers.ts";
import {
  createFrame,
  createSurround,
  type Frame,
  frameFiles,
  type Site,
  sendPage,
} from "../api/pages/frame.ts";
import { homeRoutes } from "../api/pages/home-page.ts";
import { namesRoutes } from "../api/pages/names-page.ts";
import { nameRoutes } from "../api/pages/routes.ts";
import { statsRoutes } from "../api/pages/stats-page.ts";
import { type StatusSources, statusRoutes } from "../api/pages/status-page.ts";
import { unknownPath } from "../api/v1/contract.ts";
import { graphiqlFiles } from "../http/assets.ts";
import { HttpError } from "../http/error.ts";
import { forClient } from "../http/turn.ts";
import type { Log } from "../log/json-log.ts";
import { type ApiContext, endpoints } from "./endpoints.ts";

/**
 * Headers of every response: the version, which of our headers browsers expose to pages, and that caches keep nothing
 * that does not say so.
 */
export function commonHeaders(version: string) {
  return {
    "cache-control": "no-store",
    "x-nsindex-version": version,
    "access-control-expose-headers":
      "x-nsindex-version, link, etag, graph-indexed, graph-attestable, ratelimit, ratelimit-policy, retry-after",
  };
}

type AppPages = Omit<StatusSources, "ask"> &
  Pick<Frame, "explorers" | "metadata"> &
  Pick<PageSources, "url" | "priceOf"> & { site?: Site | undefined };

// Browsers that open something else than a REST path, whose responses are JSON for them too.
const wantsPage = (c: Context) =>
  c.req.method === "GET" &&
  /\btext\/html\b/.test(c.req.header("accept") ?? "") &&
  !/^\/(v1|api)\//.test(c.req.path);

// What a browser met, and what to do about it.
const faults = {
  401: ["API key needed", "Ask the operator for a key, and send it as the header x-api-key."],
  403: ["Not allowed", "The key may not read this. Its operator can say what it may."],
  404: ["Nothing is here", "The search above finds names and addresses."],
  429: ["Too many requests", "Wait a minute, then reload the page."],
} as const;

/** A page in place of what a browser asked for. */
function renderFaultPage(
  c: Context,
  status: keyof typeof faults,
  { frame, log, message }: { frame: Frame; log: Log; message: string },
) {
  const [title, remedy] = faults[status];
  const heading = html`<div class="hero"><p class="pill idle">${status}</p><h1>${title}</h1></div>`;
  const content = html`<div class="card"><p>${message}</p><p>${remedy}</p><p><a href="/">Home</a></p></div>`;
  return sendPage(c, { frame, title, read: async () => ({ heading, content }), log }, { status });
}

function addPages(
  app: Hono,
  sources: AppPages & { ask: Ask<PageContext> },
  own: Frame,
  homes: readonly { namespace: string; chainId: number }[],
): void {
  const fileOf = (name: string) => fileURLToPath(new URL(`../api/pages/assets/${name}`, import.meta.url));
  const files = Object.fromEntries(
    ["page.css", "page.js"].map((name) => [`${own.assets}/${name}`, fileOf(name)]),
  );
  const ofFrame = frameFiles(own, sources.site?.logo);
  addAssets(app, { ...files, ...ofFrame, ...graphiqlFiles(`${own.assets}/`) });
  const indexed = sources.config.chains.map(({ id }) => id);
  const chains = [...new Set([...homes.slice(0, 1).map(({ chainId }) => chainId), ...indexed])];
  const namespaces = [...new Set(homes.map(({ namespace }) => namespace))];
  const { explorers = {}, metadata } = sources;
  const frame = { ...own, chains, namespaces, explorers, metadata };
  app.route("/", crawlerRoutes(sources, frame));
  app.route("/", homeRoutes(sources, frame));
  app.route("/", statusRoutes(sources, frame));
  app.route("/", namesRoutes(sources, frame));
  app.route("/", nameRoutes(sources, frame));
  app.route("/", statsRoutes(sources, frame));
}

type Admit = (c: Context, path: string) => Partial<Admission>;

// Calls endpoints for the client of the request `c`, admitted by the path that the request has over HTTP; without a
// client the service itself asks, and needs no key.
const createCaller =
  ({ context, log }: Pick<AppSources, "context" | "log">, admit: Admit): Ask<ApiContext> =>
  async (request, c) => {
    const {
      client = "unknown",
      refusal,
      headers = {},
      renew = () => true,
    } = c === undefined ? {} : admit(c, getPath(new Request(`http://localhost${buildLink(request)}`)));
    if (refusal !== undefined) throw new HttpError(refusal.status, refusal.message, { headers });
    const signal = c?.req.raw.signal ?? null;
    return forClient(client, () => callEndpoint(request, context, { signal, client, renew, log }));
  };

// ponder: its adapter builds a whole Request once a handler asks for the body or the signal. That takes longer than a
// small statement.
function avoidRequestClone(c: Context): void {
  const { incoming, outgoing } = (c.env ?? {}) as {
    incoming?: { rawBody?: Buffer };
    outgoing?: ServerResponse;
  };
  if (incoming?.rawBody)
    Object.assign(c.req.bodyCache, { text: Promise.resolve(new TextDecoder().decode(incoming.rawBody)) });
  if (outgoing === undefined) return;
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  Object.defineProperty(c.req.raw, "signal", { value: gone.signal });
}

const readSecret = (c: Context) =>
  /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? c.req.header("x-api-key");

const codes = { 401: "unauthorized", 403: "forbidden", 429: "rate_limited" } as const;

// Same error format as the rest of the path.
function buildRefusalBody(path: string, { status, message }: NonNullable<Admission["refusal"]>): object {
  if (path.startsWith("/v1/")) return { error: { code: codes[status], message, details: {} } };
  return path.startsWith("/subgraph") ? { errors: [{ message }] } : { message };
}

/** What the interface is created from. */
type AppSources = {
  context: ApiContext & GateContext;
  subgraph?: Hono | undefined;
  /** Sources of the pages for browsers; without them there are no pages. */
  pages?: AppPages;
  /** Sources of images and metadata of tokens; without them their paths are 404. */
  metadata?: Omit<MetadataSources, "ask"> | undefined;
  /** Number of proxies in front of the service. */
  trustedProxies?: number;
  /** API keys; without them everybody is admitted. */
  keys?: Pick<ReturnType<typeof openApiKeys>, "admit"> | undefined;
  log: Log;
};

/**
 * Creates the HTTP interface: REST endpoints, documents, subgraph, pages, errors, headers. Ponder's server answers HEAD
 * and preflights.
 */
export function createApi(sources: AppSources): Hono {
  const { context, subgraph, pages, metadata, trustedProxies, keys, log } = sources;
  const version = context.versions.nsIndexer;
  const headers = Object.entries({ ...commonHeaders(version), "access-control-allow-origin": "*" });
  const frame = pages && createFrame(version, subgraph !== undefined, pages.site);
  const app = new Hono();
  const admit: Admit = (c, path) => {
    const address = findClient(c, trustedProxies ?? 0);
    return keys?.admit({ path, secret: readSecret(c), address }) ?? { client: address };
  };

  app.use(async (c: Context, next) => {
    const { client = "", refusal, renew, headers: ofClient = {} } = admit(c, c.req.path);
    c.set("client", client);
    c.set("renew", renew);
    avoidRequestClone(c);
    // ponder: its CORS middleware has begun a response. Hono would copy each of ours into it, its body as a stream.
    c.res = undefined;
    c.finalized = false;
    for (const [name, value] of [...headers, ...Object.entries(ofClient)]) c.header(name, value);
    if (refusal !== undefined && frame && wantsPage(c))
      return renderFaultPage(c, refusal.status, { frame, log, message: refusal.message });
    if (refusal !== undefined) return c.json(buildRefusalBody(c.req.path, refusal), refusal.status);
    await forClient(client, next);
    return undefined;
  });
  app.onError((error, c) => errorResponse(error, c, log));
  const ask = createCaller(sources, admit);
  if (pages && frame) addPages(app, { ...pages, ask }, frame, context.lookup.namespaces);
  for (const endpoint of endpoints) mount(app, endpoint, context, log);
  app.route("/", docsRoutes(buildDocument(version, endpoints), frame && createSurround(frame)));
  if (subgraph) app.route("/subgraph", subgraph);
  if (metadata) app.route("/", metadataRoutes({ ...metadata, ask }));
  const { namespace } = context.config;
  app.route("/", mcpRoutes({ ask, namespace, version, hasSubgraph: subgraph !== undefined }));
  // ponder: mounts the app in its own, whose response to unknown paths would win over a notFound handler.
  app.all("/v1/*", (c) => c.json(unknownPath, 404));
  const missing = "There is no such page.";
  app.all("*", (c) =>
    frame && wantsPage(c) ? renderFaultPage(c, 404, { frame, log, message: missing }) : notFound(c),
  );
  return app;
}
