// Types of the client, from the OpenAPI document and the GraphQL schema of the service. A test compares the files with
// what this says; `vitest run client/generate.test.ts -u` writes them anew.
import {
  type GraphQLSchema,
  type GraphQLType,
  isEnumType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

type Schema = Record<string, unknown> & {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  enum?: string[];
};
type Operation = {
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[];
  responses: Record<string, { content: Record<string, { schema: Schema }> }>;
};
type Document = { paths: object };

/** Names of types, with the place in the document: path of the operation, then members of its response. */
const responseTypes: Readonly<Record<string, string>> = {
  Meta: "get /v1/search meta",
  PageInfo: "get /v1/search page",
  Contract: "get /v1/search data items resolver",
  WrapperFuses: "get /v1/search data items wrapper wrapper_fuses",
  Restrictions: "get /v1/search data items restrictions",
  GrantScope: "get /v1/permissions data items grant_scope",
  Name: "get /v1/search data items",
  LookupResult: "post /v1/lookup data items",
  Power: "get /v1/events data items data added_powers items",
  EntryData: "get /v1/events data items data",
  HistoryEntry: "get /v1/events data items",
  Reverted: "get /v1/events reverted items",
  Healed: "get /v1/events healed items",
  NameRecords: "get /v1/names/{name}/records data",
  PrimaryName: "get /v1/addresses/{address}/primary-name data",
  PrimaryNames: "get /api/resolve/primary-names/{address}",
  Permission: "get /v1/permissions data items",
  Price: "get /api/registrar-actions registrarActions items action pricing total anyOf",
  RegistrarAction: "get /api/registrar-actions registrarActions items",
  NameTokens: "get /api/name-tokens registeredNameTokens",
};

const queryTypes: Readonly<Record<string, string>> = {
  NameQuery: "/v1/names/{name}",
  RecordsQuery: "/v1/names/{name}/records",
  SubnamesQuery: "/v1/names/{name}/subnames",
  HistoryQuery: "/v1/names/{name}/history",
  PortfolioQuery: "/v1/addresses/{address}/names",
  AddressHistoryQuery: "/v1/addresses/{address}/history",
  PrimaryNameQuery: "/v1/addresses/{address}/primary-name",
  PrimaryNamesQuery: "/api/resolve/primary-names/{address}",
  EventsQuery: "/v1/events",
  StreamQuery: "/v1/events/stream",
  PermissionsQuery: "/v1/permissions",
  ExpiriesQuery: "/v1/names",
  SearchQuery: "/v1/search",
  RegistrarActionsQuery: "/api/registrar-actions",
  NameTokensQuery: "/api/name-tokens",
};

// The client sends these itself.
const ownParameters = ["min_block", "cursor", "page"];

const operationOf = (document: Document, method: string, path: string): Operation => {
  const operation = (document.paths as Record<string, Record<string, Operation>>)[path]?.[method];
  if (operation === undefined) throw new Error(`The document has no ${method} ${path}`);
  return operation;
};

function responseSchema(document: Document, place: string): Schema {
  const [method = "", path = "", ...members] = place.split(" ");
  let schema = operationOf(document, method, path).responses["200"]?.content["application/json"]?.schema;
  for (const member of members) {
    if (member === "items") schema = schema?.items;
    else if (member === "anyOf") schema = schema?.anyOf?.[0];
    else
      schema = [schema, ...(schema?.anyOf ?? [])].find((one) => one?.properties?.[member])?.properties?.[
        member
      ];
  }
  if (schema === undefined) throw new Error(`The document has no ${place}`);
  return schema;
}

function querySchema(document: Document, path: string): Schema {
  const parameters = (operationOf(document, "get", path).parameters ?? []).filter(
    (one) => one.in === "query" && !ownParameters.includes(one.name) && one.schema.enum?.join() !== "latest",
  );
  const members = parameters.map(({ name, schema, description }) => {
    const isNumber = schema["pattern"]?.toString().includes("\\d") || description?.includes("Unix seconds");
    return [name, { ...inputSchema(schema, isNumber), description }];
  });
  const required = parameters.filter((one) => one.required).map(({ name }) => name);
  return { type: "object", properties: Object.fromEntries(members), required, additionalProperties: false };
}

// Parameters are texts on the wire; numbers and booleans are written as such, and lists as several parameters.
function inputSchema({ enum: words, anyOf }: Schema, isNumber: boolean | undefined): Schema {
  if (words !== undefined)
    return words.includes("true") ? { type: "boolean" } : { type: "string", enum: words };
  return anyOf === undefined ? { type: isNumber ? ["string", "number"] : "string" } : { anyOf };
}

const withoutDescription = ({ description: _, ...schema }: Schema) => JSON.stringify(schema);

// Schemas that have a name become references to it, and enums become open. An enum that tells variants apart stays
// closed: an open one would narrow nothing.
function shapeSchema(value: unknown, names: ReadonlyMap<string, string>, isRoot: boolean): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => shapeSchema(one, names, false));
  const schema = value as Schema;
  const name = isRoot ? undefined : names.get(withoutDescription(schema));
  if (name !== undefined) return { $ref: `#/components/schemas/${name}`, description: schema.description };
  const { enum: words, ...rest } = schema;
  if (words !== undefined && words.length > 1) return { ...rest, "x-words": words };
  return Object.fromEntries(
    Object.entries(schema).map(([key, one]) => [
      key,
      key === "anyOf"
        ? (one as Schema[]).map((variant) => shapeVariant(variant, names))
        : shapeSchema(one, names, false),
    ]),
  );
}

function shapeVariant(variant: Schema, names: ReadonlyMap<string, string>): unknown {
  const shaped = shapeSchema(variant, names, false) as Schema;
  const { action, kind } = variant.properties ?? {};
  const closed = { ...(action && { action }), ...(kind && { kind }) };
  return shaped.properties ? { ...shaped, properties: { ...shaped.properties, ...closed } } : shaped;
}

/** src/types.generated.ts: aliases of what the endpoints return and take. */
export async function generateTypes(document: Document): Promise<string> {
  const responses = Object.entries(responseTypes).map(
    ([name, place]) => [name, responseSchema(document, place)] as const,
  );
  const names = new Map(responses.map(([name, schema]) => [withoutDescription(schema), name]));
  const schemas = Object.fromEntries([
    ...responses.map(([name, schema]) => [name, shapeSchema(schema, names, true)]),
    ...Object.entries(queryTypes).map(([name, path]) => [name, querySchema(document, path)]),
  ]);
  const nodes = await openapiTS(
    { openapi: "3.1.0", info: { title: "", version: "" }, paths: {}, components: { schemas } } as never,
    { transform: (schema) => ("x-words" in schema ? wordsType(schema["x-words"] as string[]) : undefined) },
  );
  const aliases = Object.entries(schemasIn(nodes)).map(([name, type]) => {
    const modifier = ts.factory.createModifier(ts.SyntaxKind.ExportKeyword);
    return ts.factory.createTypeAliasDeclaration([modifier], name, undefined, type);
  });
  const text = aliases
    .map((alias) => (isQuery(alias.name.text) ? allowUndefined(astToString(alias)) : astToString(alias)))
    .join("")
    .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, "$1")
    .replaceAll(/^ *\/\*\* @(enum|constant)\b.*\n|^ *\* @(enum|constant)\b.*\n/gm, "")
    .replaceAll(/@description /g, "")
    .replaceAll(/\/\*\*\n *\* (.*)\n *\*\//g, "/** $1 */")
    .replaceAll(/^( {4})+/gm, (indent) => indent.slice(indent.length / 2))
    .replaceAll(/^export/gm, "\nexport");
  return `${header("the OpenAPI document")}
/** One of these words, or one that a later service adds. */
export type Word<T extends string> = T | (string & {});
${text}`;
}

const isQuery = (name: string) => Object.hasOwn(queryTypes, name);

// For callers with `exactOptionalPropertyTypes`, who pass on what they may not have.
const allowUndefined = (text: string) => text.replaceAll(/^( +\w+\?: .*);$/gm, "$1 | undefined;");

function wordsType(words: readonly string[]): ts.TypeNode {
  const literals = words.map((word) =>
    ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(word)),
  );
  return ts.factory.createTypeReferenceNode("Word", [ts.factory.createUnionTypeNode(literals)]);
}

const header = (source: string) => `// Generated from ${source} by generate.ts. Do not edit.\n`;

function schemasIn(nodes: readonly ts.Node[]): Record<string, ts.TypeNode> {
  const found: Record<string, ts.TypeNode> = {};
  for (const node of nodes) {
    if (!ts.isInterfaceDeclaration(node) || node.name.text !== "components") continue;
    const [schemas] = node.members.filter(ts.isPropertySignature);
    if (schemas?.type === undefined || !ts.isTypeLiteralNode(schemas.type)) continue;
    for (const member of schemas.type.members)
      if (ts.isPropertySignature(member) && member.type && ts.isIdentifier(member.name))
        found[member.name.text] = member.type;
  }
  return found;
}

const scalars: Readonly<Record<string, string>> = { Int: "number", Int8: "string", Boolean: "boolean" };

function typeText(type: GraphQLType): string {
  if (isNonNullType(type)) return typeText(type.ofType).replace(/ \| null$/, "");
  if (isListType(type)) return `${arrayOf(typeText(type.ofType))} | null`;
  const isOwn = isObjectType(type) || isInterfaceType(type) || isEnumType(type);
  return `${isOwn ? type.name : (scalars[String(type)] ?? "string")} | null`;
}

const arrayOf = (type: string) => (type.includes("|") ? `(${type})[]` : `${type}[]`);

/** src/subgraph.generated.ts: objects and enums of the schema at /subgraph; big integers and bytes are strings. */
export function generateSubgraphTypes(schema: GraphQLSchema): string {
  const types = Object.values(schema.getTypeMap()).filter(
    ({ name }) => !/^(__|Query$|Subscription$)/.test(name),
  );
  const declarations = types.flatMap((type) => {
    if (isEnumType(type)) {
      // Fields by which entities are ordered: they are in the objects.
      if (type.name.endsWith("_orderBy")) return [];
      return [
        `export type ${type.name} = ${type
          .getValues()
          .map(({ name }) => `"${name}"`)
          .join(" | ")};`,
      ];
    }
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    const fields = Object.values(type.getFields());
    const members = fields.map((field) => `  ${field.name}: ${typeText(field.type)};`);
    return [[`export type ${type.name} = {`, ...members, "};"].join("\n")];
  });
  return `${header("the schema of /subgraph")}\n${declarations.join("\n\n")}\n`;
}
