import { once } from "node:events";
import type { Server } from "node:http";
import { connect } from "node:net";
import { afterEach } from "vitest";

/**
 * A connection that sends bytes as they are; `received` is what came back so far, `ended` all of it once the connection
 * is closed.
 */
export async function openRaw(port: number, bytes = "") {
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
  });
  socket.on("error", () => undefined); // A reset is an end like any other.
  const ended = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  await once(socket, "connect");
  socket.write(bytes, "latin1");
  return { socket, ended, received: () => received };
}

/** Closes the servers that are put into the list after each test of the file that calls this. */
export function closedAfterEach(): Server[] {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });
  return servers;
}
