import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createProgram, requireUrl, runProgram } from "./command.ts";

/** `npm run mcp`: standard output has nothing but the protocol. */
const mcp = createProgram(
  "mcp",
  "MCP over stdio: the tools of a running service. NSINDEX_API_KEY is its API key.",
)
  .option("--url <url>", "URL of the service", "http://localhost:42069")
  .action(async ({ url }) => {
    requireUrl("--url", url);
    const transport = new StdioServerTransport();
    transport.onmessage = async (message) => {
      const { id } = message as { id?: string | number };
      const answer = await forward(message, url).catch(({ message: reason }) => {
        return { jsonrpc: "2.0" as const, id, error: { code: -32_603, message: reason } };
      });
      // Notifications get no response.
      if (id !== undefined) await transport.send(answer);
    };
    await transport.start();
  });

async function forward(message: JSONRPCMessage, url: string): Promise<JSONRPCMessage> {
  const { origin } = new URL(url);
  const key = process.env["NSINDEX_API_KEY"];
  const type = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetch(`${url.replace(/\/+$/, "")}/mcp`, {
    ...{ method: "POST", body: JSON.stringify(message) },
    headers: { ...type, ...(key ? { "x-api-key": key } : {}) },
  }).catch((error) => {
    throw new Error(`${origin} does not respond: ${error.cause?.code ?? error.message}`);
  });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw new Error(body.error?.message ?? body.message ?? `${origin} responds with status ${response.status}`);
}

await runProgram(mcp, import.meta.url);
