import { maxHeaderSize } from "node:http";
import { type CallToolResult, ErrorCode, McpError, type Tool } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod/v4";
import { HttpError } from "../../http/error.ts";
import { toJsonSchema } from "../../http/openapi.ts";
import { ReadError, refuse } from "../../read/refusal.ts";
import {
  type BodyOf,
  buildLink,
  type ContextOf,
  type Endpoint,
  type EndpointRequest,
} from "../kit/endpoint.ts";
import { describeRefusal } from "../kit/errors.ts";
import { addressNames } from "../v1/addresses.ts";
import { nameHistory } from "../v1/history.ts";
import { lookup } from "../v1/lookup.ts";
import { deadlineNames, nameRecords, search, subnames } from "../v1/names.ts";
import { addressPrimaryName } from "../v1/primary-name.ts";
import { figuresOverTime, ofFigures } from "../v1/stats.ts";
import { lookupStatus } from "../v1/status.ts";

/** The context of the endpoints that tools call. */
export type ToolContext = ContextOf<typeof nameRecords>;

// MCP has objects as results.
type ToolEndpoint = Endpoint<ToolContext> & { answers: { 200: { schema: z.ZodObject } } };

type ToolRequest = EndpointRequest<ToolEndpoint>;
type ToolAsk = (request: ToolRequest) => Promise<BodyOf<ToolEndpoint>>;

type Arguments = Readonly<Record<string, unknown>>;

/**
 * A tool as clients list it, the route that it reads, and the request to it for given arguments, which throws a
 * ReadError for bad ones.
 */
type ReadTool = { listed: Tool; route: string; request: (given: Arguments) => ToolRequest };

// In place of an endpoint's own: parameters of its path, or those of which `body` makes the body of the request.
// `endpointOf` chooses another endpoint by them.
type ToolChanges = Partial<Pick<Endpoint<never>, "path" | "params" | "summary" | "description">> & {
  body?: (params: Arguments) => object;
  endpointOf?: (params: Arguments) => ToolEndpoint | undefined;
};

// Parameters for programs that keep state or files.
const hidden = ["min_block", "finality", "format"];

// Patterns in JSON Schema have no flags: those of addresses would refuse capital letters.
const override = ({ jsonSchema }: { jsonSchema: { pattern?: string } }) => delete jsonSchema.pattern;

function createTool(name: string, endpoint: ToolEndpoint, changes: ToolChanges = {}): ReadTool {
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
      // The endpoint checks its query.
      const others = Object.fromEntries(Object.entries(given).filter(([key]) => !(key in checked)));
      const ownQuery = listTexts(others);
      if (changes.body) return { endpoint, params: {}, query: ownQuery, body: changes.body(checked) };
      // URLs drop such parts of a path, and with them the route.
      if (Object.values(checked).some((text) => /^\.{0,2}$/.test(String(text))))
        refuse("invalid_input", "An empty string, . and .. are neither names nor addresses");
      const chosen = changes.endpointOf?.(checked) ?? endpoint;
      const request = { endpoint: chosen, params: listTexts(checked), query: ownQuery };
      if (buildLink(request).length <= maxHeaderSize) return request;
      return refuse("invalid_input", "The arguments exceed the URL length limit");
    },
  };
}

// Texts as the schemas of an endpoint take them from a URL: null is none, and a list repeats its parameter.
function listTexts(given: Arguments): object {
  const textOf = (key: string, one: unknown) =>
    typeof one === "object" ? refuse("invalid_input", `${key} must be a string`) : String(one).toWellFormed();
  const entries = Object.entries(given).map(([key, value]) => {
    const texts = [value ?? []].flat().map((one) => textOf(key, one));
    return [key, texts.length > 1 ? texts : texts[0]];
  });
  return Object.fromEntries(entries);
}

const inputs = z.array(z.string()).meta({ description: "Names, and addresses of 20 bytes in hex" });
const isAddress = (text: string) => /^0x[0-9a-f]{40}$/i.test(text);

const [anyFigure = lookupStatus] = ofFigures.values();
const figures = Object.entries(figuresOverTime);

/** The tools: reads of `/v1`, with the parameters of its routes. */
export const tools: readonly ReadTool[] = [
  createTool("lookup", lookup, {
    params: z.object({ inputs, profile: z.enum(["feed", "detail"]).default("detail") }),
    body: ({ inputs: given, ...others }) => ({
      inputs: (given as string[]).map((one) => (isAddress(one) ? { address: one } : { name: one })),
      ...others,
    }),
  }),
  createTool("search_names", search),
  createTool("subnames", subnames),
  createTool("records_of_name", nameRecords),
  createTool("name_history", nameHistory),
  createTool("names_of_address", addressNames),
  createTool("primary_name", addressPrimaryName),
  createTool("expiring_names", deadlineNames),
  createTool("statistics", anyFigure, {
    path: "/v1/stats/{figure}",
    params: z.object({ figure: z.enum(figures.map(([figure]) => figure)) }),
    endpointOf: ({ figure }) => ofFigures.get(String(figure)),
    summary: "Figures by day, week or month",
    description: figures.map(([figure, { description }]) => `\`${figure}\`: ${description}`).join(" "),
  }),
  createTool("index_status", lookupStatus),
];

const maxCharacters = 100_000;

const failed = (text: string): CallToolResult => ({ isError: true, content: [{ type: "text", text }] });

/**
 * Calls a tool by a request that `ask` makes. What `/v1` refuses is a result with `isError`; throws an McpError for an
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
    const body = await ask(tool.request(given));
    const text = JSON.stringify(body);
    const content = [{ type: "text" as const, text }];
    if (text.length <= maxCharacters) return { content, structuredContent: body };
    return failed(`More than ${maxCharacters} characters: request less by page_size and cursor`);
  } catch (error) {
    if (error instanceof HttpError) return failed(describeRefusal(error));
    if (error instanceof ReadError) return failed(error.message);
    throw error;
  }
}
