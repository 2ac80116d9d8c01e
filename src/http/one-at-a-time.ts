import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { yieldToEventLoop } from "./turn.ts";

/** A request and the response to it. */
export type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse };

// Bytes outside of bodies that are parsed at once: some 40 requests at most.
const sliceBytes = 1_024;
// A read of this length may have left more in the socket.
const fullRead = 65_536;

/**
 * Handles one request per connection at a time. What a client sends before it has its response stays unparsed, with the
 * socket paused, and is then parsed in slices. Each further request waits for a turn of the event loop.
 */
export function serveOneAtATime(server: Server, handle: (exchange: Exchange) => void): Server {
  const connections = new WeakMap<Socket, ReturnType<typeof createConnection>>();
  return server
    .on("connection", (socket: Socket) => connections.set(socket, createConnection(socket, handle)))
    .on("request", (incoming: IncomingMessage, outgoing: ServerResponse) =>
      connections.get(incoming.socket)?.take({ incoming, outgoing }),
    );
}

function createConnection(socket: Socket, handle: (exchange: Exchange) => void) {
  // Node's own listener, which parses. A listener of ours makes Node emit the bytes instead of passing them to the
  // parser itself.
  const [parse] = socket.listeners("data");
  socket.removeAllListeners("data");
  let unparsed: Buffer = Buffer.alloc(0);
  let current: Exchange | undefined;
  const waiting: Exchange[] = [];
  let hasTurnAhead = false;
  // Bytes of the current request's body that are certainly still unparsed; 0 or less without a content length.
  let bodyBytes = 0;

  const isBusy = () => hasTurnAhead || waiting.length > 0 || current?.incoming.complete === true;

  // Parses until a request is complete, then pauses. Node resumes the socket after each response, and "resume" leads
  // here too.
  function proceed(): void {
    while (unparsed.length > 0 && !isBusy() && !socket.isPaused() && !socket.destroyed) {
      const length = Math.max(sliceBytes, bodyBytes);
      const slice = unparsed.subarray(0, length);
      unparsed = unparsed.subarray(length);
      bodyBytes -= slice.length;
      parse?.call(socket, slice);
    }
    if (unparsed.length > 0 || waiting.length > 0) socket.pause();
  }

  function begin(exchange: Exchange): void {
    current = exchange;
    bodyBytes = Number(exchange.incoming.headers["content-length"] ?? 0) - sliceBytes;
    exchange.outgoing.once("close", () => {
      current = undefined;
      if (socket.isPaused()) void resumeInTurn();
    });
    handle(exchange);
  }

  async function resumeInTurn(): Promise<void> {
    hasTurnAhead = true;
    await yieldToEventLoop();
    hasTurnAhead = false;
    if (socket.destroyed) return;
    const next = waiting.shift();
    if (next !== undefined) begin(next);
    else socket.resume();
  }

  socket.on("resume", proceed).on("data", (chunk: Buffer) => {
    unparsed = unparsed.length === 0 ? chunk : Buffer.concat([unparsed, chunk]);
    proceed();
    if (chunk.length < fullRead || socket.isPaused()) return;
    // Node would read on while the socket has data, before it looks at other connections.
    socket.pause();
    setImmediate(() => current?.incoming.isPaused() || socket.resume());
  });

  return {
    take: (exchange: Exchange) => {
      if (current === undefined && !hasTurnAhead) begin(exchange);
      else waiting.push(exchange);
    },
  };
}
