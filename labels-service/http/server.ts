import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import { createBodyReader, type Unread } from "../../src/http/bodies.ts";
import { HttpError } from "../../src/http/error.ts";
import { serveOneAtATime } from "../../src/http/one-at-a-time.ts";
import { yieldToEventLoop } from "../../src/http/turn.ts";
import { type LabelSetFacts, labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";
import type { Log } from "../../src/log/json-log.ts";
import type { LiveDatabase } from "../store/live-database.ts";
import {
  type Answer,
  busy,
  createErrorAnswer,
  createJsonAnswer,
  createSharedMemory,
  internalError,
  type Memory,
  notFound,
  notReady,
  writeAnswer,
  writePreflight,
} from "./answer.ts";
import { answerHeal } from "./heal.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

// The HTTP server of the label service: limits, routes and responses. It reads the live database of
// labels-service/store and never writes it.

/** Limits in production; times are in milliseconds. */
const productionLimits = {
  connections: 1024,
  /** Time until the headers, and until the whole request, have arrived. */
  headersMs: 10_000,
  requestMs: 20_000,
  /** Longest time without a byte of an arriving body, or of a long response that the client reads. */
  stalledMs: 10_000,
  /** Time between two requests. It exceeds that of common proxies, so that the proxy closes idle connections. */
  idleMs: 75_000,
  responseMs: 60_000,
  /** Bytes of all arriving bodies together. Beyond that the oldest ends first. */
  arrivingBytes: 32 * 1024 * 1024,
  /** Bytes of memory that batches and long labels share. */
  memory: 128 * 1024 * 1024,
};
export type ServerLimits = typeof productionLimits;

export type ServerOptions = {
  database: LiveDatabase;
  log: Log;
  now: () => Date;
  logsRequests: boolean;
  limits?: Partial<ServerLimits>;
};

type LabelsRequest = {
  method: string;
  path: string;
  query: string;
  headers: IncomingHttpHeaders;
  incoming: IncomingMessage;
  memory: Memory;
};

/** An endpoint: its name in metrics, and its handler. */
type Route = readonly [name: string, answer: (request: LabelsRequest) => Answer | Promise<Answer>];

/** Milliseconds of a slow heal, whose label has a hundred kilobytes or more. */
const slowMs = 5;

/** Creates the label service's HTTP server, not yet listening. */
export function createLabelsServer(options: ServerOptions): Server {
  const limits = { ...productionLimits, ...options.limits };
  const handle = createHandler(options, limits);
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.min(1000, limits.headersMs),
  });
  let wasSlow = false;
  const heal = (incoming: IncomingMessage, outgoing: ServerResponse, since: number) => {
    const begun = performance.now();
    void handle(incoming, outgoing, since);
    wasSlow = performance.now() - begun > slowMs;
  };
  serveOneAtATime(server, ({ incoming, outgoing }) => {
    const since = performance.now();
    if (incoming.url?.startsWith(healPrefix) !== true) void handle(incoming, outgoing, since);
    // Many long labels delay other requests no more than one does.
    else if (wasSlow)
      void yieldToEventLoop(incoming.socket.remoteAddress).then(() => heal(incoming, outgoing, since));
    else heal(incoming, outgoing, since);
  });
  server.maxConnections = limits.connections;
  return server;
}

function createHandler(options: ServerOptions, limits: ServerLimits) {
  const { log, logsRequests } = options;
  const metrics = createMetrics(options.database);
  const findRoute = createRouter(options, limits, metrics);
  const shareOfMemory = createSharedMemory(limits.memory);

  return async (incoming: IncomingMessage, response: ServerResponse, since: number): Promise<void> => {
    const { method = "", url = "", headers } = incoming;
    const [path = "", ...queries] = url.split("?");
    if (method === "OPTIONS" && path.startsWith("/v1/")) return writePreflight(response, headers);
    const memory = shareOfMemory();
    const failed = (error: unknown): Answer => {
      if (error instanceof HttpError) return createErrorAnswer(error.status, error.message);
      log("error", "request failed", {
        path,
        reason: error instanceof Error ? error.message : String(error),
      });
      return internalError;
    };
    const request = { method, path, query: queries.join("?"), headers, incoming, memory };
    const [name, respond] = findRoute(request);
    const answer = await attempt(() => respond(request)).catch(failed);
    const milliseconds = performance.now() - since;
    metrics.observe(name, answer.outcome, milliseconds / 1000);
    if (logsRequests) {
      const microseconds = Math.round(milliseconds * 1000);
      log("info", "request", { method, path, status: answer.status, microseconds });
    }
    await writeAnswer(response, request, answer, { memory, timeouts: limits }).catch(failed);
    memory.release();
  };
}

/** Turns a synchronous error into a rejection. */
const attempt = async <T>(run: () => T | Promise<T>): Promise<T> => run();

const healPrefix = "/v1/heal/";
const unrouted: Route = ["none", () => notFound];

/** Creates the router. Paths are exact: a trailing slash makes another path. */
function createRouter({ database, now }: ServerOptions, limits: ServerLimits, metrics: Metrics) {
  const ofFacts =
    (bodyOf: (facts: LabelSetFacts) => object): Route[1] =>
    () => {
      const file = database.current();
      return file === undefined ? notReady : createJsonAnswer(JSON.stringify(bodyOf(file.facts)));
    };
  const { version } = packageJson;
  const page: Route = [
    "page",
    async (request) => (await import("./pages.ts")).answerPage(request, database.current()),
  ];
  const heal: Route = [
    "heal",
    ({ path, query }) => answerHeal(database.current(), path.slice(healPrefix.length), query),
  ];
  const batch: Route = ["heal_batch", createBatches(database, limits)];
  const reading: Readonly<Record<string, Route>> = {
    "/v1/heal": heal,
    "/v1/labels/count": [
      "count",
      ofFacts(({ recordsCount: count }) => ({ status: "success", count, timestamp: now().toISOString() })),
    ],
    "/v1/config": [
      "config",
      ofFacts(({ recordsCount, ...labelSet }) => ({ version, labelSet, recordsCount })),
    ],
    "/v1/version": [
      "version",
      ofFacts(({ recordsCount: _, ...labelSet }) => ({
        status: "success",
        versionInfo: { version, dbSchemaVersion: labelDatabaseSchemaVersion, labelSet },
      })),
    ],
    "/health": ["health", () => createJsonAnswer('{"status":"ok"}')],
    "/ready": ["ready", ofFacts(() => ({ status: "ok" }))],
    // Few clients ask for the document, and its library would take a good part of the server's start.
    "/openapi.json": ["openapi", async () => createJsonAnswer((await import("./openapi.ts")).documentText)],
    "/metrics": [
      "metrics",
      async () => ({ ...createJsonAnswer(await metrics.text()), contentType: metrics.contentType }),
    ],
    "/docs": page,
  };

  return ({ method, path, headers }: LabelsRequest): Route => {
    if (method === "POST" && path === "/v1/heal") return batch;
    if (method !== "GET" && method !== "HEAD") return unrouted;
    if (path.startsWith(healPrefix) && !path.includes("/", healPrefix.length)) return heal;
    // Only browsers find a page at "/".
    if (path.startsWith("/assets/") || (path === "/" && headers.accept?.includes("text/html"))) return page;
    return (Object.hasOwn(reading, path) ? reading[path] : undefined) ?? unrouted;
  };
}

function createBatches(database: LiveDatabase, limits: ServerLimits): Route[1] {
  const readBody = createBodyReader(limits);
  return async ({ incoming, headers, memory }) => {
    const file = database.current();
    if (file === undefined) return notReady;
    // Loaded on first use: its validation library would take a tenth of the server's start.
    const { answerBatch, largestBody } = await import("./batch.ts");
    const body = await readBody(incoming, largestBody);
    if (body === "too long") return createErrorAnswer(413, `The body has more than ${largestBody} bytes`);
    if (typeof body === "string") return unread[body];
    const asLines = headers.accept?.includes("application/x-ndjson") ?? false;
    return answerBatch(file, body, { asLines, memory });
  };
}

const unread: Record<Exclude<Unread, "too long">, Answer> = {
  "too slow": createErrorAnswer(408, "The body does not arrive"),
  "too many": busy,
  gone: createErrorAnswer(400, "The body was cut off"),
};
