import { isIP } from "node:net";
import { type Context, Hono } from "hono";
import type { Log } from "../log/json-log.ts";
import type { QueuedDatabase } from "./database/client.ts";
import { type ApiContext, endpoints } from "./endpoints/endpoints.ts";
import { docsRoutes, openApiDocument } from "./rest/docs.ts";
import { mount } from "./rest/endpoint.ts";
import { errorResponse, notFound } from "./rest/errors.ts";
import type { GateContext } from "./rest/gate.ts";
import { welcomePage } from "./welcome-page.ts";

// Our headers that browsers expose to pages.
const exposedHeaders = "x-nsnode-version, link, etag, graph-indexed, graph-attestable";

/**
 * The HTTP interface as a whole: REST endpoints, their documents, the subgraph if it is active, welcome page, JSON
 * errors, version header. CORS headers, HEAD and OPTIONS are the server's part.
 */
export function createApi({
  context,
  subgraph,
  clients,
  log,
}: {
  context: ApiContext & GateContext;
  subgraph?: Hono | undefined;
  /** Who queues statements by client, and how many proxies there are before the service; none: all are one client. */
  clients?: Pick<QueuedDatabase, "forClient"> & { trustedProxies: number };
  log: Log;
}): Hono {
  const version = context.versions.program;
  const app = new Hono();

  app.use(async (c, next) => {
    if (clients === undefined) await next();
    else await clients.forClient(clientOf(c, clients.trustedProxies), next);
    c.header("x-nsnode-version", version);
    c.header("access-control-expose-headers", exposedHeaders);
  });
  app.onError((error, c) => errorResponse(error, c, log));
  const welcome = welcomePage(version, context.config.namespace, subgraph !== undefined);
  app.get("/", (c) => c.html(welcome));
  for (const endpoint of endpoints) mount(app, endpoint, context, log);
  app.route("/", docsRoutes(openApiDocument({ version, endpoints })));
  if (subgraph) app.route("/subgraph", subgraph);
  // ponder: the app becomes a part of Ponder's own, whose answer to unknown paths would win over a notFound handler.
  app.all("*", notFound);
  return app;
}

/**
 * The client of a request, as a text to tell clients apart: its IPv4 address, or the 64-bit network of its IPv6 address.
 * With `trustedProxies` the address is the one that the outermost of them reports in X-Forwarded-For (or Forwarded, RFC 7239).
 */
export function clientOf(c: Context, trustedProxies: number): string {
  const { incoming } = (c.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
  const direct = incoming?.socket?.remoteAddress ?? "unknown";
  if (trustedProxies === 0) return networkOf(direct);
  const hops = c.req.header("X-Forwarded-For")?.split(",") ?? forwardedHops(c.req.header("Forwarded"));
  const reported = addressOf(hops[Math.max(0, hops.length - trustedProxies)] ?? "");
  return networkOf(isIP(reported) === 0 ? direct : reported);
}

function forwardedHops(header = ""): string[] {
  return header.split(",").map((hop) => /(?:^|;)\s*for=([^;]*)/i.exec(hop)?.[1] ?? "");
}

// Without quotes, brackets and port.
function addressOf(text: string): string {
  const bare = text.trim().replace(/^"(.*)"$/, "$1");
  return /^\[([^\]]*)\]/.exec(bare)?.[1] ?? bare.replace(/^([\d.]+):\d+$/, "$1");
}

// One customer has a whole network of IPv6 addresses. An IPv4 address may come as one of IPv6 (::ffff:192.0.2.1).
function networkOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || isIP(address) !== 6) return mapped ?? address;
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(Math.max(0, zeros)).fill("0"), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
