import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "../../../devnet/rpc/server.ts";

/** A JSON-RPC request that came to the proxy. */
export type ProxiedRequest = { id: unknown; method: string; params: unknown[] };

/** Responds to a request itself; false leaves it to the node. */
export type Interception = (request: ProxiedRequest, response: ServerResponse) => boolean;

/** A proxy in front of a node that responds to some requests itself, and counts requests by method. */
export async function startRpcProxy(nodeUrl: string, intercept: Interception) {
  const counts = new Map<string, number>();
  const headers = { "content-type": "application/json" };
  const { url, close } = await listen(async (incoming, response) => {
    const body = await text(incoming);
    const request = JSON.parse(body) as ProxiedRequest;
    counts.set(request.method, (counts.get(request.method) ?? 0) + 1);
    if (intercept(request, response)) return;
    const answer = await fetch(nodeUrl, { method: "POST", headers, body }).catch(() => undefined);
    if (answer === undefined) response.destroy();
    else response.writeHead(answer.status, headers).end(await answer.text());
  });
  return { url, close, countOf: (method: string) => counts.get(method) ?? 0 };
}

/** Responds with this JSON-RPC error. */
export function respondError(response: ServerResponse, { id }: ProxiedRequest, message: string): true {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
  return true;
}
