import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** Serves HTTP on the loopback interface; `wanted` 0 takes a free port. Rejects when the port is taken. */
export async function listen(handler: RequestListener, wanted = 0) {
  const server = createServer(handler);
  server.keepAliveTimeout = 30_000;
  server.listen(wanted, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** Closes the port and drops open connections. */
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
