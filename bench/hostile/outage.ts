import { request } from "node:http";
import type { World } from "./world.ts";

const paths = [
  "/health",
  "/ready",
  "/status",
  "/amirealtime",
  "/api/config",
  "/api/indexing-status",
  "/api/name-sales",
  `/subgraph?query=${encodeURIComponent("{ domains(first: 1) { id } }")}`,
  "/metrics",
];
const patienceMs = 75_000;

/** Stops the database and prints how long each path takes to respond, with what, and whether it leaks internals. */
export async function measureOutage(world: World): Promise<string> {
  await world.restart({});
  await world.postgres.halt();
  let lines: string[];
  try {
    lines = await Promise.all(paths.map((path) => ask(world.port, path)));
  } finally {
    await world.postgres.resume();
  }
  const failed = await world.indexerPid();
  return [
    "database-away (point 9): every path at once while Postgres is stopped",
    ...lines,
    failed === undefined ? "  THE PROCESS ENDED" : "  the process lives",
  ].join("\n");
}

function ask(port: number, path: string): Promise<string> {
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (what: string) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      resolve(`  ${(path.split("?")[0] ?? "").padEnd(24)} ${what} after ${seconds} s`);
      asked.destroy();
    };
    const asked = request(
      {
        host: "127.0.0.1",
        port,
        path,
        agent: false,
        headers: { accept: "application/json" },
        timeout: patienceMs,
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (text: string) => {
          if (body.length < 100_000) body += text;
        });
        response.on("end", () => {
          const kind = String(response.headers["content-type"]).split(";")[0];
          const insides = /node_modules|\n\s+at |\/[\w.-]+\/[\w.-]+\.(js|ts):\d+/.test(body);
          end(`${response.statusCode} ${kind}${insides ? ", with file paths or a stack" : ""}`);
        });
      },
    );
    asked.on("timeout", () => end("no response"));
    asked.on("error", (error: NodeJS.ErrnoException) => end(error.code ?? "error"));
    asked.end();
  });
}
