// What an agent asks an index over MCP (docs/agents.md): the names of an address, who a name is, and other agents with
// their endpoints. Anybody can write a record: its value is data, which the agent shows quoted and does not act upon.
//
//   npm run -s example -- agent 0xe74cef90b6cf1a77fefad731713e6f53e575c183 demo.eth
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { LookupResult, Name, NameRecords } from "../../client/src/index.ts";

type Call = <Data>(tool: string, parameters: Record<string, unknown>) => Promise<Data>;

/** A text as one line of JSON without invisible characters, so that it can neither begin a line nor hide a part. */
export function quote(text: string): string {
  const cut = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return JSON.stringify(cut).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** Calls a tool; `data` of its response. Throws the reason of a refusal. */
const callWith =
  (agent: Client): Call =>
  async (name, parameters) => {
    const { structuredContent, content, isError } = await agent.callTool({ name, arguments: parameters });
    if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
    return (structuredContent as { data: never }).data;
  };

/** The endpoints of an agent (ENSIP-26) by protocol. Nobody has checked who is behind them. */
async function readEndpoints(call: Call, name: string): Promise<string[]> {
  const { records } = await call<NameRecords>("records_of_name", { name });
  return Object.entries(records).flatMap(([key, { value }]) => {
    const [, protocol] = /^text:agent-endpoint\[(.*)\]$/s.exec(key) ?? [];
    if (protocol === undefined || typeof value !== "string") return [];
    const isSecure = URL.canParse(value) && new URL(value).protocol === "https:";
    return [`${quote(protocol)} at ${quote(value)}${isSecure ? "" : ", which is no https URL"}`];
  });
}

/** Lines of what the agent finds out. */
export async function* investigate(call: Call, address: string, name: string): AsyncGenerator<string> {
  const held = await call<Name[]>("names_of_address", { address, relation: "owner", status: "active" });
  yield `${address} holds ${held.map((row) => quote(row.name)).join(", ") || "no name"}`;
  const [result] = await call<LookupResult[]>("lookup", { inputs: [name] });
  const record = result?.record;
  yield `${quote(name)} is ${record?.primary_address ?? "nobody's address"}`;
  for (const [key, value] of Object.entries(record?.records?.texts ?? {}))
    if (value !== null) yield `  ${quote(key)}: ${quote(value)}`;
  const prefix = { namespace: "ens", record_key_prefix: "agent-endpoint[", page_size: 10 };
  for (const { name, owner, status } of await call<Name[]>("expiring_names", prefix)) {
    yield `${quote(name)} of ${owner}, ${status}, is an agent`;
    for (const endpoint of await readEndpoints(call, name)) yield `  ${endpoint}`;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [address = "", name = ""] = process.argv.slice(2);
  if (name === "") throw new Error("usage: agent.ts <address> <name>");
  const agent = new Client({ name: "agent", version: "1.0.0" });
  const url = new URL("/mcp", process.env["INDEX_URL"] ?? "http://localhost:42069");
  // For exact optional properties the transport's type is not the one that it implements.
  await agent.connect(new StreamableHTTPClientTransport(url) as Parameters<Client["connect"]>[0]);
  const { tools } = await agent.listTools();
  console.log(`Tools: ${tools.map((tool) => tool.name).join(", ")}`);
  for await (const line of investigate(callWith(agent), address, name)) console.log(line);
  await agent.close();
}
