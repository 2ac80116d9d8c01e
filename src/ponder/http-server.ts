import type http from "node:http";
import type { RequestListener, ServerResponse } from "node:http";
import { type BodyLimits, createBodyReader, type Unread } from "../http/bodies.ts";
import { type Exchange, serveOneAtATime } from "../http/one-at-a-time.ts";
import { refuseExchange } from "../http/refusal.ts";
import { databaseAway } from "./sql-client.ts";

/** The maximum bytes of a body, and the JSON of the 413 for a longer one. */
type BodyLimit = { bytes: number; refusal: object };

/** Limits of the HTTP server for every path: milliseconds, connections, bytes. */
const serverLimits = {
  /** From a connection, or a request's first byte, to the end of its headers. */
  headersMs: 10_000,
  /** From a request's first byte to its last. */
  requestMs: 30_000,
  /** Between two requests of a connection. */
  idleMs: 65_000,
  /** Without progress on a connection, such as a response that nobody reads. */
  unreadMs: 60_000,
  /** Without a byte of a body. */
  stalledMs: 10_000,
  connections: 8_192,
  requestsPerConnection: 10_000,
  /** Of all arriving bodies; the oldest is ended first. */
  arrivingBytes: 32 * 1024 * 1024,
  /** Of all unread responses; the oldest is ended first. */
  unreadBytes: 256 * 1024 * 1024,
};

/** What the server needs to know about the application. */
export type Surface = {
  bodyLimitOf(path: string): BodyLimit;
  /** Responds to a GET or HEAD of a path that is not left to Ponder; false for all other paths. */
  respond(path: string, outgoing: ServerResponse): boolean;
  /** Whether the database does not respond; asked once a request has waited for a quarter of a second. */
  isDatabaseAway(): Promise<boolean>;
  limits?: Partial<typeof serverLimits>;
};

const watchMs = 250;

/**
 * Guards the next server created with `module`, which is Ponder's: requests of a connection reach the application one
 * by one, with complete bodies; slow clients are disconnected; requests that wait while the database is away get 503.
 */
export function guardNextServer(module: Pick<typeof http, "createServer">, surface: Surface): void {
  const { createServer } = module;
  const limits = { ...serverLimits, ...surface.limits };
  // ponder: it creates its server with this function after it has loaded the API; before, one without a listener to
  // find a free port.
  const createGuarded = (options: http.ServerOptions, listener?: RequestListener) => {
    if (listener === undefined) return createServer(options);
    Object.assign(module, { createServer });
    const waiting: Waiting = new Map();
    const handle = createHandler(surface, limits, (exchange) => {
      waiting.set(exchange, performance.now());
      exchange.outgoing.once("close", () => waiting.delete(exchange));
      listener(exchange.incoming, exchange.outgoing as Parameters<RequestListener>[1]);
    });
    const timeouts = {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      // Short, so that few of many idle connections are closed at a time.
      connectionsCheckingInterval: 100,
    };
    const server = serveOneAtATime(createServer({ ...options, ...timeouts }), handle);
    server.setTimeout(limits.unreadMs);
    server.maxConnections = limits.connections;
    server.maxRequestsPerSocket = limits.requestsPerConnection;
    const watch = setInterval(() => {
      endUnread(waiting, limits.unreadBytes);
      void endWaiting(waiting, surface);
    }, watchMs).unref();
    return server.once("close", () => clearInterval(watch));
  };
  Object.assign(module, { createServer: createGuarded });
}

/** Requests that the application works on, with their start in milliseconds. */
type Waiting = Map<Exchange, number>;

function createHandler(surface: Surface, limits: BodyLimits, pass: (exchange: Exchange) => void) {
  const readBody = createBodyReader(limits);

  async function passWithBody(exchange: Exchange, { bytes, refusal }: BodyLimit): Promise<void> {
    const rawBody = await readBody(exchange.incoming, bytes);
    if (rawBody === "too long") return refuseWith(exchange, 413, refusal);
    if (typeof rawBody === "string") return refuseWith(exchange, ...unread[rawBody]);
    // ponder: its adapter reads the body from here.
    Object.assign(exchange.incoming, { rawBody });
    pass(exchange);
  }

  return (exchange: Exchange): void => {
    const { method, url = "/", headers } = exchange.incoming;
    const [path = "/"] = url.split("?", 1);
    // ponder: it has JSON at /status, where browsers get our page.
    if (method === "GET" && path === "/status" && /\btext\/html\b/.test(headers.accept ?? ""))
      exchange.incoming.url = url.replace(path, "/status/");
    else if ((method === "GET" || method === "HEAD") && surface.respond(path, exchange.outgoing)) return;
    const length = headers["content-length"] ?? "0";
    if (length === "0" && headers["transfer-encoding"] === undefined) pass(exchange);
    else void passWithBody(exchange, surface.bodyLimitOf(path));
  };
}

const unread: Record<Exclude<Unread, "too long">, [status: number, body: object]> = {
  "too slow": [408, { message: "The body does not arrive." }],
  "too many": [503, { message: "Too many requests are being received." }],
  gone: [400, { message: "The body was cut off." }],
};

function refuseWith(exchange: Exchange, status: number, body: object): void {
  const headers = ["content-type", "application/json", "access-control-allow-origin", "*"];
  if (status === 503) headers.push("retry-after", "5");
  refuseExchange(exchange, { status, headers, body: JSON.stringify(body) });
}

function endUnread(waiting: Waiting, maxBytes: number): void {
  let unread = 0;
  for (const { outgoing } of waiting.keys()) unread += outgoing.writableLength;
  for (const { outgoing, incoming } of waiting.keys()) {
    if (unread <= maxBytes) return;
    if (outgoing.writableLength === 0) continue;
    unread -= outgoing.writableLength;
    incoming.socket.destroy();
  }
}

async function endWaiting(waiting: Waiting, surface: Surface): Promise<void> {
  const before = performance.now() - watchMs;
  const late = () => [...waiting].filter(([{ outgoing }, since]) => since <= before && !outgoing.headersSent);
  if (late().length === 0 || !(await surface.isDatabaseAway())) return;
  for (const [exchange] of late()) refuseWith(exchange, 503, databaseAway);
}
