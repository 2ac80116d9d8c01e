import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** A TCP port on which nothing listens right now; rejects if that is not true of the `wanted` one on all interfaces. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  server.listen(wanted);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
