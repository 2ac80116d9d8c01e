import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";

/** A request on its way to the application and back; `since`: when the application got it, in milliseconds. */
export type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse; since: number };

/** The most bytes of a body, and the JSON of the 413 for a longer one. */
export type BodyLimit = { bytes: number; refusal: object };

// So long a client may go on sending before its connection is destroyed, and the response perhaps with it.
const lingerMs = 500;

/**
 * Ends a request that has no response yet, and its connection. To the application this looks as if the client had gone, so
 * that whatever it does for the request ends too.
 */
export function refuse({ incoming, outgoing }: Exchange, status: number, body: object): void {
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
export function createBodyReader(mostBytes: number, pass: (exchange: Exchange) => void) {
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
