import { Agent, request } from "node:http";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { subgraphRoutes } from "../src/api/subgraph/routes.ts";
import type { Subgraph } from "../src/api/subgraph/subgraph.ts";
import type { Shape } from "./subgraph-shapes.ts";

/** Prints requests/s over HTTP with 16 connections, beside an empty route of the same server. */
export async function measureHttp(subgraph: Subgraph, shapes: Shape[], seconds: number): Promise<void> {
  const app = new Hono().get("/empty", (c) => c.body(null, 204)).route("/subgraph", subgraphRoutes(subgraph));
  const server = serve({ fetch: app.fetch, port: 0 });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const send = (path: string, body: string | undefined) =>
    new Promise<void>((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      const outgoing = request(
        { port, path, method, agent, headers: { "content-type": "application/json" } },
        (incoming) => {
          incoming.resume().on("end", resolve).on("error", reject);
        },
      );
      outgoing.on("error", reject).end(body);
    });
  console.log("over HTTP, 16 connections, client in the same process:");
  await run("empty route", () => send("/empty", undefined));
  for (const { name, query, variables } of shapes) {
    const body = JSON.stringify({ query, variables });
    await run(name, () => send("/subgraph", body));
  }
  agent.destroy();
  server.close();

  async function run(name: string, task: () => Promise<void>): Promise<void> {
    for (let i = 0; i < 20; i++) await task();
    let done = 0;
    const started = performance.now();
    const until = started + seconds * 1000;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (performance.now() < until) {
          await task();
          done += 1;
        }
      }),
    );
    console.log(
      `${name.padEnd(24)} ${((done * 1000) / (performance.now() - started)).toFixed(0).padStart(7)}/s`,
    );
  }
}
