import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerOptions as NodeServerOptions,
  type Server,
  type ServerResponse,
} from "node:http";
import packageJson from "../../package.json" with { type: "json" };
import { createBodyReader, type Unread } from "../../src/http/bodies.ts";
import { serveOneAtATime } from "../../src/http/one-at-a-time.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { type LabelSetFacts, labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";
import type { Log } from "../../src/log/json-log.ts";
import type { LiveDatabase } from "../store/live-database.ts";
import {
  type Answer,
  busy,
  createSharedMemory,
  createWriter,
  errorAnswer,
  internalError,
  jsonAnswer,
  type Memory,
  notFound,
  notReady,
  type Writer,
  writePreflight,
} from "./answer.ts";
import { createHealer, createHealLine, type HealLine } from "./heal.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

/** A request without its body. */
type LabelsRequest = { method: string; path: string; query: string; headers: IncomingHttpHeaders };

/** The route of a request, for metrics, and its answer, unless that depends on the request's body. */
type Routed =
  | { route: string; needsBody?: false; answer: Answer | Promise<Answer> }
  | { route: string; needsBody: true };

const ok = jsonAnswer('{"status":"ok"}');
const unrouted: Routed = { route: "none", answer: notFound };
const healBatch: Routed = { route: "heal_batch", needsBody: true };
const healPrefix = "/v1/heal/";

/** Finds the answer to a request. Paths are exact: an additional slash makes another path. */
function createRouter(database: LiveDatabase, metrics: Metrics, now: () => Date) {
  const heal = createHealer();
  const openApi = once(openApiAnswer);
  const factAnswer = (bodyOf: Body): Answer => {
    const file = database.current();
    return file === undefined ? notReady : jsonAnswer(JSON.stringify(bodyOf(file.facts, now)));
  };

  return ({ method, path, query, headers }: LabelsRequest): Routed => {
    const isReading = method === "GET" || method === "HEAD";
    if (isReading && path.startsWith(healPrefix) && !path.includes("/", healPrefix.length)) {
      return { route: "heal", answer: heal(database.current(), path.slice(healPrefix.length), query) };
    }
    if (method === "POST" && path === "/v1/heal") return healBatch;
    if (!isReading) return unrouted;
    const fact = Object.hasOwn(factRoutes, path) ? factRoutes[path] : undefined;
    if (fact !== undefined) return { route: fact[0], answer: factAnswer(fact[1]) };
    switch (path) {
      case "/v1/heal":
        return { route: "heal", answer: heal(database.current(), "", query) };
      case "/health":
        return { route: "health", answer: ok };
      case "/openapi.json":
        return { route: "openapi", answer: openApi() };
      case "/metrics":
        return { route: "metrics", answer: metricsAnswer(metrics) };
      default:
        if (!isPage(path, headers.accept)) return unrouted;
        return { route: "page", answer: pageAnswer({ path, query, headers }, database.current()) };
    }
  };
}

type Body = (facts: LabelSetFacts, now: () => Date) => object;

/** What is told of the database, by path: the route for metrics, and the body. */
const factRoutes: Readonly<Record<string, readonly [route: string, body: Body]>> = {
  "/ready": ["ready", () => ({ status: "ok" })],
  "/v1/labels/count": [
    "count",
    ({ recordsCount }, now) => ({ status: "success", count: recordsCount, timestamp: now().toISOString() }),
  ],
  "/v1/config": [
    "config",
    ({ labelSetId, highestLabelSetVersion, recordsCount }) => ({
      version: packageJson.version,
      labelSet: { labelSetId, highestLabelSetVersion },
      recordsCount,
    }),
  ],
  "/v1/version": [
    "version",
    ({ labelSetId, highestLabelSetVersion }) => ({
      status: "success",
      versionInfo: {
        version: packageJson.version,
        dbSchemaVersion: labelDatabaseSchemaVersion,
        labelSet: { labelSetId, highestLabelSetVersion },
      },
    }),
  ],
};

// Few ask for the document, and loading its library would be a good part of the server's start.
const openApiAnswer = async (): Promise<Answer> =>
  jsonAnswer(JSON.stringify((await import("./openapi.ts")).labelsDocument(packageJson.version)));

// Other clients than browsers find nothing at "/".
const isPage = (path: string, accept = "") =>
  path === "/docs" || path.startsWith("/assets/") || (path === "/" && accept.includes("text/html"));

const pageAnswer = async (
  request: Pick<LabelsRequest, "path" | "query" | "headers">,
  file: LabelFile | undefined,
): Promise<Answer> => (await import("./pages.ts")).pageOf(request, file);

function once<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= make();
    return value;
  };
}

async function metricsAnswer(metrics: Metrics): Promise<Answer> {
  return { status: 200, contentType: metrics.contentType, body: await metrics.text(), outcome: "ok" };
}

/** How much the server does for its clients. Times are in milliseconds. */
export type ServerLimits = {
  connections: number;
  /** How long a request's headers, and the whole request, may take to arrive. */
  headersMs: number;
  requestMs: number;
  /** How long a client may neither send a byte of a body nor take one of a long response, and idle between two requests. */
  stalledMs: number;
  idleMs: number;
  /** How long a client may take to read a long response. */
  responseMs: number;
  /** Bytes of all bodies that are arriving; the one that has been arriving for longest ends first. */
  arrivingBytes: number;
  /** Bytes of memory that batches and long labels share. */
  memory: number;
};

const productionLimits: ServerLimits = {
  connections: 1024,
  headersMs: 10_000,
  requestMs: 20_000,
  stalledMs: 10_000,
  // Longer than common proxies keep idle connections, so that the proxy closes them.
  idleMs: 75_000,
  responseMs: 60_000,
  arrivingBytes: 32 * 1024 * 1024,
  memory: 128 * 1024 * 1024,
};

export type ServerOptions = {
  database: LiveDatabase;
  log: Log;
  now: () => Date;
  /** Whether to write one line of log for each request. */
  logsRequests: boolean;
  limits?: Partial<ServerLimits>;
};

/** The label service's HTTP server, not yet listening. */
export function createLabelsServer(options: ServerOptions): Server {
  const limits = { ...productionLimits, ...options.limits };
  const line = createHealLine();
  const { handle, fail } = createHandler(options, limits, line);
  const answer = (incoming: IncomingMessage, response: ServerResponse, since: number) => {
    try {
      handle(incoming, response, since);
    } catch (error) {
      fail(response, incoming.url ?? "", error);
    }
  };
  const server = createServer(connectionOptions(limits));
  serveOneAtATime(server, ({ incoming, outgoing }) => {
    const since = performance.now();
    if (line.isFormed() && incoming.url?.startsWith(healPrefix))
      line.join(() => answer(incoming, outgoing, since));
    else answer(incoming, outgoing, since);
  });
  server.maxConnections = limits.connections;
  return server;
}

function createHandler(
  { database, log, now, logsRequests }: ServerOptions,
  limits: ServerLimits,
  line: HealLine,
) {
  const metrics = createMetrics(database);
  const route = createRouter(database, metrics, now);
  const failed = (error: unknown, path: string): Answer => {
    log("error", "request failed", { path, reason: error instanceof Error ? error.message : String(error) });
    return internalError;
  };
  const shareOfMemory = createSharedMemory(limits.memory);
  const write = createWriter(shareOfMemory, limits);
  const send = createSender({ metrics, line, log, logsRequests, failed, write });
  const readBody = createBodyReader(limits);

  const batchAnswer = async (incoming: IncomingMessage, file: LabelFile | undefined, memory: Memory) => {
    if (file === undefined) return notReady;
    // Loaded when it is first needed: its validation library would be a tenth of the server's start.
    const { answerBatch, largestBody } = await import("./batch.ts");
    const body = await readBody(incoming, largestBody);
    if (body === "too long") return errorAnswer(413, `The body has more than ${largestBody} bytes`);
    if (typeof body === "string") return unread[body];
    const asLines = incoming.headers.accept?.includes("application/x-ndjson") ?? false;
    return answerBatch(file, body, { asLines, memory });
  };

  const answerWithBody = async (incoming: IncomingMessage, exchange: Exchange) => {
    const borrowed = database.borrow();
    const memory = shareOfMemory();
    try {
      const answer = await batchAnswer(incoming, borrowed?.file, memory).catch((error) =>
        failed(error, exchange.request.path),
      );
      await send(exchange, answer);
    } finally {
      memory.release();
      borrowed?.release();
    }
  };

  const handle = (incoming: IncomingMessage, response: ServerResponse, since: number): void => {
    const request = requestOf(incoming);
    if (request.method === "OPTIONS" && request.path.startsWith("/v1/")) {
      writePreflight(response, request.headers);
      return;
    }
    const routed = route(request);
    const exchange = { request, response, route: routed.route, since };
    if (routed.needsBody) void answerWithBody(incoming, exchange);
    else if (routed.answer instanceof Promise) {
      void routed.answer
        .catch((error) => failed(error, request.path))
        .then((answer) => send(exchange, answer));
    } else void send(exchange, routed.answer);
  };

  const fail = (response: ServerResponse, path: string, error: unknown) =>
    void write(response, { method: "", path }, failed(error, path));
  return { handle, fail };
}

function connectionOptions({ headersMs, requestMs, idleMs }: ServerLimits): NodeServerOptions {
  return {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: Math.min(1000, headersMs),
  };
}

/** A request under way: `since` is the time of its arrival, by `performance.now()`. */
type Exchange = { request: LabelsRequest; response: ServerResponse; route: string; since: number };

function createSender({
  metrics,
  line,
  log,
  logsRequests,
  failed,
  write,
}: Pick<ServerOptions, "log" | "logsRequests"> & {
  metrics: Metrics;
  line: HealLine;
  failed: (error: unknown, path: string) => Answer;
  write: Writer;
}) {
  return ({ request, response, route, since }: Exchange, answer: Answer): Promise<void> => {
    const { method, path } = request;
    const milliseconds = performance.now() - since;
    if (route === "heal") line.observe(milliseconds);
    metrics.observe(route, answer.outcome, milliseconds / 1000);
    if (logsRequests) {
      const microseconds = Math.round(milliseconds * 1000);
      log("info", "request", { method, path, status: answer.status, microseconds });
    }
    return write(response, request, answer).catch((error) => {
      failed(error, path);
    });
  };
}

const unread: Record<Exclude<Unread, "too long">, Answer> = {
  "too slow": errorAnswer(408, "The body does not arrive"),
  "too many": busy,
  gone: errorAnswer(400, "The body was cut off"),
};

function requestOf({ method = "", url = "", headers }: IncomingMessage): LabelsRequest {
  const mark = url.indexOf("?");
  if (mark < 0) return { method, path: url, query: "", headers };
  return { method, path: url.slice(0, mark), query: url.slice(mark + 1), headers };
}
