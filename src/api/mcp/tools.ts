import { maxHeaderSize } from "node:http";
import { type CallToolResult, ErrorCode, McpError, type Tool } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod/v4";
import { toJsonSchema } from "../../http/openapi.ts";
import { ReadError, refuse } from "../../read/refusal.ts";
import { type AskPath, memberOf } from "../kit/ask.ts";
import type { Endpoint } from "../kit/endpoint.ts";
import { addressNames, addressPrimaryName } from "../v1/addresses.ts";
import { nameHistory } from "../v1/history.ts";
import { lookup } from "../v1/lookup.ts";
import { deadlineNames, nameRecords, search, subnames } from "../v1/names.ts";
import { figuresOverTime, stats } from "../v1/stats.ts";
import { lookupStatus } from "../v1/status.ts";

/** Requests a path for the client of a tool. */
type ToolAsk = (path: string, body?: object) => ReturnType<AskPath>;

type Arguments = Readonly<Record<string, unknown>>;

/**
 * A tool as clients list it, the route that it reads, and the request to it for given arguments, which throws a
 * ReadError for bad ones.
 */
type ReadTool = { listed: Tool; route: string; request: (given: Arguments) => Parameters<ToolAsk> };

// In place of an endpoint's own: parameters of its path, or those of which `body` makes the body of the request.
type ToolChanges = Partial<Pick<Endpoint<never>, "path" | "params" | "summary" | "description">> & {
  body?: (params: Record<string, unknown>) => object;
};

// Parameters for programs that keep state or files.
const hidden = ["min_block", "finality", "format"];

// Patterns in JSON Schema have no flags: those of addresses would refuse capital letters.
const override = ({ jsonSchema }: { jsonSchema: { pattern?: string } }) => delete jsonSchema.pattern;

function toolOf(name: string, endpoint: Endpoint<never>, changes: ToolChanges = {}): ReadTool {
  const { path: route, params = z.object({}), query, summary, description } = { ...endpoint, ...changes };
  const shape: Record<string, z.core.$ZodType> = { ...params.shape, ...query?.shape };
  const fields = Object.entries(shape).filter(([key]) => !hidden.includes(key));
  const properties = fields.map(([key, schema]) => [key, toJsonSchema(schema, { io: "input", override })]);
  const required = fields.filter(([, schema]) => !z.safeParse(schema, undefined).success);
  const inputSchema = {
    ...{ type: "object" as const, properties: Object.fromEntries(properties), additionalProperties: false },
    required: required.map(([key]) => key),
  };
  const annotations = { readOnlyHint: true };
  return {
    listed: { name, title: summary, description: `${summary}. ${description}`, inputSchema, annotations },
    route,
    request: (given) => {
      const { data, error } = params.safeParse(given);
      const [issue] = error?.issues ?? [];
      const checked = data ?? refuse("invalid_input", `${issue?.path.join(".")}: ${issue?.message}`);
      return changes.body ? [route, changes.body(checked)] : [pathOf(route, checked, given)];
    },
  };
}

// The path and query of a request. The arguments of the query are the endpoint's to check.
function pathOf(route: string, params: Arguments, given: Arguments): string {
  const textOf = (key: string) => encodeURIComponent(String(params[key]).toWellFormed());
  const path = route.replaceAll(/\{(\w+)\}/g, (_, key) => textOf(key));
  // URLs drop such parts of a path, and with them the route.
  if (/\/\.{0,2}(\/|$)/.test(path)) refuse("invalid_input", "An empty string, . and .. are not names");
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(given))
    for (const one of key in params ? [] : [value ?? []].flat()) {
      if (typeof one === "object") refuse("invalid_input", `${key} must be a string`);
      query.append(key, String(one));
    }
  const url = query.size === 0 ? path : `${path}?${query}`;
  if (url.length > maxHeaderSize) refuse("invalid_input", "The arguments exceed the URL length limit");
  return url;
}

const inputs = z.array(z.string()).meta({ description: "Names, and addresses of 20 bytes in hex" });
const isAddress = (text: string) => /^0x[0-9a-f]{40}$/i.test(text);

const [anyFigure = lookupStatus] = stats;
const figures = Object.entries(figuresOverTime);

/** The tools: reads of `/v1`, with the parameters of its routes. */
export const tools: readonly ReadTool[] = [
  toolOf("lookup", lookup, {
    params: z.object({ inputs, profile: z.enum(["feed", "detail"]).default("detail") }),
    body: ({ inputs: given, ...others }) => ({
      inputs: (given as string[]).map((one) => (isAddress(one) ? { address: one } : { name: one })),
      ...others,
    }),
  }),
  toolOf("search_names", search),
  toolOf("subnames", subnames),
  toolOf("records_of_name", nameRecords),
  toolOf("name_history", nameHistory),
  toolOf("names_of_address", addressNames),
  toolOf("primary_name", addressPrimaryName),
  toolOf("expiring_names", deadlineNames),
  toolOf("statistics", anyFigure, {
    path: "/v1/stats/{figure}",
    params: z.object({ figure: z.enum(figures.map(([figure]) => figure)) }),
    summary: "Figures by day, week or month",
    description: figures.map(([figure, { description }]) => `\`${figure}\`: ${description}`).join(" "),
  }),
  toolOf("index_status", lookupStatus),
];

const maxCharacters = 100_000;

const failed = (text: string): CallToolResult => ({ isError: true, content: [{ type: "text", text }] });

/**
 * Calls a tool by requests that `ask` makes. What `/v1` refuses is a result with `isError`; throws an McpError for an
 * unknown tool.
 */
export async function callTool(name: string, given: Arguments, ask: ToolAsk): Promise<CallToolResult> {
  const tool = tools.find(({ listed }) => listed.name === name);
  if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool ${name.slice(0, 60)}`);
  const known = Object.keys(tool.listed.inputSchema.properties ?? {});
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined)
    return failed(`Unknown argument ${unknown.slice(0, 60)}: known are ${known.join(", ")}`);
  try {
    const { status, body } = await ask(...tool.request(given));
    if (status !== 200) return failed(String(memberOf(body, "error.message") ?? memberOf(body, "message")));
    const text = JSON.stringify(body);
    const content = [{ type: "text" as const, text }];
    if (text.length <= maxCharacters) return { content, structuredContent: body as Record<string, unknown> };
    return failed(`More than ${maxCharacters} characters: request less by page_size and cursor`);
  } catch (error) {
    if (error instanceof ReadError) return failed(error.message);
    throw error;
  }
}
