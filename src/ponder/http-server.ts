import type http from "node:http";
import { type IncomingMessage, type RequestListener, type ServerResponse, STATUS_CODES } from "node:http";
import { databaseAway } from "./sql-client.ts";

/** A request on its way to the application and back; `since`: when the application got it, in milliseconds. */
type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse; since: number };

/** The most bytes of a body, and the JSON of the 413 for a longer one. */
type BodyLimit = { bytes: number; refusal: object };

// So long a client may go on sending before its connection is destroyed, and the response perhaps with it.
const lingerMs = 500;

/**
 * Ends a request that has no response yet, and its connection. To the application this looks as if the client had gone, so
 * that whatever it does for the request ends too.
 */
function refuse({ incoming, outgoing }: Exchange, status: number, body: object): void {
  const { socket } = outgoing;
  // Without a socket: the response to an earlier request of the connection is still being sent.
  if (socket === null || outgoing.headersSent) return void incoming.socket.destroy();
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
    "access-control-allow-origin: *",
    ...(status === 503 ? ["retry-after: 5"] : []),
    "connection: close",
  ];
  const close = () => socket.destroy();
  incoming.resume();
  socket.end(`${head.join("\r\n")}\r\n\r\n${incoming.method === "HEAD" ? "" : text}`, () => {
    if (incoming.complete) close();
    else setTimeout(close, lingerMs).unref();
  });
}

/**
 * Reads the bodies of requests before `pass` gets them: whole, from memory. A body is refused as soon as it is longer than
 * its limit; the one that has been arriving for longest as soon as all of them hold more than `mostBytes`.
 */
function createBodyReader(mostBytes: number, pass: (exchange: Exchange) => void) {
  const arriving = new Map<Exchange, (status: number, body: object) => void>();
  let held = 0;

  return (exchange: Exchange, { bytes, refusal }: BodyLimit): void => {
    const { incoming } = exchange;
    let body = Buffer.alloc(0);
    let size = 0;
    const leave = () => {
      if (!arriving.delete(exchange)) return;
      held -= body.length;
      incoming.off("data", take).off("end", complete).off("close", leave);
    };
    const end = (status: number, reason: object) => {
      leave();
      refuse(exchange, status, reason);
    };
    const take = (chunk: Buffer) => {
      if (size + chunk.length > bytes) return end(413, refusal);
      if (size + chunk.length > body.length) {
        const longer = Buffer.allocUnsafe(Math.max(2 * body.length, size + chunk.length));
        body.copy(longer, 0, 0, size);
        held += longer.length - body.length;
        body = longer;
      }
      size += chunk.copy(body, size);
      const [endOldest] = arriving.values();
      if (held > mostBytes) endOldest?.(503, { message: "Too many requests are being received." });
    };
    const complete = () => {
      leave();
      // ponder: its adapter takes a body from here.
      Object.assign(incoming, { rawBody: body.subarray(0, size) });
      pass(exchange);
    };
    incoming.on("error", () => undefined); // The client has gone: "close" follows.
    arriving.set(exchange, end);
    if (Number(incoming.headers["content-length"] ?? 0) > bytes) end(413, refusal);
    else incoming.on("data", take).on("end", complete).on("close", leave);
  };
}

/** Limits of the HTTP server: milliseconds, connections, bytes. They hold for every path. */
const serverLimits = {
  /** From a connection, or a request's first byte, to the end of its headers. */
  headersMs: 10_000,
  /** From a request's first byte to its last. */
  requestMs: 30_000,
  /** Between two requests of a connection. */
  idleMs: 5_000,
  /** Without progress on a connection, such as a response that nobody reads. */
  stalledMs: 60_000,
  connections: 8_192,
  requestsPerConnection: 10_000,
  /** Of all bodies that are still arriving; the oldest is ended first. */
  arrivingBytes: 64 * 1024 * 1024,
  /** Of all responses that are not read yet; the oldest is ended first. */
  unreadBytes: 256 * 1024 * 1024,
};

/** What the server needs to know of what it serves. */
export type Surface = {
  bodyLimitOf(path: string): BodyLimit;
  /** Writes the response to a GET or HEAD of a path that is not left to Ponder; false for all other paths. */
  respond(path: string, outgoing: ServerResponse): boolean;
  /** Whether the database does not respond. Asked while requests have waited for 0.75 seconds. */
  isDatabaseAway(): Promise<boolean>;
  limits?: Partial<typeof serverLimits>;
};

const watchMs = 250;
const patienceMs = 750;

/**
 * Guards the next server that is created with `module`, which is Ponder's: bodies reach the application only when they are
 * complete, slow clients are ended, and requests that wait while the database is away get 503.
 */
export function guardNextServer(module: Pick<typeof http, "createServer">, surface: Surface): void {
  const { createServer } = module;
  const limits = { ...serverLimits, ...surface.limits };
  // ponder: creates its one server with this function, after it has loaded the API; before it, one without a listener that
  // looks for a free port.
  const createGuarded = (options: http.ServerOptions, listener?: RequestListener) => {
    if (listener === undefined) return createServer(options);
    Object.assign(module, { createServer });
    const waiting = new Set<Exchange>();
    const guarded = createListener(surface, limits.arrivingBytes, (exchange) => {
      exchange.since = performance.now();
      waiting.add(exchange);
      exchange.outgoing.once("close", () => waiting.delete(exchange));
      listener(exchange.incoming, exchange.outgoing as Parameters<RequestListener>[1]);
    });
    const timeouts = {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      // Often, so that of many idle connections few are closed at a time.
      connectionsCheckingInterval: 100,
    };
    const server = createServer({ ...options, ...timeouts }, guarded).setTimeout(limits.stalledMs);
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

function createListener(
  surface: Surface,
  arrivingBytes: number,
  pass: (exchange: Exchange) => void,
): RequestListener {
  const readBody = createBodyReader(arrivingBytes, pass);
  return (incoming, outgoing) => {
    const { method, url = "/", headers } = incoming;
    const [path = "/"] = url.split("?", 1);
    if ((method === "GET" || method === "HEAD") && surface.respond(path, outgoing)) return;
    const exchange = { incoming, outgoing, since: 0 };
    const length = headers["content-length"] ?? "0";
    if (length === "0" && headers["transfer-encoding"] === undefined) pass(exchange);
    else readBody(exchange, surface.bodyLimitOf(path));
  };
}

function endUnread(waiting: ReadonlySet<Exchange>, mostBytes: number): void {
  let unread = 0;
  for (const { outgoing } of waiting) unread += outgoing.writableLength;
  for (const { outgoing, incoming } of waiting) {
    if (unread <= mostBytes) return;
    if (outgoing.writableLength === 0) continue;
    unread -= outgoing.writableLength;
    incoming.socket.destroy();
  }
}

async function endWaiting(waiting: ReadonlySet<Exchange>, surface: Surface): Promise<void> {
  const before = performance.now() - patienceMs;
  const late = () => [...waiting].filter(({ since, outgoing }) => since <= before && !outgoing.headersSent);
  if (late().length === 0 || !(await surface.isDatabaseAway())) return;
  for (const exchange of late()) refuse(exchange, 503, databaseAway);
}
