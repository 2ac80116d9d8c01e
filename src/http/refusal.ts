import { STATUS_CODES } from "node:http";
import type { Exchange } from "./one-at-a-time.ts";

// A client may go on sending for so long before its connection is destroyed, perhaps with the response.
const lingerMs = 500;
const maxDiscarded = 4 * 1024 * 1024;

/**
 * Answers a request that has no response yet, and closes its connection: half a second later if its body is not
 * complete. For a 413 it also reads and discards up to 4 MiB more. The handler sees a client that has gone. `headers`:
 * names and values in turn.
 */
export function refuseExchange(
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
  let left = status === 413 ? maxDiscarded : 0;
  // Some clients read the response only after they have sent everything.
  incoming.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.pause();
  });
  socket.end(lines.join("\r\n"), () => {
    if (incoming.complete) close();
    else setTimeout(close, lingerMs).unref();
  });
}
