import { STATUS_CODES } from "node:http";
import type { Exchange } from "./one-at-a-time.ts";

// So long a client may go on sending before its connection is destroyed, and the response perhaps with it.
const lingerMs = 500;
const mostDiscarded = 4 * 1024 * 1024;

/**
 * Responds to a request that has no response yet, and ends its connection, half a second later if its body is not complete. Of
 * one that is too long (413) up to 4 MiB more are read, and thrown away. To whoever works on the request this looks as if the
 * client had gone. `headers`: names and values in turn.
 */
export function refuse(
  { incoming, outgoing }: Exchange,
  { status, headers, body }: { status: number; headers: readonly string[]; body: string },
): void {
  const { socket } = outgoing;
  if (socket === null || outgoing.headersSent) return void incoming.socket.destroy();
  const close = () => socket.destroy();
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`];
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  lines.push(`content-length: ${Buffer.byteLength(body)}`, "connection: close", "");
  lines.push(incoming.method === "HEAD" ? "" : body);
  let left = status === 413 ? mostDiscarded : 0;
  // Some clients look for the response only once they have sent all.
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.pause();
  });
  socket.end(lines.join("\r\n"), () => {
    if (incoming.complete) close();
    else setTimeout(close, lingerMs).unref();
  });
}
