import { once } from "node:events";
import http, { type Server } from "node:http";
import { createRequire } from "node:module";
import type { Hono } from "hono";
import { expect } from "vitest";
import { guardNextServer, type Surface } from "../../../src/ponder/http-server.ts";

const ofPonder = createRequire(new URL("../../../node_modules/ponder/package.json", import.meta.url));
const { createAdaptorServer } = ofPonder("@hono/node-server") as typeof import("@hono/node-server");

/**
 * Serves an application as Ponder does: its own copy of the adapter, behind the limits of src/ponder/http-server.ts.
 */
export async function serveGuarded(app: Hono, surface: Partial<Surface> = {}): Promise<Server> {
  const module = { createServer: http.createServer };
  guardNextServer(module, {
    bodyLimitOf: (path) => ({ bytes: 100_000, refusal: { message: `too long for ${path}` } }),
    respond: () => false,
    isDatabaseAway: async () => false,
    ...surface,
  });
  // Ponder looks for a free port first, with a server that has no listener.
  module.createServer().close();
  const server = createAdaptorServer({
    fetch: app.fetch,
    createServer: module.createServer,
    overrideGlobalObjects: false,
  }) as Server;
  expect(module.createServer).toBe(http.createServer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
