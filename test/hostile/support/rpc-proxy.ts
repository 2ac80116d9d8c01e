import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A JSON-RPC request that came to the proxy. */
export type ProxiedRequest = { id: unknown; method: string; params: unknown[] };

/** Responds to a request itself; false leaves it to the node. */
export type Interception = (request: ProxiedRequest, response: ServerResponse) => boolean;

/** A proxy in front of a node that responds to some requests itself, and counts requests by method. */
export async function startRpcProxy(nodeUrl: string, intercept: Interception) {
  const counts = new Map<string, number>();
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const request = JSON.parse(body.toString()) as ProxiedRequest;
    counts.set(request.method, (counts.get(request.method) ?? 0) + 1);
    if (intercept(request, response)) return;
    try {
      const answer = await fetch(nodeUrl, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(Buffer.from(await answer.arrayBuffer()));
    } catch {
      response.destroy();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    countOf: (method: string) => counts.get(method) ?? 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Responds with this JSON-RPC error. */
export function respondError(response: ServerResponse, { id }: ProxiedRequest, message: string): true {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
  return true;
}
