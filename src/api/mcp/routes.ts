import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { jsonText } from "../../ens/parameters.ts";
import type { Ask } from "../kit/endpoint.ts";
import { callTool, type ToolContext, tools } from "./tools.ts";

// Tools for agents over MCP. A tool calls an endpoint of `/v1`, so that both answer alike (tools.ts); only the protocol
// lives here.

type McpService = { ask: Ask<ToolContext>; namespace: string; version: string; hasSubgraph: boolean };

const about = (namespace: string) =>
  `Index of ENS names and their sister deployments (namespace ${namespace}): names, owners, expiries, records, histories and figures. It only reads. Lists come in pages: \`page.next_cursor\` of one is \`cursor\` of the next. \`meta.as_of\` has the blocks that a response is of. Times are Unix seconds or RFC 3339.`;

/**
 * POST /mcp: the tools over MCP's streamable HTTP, without sessions: a server for each message. GET /llms.txt: what
 * there is, for agents.
 */
export function mcpRoutes(service: McpService): Hono {
  const { ask, namespace, version } = service;
  const options = { capabilities: { tools: {} }, instructions: about(namespace) };
  return new Hono()
    .post("/mcp", async (c) => {
      const { data } = jsonText("no JSON").safeParse(await c.req.text());
      // MCP has no batches since 2025-06-18, and a hundred responses at once would be long.
      const parsedBody = data === undefined || Array.isArray(data) ? null : data;
      const server = new Server({ name: "nsindex", version }, options);
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(({ listed }) => listed) }));
      server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given = {} } }) =>
        callTool(name, given, (request) => ask(request, c)),
      );
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      const { body, status } = await transport.handleRequest(c.req.raw, { parsedBody });
      return c.newResponse(body, status as ContentfulStatusCode, { "content-type": "application/json" });
    })
    .all("/mcp", (c) => c.json({ message: "MCP without sessions: only POST" }, 405, { allow: "POST" }))
    .get("/llms.txt", (c) => c.text(llmsText(service)));
}

// https://llmstxt.org
const llmsText = ({ namespace, hasSubgraph }: McpService) => `# nsindex

> ${about(namespace)}

## Interfaces

- [/mcp](/mcp): Model Context Protocol, streamable HTTP by POST; tools: ${tools.map(({ listed }) => listed.name).join(", ")}
- [/openapi.json](/openapi.json): every REST route with its parameters and responses; as a page at [/docs](/docs)
${hasSubgraph ? "- [/subgraph](/subgraph): GraphQL for clients of the ENS subgraph\n" : ""}
## REST routes

${tools.map(({ route, listed }) => `- [${route}](/docs): ${listed.title}`).join("\n")}
`;
